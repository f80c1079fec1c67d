"""Our recipes under our faults: nothing that was acknowledged is lost, each order is paid
once, and an outbox loses none. What one shouldn't copy fails under the same faults.
"""

import ast
import os
import signal

import pytest

from tests.clients.brokers import until
from tests.clients.nodes import node
from tests.kafka import APACHE_KAFKA, MINIKAFKA
from tests.recipes import table
from tests.recipes.brokers import QUICK
from tests.recipes.faults import (
    AT_LINES,
    CASES,
    CONSUMERS,
    PRODUCERS,
    RELAY,
    happens,
    line_of,
    prepared,
)
from tests.recipes.shop import OLD_MEMBER, RECIPES, Shop, has_ended, stands_still

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="no such signals to send"),
]
IN_THE_GATE = {
    ("consumer_kafka_python", "frozen past its session"),
    ("consumer_kafka_python", "rebalanced in the middle"),
    ("consumer_kafka_python", "slow database"),
    ("consumer_confluent", "frozen past its session"),
    ("consumer_confluent", "record too large"),
    ("producer_kafka_python", "malformed JSON"),
    ("producer_confluent", "broker restarted"),
    (RELAY, "frozen past its session"),
    (RELAY, "record too large"),
}
# Those that matter most, on Apache Kafka too.
ON_BOTH = [
    *((recipe, "frozen past its session") for recipe in CONSUMERS),
    *((recipe, "rebalanced in the middle") for recipe in CONSUMERS),
    *((recipe, "answers to commits lost") for recipe in CONSUMERS),
    *((recipe, "answers lost") for recipe in PRODUCERS),
    *((recipe, "record too large") for recipe in (*PRODUCERS, RELAY)),
    *((RELAY, fault) for fault in ("frozen past its session", "a second relay")),
]
EVERY = 10  # so-manieth line; `python -m tests.recipes` strikes at each


def cases():
    ours = [
        pytest.param(
            *case, MINIKAFKA, marks=[] if case in IN_THE_GATE else [pytest.mark.nightly]
        )
        for case in CASES
    ]
    marks = [pytest.mark.java, pytest.mark.nightly]
    return ours + [pytest.param(*case, APACHE_KAFKA, marks=marks) for case in ON_BOTH]


@pytest.fixture(scope="module")
def rows():
    """What happened in each case: a page of the site, if all of them have run."""
    found = []
    yield found
    if len(found) == len(cases()):
        table.write(found)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("recipe, fault, kind", cases())
def test_a_recipe_survives(recipe, fault, kind, tmp_path, rows):
    try:
        what = happens(recipe, fault, kind, tmp_path, EVERY if fault in AT_LINES else 1)
    except BaseException as error:
        rows.append((fault, recipe, kind, f"**fails**: {error}"))
        raise
    rows.append((fault, recipe, kind, what))


@pytest.fixture
def old_shop(tmp_path):
    with (
        node(MINIKAFKA, tmp_path / "broker", QUICK) as broker,
        Shop(OLD_MEMBER.stem, broker.bootstrap, tmp_path) as shop,
    ):
        prepared(shop).sell(6, poison=False)
        yield shop


def works_until_all_is_paid(shop):
    """Starts it again if it dies, as the old one does when its commit is refused."""
    while True:
        member = shop.start()
        until(lambda: has_ended(member) or shop.is_done(), "all is committed")  # noqa: B023
        if not has_ended(member):
            return member


def test_who_looks_and_then_adds_pays_twice_after_a_long_sleep(old_shop):
    add = line_of(OLD_MEMBER, r"^        add\(")
    asleep = old_shop.start(line=add, number="SIGSTOP")
    until(lambda: stands_still(asleep), "it has looked")
    other = works_until_all_is_paid(old_shop)
    asleep.send_signal(signal.SIGCONT)
    until(lambda: len(old_shop.rows("SELECT * FROM payments")) > len(old_shop.sent))
    old_shop.stop(other)
    with pytest.raises(AssertionError, match=r"twice: \['o-\d+'"):
        old_shop.check_payments()


def test_a_handler_that_exits_leaves_half_a_payment(old_shop):
    mail = line_of(OLD_MEMBER, "INSERT INTO mails")
    first = old_shop.start(line=mail, number="SIGTERM")
    assert first.wait(60) == 0, old_shop.said()
    second = works_until_all_is_paid(old_shop)
    old_shop.stop(second)
    with pytest.raises(AssertionError, match=r"never: \['o-\d+'"):
        old_shop.check_payments()


def of_class(path, name):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    [found] = [each for each in tree.body if getattr(each, "name", "") == name]
    return ast.unparse(found)


def test_an_order_is_the_same_in_all_four_files():
    files = [RECIPES / f"{name}.py" for name in (*CONSUMERS, *PRODUCERS)]
    assert len({of_class(path, "Order") for path in files}) == 1


def test_the_table_has_a_row_for_each_fault():
    rows = [("killed", "producer_confluent", MINIKAFKA, "9 acknowledged")]
    assert "| killed | minikafka | 9 acknowledged |" in table.text(rows)

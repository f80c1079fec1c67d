"""The course's faults, done to the relay of an outbox: each returns a sentence of what
happened, after it has checked what must hold.
"""

import signal
import sqlite3
import time
from contextlib import closing

from tests.clients.brokers import until
from tests.recipes.child import load
from tests.recipes.shop import CUSTOMERS, POLL_MS, has_ended, lines_of, stands_still

PRODUCE, INIT_PRODUCER_ID, END_TXN = 0, 22, 26


def prepared(shop):
    shop.recipe = load(str(shop.path))
    with closing(sqlite3.connect(shop.database)) as database:
        database.executescript(shop.recipe.TABLES)
    return shop


def place(shop, count=6, more=""):
    """Customers order; the last one's order is placed twice, so it's rolled back once."""
    with closing(sqlite3.connect(shop.database, timeout=60)) as database:
        for _ in range(count):
            number, customer = shop.next_number(), CUSTOMERS[len(shop.sent) % 3]
            shop.sent.append(number)
            shop.recipe.place(database, number, customer + more, 2000)
        try:
            shop.recipe.place(database, number, customer, 2000)
        except sqlite3.IntegrityError:
            pass
        else:
            raise AssertionError(f"{number} was placed twice")


def all_sent(shop):
    waiting = "SELECT * FROM outbox WHERE refused IS NULL"
    until(lambda: not shop.rows(waiting), "the outbox is empty")


def ends_well(shop, relay):
    all_sent(shop)
    shop.stop(relay)
    return shop.check_relayed()


def killed(shop, every=1):
    """kill -9 at a line of the file; the next relay goes on, and dies at the next line."""
    return struck_at_lines(shop, every, "SIGKILL")


def told_to_stop(shop, every=1):
    """SIGTERM at a line of the file: exit code 0, and nothing is sent again."""
    said = struck_at_lines(shop, every, "SIGTERM")
    assert "came again" not in said, said
    return said


def struck_at_lines(shop, every, number):
    prepared(shop)
    lines, struck = lines_of(shop.path)[::every], 0
    for line in lines:
        place(shop)
        relay = shop.start(line=line, number=number)
        until(
            lambda: has_ended(relay) or not shop.rows("SELECT * FROM outbox"),  # noqa: B023
            f"struck at line {line}, or all is sent",
        )
        if not has_ended(relay):
            relay.send_signal(signal.SIGTERM)
        code = relay.wait(60)
        expected = (0, -signal.SIGKILL) if number == "SIGKILL" else (0,)
        assert code in expected, (line, code, shop.said())
        struck += code != 0 or number == "SIGTERM"
    what = "killed" if number == "SIGKILL" else "SIGTERM, exit code 0,"
    return f"{what} at {struck} lines: {ends_well(shop, shop.start())}"


def line_of(shop, text):
    lines = shop.path.read_text(encoding="utf-8").splitlines()
    [found] = [at for at, line in enumerate(lines, 1) if text in line]
    return found


def frozen(shop):
    """It stands still before it commits, and before it deletes what it has committed;
    each time another relay sends all, and then it goes on.
    """
    prepared(shop)
    codes = []
    for text in ("answered(self.producer.commit_transaction)", "if error is None:"):
        place(shop)
        asleep = shop.start(line=line_of(shop, text), number="SIGSTOP")
        until(lambda: stands_still(asleep), "it stands still")  # noqa: B023
        place(shop)
        other = shop.start()
        all_sent(shop)
        asleep.send_signal(signal.SIGCONT)
        place(shop)
        codes.append(asleep.wait(60))
        assert codes[-1] == 1 and "fenced" in shop.said(), shop.said()
        all_sent(shop)
        shop.stop(other)
    return f"it woke up and was fenced, exit codes {codes}: {shop.check_relayed()}"


def two_at_once(shop):
    """A second relay starts while the first one is at work, and customers go on."""
    prepared(shop)
    place(shop, 100)
    first = shop.start()
    until(lambda: len(shop.rows("SELECT * FROM outbox")) < 80, "it has begun")
    second = shop.start()
    until(lambda: place(shop, 1) or has_ended(first), "the first one is fenced")
    assert first.wait() == 1 and "fenced" in shop.said(), shop.said()
    return f"the first one was fenced: {ends_well(shop, second)}"


def lost_answers(shop):
    """Every third answer to a Produce is lost with its connection, then to EndTxn, then
    to InitProducerId.
    """
    prepared(shop)
    for api in (PRODUCE, END_TXN, INIT_PRODUCER_ID):
        shop.losing.lose(api, every=3)
        for _ in range(4):
            place(shop)
            relay = shop.start()
            all_sent(shop)
            shop.stop(relay)
    assert shop.losing.lost, "no answer was lost"
    return f"{shop.losing.lost} answers lost: {shop.check_relayed()}"


def too_large(shop):
    """One order among others is larger than the topic allows, and one than the client."""
    shop.orders = f"{shop.orders}-small"
    shop.make(shop.orders, 2, {"max.message.bytes": "1000"})
    prepared(shop)
    names = {"compression.type": "none", "message.max.bytes": 3000}
    relay = shop.start(changes={"SETTINGS": names})
    for size in (2000, 4000):
        place(shop)
        place(shop, 1, more="x" * size)
        shop.refused += 1
        place(shop)
    return ends_well(shop, relay)


def slow_database(shop):
    """Another program locks the database, longer than a transaction of Kafka may take."""
    prepared(shop)
    place(shop)
    names = {"transaction.timeout.ms": 2000, "delivery.timeout.ms": 2000}
    relay = shop.start(changes={"SETTINGS": names})
    all_sent(shop)
    place(shop)
    with closing(sqlite3.connect(shop.database, isolation_level=None)) as hand:
        hand.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        until(lambda: time.monotonic() > began + 2 * POLL_MS / 1000)
        hand.execute("COMMIT")
    place(shop)
    return f"locked for {2 * POLL_MS // 1000} s: {ends_well(shop, relay)}"


def broker_restarted(shop):
    """The broker is killed and comes back, twice."""
    prepared(shop)
    place(shop, 50)
    relay = shop.start()
    for _ in range(2):
        until(lambda: len(shop.rows("SELECT * FROM outbox")) < 40, "it has begun")
        shop.node.restart(crash=True)
        place(shop, 50)
    return ends_well(shop, relay)


FAULTS = {
    "killed": killed,
    "SIGTERM": told_to_stop,
    "frozen past its session": frozen,
    "a second relay": two_at_once,
    "answers lost": lost_answers,
    "record too large": too_large,
    "slow database": slow_database,
    "broker restarted": broker_restarted,
}

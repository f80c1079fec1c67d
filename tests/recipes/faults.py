"""The course's faults, done to a recipe: each returns a sentence of what happened, after
it has checked what must hold.
"""

import json
import re
import signal
import sqlite3
import time
from contextlib import ExitStack, closing

from tests.clients.brokers import until
from tests.clients.nodes import node
from tests.recipes import relay_faults
from tests.recipes.brokers import QUICK, behind_proxy, kill
from tests.recipes.child import load
from tests.recipes.shop import (
    POLL_MS,
    SESSION_MS,
    Shop,
    has_ended,
    lines_of,
    stands_still,
)

CONSUMERS = ("consumer_kafka_python", "consumer_confluent")
PRODUCERS = ("producer_kafka_python", "producer_confluent")
RELAY = "outbox_confluent"


def line_of(path, text):
    lines = path.read_text(encoding="utf-8").splitlines()
    [found] = [at for at, line in enumerate(lines, 1) if re.search(text, line)]
    return found


def prepared(shop):
    shop.prepare(load(str(shop.path)).TABLES)
    return shop


def all_paid(shop):
    until(shop.is_done, "all is committed")


# --- consumers ------------------------------------------------------------------------


def killed(shop, every=1):
    """kill -9 at a line of the file; the next life goes on, and dies at the next line."""
    return struck_at_lines(shop, every, "SIGKILL")


def told_to_stop(shop, every=1):
    """SIGTERM at a line of the file: exit code 0, and nothing is handled again."""
    done = struck_at_lines(shop, every, "SIGTERM")
    assert not shop.handled_again(), shop.handled_again()
    return done


def struck_at_lines(shop, every, number):
    prepared(shop)
    lines = lines_of(shop.path)[::every]
    struck = 0
    for line in lines:
        shop.sell()
        process = shop.start(line=line, number=number)
        until(
            lambda: has_ended(process) or shop.is_done(),  # noqa: B023
            f"killed at line {line}, or all is done",
        )
        if not has_ended(process):
            process.send_signal(signal.SIGTERM)
        code = process.wait(60)
        expected = (0, -signal.SIGKILL) if number == "SIGKILL" else (0,)
        assert code in expected, (line, code, shop.said())
        struck += code != 0 or number == "SIGTERM"
    shop.sell()  # so that it has begun when it is told to stop
    last = shop.start()
    all_paid(shop)
    shop.stop(last)
    what = "killed" if number == "SIGKILL" else "SIGTERM, exit code 0,"
    return f"{what} at {struck} lines: {shop.check_payments()}"


def frozen(shop):
    """It stands still before it pays an order, until another has paid all; then it goes on."""
    prepared(shop)
    # One record, so that no other worker can be stopped while it has SQLite's lock.
    shop.sell(1, poison=False)
    asleep = shop.start(line=line_of(shop.path, r"with database:"), number="SIGSTOP")
    until(lambda: stands_still(asleep), "it stands still")
    shop.sell(11)
    other = shop.start()
    all_paid(shop)
    asleep.send_signal(signal.SIGCONT)
    shop.sell()
    all_paid(shop)
    shop.stop(asleep)
    shop.stop(other)
    return shop.check_payments()


def rebalanced(shop):
    """Members come and go while there is work; the second one while the first one has
    many records in hand, and keeps the partitions of some.
    """
    prepared(shop)
    shop.sell(12)
    with closing(sqlite3.connect(shop.database, isolation_level=None)) as hand:
        hand.execute("BEGIN IMMEDIATE")
        members = [shop.start()]
        until(shop.journalled, "it has begun to pay")
        members.append(shop.start())
        until(lambda: shop.has_members(2), "both have partitions")
        hand.execute("COMMIT")
    all_paid(shop)
    for count in (3, 4):
        shop.sell(12)
        members.append(shop.start())
        until(lambda: shop.has_members(count), f"{count} members are in")  # noqa: B023
    for member in members[:-1]:
        shop.sell(12)
        shop.stop(member)
    all_paid(shop)
    shop.stop(members[-1])
    return shop.check_payments()


def slow_database(shop):
    """Another program locks the database for longer than max.poll.interval.ms, while more
    orders wait than one poll brings.
    """
    prepared(shop)
    shop.sell(400)
    with closing(sqlite3.connect(shop.database, isolation_level=None)) as hand:
        hand.execute("BEGIN IMMEDIATE")
        member = shop.start()
        until(shop.journalled, "it has begun to pay")
        assert "assigned: []" not in shop.said(), "the only member has all at once"
        began = time.monotonic()
        until(lambda: time.monotonic() > began + 2 * POLL_MS / 1000)
        hand.execute("COMMIT")
    all_paid(shop)
    shop.stop(member)
    assert "CommitFailed" not in shop.said() and "too late" not in shop.said()
    return f"locked for {2 * POLL_MS // 1000} s, never evicted: {shop.check_payments()}"


def malformed(shop):
    """Many values that are no order, and headers that are none of ours."""
    prepared(shop)
    for headers in ([("attempt", b"x")], [("attempt", b"9" * 5000)], [("a", b"")]):
        value = b"[" * 100_000 + str(headers).encode()[:10]
        key = b"%d" % shop.malformed
        shop.producer.send(shop.orders, key=key, value=value, headers=headers)
        shop.malformed += 1
    for _ in range(5):
        shop.sell(2)
    member = shop.start()
    all_paid(shop)
    shop.stop(member)
    return shop.check_payments()


def dead_letter_too_large(shop):
    """A broken record that, with its new headers, is too large for the dead letters, and
    an order that is refused and too large for the retries.
    """
    prepared(shop)
    small, small_retry = f"{shop.dead}-small", f"{shop.retry}-small"
    for topic in (small, small_retry):
        shop.make(topic, 1, {"max.message.bytes": "1000"})
    noise = "many a word " * 200
    names = {"compression.type": "none"} if shop.is_confluent else {}
    names = names or {"compression_type": None}
    shop.sell(6, poison=False)
    shop.producer.send(shop.orders, key=b"large", value=noise.encode()).get(60)
    refused = {"number": "refused-0", "customer": "refused", "cents": 1, "more": noise}
    shop.producer.send(shop.orders, key=b"large", value=json.dumps(refused).encode())
    shop.sell(6, poison=False)
    changes = {"RETRY": small_retry, "DEAD": small, "HANDING_ON": names}
    member = shop.start(changes=changes)
    all_paid(shop)
    shop.stop(member)
    assert shop.records(small_retry) == []
    places = [dict(record.headers)["from"].decode() for record in shop.records(small)]
    assert len(places) == 2 and not any(record.value for record in shop.records(small))
    assert all(place.startswith(f"{shop.orders}-") for place in places), places
    found = ", ".join(place.removeprefix(f"{shop.orders}-") for place in places)
    return f"two places are dead letters ({found}); {shop.check_payments()}"


def lost_commit(shop):
    """Every third answer to a commit is lost with its connection."""
    return through_proxy(shop, api=8)


def lost_copy(shop):
    """Every third answer to a Produce is lost: poison is handed on with retries."""
    return through_proxy(shop, api=0)


def through_proxy(shop, api):
    prepared(shop)
    shop.losing.lose(api, every=3)
    member = shop.start()
    for _ in range(6):
        shop.sell(3)
        all_paid(shop)
    shop.stop(member)
    assert shop.losing.lost, "no answer was lost"
    return f"{shop.losing.lost} answers lost: {shop.check_payments()}"


def broker_restarted(shop):
    """The broker is killed and comes back, twice."""
    prepared(shop)
    shop.sell(20)
    member = shop.start()
    for _ in range(2):
        until(shop.journalled, "it has begun")
        shop.node.restart(crash=True)
        until(lambda: sells(shop), "the broker is back")
    all_paid(shop)
    shop.stop(member)
    return shop.check_payments()


def sells(shop):
    shop.sell(3)
    return True


# --- producers ------------------------------------------------------------------------


def order_file(shop, count=9, broken=0):
    """A file of orders, whose numbers grow."""
    path = shop.folder / f"orders-{len(shop.sent)}.jsonl"
    lines = []
    for each in range(count):
        number = shop.next_number()
        shop.sent.append(number)
        customer = ("alice", "bob", "carol")[each % 3]
        lines.append(json.dumps({"number": number, "customer": customer, "cents": 5}))
    lines += ['{"number": 1}'] * broken
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def sends(shop, path, code=0, **options):
    process = shop.start([path], **options)
    assert process.wait(240) == code, (process.returncode, shop.said())


def producer_killed(shop, every=1):
    return producer_struck(shop, every, "SIGKILL")


def producer_told_to_stop(shop, every=1):
    return producer_struck(shop, every, "SIGTERM")


def producer_struck(shop, every, number):
    struck, lines = 0, lines_of(shop.path)[::every]
    for line in lines:
        process = shop.start([order_file(shop)], line=line, number=number)
        code = process.wait(240)
        expected = (0, -signal.SIGKILL) if number == "SIGKILL" else (0,)
        assert code in expected, (line, code, shop.said())
        struck += code != 0
    what = f"killed at {struck} lines"
    if number == "SIGTERM":
        what = f"SIGTERM at each of {len(lines)} lines, exit code 0"
    return f"{what}: {shop.check_sent()}"


def producer_frozen(shop):
    """It stands still in the middle, longer than its requests may take."""
    names = {"request_timeout_ms": 1000, "delivery_timeout_ms": 60_000}
    if shop.is_confluent:
        names = {"request.timeout.ms": 1000, "delivery.timeout.ms": 60_000}
    line = line_of(shop.path, r"self.acknowledged \+= 1")
    process = shop.start(
        [order_file(shop, 200)],
        line=line,
        number="SIGSTOP",
        changes={"SETTINGS": names},
    )
    until(lambda: stands_still(process), "it stands still")
    began = time.monotonic()
    until(lambda: time.monotonic() > began + SESSION_MS / 1000)
    process.send_signal(signal.SIGCONT)
    assert process.wait(240) == 0, shop.said()
    return shop.check_sent()


def producer_lost_answers(shop):
    """Every third answer to a Produce is lost with its connection."""
    shop.losing.lose(0, every=3)
    for _ in range(6):
        sends(shop, order_file(shop))
    assert shop.losing.lost, "no answer was lost"
    return f"{shop.losing.lost} answers lost: {shop.check_sent()}"


def producer_too_large(shop):
    """One order is larger than the client allows, or, for librdkafka, the topic."""
    small = f"{shop.orders}-small"
    shop.make(small, 2, {"max.message.bytes": "300"})
    shop.orders = small
    path = order_file(shop)
    large = {"number": "o-large" + "9" * 57, "customer": "x" * 64, "cents": 5}
    with open(path, "a") as file:
        file.write(json.dumps(large) + "\n")
    names = {"max_request_size": 300, "batch_size": 0, "compression_type": None}
    if shop.is_confluent:
        # a batch fails as a whole, and message.max.bytes is never below 1000
        names = {"batch.num.messages": 1, "compression.type": "none"}
    sends(shop, path, code=1, changes={"SETTINGS": names})
    assert f"failed {large['number']}" in shop.journalled()
    return shop.check_sent()


def producer_malformed(shop):
    """Lines that are no order: told, counted, and not sent."""
    sends(shop, order_file(shop, broken=3), code=1)
    assert "9 acknowledged, 3 failed" in shop.said()
    return f"3 lines told and not sent: {shop.check_sent()}"


def producer_broker_restarted(shop):
    """The broker is killed and comes back, while orders are sent."""
    process = shop.start([order_file(shop, 2000)])
    until(shop.journalled, "the first is acknowledged")
    shop.node.restart(crash=True)
    assert process.wait(240) == 0, shop.said()
    return shop.check_sent()


def producer_full(shop):
    """The broker is gone after the first answer, and the buffer takes five orders."""
    changes = {"MAX_BLOCK_S": 0.3, "ANSWERS_S": 30}
    names = {"delivery_timeout_ms": 3000, "request_timeout_ms": 1000}
    if shop.is_confluent:
        names = {"delivery.timeout.ms": 3000, "queue.buffering.max.messages": 5}
    else:
        changes["MAX_WAITING"] = 5
    process = shop.start(
        [order_file(shop, 40)],
        line=line_of(shop.path, r"self.acknowledged \+= 1"),
        number="SIGSTOP",
        changes=changes | {"SETTINGS": names},
    )
    until(lambda: stands_still(process), "it has its first answer")
    kill(shop.node)
    process.send_signal(signal.SIGCONT)
    assert process.wait(240) == 1, shop.said()
    shop.node.restart()
    answers = [line.split()[1] for line in shop.journalled()]
    assert sorted(answers) == sorted(shop.sent), "each order has its answer"
    assert "no room" in shop.said()
    return shop.check_sent()


OF_CONSUMERS = {
    "killed": killed,
    "SIGTERM": told_to_stop,
    "frozen past its session": frozen,
    "rebalanced in the middle": rebalanced,
    "answers to commits lost": lost_commit,
    "answers to copies lost": lost_copy,
    "record too large": dead_letter_too_large,
    "malformed JSON": malformed,
    "slow database": slow_database,
    "broker restarted": broker_restarted,
}
OF_PRODUCERS = {
    "killed": producer_killed,
    "SIGTERM": producer_told_to_stop,
    "frozen past its session": producer_frozen,
    "answers lost": producer_lost_answers,
    "record too large": producer_too_large,
    "malformed JSON": producer_malformed,
    "broker restarted": producer_broker_restarted,
    "buffer full, broker unreachable": producer_full,
}
FAULTS_OF = dict.fromkeys(CONSUMERS, OF_CONSUMERS)
FAULTS_OF |= dict.fromkeys(PRODUCERS, OF_PRODUCERS)
FAULTS_OF[RELAY] = relay_faults.FAULTS
CASES = [(recipe, fault) for recipe, faults in FAULTS_OF.items() for fault in faults]
AT_LINES = ("killed", "SIGTERM")


def happens(recipe, fault, kind, folder, every=1):
    """What happened to the recipe: AssertionError if what must hold doesn't."""
    done = FAULTS_OF[recipe][fault]
    with ExitStack() as ends:
        broker = losing = None
        if "lost" in fault:
            bootstrap, losing = ends.enter_context(behind_proxy(kind))
        else:
            broker = ends.enter_context(node(kind, folder / "broker", QUICK))
            bootstrap = broker.bootstrap
        shop = ends.enter_context(Shop(recipe, bootstrap, folder))
        shop.node, shop.losing = broker, losing
        return done(shop, every) if fault in AT_LINES else done(shop)

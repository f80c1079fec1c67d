"""The runs behind the essay "How Kafka loses an order": eight ways, and in each one
thing that can be moved, and the switch that prevents the loss.

A case has as many runs as places to move to, twice: without the switch and with it.
What the essay says of a run is read from its trace.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from minikafka import Cluster
from minikafka.course.experiments.from_trace import each_value_read
from minikafka.course.experiments.lesson_03_runs import written
from minikafka.course.experiments.lesson_04_runs import killed_at
from minikafka.course.experiments.lesson_05_runs import pay_with
from minikafka.course.experiments.lesson_09_runs import acknowledged, five_orders, lost
from minikafka.course.experiments.lesson_10_runs import (
    TOPIC,
    brokers_with_orders,
    cut_off,
    log_of,
    partition_of,
)
from minikafka.course.experiments.lesson_13_runs import one_broker, paying, reader
from minikafka.course.experiments.lesson_14_sinks import (
    NOTING,
    PLAIN,
    side_by_side,
)
from minikafka.faults import Crash, Fault, Freeze, Lose
from minikafka.theatre.text import capital, in_words, listed
from minikafka.trace import Event

WELL, LOST, TWICE, LATE = "well", "lost", "twice", "late"
LUCK, WAITS, BACK = "luck", "waits", "back"


class Sight(NamedTuple):
    """A run as the essay shows it. kind: one of the seven above; says: how it ended, in
    a sentence.
    """

    trace: Sequence[Event]
    kind: str
    says: str


class Case(NamedTuple):
    """moves: what the slider moves; places: where to, in a few words. switch: what it
    is called, or "" where there is none. first: the place that is shown at first.
    """

    name: str
    moves: str
    places: Sequence[str]
    switch: str
    first: int
    run: Callable[[int, bool], Sight]


# -- the key and its partition

PARTITIONS = range(2, 7)


def grown(place: int, on: bool) -> Sight:
    """Alice's created is written while there are two partitions, her paid when there
    are this many. Shipping reads all of them.
    """
    count = PARTITIONS[place]
    with Cluster(seed=7) as cluster:
        cluster.create_topic("orders", partitions=2)
        shop = cluster.producer(client_id="shop")
        shop.send("orders", key="alice", value="created")
        cluster.run(seconds=1)
        if count > 2:
            cluster.create_partitions("orders", count)
        cluster.run(seconds=300)  # the producer asks again every five minutes
        shop.send("orders", key="alice", value="paid")
        cluster.run(seconds=1)
        shipping = cluster.consumer(
            "orders", client_id="shipping", auto_offset_reset="earliest"
        )
        for _ in range(4):
            shipping.poll(timeout_ms=500)
        trace = list(cluster.trace)
    chosen = _all(trace, "PartitionChosen")
    created, paid = [event.detail["partition"] for event in chosen]
    read = each_value_read(trace)
    order = ", then ".join(f"“{value}”" for value in read)
    if created == paid:
        kind = WELL
        says = f"Both are in partition {paid}, so shipping reads {order}."
    elif read[0] == "paid":
        kind = LATE
        says = (
            f"“created” is in partition {created}, “paid” in {paid}. Shipping reads"
            f" {order}."
        )
    else:
        kind = LUCK
        says = (
            f"“created” is in partition {created}, “paid” in {paid}. Shipping happens"
            f" to read {order}, but nothing promises that."
        )
    return Sight(trace, kind, says)


# -- the batch, and its retry

ORDERS = 5
FIRST_MESSAGES = range(3)
# what gets lost: its words, which message, and whether it's the answer
LOSSES = [
    *[(f"the answer to order {order}", order, True) for order in FIRST_MESSAGES],
    *[(f"order {order} itself", order, False) for order in FIRST_MESSAGES],
]


def resent(place: int, idempotent: bool) -> Sight:
    """Five orders are sent, each in a request of its own, and from the second place on
    one message is lost.
    """
    faults = [
        Lose("shop", 1, "Produce", nth=order + 1, answer=answer)
        for _, order, answer in LOSSES[:place][-1:]
    ]
    with Cluster(seed=1, faults=faults) as cluster:
        cluster.create_topic("orders", partitions=1)
        shop = cluster.producer(
            client_id="shop",
            linger_ms=0,
            batch_size=1,
            enable_idempotence=idempotent,
        )
        for order in range(ORDERS):
            shop.send("orders", key="alice", value=f"order {order}")
        cluster.run(seconds=1)
        trace = list(cluster.trace)
    log = [value.removeprefix("order ") for value in written(trace)]
    twice = [order for order, times in Counter(log).items() if times > 1]
    once = [order for order in log if order not in twice]
    overtaken = [
        order
        for order in sorted(once)
        if any(other > order for other in log[: log.index(order)])
    ]
    there = f"The log holds {' '.join(log)}"
    overtook = f"order {max(log)} overtook {_orders(overtaken)}" if overtaken else ""
    if twice:
        kind = TWICE
        came = f"{_orders(twice)} came twice"
        says = f"{there}: {', and '.join(filter(None, (came, overtook)))}."
    elif overtook:
        kind = LATE
        says = f"{there}: {overtook}."
    else:
        kind = WELL
        says = f"{there}: each order once, and in order."
    return Sight(trace, kind, says)


# -- the commit point

# the call that it enters, and where that is
CALLS = {
    2: "at order 0, before the first line",
    3: "at order 0, between the two lines",
    4: "at order 0, after the second line",
    5: "at order 1, before the first line",
    6: "at order 1, between the two lines",
    7: "at order 1, after the second line",
}


def works_first(consumer: Any, payments: Any) -> None:
    for record in consumer:
        payments.add(record, record.value)
        consumer.commit()


def commits_first(consumer: Any, payments: Any) -> None:
    for record in consumer:
        consumer.commit()
        payments.add(record, record.value)


def killed(place: int, works: bool) -> Sight:
    """Billing pays five orders, and is killed when it enters one of its calls."""
    cluster = killed_at(works_first if works else commits_first, list(CALLS)[place])
    with cluster:
        trace = list(cluster.trace)
    paid = Counter(event.detail["offset"] for event in _all(trace, "EffectWritten"))
    twice = [str(offset) for offset, times in paid.items() if times > 1]
    never = [str(offset) for offset in range(ORDERS) if offset not in paid]
    if never:
        kind = LOST
        says = f"{_orders(never).capitalize()} is never paid."
    elif twice:
        kind = TWICE
        says = f"{_orders(twice).capitalize()} is paid twice."
    else:
        kind = WELL
        says = "Each order is paid once."
    return Sight(trace, kind, says)


# -- the rebalance

FROZEN_S = (0, 10, 20, 30, 40, 42, 43, 44, 46, 50, 60)
ASLEEP_MS = 20_300
# the programs, by the names that they write under
MEMBERS = {"pays": "A", "pays 2": "B"}
PAID_TWICE = {
    "AA": (
        "A was evicted, woke up and paid order {}, but its commit was refused. Back in"
        " the group, it paid that order again."
    ),
    "AB": (
        "A was evicted, and its orders went to B. Then A woke up and paid order {}, and"
        " B paid it again."
    ),
    "BA": "A was evicted, and B paid order {}. Then A woke up, and paid it again.",
}


def pays(consumer: Any, payments: Any, wait: Callable[[float], None]) -> None:
    for record in consumer:
        wait(1)
        payments.add(record, record.value)
        consumer.commit()


def pays_once(consumer: Any, payments: Any, wait: Callable[[float], None]) -> None:
    """As a table with a unique key does it."""
    for record in consumer:
        wait(1)
        if record not in payments:
            payments.add(record, record.value)
        consumer.commit()


def frozen(place: int, unique: bool) -> Sight:
    """Consumer A stops in the middle of an order, and goes on after a while."""
    seconds = FROZEN_S[place]
    faults = [Freeze("consumer A", at_ms=ASLEEP_MS, for_ms=1000 * seconds)]
    cluster = pay_with(pays_once if unique else pays, faults if seconds else [])
    with cluster:
        trace = list(cluster.trace)
    wrote = _all(trace, "EffectWritten")
    paid = Counter(event.detail["key"] for event in wrote)
    twice = [key for key, times in paid.items() if times > 1]
    is_evicted = any(
        event.detail["reason"] == "session_timeout"
        for event in _all(trace, "MemberLeft")
    )
    if twice:
        kind = TWICE
        payers = "".join(
            MEMBERS[event.node] for event in wrote if event.detail["key"] == twice[0]
        )
        says = PAID_TWICE[payers].format(twice[0].removeprefix("o-"))
    elif seconds:
        kind = WAITS
        goes_on_ms = next(
            event.at for event in wrote if event.at > ASLEEP_MS and _is_of_A(event)
        )
        waited_s = (goes_on_ms - ASLEEP_MS) / 1000
        ends = (
            "A was evicted, and the second payment of order 20 is rejected."
            if is_evicted
            else "A is still in the group, and each order is paid once."
        )
        says = f"A’s orders waited for {waited_s:.0f} s. {ends}"
    else:
        kind = WELL
        says = "Each order is paid once."
    return Sight(trace, kind, says)


def _is_of_A(payment: Event) -> bool:
    """Whether the order is in the partition that A reads when it is frozen."""
    return payment.detail["partition"] == 0


# -- the high watermark

STRIKES_MS = range(5010, 5080, 10)
BEHIND_MS = 100


def unacknowledged(place: int, by_all: bool) -> Sight:
    """A shop sends five orders from 5 s on, one every 10 ms. Broker 2 stands still for
    a moment, so it is behind when the leader is killed.
    """
    plan: list[Fault] = [
        Freeze(2, at_ms=5000, for_ms=BEHIND_MS),
        Crash(1, at_ms=STRIKES_MS[place], restart_after_ms=20_000),
    ]
    with five_orders(plan, "all" if by_all else 1) as cluster:
        gone, done = lost(cluster) or [], acknowledged(cluster)
        trace = list(cluster.trace)
    late = [
        event
        for event in _all(trace, "RecordsAcknowledged")
        if event.at > STRIKES_MS[place] + 1000
    ]
    count = sum(event.detail["count"] for event in late)
    if gone:
        kind = LOST
        are = "is" if len(gone) == 1 else "are"
        says = (
            f"The shop was told that {len(done)} orders are done."
            f" {capital(in_words(len(gone)))} {are} gone."
        )
    elif late:
        kind = WAITS
        waited_s = (late[0].at - STRIKES_MS[place]) / 1000
        which = "all" if count == len(done) else in_words(count)
        says = (
            f"{capital(in_words(len(done)))} orders are done, {which} of them"
            f" {waited_s:.0f} s late."
        )
    else:
        kind = WELL
        says = f"{capital(in_words(len(done)))} orders are done."
    return Sight(trace, kind, says)


# -- the fork after a failover

ELECTED_S = 8  # the others have a leader by then
CUT_S = (1, 3, 6, 9, 12, 15, 20, 30)


def forked(place: int, by_all: bool) -> Sight:
    """The leader and its producer are cut off from the others for a while."""
    acks = "all" if by_all else 1
    with brokers_with_orders(seed=1) as cluster:
        if by_all:
            cluster.run(seconds=1)  # as cut_off does with acks=1
        lonely, web = cut_off(cluster, acks, ("created", "booked"))
        loaded = lonely.send(TOPIC, key="bob", value="loaded")
        before_s = min(CUT_S[place], ELECTED_S)
        cluster.run(seconds=before_s)
        web.send(TOPIC, key="alice", value="paid")
        cluster.run(seconds=CUT_S[place] - before_s)
        cluster.heal()
        cluster.run(seconds=40)
        log = [value for _, value in log_of(cluster, partition_of(cluster).leader)]
        is_told = loaded.is_done and not loaded.exception
        trace = list(cluster.trace)
    cut = _all(trace, "LogTruncated")
    waited_s = _done_after_s(trace, "loaded")
    if is_told and "loaded" not in log:
        kind = LOST
        says = (
            "The old leader said that “loaded” was done. Now another one leads, and"
            " “loaded” is cut off."
        )
    elif waited_s >= 1:
        kind = WAITS
        again = ", because it was sent again" if cut else ""
        behind = log[log.index("loaded") - 1]
        says = (
            f"“loaded” is done {waited_s:.0f} s late{again}. It stands behind"
            f" “{behind}”."
        )
    else:
        kind = WELL
        says = f"The log holds {_quoted(log)}."
    return Sight(trace, kind, says)


def _done_after_s(trace: Sequence[Event], value: str) -> float:
    """How long its producer waited for the answer."""
    [sent] = [e for e in _all(trace, "PartitionChosen") if e.detail["value"] == value]
    [done] = [
        event
        for event in _all(trace, "RecordsAcknowledged")
        if event.node == sent.node and event.detail["batch"] == sent.detail["batch"]
    ]
    return (done.at - sent.at) / 1000


# -- the gate of a transaction

TIMEOUTS_S = (10, 15, 20, 30, 40, 50, 60)
ABORTED_AFTER_S = 12  # the coordinator looks for such transactions every ten


def gated(place: int, committed: bool) -> Sight:
    """The shop hangs in an open transaction; after this time the coordinator aborts
    it. A reader polls what others write behind it; where it has read what is aborted,
    until that has happened.
    """
    seconds = TIMEOUTS_S[place]
    with one_broker() as cluster:
        level = "read_committed" if committed else "read_uncommitted"
        auditor = reader(cluster, "auditor", level)
        shop = paying(cluster, transaction_timeout_ms=1000 * seconds)
        shop.begin_transaction()
        shop.send("payments", value="20 euros", partition=0).get()
        cluster.crash(shop)
        kiosk = cluster.producer(client_id="kiosk")
        sent_ms = cluster.now_ms
        kiosk.send("payments", value="5 euros", partition=0).get()
        while not _read(cluster.trace, "auditor", "5 euros"):
            auditor.poll(timeout_ms=1000)
        waited_s = (cluster.now_ms - sent_ms) / 1000
        if not committed:
            cluster.run(seconds=seconds + ABORTED_AFTER_S)
        trace = list(cluster.trace)
    if not committed:
        kind = BACK
        [aborted] = _all(trace, "MarkerWritten")
        believed_s = (aborted.at - sent_ms) / 1000
        says = (
            f"The auditor counts 25 euros. Of these, 20 are aborted after {believed_s:.0f}"
            " s, and it isn’t told."
        )
    else:
        kind = WAITS
        says = (
            f"The kiosk’s 5 euros wait for {waited_s:.0f} s behind a shop that is dead."
            " The auditor never counts the other 20."
        )
    return Sight(trace, kind, says)


# -- the sink

# where plain is at that moment
KILLS_MS = {
    "before its first step, at order 1": 1900,
    "between its two steps, at order 1": 2200,
    "after its second step, at order 1": 2440,
    "before its first step, at order 2": 2900,
    "between its two steps, at order 2": 3200,
    "after its second step, at order 2": 3440,
}


def sunk(place: int, noting: bool) -> Sight:
    """A sink adds up five orders of ten cents, and is killed around order 1 or 2."""
    name = NOTING if noting else PLAIN
    fault = Crash(name, at_ms=list(KILLS_MS.values())[place], restart_after_ms=2500)
    with side_by_side([fault]) as cluster:
        trace = list(cluster.trace)
    cents = 10 * sum(
        event.detail["reader"] == name for event in _all(trace, "EffectWritten")
    )
    if cents > 10 * ORDERS:
        kind = TWICE
        says = (
            f"{name} added an order twice: five orders of 10 cents, and the database says"
            f" {cents}."
        )
    else:
        kind = WELL
        says = f"Five orders of 10 cents, and the database says {cents}."
    return Sight(trace, kind, says)


CASES = (
    Case(
        "key",
        "partitions now (there were 2)",
        [str(count) for count in PARTITIONS],
        "",
        1,
        grown,
    ),
    Case(
        "batch",
        "what gets lost",
        ["nothing", *(words for words, *_ in LOSSES)],
        "enable.idempotence=true",
        3,
        resent,
    ),
    Case(
        "commit",
        "billing is killed",
        list(CALLS.values()),
        "pay first, then commit",
        1,
        killed,
    ),
    Case(
        "rebalance",
        "A is frozen for",
        [f"{seconds} s" for seconds in FROZEN_S],
        "a unique key on the payment",
        9,
        frozen,
    ),
    Case(
        "watermark",
        "the leader is killed at",
        [f"{ms / 1000:.2f} s" for ms in STRIKES_MS],
        "acks=all",
        4,
        unacknowledged,
    ),
    Case(
        "fork",
        "the network is cut for",
        [f"{seconds} s" for seconds in CUT_S],
        "acks=all",
        5,
        forked,
    ),
    Case(
        "gate",
        "transaction.timeout.ms",
        [f"{1000 * seconds} ({seconds} s)" for seconds in TIMEOUTS_S],
        "isolation.level=read_committed",
        2,
        gated,
    ),
    Case(
        "sink",
        "killed at the moment when plain is",
        list(KILLS_MS),
        "kill noting instead of plain",
        4,
        sunk,
    ),
)


def _all(trace: Sequence[Event], kind: str) -> list[Event]:
    return [event for event in trace if event.kind == kind]


def _read(trace: Sequence[Event], who: str, value: str) -> bool:
    for event in _all(trace, "RecordsPolled"):
        if event.node == who and any(
            value == each[2] for each in event.detail["records"]
        ):
            return True
    return False


def _orders(numbers: Sequence[str]) -> str:
    """ "order 1", or "orders 1 and 2"."""
    return f"order{'s' if len(numbers) > 1 else ''} {listed(list(numbers))}"


def _quoted(values: Sequence[str]) -> str:
    return listed([f"“{value}”" for value in values])

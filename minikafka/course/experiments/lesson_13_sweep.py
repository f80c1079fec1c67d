"""Lesson 13's sweep: the shop dies in its transaction, before another call in each row.
Beside each other: it is not started again, and it is, five seconds later.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from minikafka.course.experiments.lesson_13_runs import one_broker
from minikafka.course.experiments.sweeps import Bar, Compared, Record, sweep_of
from minikafka.faults import Crash
from minikafka.simulation.producer_handle import ProducerHandle
from minikafka.trace import Event

AFTER_S = 5
UNTIL_S = 75  # longer than transaction.timeout.ms, and a look of the coordinator
VALUES = ("alice -20", "bob +20")
NOT_AGAIN = "not started again"
AGAIN = f"started again after {AFTER_S} s"


class Dies(NamedTuple):
    """call: the number of the blocking call that it dies on entering."""

    call: int
    name: str


DIES = (
    Dies(2, "before its first send"),
    Dies(4, "before its second send"),
    Dies(6, "before its commit"),
    Dies(7, "after its commit"),
)


def pay(shop: ProducerHandle) -> None:
    """The payment in one transaction."""
    shop.init_transactions()
    shop.begin_transaction()
    for partition, value in enumerate(VALUES):
        shop.send("payments", value=value, partition=partition).get()
    shop.commit_transaction()


def died_sweep() -> Any:
    """The records that are in the log in the end, and for how long the transaction was
    open.
    """
    runs = []
    for dies in DIES:
        for column in (NOT_AGAIN, AGAIN):
            runs.append(_run(dies, column))
    twice = sum(bool(run.wrong) for run in runs)
    return sweep_of(
        runs,
        title="The shop dies in its transaction",
        across="hatched: for how long its transaction is open",
        foot="Filled: committed. Crossed out: aborted.",
        in_short=(
            f"In {twice} of {len(runs)} runs it is paid twice: the shop had committed"
            " before it died, and nothing told it so when it began again. If it dies"
            " before its commit, it leaves one aborted attempt at most."
        ),
    )


def _run(dies: Dies, column: str) -> Compared:
    """column: NOT_AGAIN or AGAIN."""
    trace = _traced(dies, is_started_again=column == AGAIN)
    records = _records(trace)
    counts = [record.text for record in records if record.became == "there"]
    is_paid_twice = len(counts) > len(set(counts))
    open_ms = _open_ms(trace)
    bars = []
    ended = ""
    if open_ms:
        open_s = f"{open_ms / 1000:.0f} s"
        bars.append(Bar(begins_ms=0, ends_ms=open_ms, words=open_s))
        ended = f"open for {open_s}, then aborted; "
    found = f"{ended}what counts is {', '.join(counts) or 'nothing'}"
    return Compared(
        row=(dies.name, ""),
        column=column,
        records=records,
        says=f"It dies {dies.name}, {column}: {found}.",
        wrong="paid twice" if is_paid_twice else "",
        bars=bars,
    )


def _traced(dies: Dies, is_started_again: bool) -> Sequence[Event]:
    """The trace of a run in which the program crashes at this call, and is restarted or
    not.
    """
    with one_broker(faults=[Crash("pay", call=dies.call)]) as cluster:
        shop = cluster.producer(client_id="shop", transactional_id="pay")
        running = cluster.start(pay, shop)
        cluster.run(seconds=AFTER_S)
        if is_started_again:
            cluster.restart(running)
        cluster.run(seconds=UNTIL_S)
        return tuple(cluster.trace)


class Place(NamedTuple):
    """Where a record of the payments is."""

    partition: int
    offset: int


def _records(trace: Sequence[Event]) -> list[Record]:
    """The records that were written, in order, and their fate."""
    records: dict[Place, Record] = {}
    for event in trace:
        d = event.detail
        if d.get("topic") != "payments":
            continue
        if event.kind == "RecordsAppended":
            for offset, _, value, *_ in d["records"]:
                if value in VALUES:  # and no marker
                    place = Place(d["partition"], offset)
                    records[place] = Record(value, "open")
        elif event.kind == "MarkerWritten":
            _end(records, d["partition"], d["outcome"])
    return list(records.values())


def _end(records: dict[Place, Record], partition: int, outcome: str) -> None:
    """A marker decides on all that is open in its partition."""
    became = "there" if outcome == "committed" else "aborted"
    for place, record in records.items():
        if place.partition == partition and record.became == "open":
            records[place] = record._replace(became=became)


def _open_ms(trace: Sequence[Event]) -> int:
    """For how long the transaction was open that was aborted; 0 if none was."""
    begun_ms = 0
    for event in trace:
        if event.kind != "TransactionStateChanged":
            continue
        if event.detail["state"] == "Ongoing" and event.detail["was"] != "Ongoing":
            begun_ms = event.at
        elif event.detail["state"] == "PrepareAbort":
            return event.at - begun_ms
    return 0

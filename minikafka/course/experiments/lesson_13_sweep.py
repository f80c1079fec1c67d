"""Lesson 13's sweep: the shop dies in its transaction, before another call in each row.
Beside each other: nobody takes its place, and it is started again five seconds later.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from minikafka.course.experiments.lesson_13_runs import one_broker
from minikafka.course.experiments.sweeps import Compared, sweep_of
from minikafka.faults import Crash
from minikafka.simulation.producer_handle import ProducerHandle
from minikafka.trace import Event

AFTER_S = 5
UNTIL_S = 75  # longer than transaction.timeout.ms, and a look of the coordinator
VALUES = "alice -20", "bob +20"
NOBODY, AGAIN = "nobody takes its place", f"started again after {AFTER_S} s"


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
    """What is in the log in the end, and for how long it was open."""
    runs = []
    for dies in DIES:
        for column in (NOBODY, AGAIN):
            runs.append(_run(dies, column))
    return sweep_of(
        runs,
        title="The shop dies in its transaction",
        across="hatched: for how long its transaction is open",
        foot="Filled: committed. Crossed out: aborted.",
    )


def _run(dies: Dies, column: str) -> Compared:
    with one_broker(faults=[Crash("pay", call=dies.call)]) as cluster:
        shop = cluster.producer(client_id="shop", transactional_id="pay")
        running = cluster.start(pay, shop)
        cluster.run(seconds=AFTER_S)
        if column == AGAIN:
            cluster.restart(running)
        cluster.run(seconds=UNTIL_S)
        trace = tuple(cluster.trace)
    records = _records(trace)
    open_ms = _open_ms(trace)
    bars = []
    if open_ms:
        bars.append((0, open_ms, f"{open_ms / 1000:.0f} s"))
    counted = [value for value, became in records if became == "there"]
    wrong = ""
    if len(counted) > len(set(counted)):
        wrong = "paid twice"
    ended = f"open for {open_ms / 1000:.0f} s, then aborted; " if open_ms else ""
    counts = ", ".join(counted) or "nothing"
    return Compared(
        row=(dies.name, ""),
        column=column,
        records=records,
        says=f"It dies {dies.name}, {column}: {ended}what counts is {counts}.",
        wrong=wrong,
        bars=bars,
    )


def _records(trace: Sequence[Event]) -> list[tuple[str, str]]:
    """What was written, in its order, and what became of it."""
    values: dict[tuple[int, int], str] = {}
    became: dict[tuple[int, int], str] = {}
    for event in trace:
        d = event.detail
        if event.kind == "RecordsAppended" and d["topic"] == "payments":
            for offset, _, value, *_ in d["records"]:
                if value in VALUES:  # and no marker
                    values[d["partition"], offset] = value
                    became[d["partition"], offset] = "open"
        elif event.kind == "MarkerWritten" and d["topic"] == "payments":
            ends = "there" if d["outcome"] == "committed" else "aborted"
            for place, state in became.items():
                if place[0] == d["partition"] and state == "open":
                    became[place] = ends
    return [(values[place], state) for place, state in became.items()]


def _open_ms(trace: Sequence[Event]) -> int:
    """For how long the transaction was open that was aborted."""
    begun_ms = 0
    for event in trace:
        if event.kind != "TransactionStateChanged":
            continue
        if event.detail["state"] == "Ongoing" and event.detail["was"] != "Ongoing":
            begun_ms = event.at
        elif event.detail["state"] == "PrepareAbort":
            return event.at - begun_ms
    return 0

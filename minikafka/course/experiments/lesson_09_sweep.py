"""Lesson 09's sweep: the leader is killed at another moment in each column, and each
row has another acks. Both followers are frozen, as in the lesson's first story.
"""

from collections.abc import Sequence
from typing import Any

from minikafka.course.experiments.lesson_09_runs import (
    BEGINS_MS,
    ORDERS,
    five_orders,
    lost,
)
from minikafka.course.experiments.sweeps import Compared, sweep_of, went_wrong
from minikafka.faults import Crash, Fault, Freeze

KILLED_MS = (5, 15, 25, 35, 45, 55)  # after the first order
STILL_MS, AWAY_MS = 3000, 20_000


def killed_sweep(acks: Sequence[int | str]) -> Any:
    """Five orders, one every 10 ms."""
    runs = []
    for each in acks:
        for after_ms in KILLED_MS:
            runs.append(_run(each, after_ms))
    sums = [_sum(runs, f"acks={each}") for each in acks]
    return sweep_of(
        runs,
        title="Five orders, and their leader is killed",
        across="the leader is killed so many ms after the first order",
        foot="Green: there in the end. Crossed out: acknowledged, and gone.",
        in_short=(
            "Acknowledged orders that no follower has fetched die with the leader:"
            f" {'; '.join(sums)}."
        ),
    )


def _sum(runs: Sequence[Compared], name: str) -> str:
    """The total loss of all runs with this acks."""
    gone = 0
    for run in runs:
        if run.row[0] == name:
            gone += sum(became == "lost" for _, became in run.records)
    return f"{name} loses {gone}, in {went_wrong(runs, name)} runs"


def _run(acks: int | str, after_ms: int) -> Compared:
    faults: list[Fault] = []
    for follower in (2, 3):
        faults.append(Freeze(follower, at_ms=BEGINS_MS, for_ms=STILL_MS))
    killed = Crash(1, at_ms=BEGINS_MS + after_ms, restart_after_ms=AWAY_MS)
    faults.append(killed)
    with five_orders(faults, acks=acks) as cluster:
        gone = lost(cluster) or []
    records = []
    for number in range(ORDERS):
        is_gone = f"order {number}" in gone
        records.append((str(number), "lost" if is_gone else "there"))
    found = "all five orders are there in the end"
    if gone:
        found = f"acknowledged, and gone in the end: {', '.join(gone)}"
    return Compared(
        row=(f"acks={acks}", ""),
        column=f"{after_ms}",
        records=records,
        says=f"With acks={acks}, killed {after_ms} ms after the first order: {found}.",
        wrong="acknowledged orders are lost" if gone else "",
    )

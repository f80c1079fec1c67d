"""Lesson 19's sweep: the same query with several sinks, each killed before its rows,
among them and before the commit; one small picture a run.
"""

from collections.abc import Callable, Mapping
from typing import Any

from minikafka import theatre
from minikafka.course.experiments.lesson_19_sinks import (
    Accounts,
    Bank,
    Moment,
    Sink,
    checkpoint_of,
    drill,
)
from minikafka.course.spark import Lab
from minikafka.trace import Event

BATCH = 1  # in which the plug is pulled
WHEN = {"before": "before its rows", "in": "among its rows", "after": "before commits/"}
# a writer of the topic, with this checkpoint
Query = Callable[[str], Any]
# what it writes to, and the sink: new ones at each call
Made = Callable[[], tuple[Bank | Accounts, Sink]]


def sweep(query: Query, sinks: Mapping[str, Made], lab: Lab) -> Any:
    """A run for each sink and each moment: two lives, of which the first is killed in
    micro-batch 1. sinks: by name, each a function that makes its table and the sink. The
    picture of all runs.
    """
    events: list[Event] = []
    for name, made in sinks.items():
        for when, words in WHEN.items():
            number = len(events) + 1
            checkpoint = lab.checkpoint(f"sweep-{number}")
            found = {
                "run": number,
                "call": words,
                "row": name,
                "written": _written(query(checkpoint), made, when, checkpoint),
            }
            identity = ("sweep", number)
            events.append(
                Event(identity, number * 1000, "Spark", "RunEnded", None, found)
            )
    return theatre.picture("sweep", events, things="micro-batch")


def _written(writer: Any, made: Made, when: str, checkpoint: str) -> list[float]:
    """Micro-batch -> how many times its records have been written."""
    bank, sink = made()
    rows: dict[int, int] = {}

    def counted(frame: Any, batch_id: int) -> None:
        had = len(bank)
        try:
            sink(frame, batch_id)
        finally:
            rows[batch_id] = rows.get(batch_id, 0) + len(bank) - had

    drill(writer, counted, [Moment(BATCH, when)], bank)
    offsets, _ = checkpoint_of(checkpoint)
    times = []
    before = 0
    for number, ends in sorted(offsets.items()):
        end = sum(ends.values())
        times.append(round(rows.get(number, 0) / (end - before), 2))
        before = end
    return times

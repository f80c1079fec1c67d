"""A Spark query, watched through the traces it leaves in its checkpoint folder and its
sink.

    seen = watch(writer, sink, [Moment(1, "after")], bank, checkpoint)
    seen.play()

Each look reports new files: nothing is reported that isn't on the disk or in the bank.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from minikafka import theatre
from minikafka.course.experiments.lesson_19_sinks import (
    Bank,
    Moment,
    Sink,
    checkpoint_of,
    life,
)
from minikafka.trace import Event

# between two looks, in the picture: how long Spark took differs from run to run
STEP_MS = 1000

Fact = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Seen:
    """What was found, in order."""

    facts: tuple[Fact, ...]

    def trace(self) -> list[Event]:
        """The findings as events for the picture."""
        events = []
        for number, (kind, detail) in enumerate(self.facts, 1):
            identity, at = ("Spark", number), number * STEP_MS
            events.append(Event(identity, at, "Spark", kind, None, detail))
        return events

    def play(self, prediction: Any = None, **options: Any) -> Any:
        return theatre.picture(
            "micro-batch", self.trace(), prediction=prediction, **options
        )


def watch(
    writer: Any, sink: Sink, moments: Iterable[Moment], bank: Bank, checkpoint: str
) -> Seen:
    """A life of the query for each moment, and one that nobody ends, all of them
    watched.
    """
    watcher = _Watcher(bank, checkpoint)
    for number, moment in enumerate((*moments, None), 1):
        watcher.tell("QueryStarted", life=number)
        life(writer, watcher.around(sink), moment, bank)
        watcher.look()
        if moment is not None:
            watcher.tell("QueryDied", life=number)
    return Seen(tuple(watcher.facts))


class _Watcher:
    def __init__(self, bank: Bank, checkpoint: str) -> None:
        self.bank, self.checkpoint = bank, checkpoint
        self.facts: list[Fact] = []
        # micro-batch -> offsets up to its end, in the sum of all partitions
        self.planned: dict[int, int] = {}
        self.committed: set[int] = set()

    def tell(self, kind: str, **detail: Any) -> None:
        self.facts.append((kind, detail))

    def look(self) -> None:
        """Tells what is new in the checkpoint: a commit is older than the next plan."""
        offsets, commits = checkpoint_of(self.checkpoint)
        for number in sorted(offsets):
            if number not in self.planned:
                begins = self.planned.get(number - 1, 0)
                ends = sum(offsets[number].values())
                self.planned[number] = ends
                self.tell("PlanWritten", batch=number, records=ends - begins)
            if number in commits - self.committed:
                self.committed.add(number)
                self.tell("BatchCommitted", batch=number)

    def around(self, sink: Sink) -> Sink:
        """The sink, wrapped so that its changes in the bank are reported, even if it
        dies in the middle.
        """

        def watched(frame: Any, batch_id: int) -> None:
            self.look()
            had = len(self.bank)
            whole = False
            try:
                sink(frame, batch_id)
                whole = True
            finally:
                rows = len(self.bank) - had
                self.tell("RowsWritten", batch=batch_id, rows=rows, whole=whole)

        return watched


# Three kills, each between two other steps, with one task that appends row by row:
# tests/spark/test_spark_sinks.py has Spark do it.
KILLED = (Moment(1, "after"), Moment(1, "in", row=40), Moment(2, "before"))
RECORDED = Seen(
    (
        ("QueryStarted", {"life": 1}),
        ("PlanWritten", {"batch": 0, "records": 79}),
        ("RowsWritten", {"batch": 0, "rows": 79, "whole": True}),
        ("BatchCommitted", {"batch": 0}),
        ("PlanWritten", {"batch": 1, "records": 78}),
        ("RowsWritten", {"batch": 1, "rows": 78, "whole": True}),
        ("QueryDied", {"life": 1}),
        ("QueryStarted", {"life": 2}),
        ("RowsWritten", {"batch": 1, "rows": 39, "whole": False}),
        ("QueryDied", {"life": 2}),
        ("QueryStarted", {"life": 3}),
        ("RowsWritten", {"batch": 1, "rows": 78, "whole": True}),
        ("BatchCommitted", {"batch": 1}),
        ("PlanWritten", {"batch": 2, "records": 43}),
        ("QueryDied", {"life": 3}),
        ("QueryStarted", {"life": 4}),
        ("RowsWritten", {"batch": 2, "rows": 43, "whole": True}),
        ("BatchCommitted", {"batch": 2}),
    )
)

"""What a Spark query's checkpoint and its sink tell, micro-batch by micro-batch
(micro_batch.py draws it): Spark writes a plan, offsets/N; the sink gets the rows; Spark
writes a commit, commits/N. The query may die between any two.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from minikafka.theatre.play import Cast, Detail, Space, Story, Told
from minikafka.theatre.text import counted
from minikafka.trace import Event


@dataclass
class MicroBatch:
    """records: of its plan. rows: what each attempt has left in the sink. committed:
    commits/N is there.
    """

    number: int
    records: int
    rows: list[int] = field(default_factory=list)
    committed: bool = False

    @property
    def too_many(self) -> int:
        return max(sum(self.rows) - self.records, 0)


class MicroBatchStory(Story):
    name = "micro-batch"
    title = "Micro-batches, their sink and their checkpoint"

    def __init__(self, trace: Sequence[Event], **options: Any) -> None:
        super().__init__(trace, **options)
        self.planned = sorted(
            {event.detail["batch"] for event in trace if event.kind == "PlanWritten"}
        )
        self.batches: dict[int, MicroBatch] = {}
        self.life = 0
        self.alive = False
        # micro-batch -> the event that last did something for it
        self.latest: dict[int, tuple[str, int]] = {}

    def see(self, event: Event) -> Told | None:
        """What one event changes; its cause is what was done last for the same
        micro-batch.
        """
        told = super().see(event)
        number = event.detail.get("batch")
        if told is not None and number is not None:
            told.because = self.latest.get(number)
            self.latest[number] = event.id
        return told

    def cast(self) -> Cast:
        return super().cast() | {"batches": self.planned}

    def space(self) -> Space:
        batches = list(self.batches.values())
        return {
            "batches": [
                asdict(batch) | {"too_many": batch.too_many} for batch in batches
            ],
            "life": self.life,
            "alive": self.alive,
            "too_many": sum(batch.too_many for batch in batches),
        }

    def _see_QueryStarted(self, event: Event, d: Detail) -> Told:
        self.life, self.alive = d["life"], True
        open_ones = [
            batch.number for batch in self.batches.values() if not batch.committed
        ]
        if open_ones:
            number = open_ones[-1]
            found = (
                f"offsets/{number} is there and commits/{number} is not: micro-batch"
                f" {number} is done again."
            )
        elif self.batches:
            found = "every plan has its commit."
        else:
            found = "the checkpoint is empty."
        light = [f"plan/{number}" for number in open_ones] + [
            f"commit/{number}" for number in open_ones
        ]
        return Told(
            f"The query starts. What it finds: {found}",
            f"life {self.life}",
            light=light,
        )

    def _see_PlanWritten(self, event: Event, d: Detail) -> Told:
        self.batches[d["batch"]] = MicroBatch(d["batch"], d["records"])
        plan = f"micro-batch {d['batch']} is these {counted(d['records'], 'record')}"
        return Told(
            f"Spark writes offsets/{d['batch']}, the plan: {plan}.",
            self.once("the first plan"),
        )

    def _see_RowsWritten(self, event: Event, d: Detail) -> Told:
        batch = self.batches[d["batch"]]
        again, had = bool(batch.rows), batch.too_many
        batch.rows.append(d["rows"])
        name = f"micro-batch {batch.number}"
        wrote = f"The sink writes {'all' if d['whole'] else d['rows']} of {name}"
        if batch.too_many > had:
            return Told(
                f"{wrote} again: {counted(batch.too_many, 'row')} too many.",
                self.once("rows too many"),
                True,
                light=[f"sink/{batch.number}", "lamp"],
            )
        if not d["whole"]:
            return Told(
                f"The sink is in the middle of {name}: {d['rows']} of {batch.records}"
                " rows count."
            )
        if again and not d["rows"]:
            return Told(
                f"The sink has {name} already: not a row more.",
                light=[f"sink/{batch.number}"],
            )
        return Told(f"The sink writes {name}: {counted(d['rows'], 'row')}.")

    def _see_BatchCommitted(self, event: Event, d: Detail) -> Told:
        self.batches[d["batch"]].committed = True
        return Told(
            f"Spark writes commits/{d['batch']}: done.", self.once("the first commit")
        )

    def _see_QueryDied(self, event: Event, d: Detail) -> Told:
        self.alive = False
        number = next(
            (each.number for each in self.batches.values() if not each.committed), None
        )
        if number is None:
            return Told("The query dies. Every plan has its commit.")
        lamps = ["query", *(f"{lamp}/{number}" for lamp in ("plan", "sink", "commit"))]
        missing = self.batches[number].records - sum(self.batches[number].rows)
        written = (
            "its rows are in the sink"
            if missing <= 0
            else "a part of it is in the sink"
        )
        if missing == self.batches[number].records:
            written = "nothing of it is in the sink"
        return Told(
            f"The plug is pulled. Of micro-batch {number} the plan is there, {written},"
            " the commit is missing.",
            f"killed in micro-batch {number}",
            light=lamps,
        )

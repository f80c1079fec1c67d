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

    def space(self) -> Space:
        told = asdict(self)
        told["too_many"] = self.too_many
        return told


class MicroBatchStory(Story):
    name = "micro-batch"
    title = "Micro-batches, their sink and their checkpoint"

    def __init__(self, trace: Sequence[Event], **options: Any) -> None:
        super().__init__(trace, **options)
        plans = [event for event in trace if event.kind == "PlanWritten"]
        self.planned = sorted({event.detail["batch"] for event in plans})
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
        batches = self.batches.values()
        return {
            "batches": [batch.space() for batch in batches],
            "life": self.life,
            "alive": self.alive,
            "too_many": sum(batch.too_many for batch in batches),
        }

    def _uncommitted(self) -> list[MicroBatch]:
        """Those that have a plan and no commit."""
        return [batch for batch in self.batches.values() if not batch.committed]

    def _see_QueryStarted(self, event: Event, d: Detail) -> Told:
        self.life = d["life"]
        self.alive = True
        again = [batch.number for batch in self._uncommitted()]
        found = "the checkpoint is empty."
        if again:
            number = again[-1]
            found = (
                f"offsets/{number} is there and commits/{number} is not: micro-batch"
                f" {number} is done again."
            )
        elif self.batches:
            found = "every plan has its commit."
        light = [f"plan/{number}" for number in again]
        light += [f"commit/{number}" for number in again]
        words = f"The query starts. What it finds: {found}"
        return Told(words, f"life {self.life}", light=light)

    def _see_PlanWritten(self, event: Event, d: Detail) -> Told:
        self.batches[d["batch"]] = MicroBatch(d["batch"], d["records"])
        plan = f"micro-batch {d['batch']} is these {counted(d['records'], 'record')}"
        return Told(
            f"Spark writes offsets/{d['batch']}, the plan: {plan}.",
            self.once("the first plan"),
        )

    def _see_RowsWritten(self, event: Event, d: Detail) -> Told:
        batch = self.batches[d["batch"]]
        rows = d["rows"]
        is_whole = d["whole"]
        is_again = bool(batch.rows)
        had = batch.too_many
        batch.rows.append(rows)
        name = f"micro-batch {batch.number}"
        lamp = f"sink/{batch.number}"
        if batch.too_many > had:
            many = counted(batch.too_many, "row")
            return Told(
                f"The sink writes {'all' if is_whole else rows} of {name} again: {many}"
                " too many.",
                self.once("rows too many"),
                trouble=True,
                light=[lamp, "lamp"],
            )
        if not is_whole:
            return Told(
                f"The sink is in the middle of {name}: {rows} of {batch.records}"
                " rows count."
            )
        if is_again and not rows:
            words = f"The sink has {name} already: not a row more."
            return Told(words, light=[lamp])
        return Told(f"The sink writes {name}: {counted(rows, 'row')}.")

    def _see_BatchCommitted(self, event: Event, d: Detail) -> Told:
        self.batches[d["batch"]].committed = True
        return Told(
            f"Spark writes commits/{d['batch']}: done.", self.once("the first commit")
        )

    def _see_QueryDied(self, event: Event, d: Detail) -> Told:
        self.alive = False
        open_ones = self._uncommitted()
        if not open_ones:
            return Told("The query dies. Every plan has its commit.")
        batch = open_ones[0]
        number = batch.number
        words = (
            f"The plug is pulled. Of micro-batch {number} the plan is there,"
            f" {_how_much_is_written(batch)}, the commit is missing."
        )
        lamps = [f"plan/{number}", f"sink/{number}", f"commit/{number}"]
        light = ["query", *lamps]
        return Told(words, f"killed in micro-batch {number}", light=light)


def _how_much_is_written(batch: MicroBatch) -> str:
    missing = batch.records - sum(batch.rows)
    if missing == batch.records:
        return "nothing of it is in the sink"
    if missing > 0:
        return "a part of it is in the sink"
    return "its rows are in the sink"

"""A Spark query's checkpoint and its sink, micro-batch by micro-batch (play.py
draws it): Spark writes a plan, offsets/N; the sink gets the rows; Spark writes a
commit, commits/N. The query may die between any two.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minikafka.theatre.axis import Scene
from minikafka.theatre.play import Cast, Detail, Space, Story, Told, picked
from minikafka.theatre.text import counted, listed
from minikafka.trace import Event

# how far a micro-batch had come when the query was killed
PLANNED, WRITING, WRITTEN, COMMITTED = "planned", "writing", "written", "committed"


class Attempt(NamedTuple):
    """The rows that one life of the query has left in the sink. too_many: rows that
    were there already. number: of the event.
    """

    rows: int
    life: int
    is_whole: bool
    too_many: int
    number: int


class Killed(NamedTuple):
    """The end of a life, in a micro-batch, or between two (None). attempts: how many
    there had been by then.
    """

    life: int
    batch: int | None
    when: str
    attempts: int
    number: int


@dataclass
class MicroBatch:
    """begin: how many records the plans before it hold. records: of its plan. planned,
    committed: the events that wrote offsets/N and commits/N.
    """

    number: int
    begin: int
    records: int
    planned: int
    committed: int | None = None
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return sum(attempt.rows for attempt in self.attempts)

    @property
    def too_many(self) -> int:
        return max(self.rows - self.records, 0)

    def space(self) -> Space:
        told = picked(self, "number", "begin", "records", "planned", "committed")
        told["attempts"] = [list(attempt) for attempt in self.attempts]
        return told


class MicroBatchStory(Story):
    name = "micro-batch"
    title = "A sink and its checkpoint"

    def __init__(self, trace: Sequence[Event], **options: Any) -> None:
        super().__init__(trace, **options)
        plans = {
            event.detail["batch"]: event.detail["records"]
            for event in trace
            if event.kind == "PlanWritten"
        }
        self.plans = dict(sorted(plans.items()))
        self.batches: dict[int, MicroBatch] = {}
        self.life = 0
        self.alive = False
        self.writes = False  # in this life, and not yet committed
        self.kills: list[Killed] = []
        # micro-batch -> the event that last did something for it
        self.latest: dict[int, tuple[str, int]] = {}

    def clock(self, ms: Sequence[int]) -> list[str]:
        """Files and rows tell an order, and no times."""
        return [f"look {number}" for number in range(1, len(ms) + 1)]

    def see(self, event: Event) -> Told | None:
        """The change of one event; its cause is the last event about the same
        micro-batch.
        """
        told = super().see(event)
        number = event.detail.get("batch")
        if told is not None and number is not None:
            told.because = self.latest.get(number)
            self.latest[number] = event.id
        return told

    def cast(self) -> Cast:
        told = super().cast()
        told["plans"] = [list(plan) for plan in self.plans.items()]
        attempts = [len(batch.attempts) for batch in self.batches.values()]
        told["attempts"] = max(attempts, default=0)
        return told

    def space(self) -> Space:
        batches = self.batches.values()
        return {
            "batches": [batch.space() for batch in batches],
            "life": self.life,
            "alive": self.alive,
            "kills": [list(kill) for kill in self.kills],
            "too_many": sum(batch.too_many for batch in batches),
        }

    def _uncommitted(self) -> list[MicroBatch]:
        """Those that have a plan and no commit."""
        return [batch for batch in self.batches.values() if batch.committed is None]

    def _see_QueryStarted(self, event: Event, d: Detail) -> Told:
        self.life = d["life"]
        self.alive = True
        self.writes = False
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
        number, records = d["batch"], d["records"]
        begin = sum(batch.records for batch in self.batches.values())
        self.batches[number] = MicroBatch(
            number,
            begin,
            records,
            planned=self.number,
        )
        plan = f"micro-batch {number} is these {counted(records, 'record')}"
        return Told(
            f"Spark writes offsets/{number}, the plan: {plan}.",
            self.once("the first plan"),
        )

    def _see_RowsWritten(self, event: Event, d: Detail) -> Told:
        batch = self.batches[d["batch"]]
        rows = d["rows"]
        is_whole = d["whole"]
        is_again = bool(batch.attempts)
        had = batch.too_many
        more = max(batch.rows + rows - batch.records, 0) - had
        attempt = Attempt(
            rows,
            self.life,
            is_whole,
            more,
            self.number,
        )
        batch.attempts.append(attempt)
        self.writes = True
        name = f"micro-batch {batch.number}"
        rows_key = f"sink/{batch.number}"
        if more:
            many = counted(batch.too_many, "row")
            return Told(
                f"The sink writes {'all' if is_whole else rows} of {name} again: {many}"
                " too many.",
                self.once("rows too many"),
                trouble=True,
                light=[rows_key, "lamp"],
            )
        if not is_whole:
            return Told(
                f"The sink is in the middle of {name}: {rows} of {batch.records}"
                " rows count."
            )
        if is_again and not rows:
            words = f"The sink has {name} already: not a row more."
            return Told(words, light=[rows_key])
        return Told(f"The sink writes {name}: {counted(rows, 'row')}.")

    def _see_BatchCommitted(self, event: Event, d: Detail) -> Told:
        self.batches[d["batch"]].committed = self.number
        self.writes = False
        return Told(
            f"Spark writes commits/{d['batch']}: done.", self.once("the first commit")
        )

    def _see_QueryDied(self, event: Event, d: Detail) -> Told:
        self.alive = False
        open_ones = self._uncommitted()
        batch = open_ones[0] if open_ones else None
        self.kills.append(self._killed(batch))
        if batch is None:
            words = "The query dies. Every plan has its commit."
            return Told(words, trouble=True, light=["query"])
        number = batch.number
        words = (
            f"The plug is pulled. Of micro-batch {number} the plan is there,"
            f" {_how_much_is_written(batch)}, the commit is missing."
        )
        light = [
            "query",
            f"kill/{self.life}",
            f"plan/{number}",
            f"sink/{number}",
            f"commit/{number}",
        ]
        return Told(words, f"killed in micro-batch {number}", True, light=light)

    def ends(self, last: Scene) -> None:
        """All in one sentence: how often it died, and what came of that."""
        if not self.kills or not self.alive:
            return
        again = [batch for batch in self.batches.values() if len(batch.attempts) > 1]
        if not again:
            return
        kills = len(self.kills)
        died = "once" if kills == 1 else f"{kills} times"
        names = listed([batch.number for batch in again])
        what = f"Micro-batch {names} had a plan and no commit, so it was"
        if len(again) > 1:
            what = f"Micro-batches {names} had plans and no commits, so they were"
        many = sum(batch.too_many for batch in again)
        came = "no row is too many"
        if many:
            came = f"{counted(many, 'row')} too many"
        last["sentence"] = f"The query died {died}. {what} done again: {came}."
        last["light"] = ["lamp", "kill"]
        for batch in again:
            last["light"] += [f"plan/{batch.number}", f"sink/{batch.number}"]

    def _killed(self, batch: MicroBatch | None) -> Killed:
        """What this life was doing when it was killed."""
        when = COMMITTED
        number = None
        attempts = 0
        if batch is not None:
            number = batch.number
            attempts = len(batch.attempts)
            when = PLANNED
            if self.writes:
                when = WRITTEN if batch.attempts[-1].is_whole else WRITING
        return Killed(
            self.life,
            number,
            when,
            attempts,
            self.number,
        )


def _how_much_is_written(batch: MicroBatch) -> str:
    missing = batch.records - batch.rows
    if missing == batch.records:
        return "nothing of it is in the sink"
    if missing > 0:
        return "a part of it is in the sink"
    return "its rows are in the sink"

"""The parts of the lag's picture that are about stretches of time: spells in which a
member was slow or nobody read, and steps that only count, folded into few.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.lag.followed import Partitions
from minikafka.theatre.play import Space
from minikafka.trace import Event

COUNTING = ("RecordsAppended", "RecordsPolled", "OffsetCommitted")
# so many of these are folded, into so many steps, with so many moments for the lines
UNFOLDED, FOLDS, MOMENTS = 160, 60, 160
CALM = 4  # times as long is a step after all is over


@dataclass
class Spell:
    """From begin to end (None: not yet) a member was slow, or away and nobody read.
    before, after: the lag of its partitions.
    """

    who: str
    state: str
    partitions: Sequence[int]
    begin: int
    before: int
    after: int
    end: int | None = None

    @property
    def is_slow(self) -> bool:
        return self.state == "slow"

    def goes_on(self, now: int, where: str) -> str:
        """While it isn't over. where: its partitions."""
        so_long = f"for {lasting(now - self.begin)}"
        went = f"went from {self.before} to {self.after}"
        if self.is_slow:
            return f"{self.who} has been slow {so_long}: the lag of {where} {went}."
        return f"Nobody has read {where} {so_long}: the lag there {went}."

    def to_json(self) -> Space:
        return dict(vars(self))


class Spells(list[Spell]):
    """In the order in which they began."""

    @property
    def going_on(self) -> Spell | None:
        """The first that isn't over."""
        for spell in self:
            if spell.end is None:
                return spell
        return None

    @property
    def is_any_slow(self) -> bool:
        return any(spell.is_slow for spell in self)

    def begin(
        self, who: str, state: str, numbers: Sequence[int], at_ms: int, lag: int
    ) -> None:
        """numbers: of the partitions that it is about."""
        if not numbers:
            return
        spell = Spell(who, state, list(numbers), begin=at_ms, before=lag, after=lag)
        self.append(spell)

    def end(self, number: int, at_ms: int, partitions: Partitions) -> None:
        """Whoever was slow in this partition, or away, is so no longer."""
        for spell in self:
            if spell.end is None and number in spell.partitions:
                spell.end = at_ms
                spell.after = partitions.lag_of(spell.partitions)

    def to_json(self, partitions: Partitions) -> list[Space]:
        """All spells, as scenes store them."""
        for spell in self:
            if spell.end is None:
                spell.after = partitions.lag_of(spell.partitions)
        return [spell.to_json() for spell in self]


@dataclass
class Folding:
    """Steps that merely count are one step as long as it lasts, and what they looked
    like on the way is kept for the lines.
    """

    fold_ms: float
    began: int | None = None  # the step at hand; None: it is no such step
    events: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    trail: list[Scene] = field(default_factory=list)

    @staticmethod
    def of(trace: Sequence[Event]) -> "Folding | None":
        """None where there are so few that each is a step."""
        at = [event.at for event in trace if event.kind in COUNTING]
        if len(at) <= UNFOLDED:
            return None
        return Folding(max((at[-1] - at[0]) / FOLDS, 1))

    def news(self) -> None:
        """A step that is one by itself."""
        self.began = None
        self.trail = []

    def counted(
        self, at: int, counts: dict[str, int], before: Scene, *, is_calm: bool
    ) -> bool:
        """A step that only counts. Returns whether it continues the one before. before:
        that one's moment. is_calm: steps are longer.
        """
        most_ms = self.fold_ms * (CALM if is_calm else 1)
        goes_on = self.began is not None and at - self.began < most_ms
        if not goes_on:
            self.began = at
            self.events = 0
            self.counts = {}
            self.trail = []
        elif self._is_apart(before):
            self.trail.append(before)
        self.events += 1
        for name, count in counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
        return goes_on

    def _is_apart(self, moment: Scene) -> bool:
        """Whether the lines show it beside the moment kept last."""
        if not self.trail:
            return True
        since = moment["at"] - self.trail[-1]["at"]
        return bool(since >= self.fold_ms * FOLDS / MOMENTS)


def lasting(ms: int) -> str:
    """20 s · 90 minutes · 4.5 hours"""
    if ms < 120_000:
        places = 0 if ms >= 9950 else 1
        return f"{ms / 1000:.{places}f} s"
    if ms < 10_800_000:
        return f"{ms / 60_000:.0f} minutes"
    return f"{ms / 3_600_000:.1f} hours"


def moments(scenes: Sequence[Scene]) -> list[Scene]:
    """The scenes, and between them what was folded."""
    found: list[Any] = []
    for scene in scenes:
        found += scene["space"].get("trail", ())
        found.append(scene)
    return found

"""The state of the sinks' story, which its picture draws: readers, their hands and
their sinks, with a name for each value.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from minikafka.theatre.play import Space, picked

NEAR = 12  # records of the log, and rows of a sink, that are in a scene
# what an order in a reader's hand is, and what a span is of
TO_DO, DONE, LOST = "to do", "done", "lost"
AGAIN, KNOWN = "again", "known"
KILLED, STILL = "killed", "stands still"


class Member(NamedTuple):
    """A reader: its name, its sink, and its group."""

    name: str
    table: str
    group: str


class Record(NamedTuple):
    """In the log. number: of the event that wrote it."""

    offset: int
    value: str
    number: int


class Held(NamedTuple):
    """An order in a process's memory. since_ms: when it was handed out."""

    offset: int
    state: str
    number: int
    since_ms: int


class Row(NamedTuple):
    """An effect. times: how often its order is there by then."""

    offset: int
    writer: str
    times: int
    number: int


class Lasted(NamedTuple):
    """How long an order took from its effect to its commit. end_ms: None while it goes
    on.
    """

    begin_ms: int
    end_ms: int | None
    number: int
    offset: int
    what: str

    def until(self, now_ms: int) -> int:
        return now_ms if self.end_ms is None else self.end_ms


class Away(NamedTuple):
    """Not there, or not moving."""

    begin_ms: int
    end_ms: int | None
    number: int
    what: str

    def until(self, now_ms: int) -> int:
        return now_ms if self.end_ms is None else self.end_ms


@dataclass
class Reader:
    """hand: by offset. spans: of the orders that it wrote. life: what is wrong.
    committed: the offset that Kafka has noted for it. refused: the error of a commit.
    read: the offset that its sink had noted when it looked, "none", or "" before;
    read_ms: when that was.
    """

    name: str
    table: str = ""
    group: str = ""
    life: str = ""
    hand: dict[int, Held] = field(default_factory=dict)
    spans: list[Lasted] = field(default_factory=list)
    away: list[Away] = field(default_factory=list)
    committed: int | None = None
    refused: str = ""
    read: str = ""
    read_ms: int = 0

    def space(self) -> Space:
        told = picked(self, "name", "life", "committed", "refused", "read", "read_ms")
        told["hand"] = [list(held) for _, held in sorted(self.hand.items())]
        told["spans"] = [list(span) for span in self.spans]
        told["away"] = [list(away) for away in self.away]
        return told

    def member(self) -> Member:
        return Member(self.name, self.table, self.group)

    def offsets(self, state: str) -> list[int]:
        """Those in hand that are so."""
        found = []
        for offset, held in sorted(self.hand.items()):
            if held.state == state:
                found.append(offset)
        return found

    def becomes(self, offset: int, state: str, number: int) -> None:
        """A record in hand has another state now."""
        held = self.hand.get(offset)
        if held is not None:
            self.hand[offset] = held._replace(state=state, number=number)

    def puts_down(self, up_to: int) -> None:
        """Records before this offset are committed."""
        self.read = ""
        self.hand = {
            offset: held for offset, held in self.hand.items() if offset >= up_to
        }

    def is_committed(self, at_ms: int) -> None:
        """Or never will be: the spans that go on end."""
        self.spans = [
            span if span.end_ms is not None else span._replace(end_ms=at_ms)
            for span in self.spans
        ]

    def goes(self, what: str, at_ms: int, number: int) -> None:
        self.life = what
        if what == KILLED:
            self.read = ""
        self.away.append(Away(at_ms, None, number, what))

    def is_back(self, at_ms: int) -> None:
        if self.life == KILLED:
            self.hand.clear()
        self.life = ""
        if self.away:
            self.away[-1] = self.away[-1]._replace(end_ms=at_ms)


@dataclass
class Sink:
    """noted: the offset that is stored there. sums: by unit, and what they would be if
    each order were there once.
    """

    name: str
    rows: list[Row] = field(default_factory=list)
    times: Counter[int] = field(default_factory=Counter)
    noted: int | None = None
    sums: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)

    @property
    def twice(self) -> list[int]:
        """Orders that are there more than once."""
        return [offset for offset, times in sorted(self.times.items()) if times > 1]

    def space(self) -> Space:
        told = picked(self, "name", "noted")
        told["rows"] = [list(row) for row in self.rows[-NEAR:]]
        told["count"] = len(self.rows)
        told["twice"] = self.twice[:NEAR]
        told["sum"] = _amount(self.sums)
        return told

    @property
    def amounts(self) -> str:
        """In brackets, in a sentence: what it has, and what would be right."""
        now = _amount(self.sums)
        if not now:
            return ""
        right = next(iter(self.right.values()))
        return f" ({now})" if now == _amount(self.right) else f" ({now}, not {right})"

    def gets(self, offset: int, writer: str, number: int) -> int:
        """One row more; returns how often its order is there now."""
        self.times[offset] += 1
        times = self.times[offset]
        row = Row(offset, writer, times, number)
        self.rows.append(row)
        return times


def _amount(sums: Counter[str]) -> str:
    """The amount in the first unit, such as "5 cents"; "" if there is none."""
    for unit, amount in sums.items():
        return f"{amount} {unit}"
    return ""


def orders(offsets: Sequence[int]) -> str:
    """order 4 · order 4 and order 6 · orders 4 to 6"""
    first = offsets[0]
    last = offsets[-1]
    count = len(offsets)
    if count == 1:
        return f"order {first}"
    if 2 < count == last - first + 1:
        return f"orders {first} to {last}"
    return f"{count} orders"

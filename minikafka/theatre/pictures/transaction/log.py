"""A partition to which transactions write: its records, what became of them, and how
far its last stable offset goes.
"""

from dataclasses import astuple, dataclass, field
from typing import Any, NamedTuple

from minikafka.theatre.play import picked
from minikafka.trace import Event

MARKERS = ("COMMIT", "ABORT")
NEAR = 24  # records of a log that are in a scene


class Part(NamedTuple):
    """A partition that the transaction writes to."""

    topic: str
    number: int

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.number}"


@dataclass
class Record:
    """state: "" of no transaction, open, committed, aborted; COMMIT and ABORT of a
    marker. number: of the event that told of it.
    """

    offset: int
    text: str
    producer: str
    state: str
    number: int


class Marker(NamedTuple):
    """first_offset: of its transaction's records here."""

    offset: int
    first_offset: int


@dataclass
class Log:
    """joined: "", joined, or marker, where it has got one. open: offset -> producer id,
    while the record's transaction is open.
    """

    end: int = 0
    high_watermark: int = 0
    joined: str = ""
    records: dict[int, Record] = field(default_factory=dict)
    open: dict[int, int] = field(default_factory=dict)
    markers: list[Marker] = field(default_factory=list)

    @property
    def held(self) -> list[int]:
        """Offsets of what is undecided, or has a marker that isn't replicated yet."""
        found = list(self.open)
        for each in self.markers:
            if each.offset >= self.high_watermark:
                found.append(each.first_offset)
        return found

    @property
    def last_stable_offset(self) -> int:
        return min([self.high_watermark, *self.held])

    @property
    def is_behind(self) -> bool:
        return self.last_stable_offset < self.high_watermark

    def append(self, record: Record) -> None:
        self.records[record.offset] = record
        self.end = record.offset + 1

    def replicate(self, high_watermark: int) -> bool:
        """Whether the last stable offset went with the high watermark. Where it goes
        alone, the leader tells that, too.
        """
        was_behind = self.is_behind
        self.high_watermark = high_watermark
        return not was_behind and not self.is_behind

    def settle(self, producer_id: int, outcome: str, marker: int) -> bool:
        """A marker decides about what its producer has open. Whether that was what held
        the last stable offset back. marker: its offset.
        """
        first_open = min(self.open, default=None)
        mine = []
        for offset, whose in list(self.open.items()):
            if whose == producer_id:
                mine.append(offset)
                self.records[offset].state = outcome
                del self.open[offset]
        if not mine:
            return False
        first_offset = min(mine)
        told = Marker(marker, first_offset)
        self.markers.append(told)
        return first_offset == first_open

    def shown(self) -> dict[str, Any]:
        first = self.end - NEAR
        near = []
        for offset, record in sorted(self.records.items()):
            if offset >= first:
                fields = astuple(record)
                near.append(list(fields))
        shown = picked(self, "end", "last_stable_offset", "joined")
        shown["is_held"] = bool(self.held)
        shown["records"] = near
        return shown


def part_of(event: Event) -> Part:
    d = event.detail
    return Part(d.get("topic", ""), d.get("partition", -1))

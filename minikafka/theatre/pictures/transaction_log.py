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
    """A partition."""

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

    @property
    def last_stable_offset(self) -> int:
        return min([self.high_watermark, *self.open])

    def append(self, record: Record) -> None:
        self.records[record.offset] = record
        self.end = record.offset + 1

    def settle(self, producer_id: int, outcome: str) -> None:
        """A marker decides about what its producer has open."""
        mine = [offset for offset, each in self.open.items() if each == producer_id]
        for offset in mine:
            self.records[offset].state = outcome
            del self.open[offset]

    def shown(self) -> dict[str, Any]:
        first = self.end - NEAR
        near = sorted(offset for offset in self.records if offset >= first)
        shown = picked(self, "end", "last_stable_offset", "joined")
        shown["is_held"] = bool(self.open)
        shown["records"] = [list(astuple(self.records[offset])) for offset in near]
        return shown


def part_of(event: Event) -> Part:
    d = event.detail
    return Part(d.get("topic", ""), d.get("partition", -1))

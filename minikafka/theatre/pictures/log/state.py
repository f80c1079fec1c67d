"""The state of the log's stories: each partition's offsets, segments and records, and
the readers' positions.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from typing import NamedTuple

from minikafka.theatre.play import EventId, Space, picked

# records this near to something interesting are in the scene; the others could not be
# drawn anyway
NEAR = 24


class Written(NamedTuple):
    """A record of a log. letter: of its key. number: of the event that wrote it."""

    offset: int
    letter: str
    key: str | None
    value: str | None
    number: int


@dataclass
class Segment:
    """state: active, closed or deleted."""

    base: int
    up_to: int
    state: str = "active"


@dataclass
class PartitionLog:
    """Offsets, segments and records; records that retention deleted stay known, to be
    drawn as gone.

    records: by offset. written_by: offset -> id of the event that appended it.
    """

    partition: int
    log_start_offset: int = 0
    log_end_offset: int = 0
    high_watermark: int | None = None
    segments: list[Segment] = field(default_factory=lambda: [Segment(0, 0)])
    records: dict[int, Written] = field(default_factory=dict)
    written_by: dict[int, EventId] = field(default_factory=dict)
    appended_at: int = -1
    seen: bool = False

    def append(self, base: int, up_to: int) -> None:
        """Records were written, up to an offset."""
        if not self.seen and base > 0:  # the trace begins in the middle of a log's life
            self.log_start_offset = base
            self.segments = [Segment(base, base)]
        self.seen = True
        self.log_end_offset = up_to
        self.segments[-1].up_to = up_to

    def roll(self, base: int) -> None:
        """Close the last segment, and begin a new one at this offset."""
        last = self.segments[-1]
        if last.base == base:  # a fresh segment has replaced an empty one
            return
        last.up_to = base
        last.state = "closed"
        self.segments.append(Segment(base, base))

    def delete_segment(self, base: int) -> None:
        """Retention took it; of those that are gone the last two are shown."""
        for segment in self.segments:
            if segment.base == base and segment.up_to > base:
                segment.state = "deleted"
        kept = [segment for segment in self.segments if segment.state != "deleted"]
        gone = [segment for segment in self.segments if segment.state == "deleted"]
        self.segments = gone[-2:] + kept
        if gone:
            self.log_start_offset = max(self.log_start_offset, gone[-1].up_to)

    def truncate(self, end: int) -> None:
        """All from this offset on is dropped."""
        self.log_end_offset = end
        kept = [segment for segment in self.segments if segment.base < end]
        self.segments = kept or [Segment(end, end)]
        self.segments[-1].up_to = end
        self.segments[-1].state = "active"
        for offset in [offset for offset in self.records if offset >= end]:
            del self.records[offset]

    def space(self, readers: Sequence[int]) -> Space:
        """readers: their positions."""
        edges = [segment.base for segment in self.segments]
        points = [self.log_start_offset, self.log_end_offset, *readers, *edges]
        numbers = ("partition", "log_start_offset", "log_end_offset", "high_watermark")
        return picked(self, *numbers) | {
            "segments": [list(astuple(segment)) for segment in self.segments],
            "records": [list(self.records[offset]) for offset in self._near(points)],
        }

    def _near(self, points: Sequence[int]) -> list[int]:
        """Offsets of the records near one of these."""
        near = {
            offset
            for point in points
            for offset in range(point - NEAR, point + NEAR)
            if offset in self.records
        }
        return sorted(near)


class Reading(NamedTuple):
    """A reader was given these offsets of a partition, and this is its position now."""

    name: str
    partition: int
    offsets: Sequence[int]
    position: int


@dataclass
class Position:
    """A reader: its position in each partition, and whether it lives."""

    name: str
    colour: str
    state: str = ""  # "", closed, crashed, frozen
    next: dict[int, int] = field(default_factory=dict)
    # partition -> error, until it has a new position
    refused: dict[int, str] = field(default_factory=dict)
    refusal: EventId | None = None
    started: tuple[int, int] | None = None  # when, and at which offset

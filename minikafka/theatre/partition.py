"""What one partition holds on disk, as far as a trace has told: the state behind every picture that shows a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

NEAR = 24  # records this near to something interesting are in the scene; the others could not be drawn anyway


@dataclass
class PartitionLog:
    """Offsets, segments and records; records that retention deleted stay known, to be drawn as gone.

    segments: base, end, active | closed | deleted. records: offset -> [offset, letter, key, value, number of the
    event]. written_by: offset -> id of the event that appended it.
    """

    partition: int
    log_start_offset: int = 0
    log_end_offset: int = 0
    high_watermark: int | None = None
    segments: list[list[Any]] = field(default_factory=lambda: [[0, 0, "active"]])
    records: dict[int, list[Any]] = field(default_factory=dict)
    written_by: dict[int, tuple[str, int]] = field(default_factory=dict)
    appended_at: int = -1
    seen: bool = False

    def append(self, base: int, up_to: int) -> None:
        if not self.seen and base > 0:  # the trace begins in the middle of a log's life
            self.log_start_offset, self.segments = base, [[base, base, "active"]]
        self.seen = True
        self.log_end_offset = up_to
        self.segments[-1][1] = up_to

    def roll(self, base: int) -> None:
        if self.segments[-1][0] == base:  # a fresh segment has replaced an empty one
            return
        self.segments[-1][1:] = [base, "closed"]
        self.segments.append([base, base, "active"])

    def delete_segment(self, base: int) -> None:
        for segment in self.segments:
            if segment[0] == base and segment[1] > base:
                segment[2] = "deleted"
        kept = [segment for segment in self.segments if segment[2] != "deleted"]
        gone = [segment for segment in self.segments if segment[2] == "deleted"]
        self.segments = gone[-2:] + kept
        self.log_start_offset = max(self.log_start_offset, gone[-1][1] if gone else 0)

    def truncate(self, end: int) -> None:
        self.log_end_offset = end
        self.segments = [segment for segment in self.segments if segment[0] < end] or [[end, end, "active"]]
        self.segments[-1][1:] = [end, "active"]
        self.records = {offset: record for offset, record in self.records.items() if offset < end}

    def space(self, readers: Sequence[int]) -> dict[str, Any]:
        points = [self.log_start_offset, self.log_end_offset, *readers, *(segment[0] for segment in self.segments)]
        near = sorted({o for point in points for o in range(point - NEAR, point + NEAR) if o in self.records})
        numbers = ("partition", "log_start_offset", "log_end_offset", "high_watermark")
        return {name: getattr(self, name) for name in numbers} | {
            "segments": [list(segment) for segment in self.segments],
            "records": [list(self.records[offset]) for offset in near],
        }

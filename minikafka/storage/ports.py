"""The parts of a log that checks.py may use. They are stated here because storage/log.py
imports that module.
"""

from typing import Protocol

from minikafka.storage.epochs import LeaderEpochs
from minikafka.storage.segment import Segment


class CheckableLog(Protocol):
    """A log as checks.py sees it: is it still what was written?"""

    segments: list[Segment]
    epochs: LeaderEpochs
    log_start_offset: int
    log_end_offset: int
    unchecked: range

    @property
    def may_have_gaps(self) -> bool:
        """Whether offsets may be missing."""

    def segment_of(self, offset: int) -> int:
        """The number of the segment that holds an offset."""

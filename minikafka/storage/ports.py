"""The parts of a log that checks.py and compaction.py may use. They are stated here
because storage/log.py imports those two modules.
"""

from typing import Any, Protocol

from minikafka.storage.config import LogConfig
from minikafka.storage.disk import Disk
from minikafka.storage.epochs import LeaderEpochs
from minikafka.storage.index import Aborted
from minikafka.storage.producer_state import ProducerState
from minikafka.storage.segment import Segment
from minikafka.trace import Trace


class LogOfBatches(Protocol):
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


class LogOfKeys(Protocol):
    """A log as compaction.py sees it: for each key the last record stays."""

    topic: str
    disk: Disk
    directory: str
    config: LogConfig
    trace: Trace
    segments: list[Segment]
    producers: ProducerState
    log_start_offset: int
    first_dirty_offset: int

    def open_segment(self, base_offset: int, suffix: str = "") -> Segment:
        """Open a segment's files; they are created if they don't exist."""

    def aborted_transactions(self, offset: int, up_to_offset: int) -> list[Aborted]:
        """The aborted transactions with records from `offset` on and below
        up_to_offset.
        """

    def keep_snapshots(self) -> None:
        """Delete the producer snapshots that no segment needs any more."""

    def tell(self, kind: str, **detail: Any) -> None:
        """Emit a trace event about this partition."""

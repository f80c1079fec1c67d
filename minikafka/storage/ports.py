"""What those who serve a log see of it, so that they need not know who owns them:
storage/log.py imports them.
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
    """For who looks whether a log is what was written (checks.py)."""

    segments: list[Segment]
    epochs: LeaderEpochs
    log_start_offset: int
    log_end_offset: int
    unchecked: range

    @property
    def may_have_gaps(self) -> bool:
        """Whether offsets may be missing."""

    def segment_of(self, offset: int) -> int:
        """The number of the segment that has an offset."""


class LogOfKeys(Protocol):
    """For who keeps the last record of each key (compaction.py)."""

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
        """A segment's files, made if they aren't there."""

    def aborted_transactions(self, offset: int, up_to_offset: int) -> list[Aborted]:
        """Those with records from an offset on and below another one."""

    def keep_snapshots(self) -> None:
        """Delete the snapshots of producers that no segment needs any more."""

    def tell(self, kind: str, **detail: Any) -> None:
        """A trace event of this partition."""

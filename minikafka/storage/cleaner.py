"""The log cleaner decides which compacted log gets a pass of compaction
(compaction.py), and when.

A pass reads the whole log, so it waits until enough of it is dirty: until the share of
dirty bytes reaches min.cleanable.dirty.ratio, or until a record has waited longer than
max.compaction.lag.ms. The dirtiest log comes first, and only one log is cleaned at a
time.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import NamedTuple

from minikafka.storage.compaction import Compaction, tells_all
from minikafka.storage.disk import as_storage_errors
from minikafka.storage.log import Log
from minikafka.wire.errors import Error, KafkaError


class Dirt(NamedTuple):
    """How much a pass over a log could clean. end_offset: where the pass must stop.
    overdue: whether max.compaction.lag.ms has passed.
    """

    log: Log
    end_offset: int
    clean_bytes: int
    dirty_bytes: int
    overdue: bool

    @property
    def ratio(self) -> float:
        """The dirty share of the bytes that a pass reads, from 0 to 1."""
        return self.dirty_bytes / max(1, self.clean_bytes + self.dirty_bytes)

    @property
    def worth_a_pass(self) -> bool:
        if not self.dirty_bytes:
            return False
        return self.overdue or self.ratio > self.log.config.min_cleanable_dirty_ratio


def find_dirt(log: Log, up_to_offset: int, now_ms: int) -> Dirt:
    """How dirty a log is below up_to_offset, its last stable offset.

    It is counted in whole segments, without the active one. A pass has to stop before
    the first segment that holds a record younger than min.compaction.lag.ms.
    """
    config = log.config
    first = end = max(log.first_dirty_offset, log.log_start_offset)
    clean_bytes = dirty_bytes = 0
    oldest_ms = now_ms
    for segment, following in pairwise(log.segments):
        if segment.base_offset < first:
            clean_bytes += segment.size
        if following.base_offset <= first:
            continue
        too_young = (
            config.min_compaction_lag_ms > 0
            and segment.largest[0] > now_ms - config.min_compaction_lag_ms
        )
        if too_young or following.base_offset > up_to_offset:
            break
        end = following.base_offset
        dirty_bytes += segment.size
        if segment.first_timestamp > 0:
            oldest_ms = min(oldest_ms, segment.first_timestamp)
    return Dirt(
        log=log,
        end_offset=end,
        clean_bytes=clean_bytes,
        dirty_bytes=dirty_bytes,
        overdue=oldest_ms < now_ms - config.max_compaction_lag_ms,
    )


def _tell_started(dirt: Dirt) -> None:
    if tells_all(dirt.log):
        dirt.log.tell(
            "CompactionStarted",
            first_dirty_offset=dirt.log.first_dirty_offset,
            end_offset=dirt.end_offset,
            clean_bytes=dirt.clean_bytes,
            dirty_bytes=dirt.dirty_bytes,
            min_dirty_ratio=dirt.log.config.min_cleanable_dirty_ratio,
            overdue=dirt.overdue,
        )


class Cleaner:
    """Cleans logs, one at a time. buffer_bytes: log.cleaner.dedupe.buffer.size, the
    memory for the keys of a pass.

    notice(line, error) is called for a log that can't be cleaned, for whatever reason:
    that log stays as it is, and the others are cleaned.
    """

    def __init__(
        self, buffer_bytes: int, notice: Callable[[str, Exception], object]
    ) -> None:
        self.log: Log | None = None  # the log that is being cleaned
        self.buffer_bytes = buffer_bytes
        self._compaction: Compaction | None = None
        self._work: Generator[int, None, None] | None = None
        self._notice = notice
        # not tried again until a restart, as in Apache Kafka
        self._uncleanable: list[Log] = []

    def begin(self, logs: Iterable[tuple[Log, int]], now_ms: int) -> bool:
        """Begin a pass over the dirtiest of these logs, if one is worth it. logs: (log,
        last stable offset). Returns whether any of them is dirty: then time alone may
        make it worth a pass. Errors: KAFKA_STORAGE_ERROR.
        """
        assert not self.busy, "one log at a time"
        found = []
        for log, up_to_offset in logs:
            is_dirty = log.active.base_offset > log.first_dirty_offset
            if log.config.compacts and is_dirty and log not in self._uncleanable:
                with self._failures_of(log), as_storage_errors(log.directory):
                    found.append(find_dirt(log, up_to_offset, now_ms))
        worthy = [dirt for dirt in found if dirt.worth_a_pass]
        if worthy:
            dirtiest = max(worthy, key=lambda dirt: dirt.ratio)
            self.log = dirtiest.log
            _tell_started(dirtiest)
            self._compaction = Compaction(
                dirtiest.log, dirtiest.end_offset, now_ms, self.buffer_bytes
            )
            self._work = self._compaction.run()
        return bool(found)

    @property
    def busy(self) -> bool:
        return self.log is not None

    def advance(self, budget_bytes: int) -> bool | None:
        """Continue the pass. Returns None while there is more to do, and at the end
        whether more of the log is clean now. Errors: KAFKA_STORAGE_ERROR.
        """
        assert self.log is not None and self._work is not None
        log, before = self.log, self.log.first_dirty_offset
        with self._failures_of(log):
            for spent in self._work:
                budget_bytes -= spent
                if budget_bytes <= 0:
                    return None
        self.log = self._compaction = self._work = None
        return log.first_dirty_offset > before

    @contextmanager
    def _failures_of(self, log: Log) -> Iterator[None]:
        """An error concerns only this log and ends its pass, unless the disk
        has failed.
        """
        try:
            yield
        except Exception as error:
            name = type(error).__name__
            message = f"{name}: {error}"
            if isinstance(error, KafkaError):
                if error.error is Error.KAFKA_STORAGE_ERROR:
                    raise
                name = error.error.name
                message = error.message
            self._uncleanable.append(log)
            partition = f"{log.topic}-{log.partition}"
            self._notice(f"{partition} is not compacted any more: {message}", error)
            if log.trace:
                log.tell("CompactionFailed", error=name, message=message)

    def stop(self) -> None:
        """Give up the pass. The next one starts from the beginning."""
        if self._compaction is not None:
            self._compaction.discard()
        self.log = self._compaction = self._work = None

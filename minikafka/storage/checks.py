"""Checks that the bytes of a log are still the ones that were written there. A batch's
CRC covers its records, but neither its offset nor its leader epoch. Those two are
checked against what is around them: offsets in a log only grow, and the list of epochs
says where each epoch begins.
"""

from contextlib import suppress
from typing import NamedTuple, Protocol

from minikafka.storage.epochs import NONE, LeaderEpochs
from minikafka.storage.segment import MAX_OFFSET, Segment, with_ends
from minikafka.wire.errors import CorruptRecord, KafkaError
from minikafka.wire.primitives import Buffer
from minikafka.wire.records import BatchHeader, batches, check_crc


class CheckableLog(Protocol):
    """A log, as far as it is looked at here: log.py imports this file."""

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


class Damage(NamedTuple):
    """From this offset on, the bytes aren't the ones that were written."""

    offset: int
    why: str


class Looked(NamedTuple):
    """How far a log was looked at, and the damage found there, if any."""

    next_offset: int
    size_bytes: int
    damage: Damage | None


def checked(data: Buffer, offset: int, *, gapless: bool) -> list[BatchHeader]:
    """The headers of whole batches that continue a log at an offset. gapless: no offset
    may be missing before or between them. Errors: CorruptRecord if the batches can't
    come next; INVALID_RECORD for an old format.
    """
    headers = []
    for header, batch in batches(data):
        first, last = header.base_offset, header.last_offset
        if first < offset or last < first or (gapless and first > offset):
            raise CorruptRecord(f"a batch of offset {first} where {offset} comes next")
        check_crc(batch, header)
        headers.append(header)
        offset = last + 1
    return headers


def look_at(log: CheckableLog, offset: int, max_bytes: int) -> Looked:
    """Check about max_bytes of one segment, beginning with the batch that holds this
    offset, or with the next one after it.
    """
    later = log.segments[log.segment_of(offset) :]
    for segment, end in with_ends(later, log.log_end_offset):
        try:
            found = segment.read(offset, max_bytes, MAX_OFFSET, True)
        except KafkaError as error:
            return Looked(offset, 0, Damage(offset, error.message))
        if found:
            return _look(log, found, offset, end)
    return Looked(log.log_end_offset, 0, None)


def _look(log: CheckableLog, data: memoryview, offset: int, end: int) -> Looked:
    """end: where the segment ends. In batches that an earlier run wrote no offset may
    be missing; batches that this run copied may have gaps, because the leader confirmed
    them.
    """
    before, at = offset, 0
    gapless = offset in log.unchecked and not log.may_have_gaps
    try:
        for header, batch in batches(data):
            first = header.base_offset
            # one of the two offsets is wrong
            if first < offset and (at or header.last_offset < offset):
                why = f"it is followed by a batch of offset {first}"
                return Looked(before, at, Damage(before, why))
            before = offset
            if gapless and first > offset:
                raise CorruptRecord(f"a batch of offset {first} comes next")
            checked(batch, first, gapless=False)
            epoch = log.epochs.epoch_at(first)
            if epoch not in (NONE, header.partition_leader_epoch):
                what = f"leader epoch {header.partition_leader_epoch}"
                raise CorruptRecord(f"a batch of {what} where epoch {epoch} is known")
            if header.next_offset > end:
                raise CorruptRecord(f"a batch of offset {first} where {end} is the end")
            offset, at = header.next_offset, at + len(batch)
    except KafkaError as error:
        return Looked(before, at, Damage(offset, error.message))
    return Looked(offset, at, None)


def epochs_match(log: CheckableLog) -> bool:
    """Whether the list of leader epochs agrees with the batches around the beginning of
    each epoch.
    """
    offsets = []
    for entry in log.epochs.entries:
        offsets += [entry.start_offset - 1, entry.start_offset]
    try:
        for offset in offsets or [log.log_start_offset]:
            batch = _batch_at(log, offset)
            if batch is None:
                continue
            listed = log.epochs.epoch_at(batch.last_offset)
            if listed != batch.partition_leader_epoch:
                return False
    except KafkaError:  # the log is damaged, which says nothing about the list
        return True
    return True


def _batch_at(log: CheckableLog, offset: int) -> BatchHeader | None:
    begins = max(log.segments[0].base_offset, log.log_start_offset)
    if not begins <= offset < log.log_end_offset:
        return None
    located = log.segments[log.segment_of(offset)].locate(offset)
    if located is None:
        return None
    _, header = located
    return header


def rebuild_epochs(log: CheckableLog) -> None:
    """Rebuild the list of leader epochs from the batches."""
    log.epochs.clear()
    with suppress(KafkaError):
        for segment in log.segments:
            for _, header in segment.headers(0):
                log.epochs.assign(header.partition_leader_epoch, header.base_offset)

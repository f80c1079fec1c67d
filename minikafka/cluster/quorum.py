"""The metadata quorum: a log that a majority agrees on (KIP-595, KIP-631), today with a single voter.

The metadata log is an ordinary log with leader epochs. The active controller appends; a record counts once the high
watermark has passed it, and only then does it reach the image. With one voter the majority is that voter, so a record
is committed as soon as it is synced to disk. `quorum-state` keeps the epoch and the vote across restarts; both are
synced before anything depends on them. The high watermark is kept too, in Kafka's `replication-offset-checkpoint`
beside the log: it isn't synced, so a power loss may take it back, but below it the log must be whole (recovery.py says
how a torn end is told from damage).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Protocol

from minikafka.cluster.metadata import METADATA_TOPIC, MetadataRecord
from minikafka.storage.checkpoints import HIGH_WATERMARKS, META_PROPERTIES, read_offsets, write_offsets
from minikafka.storage.data_folder import METADATA_LOG, contents
from minikafka.storage.disk import Disk
from minikafka.storage.errors import as_storage_errors, unusable
from minikafka.storage.log import Log, LogConfig
from minikafka.storage.segment import LOG
from minikafka.trace import Trace
from minikafka.wire.internal_records import decode_record, encode_record
from minikafka.wire.primitives import DecodeError
from minikafka.wire.records import NewRecord, batches, decode_batch, encode_batch, encode_leader_change

DIRECTORY = METADATA_LOG
READ_SIZE = 1 << 20

_STATE = f"{DIRECTORY}/quorum-state"
_HIGH_WATERMARK = f"{DIRECTORY}/{HIGH_WATERMARKS}"
_ANOTHER = "Name a new or empty data folder"


class Clock(Protocol):
    """What `now` must offer: milliseconds for deadlines, milliseconds since 1970 for timestamps."""

    @property
    def monotonic_ms(self) -> int: ...
    @property
    def wall_ms(self) -> int: ...


class Quorum:
    """The metadata log and who leads it.

    node_id: this voter. commit: called with (offset, record) for each committed record, in order, replay included.
    """

    def __init__(self, disk: Disk, node_id: int, commit: Callable[[int, MetadataRecord], None], trace: Trace) -> None:
        self.node_id = node_id
        self.leader_epoch = 0
        self.high_watermark = 0
        self._disk = disk
        self._commit = commit
        self._trace = trace
        self._log: Log

    @property
    def leader_id(self) -> int:
        """The active controller's node id."""
        return self.node_id

    def start(self, now: Clock) -> list[str]:
        """Recover the log, replay what is committed, become leader of the next epoch. Returns what recovery dropped.

        Errors: KAFKA_STORAGE_ERROR if metadata that was committed is missing, damaged or not ours.
        """
        with as_storage_errors(DIRECTORY):
            self._check_folder()
            committed = self._stored_high_watermark()
            epoch = self._stored_epoch()
            self._log = Log(self._disk, DIRECTORY, LogConfig(), self._trace, METADATA_TOPIC, 0)
            told = _result(self._log.recover(READ_SIZE, committed=committed))
            self._replay()
            self._become_leader(max(epoch, self._log.epochs.latest) + 1, now)
            return told

    def _check_folder(self) -> None:
        """Refuse a folder whose metadata can't be read, or has gone: its logs would look like nobody's."""
        names = self._disk.listdir(DIRECTORY) if self._disk.exists(DIRECTORY) else []
        for name in names:
            if name.endswith(".checkpoint"):
                raise unusable(f"{DIRECTORY}/{name}", f"is a snapshot, which minikafka can't read. {_ANOTHER}")
        others = [name for name in contents(self._disk) if name not in (META_PROPERTIES, DIRECTORY)]
        logs = [name for name in names if name.endswith(LOG)]
        if others and not any(self._disk.open(f"{DIRECTORY}/{name}").size for name in logs):
            raise unusable(DIRECTORY, f"holds no metadata, and beside it is {others[0]}. Put a good copy back")

    def append(self, records: Sequence[MetadataRecord], now: Clock) -> int:
        """Append records as one atomic batch; returns the offset that the high watermark must pass for them to
        count.
        """
        assert records, "an empty batch says nothing"
        encoded: list[NewRecord] = [(now.wall_ms, None, encode_record(*record), []) for record in records]
        first = self._log.log_end_offset
        self._write(bytearray(encode_batch(encoded)), now)
        for offset, record in enumerate(records, first):
            self._commit(offset, record)
        return self.high_watermark

    def close(self) -> None:
        """Flush and let go of the files."""
        self._log.close()

    def _write(self, batch: bytearray, now: Clock) -> None:
        self._log.append(batch, self.leader_epoch, now)
        self._log.flush()
        self._advance_high_watermark()

    def _advance_high_watermark(self) -> None:
        self.high_watermark = self._log.log_end_offset
        with as_storage_errors(_HIGH_WATERMARK):
            write_offsets(self._disk, _HIGH_WATERMARK, {(METADATA_TOPIC, 0): self.high_watermark}, sync=False)

    def _become_leader(self, epoch: int, now: Clock) -> None:
        self.leader_epoch = epoch
        state = {
            "leaderId": self.node_id,
            "leaderEpoch": self.leader_epoch,
            "votedId": self.node_id,
            "votedDirectoryId": "AAAAAAAAAAAAAAAAAAAAAA",
            "data_version": 1,
        }
        self._disk.write_atomic(_STATE, json.dumps(state).encode())
        self._write(bytearray(encode_leader_change(self.node_id, [self.node_id], now.wall_ms)), now)

    def _stored_epoch(self) -> int:
        if not self._disk.exists(_STATE):
            return 0
        try:
            return int(json.loads(self._disk.read(_STATE))["leaderEpoch"])
        except (ValueError, KeyError, TypeError):
            raise unusable(_STATE, "is not what was written there. Put a good copy back, or remove it") from None

    def _stored_high_watermark(self) -> int:
        try:
            return read_offsets(self._disk, _HIGH_WATERMARK).get((METADATA_TOPIC, 0), 0)
        except ValueError:  # torn when the power went
            return 0

    def _replay(self) -> None:
        offset = -1
        try:
            for offset, record in self._records():
                self._commit(offset, record)
        except (DecodeError, LookupError, AssertionError) as error:
            why = f"holds metadata that minikafka does not understand, behind offset {offset} ({error!r}). {_ANOTHER}"
            raise unusable(DIRECTORY, why) from error
        self.high_watermark = self._log.log_end_offset

    def _records(self) -> Iterator[tuple[int, MetadataRecord]]:
        position = self._log.log_start_offset
        while position < self._log.log_end_offset:
            for chunk in self._log.read(position, READ_SIZE, self._log.log_end_offset):
                for header, batch in batches(chunk):
                    position = header.next_offset
                    if not header.control:
                        for record in decode_batch(batch):
                            assert record.value is not None, "a metadata record has a value"
                            name, version, message = decode_record(record.value)
                            yield record.offset, MetadataRecord(name, version, message.to_dict())


def _result(work: Generator[int, None, list[str]]) -> list[str]:
    while True:
        try:
            next(work)
        except StopIteration as stop:
            told: list[str] = stop.value
            return told

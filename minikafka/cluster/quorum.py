"""The metadata quorum: a log that a majority agrees on (KIP-595, KIP-631), today with a single voter.

The metadata log is an ordinary log with leader epochs. The active controller appends; a record counts once the high
watermark has passed it, and only then does it reach the image. With one voter the majority is that voter, so a record
is committed as soon as it is synced to disk. `quorum-state` keeps the epoch and the vote across restarts; both are
synced before anything depends on them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from minikafka.cluster.metadata import METADATA_TOPIC, MetadataRecord
from minikafka.storage.disk import Disk
from minikafka.storage.log import Log, LogConfig
from minikafka.trace import Trace
from minikafka.wire.internal_records import decode_record, encode_record
from minikafka.wire.records import NewRecord, batches, decode_batch, encode_batch, encode_leader_change

DIRECTORY = f"{METADATA_TOPIC}-0"
READ_SIZE = 1 << 20


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
        self._state_path = f"{DIRECTORY}/quorum-state"
        self._log = Log(disk, DIRECTORY, LogConfig(), trace, METADATA_TOPIC, 0)

    @property
    def leader_id(self) -> int:
        """The active controller's node id."""
        return self.node_id

    def start(self, now: Clock) -> None:
        """Recover the log, replay what is committed, become leader of the next epoch."""
        for _ in self._log.recover(READ_SIZE):
            pass
        self._replay()
        self._become_leader(now)

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
        self.high_watermark = self._log.log_end_offset

    def _become_leader(self, now: Clock) -> None:
        self.leader_epoch = self._stored_epoch() + 1
        state = {
            "leaderId": self.node_id,
            "leaderEpoch": self.leader_epoch,
            "votedId": self.node_id,
            "votedDirectoryId": "AAAAAAAAAAAAAAAAAAAAAA",
            "data_version": 1,
        }
        self._disk.write_atomic(self._state_path, json.dumps(state).encode())
        self._write(bytearray(encode_leader_change(self.node_id, [self.node_id], now.wall_ms)), now)

    def _stored_epoch(self) -> int:
        if not self._disk.exists(self._state_path):
            return 0
        state: dict[str, Any] = json.loads(self._disk.read(self._state_path))
        return int(state["leaderEpoch"])

    def _replay(self) -> None:
        for offset, record in self._records():
            self._commit(offset, record)
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

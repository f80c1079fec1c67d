"""The metadata quorum: a log that a majority agrees on (KIP-595, KIP-631), today with a single voter.

The metadata log is a replica like any other, with leader epochs and followers that fetch. What differs is who must have
a record before it counts: of a topic's replicas those in sync, of the voters a majority. The active controller appends;
a record reaches the image once the high watermark has passed it, and not before, on a leader as on a follower, live as
in a replay. `quorum-state` keeps the epoch and the vote across restarts; both are synced before anything depends on
them, and the log before this node's own word counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from minikafka.clock import Now
from minikafka.cluster.metadata import METADATA_TOPIC, MetadataRecord, Partition
from minikafka.cluster.replica import Hears, Replica
from minikafka.storage.disk import Disk
from minikafka.storage.log import Log, LogConfig
from minikafka.trace import Trace
from minikafka.wire.internal_records import decode_record, encode_record
from minikafka.wire.records import NewRecord, batches, decode_batch, encode_batch, encode_leader_change, read_header

DIRECTORY = f"{METADATA_TOPIC}-0"
READ_SIZE = 1 << 20
TOPIC_ID = bytes(15) + b"\1"  # Uuid.METADATA_TOPIC_ID


class Voter(Replica):
    """The replica of the metadata log. A record counts when a majority of the voters has it on disk, and a leader finds
    a majority for its own epoch only: what earlier leaders left counts with it (the Raft paper, section 5.4.2).
    """

    def own_end_synced(self) -> None:
        """The log was flushed: this voter has it."""
        self._advance_high_watermark()

    def _agreed_offset(self) -> int:
        ends = [self._end_of(voter) for voter in self.partition.replicas]
        agreed = sorted(ends, reverse=True)[len(ends) // 2]
        return agreed if agreed > self.log.epochs.entries[-1][1] else 0

    def _end_of(self, voter: int) -> int:
        return self.log.recovery_point if voter == self._node_id else self._follower_ends.get(voter, 0)


class Quorum:
    """The metadata log and who leads it.

    node_id: this voter. voters: all of them, by node id. committed(first offset, records): called with committed
    records, in order and without a gap, replay included.
    """

    def __init__(
        self,
        disk: Disk,
        node_id: int,
        voters: Sequence[int],
        committed: Callable[[int, Sequence[MetadataRecord]], None],
        trace: Trace,
        hears: Hears,
    ) -> None:
        self.node_id = node_id
        self._disk = disk
        self._committed = committed
        self._state_path = f"{DIRECTORY}/quorum-state"
        self._applied = 0  # offset behind the last record that was handed on
        log = Log(disk, DIRECTORY, LogConfig(), trace, METADATA_TOPIC, 0)
        partition = Partition(tuple(voters), tuple(voters), node_id, 0, 0)
        self.replica = Voter(TOPIC_ID, partition, log, node_id, trace, hears)

    @property
    def leader_id(self) -> int:
        """The active controller's node id."""
        return self.replica.partition.leader

    @property
    def leader_epoch(self) -> int:
        return self.replica.leader_epoch

    @property
    def high_watermark(self) -> int:
        """Behind the last committed record."""
        return self.replica.high_watermark

    @property
    def end_offset(self) -> int:
        """Where the next record goes."""
        return self.replica.log.log_end_offset

    @property
    def applied_offset(self) -> int:
        """Behind the last committed record that was handed on."""
        return self._applied

    @property
    def is_settled(self) -> bool:
        """Whether all that was appended is committed and handed on: only then may the controller decide anew."""
        return self._applied == self.end_offset

    def start(self, now: Now) -> None:
        """Recover the log, become leader of the next epoch; what the log holds is replayed as it is committed."""
        for _ in self.replica.log.recover(READ_SIZE):
            pass
        self.replica.log.flush()
        self._become_leader(now)

    def append(self, records: Sequence[MetadataRecord], now: Now) -> int:
        """Append records as one atomic batch; returns the offset that the high watermark must reach for them to
        count.
        """
        assert records, "an empty batch says nothing"
        encoded: list[NewRecord] = [(now.wall_ms, None, encode_record(*record), []) for record in records]
        return self._append(encode_batch(encoded), now)

    def hand_on(self) -> None:
        """Hand on what was committed since the last time."""
        while self._applied < self.high_watermark:
            for next_offset, first_offset, records in self._batches(self._applied):
                self._applied = next_offset
                if records:
                    self._committed(first_offset, records)

    def close(self) -> None:
        """Flush and let go of the files."""
        self.replica.log.close()

    def _append(self, batch: bytes, now: Now) -> int:
        written = bytearray(batch)
        self.replica.append(written, [read_header(written)], now)
        self.replica.log.flush()
        self.replica.own_end_synced()
        return self.end_offset

    def _become_leader(self, now: Now) -> None:
        epoch = self._stored_epoch() + 1
        state = {
            "leaderId": self.node_id,
            "leaderEpoch": epoch,
            "votedId": self.node_id,
            "votedDirectoryId": "AAAAAAAAAAAAAAAAAAAAAA",
            "data_version": 1,
        }
        self._disk.write_atomic(self._state_path, json.dumps(state).encode())
        self.replica.follow_image(replace(self.replica.partition, leader=self.node_id, leader_epoch=epoch))
        voters = self.replica.partition.replicas
        self._append(encode_leader_change(self.node_id, list(voters), now.wall_ms), now)

    def _stored_epoch(self) -> int:
        if not self._disk.exists(self._state_path):
            return 0
        state: dict[str, Any] = json.loads(self._disk.read(self._state_path))
        return int(state["leaderEpoch"])

    def _batches(self, offset: int) -> Iterator[tuple[int, int, list[MetadataRecord]]]:
        """(next offset, first offset, records) of committed batches from an offset on; none of control batches."""
        for chunk in self.replica.log.read(offset, READ_SIZE, self.high_watermark):
            for header, batch in batches(chunk):
                records = []
                for record in () if header.control else decode_batch(batch):
                    assert record.value is not None, "a metadata record has a value"
                    name, version, message = decode_record(record.value)
                    records.append(MetadataRecord(name, version, message.to_dict()))
                yield header.next_offset, header.base_offset, records

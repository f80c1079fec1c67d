"""The metadata quorum: a log that a majority agrees on (KIP-595, KIP-631), today with a single voter.

The metadata log is a replica like any other, with leader epochs and followers that fetch. What differs is who must have
a record before it counts: of a topic's replicas those in sync, of the voters a majority. The active controller appends;
a record reaches the image once the high watermark has passed it, and not before, on a leader as on a follower, live as
in a replay.

`quorum-state` keeps the epoch and the vote across restarts; both are synced before anything depends on them, and the
log before this node's own word counts. The high watermark is kept too, in Kafka's `replication-offset-checkpoint`
beside the log: it isn't synced, so a power loss may take it back, but below it the log must be whole (recovery.py says
how a torn end is told from damage).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from minikafka.clock import Now
from minikafka.cluster.metadata import METADATA_TOPIC, MetadataRecord, Partition
from minikafka.cluster.replica import Hears, Replica
from minikafka.storage.checkpoints import HIGH_WATERMARKS, META_PROPERTIES, read_offsets, write_offsets
from minikafka.storage.data_folder import METADATA_LOG, contents
from minikafka.storage.disk import Disk
from minikafka.storage.errors import as_storage_errors, unusable
from minikafka.storage.log import Log, LogConfig
from minikafka.storage.segment import LOG
from minikafka.trace import Trace
from minikafka.wire.internal_records import decode_record, encode_record
from minikafka.wire.primitives import DecodeError
from minikafka.wire.records import NewRecord, batches, decode_batch, encode_batch, encode_leader_change, read_header

TOPIC_ID = bytes(15) + b"\1"  # Uuid.METADATA_TOPIC_ID
READ_SIZE = 1 << 20

_STATE = f"{METADATA_LOG}/quorum-state"
_HIGH_WATERMARK = f"{METADATA_LOG}/{HIGH_WATERMARKS}"
_ANOTHER = "Name a new or empty data folder"


class Voter(Replica):
    """The replica of the metadata log. A record counts when a majority of the voters has it on disk, and a leader finds
    a majority for its own epoch only: what earlier leaders left counts with it (the Raft paper, section 5.4.2).
    """

    def _agreed_offset(self) -> int:
        known = self._follower_ends | {self._node_id: self.log.recovery_point}
        ends = sorted((known.get(voter, 0) for voter in self.partition.replicas), reverse=True)
        agreed = ends[len(ends) // 2]
        return agreed if agreed > self.log.epochs.entries[-1][1] else 0


class Quorum:
    """The metadata log and who leads it.

    node_id: this voter. voters: all of them, by node id. committed(first offset, records): called with committed
    records, in order and without a gap, replay included. applied_offset: behind the last one that was handed on.
    """

    replica: Voter

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
        self.applied_offset = 0
        self._voters = tuple(voters)
        self._disk = disk
        self._committed = committed
        self._trace = trace
        self._hears = hears

    @property
    def leader_id(self) -> int:
        """The active controller's node id."""
        return self.replica.partition.leader

    @property
    def high_watermark(self) -> int:
        """Behind the last committed record."""
        return self.replica.high_watermark

    @property
    def end_offset(self) -> int:
        """Where the next record goes."""
        return self.replica.log.log_end_offset

    @property
    def is_settled(self) -> bool:
        """Whether all that was appended is committed and handed on: only then may the controller decide anew."""
        return self.applied_offset == self.end_offset

    def start(self, tell: Callable[[str], object], now: Now) -> None:
        """Recover the log, become leader of the next epoch; what the log holds is replayed as it is committed. tell:
        hears what recovery dropped.

        Errors: KAFKA_STORAGE_ERROR if metadata that was committed is missing, damaged or not ours.
        """
        with as_storage_errors(METADATA_LOG):
            self._check_folder()
            committed = self._stored_high_watermark()
            epoch = self._stored_epoch()
            log = Log(self._disk, METADATA_LOG, LogConfig(), self._trace, METADATA_TOPIC, 0)
            for _ in log.recover(READ_SIZE, tell, committed=committed):
                pass
            log.flush()
            partition = Partition(self._voters, self._voters, self.node_id, log.epochs.latest, 0)
            self.replica = Voter(TOPIC_ID, partition, log, self.node_id, self._hears, committed)
            self._become_leader(max(epoch, log.epochs.latest) + 1, now)

    def _check_folder(self) -> None:
        """Refuse a folder whose metadata can't be read, or has gone: its logs would look like nobody's."""
        names = self._disk.listdir(METADATA_LOG) if self._disk.exists(METADATA_LOG) else []
        for name in names:
            if name.endswith(".checkpoint"):
                raise unusable(f"{METADATA_LOG}/{name}", f"is a snapshot, which minikafka can't read. {_ANOTHER}")
        others = [name for name in contents(self._disk) if name not in (META_PROPERTIES, METADATA_LOG)]
        logs = [name for name in names if name.endswith(LOG)]
        if others and not any(self._disk.open(f"{METADATA_LOG}/{name}").size for name in logs):
            raise unusable(METADATA_LOG, f"holds no metadata, and beside it is {others[0]}. Put a good copy back")

    def append(self, records: Sequence[MetadataRecord], now: Now) -> int:
        """Append records as one atomic batch; returns the offset that the high watermark must reach for it to count."""
        assert records, "an empty batch says nothing"
        encoded: list[NewRecord] = [(now.wall_ms, None, encode_record(*record), []) for record in records]
        return self._append(encode_batch(encoded), now)

    def replay(self) -> None:
        """At start: hand on all that is committed. Errors: KAFKA_STORAGE_ERROR for what can't be understood."""
        try:
            self.hand_on()
        except (DecodeError, LookupError, AssertionError) as error:
            behind = self.applied_offset - 1
            why = f"holds metadata that minikafka does not understand, behind offset {behind} ({error!r}). {_ANOTHER}"
            raise unusable(METADATA_LOG, why) from error

    def hand_on(self) -> None:
        """Hand on what was committed since the last time."""
        while self.applied_offset < self.high_watermark:
            for next_offset, first_offset, records in self._batches(self.applied_offset):
                if records:
                    self._committed(first_offset, records)
                self.applied_offset = next_offset
        with as_storage_errors(_HIGH_WATERMARK):
            write_offsets(self._disk, _HIGH_WATERMARK, {(METADATA_TOPIC, 0): self.high_watermark}, sync=False)

    def close(self) -> None:
        """Flush and let go of the files."""
        self.replica.log.close()

    def _append(self, batch: bytes, now: Now) -> int:
        written = bytearray(batch)
        self.replica.append(written, [read_header(written)], now)
        self.replica.log.flush()
        self.replica.advance_high_watermark()  # this voter has it
        return self.end_offset

    def _become_leader(self, epoch: int, now: Now) -> None:
        state = {
            "leaderId": self.node_id,
            "leaderEpoch": epoch,
            "votedId": self.node_id,
            "votedDirectoryId": "AAAAAAAAAAAAAAAAAAAAAA",
            "data_version": 1,
        }
        self._disk.write_atomic(_STATE, json.dumps(state).encode())
        self.replica.follow_image(replace(self.replica.partition, leader=self.node_id, leader_epoch=epoch))
        self._append(encode_leader_change(self.node_id, list(self._voters), now.wall_ms), now)

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

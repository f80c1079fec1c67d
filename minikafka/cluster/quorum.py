"""The metadata quorum: a log that a majority agrees on (KIP-595, KIP-631).

The metadata log is a replica like any other, with leader epochs and followers that
fetch. What differs is who must have a record before it counts: of a topic's replicas
those in sync, of the voters a majority; and who leads it is not told by an image, but
elected (election.py). The active controller appends; the others fetch, and where their
log parted from the leader's they truncate. A record reaches the image once the high
watermark has passed it, and not before, on a leader as on a follower, live as in a
replay.

Now and then each node writes a snapshot of the image (snapshots.py); a restart reads
the newest and replays the rest.

`quorum-state` keeps the epoch and the vote across restarts; both are synced before
anything depends on them, and the log before this node's own word counts. The high
watermark is kept too, in Kafka's `replication-offset-checkpoint` beside the log: it
isn't synced, so a power loss may take it back, but below it the log must be whole
(recovery.py says how a torn end is told from damage).
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from minikafka.clock import Now, soonest
from minikafka.cluster.election import (
    HIGHEST_EPOCH,
    LEADER,
    Ask,
    Election,
    Timeouts,
    Vote,
)
from minikafka.cluster.metadata import (
    METADATA_TOPIC,
    NO_LEADER,
    Image,
    MetadataRecord,
    Partition,
)
from minikafka.cluster.replica import Follower, Hears, Replica
from minikafka.cluster.snapshots import SnapshotId, Snapshots, decode, encode
from minikafka.storage.checkpoints import HIGH_WATERMARKS, read_offsets, write_offsets
from minikafka.storage.data_folder import META_PROPERTIES, METADATA_LOG, contents
from minikafka.storage.disk import Disk, as_storage_errors, unusable
from minikafka.storage.log import Log, LogConfig
from minikafka.storage.segment import LOG
from minikafka.trace import Trace
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.internal_records import encode_leader_change
from minikafka.wire.primitives import DecodeError
from minikafka.wire.records import (
    BatchHeader,
    batches,
    decode_batch,
    encode_batch,
    read_header,
)
from minikafka.wire.schema import Message

TOPIC_ID = bytes(15) + b"\1"  # Uuid.METADATA_TOPIC_ID
READ_SIZE = 1 << 20
LANE = "metadata"
FETCH_SNAPSHOT_VERSION = 1
# the first in which a follower says how much it knows to count (KIP-1166)
FETCH_VERSION = 18
FETCH_MAX_WAIT_MS, FETCH_BACKOFF_MS = 500, 20
MOST_OBSERVERS = 1000  # that a leader remembers: whoever asks for records names itself
RECORDS_AT_ONCE = 500  # decoded in one turn

_STATE = f"{METADATA_LOG}/quorum-state"
_HIGH_WATERMARK = f"{METADATA_LOG}/{HIGH_WATERMARKS}"
_ANOTHER = "Name a new or empty data folder"
_GOOD_COPY = "Put a good copy back, or remove it"


class SnapshotConfig(NamedTuple):
    """When a snapshot is due: after so many bytes of records, or so much time.
    segment_bytes: of the log.
    """

    record_bytes: int
    interval_ms: int
    segment_bytes: int


class Voter(Replica):
    """The replica of the metadata log. A record counts when a majority of the voters
    has it on disk, and a leader finds a majority for its own epoch only: what earlier
    leaders left counts with it (the Raft paper, section 5.4.2).
    """

    def _agreed_offset(self) -> int:
        known = {
            voter: follower.log_end_offset for voter, follower in self.followers.items()
        }
        known[self._node_id] = self.log.recovery_point
        ends = sorted(
            (known.get(voter, 0) for voter in self.partition.replicas), reverse=True
        )
        agreed = ends[len(ends) // 2]
        return agreed if agreed > self.log.epochs.entries[-1][1] else 0


@dataclass(eq=False, repr=False)
class Quorum:
    """The metadata log and who leads it.

    node_id: this node. voters: all of them, by node id; a node that is none of them
    follows only. committed(first offset, records): called with committed records, in
    order and without a gap, replay included. applied_offset: behind the last one that
    was handed on. ask: sends a request to another node. leader_changed(now): who leads,
    or in which epoch, is new. image(): all that was handed on, as records.
    replaced(records): another node's snapshot comes in the place of the log.
    """

    _disk: Disk
    node_id: int
    _voters: tuple[int, ...]
    _committed: Callable[[int, Sequence[MetadataRecord]], None]
    _trace: Trace
    _hears: Hears
    _ask: Ask
    _random: Callable[[], float]
    _timeouts: Timeouts
    _leader_changed: Callable[[Now], None]
    _image: Callable[[], list[MetadataRecord]]
    _replaced: Callable[[int, Sequence[MetadataRecord]], None]
    _snapshot_config: SnapshotConfig
    applied_offset: int = 0
    cluster_id: str = ""
    # nodes that are no voters, and follow this leader
    observers: dict[int, Follower] = field(default_factory=dict)
    replica: Voter = field(init=False)
    _tell: Callable[[str], object] = field(init=False)
    election: Election = field(init=False)
    _unsaved_bytes: int = 0  # of records behind the newest snapshot
    _saved_ms: int = 0  # wall clock of the newest snapshot, or of the start
    # what is there of the leader's snapshot
    _incoming: tuple[SnapshotId, bytearray] | None = None
    _fetching: set[int] = field(default_factory=set)  # nodes that have a fetch of ours
    _fetch_at: int | None = None  # monotonic ms, after one that failed
    _next_voter: int = 0  # that a node without a leader asks
    # of what is committed and was not handed on yet
    _reading: Iterator[None] | None = None

    @property
    def leader_id(self) -> int:
        """The active controller's node id, or NO_LEADER while nobody is known to
        lead.
        """
        return self.election.vote.leader

    @property
    def epoch(self) -> int:
        """Of the leader, or of the votes that are going on."""
        return self.election.vote.epoch

    @property
    def is_leader(self) -> bool:
        """Whether this node is the active controller."""
        return self.election.role == LEADER

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
        """Whether all that was appended is committed and handed on: only then may the
        controller decide anew.
        """
        return self.applied_offset == self.end_offset

    def start(self, tell: Callable[[str], object], now: Now) -> None:
        """Recover the log and take part in elections; a sole voter leads at once. What
        the log holds is replayed as it is committed. tell: hears what recovery dropped.
        Errors: KAFKA_STORAGE_ERROR if metadata that was committed is missing, damaged
        or not ours.
        """
        self._tell = tell
        with as_storage_errors(METADATA_LOG):
            self._check_folder()
            self.snapshots = Snapshots(self._disk)
            self._saved_ms = now.wall_ms
            newest = self.snapshots.newest or SnapshotId(0, 0)
            committed = self._stored_high_watermark()
            vote = self._stored_vote()
            config = LogConfig(segment_bytes=self._snapshot_config.segment_bytes)
            log = Log(self._disk, METADATA_LOG, config, self._trace, METADATA_TOPIC, 0)
            for _ in log.recover(
                READ_SIZE, tell, committed=range(newest.end_offset, committed)
            ):
                pass
            # the snapshot had come, and the log was not replaced yet
            if log.log_end_offset < newest.end_offset:
                self._begin_behind(log, newest)
            committed = max(committed, newest.end_offset)
            log.flush()
            partition = Partition(
                self._voters, self._voters, NO_LEADER, log.epochs.latest, 0
            )
            self.replica = Voter(
                TOPIC_ID, partition, log, self.node_id, self._hears, committed
            )
            if log.epochs.latest > vote.epoch:
                if self._disk.exists(_STATE):
                    # It is written before any record of its epoch. (A batch's epoch is
                    # the one thing that its checksum doesn't cover.)
                    why = f"names epoch {log.epochs.latest}, and this node has come to"
                    raise unusable(METADATA_LOG, f"{why} {vote.epoch}. {_GOOD_COPY}")
                vote = Vote(log.epochs.latest)
            if vote.epoch > HIGHEST_EPOCH:
                named = _STATE if log.epochs.latest < vote.epoch else METADATA_LOG
                raise unusable(
                    named,
                    f"names epoch {vote.epoch}, which no election leads to."
                    f" {_GOOD_COPY}",
                )
            self.election = Election(
                self.node_id,
                self._voters,
                lambda: self.cluster_id,
                self._log_end,
                self._save,
                self._follow_election,
                self._ask,
                self._random,
                self._timeouts,
                self._trace,
            )
            self.election.start(vote, now)

    def _check_folder(self) -> None:
        """Refuse a folder whose metadata can't be read, or has gone: its logs would
        look like nobody's.
        """
        names = (
            self._disk.listdir(METADATA_LOG) if self._disk.exists(METADATA_LOG) else []
        )
        others = [
            name
            for name in contents(self._disk)
            if name not in (META_PROPERTIES, METADATA_LOG)
        ]
        logs = [name for name in names if name.endswith(LOG)]
        empty = not any(self._disk.open(f"{METADATA_LOG}/{name}").size for name in logs)
        if others and empty and not Snapshots(self._disk).ids:
            raise unusable(
                METADATA_LOG,
                f"holds no metadata, and beside it is {others[0]}. Put a good copy"
                " back",
            )

    def append(self, records: Sequence[MetadataRecord], now: Now) -> int:
        """Append records as one atomic batch; returns the offset that the high
        watermark must reach for it to count. Only while this node leads.
        """
        assert records, "an empty batch says nothing"
        assert self.is_leader, "only the active controller appends"
        return self._append(
            encode_batch([record.encoded(now.wall_ms) for record in records]), now
        )

    def tick(self, now: Now) -> None:
        """Elections, and the next fetch."""
        self.election.tick(now)
        if self._fetch_at is not None and self._fetch_at <= now.monotonic_ms:
            self._fetch(now)
        self._save_snapshot(now)

    def next_deadline(self) -> int | None:
        """Monotonic ms."""
        return soonest(self.election.next_deadline(), self._fetch_at)

    def replay(self) -> None:
        """At start: hand on all that is committed. Errors: KAFKA_STORAGE_ERROR for what
        can't be understood.
        """
        newest = self.snapshots.newest
        try:
            if newest is not None:
                self._committed(newest.end_offset, self.snapshots.read(newest))
                self.applied_offset = newest.end_offset
            while not self.hand_on():
                pass
        except (DecodeError, LookupError, AssertionError) as error:
            behind = self.applied_offset - 1
            why = (
                "holds metadata that minikafka does not understand, behind offset"
                f" {behind} ({error!r}). {_ANOTHER}"
            )
            raise unusable(METADATA_LOG, why) from error

    @property
    def is_handing_on(self) -> bool:
        """Whether a batch was too long for one turn, and hand_on must come again."""
        return self._reading is not None

    def hand_on(self) -> bool:
        """Hand on what was committed since the last time, or decode a piece of it: a
        batch is handed on as a whole, and one with thousands of records takes longer
        than a follower waits for its leader. Whether that was all.
        """
        if self._reading is None:
            self._reading = self._read_on()
        if next(self._reading, True) is None:
            return False
        self._reading = None
        with as_storage_errors(_HIGH_WATERMARK):
            write_offsets(
                self._disk,
                _HIGH_WATERMARK,
                {(METADATA_TOPIC, 0): self.high_watermark},
                sync=False,
            )
        return True

    def _read_on(self) -> Iterator[None]:
        """Yields after so many records."""
        decoded = 0
        while self.applied_offset < self.high_watermark:
            for header, batch in self._batches(self.applied_offset):
                records = []
                for each in () if header.control else decode_batch(batch):
                    records.append(MetadataRecord.decoded(each))
                    decoded += 1
                    if decoded % RECORDS_AT_ONCE == 0:
                        yield
                if records:
                    self._committed(header.base_offset, records)
                self.applied_offset = header.next_offset
                self._unsaved_bytes += header.size_bytes

    # -- as leader

    def _append(self, batch: bytes, now: Now) -> int:
        written = bytearray(batch)
        self.replica.append(written, [read_header(written)], now)
        self.replica.log.flush()
        self.replica.advance_high_watermark()  # this voter has it
        return self.end_offset

    def check_leader(self, epoch: int) -> None:
        """Refuse what is not for this leader in this epoch, which whoever follows it
        knows.
        """
        if epoch < 0:
            raise KafkaError(Error.FENCED_LEADER_EPOCH)
        self.replica.check_leader(epoch)

    def follower_fetched(self, node: int, offset: int, now: Now) -> None:
        """A voter or an observer asked for records from this offset on, in this
        leader's epoch: it has all before.
        """
        if node in self._voters:
            self.election.heard_from(node, now)
            self.replica.follower_fetched(node, offset, now)
        else:
            observer = self.observers.setdefault(node, Follower(now.monotonic_ms))
            observer.fetched(offset, self.end_offset, -1, now.monotonic_ms)
            if len(self.observers) > MOST_OBSERVERS:
                silent = min(
                    self.observers, key=lambda each: self.observers[each].fetched_ms
                )
                del self.observers[silent]

    # -- snapshots

    def _save_snapshot(self, now: Now) -> None:
        """If one is due. What the log has before the older of the two newest may go."""
        config = self._snapshot_config
        overdue = 0 < config.interval_ms <= now.wall_ms - self._saved_ms
        if not self._unsaved_bytes or (
            self._unsaved_bytes < config.record_bytes and not overdue
        ):
            return
        log = self.replica.log
        epoch = log.epochs.epoch_at(self.applied_offset - 1)
        snapshot = SnapshotId(self.applied_offset, epoch)
        self.snapshots.keep(snapshot, encode(epoch, self._image(), now.wall_ms))
        self._unsaved_bytes, self._saved_ms = 0, now.wall_ms
        if len(self.snapshots.ids) > 1:
            log.delete_records(self.snapshots.ids[0].end_offset, None)

    @staticmethod
    def _begin_behind(log: Log, snapshot: SnapshotId) -> None:
        log.truncate_fully_and_start_at(snapshot.end_offset)
        log.epochs.assign(snapshot.epoch, snapshot.end_offset)

    def _fetch_snapshot(self, node: int, now: Now) -> None:
        """The next piece of the leader's snapshot; the last one takes the place of this
        node's log.
        """
        assert self._incoming is not None
        snapshot, data = self._incoming
        epoch = self.epoch
        partition = {
            "partition": 0,
            "current_leader_epoch": epoch,
            "position": len(data),
            "snapshot_id": snapshot._asdict(),
        }
        body = {
            "cluster_id": self.cluster_id,
            "replica_id": self.node_id,
            "max_bytes": READ_SIZE,
        }

        def piece_came(reply: Message | None, now: Now) -> None:
            self._fetching.discard(node)
            self._fetch_at = now.monotonic_ms + FETCH_BACKOFF_MS
            answer = (
                reply.topics[0].partitions[0]
                if reply is not None and reply.topics
                else None
            )
            if (
                self.epoch != epoch
                or self.is_leader
                or answer is None
                or answer.error_code
            ):
                self._incoming = None
                return
            self.election.fetched(now)
            data.extend(answer.unaligned_records)
            if len(data) >= answer.size:
                self._incoming = self._reading = None
                self._take_snapshot(snapshot, bytes(data), now)
            self._fetch_at = now.monotonic_ms

        self._fetching.add(node)
        topics = [{"name": METADATA_TOPIC, "partitions": [partition]}]
        self._ask(
            node,
            LANE,
            "FetchSnapshot",
            FETCH_SNAPSHOT_VERSION,
            {**body, "topics": topics},
            piece_came,
        )

    def _take_snapshot(self, snapshot: SnapshotId, data: bytes, now: Now) -> None:
        """Another node's snapshot, if it is one, comes in the place of this node's
        log.
        """
        try:
            records = decode(data)
            Image.of(records)
        except (KafkaError, LookupError, ValueError, AssertionError) as error:
            raise DecodeError(
                f"{snapshot.path} of the leader is no snapshot ({error!r})"
            ) from error
        self.snapshots.keep(snapshot, data)
        self._begin_behind(self.replica.log, snapshot)
        self.replica.high_watermark = self.applied_offset = snapshot.end_offset
        self._unsaved_bytes, self._saved_ms = 0, now.wall_ms
        self._replaced(snapshot.end_offset, records)

    # -- as follower

    def _fetch(self, now: Now) -> None:
        """Ask the leader for what comes next; a node that knows none, and is no voter,
        asks any voter.
        """
        self._fetch_at = None
        node = self.leader_id
        if node == NO_LEADER and self.node_id not in self._voters:
            free = [voter for voter in self._voters if voter not in self._fetching] or [
                NO_LEADER
            ]
            node = free[self._next_voter % len(free)]
        if node in (NO_LEADER, self.node_id) or node in self._fetching:
            return
        if self._incoming is not None:
            self._fetch_snapshot(node, now)
            return
        self._fetching.add(node)
        epoch = self.epoch

        def fetched(reply: Message | None, now: Now) -> None:
            self._fetching.discard(node)
            if self.epoch == epoch and not self.is_leader:
                self._take(reply, now)
            self._fetch_at = (
                now.monotonic_ms if self._fetch_at is None else self._fetch_at
            )

        self._ask(node, LANE, "Fetch", FETCH_VERSION, self._asked(epoch), fetched)

    def _asked(self, epoch: int) -> Mapping[str, object]:
        last_epoch, end_offset = self._log_end()
        partition = {
            "partition": 0,
            "current_leader_epoch": epoch,
            "fetch_offset": end_offset,
            "last_fetched_epoch": last_epoch,
            "log_start_offset": self.replica.log.log_start_offset,
            "partition_max_bytes": READ_SIZE,
            "high_watermark": self.high_watermark,
        }
        return {
            "cluster_id": self.cluster_id,
            "replica_state": {"replica_id": self.node_id, "replica_epoch": -1},
            "max_wait_ms": FETCH_MAX_WAIT_MS,
            "min_bytes": 1,
            "max_bytes": READ_SIZE,
            "topics": [{"topic_id": TOPIC_ID, "partitions": [partition]}],
        }

    def _take(self, reply: Message | None, now: Now) -> None:
        """What the leader answered, or whoever was taken for it."""
        if reply is None or reply.error_code or not reply.responses:
            self._next_voter += 1
            self._fetch_at = now.monotonic_ms + FETCH_BACKOFF_MS
            return
        answer = reply.responses[0].partitions[0]
        leader = answer.current_leader
        if answer.error_code:
            self._fetch_at = now.monotonic_ms + FETCH_BACKOFF_MS
            if leader.leader_epoch == self.epoch and leader.leader_id != self.leader_id:
                self.election.lost_leader(now)
            self.election.learn(leader.leader_epoch, leader.leader_id, now)
            return
        # a node without a leader has found one
        self.election.learn(leader.leader_epoch, leader.leader_id, now)
        self.election.fetched(now)
        if answer.snapshot_id.end_offset >= 0:
            self._incoming = (
                SnapshotId(answer.snapshot_id.end_offset, answer.snapshot_id.epoch),
                bytearray(),
            )
            return
        try:
            self.replica.take(answer, now)
        except KafkaError as error:
            if error.error is Error.KAFKA_STORAGE_ERROR:
                raise
            why = f"{error.message}. It is asked for again"
            self._tell(
                f"{METADATA_LOG}: damaged metadata came for offset {self.end_offset}:"
                f" {why}"
            )
            self._fetch_at = now.monotonic_ms + FETCH_BACKOFF_MS
        self.replica.log.flush()

    # -- the election's side

    def _log_end(self) -> tuple[int, int]:
        return self.replica.log.epochs.latest, self.end_offset

    def _save(self, vote: Vote) -> None:
        state = {
            "leaderId": vote.leader,
            "leaderEpoch": vote.epoch,
            "votedId": vote.voted,
            "votedDirectoryId": "AAAAAAAAAAAAAAAAAAAAAA",
            "data_version": 1,
        }
        with as_storage_errors(_STATE):
            self._disk.write_atomic(_STATE, json.dumps(state).encode())

    def _follow_election(self, now: Now) -> None:
        partition, vote = self.replica.partition, self.election.vote
        self.observers.clear()
        # another leader's snapshot of that name may be other bytes
        self._incoming = None
        self.replica.follow_image(
            replace(partition, leader=vote.leader, leader_epoch=vote.epoch)
        )
        if self.is_leader:
            self._append(
                encode_leader_change(self.node_id, list(self._voters), now.wall_ms), now
            )
        self._fetch_at = None if self.is_leader else now.monotonic_ms
        self._leader_changed(now)

    # -- on disk

    def _stored_vote(self) -> Vote:
        if not self._disk.exists(_STATE):
            return Vote()
        try:
            state = json.loads(self._disk.read(_STATE))
            epoch, leader = int(state["leaderEpoch"]), int(state["leaderId"])
            voted = int(state.get("votedId", NO_LEADER))
            if epoch < 0:
                raise ValueError("an epoch that can't be")
        except (ValueError, KeyError, TypeError, OverflowError, AttributeError):
            raise unusable(
                _STATE, f"is not what was written there. {_GOOD_COPY}"
            ) from None
        return Vote(epoch, voted, leader if leader in self._voters else NO_LEADER)

    def _stored_high_watermark(self) -> int:
        try:
            return read_offsets(self._disk, _HIGH_WATERMARK).get((METADATA_TOPIC, 0), 0)
        except ValueError:  # torn when the power went
            return 0

    def _batches(self, offset: int) -> list[tuple[BatchHeader, memoryview]]:
        """Committed batches from an offset on, with their headers."""
        chunks = self.replica.log.read(offset, READ_SIZE, self.high_watermark)
        return [each for chunk in chunks for each in batches(chunk)]

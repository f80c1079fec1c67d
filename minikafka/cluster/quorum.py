"""The metadata quorum: a log that a majority agrees on (KIP-595, KIP-631).

The metadata log is a replica like any other, with leader epochs and followers that
fetch. Two things differ. A record of a topic is committed when the in-sync replicas
have it, a metadata record when a majority of the voters has it. And the leader isn't
named by an image but elected (election.py). The active controller appends; the others
fetch, and truncate their log where it diverged from the leader's. A record reaches the
image once the high watermark has passed it and not before, on a leader as on a
follower, live as in a replay.

From time to time each node writes a snapshot of the image (snapshots.py); a restart
reads the newest one and replays the rest. quorum_state.py has everything else that
survives a restart; the log is synced before this node says how far it goes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from minikafka.clock import Now
from minikafka.cluster.election import AskNode, Election, LogEnd, Timeouts
from minikafka.cluster.metadata import (
    METADATA_TOPIC,
    NO_LEADER,
    Image,
    MetadataRecord,
    Partition,
)
from minikafka.cluster.quorum_state import QuorumState
from minikafka.cluster.replica import Follower, PartitionListener, Replica
from minikafka.cluster.roles import LEADER
from minikafka.cluster.snapshots import (
    Incoming,
    SnapshotConfig,
    SnapshotId,
    Snapshots,
    encode,
)
from minikafka.cluster.timers import NEVER_MS, Timers
from minikafka.storage.config import LogConfig
from minikafka.storage.data_folder import METADATA_LOG
from minikafka.storage.disk import Disk, as_storage_errors, unusable
from minikafka.storage.log import Log
from minikafka.storage.recovery import recover
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
# the first version in which a follower says what it knows to be committed (KIP-1166)
FETCH_VERSION = 18
FETCH_MAX_WAIT_MS, FETCH_BACKOFF_MS = 500, 20
# that a leader remembers: anybody who fetches can claim to be one
MOST_OBSERVERS = 1000
RECORDS_AT_ONCE = 500  # decoded in one turn


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumConfig:
    """voters: the ids of all voters; any other node only follows."""

    voters: tuple[int, ...]
    timeouts: Timeouts
    snapshots: SnapshotConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """The part of this node that follows the metadata log, like Kafka's
    RaftClient.Listener.

    committed(records): called with committed records, in order and without gaps,
    including during replay. replaced(image, records): another node's snapshot replaces
    everything before; the image is the one its records describe. leader_changed(now):
    there is a new leader or a new epoch. image(): everything that was handed to the
    listener, as records.
    """

    committed: Callable[[Sequence[MetadataRecord]], None]
    replaced: Callable[[Image, Sequence[MetadataRecord]], None]
    leader_changed: Callable[[Now], None]
    image: Callable[[], list[MetadataRecord]]


class Voter(Replica):
    """The replica of the metadata log. A record is committed when a majority of the
    voters has it on disk. A leader counts a majority only for records of its own epoch;
    records that earlier leaders left are committed together with those (the Raft paper,
    section 5.4.2).
    """

    def _agreed_offset(self) -> int:
        known = {
            voter: follower.log_end_offset for voter, follower in self.followers.items()
        }
        known[self._node_id] = self.log.recovery_point
        ends = [known.get(voter, 0) for voter in self.partition.replicas]
        ends.sort(reverse=True)
        agreed = ends[len(ends) // 2]
        own_epoch = self.log.epochs.entries[-1]
        return agreed if agreed > own_epoch.start_offset else 0


class Quorum:
    """The metadata log, and the election of its leader.

    ask: sends a request to another node. log_listener: is told about the log's offsets,
    as for any replica. applied_offset: the offset after the last record that was handed
    to the listener.
    """

    election: Election  # set by start(), as are the others
    replica: Voter
    snapshots: Snapshots
    _tell: Callable[[str], object]

    def __init__(
        self,
        *,
        node_id: int,
        config: QuorumConfig,
        listener: Listener,
        log_listener: PartitionListener,
        ask: AskNode,
        disk: Disk,
        random: Callable[[], float],
        timers: Timers,
        trace: Trace,
    ) -> None:
        self.node_id = node_id
        self.cluster_id = ""
        self.applied_offset = 0
        self._config = config
        self._voters = config.voters
        self._listener = listener
        self._log_listener = log_listener
        self._ask = ask
        self._disk = disk
        self._random = random
        self._trace = trace
        self._state = QuorumState(disk, config.voters)
        self._unsaved_bytes = 0  # bytes of records after the newest snapshot
        self._saved_ms = 0  # wall clock of the newest snapshot, or of the start
        # the leader's snapshot while it is being fetched
        self._incoming: Incoming | None = None
        self._fetching: set[int] = set()  # nodes that still have to answer our fetch
        self._timers = timers
        self._next_fetch = timers.new()
        self._next_voter = 0  # the voter that a node without a leader asks next
        # hands committed records to the listener, a piece at a time
        self._reading: Iterator[bool] | None = None

    @property
    def leader_id(self) -> int:
        """The active controller's node id, or NO_LEADER while no leader is known."""
        return self.election.vote.leader

    @property
    def epoch(self) -> int:
        """The epoch of the leader, or of the election in progress."""
        return self.election.vote.epoch

    @property
    def is_leader(self) -> bool:
        """Whether this node is the active controller."""
        return self.election.role == LEADER

    @property
    def high_watermark(self) -> int:
        """The offset after the last committed record."""
        return self.replica.high_watermark

    @property
    def end_offset(self) -> int:
        """The offset that the next record gets."""
        return self.replica.log.log_end_offset

    @property
    def is_settled(self) -> bool:
        """Whether everything appended is committed and handed to the listener: only
        then may the controller decide again.
        """
        return self.applied_offset == self.end_offset

    def start(self, tell: Callable[[str], object], now: Now) -> None:
        """Recover the log and take part in elections; a sole voter leads at once. The
        log's records are replayed once they are known to be committed. tell: called
        with each loss that recovery found. Errors: KAFKA_STORAGE_ERROR if committed
        metadata is missing, is damaged or isn't ours.
        """
        self._tell = tell
        with as_storage_errors(METADATA_LOG):
            self._state.check_folder()
            self.snapshots = Snapshots(self._disk)
            self._saved_ms = now.wall_ms
            newest = self.snapshots.newest or SnapshotId(0, 0)
            high_watermark = self._state.high_watermark()
            vote = self._state.vote()
            log = self._recovered_log(newest, high_watermark)
            epoch = log.epochs.latest
            committed = max(high_watermark, newest.end_offset)
            partition = Partition(
                replicas=self._voters,
                isr=self._voters,
                leader=NO_LEADER,
                leader_epoch=epoch,
                partition_epoch=0,
            )
            self.replica = Voter(
                TOPIC_ID, partition, log, self.node_id, self._log_listener, committed
            )
            vote = self._state.checked(vote, epoch)
            self.election = Election(
                node_id=self.node_id,
                voters=self._voters,
                timeouts=self._config.timeouts,
                cluster_id=lambda: self.cluster_id,
                log_end=self._log_end,
                keep=self._state.keep_vote,
                changed=self._follow_election,
                ask=self._ask,
                random=self._random,
                timer=self._timers.new(),
                trace=self._trace,
            )
            self.election.start(vote, now)

    def _recovered_log(self, newest: SnapshotId, high_watermark: int) -> Log:
        config = LogConfig(segment_bytes=self._config.snapshots.segment_bytes)
        log = Log(self._disk, METADATA_LOG, config, self._trace, METADATA_TOPIC, 0)
        committed = range(newest.end_offset, high_watermark)
        for _ in recover(log, READ_SIZE, self._tell, committed=committed):
            pass
        # the snapshot had arrived, but the log hadn't been replaced yet
        if log.log_end_offset < newest.end_offset:
            self._begin_after(log, newest)
        log.flush()
        return log

    def append(self, records: Sequence[MetadataRecord], now: Now) -> int:
        """Append records as one atomic batch. It is committed when the high watermark
        has reached the offset that is returned. Only while this node leads.
        """
        assert records, "an empty batch says nothing"
        assert self.is_leader, "only the active controller appends"
        encoded = [record.encoded(now.wall_ms) for record in records]
        return self._append(encode_batch(encoded), now)

    def tick(self, now: Now) -> None:
        """Advance the election, fetch if it is time, and write a snapshot if
        one is due.
        """
        self.election.tick(now)
        if self._next_fetch.at_ms <= now.monotonic_ms:
            self._fetch(now)
        self._save_snapshot(now)

    def replay(self) -> None:
        """At start: hand everything committed to the listener. Errors:
        KAFKA_STORAGE_ERROR for records that can't be understood.
        """
        newest = self.snapshots.newest
        try:
            if newest is not None:
                records = self.snapshots.read(newest)
                self._listener.committed(records)
                self.applied_offset = newest.end_offset
            while not self.publish_committed():
                pass
        except (DecodeError, LookupError, AssertionError) as error:
            last_offset = self.applied_offset - 1
            why = (
                "holds metadata that minikafka does not understand, after offset"
                f" {last_offset} ({error!r}). Name a new or empty data folder"
            )
            raise unusable(METADATA_LOG, why) from error

    @property
    def is_publishing(self) -> bool:
        """Whether a batch was too long for one turn, so that publish_committed must be
        called again.
        """
        return self._reading is not None

    def publish_committed(self) -> bool:
        """Hand the records committed since the last call to the listener, or decode a
        part of them: a batch is handed over whole, and decoding one with thousands of
        records takes longer than a follower waits for its leader. Returns whether that
        was all.
        """
        if self._reading is None:
            self._reading = self._read_on()
        is_all = next(self._reading, True)
        if not is_all:
            return False
        self._reading = None
        self._state.keep_high_watermark(self.high_watermark)
        return True

    def _read_on(self) -> Iterator[bool]:
        """Yields False, for "not all yet", after every RECORDS_AT_ONCE records; those
        that don't complete a batch aren't handed over yet.
        """
        decoded = 0
        while self.applied_offset < self.high_watermark:
            for header, batch in self._batches(self.applied_offset):
                records = []
                for each in () if header.control else decode_batch(batch):
                    records.append(MetadataRecord.decoded(each))
                    decoded += 1
                    if decoded % RECORDS_AT_ONCE == 0:
                        yield False
                if records:
                    self._listener.committed(records)
                self.applied_offset = header.next_offset
                self._unsaved_bytes += header.size_bytes

    # -- as leader

    def _append(self, batch: bytes, now: Now) -> int:
        written = bytearray(batch)
        self.replica.append(written, [read_header(written)], now)
        self.replica.log.flush()
        self.replica.advance_high_watermark()  # this voter has it, too
        return self.end_offset

    def check_leader(self, epoch: int) -> None:
        """Refuse a request that isn't for this leader in this epoch, which its
        followers know.
        """
        if epoch < 0:
            raise KafkaError(Error.FENCED_LEADER_EPOCH)
        self.replica.check_leader(epoch)

    def follower_fetched(self, node: int, offset: int, now: Now) -> None:
        """A voter or an observer asked for records from this offset on, in this
        leader's epoch, so it has everything before.
        """
        if node in self._voters:
            self.election.heard_from(node, now)
            self.replica.follower_fetched(node, offset, now)
        else:
            observer = self.observers.setdefault(node, Follower(now.monotonic_ms))
            observer.fetched(offset, self.end_offset, -1, now.monotonic_ms)
            if len(self.observers) > MOST_OBSERVERS:
                self._forget_an_observer()

    @property
    def observers(self) -> dict[int, Follower]:
        """The nodes that follow this leader without being voters."""
        return self.replica.observers

    def _forget_an_observer(self) -> None:
        def fetched_ms(node: int) -> int:
            return self.observers[node].fetched_ms

        longest_silent = min(self.observers, key=fetched_ms)
        del self.observers[longest_silent]

    # -- snapshots

    def _save_snapshot(self, now: Now) -> None:
        """Write a snapshot if one is due. The log may then drop everything before the
        older of the two newest snapshots.
        """
        age_ms = now.wall_ms - self._saved_ms
        if not self._config.snapshots.is_due(self._unsaved_bytes, age_ms):
            return
        log = self.replica.log
        epoch = log.epochs.epoch_at(self.applied_offset - 1)
        snapshot = SnapshotId(self.applied_offset, epoch)
        records = self._listener.image()
        self.snapshots.keep(snapshot, encode(epoch, records, now.wall_ms))
        self._unsaved_bytes, self._saved_ms = 0, now.wall_ms
        if len(self.snapshots.ids) > 1:
            log.delete_records(self.snapshots.ids[0].end_offset, None)

    @staticmethod
    def _begin_after(log: Log, snapshot: SnapshotId) -> None:
        log.truncate_fully_and_start_at(snapshot.end_offset)
        log.epochs.assign(snapshot.epoch, snapshot.end_offset)

    def _fetch_snapshot(self, node: int, now: Now) -> None:
        """Fetch the next piece of the leader's snapshot; after the last one the
        snapshot replaces this node's log.
        """
        incoming = self._incoming
        assert incoming is not None
        epoch = self.epoch

        def piece_came(reply: Message | None, now: Now) -> None:
            self._fetching.discard(node)
            self._next_fetch.set(now.monotonic_ms + FETCH_BACKOFF_MS)
            answer = None
            if reply is not None and reply.topics:
                answer = reply.topics[0].partitions[0]
            is_outdated = self.epoch != epoch or self.is_leader
            if is_outdated or answer is None or answer.error_code:
                self._incoming = None
                return
            self.election.fetched(now)
            incoming.data.extend(answer.unaligned_records)
            if len(incoming.data) >= answer.size:
                self._incoming = self._reading = None
                self._install_snapshot(incoming, now)
            self._next_fetch.set(now.monotonic_ms)

        self._fetching.add(node)
        partition = {
            "partition": 0,
            "current_leader_epoch": epoch,
            "position": len(incoming.data),
            "snapshot_id": incoming.snapshot._asdict(),
        }
        body = {
            "cluster_id": self.cluster_id,
            "replica_id": self.node_id,
            "max_bytes": READ_SIZE,
            "topics": [{"name": METADATA_TOPIC, "partitions": [partition]}],
        }
        self._ask(node, LANE, "FetchSnapshot", FETCH_SNAPSHOT_VERSION, body, piece_came)

    def _install_snapshot(self, incoming: Incoming, now: Now) -> None:
        """Replace this node's log by the leader's snapshot, if the bytes are a valid
        one.
        """
        snapshot = incoming.snapshot
        try:
            records = incoming.records()
            image = Image.of(records)
        except (KafkaError, LookupError, ValueError, AssertionError) as error:
            why = f"{snapshot.path} of the leader is no snapshot ({error!r})"
            raise DecodeError(why) from error
        self.snapshots.keep(snapshot, bytes(incoming.data))
        self._begin_after(self.replica.log, snapshot)
        self.replica.high_watermark = self.applied_offset = snapshot.end_offset
        self._unsaved_bytes, self._saved_ms = 0, now.wall_ms
        self._listener.replaced(image, records)

    # -- as follower

    def _fetch(self, now: Now) -> None:
        """Fetch the next records from the leader; a node that knows no leader and isn't
        a voter asks any voter.
        """
        self._next_fetch.stop()
        node = self.leader_id
        if node == NO_LEADER and self.node_id not in self._voters:
            node = self._any_voter()
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
            if self._next_fetch.at_ms == NEVER_MS:
                self._next_fetch.set(now.monotonic_ms)

        self._ask(node, LANE, "Fetch", FETCH_VERSION, self._wanted(epoch), fetched)

    def _any_voter(self) -> int:
        """The next voter that has no fetch of ours; NO_LEADER if all have one."""
        free = [voter for voter in self._voters if voter not in self._fetching]
        return free[self._next_voter % len(free)] if free else NO_LEADER

    def _wanted(self, epoch: int) -> Mapping[str, Any]:
        """The body of a Fetch from the end of this node's log."""
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
        """Process the answer of the leader, or of the node that was taken for it."""
        if reply is None or reply.error_code or not reply.responses:
            self._next_voter += 1
            self._next_fetch.set(now.monotonic_ms + FETCH_BACKOFF_MS)
            return
        answer = reply.responses[0].partitions[0]
        leader = answer.current_leader
        if answer.error_code:
            self._next_fetch.set(now.monotonic_ms + FETCH_BACKOFF_MS)
            if leader.leader_epoch == self.epoch and leader.leader_id != self.leader_id:
                self.election.lost_leader(now)
            self.election.learn(leader.leader_epoch, leader.leader_id, now)
            return
        # a node without a leader has found it
        self.election.learn(leader.leader_epoch, leader.leader_id, now)
        self.election.fetched(now)
        newest = answer.snapshot_id
        if newest.end_offset >= 0:
            self._incoming = Incoming(SnapshotId(newest.end_offset, newest.epoch))
            return
        try:
            self.replica.take(answer, now)
        except KafkaError as error:
            if error.error is Error.KAFKA_STORAGE_ERROR:
                raise
            what = f"damaged metadata came for offset {self.end_offset}"
            self._tell(
                f"{METADATA_LOG}: {what}: {error.message}. It is asked for again"
            )
            self._next_fetch.set(now.monotonic_ms + FETCH_BACKOFF_MS)
        self.replica.log.flush()

    # -- called by the election

    def _log_end(self) -> LogEnd:
        return LogEnd(self.replica.log.epochs.latest, self.end_offset)

    def _follow_election(self, now: Now) -> None:
        partition = self.replica.partition
        vote = self.election.vote
        # another leader's snapshot with the same name may have other bytes
        self._incoming = None
        self.replica.follow_image(
            replace(partition, leader=vote.leader, leader_epoch=vote.epoch)
        )
        if self.is_leader:
            voters = list(self._voters)
            self._append(encode_leader_change(self.node_id, voters, now.wall_ms), now)
        self._next_fetch.set(NEVER_MS if self.is_leader else now.monotonic_ms)
        self._listener.leader_changed(now)

    def _batches(self, offset: int) -> list[tuple[BatchHeader, memoryview]]:
        """Committed batches from an offset on, with their headers."""
        chunks = self.replica.log.read(offset, READ_SIZE, self.high_watermark)
        return [each for chunk in chunks for each in batches(chunk)]

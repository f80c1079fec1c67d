"""How a follower gets its records: by fetching, as a consumer does, from the leader of
each partition (KIP-595's form of Fetch: the leader answers where the two logs part,
KIP-279).

One fetch at a time goes to each leader, for all partitions that this node follows
there, in a session (KIP-227): only what changed is named again. The fetch offset says
what the follower has: asking for more acknowledges what came.

While the quota of throttled partitions is used up, those that aren't in sync are not
asked for (KIP-73). The others are, and after each answer it is seen again who may be.

Records are checked before they are appended. A bad batch fails its partition and
nothing else: it is fetched again after a while, from the leader at that time.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from minikafka.broker.config import BrokerConfig
from minikafka.broker.fetch_sessions import INITIAL_EPOCH, LAST_EPOCH
from minikafka.broker.incarnation import Incarnation
from minikafka.broker.replication_quotas import ReplicationQuota
from minikafka.clock import Now
from minikafka.cluster.election import AskNode
from minikafka.cluster.metadata import NO_LEADER
from minikafka.cluster.replica import Replica
from minikafka.cluster.timers import NEVER_MS, Timer, Timers
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.messages import MOST_REQUEST_ITEMS
from minikafka.wire.schema import Message, nested

LANE = "replica_fetch"
FETCH_VERSION, LIST_OFFSETS_VERSION = 17, 7
# partitions in one request, each perhaps of another topic
MOST_NAMED = MOST_REQUEST_ITEMS // 2
EARLIEST = -2

Key = tuple[bytes, int]  # topic id, partition


class Position(NamedTuple):
    """Where a follower is in one partition, as it tells the leader."""

    fetch_offset: int
    current_leader_epoch: int
    last_fetched_epoch: int
    log_start_offset: int


@dataclass(slots=True)
class Leader:
    """The partitions that are fetched from one node. next_fetch: not set while a fetch
    is on its way. told: the positions that the fetch session holds; None if they are
    out of date. held_up: those that are not asked for now, because of a quota.
    is_whole: the last request had room for every partition that had to be named, so no
    other request follows at once.
    """

    next_fetch: Timer
    followed: dict[Key, Replica] = field(default_factory=dict)
    # monotonic ms, from which it is asked for again
    resting: dict[Key, int] = field(default_factory=dict)
    held_up: set[Key] = field(default_factory=set)
    told: dict[Key, Position | None] = field(default_factory=dict)
    session_id: int = 0
    session_epoch: int = INITIAL_EPOCH
    is_whole: bool = True
    is_asked: bool = False

    def forget_session(self) -> None:
        self.session_id, self.session_epoch = 0, INITIAL_EPOCH
        self.told.clear()

    def let_others_come_first(self, keys: Collection[Key]) -> None:
        """Without a session each request names its partitions, and those that didn't
        fit come next time.
        """
        if not self.is_whole:
            for key in keys:
                if key in self.followed:
                    self.followed[key] = self.followed.pop(key)

    def end_rest(self, now: Now) -> None:
        """Those whose time has come are asked for again."""
        for key, until_ms in list(self.resting.items()):
            if until_ms <= now.monotonic_ms:
                del self.resting[key]

    def is_paused(self, key: Key) -> bool:
        """Whether this partition is not asked for now."""
        return key in self.resting or key in self.held_up

    def forget(self) -> list[Key]:
        """The partitions that the session is to leave out, because nobody follows them
        or they are paused.
        """
        gone = []
        for key in self.told:
            if key not in self.followed or self.is_paused(key):
                gone.append(key)
        gone = gone[:MOST_NAMED]
        for key in gone:
            del self.told[key]
        return gone

    def take_news(self, most: int) -> dict[Key, Position]:
        """The positions of partitions that the session doesn't know, or not up to date;
        at most this many.
        """
        untold = []
        for key in self.followed:
            if self.told.get(key) is None and not self.is_paused(key):
                untold.append(key)
        news = {key: row(self.followed[key]) for key in untold[:most]}
        self.told.update(news)
        self.is_whole = len(news) == len(untold)
        return news

    def knows(self, key: Key) -> Replica | None:
        """The replica of which the session tells, if it is still followed in the leader
        epoch that the session knows.
        """
        replica, told = self.followed.get(key), self.told.get(key)
        if replica is None or told is None:
            return None
        is_same = replica.leader_epoch == told.current_leader_epoch
        return replica if is_same else None

    def answered_in(self, session_id: int, news: Collection[Key]) -> None:
        """The session that the leader keeps, 0 for none."""
        if not session_id:
            self.forget_session()
            self.let_others_come_first(news)
            return
        self.session_id = session_id
        is_last = self.session_epoch == LAST_EPOCH
        self.session_epoch = 1 if is_last else self.session_epoch + 1

    def look(self, key: Key) -> None:
        """This replica, which is followed, may have moved."""
        if self.told.get(key) != row(self.followed[key]):
            self.told[key] = None


@dataclass(eq=False, repr=False)
class ReplicaFetcher:
    """All replicas with which this node follows. cannot_write(replica, error): called
    for a replica that the disk refuses.
    """

    _incarnation: Incarnation
    _config: BrokerConfig
    _quota: ReplicationQuota
    _ask_node: AskNode
    _cannot_write: Callable[[Replica, KafkaError], None]
    _notice: Callable[[str], None]
    _timers: Timers
    _leaders: dict[int, Leader] = field(default_factory=dict)
    _followed: dict[Key, int] = field(default_factory=dict)  # from whom

    def __post_init__(self) -> None:
        config = self._config
        self._max_wait_ms: int = config["replica.fetch.wait.max.ms"]
        self._max_bytes: int = config["replica.fetch.response.max.bytes"]
        self._partition_max_bytes: int = config["replica.fetch.max.bytes"]

    def placed(self, replica: Replica, now: Now) -> None:
        """The leader of this replica's partition may be another node now, or there may
        be none to fetch from.
        """
        key = key_of(replica)
        wanted = replica.partition.leader
        if replica.is_leader or replica.log.damaged_from is not None:
            wanted = NO_LEADER
        if self._followed.get(key, wanted) != wanted:
            self._drop(key)
        assert wanted != self._incarnation.node_id, "nobody fetches from itself"
        if wanted != NO_LEADER:
            self._followed[key] = wanted
            leader = self._leaders.get(wanted)
            if leader is None:
                leader = self._leaders[wanted] = Leader(self._timers.new())
            leader.followed[key] = replica
            leader.look(key)
            leader.resting.pop(key, None)
            if not leader.is_asked:
                leader.next_fetch.set(now.monotonic_ms)

    def removed(self, replica: Replica) -> None:
        """This node no longer has the replica."""
        self._drop(key_of(replica))

    def _drop(self, key: Key) -> None:
        leader = self._leaders.get(self._followed.pop(key, NO_LEADER))
        if leader is not None:
            leader.followed.pop(key, None)
            leader.resting.pop(key, None)

    def tick(self, now: Now) -> None:
        """Ask whom it is time to ask."""
        for node, leader in self._leaders.items():
            if leader.next_fetch.at_ms <= now.monotonic_ms:
                leader.next_fetch.stop()
                self._ask(node, leader, now)

    # -- asking

    def _ask(self, node: int, leader: Leader, now: Now) -> None:
        assert not leader.is_asked, "one fetch at a time goes to a leader"
        leader.end_rest(now)
        leader.held_up = self._held_up(leader)
        if all(leader.is_paused(key) for key in leader.followed):
            again_ms = NEVER_MS
            if leader.held_up:
                again_ms = now.monotonic_ms + self._config["replica.fetch.backoff.ms"]
            leader.next_fetch.set(min([again_ms, *leader.resting.values()]))
            return
        forgotten = leader.forget()
        news = leader.take_news(MOST_NAMED - len(forgotten))
        leader.is_asked = True
        body = self._body(leader, news, forgotten)
        fetched = partial(self._fetched, node, leader, news)
        self._ask_node(node, LANE, "Fetch", FETCH_VERSION, body, fetched)

    def _held_up(self, leader: Leader) -> set[Key]:
        """The throttled partitions that aren't in sync, while the quota is used up."""
        if not self._quota.is_exceeded:
            return set()
        held_up = set()
        for key, replica in leader.followed.items():
            log = replica.log
            if replica.lags and self._quota.throttles(log.topic, log.partition):
                held_up.add(key)
        return held_up

    def _body(
        self, leader: Leader, news: dict[Key, Position], forgotten: list[Key]
    ) -> dict[str, Any]:
        per_partition = {"partition_max_bytes": self._partition_max_bytes}
        rows = (
            (topic_id, {"partition": number, **position._asdict(), **per_partition})
            for (topic_id, number), position in news.items()
        )
        return {
            "replica_state": {
                "replica_id": self._incarnation.node_id,
                "replica_epoch": self._incarnation.broker_epoch,
            },
            "max_wait_ms": self._max_wait_ms if leader.is_whole else 0,
            "min_bytes": 1,
            "max_bytes": self._max_bytes,
            "session_id": leader.session_id,
            "session_epoch": leader.session_epoch,
            "topics": nested(rows, "topic_id"),
            "forgotten_topics_data": nested(forgotten, "topic_id"),
        }

    # -- being answered

    def _fetched(
        self,
        node: int,
        leader: Leader,
        news: Collection[Key],
        reply: Message | None,
        now: Now,
    ) -> None:
        leader.is_asked = False
        leader.next_fetch.set(now.monotonic_ms)
        if reply is None:
            leader.forget_session()
            backoff_ms = self._config["replica.fetch.backoff.ms"]
            leader.next_fetch.set(now.monotonic_ms + backoff_ms)
            return
        if reply.error_code:
            leader.forget_session()
            return
        for topic in reply.responses:
            for answer in topic.partitions:
                key = (topic.topic_id, answer.partition_index)
                replica = leader.knows(key)
                if replica is not None:
                    self._take(node, leader, key, replica, answer, now)
        leader.answered_in(reply.session_id, news)

    def _take(
        self,
        node: int,
        leader: Leader,
        key: Key,
        replica: Replica,
        answer: Message,
        now: Now,
    ) -> None:
        assert replica.partition.leader == node, (
            "records come from the leader of the epoch"
        )
        if answer.error_code == Error.NONE:
            log = replica.log
            self._quota.record(log.topic, log.partition, len(answer.records or b""))
            try:
                replica.take(answer, now)
            except KafkaError as error:
                self._failed(node, replica, error)
                leader.resting[key] = (
                    now.monotonic_ms + self._config["replica.fetch.backoff.ms"]
                )
            leader.look(key)
            return
        leader.resting[key] = (
            now.monotonic_ms + self._config["replica.fetch.backoff.ms"]
        )
        if answer.error_code == Error.OFFSET_OUT_OF_RANGE:
            self._start_over(node, leader, key, replica)

    def _failed(self, node: int, replica: Replica, error: KafkaError) -> None:
        """This replica is paused, and the others go on."""
        log = replica.log
        if error.error is Error.KAFKA_STORAGE_ERROR:
            self._cannot_write(replica, error)
        else:
            why = f"{error.message}. It is asked for again"
            self._notice(
                f"{log.directory}: node {node} gives damaged records for"
                f" {log.log_end_offset}: {why}"
            )

    def _start_over(
        self, node: int, leader: Leader, key: Key, replica: Replica
    ) -> None:
        """The leader has deleted the next records, or never had those that are here:
        start over where its log begins.
        """
        epoch = replica.leader_epoch

        def start_found(reply: Message | None, now: Now) -> None:
            found = (
                reply.topics[0].partitions[0]
                if reply is not None and reply.topics
                else None
            )
            is_late = (
                replica.leader_epoch != epoch or leader.followed.get(key) is not replica
            )
            if found is None or found.error_code or is_late:
                return
            replica.start_at(found.offset)
            self.placed(replica, now)

        asked = {
            "partition_index": key[1],
            "current_leader_epoch": epoch,
            "timestamp": EARLIEST,
        }
        topics = [{"name": replica.log.topic, "partitions": [asked]}]
        body = {"replica_id": self._incarnation.node_id, "topics": topics}
        self._ask_node(
            node, LANE, "ListOffsets", LIST_OFFSETS_VERSION, body, start_found
        )


def key_of(replica: Replica) -> Key:
    return replica.topic_id, replica.log.partition


def row(replica: Replica) -> Position:
    """The follower's position in one partition."""
    log = replica.log
    return Position(
        fetch_offset=log.log_end_offset,
        current_leader_epoch=replica.leader_epoch,
        last_fetched_epoch=log.epochs.latest,
        log_start_offset=log.log_start_offset,
    )

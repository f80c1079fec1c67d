"""Fetch (KIP-74, KIP-227): read record batches from partitions, as they lie on disk.

Behaviour:

- A partition is read from the batch that contains the asked offset, up to the high
  watermark (read_committed: the last stable offset; a follower: the log's end).
- An answer holds at most MaxBytes, PartitionMaxBytes a partition, but the first
  partition that has records always gives one whole batch, so that a consumer never gets
  stuck on a large one. Behind whole ones the last batch may be cut there.
- With fewer than MinBytes the request is parked until enough arrived or MaxWaitMs is
  over. An error in any partition is answered at once.
- A follower that isn't in sync gets no records of a throttled partition while this
  leader's quota is used up (KIP-73).
- Nothing to give is zero bytes, never null (librdkafka fails on null).

Versions: 4 to 18.

- 4 is the first with record batches v2.
- 7 adds sessions.
- 9 fences by leader epoch (KIP-320).
- 11 may send a consumer to a follower in its rack (KIP-392).
- 12 is flexible and names the epoch last fetched (KIP-595).
- 13 names topics by id (KIP-516).
- 16 says where the leaders are that a client didn't know (KIP-951).
- 18 brings the high watermark that a follower knows (KIP-1166).
"""

from dataclasses import dataclass, field
from typing import Any

from minikafka.broker.calls import Call
from minikafka.broker.config import BrokerConfig
from minikafka.broker.counters import Counters
from minikafka.broker.damage import DamagedReplicas
from minikafka.broker.fetch_sessions import (
    Asked,
    FetchKey,
    FetchSessions,
    Naming,
    Row,
    Session,
    is_at_once,
    news,
)
from minikafka.broker.handlers.follower_fetches import (
    CONSUMER,
    FollowerFetches,
    hears_of_high_watermark,
    settle,
)
from minikafka.broker.handlers.leaders import (
    current_leader,
    leader_named,
    leaders_named,
)
from minikafka.broker.replica_manager import ReplicaManager
from minikafka.broker.replication_quotas import ReplicationQuota
from minikafka.broker.throttling import Throttling
from minikafka.clock import Now
from minikafka.cluster.acls import Operation, ResourceType
from minikafka.cluster.metadata import METADATA_TOPIC, Image
from minikafka.cluster.quorum import TOPIC_ID as METADATA_TOPIC_ID
from minikafka.cluster.quorum import Quorum
from minikafka.cluster.quotas import FETCH
from minikafka.cluster.replica import DamagedRecords, Replica
from minikafka.cluster.waiting import Answer, Wait
from minikafka.trace import Trace
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.records import BatchHeader, batches
from minikafka.wire.schema import nested

# the version that can tell them; a session may be continued by an older one
DIVERGING_EPOCHS = CURRENT_LEADERS = 12
FROM_FOLLOWERS = 11
TOPIC_IDS = 13  # the version from which topics are named by id
NODE_ENDPOINTS = 16
READ_COMMITTED = 1
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
WRONG_LEADER = (Error.NOT_LEADER_OR_FOLLOWER, Error.FENCED_LEADER_EPOCH)
NOT_READ = (
    Error.UNKNOWN_TOPIC_OR_PARTITION,
    Error.UNKNOWN_TOPIC_ID,
    Error.TOPIC_AUTHORIZATION_FAILED,
)


@dataclass(eq=False, repr=False)
class FetchHandlers:
    """Reads of consumers and followers."""

    node_id: int
    config: BrokerConfig
    image: Image
    quorum: Quorum
    replicas: ReplicaManager
    damage: DamagedReplicas
    fetch_sessions: FetchSessions
    throttling: Throttling
    quota: ReplicationQuota  # of followers that catch up
    followers: FollowerFetches
    trace: Trace
    counters: Counters | None

    def __post_init__(self) -> None:
        self.most_bytes: int = self.config["fetch.max.bytes"]

    def fetch(self, request: Call, now: Now) -> Answer | Wait:
        body = request.body
        follower = self.followers.replica_id(request)
        named = asked_partitions(request)
        if follower != CONSUMER:
            self.followers.check_metadata_fetch(request, named)
        try:
            naming = Naming(
                session_id=body.session_id,
                epoch=body.session_epoch,
                by_id=request.version >= TOPIC_IDS,
                asked=named,
                forgotten=forgotten_partitions(request),
            )
            opened = self.fetch_sessions.open(naming, now.monotonic_ms)
        except KafkaError as error:
            return {"error_code": error.error, "responses": []}
        if opened.session is not None and request.version >= TOPIC_IDS:
            self.remember_names(opened.session, request)
        fetching = Fetching(
            handlers=self,
            request=request,
            follower=follower,
            asked=opened.asked,
            session=opened.session,
            incremental=opened.incremental,
        )
        return fetching.begin(now)

    def remember_names(self, session: Session, request: Call) -> None:
        """Remember the names of topics whose ids this request brings into its
        session.
        """
        for topic in request.body.topics:
            name = self.topic_name(topic.topic_id)
            if name:
                session.names[topic.topic_id] = name
        if len(session.names) > len(session.asked):
            # what the client has forgotten since
            for topic_id in session.names.keys() - {key.topic for key in session.asked}:
                del session.names[topic_id]

    def topic_name(self, topic: str | bytes) -> str:
        """A topic's name, whichever way the request names it. An unknown id gives an
        empty name, which no topic has.
        """
        if topic == METADATA_TOPIC_ID:
            return METADATA_TOPIC
        if isinstance(topic, str):
            return topic
        return self.image.topic_names.get(topic, "")

    def closest(self, request: Call, replica: Replica, offset: int) -> int | None:
        """A follower in the consumer's rack that is in sync and has what it asks for;
        None if this leader is as good.
        """
        rack = request.body.rack_id
        if request.version < FROM_FOLLOWERS or not rack or not replica.is_leader:
            return None
        if self.config["replica.selector.class"] != RACK_AWARE:
            return None
        if self.config["broker.rack"] == rack:
            return None
        near = {}
        for node, follower in replica.followers.items():
            known = self.image.brokers.get(node)
            if known is None or known.rack != rack or node not in replica.partition.isr:
                continue
            if follower.log_end_offset >= offset:
                near[node] = follower.log_end_offset
        return max(near, key=near.__getitem__, default=None)

    # -- what the trace hears

    def tell(self, rows: list[Row], answers: dict[FetchKey, Answer]) -> None:
        """Trace events of what is being answered."""
        for row in rows:
            answer = answers[row.asked.key]
            where: dict[str, Any] = {
                "topic": row.topic,
                "partition": row.asked.key.partition,
                "offset": row.asked.fetch_offset,
            }
            records = answer["records"]
            if answer["error_code"]:
                error = Error(answer["error_code"]).name
                self.trace.emit("FetchRefused", **where, error=error)
            elif records:
                where["next_offset"] = last_batch(records).next_offset
                where["size_bytes"] = sum(map(len, records))
                self.trace.emit("RecordsFetched", **where)


def asked_partitions(request: Call) -> dict[FetchKey, Asked]:
    """The partitions that a request asks for, one row each: the last one, if it names a
    partition twice.
    """
    by_id = request.version >= TOPIC_IDS
    asked = {}
    for topic in request.body.topics:
        named = topic.topic_id if by_id else topic.topic
        for partition in topic.partitions:
            key = FetchKey(named, partition.partition)
            asked[key] = Asked(
                key=key,
                fetch_offset=partition.fetch_offset,
                max_bytes=partition.partition_max_bytes,
                current_leader_epoch=partition.current_leader_epoch,
                last_fetched_epoch=partition.last_fetched_epoch,
                log_start_offset=partition.log_start_offset,
            )
    return asked


def forgotten_partitions(request: Call) -> list[FetchKey]:
    """The partitions that an incremental request no longer wants."""
    by_id = request.version >= TOPIC_IDS
    forgotten = []
    for topic in request.body.forgotten_topics_data:
        named = topic.topic_id if by_id else topic.topic
        forgotten += [FetchKey(named, partition) for partition in topic.partitions]
    return forgotten


@dataclass(slots=True)
class Read:
    """The records that can be read. at_once: one of the answers is an error, or sends
    the client elsewhere.
    """

    answers: dict[FetchKey, Answer] = field(default_factory=dict)
    size_bytes: int = 0
    at_once: bool = False


@dataclass(slots=True, eq=False)
class Fetching:
    """One Fetch on its way to an answer, which may take several looks at the logs.

    follower: the node that fetches, or CONSUMER. asked: all partitions that it is
    about. incremental: the answer leaves out what has nothing new. missing_bytes: after
    a look that gave no answer, how much must arrive for another one to make sense.
    """

    handlers: "FetchHandlers"
    request: Call
    follower: int
    asked: list[Asked]
    session: Session | None
    incremental: bool
    missing_bytes: int = 0

    def begin(self, now: Now) -> Answer | Wait:
        """The first look; it notes what a follower says that it has."""
        body = self.request.body
        rows = self.rows(fetched_ms=now.monotonic_ms)
        if self.follower != CONSUMER:
            for row in rows:
                self.handlers.followers.note_follower(
                    self.request, self.follower, row, now
                )
        answer = self.look(rows, expired=body.max_wait_ms <= 0)
        if answer is not None:
            return answer
        deadline_ms = now.monotonic_ms + body.max_wait_ms
        wait = Wait(self.keys(rows), deadline_ms, self.attempt)
        wait.missing_bytes = self.missing_bytes
        return wait

    def attempt(self, wait: Wait, now: Now, expired: bool) -> Answer | None:
        """Another look, while it is parked."""
        rows = self.rows()
        answer = self.look(rows, expired)
        wait.missing_bytes = self.missing_bytes
        return answer

    def rows(self, fetched_ms: int | None = None) -> list[Row]:
        """The partitions to look at, each looked up once."""
        asked, session = self.asked, self.session
        if session is not None and session.settled:
            asked = self.handlers.followers.unsettled(session, fetched_ms)
        return [self.row(one) for one in asked]

    def row(self, one: Asked) -> Row:
        """One partition, looked up."""
        topic = self.handlers.topic_name(one.key.topic)
        try:
            return Row(one, topic, self.replica(one, topic))
        except KafkaError as error:
            # without the frames on its way here, which hold what holds it
            return Row(one, topic, error.with_traceback(None))

    def replica(self, one: Asked, topic: str) -> Replica:
        """The replica that is asked for, which this node must lead. The metadata log is
        there for followers only.
        """
        named, number = one.key
        if isinstance(named, bytes) and not topic:
            raise self.no_such_id(named, number)
        if self.request.access is not None:
            self.request.access.check(Operation.READ, ResourceType.TOPIC, topic)
        if topic == METADATA_TOPIC and self.follower != CONSUMER:
            if number != 0:
                raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION)
            quorum = self.handlers.quorum
            quorum.check_leader(one.current_leader_epoch)
            return quorum.replica
        if topic == METADATA_TOPIC and isinstance(named, bytes):
            raise KafkaError(Error.UNKNOWN_TOPIC_ID)
        is_consumer = self.follower == CONSUMER
        from_followers = is_consumer and self.request.version >= FROM_FOLLOWERS
        replica = self.handlers.replicas.leader(
            topic, number, one.current_leader_epoch, from_followers
        )
        if not is_consumer and self.follower not in replica.partition.replicas:
            # it may know of a reassignment that this leader doesn't
            raise KafkaError(Error.NOT_LEADER_OR_FOLLOWER)
        return replica

    def no_such_id(self, topic_id: bytes, number: int) -> KafkaError:
        """The error for an id that no topic has. In a session it is used in place of
        the name it had.
        """
        names = {} if self.session is None else self.session.names
        if topic_id not in names:
            return KafkaError(Error.UNKNOWN_TOPIC_ID)
        try:
            self.handlers.replicas.leader(names[topic_id], number, or_follower=True)
        except KafkaError as error:
            return error.with_traceback(None)
        return KafkaError(Error.INCONSISTENT_TOPIC_ID)

    def keys(self, rows: list[Row]) -> list[tuple[Any, ...]]:
        """The keys under which the answer may change."""
        moves = "high_watermark" if self.follower == CONSUMER else "log_end"
        keys: list[tuple[Any, ...]] = []
        if self.follower != CONSUMER and self.session is not None:
            keys = [("fetched_by", self.follower)]
            rows = [row for row in rows if row.topic == METADATA_TOPIC]
        for row in rows:
            place = row.topic, row.asked.key.partition
            keys.append((moves, *place))
            if row.topic == METADATA_TOPIC:
                keys.append(("high_watermark", *place))
        return keys

    # -- one look

    def look(self, rows: list[Row], expired: bool) -> Answer | None:
        """The answer, or None while there is too little for one."""
        body = self.request.body
        read = self.read(rows)
        is_consumer = self.follower == CONSUMER
        is_enough = read.size_bytes >= body.min_bytes or not self.asked
        is_due = expired or read.at_once or is_enough
        if not is_due and not is_consumer:
            is_due = hears_of_high_watermark(self.request, read.answers)
        if not is_due:
            self.missing_bytes = body.min_bytes - read.size_bytes
            if body.isolation_level == READ_COMMITTED:
                # a small marker makes many bytes of others readable
                self.missing_bytes = 1
            return None
        throttle_ms = 0
        if is_consumer:
            throttle_ms = self.handlers.throttling.throttle(
                self.request, FETCH, read.size_bytes
            )
        if throttle_ms:
            return self.nothing(throttle_ms)
        if is_consumer and self.handlers.trace:
            self.handlers.tell(rows, read.answers)
        if not is_consumer or self.handlers.counters is not None:
            self.count(rows, read.answers)
        return self.whole(rows, read.answers)

    def count(self, rows: list[Row], answers: dict[FetchKey, Answer]) -> None:
        """What a follower is given counts for the quota of throttled partitions; what
        anybody is given, for the metrics.
        """
        is_follower = self.follower != CONSUMER
        for row in rows:
            key = row.asked.key
            size_bytes = sum(map(len, answers[key]["records"]))
            if is_follower:
                self.handlers.quota.record(row.topic, key.partition, size_bytes)
            if self.handlers.counters is not None:
                self.handlers.counters.read(row.topic, size_bytes, is_follower)

    def nothing(self, throttle_ms: int) -> Answer:
        """For a client that has read too much: it asks for the same again, later."""
        session_id = 0
        if self.session is not None and self.incremental:
            session_id = self.session.session_id
        return {
            "session_id": session_id,
            "responses": [],
            "throttle_time_ms": throttle_ms,
        }

    def whole(self, rows: list[Row], answers: dict[FetchKey, Answer]) -> Answer:
        """The whole answer, with those partitions that are to be told."""
        session = self.session
        version = self.request.version
        sent = answers
        session_id = 0
        if session is not None:
            session_id = session.session_id
            sent = news(session, answers, self.incremental)
            if self.follower != CONSUMER:
                settle(session, rows, self.follower)
        parts = [(key.topic, answer) for key, answer in sent.items()]
        named_by = "topic_id" if version >= TOPIC_IDS else "topic"
        responses = nested(parts, named_by)
        whole: Answer = {"session_id": session_id, "responses": responses}
        if version >= NODE_ENDPOINTS:
            nodes = leaders_named(self.handlers.image, self.request, answers.values())
            if nodes:
                whole["node_endpoints"] = nodes
        return whole

    def read(self, rows: list[Row]) -> Read:
        """Read what there is for each partition."""
        read = Read()
        left = min(self.request.body.max_bytes, self.most_bytes())
        for row in rows:
            answer = self.partition(row, left, must_give=read.size_bytes == 0)
            size_bytes = sum(map(len, answer["records"]))
            left -= size_bytes
            read.size_bytes += size_bytes
            read.at_once = read.at_once or is_at_once(answer)
            read.answers[row.asked.key] = answer
        return read

    def most_bytes(self) -> int:
        """That this broker gives at once."""
        most_bytes = self.handlers.most_bytes
        if self.follower != CONSUMER:
            return most_bytes
        of_quota = self.handlers.throttling.most_bytes(self.request.client)
        return most_bytes if of_quota is None else min(most_bytes, of_quota)

    def partition(self, row: Row, left: int, must_give: bool) -> Answer:
        """One partition's answer: what is read there, or why nothing is."""
        if isinstance(row.found, KafkaError):
            return self.refusal(row, row.found)
        try:
            return self.read_partition(row.asked, row.found, left, must_give)
        except KafkaError as error:
            return self.refusal(row, error)

    def read_partition(
        self, one: Asked, replica: Replica, left: int, must_give: bool
    ) -> Answer:
        """A follower reads up to the log's end."""
        is_consumer = self.follower == CONSUMER
        committed = self.request.body.isolation_level == READ_COMMITTED
        answer: Answer = {
            "partition_index": one.key.partition,
            "error_code": Error.NONE,
            "high_watermark": replica.high_watermark,
            "last_stable_offset": replica.last_stable_offset,
            "log_start_offset": replica.log.log_start_offset,
            "aborted_transactions": None,
            "records": b"",
        }
        if committed:
            answer["aborted_transactions"] = []
        if self.is_sent_elsewhere(one, replica, answer):
            return answer
        limit = min(left, one.max_bytes)
        if (limit <= 0 and not must_give) or self.is_held_up(replica):
            return answer
        end = replica.high_watermark
        if not is_consumer:
            end = replica.log.log_end_offset
        elif committed:
            end = replica.last_stable_offset
        follower_id = None if is_consumer else self.follower
        try:
            records = replica.read(
                one.fetch_offset, max(limit, 0), end, must_give, follower_id
            )
        except DamagedRecords as damaged:
            records = self.handlers.damage.read(replica, damaged)
        answer["records"] = records
        if is_consumer and committed and records:
            answer["aborted_transactions"] = aborted_among(
                replica, one.fetch_offset, records
            )
        return answer

    def is_held_up(self, replica: Replica) -> bool:
        """Whether a follower that isn't in sync gets no records for now."""
        if self.follower == CONSUMER or self.follower in replica.partition.isr:
            return False
        quota, log = self.handlers.quota, replica.log
        return quota.throttles(log.topic, log.partition) and quota.is_exceeded

    def is_sent_elsewhere(self, one: Asked, replica: Replica, answer: Answer) -> bool:
        """Whether the answer says where to go on instead of what there is to read: to
        another replica, to a snapshot, or from where the two logs part.
        """
        version, quorum = self.request.version, self.handlers.quorum
        if self.follower == CONSUMER:
            nearer = self.handlers.closest(self.request, replica, one.fetch_offset)
            if nearer is not None:
                answer["preferred_read_replica"] = nearer
                return True
        if replica is quorum.replica and version >= CURRENT_LEADERS:
            answer["current_leader"] = leader_named(
                self.handlers.node_id, replica.leader_epoch
            )
            newest = quorum.snapshots.newest
            is_gone = one.fetch_offset < replica.log.log_start_offset
            if newest is not None and is_gone:
                answer["snapshot_id"] = newest._asdict()
                return True
        if one.last_fetched_epoch >= 0 and version >= DIVERGING_EPOCHS:
            diverging = replica.log.diverging_epoch(
                one.last_fetched_epoch, one.fetch_offset
            )
            if diverging is not None:
                epoch, end_offset = diverging
                answer["diverging_epoch"] = {"epoch": epoch, "end_offset": end_offset}
                return True
        return False

    def refusal(self, row: Row, error: KafkaError) -> Answer:
        """The answer for a partition that was not read; it names the leader if the
        client was wrong about that.
        """
        handlers, number = self.handlers, row.asked.key.partition
        answer: Answer = {
            "partition_index": number,
            "error_code": error.error,
            "high_watermark": -1,
            "log_start_offset": -1,
            "aborted_transactions": None,
            "records": b"",
        }
        if error.error in NOT_READ:
            answer["aborted_transactions"] = []
        if self.request.version < CURRENT_LEADERS:
            return answer
        if row.topic == METADATA_TOPIC:
            quorum = handlers.quorum
            answer["current_leader"] = leader_named(quorum.leader_id, quorum.epoch)
        elif error.error in WRONG_LEADER and row.topic in handlers.image.topics:
            answer["current_leader"] = current_leader(handlers.image, row.topic, number)
        return answer


def aborted_among(
    replica: Replica, offset: int, records: list[memoryview]
) -> list[dict[str, int]]:
    """The aborted transactions that have records among these: the consumer skips
    them.
    """
    if not replica.log.has_aborted_from(offset):
        return []
    end_offset = last_batch(records).next_offset
    aborted = []
    for each in replica.log.aborted_transactions(offset, end_offset):
        named = {"producer_id": each.producer_id, "first_offset": each.first_offset}
        aborted.append(named)
    return aborted


def last_batch(records: list[memoryview]) -> BatchHeader:
    """The header of the last one that is whole."""
    headers = []
    for chunk in records:
        headers += [header for header, _ in batches(chunk)]
    return headers[-1]

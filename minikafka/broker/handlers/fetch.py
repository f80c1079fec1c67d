"""Fetch (KIP-74, KIP-227): read record batches from partitions, as they lie on disk.

Behaviour: a partition is read from the batch that contains the asked offset, up to the
high watermark (read_committed: the last stable offset). An answer holds at most
MaxBytes, PartitionMaxBytes a partition, but the first partition that has records always
gives one whole batch, so that a consumer never gets stuck on a large one. With fewer
than MinBytes the request is parked until enough arrived or MaxWaitMs is over. An error
in any partition is answered at once. Nothing to give is zero bytes, never null
(librdkafka fails on null). Versions: 4 is the first with record batches v2; 7 adds
sessions; 9 fences by leader epoch (KIP-320); 12 is flexible and names the epoch last
fetched (KIP-595); 13 names topics by id (KIP-516).
"""

from collections.abc import Iterable
from typing import Any

from minikafka.broker.calls import CONTROLLER_LISTENER, Broker, Call
from minikafka.broker.fetch_sessions import (
    AT_ONCE,
    FINAL_EPOCH,
    Asked,
    FetchKey,
    Session,
    news,
)
from minikafka.broker.handlers.nodes import check_follower
from minikafka.clock import Now
from minikafka.cluster.metadata import METADATA_TOPIC
from minikafka.cluster.quorum import TOPIC_ID as METADATA_TOPIC_ID
from minikafka.cluster.replica import Replica
from minikafka.cluster.waiting import METADATA, Answer, Wait
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.records import batches
from minikafka.wire.schema import nested

# the version that can tell them; a session may be continued by an older one
DIVERGING_EPOCHS = CURRENT_LEADERS = 12
FROM_FOLLOWERS = 11
TOPIC_IDS = 13  # the version from which topics are named by id
NODE_ENDPOINTS = 16
HIGH_WATERMARKS = 18
READ_COMMITTED = 1
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
CONSUMER = -1
METADATA_KEYS = {(METADATA_TOPIC, 0), (METADATA_TOPIC_ID, 0)}
WRONG_LEADER = (Error.NOT_LEADER_OR_FOLLOWER, Error.FENCED_LEADER_EPOCH)
UNSETTLED: tuple[Any, ...] = (None,) * 4
NOT_READ = (Error.UNKNOWN_TOPIC_OR_PARTITION, Error.UNKNOWN_TOPIC_ID)


def handle(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    body = request.body
    follower, named = replica_id(broker, request), asked_partitions(request)
    if follower != CONSUMER:
        check_metadata_fetch(broker, request, named)
    try:
        asked, session, incremental = broker.fetch_sessions.open(
            body.session_id,
            body.session_epoch,
            request.version >= TOPIC_IDS,
            named,
            forgotten_partitions(request),
            now.monotonic_ms,
        )
    except KafkaError as error:
        return {"error_code": error.error, "responses": []}

    rows = unsettled(broker, session, asked, now.monotonic_ms)
    if follower != CONSUMER:
        for one in rows:
            note_follower(broker, request, follower, one, now)

    def look(rows: list[Asked], expired: bool) -> Answer | int:
        """The answer, or how many bytes are missing for one. A small marker makes many
        bytes of others count.
        """
        answers, size_bytes, failed = read(broker, request, rows, follower)
        failed = failed or (follower != CONSUMER and counts_more(request, answers))
        if not (expired or failed or size_bytes >= body.min_bytes or not asked):
            return (
                1
                if body.isolation_level == READ_COMMITTED
                else body.min_bytes - size_bytes
            )
        if broker.trace and follower == CONSUMER:
            tell(broker, rows, answers)
        sent = answers if session is None else news(session, answers, incremental)
        if session is not None and follower != CONSUMER:
            settle(broker, session, rows, follower)
        parts = ((topic, answer) for (topic, _), answer in sent.items())
        responses = nested(
            parts, "topic_id" if request.version >= TOPIC_IDS else "topic"
        )
        answer = {
            "session_id": session.session_id if session else 0,
            "responses": responses,
        }
        if request.version >= NODE_ENDPOINTS and (
            nodes := leaders_named(broker, request, answers.values())
        ):
            answer["node_endpoints"] = nodes
        return answer

    def attempt(wait: Wait, now: Now, expired: bool) -> Answer | None:
        found = look(unsettled(broker, session, asked), expired)
        if isinstance(found, int):
            wait.missing_bytes = found
            return None
        return found

    found = look(rows, body.max_wait_ms <= 0)
    if not isinstance(found, int):
        return found
    keys: list[tuple[Any, ...]] = [("fetched_by", follower), METADATA]
    if follower == CONSUMER or session is None:
        names = [(topic_name(broker, one.topic), one.partition) for one in asked]
        keys = [
            ("high_watermark" if follower == CONSUMER else "log_end", *name)
            for name in names
        ]
        keys += [
            ("high_watermark", *name) for name in names if name[0] == METADATA_TOPIC
        ]
    return Wait(keys, now.monotonic_ms + body.max_wait_ms, attempt, missing_bytes=found)


def asked_partitions(request: Call) -> dict[FetchKey, Asked]:
    """What the request asks for, one row a partition: the last one, where it names a
    partition twice.
    """
    by_id = request.version >= TOPIC_IDS
    rows = [
        Asked(
            topic.topic_id if by_id else topic.topic,
            partition.partition,
            partition.fetch_offset,
            partition.partition_max_bytes,
            partition.current_leader_epoch,
            partition.last_fetched_epoch,
            partition.log_start_offset,
        )
        for topic in request.body.topics
        for partition in topic.partitions
    ]
    return {(row.topic, row.partition): row for row in rows}


def forgotten_partitions(request: Call) -> list[FetchKey]:
    """What an incremental request no longer wants."""
    by_id = request.version >= TOPIC_IDS
    return [
        (topic.topic_id if by_id else topic.topic, partition)
        for topic in request.body.forgotten_topics_data
        for partition in topic.partitions
    ]


def topic_name(broker: Broker, topic: str | bytes) -> str:
    """A topic's name, whichever way the request names it. An unknown id gives an empty
    name, which no topic has.
    """
    if topic == METADATA_TOPIC_ID:
        return METADATA_TOPIC
    return topic if isinstance(topic, str) else broker.image.topic_names.get(topic, "")


def replica_id(broker: Broker, request: Call) -> int:
    """The node that fetches as a follower; CONSUMER for everybody who is not a node of
    the cluster.
    """
    if request.client.listener != CONTROLLER_LISTENER:
        return CONSUMER
    follower = int(
        request.body.replica_state.replica_id
        if request.version >= 15
        else request.body.replica_id
    )
    if follower != CONSUMER:
        check_follower(broker, follower)
    return follower


def check_metadata_fetch(
    broker: Broker, request: Call, named: Iterable[FetchKey]
) -> None:
    """Who follows the metadata log names its cluster each time, so it has no session.
    Errors: INCONSISTENT_CLUSTER_ID, INVALID_REQUEST.
    """
    if METADATA_KEYS.isdisjoint(named):
        return
    if request.body.cluster_id != broker.cluster_id:
        raise KafkaError(Error.INCONSISTENT_CLUSTER_ID)
    if request.body.session_epoch != FINAL_EPOCH:
        raise KafkaError(Error.INVALID_REQUEST)


def led(
    broker: Broker, one: Asked, follower: int = CONSUMER, or_follower: bool = False
) -> Replica:
    """The replica that is asked for, which this node must lead. The metadata log is
    there for followers only.
    """
    name = topic_name(broker, one.topic)
    if isinstance(one.topic, bytes) and not name:
        raise KafkaError(Error.UNKNOWN_TOPIC_ID)
    if name == METADATA_TOPIC and follower != CONSUMER:
        if one.partition != 0:
            raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION)
        broker.quorum.check_leader(one.current_leader_epoch)
        return broker.quorum.replica
    if name == METADATA_TOPIC and isinstance(one.topic, bytes):
        raise KafkaError(Error.UNKNOWN_TOPIC_ID)
    replica = broker.replicas.leader(
        name, one.partition, one.current_leader_epoch, or_follower
    )
    if follower != CONSUMER and follower not in replica.partition.replicas:
        # it may know of a reassignment that this leader doesn't
        raise KafkaError(Error.NOT_LEADER_OR_FOLLOWER)
    return replica


def note_follower(
    broker: Broker, request: Call, follower: int, one: Asked, now: Now
) -> None:
    """Asking from an offset on says that all before is there, unless the two logs have
    parted.
    """
    try:
        replica = led(broker, one, follower)
        parted = one.last_fetched_epoch >= 0 and replica.log.diverging_epoch(
            one.last_fetched_epoch, one.fetch_offset
        )
    except KafkaError:
        return  # the answer will say so
    if parted or not 0 <= one.fetch_offset <= replica.log.log_end_offset:
        return
    if replica is broker.quorum.replica:
        broker.quorum.follower_fetched(follower, one.fetch_offset, now)
        return
    epoch, known = (
        request.body.replica_state.replica_epoch,
        broker.image.brokers.get(follower),
    )
    # else another run of it has asked (KIP-903)
    if epoch < 0 or known is None or known.broker_epoch <= epoch:
        replica.follower_fetched(
            follower, one.fetch_offset, now, epoch, one.log_start_offset
        )
        if ("log_start", replica.log.topic, one.partition) in broker.requests.waiting:
            broker.requests.moved(("log_start", replica.log.topic, one.partition), 0)
        if follower not in replica.partition.isr:  # who leaves it is found by the clock
            broker.isr.look((replica.log.topic, one.partition), replica, now)


def unsettled(
    broker: Broker,
    session: Session | None,
    asked: list[Asked],
    fetched_ms: int | None = None,
) -> list[Asked]:
    """The partitions of a fetch that must be looked at. Of the others the follower has
    all, as of this fetch, too.
    """
    if session is None or not session.settled:
        return asked
    rows, replicas = [], broker.replicas.replicas
    for key, one in session.asked.items():
        name, follower, partition, ends = session.settled.get(key, UNSETTLED)
        replica = replicas.get(name)
        log = (
            replica.log
            if replica is not None and replica.partition is partition
            else None
        )
        if log is None or (log.log_start_offset, log.log_end_offset) != ends:
            rows.append(one)
        elif fetched_ms is not None:
            follower.caught_up_ms = follower.fetched_ms = fetched_ms
    return rows


def settle(broker: Broker, session: Session, rows: list[Asked], follower: int) -> None:
    """Remember of which partitions the follower has all and was told so."""
    for one in rows:
        name = topic_name(broker, one.topic), one.partition
        replica = broker.replicas.replicas.get(name)
        if (
            replica is None
            or follower not in replica.partition.isr
            or (one.topic, one.partition) not in session.told
        ):
            continue
        known, log, end = (
            replica.followers.get(follower),
            replica.log,
            replica.log.log_end_offset,
        )
        if (
            known is not None
            and one.fetch_offset
            == known.log_end_offset
            == end
            == replica.high_watermark
        ):
            session.settled[one.topic, one.partition] = (
                name,
                known,
                replica.partition,
                (log.log_start_offset, end),
            )


def counts_more(request: Call, answers: dict[FetchKey, Answer]) -> bool:
    """Whether the follower is to hear of a new high watermark at once (KIP-1166: it
    said what it knows).
    """
    known = {
        (topic.topic_id, partition.partition): partition.high_watermark
        for topic in request.body.topics
        for partition in topic.partitions
        if request.version >= HIGH_WATERMARKS
    }
    told = (
        (answers[key]["high_watermark"], known[key]) for key in known if key in answers
    )
    return any(high_watermark > was for high_watermark, was in told)


def leaders_named(
    broker: Broker, request: Call, answers: Iterable[Answer]
) -> list[Answer]:
    """Where to find the leaders that refused partitions are said to have (KIP-951)."""
    named = {
        answer["current_leader"]["leader_id"]
        for answer in answers
        if "current_leader" in answer
    }
    if not named:
        return []
    brokers = (
        broker.image.brokers[node]
        for node in sorted(named)
        if node in broker.image.brokers
    )
    listener = request.client.listener
    return [
        {"node_id": one.broker_id, "host": host, "port": port, "rack": one.rack}
        for one in brokers
        if listener in one.endpoints
        for host, port in [one.endpoints[listener]]
    ]


def read(
    broker: Broker, request: Call, asked: list[Asked], follower: int
) -> tuple[dict[FetchKey, Answer], int, bool]:
    """Read what there is for each partition: the answers, their size in bytes, and
    whether one of them is an error.
    """
    left = min(request.body.max_bytes, broker.config["fetch.max.bytes"])
    answers: dict[FetchKey, Answer] = {}
    total, failed = 0, False
    for one in asked:
        try:
            answer, size_bytes = read_partition(
                broker, request, one, left, total == 0, follower
            )
            total += size_bytes
            left -= size_bytes
            failed = failed or not answer.keys().isdisjoint(AT_ONCE)
        except KafkaError as error:
            answer, failed = refusal(broker, request, one, error), True
        answers[one.topic, one.partition] = answer
    return answers, total, failed


def read_partition(
    broker: Broker, request: Call, one: Asked, left: int, must_give: bool, follower: int
) -> tuple[Answer, int]:
    """One partition's answer and the size of its records. A follower reads up to the
    log's end.
    """
    replica = led(
        broker,
        one,
        follower,
        follower == CONSUMER and request.version >= FROM_FOLLOWERS,
    )
    committed = request.body.isolation_level == READ_COMMITTED
    end = replica.last_stable_offset if committed else replica.high_watermark
    if follower != CONSUMER:
        end = replica.log.log_end_offset
    answer: Answer = {
        "partition_index": one.partition,
        "error_code": Error.NONE,
        "high_watermark": replica.high_watermark,
        "last_stable_offset": replica.last_stable_offset,
        "log_start_offset": replica.log.log_start_offset,
        "aborted_transactions": [] if committed else None,
        "records": b"",
    }
    nearer = (
        closest(broker, request, replica, one.fetch_offset)
        if follower == CONSUMER
        else None
    )
    if nearer is not None:
        answer["preferred_read_replica"] = nearer
        return answer, 0
    if replica is broker.quorum.replica and request.version >= CURRENT_LEADERS:
        answer["current_leader"] = {
            "leader_id": broker.node_id,
            "leader_epoch": replica.leader_epoch,
        }
        newest = broker.quorum.snapshots.newest
        if newest is not None and one.fetch_offset < replica.log.log_start_offset:
            answer["snapshot_id"] = newest._asdict()
            return answer, 0
    if one.last_fetched_epoch >= 0 and request.version >= DIVERGING_EPOCHS:
        diverging = replica.log.diverging_epoch(
            one.last_fetched_epoch, one.fetch_offset
        )
        if diverging is not None:
            answer["diverging_epoch"] = {
                "epoch": diverging[0],
                "end_offset": diverging[1],
            }
            return answer, 0
    limit = min(left, one.max_bytes)
    if limit <= 0 and not must_give:
        return answer, 0
    node = None if follower == CONSUMER else follower
    records = broker.damage.read(
        replica, node, one.fetch_offset, max(limit, 0), end, must_give
    )
    answer["records"] = records
    if (
        committed
        and records
        and follower == CONSUMER
        and replica.log.has_aborted_from(one.fetch_offset)
    ):
        answer["aborted_transactions"] = aborted_among(
            replica, one.fetch_offset, records
        )
    return answer, sum(map(len, records))


def aborted_among(
    replica: Replica, offset: int, records: list[memoryview]
) -> list[dict[str, int]]:
    """The aborted transactions that have records among these: the consumer skips
    them.
    """
    last = [header for chunk in records for header, _ in batches(chunk)][-1]
    found = replica.log.aborted_transactions(offset, last.next_offset)
    return [
        {"producer_id": each.producer_id, "first_offset": each.first_offset}
        for each in found
    ]


def closest(broker: Broker, request: Call, replica: Replica, offset: int) -> int | None:
    """A follower in the consumer's rack that is in sync and has what it asks for; None
    if this leader is as good.
    """
    if (
        request.version < FROM_FOLLOWERS
        or not request.body.rack_id
        or not replica.is_leader
    ):
        return None
    brokers, rack = broker.image.brokers, request.body.rack_id
    if (
        broker.config["replica.selector.class"] != RACK_AWARE
        or broker.config["broker.rack"] == rack
    ):
        return None
    has = {
        node: each.log_end_offset
        for node, each in replica.followers.items()
        if node in replica.partition.isr
    }
    near = [
        node
        for node, end in has.items()
        if node in brokers and brokers[node].rack == rack and end >= offset
    ]
    return max(near, key=has.__getitem__, default=None)


def refusal(broker: Broker, request: Call, one: Asked, error: KafkaError) -> Answer:
    """What Kafka answers for a partition it did not read; who leads it, where the
    client was wrong about that.
    """
    name = topic_name(broker, one.topic)
    answer: Answer = {
        "partition_index": one.partition,
        "error_code": error.error,
        "high_watermark": -1,
        "log_start_offset": -1,
        "aborted_transactions": [] if error.error in NOT_READ else None,
        "records": b"",
    }
    if request.version < CURRENT_LEADERS:
        return answer
    if name == METADATA_TOPIC:
        answer["current_leader"] = {
            "leader_id": broker.quorum.leader_id,
            "leader_epoch": broker.quorum.epoch,
        }
    elif error.error in WRONG_LEADER and name in broker.image.topics:
        answer["current_leader"] = current_leader(broker, name, one.partition)
    return answer


def current_leader(broker: Broker, topic: str, number: int) -> dict[str, int]:
    """Who leads a partition, for a client that was wrong about it (KIP-951)."""
    partition = broker.image.topics[topic].partitions[number]
    return {"leader_id": partition.leader, "leader_epoch": partition.leader_epoch}


def tell(broker: Broker, asked: list[Asked], answers: dict[FetchKey, Answer]) -> None:
    """Trace events of what is being answered."""
    for one in asked:
        answer, topic = answers[one.topic, one.partition], topic_name(broker, one.topic)
        where: dict[str, Any] = {
            "topic": topic,
            "partition": one.partition,
            "offset": one.fetch_offset,
        }
        if answer["error_code"]:
            broker.trace.emit(
                "FetchRefused", **where, error=Error(answer["error_code"]).name
            )
        elif answer["records"]:
            last = [
                header for chunk in answer["records"] for header, _ in batches(chunk)
            ][-1]
            size_bytes = sum(map(len, answer["records"]))
            broker.trace.emit(
                "RecordsFetched",
                **where,
                next_offset=last.next_offset,
                size_bytes=size_bytes,
            )

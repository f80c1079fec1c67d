"""What nodes ask of each other, served only where they listen to each other; what
administrators ask about nodes.
"""

from collections.abc import Callable
from typing import Any

from minikafka.broker.calls import CONTROLLER_LISTENER, Broker, Call, by_topic, judged
from minikafka.clock import Now
from minikafka.cluster import controller
from minikafka.cluster.metadata import METADATA_TOPIC, MetadataRecord
from minikafka.cluster.quorum import READ_SIZE
from minikafka.cluster.replica import Follower
from minikafka.cluster.snapshots import SnapshotId
from minikafka.cluster.waiting import Answer, Wait
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

NO_DIRECTORY = bytes(16)
NAME_A_VOTER = "Vote", "BeginQuorumEpoch"
METADATA_LOG = [(METADATA_TOPIC, [0])]  # as a request names it


def vote(broker: Broker, request: Call, now: Now) -> Answer:
    """Vote (KIP-595, KIP-996): would this voter, or does it, vote for the candidate.
    Version 2.
    """
    return of_quorum(
        broker, request, lambda asked: broker.quorum.election.asked_for_vote(asked, now)
    )


def begin_quorum_epoch(broker: Broker, request: Call, now: Now) -> Answer:
    """BeginQuorumEpoch (KIP-595): somebody leads the quorum. Version 1."""
    return of_quorum(
        broker, request, lambda asked: broker.quorum.election.told_of_leader(asked, now)
    )


def end_quorum_epoch(broker: Broker, request: Call, now: Now) -> Answer:
    """EndQuorumEpoch (KIP-595): the leader of the quorum resigns. Version 1."""
    return of_quorum(
        broker,
        request,
        lambda asked: broker.quorum.election.told_of_resignation(asked, now),
    )


def of_quorum(
    broker: Broker,
    request: Call,
    answer: Callable[[Message], Answer],
    field: str = "topic_name",
    number: str = "partition_index",
) -> Answer:
    """The frame that they have in common: the one partition of one topic, of this
    cluster. field, number: what names the topic and the partition. Apache Kafka lets a
    request pass that names no cluster; nodes always name theirs.
    """
    body = request.body
    if body.cluster_id != broker.cluster_id:
        raise KafkaError(Error.INCONSISTENT_CLUSTER_ID)
    asked = [
        (getattr(topic, field), each)
        for topic in body.topics
        for each in topic.partitions
    ]
    if [(topic, getattr(each, number)) for topic, each in asked] != [
        (METADATA_TOPIC, 0)
    ]:
        raise KafkaError(Error.INVALID_REQUEST)
    partition = asked[0][1]
    known = {
        "partition_index": 0,
        "leader_id": broker.quorum.leader_id,
        "leader_epoch": broker.quorum.epoch,
    }
    for_me = request.api not in NAME_A_VOTER or is_for(broker, body, partition)
    found = (
        answer(partition) if for_me else known | {"error_code": Error.INVALID_VOTER_KEY}
    )
    return {"topics": [{field: METADATA_TOPIC, "partitions": [found]}]}


def is_for(broker: Broker, body: Message, partition: Message) -> bool:
    """Whether the voter that a request names is this one: its id, and its directory if
    that is named (KIP-853).
    """
    directories = NO_DIRECTORY, broker.registration.directory_id
    return (
        body.voter_id == broker.node_id and partition.voter_directory_id in directories
    )


def fetch_snapshot(broker: Broker, request: Call, now: Now) -> Answer:
    """FetchSnapshot (KIP-630): a piece of a snapshot of the metadata, from its leader.
    Version 1.
    """
    quorum, body = broker.quorum, request.body

    def piece(asked: Message, snapshot: SnapshotId) -> Answer:
        check_follower(broker, body.replica_id)
        quorum.check_leader(asked.current_leader_epoch)
        if asked.position < 0 or body.max_bytes < 0:
            raise KafkaError(Error.POSITION_OUT_OF_RANGE)
        found = quorum.snapshots.piece(
            snapshot, asked.position, min(body.max_bytes, READ_SIZE)
        )
        if found is None:
            raise KafkaError(Error.SNAPSHOT_NOT_FOUND)
        if asked.position >= found[1]:
            raise KafkaError(Error.POSITION_OUT_OF_RANGE)
        quorum.election.heard_from(body.replica_id, now)
        return {"unaligned_records": found[0], "size": found[1]}

    def answer(asked: Message) -> Answer:
        snapshot = SnapshotId(asked.snapshot_id.end_offset, asked.snapshot_id.epoch)
        known: Answer = {
            "index": 0,
            "snapshot_id": snapshot._asdict(),
            "size": 0,
            "position": asked.position,
        }
        known["current_leader"] = {
            "leader_id": quorum.leader_id,
            "leader_epoch": quorum.epoch,
        }
        return judged(
            known | {"unaligned_records": b""}, lambda: piece(asked, snapshot)
        )

    return of_quorum(broker, request, answer, "name", "partition")


def check_follower(broker: Broker, replica_id: int) -> None:
    """Whoever says it is a node that follows: another one than this. Errors:
    INVALID_REQUEST.
    """
    if replica_id < 0 or replica_id == broker.node_id:
        raise KafkaError(Error.INVALID_REQUEST)


def register(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    """BrokerRegistration (KIP-631): a broker comes, and gets its epoch. Version 4."""
    return broker.active_controller.register(request.body.to_dict(), now)


def heartbeat(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    """BrokerHeartbeat (KIP-631): a broker lives; one that is ready is unfenced. Version
    2.
    """
    if not broker.quorum.is_leader:
        raise KafkaError(Error.NOT_CONTROLLER)
    return broker.active_controller.heartbeat(request.body, now)


def allocate_producer_ids(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    """AllocateProducerIds (KIP-730): the next block for a broker. Version 0."""
    body, image = request.body, broker.image
    check_epoch(broker, body)
    records = controller.allocate_producer_ids(image, body.broker_id, body.broker_epoch)
    start, size = image.next_producer_id, controller.PRODUCER_ID_BLOCK_SIZE
    answer = {
        "error_code": Error.NONE,
        "producer_id_start": start,
        "producer_id_len": size,
    }
    return broker.active_controller.decide(records, now, lambda: answer)


def alter_partition(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    """AlterPartition (KIP-497): leaders name the replicas in sync; each partition has
    its own verdict. Version 3.
    """
    body, image, value = (
        request.body,
        broker.image,
        broker.active_controller.topic_value,
    )
    check_epoch(broker, body)
    records: list[MetadataRecord] = []
    judged_already: set[tuple[bytes, int]] = set()

    def verdict(topic: Any, asked: Any) -> Answer:
        if (topic.topic_id, asked.partition_index) in judged_already:
            # the second change would be one of what was before the first
            raise KafkaError(Error.INVALID_REQUEST)
        judged_already.add((topic.topic_id, asked.partition_index))
        change = controller.alter_isr(
            image, body.broker_id, topic.topic_id, asked, value
        )
        was = image.topic_by_id(topic.topic_id).partitions[asked.partition_index]
        isr = list(was.isr)
        if change is not None:
            records.append(change)
            isr = change.fields.get("isr", isr)
        answer = {"leader_id": was.leader, "leader_epoch": was.leader_epoch, "isr": isr}
        return answer | {"partition_epoch": was.partition_epoch + (change is not None)}

    topics = by_topic(
        body.topics,
        "topic_id",
        lambda asked: {"partition_index": asked.partition_index},
        verdict,
    )
    return broker.active_controller.decide(
        records, now, lambda: {"error_code": Error.NONE, "topics": topics}
    )


def assign_replicas_to_dirs(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    """AssignReplicasToDirs (KIP-858): in which directory a broker has its replicas. It
    has one here, and says only which of them are lost. Version 0.
    """
    body, image, value = (
        request.body,
        broker.image,
        broker.active_controller.topic_value,
    )
    check_epoch(broker, body)
    records: list[MetadataRecord] = []

    def verdict(topic: Any, asked: Any) -> Answer:
        change = controller.lose_replica(
            image, body.broker_id, topic.topic_id, asked.partition_index, value
        )
        records.extend([change] if change is not None else [])
        return {}

    def answered(directory: Any) -> Answer:
        if directory.id != controller.LOST_DIRECTORY:
            raise KafkaError(Error.INVALID_REQUEST)
        named = (
            directory.topics,
            "topic_id",
            lambda asked: {"partition_index": asked.partition_index},
        )
        return {"id": directory.id, "topics": by_topic(*named, verdict)}

    directories = [answered(directory) for directory in body.directories]
    return broker.active_controller.decide(
        records, now, lambda: {"error_code": Error.NONE, "directories": directories}
    )


def check_epoch(broker: Broker, body: Message) -> None:
    """Whether the broker that asks is this run of it. Errors: STALE_BROKER_EPOCH."""
    known = broker.image.brokers.get(body.broker_id)
    if known is None or known.broker_epoch != body.broker_epoch:
        raise KafkaError(Error.STALE_BROKER_EPOCH)


def describe_quorum(broker: Broker, request: Call, now: Now) -> Answer:
    """DescribeQuorum (KIP-595, KIP-836, KIP-853): how far the voters and the observers
    of the metadata log are.

    The active controller knows: what it has, and what the others asked for. Times are
    those of its wall clock, -1 for a node that has not asked since it leads. Versions:
    1 brings the times, 2 addresses and messages.
    """
    quorum, asked = broker.quorum, request.body.topics
    if [
        (topic.topic_name, [each.partition_index for each in topic.partitions])
        for topic in asked
    ] != METADATA_LOG:
        error = Error.UNKNOWN_TOPIC_OR_PARTITION
        refused = {
            "error_code": error,
            "error_message": error.message,
            "current_voters": [],
            "observers": [],
        }
        topics = [
            (topic.topic_name, [each.to_dict() | refused for each in topic.partitions])
            for topic in asked
        ]
        return {
            "topics": [
                {"topic_name": name, "partitions": partitions}
                for name, partitions in topics
            ]
        }
    replica, own = (
        quorum.replica,
        Follower(now.monotonic_ms, quorum.end_offset, fetched_ms=now.monotonic_ms),
    )

    def shown(node: int, known: Follower) -> Answer:
        times = (
            {"last_fetch": known.fetched_ms, "last_caught_up": known.caught_up_ms}
            if known.fetched_ms
            else {}
        )
        at = {
            f"{name}_timestamp": at_ms + now.wall_ms - now.monotonic_ms
            for name, at_ms in times.items()
        }
        return {
            "replica_id": node,
            "log_end_offset": known.log_end_offset if at else -1,
            **at,
        }

    followers = {
        **dict.fromkeys(replica.partition.replicas, Follower(0)),
        **replica.followers,
        broker.node_id: own,
    }
    answer = {
        "partition_index": 0,
        "leader_id": quorum.leader_id,
        "leader_epoch": quorum.epoch,
        "high_watermark": quorum.high_watermark,
        "current_voters": [
            shown(node, followers[node]) for node in replica.partition.replicas
        ],
        "observers": [shown(*each) for each in sorted(quorum.observers.items())],
    }
    nodes = [
        {
            "node_id": node,
            "listeners": [{"name": CONTROLLER_LISTENER, "host": host, "port": port}],
        }
        for node, (host, port) in broker.config.peers.items()
        if request.version >= 2 and node in replica.partition.replicas
    ]
    return {
        "topics": [{"topic_name": METADATA_TOPIC, "partitions": [answer]}],
        "nodes": nodes,
    }


def unregister(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    """UnregisterBroker (KIP-631): a broker gone for good is forgotten; one that lives
    registers again. Version 0.
    """
    broker_id = request.body.broker_id
    if broker_id not in broker.image.brokers:
        raise KafkaError(
            Error.BROKER_ID_NOT_REGISTERED,
            f"Broker ID {broker_id} is not currently registered",
        )
    records = controller.unregister_broker(
        broker.image, broker_id, broker.active_controller.topic_value
    )
    return broker.active_controller.decide(
        records, now, lambda: {"error_code": Error.NONE, "error_message": None}
    )

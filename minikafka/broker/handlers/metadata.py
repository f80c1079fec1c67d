"""What the cluster consists of: brokers and topics, and who leads or coordinates what.
Any broker answers for all.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from minikafka.broker.calls import Broker, Call
from minikafka.clock import Now
from minikafka.cluster import controller
from minikafka.cluster.metadata import (
    INTERNAL_TOPICS,
    METADATA_TOPIC,
    NO_LEADER,
    BrokerRegistration,
    Partition,
    Topic,
)
from minikafka.cluster.waiting import Answer, Wait
from minikafka.coordinators.groups import partition_for
from minikafka.wire import messages
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.primitives import Encoded

NO_ID = bytes(16)
CREATED_AT_ONCE = 100  # topics that one request creates by asking for them
# Sets of AclOperation codes as Kafka answers them without an authorizer: everything
# that the resource knows.
TOPIC_OPERATIONS = sum(1 << operation for operation in (3, 4, 5, 6, 7, 8, 10, 11))
CLUSTER_OPERATIONS = sum(1 << operation for operation in (5, 7, 8, 9, 10, 11, 12))
NOT_ASKED = -(2**31)
BROKERS, CONTROLLERS = 1, 2  # endpoint types of DescribeCluster
PARTITION_LIMIT = 2000  # max.request.partition.size.limit
GROUP, TRANSACTION = 0, 1  # key types of FindCoordinator


def handle(broker: Broker, request: Call, now: Now) -> Answer:
    """Metadata: which brokers there are, and who leads each partition.

    Topics null (0: an empty list) means all. An unknown topic is created with
    num.partitions partitions if the client and auto.create.topics.enable allow it; of
    very many the first ones. It is UNKNOWN_TOPIC_OR_PARTITION in this answer all the
    same, and clients ask again. __consumer_offsets is made as its coordinator wants it,
    other internal topics by nobody who only asks. Versions: 4 lets the client forbid
    creation, 7 adds leader epochs, 10 and 12 topic ids (KIP-516), 11 drops the
    cluster's authorized operations, 13 adds a top-level error (always 0 here).
    """
    body = request.body
    everything = body.topics is None or (request.version == 0 and not body.topics)
    topics: list[Encoded | Answer]
    if everything:
        topics = [
            described(broker, topic, request) for topic in broker.image.topics.values()
        ]
    else:
        failed: dict[str, KafkaError] = {}
        created = auto_created(broker, request, failed)
        if created:
            broker.forwarding.create(created, now, dict)
        once = {(one.name, one.topic_id): one for one in body.topics}
        topics = [find(broker, one, request, failed) for one in once.values()]
    brokers = [
        {"node_id": one.broker_id, **address}
        for one, address in reachable(broker, request)
    ]
    return cluster_fields(broker, request, brokers) | {"topics": topics}


def auto_created(
    broker: Broker, request: Call, failed: dict[str, KafkaError]
) -> list[dict[str, Any]]:
    """The unknown topics of a request, as CreateTopics wants them; names that cannot be
    created go to failed.
    """
    if not (
        request.body.allow_auto_topic_creation
        and broker.config["auto.create.topics.enable"]
    ):
        return []
    asked = dict.fromkeys(one.name for one in request.body.topics if by_name(one))
    unknown = [
        name
        for name in asked
        if name not in broker.image.topics and name != METADATA_TOPIC
    ]
    coordinators = {
        each.topic_name: each for each in (broker.groups, broker.transactions)
    }
    topics = []
    for name in unknown[:CREATED_AT_ONCE]:
        if name in coordinators:
            topics.append(coordinators[name].creation())
        elif name not in INTERNAL_TOPICS:
            try:
                controller.check_new_topic_name(name, broker.image)
                topics.append(
                    {"name": name, "num_partitions": -1, "replication_factor": -1}
                )
            except KafkaError as error:
                failed[name] = error
    return topics


def by_name(one: Any) -> bool:
    """An id counts before a name."""
    return one.name is not None and one.topic_id == NO_ID


def find(
    broker: Broker, one: Any, request: Call, failed: dict[str, KafkaError]
) -> Encoded | Answer:
    """One asked topic, by name or by id."""
    try:
        if not by_name(one):
            return described(broker, broker.image.topic_by_id(one.topic_id), request)
        if one.name in failed:
            raise failed[one.name]
        if one.name not in broker.image.topics:
            controller.check_topic_name(one.name)
        return described(broker, broker.image.topic(one.name), request)
    except KafkaError as error:
        name = one.name if by_name(one) else None if request.version >= 12 else ""
        named = {
            "name": name,
            "topic_id": one.topic_id,
            "is_internal": name in INTERNAL_TOPICS,
        }
        return {"error_code": error.error, **named, "partitions": []}


def described(broker: Broker, topic: Topic, request: Call) -> Encoded:
    """A topic that exists. Encoded once for an image: every client that starts asks,
    and many partitions take long.
    """
    key = topic.name, request.version, request.body.include_topic_authorized_operations
    if key not in broker.descriptions:
        schema = messages.API[request.api].response
        operations = (
            TOPIC_OPERATIONS
            if request.body.include_topic_authorized_operations
            else NOT_ASKED
        )
        fields = topic_fields(broker, topic, topic.partitions, operations)
        broker.descriptions[key] = schema.encode_item(request.version, "topics", fields)
    return broker.descriptions[key]


def topic_fields(
    broker: Broker, topic: Topic, partitions: Mapping[int, Partition], operations: int
) -> Answer:
    """A topic with these partitions of it."""
    live = {one.broker_id for one in broker.image.live_brokers()}
    described = [
        {
            "error_code": (
                Error.LEADER_NOT_AVAILABLE
                if partition.leader == NO_LEADER
                else Error.NONE
            ),
            "partition_index": number,
            "leader_id": partition.leader,
            "leader_epoch": partition.leader_epoch,
            "replica_nodes": list(partition.replicas),
            "isr_nodes": list(partition.isr),
            "offline_replicas": [
                replica for replica in partition.replicas if replica not in live
            ],
        }
        for number, partition in partitions.items()
    ]
    return {
        "name": topic.name,
        "topic_id": topic.topic_id,
        "is_internal": topic.name in INTERNAL_TOPICS,
        "partitions": described,
        "topic_authorized_operations": operations,
    }


def reachable(
    broker: Broker, request: Call, fenced: bool = False
) -> Iterator[tuple[BrokerRegistration, Answer]]:
    """Brokers by id, with their addresses for the listener that the client came
    through.
    """
    for _, one in sorted(broker.image.brokers.items()):
        endpoint = one.endpoints.get(request.client.listener)
        if endpoint and (fenced or not one.fenced):
            yield one, {"host": endpoint[0], "port": endpoint[1], "rack": one.rack}


def cluster_fields(broker: Broker, request: Call, brokers: list[Answer]) -> Answer:
    """The cluster, as Metadata and DescribeCluster tell it. As its controller a broker
    that clients can reach, as in KRaft: the active controller if it is one of them.
    """
    asked, controller = (
        request.body.include_cluster_authorized_operations,
        broker.quorum.leader_id,
    )
    there = [one.broker_id for one, _ in reachable(broker, request)]
    return {
        "cluster_id": broker.cluster_id,
        "controller_id": controller if controller in there else min(there, default=-1),
        "brokers": brokers,
        "cluster_authorized_operations": CLUSTER_OPERATIONS if asked else NOT_ASKED,
    }


def describe_cluster(broker: Broker, request: Call, now: Now) -> Answer:
    """DescribeCluster (KIP-700, KIP-919): the cluster's id, its controller and its
    brokers.

    Versions: 0 to 2; 1 tells brokers from controllers (this listener knows brokers), 2
    shows fenced brokers on demand.
    """
    body = request.body
    if body.endpoint_type != BROKERS:
        if body.endpoint_type == CONTROLLERS:
            why = (
                "The request was sent to an endpoint of type BROKER, but we wanted an"
                " endpoint of type CONTROLLER"
            )
            raise KafkaError(Error.MISMATCHED_ENDPOINT_TYPE, why)
        raise KafkaError(
            Error.UNSUPPORTED_ENDPOINT_TYPE,
            f"Unsupported endpoint type {body.endpoint_type}",
        )
    brokers = [
        {"broker_id": one.broker_id, "is_fenced": one.fenced, **address}
        for one, address in reachable(broker, request, body.include_fenced_brokers)
    ]
    return cluster_fields(broker, request, brokers) | {"endpoint_type": BROKERS}


def describe_topic_partitions(
    broker: Broker, request: Call, now: Now
) -> dict[str, Any]:
    """DescribeTopicPartitions (KIP-966): topics and partitions a page at a time.

    Topics in the order of their names, at most ResponsePartitionLimit partitions an
    answer (2,000 at the most); NextCursor says where the next page begins. A cursor
    must name a topic that is asked for. Version: 0.
    """
    body = request.body
    names = sorted({topic.name for topic in body.topics} or broker.image.topics)
    first_partition = 0
    if body.cursor is not None:
        if body.cursor.partition_index < 0 or (
            body.topics and body.cursor.topic_name not in names
        ):
            return {
                "topics": [
                    {"error_code": Error.INVALID_REQUEST, "name": name}
                    for name in names
                ]
            }
        names = [name for name in names if name >= body.cursor.topic_name]
        if names and names[0] == body.cursor.topic_name:
            first_partition = body.cursor.partition_index
    left = max(1, min(body.response_partition_limit, PARTITION_LIMIT))
    topics: list[dict[str, Any]] = []
    for name in names:
        if left == 0:
            return {
                "topics": topics,
                "next_cursor": {"topic_name": name, "partition_index": 0},
            }
        answer, shown, complete = described_from(broker, name, first_partition, left)
        topics.append(answer)
        left -= shown
        if not complete:
            return {
                "topics": topics,
                "next_cursor": {
                    "topic_name": name,
                    "partition_index": first_partition + shown,
                },
            }
        first_partition = 0
    return {"topics": topics, "next_cursor": None}


def described_from(
    broker: Broker, name: str, first: int, limit: int
) -> tuple[dict[str, Any], int, bool]:
    """One topic from a partition on: its answer, how many partitions it shows, whether
    these are the last.
    """
    try:
        if name not in broker.image.topics:
            controller.check_topic_name(name)
        topic = broker.image.topic(name)
    except KafkaError as error:
        return {"error_code": error.error, "name": name, "partitions": []}, 0, True
    numbers = [number for number in topic.partitions if number >= first]
    shown = {number: topic.partitions[number] for number in numbers[:limit]}
    answer = topic_fields(broker, topic, shown, TOPIC_OPERATIONS)
    for told, partition in zip(answer["partitions"], shown.values(), strict=True):
        told["eligible_leader_replicas"] = list(partition.eligible_leader_replicas)
        told["last_known_elr"] = list(partition.last_known_elr)
    return answer, min(limit, len(numbers)), len(numbers) <= limit


def find_coordinator(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    """FindCoordinator (KIP-98, KIP-699): which broker coordinates a group or a
    transactional id.

    The group's name chooses a partition of `__consumer_offsets`, a transactional id one
    of `__transaction_state`, and whoever leads that partition is the coordinator. The
    topic is made when somebody asks for the first time. Versions: 0 to 6; 1 adds the
    key type, 4 asks for many keys in one request, 6 adds share groups (refused).
    """
    body = request.body
    kind = body.key_type if request.version >= 1 else GROUP
    keys = body.coordinator_keys if request.version >= 4 else [body.key]
    if kind not in (GROUP, TRANSACTION):
        return shaped(
            request,
            [
                refused(key, Error.INVALID_REQUEST, f"Unsupported key type {kind}")
                for key in keys
            ],
        )
    coordinator = broker.groups if kind == GROUP else broker.transactions

    def find(key: str) -> Answer:
        """The leader of the key's partition."""
        partitions = coordinator.topic.partitions if coordinator.topic else {}
        leader = (
            partitions[partition_for(key, len(partitions))].leader
            if partitions
            else NO_LEADER
        )
        endpoints = (
            {} if leader == NO_LEADER else broker.image.brokers[leader].endpoints
        )
        if request.client.listener not in endpoints:
            return refused(
                key,
                Error.COORDINATOR_NOT_AVAILABLE,
                Error.COORDINATOR_NOT_AVAILABLE.message,
            )
        host, port = endpoints[request.client.listener]
        found = {"key": key, "node_id": leader, "host": host, "port": port}
        return found | {"error_code": Error.NONE, "error_message": ""}

    def answer() -> Answer:
        return shaped(request, [find(key) for key in keys])

    if coordinator.topic is not None:
        return answer()
    return broker.forwarding.create([coordinator.creation()], now, answer)


def refused(key: str, error: Error, message: str) -> Answer:
    return {
        "key": key,
        "error_code": error,
        "error_message": message,
        "node_id": -1,
        "host": "",
        "port": -1,
    }


def shaped(request: Call, coordinators: list[Answer]) -> Answer:
    """One coordinator before version 4, many from there on."""
    if request.version >= 4:
        return {"coordinators": coordinators}
    return {name: value for name, value in coordinators[0].items() if name != "key"}

"""Topics come, grow and go. Each topic of a request has its own verdict; those that are
good are decided together.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from minikafka.broker.calls import Broker, Call, each_judged, judged
from minikafka.broker.config import TOPIC_CONFIGS, Source, check_topic_configs, show
from minikafka.clock import Now
from minikafka.cluster import controller
from minikafka.cluster.metadata import (
    INTERNAL_TOPICS,
    METADATA_TOPIC,
    TOPIC_RESOURCE,
    MetadataRecord,
    Topic,
)
from minikafka.cluster.waiting import Answer, Wait
from minikafka.wire.errors import Error, KafkaError

NO_ID = bytes(16)
EXCESSIVE = "Excessively large number of partitions per request."


def create(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    """CreateTopics (KIP-4, KIP-464, KIP-525): new topics.

    -1 partitions or replicas means the broker's default. Versions: 2 to 7; 5 answers
    the resulting configs, 7 the id.
    """
    body = request.body
    by_default = broker.config["num.partitions"]
    counts = (len(topic.assignments) or topic.num_partitions for topic in body.topics)
    partitions = sum(by_default if count == -1 else max(count, 0) for count in counts)
    topics = len({topic.name for topic in body.topics})
    in_force = partial(
        broker.config.value, broker.image, broker.node_id, TOPIC_RESOURCE, ""
    )
    values = {name: in_force(name) for name in TOPIC_CONFIGS}
    defaults = [
        {"name": name, "value": show(one.value), "config_source": one.source}
        for name, one in values.items()
    ]
    records: list[MetadataRecord] = []
    created: list[Answer] = []

    def verdict(topic: Any) -> Answer:
        if partitions > controller.MAX_PARTITIONS_PER_REQUEST:
            raise KafkaError(Error.POLICY_VIOLATION, EXCESSIVE)
        if topics > (most := controller.MAX_TOPICS_PER_REQUEST):
            raise KafkaError(
                Error.POLICY_VIOLATION, f"A request may create at most {most} topics."
            )
        if topic.name == METADATA_TOPIC:
            raise KafkaError(
                Error.INVALID_REQUEST,
                f"Creation of internal topic {METADATA_TOPIC} is prohibited.",
            )
        controller.check_new_topic_name(topic.name, broker.image)
        configs = check_topic_configs(
            {config.name: config.value for config in topic.configs}
        )
        placement = place(broker, topic)
        topic_id = broker.random_uuid()
        records.extend(
            controller.create_topic(topic.name, topic_id, placement, configs)
        )
        count, factor = len(placement), len(placement[0])
        if topic.name not in INTERNAL_TOPICS:
            created.append(
                {
                    "topic": topic.name,
                    "partitions": count,
                    "replication_factor": factor,
                    "configs": configs,
                }
            )
        resulting = [
            (
                row | {"value": configs[row["name"]], "config_source": Source.TOPIC}
                if row["name"] in configs
                else row
            )
            for row in defaults
        ]
        return {
            "topic_id": topic_id,
            "num_partitions": count,
            "replication_factor": factor,
            "configs": resulting,
        }

    answer = {"topics": verdicts(body.topics, verdict)}
    return (
        answer
        if body.validate_only
        else broker.active_controller.change(
            records, now, answer, "TopicCreated", created
        )
    )


def verdicts(topics: list[Any], verdict: Callable[[Any], Answer]) -> list[Answer]:
    """What is answered for each topic: the fields of its verdict, or the error."""
    times_named = Counter(topic.name for topic in topics)

    def once(topic: Any) -> Answer:
        if times_named[topic.name] > 1:
            raise KafkaError(Error.INVALID_REQUEST, "Duplicate topic name.")
        return verdict(topic)

    by_name = {topic.name: topic for topic in topics}
    return each_judged(
        by_name.values(),
        lambda each: {"name": each.name, "error_message": None},
        once,
        say_why=True,
    )


def place(broker: Broker, topic: Any) -> controller.Placement:
    """Where the partitions go: as the client says, or as the controller chooses."""
    if topic.assignments:
        for name, value in (
            ("replication factor", topic.replication_factor),
            ("numPartitions", topic.num_partitions),
        ):
            if value != -1:
                what = (
                    f"A manual partition assignment was specified, but {name} was not"
                    " set to -1."
                )
                raise KafkaError(Error.INVALID_REQUEST, what)
        [(number, times), *_] = Counter(
            one.partition_index for one in topic.assignments
        ).most_common(1)
        if times > 1:
            what = f"Found multiple manual partition assignments for partition {number}"
            raise KafkaError(Error.INVALID_REPLICA_ASSIGNMENT, what)
        chosen = {one.partition_index: one.broker_ids for one in topic.assignments}
        return controller.check_placement(broker.image, chosen)
    partitions = (
        broker.config["num.partitions"]
        if topic.num_partitions == -1
        else topic.num_partitions
    )
    factor = (
        broker.config["default.replication.factor"]
        if topic.replication_factor == -1
        else topic.replication_factor
    )
    return controller.place(
        broker.image, partitions, factor, first=int(broker.random.random() * 2**16)
    )


def create_partitions(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    """CreatePartitions (KIP-195): a topic grows. It can never shrink.

    Count is the new total. Existing partitions and their records stay where they are;
    only the choice of a partition by key changes, for records to come. Versions: 0 to
    3, the same fields; 2 is flexible.
    """
    records: list[MetadataRecord] = []
    grown: list[Answer] = []

    def verdict(asked: Any) -> Answer:
        topic = broker.image.topic(asked.name)
        records.extend(grow(broker, topic, asked))
        grown.append(
            {
                "topic": topic.name,
                "partitions": asked.count,
                "was": len(topic.partitions),
            }
        )
        return {}

    answer = {"results": verdicts(request.body.topics, verdict)}
    if request.body.validate_only:
        return answer
    return broker.active_controller.change(
        records, now, answer, "PartitionsCreated", grown
    )


def grow(broker: Broker, topic: Topic, asked: Any) -> list[MetadataRecord]:
    """The records that add partitions to one topic."""
    current = len(topic.partitions)
    new = asked.count - current
    if new == 0:
        raise KafkaError(
            Error.INVALID_PARTITIONS, f"Topic already has {current} partition(s)."
        )
    if new < 0:
        why = (
            f"The topic {topic.name} currently has {current} partition(s);"
            f" {asked.count} would not be an increase."
        )
        raise KafkaError(Error.INVALID_PARTITIONS, why)
    if new > controller.MAX_PARTITIONS_PER_REQUEST:
        raise KafkaError(Error.POLICY_VIOLATION, EXCESSIVE)
    if asked.assignments is not None:
        if len(asked.assignments) != new:
            why = (
                f"Attempted to add {new} additional partition(s), but only"
                f" {len(asked.assignments)}"
            )
            raise KafkaError(
                Error.INVALID_REPLICA_ASSIGNMENT, f"{why} assignment(s) were specified."
            )
        chosen = {
            current + number: one.broker_ids
            for number, one in enumerate(asked.assignments)
        }
        return controller.create_partitions(
            topic, controller.check_placement(broker.image, chosen, current)
        )
    factor = len(topic.partitions[0].replicas)
    first = topic.partitions[current - 1].replicas[0] + 1
    return controller.create_partitions(
        topic, controller.place(broker.image, new, factor, first)
    )


def delete(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    """DeleteTopics (KIP-4, KIP-516): topics go, by name or by id.

    A topic is gone for all clients at once; its files are renamed first and removed in
    the background. Versions: 1 to 6; 5 adds an error message, 6 names topics by id or
    name.
    """
    old = [(name, NO_ID) for name in request.body.topic_names]  # of versions before 6
    asked = Counter([*old, *((one.name, one.topic_id) for one in request.body.topics)])

    def found(name: str | None, topic_id: bytes, times: int) -> Answer:
        topic = find(broker, name, topic_id, times)
        return {"name": topic.name, "topic_id": topic.topic_id}

    results: dict[bytes | tuple[str | None, bytes], Answer] = {}
    for (name, topic_id), times in asked.items():
        named = {"name": name, "topic_id": topic_id, "error_message": None}
        result = judged(named, partial(found, name, topic_id, times), say_why=True)
        key = (name, topic_id) if result["error_code"] else result["topic_id"]
        if key in results:
            what = "The provided topic name maps to an ID that was already supplied."
            result |= {"error_code": Error.INVALID_REQUEST, "error_message": what}
        results[key] = result
    gone = [
        result["name"]
        for result in results.values()
        if result["error_code"] == Error.NONE
    ]
    records = [
        record
        for name in gone
        for record in controller.delete_topic(broker.image.topics[name])
    ]
    answer = {"responses": list(results.values())}
    return broker.active_controller.change(
        records, now, answer, "TopicDeleted", [{"topic": name} for name in gone]
    )


def find(broker: Broker, name: str | None, topic_id: bytes, times: int) -> Topic:
    """The topic that is to go. times: how often the request names it this way."""
    if not broker.config["delete.topic.enable"]:
        raise KafkaError(Error.TOPIC_DELETION_DISABLED)
    if times > 1:
        raise KafkaError(
            Error.INVALID_REQUEST,
            f"Duplicate topic {'id' if name is None else 'name'}.",
        )
    if name is None:
        if topic_id == NO_ID:
            raise KafkaError(
                Error.INVALID_REQUEST, "Neither topic name nor id were specified."
            )
        return broker.image.topic_by_id(topic_id)
    if topic_id != NO_ID:
        raise KafkaError(
            Error.INVALID_REQUEST, "You may not specify both topic name and topic id."
        )
    return broker.image.topic(name)

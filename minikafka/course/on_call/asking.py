"""Requests that several of Kafka's tools send to the cluster, as an admin
client does.
"""

from typing import Any

from minikafka.clients.structs import TopicPartition
from minikafka.course.on_call.brokers import Brokers
from minikafka.wire.errors import Error, KafkaError

LATEST, EARLIEST, LARGEST_TIME = -1, -2, -3  # what ListOffsets takes for a time
FOR_GROUPS, FOR_TRANSACTIONS = 0, 1  # types of coordinators
ATTEMPTS, PAUSE_MS = 20, 500  # an admin client is that patient
TIMEOUT_MS = 30_000
IRREGULAR = {  # names of exceptions
    Error.INVALID_CONFIG: "InvalidConfiguration",
    Error.NON_EMPTY_GROUP: "GroupNotEmpty",
}


def live_brokers(brokers: Brokers) -> list[int]:
    """The brokers that are not fenced, in order."""
    told = brokers.ask("Metadata", {"topics": []})
    return sorted(broker.node_id for broker in told.brokers)


def topic_names(brokers: Brokers) -> list[str]:
    """All topics in order, Kafka's own too."""
    told = brokers.ask("Metadata", {"topics": None})
    return sorted(topic.name for topic in told.topics)


def leaders(brokers: Brokers, topic: str) -> dict[int, int]:
    """Partition -> its leader, -1 for none. Raises KafkaError without the topic."""
    body = {
        "topics": [{"name": topic}],
        "allow_auto_topic_creation": False,
    }
    [told] = brokers.ask("Metadata", body).topics
    if told.error_code == Error.UNKNOWN_TOPIC_OR_PARTITION:
        raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION)
    return {each.partition_index: each.leader_id for each in told.partitions}


def leader(brokers: Brokers, partition: TopicPartition) -> int:
    """The leader of a partition. Raises KafkaError if it has none."""
    found = leaders(brokers, partition.topic).get(partition.partition, -1)
    if found < 0:
        raise KafkaError(Error.LEADER_NOT_AVAILABLE)
    return found


def offset_at(brokers: Brokers, place: TopicPartition, when: int, leader: int) -> int:
    """ListOffsets of one partition: LATEST, EARLIEST, LARGEST_TIME, or a time in ms; -1
    where there is no such record.
    """
    wanted = {
        "partition_index": place.partition,
        "timestamp": when,
    }
    topic = {
        "name": place.topic,
        "partitions": [wanted],
    }
    body = {
        "replica_id": -1,
        "topics": [topic],
        "timeout_ms": TIMEOUT_MS,
    }
    [told] = brokers.ask("ListOffsets", body, leader).topics
    return int(told.partitions[0].offset)


def coordinator(brokers: Brokers, name: str, kind: int) -> int:
    """The coordinator of a group, or of a transactional id. Raises KafkaError if there
    is none for as long as an admin client would wait.
    """
    body = {
        "coordinator_keys": [name],
        "key_type": kind,
    }
    for _ in range(ATTEMPTS):
        [found] = brokers.ask("FindCoordinator", body).coordinators
        if not found.error_code:
            return int(found.node_id)
        brokers.cluster.run_ms(PAUSE_MS)
    raise KafkaError(Error.COORDINATOR_NOT_AVAILABLE)


def create_topics_body(
    *,
    name: str,
    partitions: int,
    replicas: int | list[list[int]],
    configs: dict[str, str],
) -> dict[str, Any]:
    """A CreateTopics request for one topic. replicas: how many, or the brokers of each
    partition, its leader first.
    """
    assignments = []
    factor = replicas
    if isinstance(replicas, list):
        partitions = factor = -1
        for number, brokers in enumerate(replicas):
            assignments.append(
                {
                    "partition_index": number,
                    "broker_ids": brokers,
                }
            )
    values = [
        {
            "name": key,
            "value": str(each),
        }
        for key, each in configs.items()
    ]
    topic = {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": factor,
        "assignments": assignments,
        "configs": values,
    }
    return {
        "topics": [topic],
        "timeout_ms": TIMEOUT_MS,
        "validate_only": False,
    }


def java_class(error: Error) -> str:
    """The error's name in the tools, which are Java programs."""
    words = map(str.capitalize, error.name.split("_"))
    name = IRREGULAR.get(error, "".join(words))
    return f"org.apache.kafka.common.errors.{name}Exception"


def check(told: Any) -> None:
    """Raise KafkaError where an answer has an error code."""
    if told.error_code:
        error = Error(told.error_code)
        words = getattr(told, "error_message", None)
        raise KafkaError(error, words or error.message)

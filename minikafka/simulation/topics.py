"""The cluster's topics: created and changed through an admin client, and looked at
without one.

A change is a real request and takes some virtual ms; looking (records, leader) takes no
time and changes nothing.
"""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from minikafka.clients.fetching import consumer_record
from minikafka.clients.items import items
from minikafka.clients.structs import ConsumerRecord, TopicPartition
from minikafka.cluster.metadata import Partition
from minikafka.simulation.admin import PATIENCE_MS, AdminHandle
from minikafka.simulation.arguments import (
    CONFIGS,
    COUNT,
    LONG_MAX,
    NUMBER,
    TEXT,
    TOPIC_OR_BROKER,
    checked,
    whole,
)
from minikafka.simulation.calls import Book, recorded
from minikafka.simulation.processes import BrokerProcess, best_informed, leading
from minikafka.wire.errors import Error, KafkaError

TOPIC, BROKER = 2, 4  # resource types
SET, DELETE = 0, 1  # operations of IncrementalAlterConfigs


class ThroughAdmin:
    """A part of a cluster that is changed through an admin client. book: keeps what the
    program called.
    """

    call_name = "cluster"

    def __init__(
        self, book: Book, brokers: Mapping[int, BrokerProcess], admin: AdminHandle
    ) -> None:
        self.book = book
        self._brokers = brokers
        self._admin = admin


class Topics(ThroughAdmin):
    """The topics of one cluster."""

    @checked(
        name=TEXT, partitions=COUNT, replication_factor=COUNT, configs=CONFIGS.or_none()
    )
    @recorded
    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replication_factor: int = 1,
        configs: Mapping[str, Any] | None = None,
    ) -> None:
        """Create a topic. configs: Kafka's names, such as {"retention.ms": "60000"}."""
        values = [
            {"name": key, "value": config_text(value)}
            for key, value in (configs or {}).items()
        ]
        topic = {
            "name": name,
            "num_partitions": partitions,
            "replication_factor": replication_factor,
            "assignments": [],
            "configs": values,
        }
        body = {
            "topics": [topic],
            "timeout_ms": PATIENCE_MS,
            "validate_only": False,
        }
        response = self._admin.ask("CreateTopics", body)
        raise_refusal(response.topics[0], f"create_topic({name!r})")

    @checked(topic=TEXT, partitions=COUNT)
    @recorded
    def create_partitions(self, topic: str, partitions: int) -> None:
        """Increase a topic's number of partitions. Keys are distributed differently
        from then on; existing records don't move.
        """
        body = {
            "topics": [{"name": topic, "count": partitions, "assignments": None}],
            "timeout_ms": PATIENCE_MS,
        }
        response = self._admin.ask("CreatePartitions", body)
        call = f"create_partitions({topic!r}, {partitions})"
        raise_refusal(response.results[0], call)

    @checked(name=TEXT)
    @recorded
    def delete_topic(self, name: str) -> None:
        """Remove a topic and its records."""
        body = {"topic_names": [name], "timeout_ms": PATIENCE_MS}
        response = self._admin.ask("DeleteTopics", body)
        raise_refusal(response.responses[0], f"delete_topic({name!r})")

    @checked(topic=TEXT, partition=NUMBER, before_offset=whole(-1, LONG_MAX))
    @recorded
    def delete_records(self, topic: str, partition: int, before_offset: int) -> int:
        """Delete the records before an offset (-1: all there are).

        Returns the offset of the oldest record that is left.
        """
        part = {"partition_index": partition, "offset": before_offset}
        body = {
            "topics": [{"name": topic, "partitions": [part]}],
            "timeout_ms": PATIENCE_MS,
        }
        response = self._admin.ask("DeleteRecords", body, self.leader(topic, partition))
        answer = response.topics[0].partitions[0]
        call = f"delete_records({topic!r}, {partition}, {before_offset})"
        raise_refusal(answer, call)
        return int(answer.low_watermark)

    @checked(topic=TOPIC_OR_BROKER, configs=CONFIGS)
    @recorded
    def alter_configs(self, topic: str | int, configs: Mapping[str, Any]) -> None:
        """Change configs of a topic (its name) or a broker (its id); None resets one to
        its default.

        Other configs stay.
        """
        node = topic if isinstance(topic, int) else None  # a broker answers for itself
        resource = {
            "resource_type": TOPIC if node is None else BROKER,
            "resource_name": str(topic),
            "configs": config_changes(configs),
        }
        body = {"resources": [resource], "validate_only": False}
        response = self._admin.ask("IncrementalAlterConfigs", body, node)
        raise_refusal(response.responses[0], f"alter_configs({topic!r})")

    # looking at the actual state

    def topics(self) -> list[str]:
        """The names of the topics, sorted, without Kafka's own such as
        __consumer_offsets.
        """
        names = best_informed(self._brokers).image.topics
        return sorted(name for name in names if not name.startswith("__"))

    @checked(topic=TEXT, partition=NUMBER.or_none("all of them"))
    def records(self, topic: str, partition: int | None = None) -> list[ConsumerRecord]:
        """The records in the log, as a consumer would get them: of one partition, or of
        all, one after the other.
        """
        if partition is not None:
            return self._records_of(topic, partition)
        found = []
        for number in range(self.partition_count(topic)):
            found += self._records_of(topic, number)
        return found

    @checked(topic=TEXT, partition=NUMBER)
    def leader(self, topic: str, partition: int = 0) -> int | None:
        """The id of the broker that leads the partition; None if none does."""
        leader = self.partition(topic, partition).leader
        return leader if leader >= 0 else None

    @checked(topic=TEXT, partition=NUMBER)
    def partition(self, topic: str, partition: int) -> Partition:
        """A partition as the best informed broker knows it: leader, replicas, ISR."""
        count = self.partition_count(topic)
        if partition >= count:
            span = "only partition 0" if count == 1 else f"partitions 0 to {count - 1}"
            why = f"{topic} has {span}, no {partition!r}"
            raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, why)
        return best_informed(self._brokers).image.topics[topic].partitions[partition]

    @checked(topic=TEXT)
    def partition_count(self, topic: str) -> int:
        """How many partitions a topic has."""
        self.check_topic(topic)
        return len(best_informed(self._brokers).image.topics[topic].partitions)

    @checked(topic=TEXT, partition=NUMBER)
    def log_offsets(self, topic: str, partition: int) -> tuple[int, int]:
        """The oldest existing offset, and the one that the next record gets."""
        self.partition(topic, partition)
        log = leading(self._brokers, topic, partition).log
        return log.log_start_offset, log.log_end_offset

    def check_topic(self, topic: str) -> None:
        """Raise an error if there is no such topic, with the nearest name."""
        if topic in best_informed(self._brokers).image.topics:
            return
        why = f"there is no topic {topic!r}; {hint(topic, self.topics())}"
        raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, why)

    def _records_of(self, topic: str, number: int) -> list[ConsumerRecord]:
        offset, _ = self.log_offsets(topic, number)
        replica = leading(self._brokers, topic, number)
        partition = TopicPartition(topic, number)
        found: list[ConsumerRecord] = []
        while offset < replica.high_watermark:
            chunks = replica.log.read(offset, 1 << 20, replica.high_watermark)
            data = bytearray().join(chunks)
            for item in items(data, offset, check_crcs=False):
                offset = item.next_offset
                if item.record is not None:
                    found.append(consumer_record(partition, item, (None, None)))
        return found


def raise_refusal(answer: Any, call: str) -> None:
    """Raise the error with which a broker refused a call, with the broker's message if
    it had any.
    """
    error = Error(answer.error_code)
    if error is not Error.NONE:
        words = getattr(answer, "error_message", None) or error.message
        raise KafkaError(error, f"{call}: {words}")


def config_changes(configs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The configs as IncrementalAlterConfigs takes them; None resets one to its
    default.
    """
    changes = []
    for name, value in configs.items():
        change = {
            "name": name,
            "config_operation": DELETE if value is None else SET,
            "value": config_text(value),
        }
        changes.append(change)
    return changes


def hint(name: str, names: Sequence[str]) -> str:
    """What may be meant by a name that isn't one of these."""
    near = difflib.get_close_matches(str(name), names, 1)
    if near:
        return f"did you mean {near[0]!r}?"
    if names:
        return f"there are {', '.join(names)}"
    return "there are none yet"


def config_text(value: Any) -> str | None:
    """A config's value as Kafka takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return None
    return str(value)

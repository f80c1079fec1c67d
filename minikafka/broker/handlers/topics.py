"""Topics come, grow and go. Each topic of a request has its own verdict; those that are
good are decided together.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from minikafka.broker.active_controller import ActiveController
from minikafka.broker.calls import Call, error_fields, result_of, results_of
from minikafka.broker.config import BrokerConfig, Random, Source
from minikafka.broker.config_rules import check_topic_configs
from minikafka.broker.config_table import TOPIC_CONFIGS, is_internal, show
from minikafka.clock import Now
from minikafka.cluster import controller, placer
from minikafka.cluster.metadata import (
    INTERNAL_TOPICS,
    METADATA_TOPIC,
    TOPIC_RESOURCE,
    Image,
    MetadataRecord,
    Topic,
)
from minikafka.cluster.waiting import Answer, Wait
from minikafka.wire.errors import Error, KafkaError

NO_ID = bytes(16)
EXCESSIVE = "Excessively large number of partitions per request."


class Named(NamedTuple):
    """How a DeleteTopics names a topic: by name or by id."""

    name: str | None
    topic_id: bytes


@dataclass(eq=False, repr=False)
class TopicHandlers:
    """Topics come, grow and go."""

    node_id: int
    image: Image
    config: BrokerConfig
    random: Random
    random_uuid: Callable[[], bytes]
    active_controller: ActiveController

    def create_topics(self, request: Call, now: Now) -> Answer | Wait:
        """CreateTopics (KIP-4, KIP-464, KIP-525): new topics.

        - -1 partitions or replicas means the broker's default.

        Versions: 2 to 7.

        - 5 answers the resulting configs.
        - 7 answers the id.
        """
        body = request.body
        creating = Creating(self)
        partition_count = self.partitions_asked_for(body.topics)
        topic_count = len({topic.name for topic in body.topics})

        def verdict(topic: Any) -> Answer:
            if partition_count > controller.MAX_PARTITIONS_PER_REQUEST:
                raise KafkaError(Error.POLICY_VIOLATION, EXCESSIVE)
            most = controller.MAX_TOPICS_PER_REQUEST
            if topic_count > most:
                why = f"A request may create at most {most} topics."
                raise KafkaError(Error.POLICY_VIOLATION, why)
            return creating.create(topic)

        answer = {"topics": verdicts(body.topics, verdict)}
        if body.validate_only:
            return answer
        return self.active_controller.commit_and_tell(
            creating.records, now, answer, "TopicCreated", creating.created
        )

    def partitions_asked_for(self, topics: list[Any]) -> int:
        """How many a CreateTopics would make."""
        partitions = 0
        for topic in topics:
            count = len(topic.assignments) or topic.num_partitions
            if count == -1:
                count = self.config["num.partitions"]
            partitions += max(count, 0)
        return partitions

    def default_configs(self) -> list[Answer]:
        """The configs of a topic that sets none itself."""
        rows = []
        for name in TOPIC_CONFIGS:
            if is_internal(name):
                continue
            value = self.config.value(
                self.image, self.node_id, TOPIC_RESOURCE, "", name
            )
            row = {
                "name": name,
                "value": show(value.value),
                "config_source": value.source,
            }
            rows.append(row)
        return rows

    def place(self, topic: Any) -> placer.Placement:
        """Where the partitions go: as the client says, or as the controller chooses."""
        if topic.assignments:
            return self.placed_by_client(topic)
        partitions = topic.num_partitions
        if partitions == -1:
            partitions = self.config["num.partitions"]
        factor = topic.replication_factor
        if factor == -1:
            factor = self.config["default.replication.factor"]
        first = int(self.random.random() * 2**16)
        return placer.place(self.image, partitions, factor, first)

    def placed_by_client(self, topic: Any) -> placer.Placement:
        unset = "A manual partition assignment was specified, but {} was not set to -1."
        if topic.replication_factor != -1:
            raise KafkaError(Error.INVALID_REQUEST, unset.format("replication factor"))
        if topic.num_partitions != -1:
            raise KafkaError(Error.INVALID_REQUEST, unset.format("numPartitions"))
        times_named = Counter(one.partition_index for one in topic.assignments)
        [(number, times)] = times_named.most_common(1)
        if times > 1:
            why = f"Found multiple manual partition assignments for partition {number}"
            raise KafkaError(Error.INVALID_REPLICA_ASSIGNMENT, why)
        chosen = {one.partition_index: one.broker_ids for one in topic.assignments}
        placement = placer.check(self.image, chosen)
        placer.check_somebody_leads(self.image, placement)
        return placement

    def create_partitions(self, request: Call, now: Now) -> Answer | Wait:
        """CreatePartitions (KIP-195): a topic grows. It can never shrink.

        - Count is the new total. Existing partitions and their records stay where they
          are; only the choice of a partition by key changes, for records to come.

        Versions: 0 to 3, the same fields.

        - 2 is flexible.
        """
        records: list[MetadataRecord] = []
        grown: list[Answer] = []

        def verdict(asked: Any) -> Answer:
            topic = self.image.topic(asked.name)
            records.extend(self.grow(topic, asked))
            told = {
                "topic": topic.name,
                "partitions": asked.count,
                "was": len(topic.partitions),
            }
            grown.append(told)
            return {}

        answer = {"results": verdicts(request.body.topics, verdict)}
        if request.body.validate_only:
            return answer
        return self.active_controller.commit_and_tell(
            records, now, answer, "PartitionsCreated", grown
        )

    def grow(self, topic: Topic, asked: Any) -> list[MetadataRecord]:
        """The records that add partitions to one topic."""
        current = len(topic.partitions)
        new = asked.count - current
        if new == 0:
            why = f"Topic already has {current} partition(s)."
            raise KafkaError(Error.INVALID_PARTITIONS, why)
        if new < 0:
            why = (
                f"The topic {topic.name} currently has {current} partition(s);"
                f" {asked.count} would not be an increase."
            )
            raise KafkaError(Error.INVALID_PARTITIONS, why)
        if new > controller.MAX_PARTITIONS_PER_REQUEST:
            raise KafkaError(Error.POLICY_VIOLATION, EXCESSIVE)
        if asked.assignments is None:
            factor = len(topic.partitions[0].replicas)
            first = topic.partitions[current - 1].replicas[0] + 1
            placement = placer.place(self.image, new, factor, first)
            return controller.create_partitions(self.image, topic, placement)
        given = len(asked.assignments)
        if given != new:
            why = (
                f"Attempted to add {new} additional partition(s), but only {given}"
                " assignment(s) were specified."
            )
            raise KafkaError(Error.INVALID_REPLICA_ASSIGNMENT, why)
        chosen = {}
        for number, one in enumerate(asked.assignments, current):
            chosen[number] = one.broker_ids
        placement = placer.check(self.image, chosen, current)
        placer.check_somebody_leads(self.image, placement, current)
        return controller.create_partitions(self.image, topic, placement)

    def delete_topics(self, request: Call, now: Now) -> Answer | Wait:
        """DeleteTopics (KIP-4, KIP-516): topics go, by name or by id.

        - A topic is gone for all clients at once; its files are renamed first and
          removed in the background.

        Versions: 1 to 6.

        - 5 adds an error message.
        - 6 names topics by id or name.
        """
        results = self.verdicts_on_deletion(request.body)
        records = []
        gone = []
        for result in results:
            if result["error_code"] == Error.NONE:
                name = result["name"]
                records += controller.delete_topic(self.image.topics[name])
                gone.append({"topic": name})
        answer = {"responses": results}
        return self.active_controller.commit_and_tell(
            records, now, answer, "TopicDeleted", gone
        )

    def verdicts_on_deletion(self, body: Any) -> list[Answer]:
        """The result for each topic that a DeleteTopics names; an error for one that it
        names both by name and by id.
        """
        times_named: Counter[Named] = Counter()
        for name in body.topic_names:  # of versions before 6
            times_named[Named(name, NO_ID)] += 1
        for topic in body.topics:
            times_named[Named(topic.name, topic.topic_id)] += 1
        results: dict[bytes | Named, Answer] = {}
        for named, times in times_named.items():
            known = {**named._asdict(), "error_message": None}
            result = result_of(known, partial(self.find, named, times), say_why=True)
            key = named if result["error_code"] else result["topic_id"]
            if key in results:
                why = "The provided topic name maps to an ID that was already supplied."
                result["error_code"] = Error.INVALID_REQUEST
                result["error_message"] = why
            results[key] = result
        return list(results.values())

    def find(self, named: Named, times_named: int) -> Answer:
        """The topic that is to go. times_named: how often the request names it this
        way.
        """
        name, topic_id = named
        if not self.config["delete.topic.enable"]:
            raise KafkaError(Error.TOPIC_DELETION_DISABLED)
        if times_named > 1:
            what = "id" if name is None else "name"
            raise KafkaError(Error.INVALID_REQUEST, f"Duplicate topic {what}.")
        if name is None and topic_id == NO_ID:
            why = "Neither topic name nor id were specified."
            raise KafkaError(Error.INVALID_REQUEST, why)
        if name is not None and topic_id != NO_ID:
            why = "You may not specify both topic name and topic id."
            raise KafkaError(Error.INVALID_REQUEST, why)
        if name is None:
            topic = self.image.topic_by_id(topic_id)
        else:
            topic = self.image.topic(name)
        return {"name": topic.name, "topic_id": topic.topic_id}

    def refuse_create_topics(self, request: Call, error: KafkaError) -> Answer:
        """The answer to a CreateTopics that is refused as a whole."""
        return {"topics": by_name_refused(request, error)}

    def refuse_create_partitions(self, request: Call, error: KafkaError) -> Answer:
        """The answer to a CreatePartitions that is refused as a whole."""
        return {"results": by_name_refused(request, error)}

    def refuse_delete_topics(self, request: Call, error: KafkaError) -> Answer:
        """The answer to a DeleteTopics that is refused as a whole."""
        code = {"error_code": error.error}
        named: list[Answer] = [{"name": name} for name in request.body.topic_names]
        named += [
            {"name": one.name, "topic_id": one.topic_id} for one in request.body.topics
        ]
        return {"responses": [one | code for one in named]}


class Creating:
    """The topics that one request creates: their records, and the trace's events about
    them.
    """

    def __init__(self, handlers: "TopicHandlers") -> None:
        self.records: list[MetadataRecord] = []
        self.created: list[Answer] = []
        self._handlers = handlers
        self._defaults = handlers.default_configs()

    def create(self, topic: Any) -> Answer:
        """One topic, and what is answered for it."""
        handlers, image = self._handlers, self._handlers.image
        name = topic.name
        if name == METADATA_TOPIC:
            why = f"Creation of internal topic {METADATA_TOPIC} is prohibited."
            raise KafkaError(Error.INVALID_REQUEST, why)
        controller.check_new_topic_name(name, image)
        asked = {config.name: config.value for config in topic.configs}
        configs = check_topic_configs(asked, handlers.config)
        placement = handlers.place(topic)
        topic_id = handlers.random_uuid()
        self.records += controller.create_topic(
            image, name, topic_id, placement, configs
        )
        partitions = len(placement)
        replication_factor = len(placement[0])
        if name not in INTERNAL_TOPICS:
            told = {
                "topic": name,
                "partitions": partitions,
                "replication_factor": replication_factor,
                "configs": configs,
            }
            self.created.append(told)
        return {
            "topic_id": topic_id,
            "num_partitions": partitions,
            "replication_factor": replication_factor,
            "configs": self._resulting(configs),
        }

    def _resulting(self, configs: dict[str, str]) -> list[Answer]:
        """All configs of a topic that sets these itself."""
        rows = []
        for row in self._defaults:
            name = row["name"]
            if name in configs:
                own = {"value": configs[name], "config_source": Source.TOPIC}
                row = row | own
            rows.append(row)
        return rows


def verdicts(topics: list[Any], verdict: Callable[[Any], Answer]) -> list[Answer]:
    """The result for each topic: the fields of its verdict, or the error."""
    times_named = Counter(topic.name for topic in topics)

    def named(topic: Any) -> Answer:
        return {"name": topic.name, "error_message": None}

    def once(topic: Any) -> Answer:
        if times_named[topic.name] > 1:
            raise KafkaError(Error.INVALID_REQUEST, "Duplicate topic name.")
        return verdict(topic)

    by_name = {topic.name: topic for topic in topics}
    return results_of(by_name.values(), named, once, say_why=True)


def by_name_refused(request: Call, error: KafkaError) -> list[Answer]:
    """The error for each topic that a request names."""
    refused = error_fields(error)
    return [{"name": topic.name} | refused for topic in request.body.topics]

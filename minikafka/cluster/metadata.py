"""The metadata image: what the cluster consists of, as the metadata log says (KIP-500,
KIP-631).

Records of `__cluster_metadata-0` go in, one at a time and in order; brokers, topics,
partitions and configs come out. Every node that has replayed the log up to the same
offset holds an equal image. Nothing else may change an image, so a restart is a replay.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.internal_records import decode_record, encode_record
from minikafka.wire.records import NewRecord, Record

# the quorum's own: for clients it is not there, and never made
METADATA_TOPIC = "__cluster_metadata"
OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
# Listed like others, and read like others; clients don't write to them or delete their
# records, and asking for one makes it as its coordinator wants it, or not at all
# (org.apache.kafka.common.internals.Topic).
INTERNAL_TOPICS = (OFFSETS_TOPIC, TRANSACTIONS_TOPIC, "__share_group_state")
BROKER_RESOURCE, TOPIC_RESOURCE, GROUP_RESOURCE = 4, 2, 32  # ConfigResource.Type
MOST_IN_FORCE = 10_000  # values that are kept
NO_LEADER = -1
UNCHANGED_LEADER = -2  # PartitionChangeRecord: the leader field was left out

# Of a partition, by the names of the record's fields.
LISTS = (
    "replicas",
    "isr",
    "eligible_leader_replicas",
    "last_known_elr",
    "adding_replicas",
    "removing_replicas",
)

Endpoint = tuple[str, int]


class MetadataRecord(NamedTuple):
    """One record of the metadata log before it is encoded: the schema's name, version
    and fields.
    """

    name: str
    version: int
    fields: dict[str, Any]

    def encoded(self, now_ms: int) -> NewRecord:
        return now_ms, None, encode_record(*self), []

    @staticmethod
    def decoded(record: Record) -> "MetadataRecord":
        assert record.value is not None, "a metadata record has a value"
        name, version, message = decode_record(record.value)
        return MetadataRecord(name, version, message.to_dict())


def feature_records(levels: Mapping[str, int]) -> list[MetadataRecord]:
    """Set features to levels (KIP-584)."""
    return [
        MetadataRecord(
            "FeatureLevelRecord", 0, {"name": name, "feature_level": levels[name]}
        )
        for name in levels
    ]


def config_records(
    resource_type: int, name: str, configs: Mapping[str, str | None]
) -> list[MetadataRecord]:
    """Set configs of a resource, or take them back (None)."""
    resource = {"resource_type": resource_type, "resource_name": name}
    return [
        MetadataRecord(
            "ConfigRecord", 0, resource | {"name": key, "value": configs[key]}
        )
        for key in configs
    ]


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    """A broker that registered. broker_epoch: the offset of its RegisterBrokerRecord. A
    fenced broker leads nothing.
    """

    broker_id: int
    broker_epoch: int
    endpoints: dict[str, Endpoint]
    fenced: bool
    rack: str | None = None
    incarnation_id: bytes = bytes(16)  # of the process: another one is another run
    in_controlled_shutdown: bool = False
    fields: dict[str, Any] = field(default_factory=dict, compare=False)  # of its record

    @property
    def may_lead(self) -> bool:
        """Whether it is up, and not about to go."""
        return not self.fenced and not self.in_controlled_shutdown


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition's place in the cluster, by the names of the record's fields.
    leader: a broker id or NO_LEADER. Epochs grow by one with each change.
    eligible_leader_replicas: have all that counts, though not in sync (KIP-966).
    last_known_elr: who led last, while nobody leads. adding_replicas,
    removing_replicas: of a reassignment (KIP-455).
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    eligible_leader_replicas: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()

    def record(self, topic_id: bytes, number: int) -> MetadataRecord:
        """The partition as it is."""
        epochs = {
            "leader": self.leader,
            "leader_epoch": self.leader_epoch,
            "partition_epoch": self.partition_epoch,
        }
        lists = {name: list(getattr(self, name)) for name in LISTS}
        return MetadataRecord(
            "PartitionRecord",
            2,
            {"partition_id": number, "topic_id": topic_id, **lists, **epochs},
        )

    @property
    def is_reassigning(self) -> bool:
        """Whether replicas are on their way."""
        return bool(self.adding_replicas or self.removing_replicas)


@dataclass(frozen=True, slots=True)
class Topic:
    """topic_id: 16 bytes (KIP-516). partitions: keyed by partition number, dense from
    0.
    """

    name: str
    topic_id: bytes
    partitions: dict[int, Partition] = field(default_factory=dict)


class Image:
    """The cluster as of one offset of the metadata log. `apply` is the only way to
    change it.
    """

    def __init__(self) -> None:
        self.brokers: dict[int, BrokerRegistration] = {}
        self.topics: dict[str, Topic] = {}
        self.topic_names: dict[bytes, str] = {}
        self.deleted: set[bytes] = set()  # ids of topics that once were
        # of topics: names that differ in '.' and '_' only count as one
        self.metric_names: dict[str, str] = {}
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        self.features: dict[str, int] = {}
        self.next_producer_id = 0
        # of topics: kept by coordinators until the topics change
        self.matches: dict[str, tuple[str, ...]] = {}
        # what follows from a resource's own configs and the brokers'
        self.in_force: dict[Hashable, Any] = {}

    @staticmethod
    def of(records: Iterable[MetadataRecord], offset: int = 0) -> "Image":
        """What a snapshot's records say. Errors: LookupError, AssertionError if they
        don't fit together.
        """
        image = Image()
        for record in records:
            image.apply(offset, record)
        return image

    def apply(self, offset: int, record: MetadataRecord) -> None:
        """Take in one committed record. offset: where it stands in the metadata log."""
        apply = APPLY.get(record.name)
        if apply is not None:
            apply(self, offset, record.fields)

    def records(self) -> list[MetadataRecord]:
        """The image as records: applied to an empty one they make an equal one."""
        found = feature_records(self.features)
        for broker in self.brokers.values():
            state = {
                "fenced": broker.fenced,
                "in_controlled_shutdown": broker.in_controlled_shutdown,
            }
            found.append(
                MetadataRecord("RegisterBrokerRecord", 3, broker.fields | state)
            )
        for topic in self.topics.values():
            found.append(
                MetadataRecord(
                    "TopicRecord", 0, {"name": topic.name, "topic_id": topic.topic_id}
                )
            )
            found += [
                partition.record(topic.topic_id, number)
                for number, partition in topic.partitions.items()
            ]
        for (kind, resource), configs in self.configs.items():
            found += config_records(kind, resource, configs)
        ids = {
            "broker_id": -1,
            "broker_epoch": -1,
            "next_producer_id": self.next_producer_id,
        }
        return [*found, MetadataRecord("ProducerIdsRecord", 0, ids)]

    def gone(self, later: "Image") -> list[MetadataRecord]:
        """What a later image no longer has, as records."""
        topics = (id for id in self.topic_names if id not in later.topic_names)
        found = [
            MetadataRecord("RemoveTopicRecord", 0, {"topic_id": topic_id})
            for topic_id in topics
        ]
        for node in self.brokers.keys() - later.brokers.keys():
            fields = {
                "broker_id": node,
                "broker_epoch": self.brokers[node].broker_epoch,
            }
            found.append(MetadataRecord("UnregisterBrokerRecord", 0, fields))
        for (kind, resource), configs in self.configs.items():
            unset = configs.keys() - later.config(kind, resource).keys()
            found += config_records(kind, resource, dict.fromkeys(sorted(unset)))
        return found

    def topic(self, name: str) -> Topic:
        """The topic, or UNKNOWN_TOPIC_OR_PARTITION."""
        if name not in self.topics:
            raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION)
        return self.topics[name]

    def topic_by_id(self, topic_id: bytes) -> Topic:
        """The topic, or UNKNOWN_TOPIC_ID."""
        if topic_id not in self.topic_names:
            raise KafkaError(Error.UNKNOWN_TOPIC_ID)
        return self.topics[self.topic_names[topic_id]]

    def all_partitions(self) -> Iterator[tuple[str, int, Partition]]:
        """(topic, partition number, partition), topics in the order of creation."""
        for topic in self.topics.values():
            for number, partition in topic.partitions.items():
                yield topic.name, number, partition

    def config(self, resource_type: int, name: str) -> dict[str, str]:
        """The configs set on this very resource, without any default."""
        return self.configs.get((resource_type, name), {})

    def live_brokers(self) -> list[BrokerRegistration]:
        """Brokers that are not fenced, by id."""
        return [
            self.brokers[broker_id]
            for broker_id in sorted(self.brokers)
            if not self.brokers[broker_id].fenced
        ]

    def may_lead(self) -> set[int]:
        """Ids of the brokers that are up, and not about to go."""
        return {broker.broker_id for broker in self.brokers.values() if broker.may_lead}


def metric_name(topic: str) -> str:
    """What Kafka calls a topic in its metrics."""
    return topic.replace(".", "_")


def _register_broker(image: Image, offset: int, fields: dict[str, Any]) -> None:
    image.brokers[fields["broker_id"]] = BrokerRegistration(
        broker_id=fields["broker_id"],
        broker_epoch=fields["broker_epoch"],
        endpoints={
            each["name"]: (each["host"], each["port"]) for each in fields["end_points"]
        },
        fenced=fields["fenced"],
        rack=fields.get("rack"),
        incarnation_id=fields["incarnation_id"],
        in_controlled_shutdown=fields.get("in_controlled_shutdown", False),
        fields=fields,
    )


def _change_broker_registration(
    image: Image, offset: int, fields: dict[str, Any]
) -> None:
    broker = image.brokers[fields["broker_id"]]
    assert broker.broker_epoch == fields["broker_epoch"], (
        "a registration change must name the broker's current epoch"
    )
    if fields.get("fenced"):
        broker = replace(broker, fenced=fields["fenced"] == 1)
    if fields.get("in_controlled_shutdown"):
        broker = replace(broker, in_controlled_shutdown=True)
    image.brokers[broker.broker_id] = broker


def _topic(image: Image, offset: int, fields: dict[str, Any]) -> None:
    image.matches.clear()
    image.topics[fields["name"]] = Topic(fields["name"], fields["topic_id"])
    image.topic_names[fields["topic_id"]] = fields["name"]
    image.metric_names[metric_name(fields["name"])] = fields["name"]


def _lists(fields: dict[str, Any]) -> dict[str, Any]:
    """What a record says of lists of replicas; what it leaves out stays."""
    return {name: tuple(fields[name]) for name in LISTS if fields.get(name) is not None}


def _partition(image: Image, offset: int, fields: dict[str, Any]) -> None:
    epochs = {
        name: fields[name] for name in ("leader", "leader_epoch", "partition_epoch")
    }
    image.topic_by_id(fields["topic_id"]).partitions[fields["partition_id"]] = (
        Partition(**_lists(fields), **epochs)
    )


def _change_partition(image: Image, offset: int, fields: dict[str, Any]) -> None:
    topic = image.topic_by_id(fields["topic_id"])
    partition = topic.partitions[fields["partition_id"]]
    leader = fields.get("leader", UNCHANGED_LEADER)
    topic.partitions[fields["partition_id"]] = replace(
        partition,
        **_lists(fields),
        leader=partition.leader if leader == UNCHANGED_LEADER else leader,
        leader_epoch=partition.leader_epoch + (leader != UNCHANGED_LEADER),
        partition_epoch=partition.partition_epoch + 1,
    )


def _remove_topic(image: Image, offset: int, fields: dict[str, Any]) -> None:
    name = image.topic_names.pop(fields["topic_id"])
    image.deleted.add(fields["topic_id"])
    del image.topics[name]
    image.matches.clear()
    image.metric_names.pop(metric_name(name), None)
    image.configs.pop((TOPIC_RESOURCE, name), None)


def _config(image: Image, offset: int, fields: dict[str, Any]) -> None:
    if (
        fields["resource_type"] == BROKER_RESOURCE
        or len(image.in_force) > MOST_IN_FORCE
    ):
        image.in_force.clear()
    resource = (fields["resource_type"], fields["resource_name"])
    configs = image.configs.setdefault(resource, {})
    if fields["value"] is None:
        configs.pop(fields["name"], None)
    else:
        configs[fields["name"]] = fields["value"]
    if not configs:
        del image.configs[resource]


def _producer_ids(image: Image, offset: int, fields: dict[str, Any]) -> None:
    image.next_producer_id = fields["next_producer_id"]


# A record type that is missing here changes nothing that this project uses (NoOpRecord,
# for one).
APPLY: dict[str, Callable[[Image, int, dict[str, Any]], object]] = {
    "RegisterBrokerRecord": _register_broker,
    "BrokerRegistrationChangeRecord": _change_broker_registration,
    "UnregisterBrokerRecord": lambda image, _, fields: image.brokers.pop(
        fields["broker_id"], None
    ),
    "TopicRecord": _topic,
    "PartitionRecord": _partition,
    "PartitionChangeRecord": _change_partition,
    "RemoveTopicRecord": _remove_topic,
    "ConfigRecord": _config,
    "FeatureLevelRecord": lambda image, _, fields: image.features.update(
        {fields["name"]: fields["feature_level"]}
    ),
    "ProducerIdsRecord": _producer_ids,
}

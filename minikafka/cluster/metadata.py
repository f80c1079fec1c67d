"""The metadata image: what the cluster consists of, according to the metadata log
(KIP-500, KIP-631).

Records of `__cluster_metadata-0` go in, one at a time and in order; brokers, topics,
partitions and configs come out. Every node that has replayed the log up to the same
offset has an equal image. Nothing else may change an image, so a restart is a replay.

A record changes one thing, and `Image.apply` returns that `Change`: the state before it
and the state after it. Everything a node does because the cluster changed is a response
to such a change.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from minikafka.cluster.acls import Acls
from minikafka.cluster.users import Users
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.internal_records import decode_record, encode_record
from minikafka.wire.records import NewRecord, Record

# the quorum's own topic: clients can neither see nor create it
METADATA_TOPIC = "__cluster_metadata"
OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
SHARE_STATE_TOPIC = "__share_group_state"
# They are listed and read like other topics, but clients can't write to them or delete
# their records. A client that asks for one gets it as its coordinator wants it, or not
# at all (org.apache.kafka.common.internals.Topic).
INTERNAL_TOPICS = (OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_STATE_TOPIC)
# ConfigResource.Type
TOPIC_RESOURCE, BROKER_RESOURCE, BROKER_LOGGER_RESOURCE = 2, 4, 8
CLIENT_METRICS_RESOURCE, GROUP_RESOURCE = 16, 32
NO_LEADER = -1
UNCHANGED_LEADER = -2  # PartitionChangeRecord: the leader field was left out

# A partition's lists of brokers, by the names of the record's fields.
LISTS = (
    "replicas",
    "isr",
    "eligible_leader_replicas",
    "last_known_elr",
    "adding_replicas",
    "removing_replicas",
)

Endpoint = tuple[str, int]
TopicPartition = tuple[str, int]


class MetadataRecord(NamedTuple):
    """A record of the metadata log before it is encoded: the schema's name, version and
    fields.
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
    """The records that set features to levels (KIP-584)."""
    return [
        MetadataRecord(
            "FeatureLevelRecord", 0, {"name": name, "feature_level": levels[name]}
        )
        for name in levels
    ]


def config_records(
    resource_type: int, name: str, configs: Mapping[str, str | None]
) -> list[MetadataRecord]:
    """The records that set configs of a resource, or remove them (None)."""
    resource = {"resource_type": resource_type, "resource_name": name}
    return [
        MetadataRecord(
            "ConfigRecord", 0, resource | {"name": key, "value": configs[key]}
        )
        for key in configs
    ]


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    """A registered broker. broker_epoch: the offset of its RegisterBrokerRecord. A
    fenced broker leads nothing.
    """

    broker_id: int
    broker_epoch: int
    endpoints: dict[str, Endpoint]
    fenced: bool
    rack: str | None = None
    incarnation_id: bytes = bytes(16)  # of the process: a restart has another one
    in_controlled_shutdown: bool = False
    # the fields of its record
    fields: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def may_lead(self) -> bool:
        """Whether it is up and not shutting down."""
        return not self.fenced and not self.in_controlled_shutdown


@dataclass(frozen=True, slots=True)
class Partition:
    """The state of one partition, by the names of the record's fields. leader: a broker
    id or NO_LEADER. Epochs grow by one with each change. eligible_leader_replicas: they
    have all committed records although they aren't in sync (KIP-966). last_known_elr:
    the last leader, while there is none. adding_replicas, removing_replicas: those of a
    reassignment (KIP-455).
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
        """The partition's state as a PartitionRecord."""
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
        """Whether a reassignment is in progress."""
        return bool(self.adding_replicas or self.removing_replicas)


@dataclass(frozen=True, slots=True)
class Topic:
    """topic_id: 16 bytes (KIP-516). partitions: keyed by partition number, dense from
    0.
    """

    name: str
    topic_id: bytes
    partitions: dict[int, Partition] = field(default_factory=dict)


# What a record of the metadata log has changed. before: None if it didn't exist; after:
# None if it doesn't exist any more.


class BrokerChange(NamedTuple):
    """A broker registered, was fenced or unfenced, is shutting down, or was
    unregistered.
    """

    broker_id: int
    before: BrokerRegistration | None
    after: BrokerRegistration | None

    @property
    def is_registration(self) -> bool:
        """Whether this is a registration by another run of the broker."""
        if self.after is None:
            return False
        return self.before is None or self.before.broker_epoch < self.after.broker_epoch


class TopicChange(NamedTuple):
    """A topic was created, still without partitions, or was deleted with all its
    partitions and configs.
    """

    name: str
    topic_id: bytes
    before: Topic | None
    after: Topic | None


class PartitionChange(NamedTuple):
    """A partition was created, or has another leader, other replicas or another ISR."""

    topic: str
    topic_id: bytes
    number: int
    before: Partition | None
    after: Partition


class ConfigChange(NamedTuple):
    """A config of a topic, a broker or a group was set or removed."""

    resource_type: int
    resource_name: str
    name: str
    before: str | None
    after: str | None


class FeatureChange(NamedTuple):
    """A feature was set to another level (KIP-584)."""

    name: str
    before: int | None
    after: int


Change = BrokerChange | TopicChange | PartitionChange | ConfigChange | FeatureChange


class Image:
    """The cluster as of one offset of the metadata log. Only `apply` may change it."""

    def __init__(self) -> None:
        self.brokers: dict[int, BrokerRegistration] = {}
        self.topics: dict[str, Topic] = {}
        self.topic_names: dict[bytes, str] = {}
        self.deleted: set[bytes] = set()  # ids of topics that were deleted
        # of topics: names that differ only in '.' and '_' count as the same
        self.metric_names: dict[str, str] = {}
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        self.features: dict[str, int] = {}
        self.next_producer_id = 0
        # replaced whenever the configs of one broker, or of all, have changed
        self.brokers_configured = object()
        self.users = Users()
        self.acls = Acls()

    @staticmethod
    def of(records: Iterable[MetadataRecord]) -> "Image":
        """The image that a snapshot's records describe. Errors: LookupError or
        AssertionError if they don't fit together.
        """
        image = Image()
        for record in records:
            image.apply(record)
        return image

    def apply(self, record: MetadataRecord) -> Change | None:
        """Apply one committed record. Returns what it changed; None if no node acts on
        that.
        """
        apply = APPLY.get(record.name)
        return None if apply is None else apply(self, record.fields)

    @cached_property
    def all_topic_names(self) -> frozenset[str]:
        """All topics' names; computed again after a topic was created or deleted."""
        return frozenset(self.topics)

    def forget_topic_names(self) -> None:
        """Drop the cached names, because a topic was created or deleted."""
        vars(self).pop("all_topic_names", None)

    def records(self) -> list[MetadataRecord]:
        """The records that, applied to an empty image, make one equal to this."""
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
        for name, fields in [*self.users.records(), *self.acls.records()]:
            found.append(MetadataRecord(name, 0, fields))
        ids = {
            "broker_id": -1,
            "broker_epoch": -1,
            "next_producer_id": self.next_producer_id,
        }
        return [*found, MetadataRecord("ProducerIdsRecord", 0, ids)]

    def gone(self, later: "Image") -> list[MetadataRecord]:
        """The records that remove everything that a later image no longer has."""
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
        gone = [*self.users.gone(later.users), *self.acls.gone(later.acls)]
        return found + [MetadataRecord(name, 0, fields) for name, fields in gone]

    def topic(self, name: str) -> Topic:
        """The topic by name. Errors: UNKNOWN_TOPIC_OR_PARTITION."""
        if name not in self.topics:
            raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION)
        return self.topics[name]

    def topic_by_id(self, topic_id: bytes) -> Topic:
        """The topic by id. Errors: UNKNOWN_TOPIC_ID."""
        if topic_id not in self.topic_names:
            raise KafkaError(Error.UNKNOWN_TOPIC_ID)
        return self.topics[self.topic_names[topic_id]]

    def all_partitions(self) -> Iterator[tuple[str, int, Partition]]:
        """(topic, partition number, partition), topics in the order of creation."""
        for topic in self.topics.values():
            for number, partition in topic.partitions.items():
                yield topic.name, number, partition

    def partition(self, key: tuple[str, int]) -> Partition | None:
        """The partition, or None. key: the topic's name and the partition's number."""
        name, number = key
        topic = self.topics.get(name)
        return None if topic is None else topic.partitions.get(number)

    def config(self, resource_type: int, name: str) -> dict[str, str]:
        """The configs set on exactly this resource, without any defaults."""
        return self.configs.get((resource_type, name), {})

    def live_brokers(self) -> list[BrokerRegistration]:
        """Brokers that are not fenced, by id."""
        return [
            self.brokers[broker_id]
            for broker_id in sorted(self.brokers)
            if not self.brokers[broker_id].fenced
        ]

    def may_lead(self) -> set[int]:
        """The ids of the brokers that are up and not shutting down."""
        return {broker.broker_id for broker in self.brokers.values() if broker.may_lead}


def metric_name(topic: str) -> str:
    """A topic's name as it appears in Kafka's metrics."""
    return topic.replace(".", "_")


def _register_broker(image: Image, fields: dict[str, Any]) -> Change:
    broker_id = fields["broker_id"]
    endpoints = {
        each["name"]: (each["host"], each["port"]) for each in fields["end_points"]
    }
    registered = BrokerRegistration(
        broker_id=broker_id,
        broker_epoch=fields["broker_epoch"],
        endpoints=endpoints,
        fenced=fields["fenced"],
        rack=fields.get("rack"),
        incarnation_id=fields["incarnation_id"],
        in_controlled_shutdown=fields.get("in_controlled_shutdown", False),
        fields=fields,
    )
    before = image.brokers.get(broker_id)
    assert before is None or before.broker_epoch <= registered.broker_epoch, (
        "a broker's epoch never falls"
    )
    image.brokers[broker_id] = registered
    return BrokerChange(broker_id, before, after=registered)


def _change_broker_registration(image: Image, fields: dict[str, Any]) -> Change:
    before = image.brokers[fields["broker_id"]]
    assert before.broker_epoch == fields["broker_epoch"], (
        "a registration change must name the broker's current epoch"
    )
    after = before
    if fields.get("fenced"):
        after = replace(after, fenced=fields["fenced"] == 1)
    if fields.get("in_controlled_shutdown"):
        after = replace(after, in_controlled_shutdown=True)
    image.brokers[after.broker_id] = after
    return BrokerChange(after.broker_id, before, after)


def _unregister_broker(image: Image, fields: dict[str, Any]) -> Change:
    broker_id = fields["broker_id"]
    before = image.brokers.pop(broker_id, None)
    return BrokerChange(broker_id, before, after=None)


def _topic(image: Image, fields: dict[str, Any]) -> Change:
    name, topic_id = fields["name"], fields["topic_id"]
    before, after = image.topics.get(name), Topic(name, topic_id)
    assert before is None or before.topic_id == topic_id, (
        "a topic's id stays what it is: one with another id is another topic"
    )
    assert topic_id not in image.deleted, "a topic that has gone never comes back"
    image.topics[name] = after
    image.topic_names[topic_id] = name
    image.metric_names[metric_name(name)] = name
    image.forget_topic_names()
    return TopicChange(name, topic_id, before, after)


def _remove_topic(image: Image, fields: dict[str, Any]) -> Change:
    topic_id = fields["topic_id"]
    name = image.topic_names.pop(topic_id)
    image.deleted.add(topic_id)
    before = image.topics.pop(name)
    image.metric_names.pop(metric_name(name), None)
    image.configs.pop((TOPIC_RESOURCE, name), None)
    image.forget_topic_names()
    return TopicChange(name, topic_id, before, after=None)


def _lists(fields: dict[str, Any]) -> dict[str, Any]:
    """The lists of brokers that a record sets; lists that it omits stay as they are."""
    return {name: tuple(fields[name]) for name in LISTS if fields.get(name) is not None}


def _partition(image: Image, fields: dict[str, Any]) -> Change:
    after = Partition(
        **_lists(fields),
        leader=fields["leader"],
        leader_epoch=fields["leader_epoch"],
        partition_epoch=fields["partition_epoch"],
    )
    return _set_partition(image, fields, after)


def _change_partition(image: Image, fields: dict[str, Any]) -> Change:
    topic = image.topic_by_id(fields["topic_id"])
    before = topic.partitions[fields["partition_id"]]
    leader = fields.get("leader", UNCHANGED_LEADER)
    leader_is_named = leader != UNCHANGED_LEADER
    after = replace(
        before,
        **_lists(fields),
        leader=leader if leader_is_named else before.leader,
        leader_epoch=before.leader_epoch + leader_is_named,
        partition_epoch=before.partition_epoch + 1,
    )
    return _set_partition(image, fields, after)


def _set_partition(image: Image, fields: dict[str, Any], after: Partition) -> Change:
    topic, number = image.topic_by_id(fields["topic_id"]), fields["partition_id"]
    before = topic.partitions.get(number)
    check_partition(before, after)
    topic.partitions[number] = after
    return PartitionChange(topic.name, topic.topic_id, number, before, after)


def check_partition(before: Partition | None, after: Partition) -> None:
    """Assert what must hold for every partition, whoever decided on the change."""
    assert len(set(after.replicas)) == len(after.replicas), (
        "a broker has one replica of a partition"
    )
    assert after.leader == NO_LEADER or after.leader in after.replicas, (
        "a leader is one of the replicas"
    )
    assert set(after.isr) <= set(after.replicas), "the ISR is within the replicas"
    assert before is None or before.leader_epoch <= after.leader_epoch, (
        "a leader epoch never falls"
    )
    assert before is None or before.partition_epoch <= after.partition_epoch, (
        "a partition epoch never falls"
    )


def _config(image: Image, fields: dict[str, Any]) -> Change:
    kind, resource_name = fields["resource_type"], fields["resource_name"]
    if kind == BROKER_RESOURCE:
        image.brokers_configured = object()
    configs = image.configs.setdefault((kind, resource_name), {})
    name, after = fields["name"], fields["value"]
    before = configs.pop(name, None) if after is None else configs.get(name)
    if after is not None:
        configs[name] = after
    if not configs:
        del image.configs[kind, resource_name]
    return ConfigChange(kind, resource_name, name, before, after)


def _feature(image: Image, fields: dict[str, Any]) -> Change:
    name, level = fields["name"], fields["feature_level"]
    before = image.features.get(name)
    assert level >= 0, "a level is 0, where the feature is off, or more"
    image.features[name] = level
    return FeatureChange(name, before, after=level)


def _producer_ids(image: Image, fields: dict[str, Any]) -> None:
    next_producer_id = fields["next_producer_id"]
    assert next_producer_id >= image.next_producer_id, (
        "a producer id is given to one producer only"
    )
    image.next_producer_id = next_producer_id


def _quota(image: Image, fields: dict[str, Any]) -> None:
    image.users.set_quota(fields)


def _credential(image: Image, fields: dict[str, Any]) -> None:
    image.users.set_credential(fields)


def _remove_credential(image: Image, fields: dict[str, Any]) -> None:
    image.users.remove_credential(fields)


def _acl(image: Image, fields: dict[str, Any]) -> None:
    image.acls.add(fields)


def _remove_acl(image: Image, fields: dict[str, Any]) -> None:
    image.acls.remove(fields)


# A record type that is missing here changes nothing that this project uses (for example
# NoOpRecord).
APPLY: dict[str, Callable[[Image, dict[str, Any]], Change | None]] = {
    "RegisterBrokerRecord": _register_broker,
    "BrokerRegistrationChangeRecord": _change_broker_registration,
    "UnregisterBrokerRecord": _unregister_broker,
    "TopicRecord": _topic,
    "PartitionRecord": _partition,
    "PartitionChangeRecord": _change_partition,
    "RemoveTopicRecord": _remove_topic,
    "ConfigRecord": _config,
    "FeatureLevelRecord": _feature,
    "ProducerIdsRecord": _producer_ids,
    "ClientQuotaRecord": _quota,
    "UserScramCredentialRecord": _credential,
    "RemoveUserScramCredentialRecord": _remove_credential,
    "AccessControlEntryRecord": _acl,
    "RemoveAccessControlEntryRecord": _remove_acl,
}

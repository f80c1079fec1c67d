"""The controller decides: it reads the image and a wish, and returns the records that
would fulfil it.

Nothing here writes. Each function takes the image as it is and returns metadata
records, or raises the KafkaError that the client gets; the caller appends the records
to the metadata log, and the image follows when they are committed. Placement follows
Apache Kafka's striped placer in spirit: leaders go round the live brokers from a random
first one, so that load spreads.
"""

import itertools
import re
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from typing import Any

from minikafka.cluster import leadership, metadata
from minikafka.cluster.metadata import (
    NO_LEADER,
    Endpoint,
    Image,
    MetadataRecord,
    Partition,
    Topic,
)
from minikafka.wire.errors import Error, KafkaError

LEGAL_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]+")
TOPIC_NAME_MAX_LENGTH = 249
MAX_PARTITIONS_PER_REQUEST = 10_000  # QuorumController.MAX_RECORDS_PER_USER_OP
# partitions that get another leader: more would hold up the leader for too long
CHANGES_AT_ONCE = 1000
# our own limit: to create more at once would hold up everybody else
MAX_TOPICS_PER_REQUEST = 1000
PRODUCER_ID_BLOCK_SIZE = 1000
LOST_DIRECTORY = bytes(15) + b"\1"  # DirectoryId.LOST
UNCLEAN_ELECTION = "unclean.leader.election.enable"

LEGAL_LISTENER_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
MAX_HOST_LENGTH = 255
LEGAL_HOST = re.compile(r"[\w.:%\[\]-]{1,255}")  # a name, or an address with its zone
SECURITY_PROTOCOLS = range(4)
MAX_REGISTERED = 100  # our own limit, of each kind
# ids that are none: DirectoryId.UNASSIGNED, LOST, MIGRATING and their like
RESERVED_DIRECTORIES = 100

METADATA_VERSION = 30  # 4.3-IV0
RECOVERED = 0  # LeaderRecoveryState: here no leader is in any other
OLDEST_METADATA_VERSION = 7  # 3.3-IV3, the first that KRaft clusters of 4.x may run

Placement = Sequence[Sequence[int]]
# (topic, config) -> what holds for it, the brokers' defaults included
TopicValue = Callable[[str, str], Any]


def feature_levels() -> list[MetadataRecord]:
    """What a new cluster starts with (KIP-584, KIP-778)."""
    levels = {
        "metadata.version": METADATA_VERSION,
        "group.version": 1,
        "eligible.leader.replicas.version": 1,
    }
    return metadata.feature_records(levels)


def registration(
    broker_id: int,
    incarnation_id: bytes,
    log_dirs: Sequence[bytes],
    endpoints: Mapping[str, Endpoint],
    rack: str | None = None,
) -> dict[str, Any]:
    """What a broker says of itself when it registers: fields that the request and the
    record have in common.
    """
    features: dict[str, Any] = {"name": "metadata.version"}
    features |= {
        "min_supported_version": OLDEST_METADATA_VERSION,
        "max_supported_version": METADATA_VERSION,
    }
    listeners = [
        {"name": name, "host": host, "port": port, "security_protocol": 0}
        for name, (host, port) in endpoints.items()
    ]
    common = {
        "broker_id": broker_id,
        "incarnation_id": incarnation_id,
        "rack": rack,
        "log_dirs": list(log_dirs),
    }
    return {**common, "features": [features], "listeners": listeners}


def check_registration(
    image: Image,
    asked: Mapping[str, Any],
    peers: Container[int] | None,
    needed: Collection[str],
) -> None:
    """Whether a broker can be as it says: a registration is kept, told to clients, and
    gets partitions. peers: the ids that there are in this cluster; None if others may
    come. needed: the listeners that every broker has. Apache Kafka checks log
    directories and features. Errors: INVALID_REGISTRATION, UNSUPPORTED_VERSION.
    """
    node, listeners = asked["broker_id"], asked["listeners"]
    if node < 0 or (peers is not None and node not in peers):
        raise _no_registration(f"Broker ID {node} is none of this cluster")
    if (
        max(len(asked[name]) for name in ("listeners", "features", "log_dirs"))
        > MAX_REGISTERED
    ):
        raise _no_registration(
            f"More than {MAX_REGISTERED} listeners, features or directories in request"
        )
    names = [listener["name"] for listener in listeners]
    if len(set(names)) != len(names) or not set(needed) <= set(names):
        raise _no_registration(
            f"Not the listeners that brokers have here: {', '.join(sorted(needed))}"
        )
    if not all(_is_reachable(listener) for listener in listeners):
        raise _no_registration("A listener that nobody can reach in request")
    _check_log_dirs(image, node, asked["log_dirs"])
    texts = [asked["rack"] or "", *(feature["name"] for feature in asked["features"])]
    if max(map(len, texts)) > MAX_HOST_LENGTH:
        raise _no_registration(
            f"A name of more than {MAX_HOST_LENGTH} characters in request"
        )
    for feature in asked["features"]:
        _check_feature(image, feature)


def _is_reachable(listener: Mapping[str, Any]) -> bool:
    names = (
        LEGAL_LISTENER_NAME.fullmatch(listener["name"]),
        LEGAL_HOST.fullmatch(listener["host"]),
    )
    return (
        all(names)
        and listener["port"] > 0
        and listener["security_protocol"] in SECURITY_PROTOCOLS
    )


def _check_log_dirs(image: Image, node: int, directories: Sequence[bytes]) -> None:
    """KIP-858: each directory has an id of its own in the cluster."""
    if not directories:
        raise _no_registration("No directories specified in request")
    if any(int.from_bytes(each, "big") < RESERVED_DIRECTORIES for each in directories):
        raise _no_registration("Reserved directory ID in request")
    if len(set(directories)) != len(directories):
        raise _no_registration("Duplicate directory ID in request")
    for broker in image.brokers.values():
        if broker.broker_id != node and not set(directories).isdisjoint(
            broker.fields.get("log_dirs", ())
        ):
            raise _no_registration(
                f"Broker {broker.broker_id} is already registered with a directory in"
                " request"
            )


def _check_feature(image: Image, feature: Mapping[str, Any]) -> None:
    """KIP-584: who can't do what the cluster does stays out."""
    name, level = feature["name"], image.features.get(feature["name"])
    lowest, highest = feature["min_supported_version"], feature["max_supported_version"]
    if not 0 <= lowest <= highest:
        raise _no_registration(f"Feature {name} from {lowest} to {highest} in request")
    if level is not None and not lowest <= level <= highest:
        why = (
            "Unable to register because the broker does not support finalized version"
            f" {level} of {name}."
        )
        raise KafkaError(Error.UNSUPPORTED_VERSION, why)


def _no_registration(why: str) -> KafkaError:
    return KafkaError(Error.INVALID_REGISTRATION, why)


def register_broker(
    asked: Mapping[str, Any], broker_epoch: int
) -> list[MetadataRecord]:
    """A broker comes, fenced at first. asked: the fields of `registration`.
    broker_epoch: the offset that the record will get.
    """
    fields = said_of_itself(asked) | {"broker_epoch": broker_epoch, "fenced": True}
    return [MetadataRecord("RegisterBrokerRecord", 3, fields)]


def said_of_itself(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What a run of a broker says of itself, by the names of the record's fields."""
    fields = {
        name: asked[name]
        for name in ("broker_id", "incarnation_id", "features", "rack", "log_dirs")
    }
    return fields | {"end_points": asked["listeners"]}


# -- brokers that come and go, and what that means for partitions


def fence(
    image: Image, broker_ids: Sequence[int], value: TopicValue
) -> list[MetadataRecord]:
    """Brokers are silent for too long, or have shut down: they lead nothing and are in
    sync with nothing. Where that changes more partitions than one decision may, the
    brokers are fenced with the last of several.
    """
    changes = without(image, broker_ids, value, most=CHANGES_AT_ONCE)
    if len(changes) == CHANGES_AT_ONCE:
        return changes
    return [*changes, *(_broker_change(image, each, fenced=1) for each in broker_ids)]


def unregister_broker(
    image: Image, broker_id: int, value: TopicValue
) -> list[MetadataRecord]:
    """A broker is forgotten (KIP-631)."""
    fields = {
        "broker_id": broker_id,
        "broker_epoch": image.brokers[broker_id].broker_epoch,
    }
    return [
        *without(image, [broker_id], value, unclean=True),
        MetadataRecord("UnregisterBrokerRecord", 0, fields),
    ]


def unfence(image: Image, broker_id: int, value: TopicValue) -> list[MetadataRecord]:
    """A broker is ready to serve: it may lead what nobody leads."""
    live = {broker_id, *image.may_lead()}
    leaderless = (
        (name, number, one)
        for name, number, one in image.all_partitions()
        if one.leader == NO_LEADER
    )
    changes = (
        change(image, name, number, value, live=live) for name, number, _ in leaderless
    )
    return [
        _broker_change(image, broker_id, fenced=-1),
        *(record for record in changes if record),
    ]


def begin_shutdown(
    image: Image, broker_id: int, value: TopicValue
) -> list[MetadataRecord]:
    """A broker wants to stop: others take over what it leads, if anybody can. One
    decision changes so many partitions; no records: there is nothing left to hand over.
    """
    changes = without(image, [broker_id], value, most=CHANGES_AT_ONCE)
    if image.brokers[broker_id].in_controlled_shutdown:
        return changes
    return [_broker_change(image, broker_id, in_controlled_shutdown=1), *changes]


def without(
    image: Image,
    broker_ids: Sequence[int],
    value: TopicValue,
    unclean: bool = False,
    most: int | None = None,
) -> list[MetadataRecord]:
    """Brokers leave every ISR, and their partitions get another leader. unclean: they
    came back, and may have lost records: they leave the ELR too. most: of so many
    partitions; None: of all.
    """
    gone = set(broker_ids)
    live, lost = image.may_lead() - gone, gone if unclean else set()
    records: list[MetadataRecord] = []
    for name, number, partition in image.all_partitions():
        if not gone.isdisjoint(partition.isr) or not lost.isdisjoint(
            partition.eligible_leader_replicas
        ):
            isr = [replica for replica in partition.isr if replica not in gone]
            record = change(
                image, name, number, value, live=live, isr=isr, unclean_shutdown=lost
            )
            records += [record] if record else []
            if len(records) == most:
                break
    return records


def change(
    image: Image,
    topic: str,
    number: int,
    value: TopicValue,
    live: set[int] | None = None,
    **wanted: Any,
) -> MetadataRecord | None:
    """leadership.partition_change for a partition of the image. live: who may lead, if
    not as the image has it.
    """
    up = image.may_lead() if live is None else live
    wanted.setdefault(
        "election",
        leadership.UNCLEAN if value(topic, UNCLEAN_ELECTION) else leadership.ANY,
    )
    return leadership.partition_change(
        image.topics[topic].topic_id,
        number,
        image.topics[topic].partitions[number],
        up.__contains__,
        value(topic, "min.insync.replicas"),
        **wanted,
    )


def _broker_change(image: Image, broker_id: int, **fields: int) -> MetadataRecord:
    fields |= {
        "broker_id": broker_id,
        "broker_epoch": image.brokers[broker_id].broker_epoch,
    }
    return MetadataRecord("BrokerRegistrationChangeRecord", 1, fields)


def alter_isr(
    image: Image, broker_id: int, topic_id: bytes, asked: Any, value: TopicValue
) -> MetadataRecord | None:
    """AlterPartition (KIP-497): the leader names another ISR. asked: the request's
    partition. Errors: what the leader believes is older than the image
    (FENCED_LEADER_EPOCH, INVALID_UPDATE_VERSION), or a member may not be in sync
    (INELIGIBLE_REPLICA: fenced, shutting down, or another run of that broker, KIP-841,
    KIP-903).
    """
    topic = image.topic_by_id(topic_id)
    partition = topic.partitions.get(asked.partition_index)
    if partition is None:
        raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION)
    if asked.leader_recovery_state != RECOVERED:
        raise KafkaError(Error.INVALID_REQUEST)
    if asked.leader_epoch != partition.leader_epoch:
        older = asked.leader_epoch < partition.leader_epoch
        raise KafkaError(Error.FENCED_LEADER_EPOCH if older else Error.NOT_CONTROLLER)
    if broker_id != partition.leader:
        raise KafkaError(Error.INVALID_REQUEST)
    if asked.partition_epoch != partition.partition_epoch:
        older = asked.partition_epoch < partition.partition_epoch
        raise KafkaError(
            Error.INVALID_UPDATE_VERSION if older else Error.NOT_CONTROLLER
        )
    isr = {
        member.broker_id: member.broker_epoch for member in asked.new_isr_with_epochs
    }
    if broker_id not in isr or not set(isr) <= set(partition.replicas):
        raise KafkaError(Error.INVALID_REQUEST)
    for member, broker_epoch in isr.items():
        broker = image.brokers.get(member)
        if (
            broker is None
            or not broker.may_lead
            or broker_epoch not in (-1, broker.broker_epoch)
        ):
            raise KafkaError(Error.INELIGIBLE_REPLICA)
    in_order = [replica for replica in partition.replicas if replica in isr]
    return change(image, topic.name, asked.partition_index, value, isr=in_order)


def lose_replica(
    image: Image, broker_id: int, topic_id: bytes, number: int, value: TopicValue
) -> MetadataRecord | None:
    """AssignReplicasToDirs (KIP-858): a broker has lost its replica, or a part of it.
    It leaves the ISR and the ELR, and a new leader epoch begins, so that what the
    leader knew of this replica counts no more. None if no other replica is in sync or
    eligible: rather a part than nothing. Errors: UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER if it has no replica.
    """
    topic = image.topic_by_id(topic_id)
    partition = partition_of(image, topic.name, number)
    if broker_id not in partition.replicas:
        raise KafkaError(Error.NOT_LEADER_OR_FOLLOWER)
    if {*partition.isr, *partition.eligible_leader_replicas} <= {broker_id}:
        return None
    isr = [replica for replica in partition.isr if replica != broker_id]
    live = image.may_lead() - {broker_id}
    lost = change(
        image, topic.name, number, value, live, isr=isr, unclean_shutdown={broker_id}
    )
    if lost is None:
        lost = MetadataRecord(
            "PartitionChangeRecord", 2, {"partition_id": number, "topic_id": topic_id}
        )
    lost.fields.setdefault("leader", partition.leader)
    return lost


# -- what administrators ask of partitions


def elect_leader(
    image: Image, topic: str, number: int, election: str, value: TopicValue
) -> MetadataRecord:
    """ElectLeaders (KIP-183, KIP-460). Errors: ELECTION_NOT_NEEDED,
    PREFERRED_LEADER_NOT_AVAILABLE, ELIGIBLE_LEADERS_NOT_AVAILABLE.
    """
    partition = partition_of(image, topic, number)
    preferred = election == leadership.PREFERRED
    if (
        partition.leader == partition.replicas[0]
        if preferred
        else partition.leader >= 0
    ):
        raise KafkaError(Error.ELECTION_NOT_NEEDED)
    record = change(image, topic, number, value, election=election)
    if record is not None and record.fields.get("leader", NO_LEADER) != NO_LEADER:
        return record
    raise KafkaError(
        Error.PREFERRED_LEADER_NOT_AVAILABLE
        if preferred
        else Error.ELIGIBLE_LEADERS_NOT_AVAILABLE
    )


def rebalanced(image: Image, value: TopicValue) -> list[MetadataRecord]:
    """auto.leader.rebalance.enable: who is first of the replicas, up and in sync leads
    again; and what nobody leads is looked at again, since an unclean election may be
    allowed now.
    """
    live = image.may_lead()
    records = []
    for name, number, one in image.all_partitions():
        if one.leader == NO_LEADER:
            records.append(change(image, name, number, value, live))
        elif one.leader != one.replicas[0]:
            records.append(
                change(image, name, number, value, live, election=leadership.PREFERRED)
            )
    return [record for record in records if record]


def reassign(
    image: Image,
    topic: str,
    number: int,
    target: Sequence[int] | None,
    value: TopicValue,
) -> MetadataRecord | None:
    """AlterPartitionReassignments (KIP-455): move a partition to other replicas; None:
    rather not.
    """
    partition = partition_of(image, topic, number)
    if target is None:
        return change(
            image,
            topic,
            number,
            value,
            None,
            **leadership.cancel_reassignment(partition),
        )
    check_placement(image, {number: target}, number)
    return change(
        image, topic, number, value, None, **leadership.reassign(partition, target)
    )


def partition_of(image: Image, topic: str, number: int) -> Partition:
    """The partition, or UNKNOWN_TOPIC_OR_PARTITION."""
    partition = image.topic(topic).partitions.get(number)
    if partition is None:
        raise KafkaError(
            Error.UNKNOWN_TOPIC_OR_PARTITION,
            f"Unable to find partition {topic}:{number}.",
        )
    return partition


# -- topics


def check_topic_name(name: str) -> None:
    """Kafka's rules for names: INVALID_TOPIC_EXCEPTION."""
    if not name:
        why = "the empty string is not allowed"
    elif name in (".", ".."):
        why = f"'{name}' is not allowed"
    elif len(name) > TOPIC_NAME_MAX_LENGTH:
        why = (
            f"the length of '{name}' is longer than the max allowed length"
            f" {TOPIC_NAME_MAX_LENGTH}"
        )
    elif not LEGAL_TOPIC_NAME.fullmatch(name):
        why = (
            f"'{name}' contains one or more characters other than ASCII alphanumerics,"
            " '.', '_' and '-'"
        )
    else:
        return
    raise KafkaError(Error.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {why}")


def check_new_topic_name(name: str, image: Image) -> None:
    """A legal name, of no topic yet, and no two names that differ only in '.' and '_':
    their metrics would collide.
    """
    check_topic_name(name)
    other = image.metric_names.get(metadata.metric_name(name), name)
    if other != name:
        raise KafkaError(
            Error.INVALID_TOPIC_EXCEPTION,
            f"Topic '{name}' collides with existing topic: {other}",
        )
    if name in image.topics:
        raise KafkaError(Error.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")


def place(
    image: Image, partitions: int, replication_factor: int, first: int
) -> Placement:
    """Replicas for each new partition; the first one leads. Racks take turns, so that
    those of a partition are in as many as there are. first: where the round begins, not
    negative.
    """
    racks: dict[str, list[int]] = {}
    for broker in image.live_brokers():
        racks.setdefault(broker.rack or "", []).append(broker.broker_id)
    turns = itertools.zip_longest(*(racks[rack] for rack in sorted(racks)))
    live = [broker_id for turn in turns for broker_id in turn if broker_id is not None]
    if replication_factor < 1:
        why = (
            "Replication factor must be larger than 0, or -1 to use the default value."
        )
        raise KafkaError(Error.INVALID_REPLICATION_FACTOR, why)
    if partitions < 1:
        raise KafkaError(
            Error.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        )
    if replication_factor > len(live):
        why = (
            f"Unable to replicate the partition {replication_factor} time(s): The"
            " target replication factor of "
        )
        why += (
            f"{replication_factor} cannot be reached because only {len(live)} broker(s)"
            " are registered."
        )
        raise KafkaError(Error.INVALID_REPLICATION_FACTOR, why)
    return [
        [
            live[(first + number + replica) % len(live)]
            for replica in range(replication_factor)
        ]
        for number in range(partitions)
    ]


def check_placement(
    image: Image, assignments: Mapping[int, Sequence[int]], first_partition: int = 0
) -> Placement:
    """A placement chosen by the client: dense partition numbers, known and distinct
    brokers, equally many each.
    """
    numbers = sorted(assignments)
    placement = [assignments[number] for number in numbers]
    if numbers != list(range(first_partition, first_partition + len(numbers))):
        why = "partitions should be a consecutive 0-based integer sequence"
        raise KafkaError(Error.INVALID_REPLICA_ASSIGNMENT, why)
    for brokers in placement:
        unknown = [broker for broker in brokers if broker not in image.brokers]
        if not brokers:
            raise _no_placement("an empty replica list.")
        if len(set(brokers)) != len(brokers):
            raise _no_placement(f"the broker {brokers[0]} more than once.")
        if unknown:
            raise _no_placement(
                f"broker {unknown[0]}, but no such broker is registered."
            )
    if len({len(brokers) for brokers in placement}) > 1:
        raise _no_placement("partitions with different numbers of replicas.")
    return placement


def _no_placement(what: str) -> KafkaError:
    return KafkaError(
        Error.INVALID_REPLICA_ASSIGNMENT,
        f"The manual partition assignment includes {what}",
    )


def create_topic(
    name: str, topic_id: bytes, placement: Placement, configs: Mapping[str, str]
) -> list[MetadataRecord]:
    """A new topic with its partitions and configs."""
    return [
        MetadataRecord("TopicRecord", 0, {"name": name, "topic_id": topic_id}),
        *metadata.config_records(metadata.TOPIC_RESOURCE, name, configs),
        *(
            _new_partition(topic_id, number, replicas)
            for number, replicas in enumerate(placement)
        ),
    ]


def create_partitions(topic: Topic, placement: Placement) -> list[MetadataRecord]:
    """More partitions for a topic. Existing ones stay as they are, records and all."""
    first = len(topic.partitions)
    return [
        _new_partition(topic.topic_id, number, replicas)
        for number, replicas in enumerate(placement, first)
    ]


def delete_topic(topic: Topic) -> list[MetadataRecord]:
    """A topic goes, with its partitions and configs."""
    return [MetadataRecord("RemoveTopicRecord", 0, {"topic_id": topic.topic_id})]


def allocate_producer_ids(
    image: Image, broker_id: int, broker_epoch: int
) -> list[MetadataRecord]:
    """The next block of producer ids for a broker (KIP-730). What is left of a block is
    never given again.
    """
    next_id = image.next_producer_id + PRODUCER_ID_BLOCK_SIZE
    fields = {
        "broker_id": broker_id,
        "broker_epoch": broker_epoch,
        "next_producer_id": next_id,
    }
    return [MetadataRecord("ProducerIdsRecord", 0, fields)]


def _new_partition(
    topic_id: bytes, number: int, replicas: Sequence[int]
) -> MetadataRecord:
    epochs = {"leader": replicas[0], "leader_epoch": 0, "partition_epoch": 0}
    lists = {"replicas": list(replicas), "isr": list(replicas)}
    return MetadataRecord(
        "PartitionRecord",
        0,
        {"partition_id": number, "topic_id": topic_id, **lists, **epochs},
    )

"""The controller decides: it takes the image and a request, and returns the records
that would carry the request out.

Nothing here writes. Each function takes the image as it is and returns metadata
records, or raises the KafkaError that the client gets; the caller appends the records
to the metadata log, and the image follows when they are committed. leadership.py says
who may lead a partition, placer.py where new replicas go, registration.py which brokers
may join.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from minikafka.cluster import leadership, metadata, placer
from minikafka.cluster.metadata import (
    NO_LEADER,
    Image,
    MetadataRecord,
    Partition,
    Topic,
)
from minikafka.cluster.placer import Placement
from minikafka.wire.errors import Error, KafkaError

LEGAL_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]+")
TOPIC_NAME_MAX_LENGTH = 249
MAX_PARTITIONS_PER_REQUEST = 10_000  # QuorumController.MAX_RECORDS_PER_USER_OP
# partitions that get another leader in one decision: with more, the controller would be
# busy for too long
CHANGES_AT_ONCE = 1000
# our own limit: creating more at once would hold up everybody else
MAX_TOPICS_PER_REQUEST = 1000
PRODUCER_ID_BLOCK_SIZE = 1000
LOST_DIRECTORY = bytes(15) + b"\1"  # DirectoryId.LOST
UNCLEAN_ELECTION = "unclean.leader.election.enable"

RECOVERED = 0  # LeaderRecoveryState: here no leader is ever in another state

# (topic, config) -> the value in effect, broker defaults included
TopicValue = Callable[[str, str], Any]


# -- brokers joining and leaving, and what that means for partitions


class Fencing(NamedTuple):
    """One of the decisions that fence some brokers. is_last: with this one they are
    fenced.
    """

    records: list[MetadataRecord]
    is_last: bool


def fence(image: Image, broker_ids: Sequence[int], value: TopicValue) -> Fencing:
    """Fence brokers that were silent for too long or have shut down: they no longer
    lead, and are in no ISR. If that changes more partitions than one decision may, it
    takes several, and the brokers are fenced with the last one.
    """
    records = without(image, broker_ids, value, most=CHANGES_AT_ONCE)
    if len(records) >= CHANGES_AT_ONCE:
        return Fencing(records, is_last=False)
    for broker_id in broker_ids:
        records.append(_broker_change(image, broker_id, fenced=1))
    return Fencing(records, is_last=True)


def unregister_broker(
    image: Image, broker_id: int, value: TopicValue
) -> list[MetadataRecord]:
    """Forget a broker (KIP-631)."""
    records = without(image, [broker_id], value, unclean=True)
    broker_epoch = image.brokers[broker_id].broker_epoch
    fields = {"broker_id": broker_id, "broker_epoch": broker_epoch}
    records.append(MetadataRecord("UnregisterBrokerRecord", 0, fields))
    return records


def unfence(image: Image, broker_id: int, value: TopicValue) -> list[MetadataRecord]:
    """Unfence a broker that is ready to serve: it may lead partitions that have no
    leader.
    """
    live = {broker_id, *image.may_lead()}
    records = [_broker_change(image, broker_id, fenced=-1)]
    for name, number, partition in image.all_partitions():
        if partition.leader == NO_LEADER:
            led = change(image, name, number, value, live=live)
            if led is not None:
                records.append(led)
    return records


def begin_shutdown(
    image: Image, broker_id: int, value: TopicValue
) -> list[MetadataRecord]:
    """Let a broker shut down: other brokers take over the partitions it leads, where
    they can. Each call changes up to CHANGES_AT_ONCE partitions; no records mean that
    nothing is left to hand over.
    """
    changes = without(image, [broker_id], value, most=CHANGES_AT_ONCE)
    if not image.brokers[broker_id].in_controlled_shutdown:
        changes.insert(0, _broker_change(image, broker_id, in_controlled_shutdown=1))
    return changes


def without(
    image: Image,
    broker_ids: Sequence[int],
    value: TopicValue,
    unclean: bool = False,
    most: int | None = None,
) -> list[MetadataRecord]:
    """Take brokers out of every ISR, and give their partitions another leader. unclean:
    the brokers came back and may have lost records, so they leave the ELR too. most:
    stop after this many partitions; None for all.
    """
    gone = set(broker_ids)
    live = image.may_lead() - gone
    lost = gone if unclean else set()
    records: list[MetadataRecord] = []
    for name, number, partition in image.all_partitions():
        leaves_isr = not gone.isdisjoint(partition.isr)
        leaves_elr = not lost.isdisjoint(partition.eligible_leader_replicas)
        if not leaves_isr and not leaves_elr:
            continue
        isr = [replica for replica in partition.isr if replica not in gone]
        record = change(
            image, name, number, value, live=live, isr=isr, unclean_shutdown=lost
        )
        if record is not None:
            records.append(record)
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
    """leadership.partition_change for a partition of the image. live: the brokers that
    may lead, if they differ from the image's.
    """
    if live is None:
        live = image.may_lead()
    if "election" not in wanted:
        may_be_unclean = value(topic, UNCLEAN_ELECTION)
        wanted["election"] = leadership.UNCLEAN if may_be_unclean else leadership.ANY
    topic_image = image.topics[topic]
    return leadership.partition_change(
        topic_image.topic_id,
        number,
        topic_image.partitions[number],
        live.__contains__,
        value(topic, "min.insync.replicas"),
        **wanted,
    )


def _broker_change(image: Image, broker_id: int, **fields: int) -> MetadataRecord:
    fields["broker_id"] = broker_id
    fields["broker_epoch"] = image.brokers[broker_id].broker_epoch
    return MetadataRecord("BrokerRegistrationChangeRecord", 1, fields)


def alter_isr(
    image: Image, broker_id: int, topic_id: bytes, asked: Any, value: TopicValue
) -> MetadataRecord | None:
    """AlterPartition (KIP-497): the leader proposes another ISR. asked: the partition
    in the request. Errors: FENCED_LEADER_EPOCH or INVALID_UPDATE_VERSION if the
    leader's view is older than the image; INELIGIBLE_REPLICA if a proposed member may
    not be in sync because it is fenced, shutting down, or another run of that broker
    (KIP-841, KIP-903).
    """
    topic = image.topic_by_id(topic_id)
    partition = topic.partitions.get(asked.partition_index)
    if partition is None:
        raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION)
    _check_leader(partition, broker_id, asked)
    isr = {
        member.broker_id: member.broker_epoch for member in asked.new_isr_with_epochs
    }
    if broker_id not in isr or not set(isr) <= set(partition.replicas):
        raise KafkaError(Error.INVALID_REQUEST)
    for member, broker_epoch in isr.items():
        if not _may_be_in_sync(image, member, broker_epoch):
            raise KafkaError(Error.INELIGIBLE_REPLICA)
    return change(image, topic.name, asked.partition_index, value, isr=[*isr])


def _check_leader(partition: Partition, broker_id: int, asked: Any) -> None:
    """Check that the sender leads the partition, and knows its current state."""
    if asked.leader_recovery_state != RECOVERED:
        raise KafkaError(Error.INVALID_REQUEST)
    if asked.leader_epoch < partition.leader_epoch:
        raise KafkaError(Error.FENCED_LEADER_EPOCH)
    if asked.leader_epoch > partition.leader_epoch:
        raise KafkaError(Error.NOT_CONTROLLER)
    if broker_id != partition.leader:
        raise KafkaError(Error.INVALID_REQUEST)
    if asked.partition_epoch < partition.partition_epoch:
        raise KafkaError(Error.INVALID_UPDATE_VERSION)
    if asked.partition_epoch > partition.partition_epoch:
        raise KafkaError(Error.NOT_CONTROLLER)


def _may_be_in_sync(image: Image, broker_id: int, broker_epoch: int) -> bool:
    """broker_epoch: of the run that the leader means; -1 if the leader doesn't
    know it.
    """
    broker = image.brokers.get(broker_id)
    if broker is None or not broker.may_lead:
        return False
    return broker_epoch in (-1, broker.broker_epoch)


def lose_replica(
    image: Image, broker_id: int, topic_id: bytes, number: int, value: TopicValue
) -> MetadataRecord | None:
    """AssignReplicasToDirs (KIP-858): a broker has lost its replica, or a part of it.
    It leaves the ISR and the ELR, and a new leader epoch begins, so that the leader
    forgets what it knew of this replica. None if no other replica is in sync or
    eligible: a partial copy is better than none. Errors: UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER if the broker has no replica.
    """
    topic = image.topic_by_id(topic_id)
    partition = partition_of(image, topic.name, number)
    if broker_id not in partition.replicas:
        raise KafkaError(Error.NOT_LEADER_OR_FOLLOWER)
    gone = {broker_id}
    have_all = {*partition.isr, *partition.eligible_leader_replicas}
    if have_all <= gone:
        return None
    isr = [replica for replica in partition.isr if replica != broker_id]
    live = image.may_lead() - gone
    lost = change(
        image, topic.name, number, value, live, isr=isr, unclean_shutdown=gone
    )
    if lost is None:
        fields = {"partition_id": number, "topic_id": topic_id}
        lost = MetadataRecord("PartitionChangeRecord", 2, fields)
    lost.fields.setdefault("leader", partition.leader)
    return lost


# -- administrators' requests about partitions


def elect_leader(
    image: Image, topic: str, number: int, election: str, value: TopicValue
) -> MetadataRecord:
    """ElectLeaders (KIP-183, KIP-460): elect the preferred replica, or any live one.
    Errors: ELECTION_NOT_NEEDED, PREFERRED_LEADER_NOT_AVAILABLE,
    ELIGIBLE_LEADERS_NOT_AVAILABLE, UNKNOWN_TOPIC_OR_PARTITION.
    """
    if topic not in image.topics:
        why = f"No such topic as {topic}"
        raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, why)
    partition = image.topic(topic).partitions.get(number)
    if partition is None:
        why = f"No such partition as {topic}-{number}"
        raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, why)
    if election == leadership.PREFERRED:
        is_needed = partition.leader != partition.replicas[0]
        nobody = Error.PREFERRED_LEADER_NOT_AVAILABLE
    else:
        is_needed = partition.leader == NO_LEADER
        nobody = Error.ELIGIBLE_LEADERS_NOT_AVAILABLE
    if not is_needed:
        raise KafkaError(Error.ELECTION_NOT_NEEDED)
    record = change(image, topic, number, value, election=election)
    if record is None or record.fields.get("leader", NO_LEADER) == NO_LEADER:
        raise KafkaError(nobody)
    return record


def rebalanced(image: Image, value: TopicValue) -> list[MetadataRecord]:
    """auto.leader.rebalance.enable: the first replica of each partition leads again if
    it is up and in sync. Partitions without a leader are looked at too, because an
    unclean election may be allowed now.
    """
    live = image.may_lead()
    preferred = leadership.PREFERRED
    records = []
    for name, number, partition in image.all_partitions():
        record = None
        if partition.leader == NO_LEADER:
            record = change(image, name, number, value, live)
        elif partition.leader != partition.replicas[0]:
            record = change(image, name, number, value, live, election=preferred)
        if record is not None:
            records.append(record)
    return records


def reassign(
    image: Image,
    topic: str,
    number: int,
    target: Sequence[int] | None,
    value: TopicValue,
) -> MetadataRecord | None:
    """AlterPartitionReassignments (KIP-455): move a partition to other replicas.
    target: None cancels a reassignment in progress.
    """
    partition = partition_of(image, topic, number)
    if target is None:
        wanted = leadership.cancel_reassignment(partition)
    else:
        placer.check(image, {number: target}, number)
        wanted = leadership.reassign(partition, target)
    return change(image, topic, number, value, live=None, **wanted)


def partition_of(image: Image, topic: str, number: int) -> Partition:
    """The partition. Errors: UNKNOWN_TOPIC_OR_PARTITION."""
    partition = image.topic(topic).partitions.get(number)
    if partition is None:
        why = f"Unable to find partition {topic}:{number}."
        raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, why)
    return partition


# -- topics


def check_topic_name(name: str) -> None:
    """Check a name against Kafka's rules. Errors: INVALID_TOPIC_EXCEPTION."""
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
    """Check that a new name is legal and not taken, and that it doesn't differ from
    another one only in '.' and '_', because their metrics would collide.
    """
    check_topic_name(name)
    other = image.metric_names.get(metadata.metric_name(name), name)
    if other != name:
        why = f"Topic '{name}' collides with existing topic: {other}"
        raise KafkaError(Error.INVALID_TOPIC_EXCEPTION, why)
    if name in image.topics:
        raise KafkaError(Error.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")


def create_topic(
    image: Image,
    name: str,
    topic_id: bytes,
    placement: Placement,
    configs: Mapping[str, str],
) -> list[MetadataRecord]:
    """A new topic with its partitions and configs."""
    topic = {"name": name, "topic_id": topic_id}
    records = [MetadataRecord("TopicRecord", 0, topic)]
    records += metadata.config_records(metadata.TOPIC_RESOURCE, name, configs)
    records += _new_partitions(image, topic_id, placement, first=0)
    return records


def create_partitions(
    image: Image, topic: Topic, placement: Placement
) -> list[MetadataRecord]:
    """Add partitions to a topic. Existing ones stay as they are, with their records."""
    first = len(topic.partitions)
    return _new_partitions(image, topic.topic_id, placement, first)


def delete_topic(topic: Topic) -> list[MetadataRecord]:
    """Delete a topic, with its partitions and configs."""
    return [MetadataRecord("RemoveTopicRecord", 0, {"topic_id": topic.topic_id})]


def allocate_producer_ids(
    image: Image, broker_id: int, broker_epoch: int
) -> list[MetadataRecord]:
    """Allocate the next block of producer ids to a broker (KIP-730). The unused rest of
    a block is never given out again.
    """
    next_id = image.next_producer_id + PRODUCER_ID_BLOCK_SIZE
    fields = {
        "broker_id": broker_id,
        "broker_epoch": broker_epoch,
        "next_producer_id": next_id,
    }
    return [MetadataRecord("ProducerIdsRecord", 0, fields)]


def _new_partitions(
    image: Image, topic_id: bytes, placement: Placement, first: int
) -> list[MetadataRecord]:
    """The live replicas are in sync, and the first of them leads. first: the number of
    the first new partition.
    """
    may_lead = image.may_lead()
    records = []
    for number, replicas in enumerate(placement, first):
        isr = [replica for replica in replicas if replica in may_lead]
        assert isr, "a new partition has somebody who leads it"
        fields = {
            "partition_id": number,
            "topic_id": topic_id,
            "replicas": list(replicas),
            "isr": isr,
            "leader": isr[0],
            "leader_epoch": 0,
            "partition_epoch": 0,
        }
        records.append(MetadataRecord("PartitionRecord", 0, fields))
    return records

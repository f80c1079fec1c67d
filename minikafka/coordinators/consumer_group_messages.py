"""ConsumerGroupHeartbeat and ConsumerGroupDescribe (KIP-848): what can be checked or
built from a request or a member alone.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from minikafka.cluster.metadata import Image
from minikafka.coordinators import group_rules
from minikafka.coordinators.consumer_group_state import ConsumerGroupState
from minikafka.coordinators.consumer_member import (
    ConsumerMember,
    TopicPartition,
    by_topic_name,
)
from minikafka.coordinators.expressions import compiled
from minikafka.coordinators.group_rules import (
    UNCHANGED_TIMEOUT_MS,
    refuse,
    refuse_blank,
)
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

CONSUMER_MEMBER = 1  # MemberType of ConsumerGroupDescribe


def check_request(body: Message, version: int, assignors: Sequence[str]) -> None:
    """Check whether a heartbeat makes sense, with Kafka's error messages. assignors:
    the configured names. Errors: INVALID_REQUEST, UNSUPPORTED_ASSIGNOR,
    INVALID_REGULAR_EXPRESSION.
    """
    epoch = body.member_epoch
    is_known = epoch > 0 or epoch == group_rules.LEAVE_EPOCH
    if version >= 1 or is_known:
        refuse_blank(body.member_id, "MemberId")
    refuse_blank(body.group_id, "GroupId")
    refuse_blank(body.instance_id, "InstanceId")
    refuse_blank(body.rack_id, "RackId")
    if epoch == group_rules.JOIN_EPOCH:
        _check_first_request(body)
    elif epoch == group_rules.LEAVE_STATIC_EPOCH:
        refuse(body.instance_id is None, "InstanceId can't be null.")
    else:
        is_invalid = epoch < group_rules.LEAVE_STATIC_EPOCH
        refuse(is_invalid, "MemberEpoch is invalid.")
    assignor = body.server_assignor
    if assignor is not None and assignor not in assignors:
        supported = ", ".join(assignors)
        message = (
            f"ServerAssignor {assignor} is not supported. Supported"
            f" assignors: {supported}."
        )
        raise KafkaError(Error.UNSUPPORTED_ASSIGNOR, message)
    if body.subscribed_topic_regex:
        compiled(body.subscribed_topic_regex)


def _check_first_request(body: Message) -> None:
    """Check that a member that joins sends all it must send."""
    no_timeout = body.rebalance_timeout_ms == UNCHANGED_TIMEOUT_MS
    refuse(no_timeout, "RebalanceTimeoutMs must be provided in first request.")
    owns_nothing = body.topic_partitions is not None and not body.topic_partitions
    refuse(not owns_nothing, "TopicPartitions must be empty when (re-)joining.")
    message = (
        "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when"
        " (re-)joining."
    )
    refuse(not _subscribes(body), message)


def _subscribes(body: Message) -> bool:
    """Whether the request says what the member subscribes to."""
    by_name = body.subscribed_topic_names is not None
    by_pattern = body.subscribed_topic_regex is not None
    return by_name or by_pattern


def check_epoch(
    member: ConsumerMember, received: int, owned: Collection[TopicPartition] | None
) -> None:
    """Check the member epoch, which every request must show. The previous epoch is also
    accepted from a member that owns nothing beyond its assignment: the answer with the
    new epoch may have been lost. Errors: FENCED_MEMBER_EPOCH.
    """
    current = member.member_epoch
    if received == current:
        return
    is_previous = received == member.previous_member_epoch < current
    if is_previous and _has_no_other(member, owned):
        return
    raise group_rules.fenced("consumer", received, current)


def _has_no_other(
    member: ConsumerMember, owned: Collection[TopicPartition] | None
) -> bool:
    """Whether everything that a member says it has is assigned to it. A member that
    doesn't say may have anything.
    """
    if owned is None:
        return False
    return all(partition in member.assigned_partitions for partition in owned)


def check_commit(
    member: ConsumerMember, body: Message, version: int | None, image: Image
) -> None:
    """Check whether a member's OffsetCommit is accepted. With an epoch older than its
    own it is accepted for partitions that the member had at that epoch already and
    still has (KIP-1251). version: of OffsetCommit. Errors: STALE_MEMBER_EPOCH,
    UNSUPPORTED_VERSION.
    """
    epoch = member.member_epoch
    if not group_rules.is_of_older_epoch("consumer", body, version, epoch):
        return
    received = body.generation_id_or_member_epoch
    for topic in body.topics:
        found = image.topics.get(topic.name)
        topic_id = b"" if found is None else found.topic_id
        for each in topic.partitions:
            number = each.partition_index
            name = f"{topic.name}-{number}"
            assigned_at = _assigned_at(member, (topic_id, number))
            group_rules.check_assigned_at("Partition", name, assigned_at, received)


def _assigned_at(member: ConsumerMember, partition: TopicPartition) -> int | None:
    """The epoch at which the member got a partition that it holds."""
    epoch = member.assigned_partitions.get(partition)
    if epoch is None:
        epoch = member.partitions_pending_revocation.get(partition)
    return epoch


def updated(
    member: ConsumerMember, body: Message, client_id: str, client_host: str
) -> ConsumerMember:
    """The member, updated from a request; a field that is null, or a timeout of -1,
    didn't change.
    """
    changes: dict[str, Any] = {"client_id": client_id, "client_host": client_host}
    if body.instance_id is not None:
        changes["instance_id"] = body.instance_id
    if body.rack_id is not None:
        changes["rack_id"] = body.rack_id
    if body.server_assignor is not None:
        changes["server_assignor"] = body.server_assignor
    if body.subscribed_topic_regex is not None:
        changes["subscribed_topic_regex"] = body.subscribed_topic_regex
    if body.rebalance_timeout_ms != UNCHANGED_TIMEOUT_MS:
        changes["rebalance_timeout_ms"] = body.rebalance_timeout_ms
    if body.subscribed_topic_names is not None:
        names = sorted(set(body.subscribed_topic_names))
        changes["subscribed_topic_names"] = tuple(names)
    return replace(member, **changes)


def is_full(body: Message) -> bool:
    """Whether the member sent all fields: it does so when it joins, and after an error,
    when it can't know what arrived.
    """
    if body.member_epoch == group_rules.JOIN_EPOCH:
        return True
    has_timeout = body.rebalance_timeout_ms != UNCHANGED_TIMEOUT_MS
    owns = body.topic_partitions is not None
    return has_timeout and _subscribes(body) and owns


def described(
    group_id: str, state: ConsumerGroupState, assignor: str, image: Image
) -> dict[str, Any]:
    """A DescribedGroup of ConsumerGroupDescribe."""
    members = []
    for member_id in sorted(state.members):
        target = state.target.get(member_id, ())
        members.append(_described_member(state.members[member_id], target, image))
    return state.described(group_id, members) | {"assignor_name": assignor}


def _described_member(
    member: ConsumerMember, target: Iterable[TopicPartition], image: Image
) -> dict[str, Any]:
    held = (*member.assigned_partitions, *member.partitions_pending_revocation)
    assignment = {"topic_partitions": by_topic_name(held, image)}
    target_assignment = {"topic_partitions": by_topic_name(target, image)}
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "rack_id": member.rack_id,
        "member_epoch": member.member_epoch,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "subscribed_topic_regex": member.subscribed_topic_regex,
        "subscribed_topic_names": list(member.subscribed_topic_names),
        "assignment": assignment,
        "target_assignment": target_assignment,
        "member_type": CONSUMER_MEMBER,
    }

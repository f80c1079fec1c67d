"""ConsumerGroupHeartbeat and ConsumerGroupDescribe (KIP-848): what can be said of a
request or an answer by itself.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from minikafka.cluster.metadata import Image
from minikafka.coordinators import consumer_member
from minikafka.coordinators.consumer_group_state import ConsumerGroupState
from minikafka.coordinators.consumer_member import (
    ConsumerMember,
    TopicPartition,
    by_topic,
)
from minikafka.coordinators.subscriptions import compiled
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

UNCHANGED_TIMEOUT_MS = -1
FIRST_COMMIT_VERSION = 9  # of OffsetCommit: with a member epoch
# What ConsumerGroupDescribe shows of a member as it is.
SHOWN = (
    "member_id",
    "instance_id",
    "rack_id",
    "member_epoch",
    "client_id",
    "client_host",
    "subscribed_topic_regex",
)
CONSUMER_MEMBER = 1  # MemberType of ConsumerGroupDescribe


def check_request(body: Message, version: int, assignors: Sequence[str]) -> None:
    """Whether a heartbeat makes sense, in Kafka's words. assignors: the configured
    names. Errors: INVALID_REQUEST, UNSUPPORTED_ASSIGNOR, INVALID_REGULAR_EXPRESSION.
    """
    if (
        version >= 1
        or body.member_epoch > 0
        or body.member_epoch == consumer_member.LEAVE_EPOCH
    ):
        _refuse(body.member_id.strip() == "", "MemberId can't be empty.")
    _refuse(body.group_id.strip() == "", "GroupId can't be empty.")
    _refuse(
        body.instance_id is not None and body.instance_id.strip() == "",
        "InstanceId can't be empty.",
    )
    _refuse(
        body.rack_id is not None and body.rack_id.strip() == "",
        "RackId can't be empty.",
    )
    if body.member_epoch == consumer_member.JOIN_EPOCH:
        no_timeout = body.rebalance_timeout_ms == UNCHANGED_TIMEOUT_MS
        _refuse(no_timeout, "RebalanceTimeoutMs must be provided in first request.")
        owns_nothing = body.topic_partitions is not None and not body.topic_partitions
        _refuse(not owns_nothing, "TopicPartitions must be empty when (re-)joining.")
        no_topics = (
            body.subscribed_topic_names is None and body.subscribed_topic_regex is None
        )
        _refuse(
            no_topics,
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when"
            " (re-)joining.",
        )
    elif body.member_epoch == consumer_member.LEAVE_STATIC_EPOCH:
        _refuse(body.instance_id is None, "InstanceId can't be null.")
    else:
        _refuse(
            body.member_epoch < consumer_member.LEAVE_STATIC_EPOCH,
            "MemberEpoch is invalid.",
        )
    if body.server_assignor is not None and body.server_assignor not in assignors:
        supported = ", ".join(assignors)
        message = (
            f"ServerAssignor {body.server_assignor} is not supported. Supported"
            f" assignors: {supported}."
        )
        raise KafkaError(Error.UNSUPPORTED_ASSIGNOR, message)
    if body.subscribed_topic_regex:
        compiled(body.subscribed_topic_regex)


def check_epoch(
    member: ConsumerMember, received: int, owned: Collection[TopicPartition] | None
) -> None:
    """The member epoch is the pass. The previous one counts as well from a member that
    has nothing but what it is assigned: the answer with the new epoch may have been
    lost. Errors: FENCED_MEMBER_EPOCH.
    """
    if received == member.member_epoch:
        return
    has_no_other = owned is not None and all(
        partition in member.assigned_partitions for partition in owned
    )
    if received == member.previous_member_epoch < member.member_epoch and has_no_other:
        return
    size = "greater" if received > member.member_epoch else "smaller"
    why = (
        f"The consumer group member has a {size} member epoch ({received}) than the one"
        " known by the group "
    )
    why += (
        f"coordinator ({member.member_epoch}). The member must abandon all its"
        " partitions and rejoin."
    )
    raise KafkaError(Error.FENCED_MEMBER_EPOCH, why)


def check_commit(
    member: ConsumerMember, body: Message, version: int | None, image: Image
) -> None:
    """Whether an OffsetCommit of a member counts. An epoch older than its own counts
    for what it had at that epoch already and still has (KIP-1251). version: of
    OffsetCommit. Errors: STALE_MEMBER_EPOCH, UNSUPPORTED_VERSION.
    """
    if version is not None and version < FIRST_COMMIT_VERSION:
        why = (
            "OffsetCommit version 9 or above must be used by members using the consumer"
            " group protocol"
        )
        raise KafkaError(Error.UNSUPPORTED_VERSION, why)
    received = body.generation_id_or_member_epoch
    if received > member.member_epoch:
        raise stale(
            f"Received member epoch {received} is newer than current member epoch"
            f" {member.member_epoch}."
        )
    if received == member.member_epoch:
        return
    for topic, number in (
        (each.name, part.partition_index)
        for each in body.topics
        for part in each.partitions
    ):
        found = image.topics.get(topic)
        key = (b"" if found is None else found.topic_id, number)
        assigned_at = member.assigned_partitions.get(
            key, member.partitions_pending_revocation.get(key)
        )
        if assigned_at is None:
            raise stale(
                f"Partition {topic}-{number} is not assigned or pending revocation for"
                " member."
            )
        if received < assigned_at:
            older = (
                f"Received member epoch {received} is older than assignment epoch"
                f" {assigned_at}"
            )
            raise stale(f"{older} for partition {topic}-{number}.")


def stale(message: str) -> KafkaError:
    return KafkaError(Error.STALE_MEMBER_EPOCH, message)


def updated(
    member: ConsumerMember, body: Message, client_id: str, client_host: str
) -> ConsumerMember:
    """The member with what the request says of it; a field that is null, or a timeout
    of -1, didn't change.
    """
    changes: dict[str, Any] = {
        name: value
        for name in (
            "instance_id",
            "rack_id",
            "server_assignor",
            "subscribed_topic_regex",
        )
        if (value := getattr(body, name)) is not None
    }
    if body.rebalance_timeout_ms != UNCHANGED_TIMEOUT_MS:
        changes["rebalance_timeout_ms"] = body.rebalance_timeout_ms
    if body.subscribed_topic_names is not None:
        changes["subscribed_topic_names"] = tuple(
            sorted(set(body.subscribed_topic_names))
        )
    return replace(member, client_id=client_id, client_host=client_host, **changes)


def is_full(body: Message) -> bool:
    """Whether the member said all: when it joins, and after an error, when it can't
    know what was heard.
    """
    subscribes = (
        body.subscribed_topic_names is not None
        or body.subscribed_topic_regex is not None
    )
    says_all = (
        body.rebalance_timeout_ms != UNCHANGED_TIMEOUT_MS
        and subscribes
        and body.topic_partitions is not None
    )
    return says_all or body.member_epoch == consumer_member.JOIN_EPOCH


def answer(
    member: ConsumerMember, heartbeat_interval_ms: int, tell_assignment: bool
) -> dict[str, Any]:
    """The answer to a heartbeat. Without an assignment, the last one told still
    holds.
    """
    return {
        "member_id": member.member_id,
        "member_epoch": member.member_epoch,
        "heartbeat_interval_ms": heartbeat_interval_ms,
        "assignment": (
            {"topic_partitions": by_topic(member.assigned_partitions)}
            if tell_assignment
            else None
        ),
    }


def described(
    group_id: str, state: ConsumerGroupState, assignor: str, image: Image
) -> dict[str, Any]:
    """A DescribedGroup of ConsumerGroupDescribe."""
    return {
        "group_id": group_id,
        "group_state": state.name,
        "group_epoch": state.group_epoch,
        "assignment_epoch": state.assignment_epoch,
        "assignor_name": assignor,
        "members": [
            _described_member(
                state.members[member_id], state.target.get(member_id, ()), image
            )
            for member_id in sorted(state.members)
        ],
    }


def _described_member(
    member: ConsumerMember, target: Iterable[TopicPartition], image: Image
) -> dict[str, Any]:
    held = (*member.assigned_partitions, *member.partitions_pending_revocation)
    return {name: getattr(member, name) for name in SHOWN} | {
        "subscribed_topic_names": list(member.subscribed_topic_names),
        "assignment": {"topic_partitions": _named(held, image)},
        "target_assignment": {"topic_partitions": _named(target, image)},
        "member_type": CONSUMER_MEMBER,
    }


def _named(partitions: Iterable[TopicPartition], image: Image) -> list[dict[str, Any]]:
    """By topic, without the topics that no longer exist."""
    return [
        {**topic, "topic_name": image.topic_names[topic["topic_id"]]}
        for topic in by_topic(partitions)
        if topic["topic_id"] in image.topic_names
    ]


def _refuse(is_wrong: bool, message: str) -> None:
    if is_wrong:
        raise KafkaError(Error.INVALID_REQUEST, message)

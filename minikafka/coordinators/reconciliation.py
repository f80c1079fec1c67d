"""Reconciliation (KIP-848): a member's next step from the partitions it has to its
target.

The coordinator never moves the whole group at once. With each heartbeat it moves the
one member that sent it, as far as that member can go:

    state                    what it waits for                          then
    STABLE                   a newer target assignment                  next step
    UNREVOKED_PARTITIONS     the member's word that it gave up          next step
                             what it has to revoke
    UNRELEASED_PARTITIONS    the next heartbeat, to look again          next step
    UNKNOWN                  a member that owns nothing                 next step; else it is fenced

and the next step is the first of these that applies:

    it has partitions that it is not to have   -> UNREVOKED_PARTITIONS: it keeps its epoch and is told to revoke
    otherwise                                  -> it gets the target's epoch and all partitions that are free,
        some of its target have other owners   ->    and is UNRELEASED_PARTITIONS
        none has                               ->    and is STABLE

A partition has an owner from the step that assigns it until the owner says that it no
longer has it (or is fenced). So it never has two owners, although nobody stops the
group. (Apache Kafka: CurrentAssignmentBuilder.)
"""

from collections.abc import Callable, Collection, Container, Set
from dataclasses import replace
from typing import NamedTuple

from minikafka.coordinators.consumer_member import (
    Assignment,
    ConsumerMember,
    MemberState,
    TopicPartition,
)
from minikafka.wire.errors import Error, KafkaError


class Goal(NamedTuple):
    """A member's destination. partitions: its target assignment, made for group epoch
    `epoch`. topic_ids: the topics of its subscription that exist. is_owned: whether a
    member, including this one, has a partition.
    """

    epoch: int
    partitions: Set[TopicPartition]
    topic_ids: Collection[bytes]
    is_owned: Callable[[TopicPartition], bool]


def reconcile(
    member: ConsumerMember,
    goal: Goal,
    owned: Collection[TopicPartition] | None,
    subscription_changed: bool,
) -> ConsumerMember:
    """The member after this heartbeat; unchanged if it can't take a step. owned: the
    partitions it says it has; None if it doesn't say. Errors: FENCED_MEMBER_EPOCH if
    its state was written by a newer Kafka and it has partitions.
    """
    must_revoke = member.state is MemberState.UNREVOKED_PARTITIONS
    pending = member.partitions_pending_revocation
    has_yet_to_revoke = must_revoke and _owns_any(owned, pending)
    if member.is_reconciled_to(goal.epoch) or has_yet_to_revoke:
        if subscription_changed:
            return _without_other_topics(member, goal, owned)
        return member
    if member.state is MemberState.UNKNOWN:
        owns_nothing = owned is not None and not owned
        if not owns_nothing:
            why = (
                "The consumer group member is in a unknown state."
                " The member must abandon all its partitions and rejoin."
            )
            raise KafkaError(Error.FENCED_MEMBER_EPOCH, why)
        member = replace(member, member_epoch=goal.epoch)
    return _next_step(member, goal, owned)


def _next_step(
    member: ConsumerMember, goal: Goal, owned: Collection[TopicPartition] | None
) -> ConsumerMember:
    has = member.assigned_partitions
    revoked = member.partitions_pending_revocation
    kept = {}
    free = {}
    state = MemberState.STABLE
    for partition in sorted(goal.partitions):
        topic_id, _ = partition
        if topic_id not in goal.topic_ids:
            continue
        if partition in has:
            kept[partition] = has[partition]
        # partitions that it just revoked were its own until now, so nobody else can
        # have them
        elif partition in revoked or not goal.is_owned(partition):
            free[partition] = goal.epoch
        else:
            state = MemberState.UNRELEASED_PARTITIONS
    surplus = _without(has, kept)
    if surplus and _owns_any(owned, surplus):
        return _must_revoke(member, kept, surplus)
    return member.at_epoch(
        goal.epoch,
        state=state,
        assigned_partitions={**kept, **free},
        partitions_pending_revocation={},
    )


def _without_other_topics(
    member: ConsumerMember, goal: Goal, owned: Collection[TopicPartition] | None
) -> ConsumerMember:
    """The subscription changed: partitions of topics that it no longer includes go at
    once, before there is a new target.
    """
    kept = {}
    for partition, epoch in member.assigned_partitions.items():
        topic_id, _ = partition
        if topic_id in goal.topic_ids:
            kept[partition] = epoch
    surplus = _without(member.assigned_partitions, kept)
    if not surplus:
        return member
    pending = {**member.partitions_pending_revocation, **surplus}
    if _owns_any(owned, pending):
        return _must_revoke(member, kept, pending)
    return member.at_epoch(member.member_epoch, assigned_partitions=kept)


def _must_revoke(
    member: ConsumerMember,
    kept: dict[TopicPartition, int],
    pending: dict[TopicPartition, int],
) -> ConsumerMember:
    return member.at_epoch(
        member.member_epoch,
        state=MemberState.UNREVOKED_PARTITIONS,
        assigned_partitions=kept,
        partitions_pending_revocation=pending,
    )


def _without(
    partitions: Assignment, others: Container[TopicPartition]
) -> dict[TopicPartition, int]:
    return {
        partition: epoch
        for partition, epoch in partitions.items()
        if partition not in others
    }


def _owns_any(
    owned: Collection[TopicPartition] | None, partitions: Collection[TopicPartition]
) -> bool:
    """Whether the member still has some of these partitions. A member that doesn't say
    may have them all.
    """
    if owned is None:
        return True
    return any(partition in partitions for partition in owned)

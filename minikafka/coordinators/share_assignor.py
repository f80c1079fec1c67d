"""The assignor of share groups, `simple` (KIP-932): which members read which partitions.

Members share partitions, so nobody has to give one up before somebody else gets it.
Every partition has some member, every member some partition: with fewer partitions than
members each partition has several, and all members have about as many. What a member
had it keeps, as far as that is even.

Who gets which of several equal partitions is decided by the order of ids here, and by
that of a hash map in Apache Kafka: the numbers are the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil

from minikafka.coordinators.consumer_member import TopicPartition

NAME = "simple"

Target = frozenset[TopicPartition]


def assign(
    subscriptions: Mapping[str, frozenset[bytes]],
    before: Mapping[str, Iterable[TopicPartition]],
    assignable: Mapping[bytes, Iterable[int]],
) -> dict[str, Target]:
    """What each member is to read. subscriptions: ids of topics, by member id. before:
    the last target. assignable: the partitions of topics that somebody subscribes to.
    """
    if len(set(subscriptions.values())) <= 1:
        partitions = []
        for topic_id in sorted(assignable):
            for number in sorted(assignable[topic_id]):
                partitions.append((topic_id, number))
        return _shared(list(subscriptions), before, partitions)
    target: dict[str, set[TopicPartition]] = {member: set() for member in subscriptions}
    for topic_id in sorted(assignable):
        members = []
        for member, topic_ids in subscriptions.items():
            if topic_id in topic_ids:
                members.append(member)
        partitions = []
        for number in sorted(assignable[topic_id]):
            partitions.append((topic_id, number))
        shared = _shared(members, before, partitions)
        for member, shares in shared.items():
            target[member] |= shares
    return {member: frozenset(shares) for member, shares in target.items()}


def _shared(
    members: Sequence[str],
    before: Mapping[str, Iterable[TopicPartition]],
    partitions: Sequence[TopicPartition],
) -> dict[str, Target]:
    """The same partitions, shared by all of these members."""
    readers: dict[TopicPartition, list[str]] = {each: [] for each in partitions}
    most_readers = ceil(len(members) / len(partitions)) if partitions else 0
    wanted = _wanted(members, most_readers * len(partitions))
    target: dict[str, set[TopicPartition]] = {}
    for member in members:
        kept = []
        for each in sorted(before.get(member, ())):
            if each in readers:
                kept.append(each)
        most = wanted[member]
        target[member] = set(kept[:most])
    for member, shares in target.items():
        for each in sorted(shares):
            if len(readers[each]) < most_readers:
                readers[each].append(member)
            else:
                shares.discard(each)
    _give_out(readers, most_readers, target, wanted)
    return {member: frozenset(shares) for member, shares in target.items()}


def _wanted(members: Sequence[str], total: int) -> dict[str, int]:
    """How many partitions each member is to have, as even as can be."""
    each = total / len(members) if members else 0
    wanted = {}
    for at, member in enumerate(members):
        before = ceil(each * at)
        after = ceil(each * (at + 1))
        wanted[member] = after - before
    return wanted


def _give_out(
    readers: Mapping[TopicPartition, list[str]],
    most_readers: int,
    target: Mapping[str, set[TopicPartition]],
    wanted: Mapping[str, int],
) -> None:
    """Partitions that have too few readers, to members that have too few partitions, in
    turn.
    """
    unfilled = []
    for member, shares in target.items():
        if len(shares) < wanted[member]:
            unfilled.append(member)
    for partition, have_it in readers.items():
        while len(have_it) < most_readers:
            free = [one for one in unfilled if one not in have_it]
            if not free:
                break
            member = free[0]
            target[member].add(partition)
            have_it.append(member)
            unfilled.remove(member)
            if len(target[member]) < wanted[member]:
                unfilled.append(member)

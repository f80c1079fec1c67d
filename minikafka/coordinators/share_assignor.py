"""The assignor of share groups, `simple` (KIP-932): which members read which
partitions.

Members share partitions, so no member has to give one up before another gets it. Every
partition has a member, and every member a partition: if there are fewer partitions than
members, each partition has several members, and all members have about equally many. A
member keeps the partitions it had, as far as that is even.

If several results are equally good, the order of ids decides here, and that of a hash
map in Apache Kafka: the counts are the same.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil

from minikafka.coordinators.consumer_member import TopicPartition

NAME = "simple"

Target = frozenset[TopicPartition]
Before = Mapping[str, Iterable[TopicPartition]]  # the last target, by member id
Assignable = Mapping[bytes, Iterable[int]]  # partition numbers, by topic id


def assign(
    subscriptions: Mapping[str, frozenset[bytes]],
    before: Before,
    assignable: Assignable,
) -> dict[str, Target]:
    """The partitions that each member is to read. subscriptions: topic ids, by member
    id. before: the last target. assignable: the partitions of topics that some member
    subscribes to.
    """
    subscribe_to_the_same = len(set(subscriptions.values())) <= 1
    if subscribe_to_the_same:
        partitions = []
        for topic_id in sorted(assignable):
            partitions += _partitions(topic_id, assignable)
        return _assign_to_all(list(subscriptions), before, partitions)
    target: dict[str, set[TopicPartition]] = {member: set() for member in subscriptions}
    subscribers: dict[bytes, list[str]] = {topic_id: [] for topic_id in assignable}
    for member, topic_ids in subscriptions.items():
        for topic_id in topic_ids & assignable.keys():
            subscribers[topic_id].append(member)
    had: dict[bytes, dict[str, list[TopicPartition]]] = {}
    for member, last in before.items():
        for partition in last:
            of_topic = had.setdefault(partition[0], {})
            of_topic.setdefault(member, []).append(partition)
    for topic_id in sorted(assignable):
        partitions = _partitions(topic_id, assignable)
        parts = _assign_to_all(subscribers[topic_id], had.get(topic_id, {}), partitions)
        for member, part in parts.items():
            target[member] |= part
    return {member: frozenset(assigned) for member, assigned in target.items()}


def _partitions(topic_id: bytes, assignable: Assignable) -> list[TopicPartition]:
    """The partitions of one topic, in order."""
    return [(topic_id, number) for number in sorted(assignable[topic_id])]


def _assign_to_all(
    members: Sequence[str],
    before: Before,
    partitions: Sequence[TopicPartition],
) -> dict[str, Target]:
    """Assign the same partitions to all of these members."""
    most_readers = ceil(len(members) / len(partitions)) if partitions else 0
    assignment = _Assignment(most_readers)
    for partition in partitions:
        assignment.readers[partition] = []
    counts = _even_counts(len(members), most_readers * len(partitions))
    for member, count in zip(members, counts, strict=True):
        assignment.wanted[member] = count
    for member in members:
        assignment.keep(member, before.get(member, ()))
    assignment.give_out()
    return {member: frozenset(given) for member, given in assignment.given.items()}


def _even_counts(members: int, total: int) -> list[int]:
    """How many partitions each member gets, as evenly as possible."""
    each = total / members if members else 0
    bounds = [ceil(each * at) for at in range(members + 1)]
    return [after - before for before, after in pairwise(bounds)]


@dataclass(slots=True)
class _Assignment:
    """An assignment while it is being made.

    most_readers: how many members a partition may have. wanted: how many partitions a
    member is to have. readers: the members that each partition has. given: the
    partitions that each member has.
    """

    most_readers: int
    wanted: dict[str, int] = field(default_factory=dict)
    readers: dict[TopicPartition, list[str]] = field(default_factory=dict)
    given: dict[str, set[TopicPartition]] = field(default_factory=dict)

    def keep(self, member: str, before: Iterable[TopicPartition]) -> None:
        """Let a member keep the partitions it had, as far as that is even."""
        still_there = [each for each in sorted(before) if each in self.readers]
        self.given[member] = set()
        for partition in still_there[: self.wanted[member]]:
            if len(self.readers[partition]) < self.most_readers:
                self._give(partition, member)

    def give_out(self) -> None:
        """Give partitions with too few readers to members with too few partitions, in
        turn.
        """
        unfilled = deque(member for member in self.given if self._is_unfilled(member))
        for partition, readers in self.readers.items():
            has_it = set(readers)
            passed = []
            while len(readers) < self.most_readers and unfilled:
                member = unfilled.popleft()
                if member in has_it:
                    passed.append(member)
                    continue
                self._give(partition, member)
                has_it.add(member)
                if self._is_unfilled(member):
                    unfilled.append(member)
            unfilled.extendleft(reversed(passed))

    def _is_unfilled(self, member: str) -> bool:
        return len(self.given[member]) < self.wanted[member]

    def _give(self, partition: TopicPartition, member: str) -> None:
        self.given[member].add(partition)
        self.readers[partition].append(member)

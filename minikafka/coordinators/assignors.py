"""Assignors: which member of a consumer group reads which partition. In the classic
protocol the leader runs one.

An assignor is a pure function. It takes the members, with the topics they want and the
partitions they had, and the number of partitions of each topic; it returns each
member's partitions. Every partition of a subscribed topic goes to exactly one member.

    range                per topic, in blocks: the first members get the remainder of every topic
    roundrobin           all partitions of all topics dealt out in turn: even, but nothing stays where it was
    sticky               as even, and moves as little as it can (KIP-54)
    cooperative-sticky   the same, but a partition that moves is given to nobody until its owner gave it up (KIP-429)

`range` and `roundrobin` return exactly what Java's RangeAssignor and RoundRobinAssignor
return when no racks are known. The sticky ones leave each member with as many
partitions as Java's do and move as few; which partition moves can differ.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heapreplace
from operator import itemgetter
from typing import NamedTuple

Partition = tuple[str, int]
Assignment = dict[str, list[Partition]]  # member id -> its partitions


class Member(NamedTuple):
    """One member as the leader sees it.

    owned: the partitions it had before this rebalance. generation: the one in which it
    had them, -1 if none. instance_id: group.instance.id of a static member (KIP-345).
    """

    topics: tuple[str, ...]
    owned: tuple[Partition, ...] = ()
    generation: int = -1
    instance_id: str | None = None


Assignor = Callable[[dict[str, Member], dict[str, int]], Assignment]


def assign_range(members: dict[str, Member], partitions: dict[str, int]) -> Assignment:
    """Cut each topic into blocks, one per subscriber; if it doesn't divide, the first
    subscribers get one partition more.

    Two topics with equally many partitions and the same subscribers are cut alike:
    partition 3 of both goes to the same member, which can then join them.
    """
    assignment: Assignment = {member: [] for member in members}
    by_topic = subscribers_by_topic(in_order(members), members, partitions)
    for topic, subscribers in by_topic.items():
        block, remainder = divmod(partitions[topic], len(subscribers))
        start = 0
        for position, member in enumerate(subscribers):
            end = start + block
            if position < remainder:
                end += 1
            for number in range(start, end):
                assignment[member].append((topic, number))
            start = end
    return assignment


def assign_round_robin(
    members: dict[str, Member], partitions: dict[str, int]
) -> Assignment:
    """Deal out the partitions, topics by name, each to the next member in the ring that
    subscribes to the topic.
    """
    assignment: Assignment = {member: [] for member in members}
    ring = in_order(members)
    wanted = {member: set(members[member].topics) for member in members}
    turns = itertools.cycle(ring)
    for topic in subscribers_by_topic(ring, members, partitions):
        for number in range(partitions[topic]):
            member = next(turns)
            while topic not in wanted[member]:
                member = next(turns)
            assignment[member].append((topic, number))
    return assignment


def assign_sticky(members: dict[str, Member], partitions: dict[str, int]) -> Assignment:
    """Members keep the partitions they had; a member with too many gives some up, and
    free ones go to the member with the fewest.

    While all members want the same topics, "too many" simply means more than an equal
    share. Otherwise it means that a partition's owner has at least two more than
    another subscriber of its topic, which shows only when all partitions are assigned.
    """
    subscribers = subscribers_by_topic(sorted(members), members, partitions)
    all_want_the_same = want_the_same(members, subscribers)
    assignment = kept(members, partitions)
    if all_want_the_same:
        total = sum(partitions[topic] for topic in subscribers)
        keep_equal_shares(assignment, total)

    def least_wanted_first(topic: str) -> tuple[int, str]:
        return len(subscribers[topic]), topic

    every: list[Partition] = []
    for topic in sorted(subscribers, key=least_wanted_first):
        for number in range(partitions[topic]):
            every.append((topic, number))
    taken = owner_of_each(assignment)
    free = [partition for partition in every if partition not in taken]
    give_to_who_has_least(assignment, free, subscribers)
    if not all_want_the_same:
        even_out(assignment, free, subscribers)  # these move anyway
        even_out(assignment, every, subscribers)
    return {member: sorted(assigned) for member, assigned in assignment.items()}


def assign_cooperative_sticky(
    members: dict[str, Member], partitions: dict[str, int]
) -> Assignment:
    """The sticky assignment, without the partitions that another member still reads.

    From the missing partitions the members learn what to revoke. They revoke those and
    join again, and then the partitions are free to be assigned. So a moving partition
    takes two rebalances, and all others are read the whole time.
    """
    owner = owners(members)
    assignment: Assignment = {}
    for member, assigned in assign_sticky(members, partitions).items():
        assignment[member] = []
        for partition in assigned:
            is_free = owner.get(partition, member) == member
            if is_free:
                assignment[member].append(partition)
    return assignment


def in_order(members: Mapping[str, Member]) -> list[str]:
    """Member ids in Java's order: static members first, by group.instance.id, then the
    others by member id.
    """

    def static_first(member_id: str) -> tuple[bool, str]:
        instance_id = members[member_id].instance_id
        return instance_id is None, instance_id or member_id

    return sorted(members, key=static_first)


def want_the_same(
    members: Mapping[str, Member], subscribers: Mapping[str, Sequence[str]]
) -> bool:
    """Whether every topic is subscribed to by all members."""
    return all(len(each) == len(members) for each in subscribers.values())


def owner_of_each(assignment: Assignment) -> dict[Partition, str]:
    """The member that has each partition."""
    owner = {}
    for member, assigned in assignment.items():
        for partition in assigned:
            owner[partition] = member
    return owner


def subscribers_by_topic(
    order: Sequence[str], members: Mapping[str, Member], partitions: Mapping[str, int]
) -> dict[str, list[str]]:
    """{topic: its subscribers in the given order}, topics by name. Topics without
    partitions are left out.
    """
    subscribers: dict[str, list[str]] = {}
    for topic in sorted(partitions):
        if partitions[topic]:
            subscribers[topic] = []
    for member in order:
        for topic in dict.fromkeys(members[member].topics):
            if topic in subscribers:
                subscribers[topic].append(member)
    return {topic: each for topic, each in subscribers.items() if each}


def owners(members: Mapping[str, Member]) -> dict[Partition, str | None]:
    """The member that each claimed partition belongs to.

    A member that missed a rebalance still claims the partitions it had before. If two
    members claim a partition, the one with the later generation is right; in the same
    generation neither can be believed, and the owner is None.
    """
    latest: dict[Partition, int] = {}
    owner: dict[Partition, str | None] = {}
    for member_id, member in members.items():
        for partition in dict.fromkeys(member.owned):
            is_first = partition not in owner
            if is_first or member.generation > latest[partition]:
                owner[partition] = member_id
                latest[partition] = member.generation
            elif member.generation == latest[partition]:
                owner[partition] = None
    return owner


def kept(members: Mapping[str, Member], partitions: Mapping[str, int]) -> Assignment:
    """The partitions that each member had, as far as they exist and the member still
    wants their topics.
    """
    assignment: Assignment = {member: [] for member in members}
    wanted = {member: set(members[member].topics) for member in members}
    for (topic, number), member in owners(members).items():
        exists = number < partitions.get(topic, 0)
        if exists and member is not None and topic in wanted[member]:
            assignment[member].append((topic, number))
    return assignment


def keep_equal_shares(assignment: Assignment, total: int) -> None:
    """Cut every member down to an equal share of the total. If it doesn't divide, some
    may keep one more.

    Each topic loses its last partitions, so a member keeps something of every topic.
    """
    if not assignment:
        return

    def by_number(partition: Partition) -> tuple[int, str]:
        topic, number = partition
        return number, topic

    equal, remainder = divmod(total, len(assignment))
    for member in sorted(assignment):
        had = assignment[member]
        had.sort(key=by_number)
        keeps = equal
        if len(had) > equal and remainder > 0:
            keeps += 1
            remainder -= 1
        del had[keeps:]


def give_to_who_has_least(
    assignment: Assignment,
    free: Iterable[Partition],
    subscribers: Mapping[str, Sequence[str]],
) -> None:
    """Give each partition in turn to the subscriber of its topic with the fewest
    partitions; among equals to the first.
    """
    load = load_of_each(assignment)
    for topic, partitions in itertools.groupby(free, key=itemgetter(0)):
        takers = by_load(subscribers[topic], load)
        for partition in partitions:
            assignment[give_to_lightest(takers, load)].append(partition)


def even_out(
    assignment: Assignment,
    movable: Sequence[Partition],
    subscribers: Mapping[str, Sequence[str]],
) -> None:
    """Move partitions to subscribers with fewer, as long as giver and receiver differ
    by two or more.

    If the giver holds one of the topic's partitions that the receiver had before, that
    one goes back instead. One move can make another one useful, so all are looked at
    again until none moves.
    """
    load = load_of_each(assignment)
    owner = owner_of_each(assignment)
    first_owner = dict(owner)
    moved = True
    while moved:
        moved = False
        for partition in movable:
            topic, _ = partition
            giver = owner[partition]
            taker = min(subscribers[topic], key=load.__getitem__)
            if load[giver] - load[taker] < 2:
                continue
            moving = partition
            for each in assignment[giver]:
                if each[0] == topic and first_owner[each] == taker:
                    moving = each
                    break
            assignment[giver].remove(moving)
            assignment[taker].append(moving)
            owner[moving] = taker
            load[giver] -= 1
            load[taker] += 1
            moved = True


def by_load(
    members: Iterable[str], load: Mapping[str, int]
) -> list[tuple[int, int, str]]:
    """A heap of these members: the one with the fewest partitions is first, among
    equals the first one.
    """
    heap = []
    for position, member in enumerate(members):
        heap.append((load[member], position, member))
    heapify(heap)
    return heap


def give_to_lightest(heap: list[tuple[int, int, str]], load: dict[str, int]) -> str:
    """Take the first member of such a heap, and count one more partition for it."""
    _, position, member = heap[0]
    load[member] += 1
    heapreplace(heap, (load[member], position, member))
    return member


def load_of_each(assignment: Assignment) -> dict[str, int]:
    """How many partitions each member has."""
    return {member: len(assigned) for member, assigned in assignment.items()}


class NamedAssignor(NamedTuple):
    """name: as in partition.assignment.strategy. cooperative: members go on reading the
    partitions that they keep (KIP-429).
    """

    name: str
    assign: Assignor
    cooperative: bool = False


RANGE = NamedAssignor("range", assign_range)
ROUND_ROBIN = NamedAssignor("roundrobin", assign_round_robin)
STICKY = NamedAssignor("sticky", assign_sticky)
COOPERATIVE_STICKY = NamedAssignor(
    "cooperative-sticky", assign_cooperative_sticky, cooperative=True
)
ASSIGNORS = {
    assignor.name: assignor
    for assignor in (RANGE, ROUND_ROBIN, STICKY, COOPERATIVE_STICKY)
}

"""The assignors of the broker (KIP-848), run by the coordinator: `uniform` and `range`.
They compute a group's target, which members then reach one by one (reconciliation.py).
A new target is made when the group epoch has grown: a member came, left or changed its
subscription, or a subscribed topic grew, appeared or disappeared.

    uniform   as even as possible, and members keep what they can
    range     per topic, in blocks: the clients' range (assignors.py), as Java's two are the same as well

Here the partitions that a member owned are those of the last target. There is no
cooperative assignor: whatever the target, the coordinator hands a partition over only
after its owner has given it up.

`range` returns exactly what Java's RangeAssignor returns. `uniform` leaves the members
with as many partitions as Java's UniformAssignor does and moves as few, provided it
gets the members in Java's order. That is the order of a hash map, and it decides ties:
so with different subscriptions a result can differ, and be equally good.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush, heapreplace

from minikafka.cluster.metadata import Image
from minikafka.coordinators import assignors
from minikafka.coordinators.assignors import Assignment, Assignor, Member, Partition
from minikafka.coordinators.consumer_member import ConsumerMember, TopicPartition

Target = frozenset[TopicPartition]

# as in Java: members whose subscriptions overlap a little could take many rounds
MAX_ROUNDS = 16


def assign_uniform(
    members: dict[str, Member], partitions: dict[str, int]
) -> Assignment:
    """Members keep the partitions they had, free ones go to the member with the fewest,
    then the members are evened out topic by topic.

    While all members want the same topics this equals the clients' sticky assignment,
    and Java's: equal shares.
    """
    subscribers = assignors.subscribers_by_topic(list(members), members, partitions)
    if assignors.want_the_same(members, subscribers):
        return assignors.assign_sticky(members, partitions)
    assignment = assignors.kept(members, partitions)
    load = assignors.load_of_each(assignment)
    owner = assignors.owner_of_each(assignment)

    def most_per_subscriber_first(topic: str) -> tuple[float, int, str]:
        count = len(subscribers[topic])
        return -partitions[topic] / count, count, topic

    topics = sorted(subscribers, key=most_per_subscriber_first)
    for topic in topics:
        free = []
        for number in range(partitions[topic]):
            if (topic, number) not in owner:
                free.append((topic, number))
        if free:
            lightest_first = sorted(subscribers[topic], key=load.__getitem__)
            takers = assignors.by_load(lightest_first, load)
            for partition in free:
                owner[partition] = assignors.give_to_lightest(takers, load)
    for _ in range(MAX_ROUNDS):
        moves = 0
        for topic in topics:
            moves += even_out_topic(
                topic,
                count=partitions[topic],
                subscribers=subscribers[topic],
                owner=owner,
                load=load,
            )
        if moves == 0:
            break
    result: Assignment = {member: [] for member in members}
    for partition in sorted(owner):
        result[owner[partition]].append(partition)
    return result


def even_out_topic(
    topic: str,
    count: int,
    subscribers: Sequence[str],
    owner: dict[Partition, str],
    load: dict[str, int],
) -> int:
    """Move partitions of the topic from the member with the most to the one with the
    fewest, while they differ by two or more. Returns how many were moved.

    A member that has the most in total, but none of this topic, can't help.
    """
    lightest_first = sorted(subscribers, key=load.__getitem__)
    lightest, heaviest = lightest_first[0], lightest_first[-1]
    if load[heaviest] - load[lightest] < 2:
        return 0
    held: dict[str, list[int]] = {member: [] for member in subscribers}
    for number in range(count):
        held[owner[topic, number]].append(number)
    takers = assignors.by_load(lightest_first, load)
    givers = []
    for position, member in enumerate(lightest_first):
        if held[member]:
            givers.append((-load[member], -position, member))
    heapify(givers)
    moves = 0
    while True:
        # the load of the first ones may have changed by now
        while -givers[0][0] != load[givers[0][2]]:
            heappop(givers)
        while takers[0][0] != load[takers[0][2]]:
            heappop(takers)
        _, from_position, giver = givers[0]
        _, to_position, taker = takers[0]
        if load[giver] - load[taker] < 2:
            return moves
        number = held[giver].pop()
        held[taker].append(number)
        owner[topic, number] = taker
        load[giver] -= 1
        load[taker] += 1
        moves += 1
        heapreplace(takers, (load[taker], to_position, taker))
        heappush(takers, (load[giver], -from_position, giver))
        heappush(givers, (-load[taker], -to_position, taker))
        if held[giver]:
            heapreplace(givers, (-load[giver], from_position, giver))
        else:
            heappop(givers)


SERVER_ASSIGNORS: dict[str, Assignor] = {
    "uniform": assign_uniform,
    "range": assignors.assign_range,
}


def assign(
    name: str,
    members: Mapping[str, ConsumerMember],
    target: Mapping[str, Target],
    image: Image,
) -> dict[str, Target]:
    """The new target of every member. name: the assignor. target: the current one, for
    assignors that try to keep it.
    """
    subscriptions = {}
    topics: set[str] = set()
    # not in the order of their records, which compaction changes
    for member_id in sorted(members):
        owned = target.get(member_id, frozenset())
        member = _as_assignors_see_it(members[member_id], owned, image)
        subscriptions[member_id] = member
        topics.update(member.topics)
    partitions = {
        topic: len(image.topics[topic].partitions) for topic in sorted(topics)
    }
    assigned = SERVER_ASSIGNORS[name](subscriptions, partitions)
    new_target = {}
    for member_id in subscriptions:
        partitions_of_member = set()
        for topic, number in assigned.get(member_id, ()):
            topic_id = image.topics[topic].topic_id
            partitions_of_member.add((topic_id, number))
        new_target[member_id] = frozenset(partitions_of_member)
    return new_target


def _as_assignors_see_it(member: ConsumerMember, owned: Target, image: Image) -> Member:
    """The member with topic names instead of ids, as far as the topics exist."""
    topics = [name for name in member.subscribed_topic_names if name in image.topics]
    owned_by_name = []
    for topic_id, number in owned:
        name = image.topic_names.get(topic_id)
        if name is not None:
            owned_by_name.append((name, number))
    return Member(
        topics=tuple(topics),
        owned=tuple(sorted(owned_by_name)),
        instance_id=member.instance_id,
    )


def assignor_names(configured: str) -> list[str]:
    """The names in group.consumer.assignors."""
    return [name.strip() for name in configured.split(",")]


def preferred_assignor(members: Iterable[ConsumerMember], names: Sequence[str]) -> str:
    """The assignor that most members ask for; if none does, or there is a tie, the one
    configured first.
    """
    votes = Counter(member.server_assignor for member in members)
    return max(names, key=lambda name: votes[name])

"""A group as data, for checks of assignors: in words, and played by real consumers on a
cluster.
"""

import contextlib
import io
import itertools
import numbers
import random
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from minikafka import Cluster
from minikafka.coordinators.assignors import Member, Partition
from minikafka.course.judging.checks import WrongKind, short
from minikafka.course.judging.guard import plain
from minikafka.course.judging.source_offsets import without

# the group's members, by name
Members = dict[str, Member]
# how many partitions each topic has
PartitionCounts = dict[str, int]
Case = tuple[Members, PartitionCounts]
# the partitions that each member has
Holdings = dict[str, list[Partition]]
Assignment = Mapping[str, Iterable[Partition]]
Assignor = Callable[[Members, PartitionCounts], Mapping[str, Any]]

LEAVES = "old"  # the member that has what none of the others had
# a member that has records polls every 1.2 s
BUSY = {
    "max_poll_records": 4,
    "processing_ms": 300,
}


# the generation in which members had what they say; one that missed it names an earlier
# one
LATEST = 5


def group(**owned: Sequence[int]) -> Members:
    """Members by name, each with the numbers of the partitions of orders that it had in
    the latest generation.
    """
    members = {}
    for name, had in owned.items():
        partitions = [("orders", number) for number in had]
        members[name] = member(("orders",), partitions)
    return members


def member(
    topics: Iterable[str], had: Sequence[Partition], generation: int = LATEST
) -> Member:
    if not had:
        generation = -1
    return Member(tuple(topics), tuple(had), generation)


def stale(members: Members, name: str) -> Members:
    """The same members, but this one has missed the latest rebalance."""
    member = members[name]
    earlier = member._replace(generation=LATEST - 1)
    return {**members, name: earlier}


def owner_of(members: Members) -> dict[Partition, str]:
    """{partition: who had it}; where two say so, the one of the later generation."""

    def generation(name: str) -> int:
        return members[name].generation

    owner = {}
    for name in sorted(members, key=generation):
        for partition in members[name].owned:
            owner[partition] = name
    return owner


def every_partition(partitions: PartitionCounts) -> list[Partition]:
    """All of them, topic by topic."""
    every = []
    for topic, count in partitions.items():
        for number in range(count):
            every.append((topic, number))
    return every


NAMES: Sequence[str] = "ABCDE"
# one that is another's beginning, capitals, digits, no ASCII
MORE_NAMES = ("anna", "ann", "Anna", "b1", "b10", "łucja", "9")


def a_group(source: random.Random) -> Case:
    """Up to five members; each partition of one or two topics had one owner, or
    none.
    """
    how_many = source.choice((1, 1, 2))
    topics = ("orders", "refunds")[:how_many]
    partitions = {}
    for topic in topics:
        partitions[topic] = source.choice((1, 2, 3, 5, 7, 12))
    people = some_names(source)
    held: Holdings = {}
    for name in people:
        held[name] = []
    how_many_are_busy = source.randint(0, len(people))
    busy = people[:how_many_are_busy]  # the others are new
    for partition in every_partition(partitions):
        if busy and source.random() < 0.8:
            name = source.choice(busy)
            held[name].append(partition)
    members = {}
    for name, owned in held.items():
        members[name] = member(topics, owned)
    return members, partitions


def some_names(source: random.Random) -> Sequence[str]:
    """Names of up to five members: mostly the first letters."""
    count = source.randint(1, 5)
    if source.random() < 0.3:
        return source.sample(MORE_NAMES, count)
    return NAMES[:count]


def a_group_with_quarrels(source: random.Random) -> Case:
    """Also one that still believes to have what it has lost, and partitions that are
    gone.
    """
    members, partitions = a_group(source)
    names = sorted(members)
    if source.random() < 0.4:
        topics = sorted(partitions)
        topic = source.choice(topics)
        number = partitions[topic] + source.randint(0, 1)
        name = source.choice(names)
        owned = (*members[name].owned, (topic, number))
        members[name] = member(partitions, owned)
    if source.random() < 0.4:
        name = source.choice(names)
        every = every_partition(partitions)
        how_many = source.randint(1, len(every))
        claimed = source.sample(every, how_many)
        members[name] = member(partitions, claimed, generation=LATEST - 1)
    return members, partitions


def renamed(members: Iterable[str]) -> dict[str, str]:
    """{name: the name it would have if the first letters were taken}; empty if they
    are.
    """
    new = dict(zip(members, NAMES, strict=False))
    are_taken = all(name == first for name, first in new.items())
    if are_taken:
        return {}
    return new


def smaller_group(case: Case) -> Iterator[Case]:
    """Simpler variants: first names, one member fewer, one partition or two fewer (an
    odd number stays odd), less that was owned.
    """
    members, partitions = case
    new = renamed(members)
    if new:
        with_new_names = {}
        for name, member in members.items():
            new_name = new[name]
            with_new_names[new_name] = member
        yield with_new_names, partitions
    if len(members) > 1:
        for name in members:
            others = without(members, name)
            yield others, partitions
    yield from _fewer_partitions(members, partitions)
    for name, member in members.items():
        for partition in member.owned:
            with_less = _without(member, {partition})
            yield {**members, name: with_less}, partitions


def _fewer_partitions(members: Members, partitions: PartitionCounts) -> Iterator[Case]:
    """The same group, with one or two fewer partitions of one of the topics."""
    for topic, less in itertools.product(partitions, (1, 2)):
        count = partitions[topic]
        left = count - less
        fewer = {**partitions, topic: left}
        if left == 0:
            del fewer[topic]
        if left < 0 or not fewer:
            continue
        gone = {(topic, number) for number in range(left, count)}
        topics = tuple(fewer)
        with_fewer = {}
        for name, member in members.items():
            with_less = _without(member, gone)
            with_fewer[name] = with_less._replace(topics=topics)
        yield with_fewer, fewer


def _without(member: Member, gone: Container[Partition]) -> Member:
    left = []
    for partition in member.owned:
        if partition not in gone:
            left.append(partition)
    return member._replace(owned=tuple(left))


class Salted(str):
    """A name that is hashed otherwise: a set of such names has another order, as it has
    in another run of Python.
    """

    salt = 0

    def __hash__(self) -> int:
        return hash((self.salt, str(self)))


def salted(value: Any, salt: int) -> Any:
    """The same data with salted names."""
    if isinstance(value, str):
        name = Salted(value)
        name.salt = salt
        return name
    if isinstance(value, tuple):
        parts = [salted(each, salt) for each in value]
        if isinstance(value, Member):
            return Member(*parts)
        return tuple(parts)
    if isinstance(value, dict):
        same = {}
        for key, each in value.items():
            salted_key = salted(key, salt)
            same[salted_key] = salted(each, salt)
        return same
    return value


def fewest_moves(members: Members, partitions: PartitionCounts) -> int:
    """How many partitions must leave a member that is still there: all that it has
    above its fair share.
    """
    fair, extra = divmod(sum(partitions.values()), len(members))
    has: Counter[str] = Counter()
    for (topic, number), name in owner_of(members).items():
        if number < partitions[topic]:
            has[name] += 1
    above = 0
    members_above = 0
    for count in has.values():
        if count > fair:
            above += count - fair
            members_above += 1
    may_keep_one_more = min(extra, members_above)
    return above - may_keep_one_more


def assignment_given(found: Any, members: Members) -> Holdings:
    """The assignment in the answer, in any equivalent form. Raises WrongKind."""
    found = plain(found)
    if found is None:
        raise WrongKind("it returned None. The last line should be a return.")
    if not isinstance(found, dict):
        kind = type(found).__name__
        raise WrongKind(
            f"it returned a {kind}, not a dictionary {{member: [(topic, partition),"
            " ...]}."
        )
    for name, given in found.items():
        if name not in members:
            raise WrongKind(
                f"it gave a share to {name!r}, and there is no such member:"
                f" {', '.join(members)}."
            )
        found[name] = _partitions_given(name, given)
    for name in members:
        if name not in found:
            why = (
                "A member that gets nothing gets []: a Java member can't parse an empty"
                " assignment."
            )
            raise WrongKind(f"{name} has no entry. {why}")
    return found


def _partitions_given(name: str, given: Any) -> list[Partition]:
    if not _are_pairs(given):
        raise WrongKind(
            f"it gave {name} {short(given)}. A share is a list of pairs (topic,"
            " partition)."
        )
    partitions = []
    for topic, number in given:
        is_whole = isinstance(number, numbers.Integral)
        if isinstance(number, bool) or not is_whole:
            raise WrongKind(
                f"it gave ({topic!r}, {number!r}) to {name}. A partition is a whole"
                " number."
            )
        partitions.append((topic, number))
    return partitions


def _are_pairs(given: Any) -> bool:
    if not isinstance(given, list | set):
        return False
    for each in given:
        if not isinstance(each, list | tuple):
            return False
        if len(each) != 2:
            return False
    return True


def unsteady(
    assign: Callable[..., Assignment], given: Sequence[Any], any_order: bool = False
) -> str | None:
    """The reason if something besides the group decides the answer: chance, the order
    of a set, or (any_order) the order of the members.

    given: the arguments, all of them dictionaries, the members among them. assign:
    raises or gives an assignment, in a form already checked.
    """

    def in_words(arguments: Sequence[Any]) -> str:
        found = assign(*arguments)
        words = {}
        for name in sorted(found):
            mine = [(str(topic), number) for topic, number in found[name]]
            words[str(name)] = mine
        return assigned(words)

    first = in_words(given)
    again = "asked again, it gave something else: chance decides."
    others = [(again, given)] * 4
    if any_order:
        line = "with the same members in another order it gave something else."
        others.append((line, _members_turned(given)))
    for line, arguments in others:
        found = in_words(arguments)
        if found != first:
            return f"{line}\nfirst {first}\nthen  {found}"
    for salt in range(1, 9):
        arguments = [salted(value, salt) for value in given]
        try:
            found = in_words(arguments)
        except Exception:  # it looks for a name of its own; that is for others to judge
            return None
        if found != first:
            line = (
                "the order of a set decides, and that is another one in each run of"
                " Python."
            )
            return f"{line}\nhere  {first}\nthere {found}"
    return None


def _members_turned(given: Sequence[Any]) -> list[Any]:
    """The same arguments, with the members in another order. The order of the topics
    stays: nobody has said that it may not matter.
    """
    turned = list(given)
    for place, value in enumerate(given):
        are_members = any(isinstance(each, Member) for each in value.values())
        if are_members:
            turned[place] = dict(reversed(value.items()))
    return turned


def listed(partitions: Iterable[Partition]) -> str:
    """ "orders-0 orders-1", or "nothing"."""
    names = []
    for topic, number in sorted(partitions):
        names.append(f"{topic}-{number}")
    if not names:
        return "nothing"
    return " ".join(names)


def had(members: Members) -> str:
    """ "A had orders-0, B is new, C had orders-0 in an earlier generation"."""
    generations = [member.generation for member in members.values()]
    latest = max(generations, default=-1)
    words = []
    for name, member in members.items():
        if not member.owned:
            words.append(f"{name} is new")
            continue
        owned = listed(member.owned)
        said = f"{name} had {owned}"
        if member.generation < latest:
            said += " in an earlier generation"
        words.append(said)
    return ", ".join(words)


def counts(partitions: PartitionCounts) -> str:
    """ "orders has 3 partitions and refunds has 1 partition"."""
    words = []
    for topic, count in partitions.items():
        said = f"{topic} has {count} partition"
        if count != 1:
            said += "s"
        words.append(said)
    return " and ".join(words)


def assigned(assignment: Assignment) -> str:
    """An assignment in words."""
    words = []
    for name, given in assignment.items():
        partitions = listed(given)
        words.append(f"{name}: {partitions}")
    if not words:
        return "nothing to anybody"
    return "; ".join(words)


_CONFIGS = {
    "group.initial.rebalance.delay.ms": 1000,
    "offsets.topic.num.partitions": 1,
}


def on_a_cluster(
    assign: Assignor,
    members: Members,
    partitions: PartitionCounts,
    cooperative: bool = False,
) -> Cluster:
    """The members with what they had; at 4 s one leaves that had the rest, those who
    had nothing join, and `assign` runs. It sees the members by the case's names.
    """
    cluster = Cluster(seed=6, configs=_CONFIGS)
    for topic, count in partitions.items():
        cluster.create_topic(topic, partitions=count)
    assignor: Any = _by_the_cases_names(assign, members, partitions)
    assignor.__name__ = "your_cooperative" if cooperative else "yours"
    assignor.cooperative = cooperative
    leaving: set[str] = set()

    def begin(name: str) -> None:
        consumer = cluster.consumer(
            *partitions,
            client_id=name,
            group_id="billing",
            partition_assignment_strategy=assignor,
            heartbeat_interval_ms=1000,
            **BUSY,
        )
        cluster.start(_read, consumer, leaving)

    shop = cluster.producer(client_id="shop")
    cluster.start(_sell, cluster, shop, every_partition(partitions))
    begin(LEAVES)
    for name, member in members.items():
        if member.owned:
            begin(name)
    cluster.run(seconds=4)
    leaving.add(LEAVES)
    for name, member in members.items():
        if not member.owned:
            begin(name)
    # what the clients remark about an assignment
    with contextlib.redirect_stdout(io.StringIO()):
        cluster.run(seconds=10)
    cluster.close()
    return cluster


def _by_the_cases_names(
    assign: Assignor, members: Members, partitions: PartitionCounts
) -> Assignor:
    """While the one who leaves is there, an assignor that gives all what they had; then
    `assign`, with the case's names for the members' ids.
    """
    owner = owner_of(members)

    def what_they_had(names: Iterable[str]) -> Assignment:
        had: Holdings = {}
        for name in names:
            had[name] = []
        for partition in every_partition(partitions):
            name = owner.get(partition, LEAVES)
            if name in had:
                had[name].append(partition)
        return had

    def assignor(found: Members, _: PartitionCounts) -> dict[str, Any]:
        ids = {}
        for member_id in found:
            name, *_rest = member_id.split("-")
            ids[name] = member_id
        given: Mapping[str, Any]
        if LEAVES in ids:
            given = what_they_had(ids)
        else:
            by_name = {}
            for name in sorted(ids):
                member_id = ids[name]
                by_name[name] = found[member_id]
            given = assign(by_name, dict(partitions))
        return {ids[name]: given[name] for name in given}

    return assignor


def _sell(cluster: Cluster, shop: Any, partitions: Sequence[Partition]) -> None:
    while True:
        for topic, number in partitions:
            shop.send(topic, partition=number, value="order")
        cluster.sleep(0.2)


def _read(consumer: Any, leaving: set[str]) -> None:
    while consumer.name not in leaving:
        consumer.poll(timeout_ms=500)
    consumer.close()

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

LEAVES = "old"  # the member that has what none of the others had
# whoever has records polls every 1.2 s
BUSY = {"max_poll_records": 4, "processing_ms": 300}


# the generation in which members had what they say; one that missed it names an earlier
# one
LATEST = 5


def group(**owned: Sequence[int]) -> dict[str, Member]:
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


def stale(members: dict[str, Member], name: str) -> dict[str, Member]:
    """The same, and this member has missed the latest rebalance."""
    member = members[name]._replace(generation=LATEST - 1)
    return {**members, name: member}


def owner_of(members: Mapping[str, Member]) -> dict[Partition, str]:
    """{partition: who had it}; where two say so, the one of the later generation."""
    names = sorted(members, key=lambda name: members[name].generation)
    owner = {}
    for name in names:
        owner.update(dict.fromkeys(members[name].owned, name))
    return owner


def every_partition(partitions: Mapping[str, int]) -> list[Partition]:
    """All of them, topic by topic."""
    every: list[Partition] = []
    for topic, count in partitions.items():
        every += [(topic, number) for number in range(count)]
    return every


NAMES: Sequence[str] = "ABCDE"
# one that is another's beginning, capitals, digits, no ASCII
MORE_NAMES = ("anna", "ann", "Anna", "b1", "b10", "łucja", "9")
# members, and the numbers of partitions of topics
Case = tuple[dict[str, Member], dict[str, int]]


def a_group(source: random.Random) -> Case:
    """Up to five members; each partition of one or two topics had one owner, or
    none.
    """
    how_many = source.choice((1, 1, 2))
    topics = ["orders", "refunds"][:how_many]
    partitions = {topic: source.choice((1, 2, 3, 5, 7, 12)) for topic in topics}
    count = source.randint(1, 5)
    people = NAMES[:count]
    if source.random() < 0.3:
        people = source.sample(MORE_NAMES, count)
    how_many_are_busy = source.randint(0, len(people))
    busy = people[:how_many_are_busy]  # the others are new
    held: dict[str, list[Partition]] = {name: [] for name in people}
    for partition in every_partition(partitions):
        if busy and source.random() < 0.8:
            held[source.choice(busy)].append(partition)
    members = {name: member(topics, owned) for name, owned in held.items()}
    return members, partitions


def a_group_with_quarrels(source: random.Random) -> Case:
    """Also one that still believes to have what it has lost, and partitions that are
    gone.
    """
    members, partitions = a_group(source)
    if source.random() < 0.4:
        topic, count = source.choice(sorted(partitions.items()))
        gone = (topic, count + source.randint(0, 1))
        name = source.choice(sorted(members))
        members[name] = member(partitions, (*members[name].owned, gone))
    if source.random() < 0.4:
        name = source.choice(sorted(members))
        every = every_partition(partitions)
        claimed = source.sample(every, source.randint(1, len(every)))
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
        yield {new[name]: member for name, member in members.items()}, partitions
    if len(members) > 1:
        for name in members:
            yield without(members, name), partitions
    for topic, less in itertools.product(partitions, (1, 2)):
        left = partitions[topic] - less
        fewer = {**partitions, topic: left}
        if left == 0:
            del fewer[topic]
        if left < 0 or not fewer:
            continue
        gone = {(topic, number) for number in range(left, partitions[topic])}
        with_fewer = {}
        for name, each in members.items():
            member = _without(each, gone)
            with_fewer[name] = member._replace(topics=tuple(fewer))
        yield with_fewer, fewer
    for name, each in members.items():
        for partition in each.owned:
            member = _without(each, {partition})
            yield {**members, name: member}, partitions


def _without(member: Member, gone: Container[Partition]) -> Member:
    left = [partition for partition in member.owned if partition not in gone]
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
        is_member = isinstance(value, Member)
        return Member(*parts) if is_member else tuple(parts)
    if isinstance(value, dict):
        return {salted(key, salt): salted(each, salt) for key, each in value.items()}
    return value


Assignment = Mapping[str, Iterable[Partition]]


def fewest_moves(members: Mapping[str, Member], partitions: Mapping[str, int]) -> int:
    """How many partitions must leave a member who is still there: all that it has above
    its fair share.
    """
    fair, extra = divmod(sum(partitions.values()), len(members))
    has: Counter[str] = Counter()
    for (topic, number), name in owner_of(members).items():
        is_there = number < partitions[topic]
        has[name] += is_there
    over = [count - fair for count in has.values() if count > fair]
    may_keep_one_more = min(extra, len(over))
    return sum(over) - may_keep_one_more


def assignment_given(
    found: Any, members: Mapping[str, Member]
) -> dict[str, list[Partition]]:
    """What the answer assigned, in any form that says the same. Raises WrongKind."""
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
                "Who gets nothing gets []: Java's member can't read a share of no"
                " bytes."
            )
            raise WrongKind(f"{name} has no entry. {why}")
    return found


def _partitions_given(name: str, given: Any) -> list[Partition]:
    are_pairs = isinstance(given, list | set) and all(map(_is_pair, given))
    if not are_pairs:
        raise WrongKind(
            f"it gave {name} {short(given)}. A share is a list of pairs (topic,"
            " partition)."
        )
    for topic, number in given:
        is_whole = isinstance(number, numbers.Integral)
        if isinstance(number, bool) or not is_whole:
            raise WrongKind(
                f"it gave ({topic!r}, {number!r}) to {name}. A partition is a whole"
                " number."
            )
    return [(topic, number) for topic, number in given]


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2


def unsteady(
    assign: Callable[..., Assignment], given: Sequence[Any], any_order: bool = False
) -> str | None:
    """What besides the group decides the answer: chance, the order of a set, or
    (any_order) that of the members.

    given: the arguments, all of them dictionaries, the members among them. assign: raises or gives an
    assignment, in a form already checked.
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
    """The same arguments, with the members in another order. That of the topics stays:
    nobody has said that it may not decide.
    """
    turned = list(given)
    for place, value in enumerate(given):
        are_members = any(isinstance(each, Member) for each in value.values())
        if are_members:
            turned[place] = dict(reversed(value.items()))
    return turned


def listed(partitions: Iterable[Partition]) -> str:
    names = [f"{topic}-{number}" for topic, number in sorted(partitions)]
    return " ".join(names) or "nothing"


def had(members: Mapping[str, Member]) -> str:
    """ "A had orders-0, B is new, C had orders-0 in an earlier generation"."""
    generations = [member.generation for member in members.values()]
    latest = max(generations, default=-1)
    words = []
    for name, member in members.items():
        if not member.owned:
            words.append(f"{name} is new")
            continue
        said = f"{name} had {listed(member.owned)}"
        if member.generation < latest:
            said += " in an earlier generation"
        words.append(said)
    return ", ".join(words)


def counts(partitions: Mapping[str, int]) -> str:
    words = []
    for topic, count in partitions.items():
        plural = "" if count == 1 else "s"
        words.append(f"{topic} has {count} partition{plural}")
    return " and ".join(words)


def assigned(assignment: Assignment) -> str:
    """An assignment in words."""
    words = [f"{name}: {listed(given)}" for name, given in assignment.items()]
    return "; ".join(words) or "nothing to anybody"


Assignor = Callable[[dict[str, Member], dict[str, int]], Mapping[str, Any]]

_CONFIGS = {
    "group.initial.rebalance.delay.ms": 1000,
    "offsets.topic.num.partitions": 1,
}


def on_a_cluster(
    assign: Assignor,
    members: Mapping[str, Member],
    partitions: Mapping[str, int],
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
    assign: Assignor, members: Mapping[str, Member], partitions: Mapping[str, int]
) -> Assignor:
    """While the one who leaves is there, an assignor that gives all what they had; then
    `assign`, with the case's names for the members' ids.
    """
    owner = owner_of(members)

    def assignor(found: dict[str, Member], _: dict[str, int]) -> dict[str, Any]:
        ids = {member_id.split("-")[0]: member_id for member_id in found}
        given: Mapping[str, Any]
        if LEAVES in ids:
            had: dict[str, list[Partition]] = {name: [] for name in ids}
            for partition in every_partition(partitions):
                name = owner.get(partition, LEAVES)
                if name in had:
                    had[name].append(partition)
            given = had
        else:
            by_name = {name: found[ids[name]] for name in sorted(ids)}
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

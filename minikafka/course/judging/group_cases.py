"""A group as data, for checks of assignors: in words, and played by real consumers on a
cluster.
"""

import contextlib
import io
import itertools
import numbers
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from minikafka import Cluster
from minikafka.coordinators.assignors import Member, Partition
from minikafka.course.judging.checks import WrongKind, short
from minikafka.course.judging.guard import plain

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
    return {
        name: member(("orders",), [("orders", number) for number in had])
        for name, had in owned.items()
    }


def member(
    topics: Iterable[str], had: Sequence[Partition], generation: int = LATEST
) -> Member:
    return Member(tuple(topics), tuple(had), generation if had else -1)


def stale(members: dict[str, Member], name: str) -> dict[str, Member]:
    """The same, and this member has missed the latest rebalance."""
    return {**members, name: members[name]._replace(generation=LATEST - 1)}


def owner_of(members: Mapping[str, Member]) -> dict[Partition, str]:
    """{partition: who had it}; where two say so, the one of the later generation."""
    names = sorted(members, key=lambda name: members[name].generation)
    return {partition: name for name in names for partition in members[name].owned}


NAMES = "ABCDE"
# members, and the numbers of partitions of topics
Case = tuple[dict[str, Member], dict[str, int]]


def a_group(source: random.Random) -> Case:
    """Up to five members; each partition of one or two topics had one owner, or
    none.
    """
    topics = ["orders", "refunds"][: source.choice((1, 1, 2))]
    partitions = {topic: source.randint(1, 7) for topic in topics}
    people = NAMES[: source.randint(1, 5)]
    busy = people[: source.randint(0, len(people))]  # the others are new
    held: dict[str, list[Partition]] = {name: [] for name in people}
    for topic, count in partitions.items():
        for number in range(count):
            if busy and source.random() < 0.8:
                held[source.choice(busy)].append((topic, number))
    return {name: member(topics, parts) for name, parts in held.items()}, partitions


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
        every = [
            (topic, number)
            for topic, count in partitions.items()
            for number in range(count)
        ]
        members[name] = member(
            partitions, source.sample(every, source.randint(1, len(every))), LATEST - 1
        )
    return members, partitions


def renamed(members: Iterable[str]) -> dict[str, str]:
    """{name: the name it would have if the first letters were taken}; empty if they
    are.
    """
    new = dict(zip(members, NAMES, strict=False))
    return {} if list(new) == list(new.values()) else new


def smaller_group(case: Case) -> Iterator[Case]:
    """Simpler variants: first names, one member fewer, one partition or two fewer (an
    odd number stays odd), less that was owned.
    """
    members, partitions = case
    new = renamed(members)
    if new:
        yield {new[name]: member for name, member in members.items()}, partitions
    for name in members:
        if len(members) > 1:
            yield (
                {other: member for other, member in members.items() if other != name},
                partitions,
            )
    for topic, less in itertools.product(partitions, (1, 2)):
        left = partitions[topic] - less
        fewer = {
            name: number
            for name, number in {**partitions, topic: left}.items()
            if number > 0
        }
        gone = {(topic, number) for number in range(left, partitions[topic])}
        if left >= 0 and fewer:
            owned = {
                name: tuple(part for part in each.owned if part not in gone)
                for name, each in members.items()
            }
            yield (
                {
                    name: each._replace(topics=tuple(fewer), owned=owned[name])
                    for name, each in members.items()
                },
                fewer,
            )
    for name, each in members.items():
        for part in each.owned:
            yield (
                {
                    **members,
                    name: each._replace(
                        owned=tuple(o for o in each.owned if o != part)
                    ),
                },
                partitions,
            )


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
    if isinstance(value, Member):
        return Member(*(salted(each, salt) for each in value))
    if isinstance(value, tuple):
        return tuple(salted(each, salt) for each in value)
    if isinstance(value, dict):
        return {salted(key, salt): salted(each, salt) for key, each in value.items()}
    return value


Shares = Mapping[str, Iterable[Partition]]


def fewest_moves(members: Mapping[str, Member], partitions: Mapping[str, int]) -> int:
    """How many partitions must leave a member who is still there: all that it has above
    its fair share.
    """
    fair, extra = divmod(sum(partitions.values()), len(members))
    there = [
        name
        for (topic, number), name in owner_of(members).items()
        if number < partitions[topic]
    ]
    over = [count - fair for count in Counter(there).values() if count > fair]
    return sum(over) - min(extra, len(over))


def shares_given(
    found: Any, members: Mapping[str, Member]
) -> dict[str, list[Partition]]:
    """The answer's shares, in any form that says the same. Raises WrongKind."""
    found = plain(found)
    if found is None:
        raise WrongKind("it returned None. The last line should be a return.")
    if not isinstance(found, dict):
        kind = type(found).__name__
        raise WrongKind(
            f"it returned a {kind}, not a dictionary {{member: [(topic, partition),"
            " ...]}."
        )
    for name, share in found.items():
        if name not in members:
            raise WrongKind(
                f"it gave a share to {name!r}, and there is no such member:"
                f" {', '.join(members)}."
            )
        if not isinstance(share, list | set) or not all(
            isinstance(p, list | tuple) and len(p) == 2 for p in share
        ):
            raise WrongKind(
                f"it gave {name} {short(share)}. A share is a list of pairs (topic,"
                " partition)."
            )
        for topic, number in share:
            if isinstance(number, bool) or not isinstance(number, numbers.Integral):
                raise WrongKind(
                    f"it gave ({topic!r}, {number!r}) to {name}. A partition is a whole"
                    " number."
                )
        found[name] = [(topic, number) for topic, number in share]
    for name in members:
        if name not in found:
            why = (
                "Who gets nothing gets []: Java's member can't read a share of no"
                " bytes."
            )
            raise WrongKind(f"{name} has no entry. {why}")
    return found


def unsteady(
    assign: Callable[..., Shares], given: Sequence[Any], any_order: bool = False
) -> str | None:
    """What besides the group decides the answer: chance, the order of a set, or
    (any_order) that of the members.

    given: the arguments, the members as a dict among them. assign: raises or gives
    shares, in a form already checked.
    """

    def in_words(arguments: Sequence[Any]) -> str:
        found = assign(*arguments)
        return shares(
            {str(name): [(str(t), n) for t, n in found[name]] for name in sorted(found)}
        )

    first = in_words(given)
    others = [
        ("asked again, it gave something else: chance decides.", [list(given)] * 4)
    ]
    if any_order:
        turned = [
            dict(reversed(value.items())) if isinstance(value, dict) else value
            for value in given
        ]
        others.append(
            ("with the same members in another order it gave something else.", [turned])
        )
    for line, tries in others:
        for arguments in tries:
            if (found := in_words(arguments)) != first:
                return f"{line}\nfirst {first}\nthen  {found}"
    for salt in range(1, 9):
        try:
            found = in_words([salted(value, salt) for value in given])
        except Exception:  # it looks for a name of its own; that is for others to judge
            return None
        if found != first:
            line = (
                "the order of a set decides, and that is another one in each run of"
                " Python."
            )
            return f"{line}\nhere  {first}\nthere {found}"
    return None


def listed(partitions: Iterable[Partition]) -> str:
    return (
        " ".join(f"{topic}-{number}" for topic, number in sorted(partitions))
        or "nothing"
    )


def had(members: Mapping[str, Member]) -> str:
    """ "A had orders-0, B is new, C had orders-0 in an earlier generation"."""
    latest = max((member.generation for member in members.values()), default=-1)
    return ", ".join(
        (
            f"{name} had {listed(member.owned)}"
            f"{' in an earlier generation' * (member.generation < latest)}"
            if member.owned
            else f"{name} is new"
        )
        for name, member in members.items()
    )


def counts(partitions: Mapping[str, int]) -> str:
    return " and ".join(
        f"{topic} has {count} partition{'s' * (count != 1)}"
        for topic, count in partitions.items()
    )


def shares(assignment: Mapping[str, Iterable[Partition]]) -> str:
    return (
        "; ".join(f"{name}: {listed(share)}" for name, share in assignment.items())
        or "nothing to anybody"
    )


def on_a_cluster(
    assign: Callable[[dict[str, Member], dict[str, int]], Mapping[str, Any]],
    members: Mapping[str, Member],
    partitions: Mapping[str, int],
    cooperative: bool = False,
) -> Cluster:
    """The members with what they had; at 4 s one leaves that had the rest, those who
    had nothing join, and `assign` runs. It sees the members by the case's names.
    """
    cluster = Cluster(
        seed=6,
        configs={
            "group.initial.rebalance.delay.ms": 1000,
            "offsets.topic.num.partitions": 1,
        },
    )
    for topic, count in partitions.items():
        cluster.create_topic(topic, partitions=count)
    every = [
        (topic, number)
        for topic, count in partitions.items()
        for number in range(count)
    ]
    owner, leaving = owner_of(members), set[str]()

    def assignor(found: dict[str, Member], _: dict[str, int]) -> dict[str, Any]:
        ids = {member_id.split("-")[0]: member_id for member_id in found}
        if LEAVES in ids:
            given: Mapping[str, Any] = {
                name: [part for part in every if owner.get(part, LEAVES) == name]
                for name in ids
            }
        else:
            given = assign(
                {name: found[ids[name]] for name in sorted(ids)}, dict(partitions)
            )
        return {ids[name]: share for name, share in given.items()}

    assignor.__name__ = "your_cooperative" if cooperative else "yours"
    assignor.cooperative = cooperative  # type: ignore[attr-defined]
    settings = {
        "group_id": "billing",
        "partition_assignment_strategy": assignor,
        "heartbeat_interval_ms": 1000,
    }

    def begin(names: Iterable[str]) -> None:
        for name in names:
            cluster.start(
                _read,
                cluster.consumer(*partitions, client_id=name, **settings, **BUSY),
                leaving,
            )

    cluster.start(_sell, cluster, cluster.producer(client_id="shop"), every)
    begin([LEAVES, *(name for name, member in members.items() if member.owned)])
    cluster.run(seconds=4)
    leaving.add(LEAVES)
    begin(name for name, member in members.items() if not member.owned)
    # what the clients remark about an assignment
    with contextlib.redirect_stdout(io.StringIO()):
        cluster.run(seconds=10)
    cluster.close()
    return cluster


def _sell(cluster: Cluster, shop: Any, partitions: Sequence[Partition]) -> None:
    while True:
        for topic, number in partitions:
            shop.send(topic, partition=number, value="order")
        cluster.sleep(0.2)


def _read(consumer: Any, leaving: set[str]) -> None:
    while consumer.name not in leaving:
        consumer.poll(timeout_ms=500)
    consumer.close()

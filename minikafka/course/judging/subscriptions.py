"""Groups whose members read topics of their own, as data, for checks of assignors."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence

from minikafka.coordinators.assignors import Member
from minikafka.course.judging.source_offsets import without

# members by name, and how many partitions each topic has
Case = tuple[dict[str, Member], dict[str, int]]


def group(readers: Mapping[str, str], **partitions: int) -> Case:
    """({member: Member}, {topic: number of partitions}); readers: {member: its topics,
    with spaces between}.
    """
    members = {}
    for name, topics in readers.items():
        members[name] = reader_of(topics.split())
    return members, partitions


def reader_of(topics: Iterable[str]) -> Member:
    """A member that subscribes to these."""
    return Member(tuple(topics))


NAMES: Sequence[str] = "ABCDEFGHIJKL"
# as ids are: one that is another's beginning, capitals, digits, no ASCII
IDS: Sequence[str] = (
    "billing-1",
    "billing-10",
    "billing-2",
    "Billing-1",
    "billing",
    "łucja-1",
    "9",
)
TOPICS = ("orders", "payments", "orders-old")


def a_group(source: random.Random) -> Case:
    """Up to five members, now and then twelve, up to three topics; most groups read the
    same topics, some don't.
    """
    names = _some_names(source)
    how_many = source.choice((1, 1, 1, 2, 2, 3))
    topics = source.sample(TOPICS, how_many)
    partitions = {}
    for topic in topics:
        partitions[topic] = source.choice((1, 2, 3, 5, 7, 12))
    are_alike = source.random() < 0.6
    members = {}
    for name in names:
        mine = topics if are_alike else _some_of(topics, source)
        members[name] = reader_of(mine)
    return members, wanted(members, partitions)


def _some_names(source: random.Random) -> list[str]:
    """The names of up to five members, occasionally twelve."""
    pool = NAMES
    most = len(NAMES)
    if source.random() < 0.9:
        pool = source.choice((NAMES, IDS))
        most = 5
    return source.sample(pool, source.randint(1, most))


def _some_of(topics: list[str], source: random.Random) -> list[str]:
    """A random choice of topics, at least one."""
    chosen = [topic for topic in topics if source.random() < 0.7]
    return chosen or topics[:1]


def wanted(
    members: Mapping[str, Member], partitions: Mapping[str, int]
) -> dict[str, int]:
    """The topics that somebody reads, with their numbers of partitions."""
    topics: set[str] = set()
    for member in members.values():
        topics.update(member.topics)
    return {topic: count for topic, count in partitions.items() if topic in topics}


def smaller(case: Case) -> Iterator[Case]:
    """A member fewer, a topic fewer, fewer partitions, simpler names."""
    members, partitions = case
    if len(members) > 1:
        for name in members:
            rest = without(members, name)
            yield rest, wanted(rest, partitions)
    for topic in partitions:
        rest = _without_topic(members, topic)
        if all(member.topics for member in rest.values()):
            yield rest, without(partitions, topic)
    for topic, count in partitions.items():
        for fewer in range(1, count):
            yield members, {**partitions, topic: fewer}
    simpler = list(NAMES[: len(members)])
    if list(members) != simpler:
        yield dict(zip(NAMES, members.values(), strict=False)), partitions


def _without_topic(members: Mapping[str, Member], topic: str) -> dict[str, Member]:
    """The same members, with their other topics."""
    found = {}
    for name, member in members.items():
        others = [each for each in member.topics if each != topic]
        found[name] = reader_of(others)
    return found

"""Groups whose members read topics of their own, as data, for checks of assignors."""

import random
from collections.abc import Iterator, Mapping, Sequence

from minikafka.coordinators.assignors import Member
from minikafka.course.judging.source_offsets import without

# members, and the numbers of partitions of topics
Case = tuple[dict[str, Member], dict[str, int]]


def group(readers: Mapping[str, str], **partitions: int) -> Case:
    """({member: Member}, {topic: number of partitions}); readers: {member: its topics,
    with spaces between}.
    """
    members = {name: Member(tuple(readers[name].split())) for name in readers}
    return members, partitions


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
    pool, most = NAMES, len(NAMES)
    if source.random() < 0.9:
        pool, most = source.choice((NAMES, IDS)), 5
    names = source.sample(pool, source.randint(1, most))
    how_many = source.choice((1, 1, 1, 2, 2, 3))
    topics = source.sample(TOPICS, how_many)
    partitions = {topic: source.choice((1, 2, 3, 5, 7, 12)) for topic in topics}
    alike = source.random() < 0.6
    members = {}
    for name in names:
        mine = topics
        if not alike:
            mine = [topic for topic in topics if source.random() < 0.7]
        if not mine:
            mine = topics[:1]
        members[name] = Member(tuple(mine))
    return members, wanted(members, partitions)


def wanted(
    members: Mapping[str, Member], partitions: Mapping[str, int]
) -> dict[str, int]:
    """The topics that somebody reads, with their numbers of partitions."""
    topics = {topic for member in members.values() for topic in member.topics}
    return {topic: partitions[topic] for topic in partitions if topic in topics}


def smaller(case: Case) -> Iterator[Case]:
    """A member fewer, a topic fewer, fewer partitions, simpler names."""
    members, partitions = case
    if len(members) > 1:
        for name in members:
            rest = without(members, name)
            yield rest, wanted(rest, partitions)
    for topic in partitions:
        rest = {}
        for name, member in members.items():
            others = [each for each in member.topics if each != topic]
            rest[name] = Member(tuple(others))
        if all(member.topics for member in rest.values()):
            yield rest, without(partitions, topic)
    for topic, count in partitions.items():
        for fewer in range(1, count):
            yield members, {**partitions, topic: fewer}
    simpler = list(NAMES[: len(members)])
    if list(members) != simpler:
        yield dict(zip(NAMES, members.values(), strict=False)), partitions

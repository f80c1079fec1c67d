"""Our assignors beside Apache Kafka's own: named cases, then 1,000 groups from chains
of random changes. Java is asked at night (tests/recording.py).
"""

import random
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pytest

from minikafka.coordinators.assignors import (
    ASSIGNORS,
    Assignment,
    Member,
    assign_sticky,
    owners,
)
from minikafka.coordinators.server_assignors import SERVER_ASSIGNORS
from tests.coordinators.java_assignors import TOPICS, JavaAssignors
from tests.recording import Recording

RECORDING = Recording(__file__)


class Group(NamedTuple):
    """What an assignor is asked. partitions: of the subscribed topics alone, as Java's
    callers pass it.
    """

    members: dict[str, Member]
    partitions: dict[str, int]


def group(partitions: Mapping[str, int], **members: Member) -> Group:
    wanted = {topic for member in members.values() for topic in member.topics}
    return Group(
        members,
        {topic: count for topic, count in partitions.items() if topic in wanted},
    )


@pytest.fixture(scope="module")
def java() -> Iterator[JavaAssignors]:
    with JavaAssignors() as java:
        yield java


BOTH = ("t1", "t2")
ALL_OF_T1 = tuple(("t1", number) for number in range(6))
CASES = {
    "one member": group({"t1": 3}, a=Member(("t1",))),
    "more members than partitions": group(
        {"t1": 2}, a=Member(("t1",)), b=Member(("t1",)), c=Member(("t1",))
    ),
    "two topics alike are cut alike": group(
        {"t1": 3, "t2": 3}, a=Member(BOTH), b=Member(BOTH)
    ),
    "static members come first, by instance id": group(
        {"t1": 5},
        a=Member(("t1",)),
        b=Member(("t1",), instance_id="y"),
        c=Member(("t1",), instance_id="x"),
    ),
    "a topic that not all want": group(
        {"t1": 5, "t2": 4}, a=Member(BOTH), b=Member(("t2",)), c=Member(("t1",))
    ),
    "a topic subscribed twice": group(
        {"t1": 3, "t2": 2}, a=Member(("t1", "t1", "t2")), b=Member(BOTH)
    ),
    "a topic of which there is no metadata": group(
        {"t1": 3}, a=Member(("t1", "t9")), b=Member(("t1", "t9"))
    ),
    "one joins the owner of everything": group(
        {"t1": 6}, a=Member(("t1",), ALL_OF_T1, 4), b=Member(("t1",))
    ),
    "the later generation is right": group(
        {"t1": 6},
        a=Member(("t1",), ALL_OF_T1, 3),
        b=Member(("t1",), ALL_OF_T1[:3], 4),
        c=Member(("t1",)),
    ),
    "two claim the same in one generation": group(
        {"t1": 6},
        a=Member(("t1",), ALL_OF_T1[:4], 4),
        b=Member(("t1",), ALL_OF_T1[2:], 4),
    ),
    "a member left a topic": group(
        {"t1": 6, "t2": 2}, a=Member(("t2",), ALL_OF_T1, 4), b=Member(BOTH)
    ),
}


of_clients = pytest.mark.parametrize("name", CASES)
# A coordinator's target names no partition twice and no topic that doesn't exist.
of_brokers = pytest.mark.parametrize(
    "name",
    [name for name in CASES if "generation" not in name and "no metadata" not in name],
)


@of_clients
def test_the_clients_assignors_answer_as_recorded(name: str):
    RECORDING.check(f"clients: {name}", [client_side(CASES[name])])


@of_brokers
def test_the_brokers_assignors_answer_as_recorded(name: str):
    asked = CASES[name]
    RECORDING.check(f"brokers: {name}", [server_side(asked.members, asked.partitions)])


@pytest.mark.java
@pytest.mark.nightly
@of_clients
def test_the_clients_assignors_in_named_cases(java: JavaAssignors, name: str):
    RECORDING.confirm(f"clients: {name}", [check_client_side(CASES[name], java)])


@pytest.mark.java
@pytest.mark.nightly
@of_brokers
def test_the_brokers_assignors_in_named_cases(java: JavaAssignors, name: str):
    RECORDING.confirm(f"brokers: {name}", [check_server_side(CASES[name], java)])


@pytest.mark.java
@pytest.mark.nightly
@pytest.mark.parametrize("first_seed", range(0, 250, 50))
@pytest.mark.parametrize(
    "same_topics", [True, False], ids=["same topics", "different topics"]
)
def test_a_thousand_groups(java: JavaAssignors, same_topics: bool, first_seed: int):
    """In chains of four: members join and leave, topics grow and appear, each time from
    what we assigned before.
    """
    for seed in range(first_seed, first_seed + 25):
        for asked in chain(random.Random(f"{seed} {same_topics}"), same_topics):
            check_client_side(asked, java)
            check_server_side(asked, java)


def chain(rng: random.Random, same_topics: bool) -> Iterator[Group]:
    partitions = {topic: rng.randint(1, 9) for topic in TOPICS[: rng.randint(1, 4)]}
    members: dict[str, Member] = {}
    for _ in range(rng.randint(1, 6)):
        join(rng, members)
    for generation in range(1, 5):
        for member_id, member in members.items():
            if same_topics:
                members[member_id] = member._replace(topics=tuple(partitions))
            elif not member.topics or rng.random() < 0.1:
                some = rng.sample(sorted(partitions), rng.randint(1, len(partitions)))
                members[member_id] = member._replace(topics=tuple(some))
        asked = group(partitions, **members)
        yield asked
        for member_id, share in assign_sticky(*asked).items():
            members[member_id] = members[member_id]._replace(
                owned=tuple(share), generation=generation
            )
        for _ in range(rng.randint(1, 3)):
            change(rng, members, partitions)


def join(rng: random.Random, members: dict[str, Member]) -> None:
    static = f"i{rng.randrange(1000)}" if rng.random() < 0.3 else None
    members[f"m{rng.randrange(10_000)}"] = Member((), instance_id=static)


def change(
    rng: random.Random, members: dict[str, Member], partitions: dict[str, int]
) -> None:
    what = rng.choice(["join", "leave", "topic grows", "new topic"])
    if what == "join":
        join(rng, members)
    elif what == "leave" and len(members) > 1:
        del members[rng.choice(sorted(members))]
    elif what == "topic grows":
        partitions[rng.choice(sorted(partitions))] += rng.randint(1, 4)
    elif what == "new topic" and len(partitions) < 6:
        partitions[TOPICS[len(partitions)]] = rng.randint(1, 9)


def client_side(asked: Group) -> dict[str, Assignment]:
    return {name: assignor.assign(*asked) for name, assignor in ASSIGNORS.items()}


def server_side(
    members: Mapping[str, Member], partitions: Mapping[str, int]
) -> dict[str, Assignment]:
    return {
        name: assign(members, partitions) for name, assign in SERVER_ASSIGNORS.items()
    }


def check_client_side(asked: Group, java: JavaAssignors) -> dict[str, Assignment]:
    """What ours answer."""
    ours, theirs = client_side(asked), java.client_side(*asked)
    assert in_order(ours["range"]) == in_order(theirs["range"])
    assert ours["roundrobin"] == theirs["roundrobin"]
    assert sizes(ours["sticky"]) == sizes(theirs["sticky"])
    before = owners(asked.members)
    assert moves(before, ours["sticky"]) <= moves(before, theirs["sticky"])
    name = "cooperative-sticky"
    withheld = len(partitions_of(theirs["sticky"])) - len(partitions_of(theirs[name]))
    assert (
        len(partitions_of(ours["sticky"])) - len(partitions_of(ours[name])) <= withheld
    )
    for assignment in (ours[name], theirs[name]):
        assert moves(before, assignment) == 0  # what was somebody's is nobody's for now
    return ours


def check_server_side(asked: Group, java: JavaAssignors) -> dict[str, Assignment]:
    """What ours answer."""
    members = {
        member_id: Member(member.topics, member.owned, instance_id=member.instance_id)
        for member_id, member in asked.members.items()
    }
    order, theirs = java.server_side(members, asked.partitions)
    # so ties fall as Java's
    ours = server_side({each: members[each] for each in order}, asked.partitions)
    assert in_order(ours["range"]) == in_order(theirs["range"])
    assert sizes(ours["uniform"]) == sizes(theirs["uniform"])
    before = owners(asked.members)
    assert moves(before, ours["uniform"]) == moves(before, theirs["uniform"])
    return ours


def in_order(assignment: Assignment) -> Assignment:
    """Java has the topics in the order of a hash map."""
    return {member: sorted(share) for member, share in assignment.items()}


def partitions_of(assignment: Assignment) -> list[tuple[str, int]]:
    return [partition for share in assignment.values() for partition in share]


def sizes(assignment: Assignment) -> list[int]:
    return sorted(len(share) for share in assignment.values())


def moves(before: Mapping[tuple[str, int], str | None], assignment: Assignment) -> int:
    """How many partitions somebody had and somebody else gets."""
    return sum(
        before.get(partition, member) != member
        for member, share in assignment.items()
        for partition in share
    )

"""What every assignor promises, and the worked examples of the docs: no Java needed."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minikafka.coordinators.assignors import (
    ASSIGNORS,
    Assignment,
    Member,
    assign_cooperative_sticky,
    assign_range,
    assign_round_robin,
    assign_sticky,
)
from minikafka.coordinators.server_assignors import SERVER_ASSIGNORS, assign_uniform
from tests.work import MemberId, counted

T1 = ("t1",)
TOPICS = ["t1", "t2", "t3"]
Group = tuple[dict[str, Member], dict[str, int]]


def part(*numbers: int) -> tuple[tuple[str, int], ...]:
    return tuple(("t1", number) for number in numbers)


@st.composite
def groups(draw: st.DrawFn, same_topics: bool = False) -> Group:
    """Members with a past that may be wrong: stale generations, partitions claimed
    twice, or that don't exist.
    """
    partitions = draw(st.dictionaries(st.sampled_from(TOPICS), st.integers(0, 6)))
    topics = (
        st.just(TOPICS)
        if same_topics
        else st.lists(st.sampled_from(TOPICS), unique=True)
    )
    claim = st.tuples(st.sampled_from(TOPICS), st.integers(0, 7))
    member = st.builds(
        Member,
        topics.map(tuple),
        st.lists(claim, max_size=8).map(tuple),
        st.integers(-1, 3),
        st.sampled_from([None, "x", "y"]),
    )
    members = draw(st.dictionaries(st.sampled_from("abcde"), member))
    static = {
        m: f"{member.instance_id}-{m}" if member.instance_id else None
        for m, member in members.items()
    }
    return {
        m: member._replace(instance_id=static[m]) for m, member in members.items()
    }, partitions


def rebalance_often(
    members: dict[str, Member], partitions: dict[str, int], rounds: int
) -> tuple[dict[str, Member], int]:
    """Rebalance so often with cooperative-sticky; each member then claims what it was
    given. How many moved at once?
    """
    moved = 0
    for generation in range(10, 10 + rounds):
        owner = {p: m for m, member in members.items() for p in member.owned}
        assignment = assign_cooperative_sticky(members, partitions)
        moved += sum(
            owner.get(p, m) != m for m, share in assignment.items() for p in share
        )
        members = {
            m: member._replace(owned=tuple(assignment[m]), generation=generation)
            for m, member in members.items()
        }
    return members, moved


@pytest.mark.parametrize("name", ["range", "roundrobin", "sticky"])
@given(group=groups())
def test_every_partition_of_a_wanted_topic_gets_one_owner_who_wants_it(
    name: str, group: Group
):
    check_one_owner_each(group, ASSIGNORS[name].assign(*group))


@pytest.mark.parametrize("name", SERVER_ASSIGNORS)
@given(group=groups())
def test_the_brokers_assignors_give_every_partition_one_owner_too(
    name: str, group: Group
):
    check_one_owner_each(
        group, SERVER_ASSIGNORS[name](as_server_members(group[0]), group[1])
    )


def check_one_owner_each(group: Group, assignment: Assignment) -> None:
    members, partitions = group
    wanted = {topic for member in members.values() for topic in member.topics}
    assert assignment.keys() == members.keys()
    given_out = sorted(
        partition for share in assignment.values() for partition in share
    )
    assert given_out == [
        (t, n) for t in sorted(partitions) if t in wanted for n in range(partitions[t])
    ]
    for member_id, share in assignment.items():
        assert {topic for topic, _ in share} <= set(members[member_id].topics)


def as_server_members(members: dict[str, Member]) -> dict[str, Member]:
    """A coordinator's target names no partition twice."""
    seen: set[tuple[str, int]] = set()
    result = {}
    for member_id, member in members.items():
        own = tuple(p for p in dict.fromkeys(member.owned) if p not in seen)
        seen.update(own)
        result[member_id] = Member(member.topics, own, instance_id=member.instance_id)
    return result


@given(group=groups(same_topics=True))
def test_sticky_is_even_and_moves_as_few_as_an_even_assignment_can(group: Group):
    """With the same topics: a member gives up only what is above its share, and shares
    differ by one at most.
    """
    members, partitions = group
    claims = as_server_members(members)
    members = {m: claims[m]._replace(generation=1) for m in members}
    assignment = assign_sticky(members, partitions)
    sizes = [len(share) for share in assignment.values()]
    assert max(sizes, default=0) - min(sizes, default=0) <= 1
    kept = sum(
        len(set(assignment[m]) & set(member.owned)) for m, member in members.items()
    )
    had = sorted(
        sum(n < partitions.get(t, 0) for t, n in member.owned)
        for member in members.values()
    )
    # the best: long shares for those who had most
    assert kept == sum(map(min, had, sorted(sizes)))
    assert sorted(sizes) == sorted(
        len(share) for share in assign_uniform(claims, partitions).values()
    )


@pytest.mark.parametrize("name", ["sticky", "uniform"])
@given(group=groups())
def test_with_different_topics_no_single_move_would_make_it_more_even(
    name: str, group: Group
):
    members, partitions = group
    if name == "sticky":
        assignment = assign_sticky(members, partitions)
    else:
        assignment = assign_uniform(as_server_members(members), partitions)
    for giver, share in assignment.items():
        for topic in {topic for topic, _ in share}:
            takers = [member for member in members if topic in members[member].topics]
            assert all(len(share) - len(assignment[taker]) <= 1 for taker in takers), (
                giver,
                topic,
            )


@given(group=groups())
def test_sticky_and_uniform_asked_again_move_nothing(group: Group):
    members, partitions = group
    first = assign_sticky(members, partitions)
    again = {
        m: member._replace(owned=tuple(first[m]), generation=9)
        for m, member in members.items()
    }
    assert assign_sticky(again, partitions) == first
    targets = assign_uniform(as_server_members(members), partitions)
    standing = {
        m: Member(member.topics, tuple(targets[m])) for m, member in members.items()
    }
    assert assign_uniform(standing, partitions) == targets


@given(group=groups())
def test_kip_429_cooperative_sticky_moves_nothing_at_once_and_is_there_after_two_more_rebalances(
    group: Group,
):
    members, partitions = group
    # now no partition is claimed twice
    rebalanced, _ = rebalance_often(members, partitions, rounds=1)
    rebalanced, moved = rebalance_often(rebalanced, partitions, rounds=2)
    assert moved == 0
    check_one_owner_each(
        (members, partitions),
        {m: list(member.owned) for m, member in rebalanced.items()},
    )


@given(group=groups(), seed=st.integers(0, 9))
def test_the_order_of_members_and_topics_changes_nothing(group: Group, seed: int):
    members, partitions = group
    shuffled, counts = list(members.items()), list(partitions.items())
    random.Random(seed).shuffle(shuffled)
    random.Random(seed).shuffle(counts)
    for assignor in ASSIGNORS.values():
        assert assignor.assign(dict(shuffled), dict(counts)) == assignor.assign(
            members, partitions
        )


def test_range_gives_the_remainder_of_every_topic_to_the_first_members():
    """So with many topics the first get much more: why round-robin exists."""
    members = {name: Member(("t1", "t2", "t3")) for name in ("a", "b")}
    assignment = assign_range(members, {"t1": 3, "t2": 3, "t3": 3})
    assert [len(share) for share in assignment.values()] == [6, 3]
    assert assignment["b"] == [("t1", 2), ("t2", 2), ("t3", 2)]


def test_round_robin_is_uneven_where_subscriptions_differ():
    """KIP-54's example: three members, topics of one, two and three partitions."""
    members = {
        "c0": Member(("t0",)),
        "c1": Member(("t0", "t1")),
        "c2": Member(("t0", "t1", "t2")),
    }
    partitions = {"t0": 1, "t1": 2, "t2": 3}
    assert {
        m: len(share) for m, share in assign_round_robin(members, partitions).items()
    } == {
        "c0": 1,
        "c1": 1,
        "c2": 4,
    }
    assert {
        m: len(share) for m, share in assign_sticky(members, partitions).items()
    } == {"c0": 1, "c1": 2, "c2": 3}


def test_sticky_leaves_the_others_alone_when_one_leaves():
    """KIP-54: t0 to t3 with two partitions each; round-robin would move five of the six
    that stay owned.
    """
    partitions = {f"t{n}": 2 for n in range(4)}
    first = assign_sticky(
        {f"c{n}": Member(tuple(partitions)) for n in range(3)}, partitions
    )
    left = {m: Member(tuple(partitions), tuple(first[m]), 1) for m in ("c0", "c2")}
    assignment = assign_sticky(left, partitions)
    assert all(set(member.owned) <= set(assignment[m]) for m, member in left.items())
    assert [len(share) for share in assignment.values()] == [4, 4]


def test_what_is_given_out_anew_moves_before_what_somebody_has():
    """a is given t1-1, t2-0 and t2-1 in turns with b and c; what is then uneven is put
    right without t1-0.
    """
    members = {
        "a": Member(("t1", "t2"), (("t1", 0),), 1),
        "b": Member(T1, (("t1", 2),), 1),
        "c": Member(("t2",), (("t2", 2),), 1),
    }
    assignment = assign_sticky(members, {"t1": 3, "t2": 3})
    assert all(set(member.owned) <= set(assignment[m]) for m, member in members.items())
    assert [len(share) for share in assignment.values()] == [2, 2, 2]


def test_a_partition_that_moved_away_comes_back_before_another_one_moves():
    d = (("t1", 0), ("t1", 1), ("t1", 2), ("t2", 1))
    members = {
        "a": Member(T1),
        "b": Member(("t2",), (("t2", 2),), 1),
        "c": Member(T1),
        "d": Member(("t1", "t2"), d, 1),
    }
    assignment = assign_sticky(members, {"t1": 3, "t2": 3})
    assert len(set(d) - set(assignment["d"])) == 2
    assert sorted(len(share) for share in assignment.values()) == [1, 1, 2, 2]


def test_kip_792_the_later_generation_is_believed():
    """A member that missed a rebalance comes back with what it had before it."""
    members = {"back": Member(T1, part(0, 1, 2), 3), "there": Member(T1, part(0, 1), 4)}
    assert assign_cooperative_sticky(members, {"t1": 4}) == {
        "back": [*part(2, 3)],
        "there": [*part(0, 1)],
    }


def test_two_claims_of_one_generation_are_both_void_and_both_must_be_given_up():
    members = {"a": Member(T1, part(0, 1), 4), "b": Member(T1, part(1, 2), 4)}
    assert assign_cooperative_sticky(members, {"t1": 3}) == {
        "a": [*part(0)],
        "b": [*part(2)],
    }
    assert (
        len(assign_sticky(members, {"t1": 3})["a"])
        + len(assign_sticky(members, {"t1": 3})["b"])
        == 3
    )


def test_a_partition_of_a_topic_its_owner_no_longer_wants_waits_for_it_too():
    members = {"a": Member(("t2",), part(0), 4), "b": Member(T1)}
    assert assign_cooperative_sticky(members, {"t1": 2, "t2": 1}) == {
        "a": [("t2", 0)],
        "b": [*part(1)],
    }


def test_a_group_without_members_and_members_without_topics():
    for assignor in ASSIGNORS.values():
        assert assignor.assign({}, {"t1": 2}) == {}
        assert assignor.assign({"a": Member(T1), "b": Member(())}, {}) == {
            "a": [],
            "b": [],
        }


def test_only_cooperative_sticky_is_cooperative():
    assert {name: assignor.cooperative for name, assignor in ASSIGNORS.items()} == {
        "range": False,
        "roundrobin": False,
        "sticky": False,
        "cooperative-sticky": True,
    }


@pytest.mark.parametrize("step", [1, 2])
def test_kip_848_uniform_does_not_look_at_all_members_for_each_partition(step: int):
    """step: 1 if all members want the same topics."""
    partitions = {f"t{number}": 250 for number in range(8)}
    topics = list(partitions)
    members = {
        MemberId(number): Member(tuple(topics[number % step :: step]))
        for number in range(200)
    }
    with counted() as work:
        assignment = assign_uniform(members, partitions)
    assert {len(share) for share in assignment.values()} == {10}
    few = dict(list(members.items())[:20])
    for member, share in assign_uniform(few, partitions).items():
        members[member] = members[member]._replace(owned=tuple(share))
    with counted() as more_work:
        assign_uniform(members, partitions)
    most = 50 * (len(members) * len(topics) + sum(partitions.values()))
    assert work.calls < most
    assert more_work.calls < most

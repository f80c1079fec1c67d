"""The assignor of share groups (KIP-932): every partition is read, every member reads, and
all as evenly as can be.
"""

from collections import Counter

import pytest

from minikafka.coordinators.share_assignor import assign
from tests.work import MemberId, TopicId, counted

A, B = b"a" * 16, b"b" * 16


def same(members, topics=(A,)):
    return {f"m{number}": frozenset(topics) for number in range(members)}


def sizes(target):
    return sorted(len(partitions) for partitions in target.values())


def readers(target):
    return Counter(each for partitions in target.values() for each in partitions)


@pytest.mark.parametrize(
    ("members", "partitions", "expected"),
    [
        (1, 3, [3]),
        (2, 3, [1, 2]),
        (3, 3, [1, 1, 1]),
        (4, 2, [1, 1, 1, 1]),
        (5, 2, [1, 1, 1, 1, 2]),
        (3, 1, [1, 1, 1]),
        (2, 0, [0, 0]),
    ],
)
def test_all_have_about_as_many(members, partitions, expected):
    target = assign(same(members), {}, {A: range(partitions)})
    assert sizes(target) == expected
    assert len(readers(target)) == partitions


def test_members_keep_what_they_have():
    before = assign(same(2), {}, {A: range(4)})
    after = assign(same(2), before, {A: range(4)})
    assert after == before
    grown = assign(same(2), before, {A: range(6)})
    assert all(before[member] <= grown[member] for member in before)
    assert sizes(grown) == [3, 3]


def test_a_member_that_comes_gets_its_share():
    before = assign(same(1), {}, {A: range(4)})
    after = assign(same(2), before, {A: range(4)})
    assert sizes(after) == [2, 2]
    assert len(readers(after)) == 4


def test_members_get_partitions_of_topics_that_they_subscribe_to():
    subscriptions = {"m0": frozenset((A, B)), "m1": frozenset((B,))}
    target = assign(subscriptions, {}, {A: range(2), B: range(2)})
    assert {topic for topic, _ in target["m1"]} == {B}
    assert len(readers(target)) == 4


def test_partitions_whose_topic_went_are_nobodys():
    before = assign(same(2, (A, B)), {}, {A: range(2), B: range(2)})
    after = assign(same(2), before, {A: range(2)})
    assert readers(after).keys() == {(A, 0), (A, 1)}


def test_kip_932_each_subscription_and_each_partition_is_looked_at_a_few_times():
    members, topics, partitions = 40, 40, 20
    names = [TopicId(b"%016d" % number) for number in range(topics)]
    subscriptions = {
        MemberId(number): frozenset(names[number % 2 :: 2]) for number in range(members)
    }
    assignable = {name: range(partitions) for name in names}
    before = assign(subscriptions, {}, assignable)
    with counted() as work:
        after = assign(subscriptions, before, assignable)
    assert after == before
    assert work.calls < 30 * (members * topics // 2 + topics * partitions)

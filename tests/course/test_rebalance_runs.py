"""The groups that lesson 06 watches, and what it reads out of their traces."""

from itertools import count

import pytest

from minikafka.anomalies import group_anomalies
from minikafka.coordinators.assignors import assign_sticky
from minikafka.course.experiments.lesson_06_runs import (
    busy_group,
    moved,
    moves,
    not_read,
    restarted,
    unread,
    waited,
)
from minikafka.trace import Event

pytestmark = pytest.mark.slow


def events(*changes):
    """(ms, member, kind, partitions of orders)."""
    numbers = count(1)
    return [
        Event(
            (member, next(numbers)),
            ms,
            member,
            kind,
            None,
            {"partitions": [["orders", number] for number in parts]},
        )
        for ms, member, kind, parts in changes
    ]


HANDED_OVER = events(
    (1_000, "A", "PartitionsAssigned", [0, 1]),
    (30_000, "A", "PartitionsRevoked", [0, 1]),
    (31_500, "A", "PartitionsAssigned", [0]),
    (34_000, "B", "PartitionsAssigned", [1]),
    (50_000, "B", "PartitionsLost", [1]),
    (52_000, "A", "PartitionsRevoked", []),
)


def test_a_partition_is_not_read_from_when_it_is_given_up_until_somebody_takes_it():
    # the second once more, until the end
    assert not_read(HANDED_OVER) == {0: 1.5, 1: 6.0}
    assert not_read(HANDED_OVER, since_s=31) == {0: 0.5, 1: 5.0}


def test_an_unread_time_has_no_end_while_it_lasts():
    assert [unread(1)(HANDED_OVER[:end]) for end in range(1, 6)] == [
        (20_000, 20_000),
        None,
        None,
        (30_000, 34_000),
        None,
    ]


def test_a_partition_moves_when_another_member_takes_it_than_had_it_last():
    assert (moves(HANDED_OVER), moves(HANDED_OVER, since_s=40)) == (1, 0)


def test_how_long_a_member_waits_for_its_first_partition():
    joins = Event(
        ("broker 1", 1), 33_000, "broker 1", "MemberJoined", None, {"client": "B"}
    )
    trace = [*HANDED_OVER[:3], joins, *HANDED_OVER[3:]]
    assert waited(trace, "B") == 1.0
    with pytest.raises(ValueError, match="B has no partition yet"):
        waited(trace[:4], "B")


@pytest.mark.parametrize(
    ("assignor", "after", "changed_hands"),
    [("roundrobin", "0ABC", 8), ("range", "ABCD", 5), ("sticky", "ABCD", 2)],
)
def test_how_many_of_eight_partitions_an_assignor_moves(assignor, after, changed_hands):
    assert moved(assignor, "ABC", after) == changed_hands


@pytest.mark.parametrize(
    ("static", "seconds", "moving"), [(True, 2 * 5, 0), (False, 2 * 1, 4)]
)
def test_kip_345_a_static_members_share_waits_for_it_and_a_dynamic_ones_moves_there_and_back(
    static, seconds, moving
):
    trace = restarted(5, static).trace
    assert sum(not_read(trace).values()) == pytest.approx(seconds, abs=0.3)
    assert moves(trace) == moving


def at_once(members, partitions):
    return assign_sticky(members, partitions)


at_once.cooperative = True


@pytest.mark.parametrize(
    ("assignor", "found"),
    [(at_once, ["early move", "two owners"]), ("cooperative-sticky", [])],
)
def test_kip_429_who_hands_out_everything_at_once_gives_a_partition_two_owners(
    assignor, found
):
    with busy_group(assignor) as cluster:
        assert [each.name for each in group_anomalies(cluster.trace)] == found

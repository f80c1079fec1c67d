"""Lesson 05's checks, beside test_every_exercise.py and wrong_answers/: Kafka's own
assignors, and what a frozen member's schedule hears.
"""

import itertools

import pytest

from minikafka.coordinators.assignors import ASSIGNORS, Member
from minikafka.coordinators.server_assignors import assign_uniform
from minikafka.faults import Crash, Cut, Freeze
from tests.course.answers import hears, verdict

pytestmark = pytest.mark.slow


def dealt_out(members, partitions):
    """Right, and unlike the solution: all partitions in turn, as cards are dealt."""
    found = {name: [] for name in members}
    for topic, count in sorted(partitions.items()):
        ring = itertools.cycle(
            [name for name in sorted(members) if topic in members[name].topics]
            or [None]
        )
        for number in range(count):
            name = next(ring)
            if name is not None:
                found[name].append([topic, number])
    return found


def uniform(members, partitions):
    """The broker's own (KIP-848). The coordinator hands it the members in order."""
    return assign_uniform(
        {name: Member(members[name].topics) for name in sorted(members)}, partitions
    )


def everything_to_all(members, partitions):
    return {
        name: [(topic, n) for topic in partitions for n in range(partitions[topic])]
        for name in members
    }


def by_number(members, partitions):
    return {
        place: share
        for place, share in enumerate(dealt_out(members, partitions).values())
    }


def a_list(members, partitions):
    return list(dealt_out(members, partitions).items())


def spoils_what_it_is_given(members, partitions):
    """Right, but for what it does to its arguments."""
    found = dealt_out(members, partitions)
    members.clear()
    partitions.clear()
    return found


@pytest.mark.parametrize(
    "answer",
    [
        *(
            ASSIGNORS[name].assign
            for name in ("range", "roundrobin", "sticky", "cooperative-sticky")
        ),
        uniform,
    ],
)
def test_kafkas_own_assignors_are_right(answer):
    found = verdict("05", 1, answer)
    assert found.right, found


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (by_number, "it gave a share to 0, and there is no such member: A"),
        (a_list, "it returned a list, not a dictionary"),
        (spoils_what_it_is_given, "it changed its argument members"),
    ],
)
def test_a_wrong_assignor_hears_what_is_wrong(answer, words):
    hears("05", 1, answer, words)


def test_the_smallest_counterexample_is_a_call_to_paste():
    found = verdict("05", 1, everything_to_all)
    call = (
        "my_assignor({'A': Member(('orders',)), 'B': Member(('orders',))},"
        " {'orders': 1})"
    )
    assert call in str(found)
    assert eval(call, {"Member": Member, "my_assignor": dealt_out}) == {
        "A": [["orders", 0]],
        "B": [],
    }


def test_a_counterexample_is_a_group_to_watch_in_which_the_answer_ran():
    table = str(verdict("05", 1, everything_to_all).picture.table())
    assert (
        "your assignor everything_to_all" in table
        and "Now A and B own P0: only one should." in table
    )


def freeze(at_ms, for_ms, who="consumer A"):
    return [Freeze(who, at_ms=at_ms, for_ms=for_ms)]


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        (freeze(26_400, 42_000), "43966 ms later. The session timeout is 45000 ms"),
        (freeze(26_400, 43_800), "the last commit was 1966 ms old"),
        (freeze(26_400, 200_000), "still frozen when the run ends"),
        (freeze(1_000, 2_000), "had given no sign of life"),
        (
            freeze(26_400, 43_100) + freeze(26_400, 43_100, "consumer B"),
            "2 faults. One is enough",
        ),
        (
            [Crash("careful", call=18)],
            "a Crash does it, and shows another hole (lesson 04)",
        ),
        ([Cut("consumer A", "broker 1", 24_100, 60_000)], "a Cut does it"),
        (["freeze A"], "is no fault. Write Freeze("),
        ("freeze", "this is 'freeze'"),
    ],
)
def test_another_schedule_hears_what_happened(faults, words):
    hears("05", 2, faults, words)


def test_a_schedule_that_does_nothing_can_be_played():
    assert "Consumer A is frozen" in str(
        verdict("05", 2, freeze(24_100, 30_000)).picture.table()
    )

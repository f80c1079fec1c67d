"""Lesson 06's checks, beside test_every_exercise.py and wrong_answers/: Kafka's own
assignors, and the smallest counterexamples.
"""

import pytest

from minikafka.coordinators.assignors import (
    assign_cooperative_sticky,
    assign_range,
    assign_round_robin,
    assign_sticky,
)
from minikafka.course.lessons import lesson
from tests.course.answers import hears, solution, verdict

pytestmark = pytest.mark.slow

CHECKS = lesson("06")._module


# --- exercise 1 ---


def at_once(target, members):
    return target


def test_the_smallest_early_move_is_one_partition_and_two_members_and_the_detectors_see_two_owners():
    found = verdict("06", 1, at_once)
    assert found.headline.startswith("Not yet: two owners: A and B own orders-0 at ")
    assert (
        "smallest case: A had orders-0, B is new; the target is A: nothing; B: orders-0"
        in found.lines
    )
    assert any(scene["space"]["two_owners"] for scene in found.picture.scenes)


# --- exercise 2 ---


def all_partitions(partitions):
    return [
        (topic, number)
        for topic, count in partitions.items()
        for number in range(count)
    ]


def changes_its_input(members, partitions):
    shares = solution("06", 2)(members, partitions)
    members.clear()
    partitions.clear()
    return shares


def test_kafkas_sticky_assignor_is_right():
    found = verdict("06", 2, assign_sticky)
    assert found.right, found


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (changes_its_input, "it changed its argument members, which is the caller's"),
        (assign_range, "B only 0"),
        (assign_round_robin, "it moved 1 partition, and none would do"),
        (assign_cooperative_sticky, "nobody got orders-"),
        (
            lambda members, partitions: {"Z": all_partitions(partitions)},
            "it gave a share to 'Z', and there is no such member",
        ),
    ],
)
def test_a_wrong_assignor_hears_what_is_wrong(answer, words):
    hears("06", 2, answer, words)


def test_a_half_right_assignor_hears_which_half():
    found = str(verdict("06", 2, assign_round_robin))
    assert "holds already: every partition goes to exactly one member" in found
    assert "smallest case: A is new, B had orders-0; orders has 1 partition" in found
    assert "moved: orders-0 from B to A" in found


@pytest.mark.parametrize(
    ("owned", "partitions", "fewest"),
    [
        ({"A": (0, 1, 2), "B": ()}, 3, 1),
        ({"A": (0, 1, 2, 3), "B": ()}, 4, 2),
        ({"A": (0,), "B": (1, 2, 3)}, 5, 0),
        ({"A": (0, 1), "B": (2, 3), "C": ()}, 4, 1),
        ({"A": (1,), "B": (0,)}, 2, 0),
    ],
)
def test_the_fewest_moves_are_what_is_above_a_fair_share(owned, partitions, fewest):
    assert CHECKS.fewest_moves(CHECKS.group(**owned), {"orders": partitions}) == fewest


def test_a_counterexample_of_the_assignor_can_be_played():
    picture = verdict("06", 2, assign_round_robin).picture
    assert "A P0" in str(picture) and "B" in str(picture.table())

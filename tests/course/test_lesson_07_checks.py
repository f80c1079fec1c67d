"""Lesson 07's checks, beside test_every_exercise.py and wrong_answers/: their sums are
what happens on a cluster.
"""

import math

import pytest

from minikafka.course import lessons
from tests.course.answers import hears, verdict

pytestmark = pytest.mark.slow

checks = lessons.lesson("07")._module


def by_what_one_carries(rate, backlog, recover_s, processing_ms, partitions):
    """Right, and unlike the solution: how many partitions can one member carry?"""
    orders = backlog + rate * recover_s
    carries = recover_s * 1000 * partitions // (orders * processing_ms)
    return math.ceil(partitions / carries) if carries >= 1 else None


def all_shared(rate, backlog, recover_s, processing_ms, partitions):
    return max(1, math.ceil((backlog / recover_s + rate) * processing_ms / 1000))


def without_backlog(rate, backlog, recover_s, processing_ms, partitions):
    return by_what_one_carries(max(rate, 1), 0, recover_s, processing_ms, partitions)


def a_float(*case):
    found = by_what_one_carries(*case)
    return found and float(found)


def test_a_sum_without_a_backlog_is_as_right_without_a_load():
    assert without_backlog(18, 0, 60, 100, 3) == 3


def test_a_sum_that_is_no_whole_number_hears_so():
    hears("07", 1, a_float, "int(...) makes it one")


def test_a_counterexample_can_be_played():
    found = verdict("07", 1, all_shared)
    assert found.picture is not None and "billing 2" in str(found.picture.table())


def test_four_members_for_six_partitions_are_no_better_than_three():
    assert [
        checks.is_enough((24, 0, 60, 100, 6), members) for members in (2, 3, 4, 5, 6)
    ] == [False] + 4 * [True]
    assert checks.fewest((24, 0, 60, 100, 6)) == 3


@pytest.mark.parametrize(
    "case", [(8, 120, 60, 200, 3), (9, 60, 60, 200, 4), (3, 150, 60, 200, 5)]
)
def test_the_sums_of_the_check_are_what_happens_on_a_cluster(case):
    """What came last, and what is in hand, may be left; with a member less there is
    more than that.
    """
    right = checks.fewest(case)
    just_come = 3 * case[checks.RATE]
    assert left_over(checks.at_work(case, right), case) <= just_come + 10 * right
    assert left_over(checks.at_work(case, right - 1), case) > just_come + 10 * (
        right - 1
    )


def left_over(cluster, case):
    done = [
        event.detail["offsets"]
        for event in cluster.trace
        if event.kind == "RecordsProcessed"
    ]
    return (
        case[checks.BACKLOG]
        + case[checks.RATE] * case[checks.RECOVER_S]
        - sum(b - a + 1 for a, b in done)
    )

"""Lesson 07's checks: right answers pass, however they are written; known wrong ones
hear what is wrong.
"""

import math

import pytest

from minikafka.course import lessons
from tests.course.answers import endless, solution, verdict

pytestmark = pytest.mark.slow

checks = lessons.lesson("07")._module


def by_what_one_carries(rate, backlog, recover_s, processing_ms, partitions):
    """Right, and unlike the solution: how many partitions can one member carry?"""
    orders = backlog + rate * recover_s
    carries = recover_s * 1000 * partitions // (orders * processing_ms)
    return math.ceil(partitions / carries) if carries >= 1 else None


def all_shared(rate, backlog, recover_s, processing_ms, partitions):
    return max(1, math.ceil((backlog / recover_s + rate) * processing_ms / 1000))


def all_shared_up_to_the_partitions(*case):
    found = all_shared(*case)
    return found if found <= case[-1] else None


def without_backlog(rate, backlog, recover_s, processing_ms, partitions):
    return by_what_one_carries(max(rate, 1), 0, recover_s, processing_ms, partitions)


def backlog_only(rate, backlog, recover_s, processing_ms, partitions):
    """Forgets what comes in meanwhile, unless nothing waits."""
    return by_what_one_carries(
        0 if backlog else rate, backlog, recover_s, processing_ms, partitions
    )


def rounds_down(rate, backlog, recover_s, processing_ms, partitions):
    return max(1, int((backlog / recover_s + rate) * processing_ms / 1000))


def one_each(rate, backlog, recover_s, processing_ms, partitions):
    return partitions


def one_each_if_that_is_enough(*case):
    return by_what_one_carries(*case) and case[-1]


def one_to_spare(*case):
    found = by_what_one_carries(*case)
    return found and found + 1


def never_none(*case):
    return by_what_one_carries(*case) or case[-1] + 1


def partitions_when_it_is_too_much(*case):
    return by_what_one_carries(*case) or case[-1]


def none_too_soon(*case):
    found = by_what_one_carries(*case)
    return None if found == case[-1] else found


def a_float(*case):
    found = by_what_one_carries(*case)
    return found and float(found)


def seconds_for_ms(rate, backlog, recover_s, processing_ms, partitions):
    return by_what_one_carries(
        rate, backlog, recover_s * 1000, processing_ms, partitions
    )


def prints_it(*case):
    print(by_what_one_carries(*case))


def raises(*case):
    return 1 // 0


def test_a_sum_without_a_backlog_is_as_right_without_a_load():
    assert without_backlog(18, 0, 60, 100, 3) == 3


@pytest.mark.parametrize(
    "answer", [solution("07", 1, "members_needed"), by_what_one_carries]
)
def test_a_right_sum_is_right_however_it_is_written(answer):
    found = verdict("07", 1, answer)
    assert found.right, found


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (all_shared, "with 2 for 3 partitions somebody has 2 of them"),
        (
            all_shared_up_to_the_partitions,
            "with 2 for 3 partitions somebody has 2 of them",
        ),
        (rounds_down, "1 member is not enough"),
        (without_backlog, "wait there at first"),
        (backlog_only, "wait there at first"),
        (seconds_for_ms, "wait there at first"),
        (never_none, "The answer is None: more partitions first"),
        (partitions_when_it_is_too_much, "no number of members is enough"),
        (none_too_soon, "it returned None, and"),
        (one_each, "more partitions first"),
        (one_each_if_that_is_enough, "it as well"),
        (one_to_spare, "it as well"),
        (a_float, "int(...) makes it one"),
        (lambda *case: "3", "Members are a whole number, or None"),
        (lambda *case: 0, "A group without a member does nothing"),
        (prints_it, "it returned None, and 1 member does it"),
        (raises, "ZeroDivisionError"),
        (endless, "it had not come back after 0.1 s"),
        (None, "this is None, not members_needed"),
        (3, "this is 3, not members_needed"),
        (..., "Not attempted yet"),
    ],
)
def test_a_wrong_sum_hears_what_is_wrong(answer, words):
    found = verdict("07", 1, answer)
    assert not found.right and words in str(found), found


def test_the_stub_is_not_attempted():
    def members_needed(rate, backlog, recover_s, processing_ms, partitions):
        """The fewest members."""
        ...

    assert not verdict("07", 1, members_needed).attempted


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


@pytest.mark.parametrize("number", [solution("07", 2, "minutes"), 34, 36.5])
def test_minutes_near_enough_are_right(number):
    assert verdict("07", 2, number).right


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (15, "if the three could share all orders"),
        (10.5, "if no new ones came in"),
        (50, "Count from the moment when the members are back"),
        (20, "It takes longer"),
        (105, "It takes less"),
        ("35", "should be a number"),
        (True, "should be a number"),
        (None, "Not attempted yet"),
        (..., "Not attempted yet"),
    ],
)
def test_wrong_minutes_hear_why(number, words):
    found = verdict("07", 2, number)
    assert not found.right and words in str(found), found

"""Lesson 07: the size of a group, and when the lag is zero again."""

import math

from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right


@right(1)
def tries_them(rate, backlog, recover_s, processing_ms, partitions):
    """The unluckiest member's partitions have to be done in time."""
    for members in range(1, partitions + 1):
        busiest = -(-partitions // members)
        if (
            backlog + rate * recover_s
        ) * busiest * processing_ms <= partitions * recover_s * 1000:
            return members
    return None


@right(1)
def by_capacity(rate, backlog, recover_s, processing_ms, partitions):
    # of one member that does everything
    work_ms = (backlog + rate * recover_s) * processing_ms
    if work_ms == 0:
        return 1
    # partitions that one can carry
    at_most = int(recover_s * 1000 * partitions / work_ms + 1e-9)
    return math.ceil(partitions / at_most) if at_most else None


def shared(rate, backlog, recover_s, processing_ms, partitions):
    return max(
        1, math.ceil((backlog + rate * recover_s) * processing_ms / (recover_s * 1000))
    )


@wrong(1, "2 members are not enough: after 60 s about 120 orders still wait in one")
def shares_evenly(*case):
    return shared(*case)


@wrong(1, "2 members are not enough: after 60 s about 120 orders still wait in one")
def shares_evenly_capped(*case):
    return min(shared(*case), case[-1])


@wrong(1, "2 members are not enough: after 60 s about 120 orders still wait in one")
def shares_evenly_or_none(*case):
    return shared(*case) if shared(*case) <= case[-1] else None


@wrong(1, "1 member is not enough: after 60 s about 20 orders still wait in one")
def forgets_the_backlog(rate, backlog, recover_s, processing_ms, partitions):
    return tries_them(rate, 0, recover_s, processing_ms, partitions)


@wrong(1, "1 member is not enough: after 60 s about 2,941 orders still wait in one")
def forgets_what_comes_in(rate, backlog, recover_s, processing_ms, partitions):
    return tries_them(
        0 if backlog else rate, backlog, recover_s, processing_ms, partitions
    )


@wrong(1, "it returned 1, but no number of members is enough. The answer is None:")
def one_for_each_partition(rate, backlog, recover_s, processing_ms, partitions):
    return partitions


@wrong(1, "1 member is not enough: after 60 s about 180 orders still wait in one")
def one_is_enough(*case):
    return 1


@wrong(1, "it returned None, but 1 member is enough.")
def never_enough(*case):
    return None


@wrong(1, "it returned 2, but no number of members is enough. Members without a")
def no_limit(rate, backlog, recover_s, processing_ms, partitions):
    return tries_them(rate, backlog, recover_s, processing_ms, partitions) or shared(
        rate, backlog, recover_s, processing_ms, partitions
    )


@wrong(1, "it returned 2, but 1 member is enough.")
def one_more_to_be_safe(*case):
    found = tries_them(*case)
    return found and min(found + 1, case[-1])


@wrong(1, "it returned 0. A group without a member does nothing.")
def zero_for_none(*case):
    return tries_them(*case) or 0


@wrong(1, "1 member is not enough: after 60 s about 180 orders still wait in one")
def milliseconds_and_seconds(rate, backlog, recover_s, processing_ms, partitions):
    return tries_them(rate, backlog, recover_s, processing_ms / 1000, partitions)


@wrong(1, "1 member is not enough: after 60 s about 180 orders still wait in one")
def rounds_down(rate, backlog, recover_s, processing_ms, partitions):
    return max(1, (backlog + rate * recover_s) * processing_ms // (recover_s * 1000))


@wrong(1, "it returned 7, but 2 members are enough.")
def divisors_only(rate, backlog, recover_s, processing_ms, partitions):
    for members in range(1, partitions + 1):
        if (
            partitions % members == 0
            and shared(rate, backlog, recover_s, processing_ms, partitions) <= members
        ):
            return members
    return None


@wrong(1, "it returned '1'. Members are a whole number, or None.")
def as_text(*case):
    return str(tries_them(*case))


@wrong(1, "it returned 0.2. Members are a whole number, or None.")
def a_fraction(rate, backlog, recover_s, processing_ms, partitions):
    return (backlog + rate * recover_s) * processing_ms / (recover_s * 1000)


# --- what readers of the course had found out ---


@wrong(1, "it returned 13, but no number of members is enough. The answer is None:")
def up_to_twelve_partitions(rate, backlog, recover_s, processing_ms, partitions):
    return (
        tries_them(rate, backlog, recover_s, processing_ms, partitions)
        if partitions <= 12
        else partitions
    )


@wrong(1, "it returned None, but 1 member is enough.")
def an_hour_at_most(rate, backlog, recover_s, processing_ms, partitions):
    return tries_them(rate, backlog, min(recover_s, 3600), processing_ms, partitions)


@wrong(1, "it returned None, but 1 member is enough.")
def round_times_only(rate, backlog, recover_s, processing_ms, partitions):
    return tries_them(
        rate,
        backlog,
        recover_s,
        processing_ms if processing_ms % 10 == 0 else 10,
        partitions,
    )


@wrong(1, "it returned inf. Members are a whole number, or None.")
def infinite(*case):
    return tries_them(*case) or float("inf")


@wrong(1, "it returned nan. Members are a whole number, or None.")
def not_a_number(*case):
    return tries_them(*case) or float("nan")


# --- 2: when is it zero again? ---

for minutes, words in [
    # as long as they were off
    (15, "not 15. That would be right if the three could share all orders. But"),
    # 60 / 6: the two quiet partitions
    (10, "not 10. That is when partitions 0 and 1 are done. The lag of partition"),
    # 105 / 10: what waits, and nothing new comes
    (10.5, "not 10.5. That would be right if no new orders came in."),
    # three partitions as one: 225 / 15 ... less what comes in
    (22.5, "not 22.5. It takes longer."),
    # 15 * 15 / (30 - 15) = 15; the sum of all three, taken wrongly
    (25, "not 25. It takes longer."),
    (50, "not 50. Count from the moment when the members are back."),
    (45, "not 45. It takes less."),
    (0, "not 0. It takes longer."),
    (-35, "not -35. It takes longer."),
    (2100, "not 2100. It takes less."),  # seconds
    (32, "not 32. It takes longer."),
    (38, "not 38. It takes less."),
    ("35", "minutes should be a number, and this is '35'."),
    ([35], "minutes should be a number, and this is [35]."),
    (True, "minutes should be a number, and this is True."),
    (float("nan"), "minutes should be a number, and this is nan."),
    (float("inf"), "minutes should be a number, and this is inf."),
]:
    wrong(2, words)(minutes)
for minutes in (35, 15 * 7 / (10 - 7), 36, 33, 37):
    right(2)(minutes)


@wrong(1, "it returned 4, but 2 members are enough.")
def done_a_moment_before(rate, backlog, recover_s, processing_ms, partitions):
    for members in range(1, partitions + 1):
        busiest = -(-partitions // members)
        work_ms = (backlog + rate * recover_s) * busiest * processing_ms
        if work_ms < partitions * recover_s * 1000:
            return members
    return None

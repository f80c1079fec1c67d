"""Lesson 10: how much of its log a replica keeps, and plans for a rolling restart."""

from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right


# --- 1: how much to keep ---


@right(1)
def by_recursion(log, end_of):
    """Asks for the last epoch; if the leader doesn't know it, goes on with what may
    still be the same.
    """
    if not log:
        return 0
    asked = log[-1][0]
    epoch, end = end_of(asked)
    if epoch == asked:
        return min(end, len(log))
    return by_recursion(
        [(each, value) for each, value in log[:end] if each <= epoch], end_of
    )


@right(1)
def epoch_by_epoch(log, end_of):
    """Goes through its epochs, newest first, until the leader knows one."""
    starts = {}
    for offset, (epoch, _) in enumerate(log):
        starts.setdefault(epoch, offset)
    end = len(log)
    for epoch in sorted(starts, reverse=True):
        known, leaders_end = end_of(epoch)
        if known == epoch:
            return min(end, leaders_end)
        end = starts[epoch]
    return 0


@wrong(1, "it keeps (0, 'r0') at offset 0, and the leader has nothing there.")
def everything(log, end_of):
    return len(log)


@wrong(1, "it drops (0, 'r0') at offset 0, and the leader has the same there.")
def nothing(log, end_of):
    return 0


@wrong(1, "it keeps")
def one_question(log, end_of):
    """KIP-101 without KIP-279."""
    return min(len(log), end_of(log[-1][0])[1]) if log else 0


@wrong(1, "it raised IndexError: list index out of range")
def never_empty(log, end_of):
    return min(len(log), end_of(log[-1][0])[1])


@wrong(1, "it keeps")
def the_leaders_end(log, end_of):
    """Asks for an epoch beyond all."""
    return min(len(log), end_of(10**9)[1])


@wrong(
    1,
    "it keeps 2 of 1 records: that can't be",
    "it keeps 3 of",
    "it keeps 1 of 0 records",
    "it keeps",
)
def what_the_leader_says(log, end_of):
    return end_of(log[-1][0])[1] if log else 0


@wrong(1, "it drops")
def only_whole_epochs(log, end_of):
    """Drops its last epoch unless the leader ends it at the same offset."""
    while log:
        epoch, end = end_of(log[-1][0])
        if (epoch, end) == (log[-1][0], len(log)):
            return len(log)
        last = log[-1][0]
        log = [each for each in log if each[0] != last]
    return 0


@wrong(1, "it asks for one epoch twice.")
def record_by_record(log, end_of):
    keep = len(log)
    while keep:
        epoch, end = end_of(log[keep - 1][0])
        if epoch == log[keep - 1][0] and end >= keep:
            break
        keep -= 1
    return keep


@wrong(1, "of which this log has no record")
def every_epoch_there_may_be(log, end_of):
    keep = 0
    for epoch in range(20):
        known, end = end_of(epoch)
        mine = [offset + 1 for offset, (each, _) in enumerate(log) if each == epoch]
        if known == epoch and mine:
            keep = min(end, mine[-1])
    return keep


@wrong(1, "it returned None, and should return how many records stay")
def forgets_to_return(log, end_of):
    by_recursion(log, end_of)


@wrong(1, "it returned [], and should return how many records stay")
def the_records_themselves(log, end_of):
    return log[: by_recursion(log, end_of)]


@wrong(1, "it drops")
def one_less(log, end_of):
    return max(0, by_recursion(log, end_of) - 1)


@wrong(1, "it changed its argument log, which is the caller's")
def cuts_the_log_itself(log, end_of):
    keep = by_recursion(log, end_of)
    log.clear()
    return keep


@wrong(1, "end_of((0, 'r0')): an epoch is a whole number", "an epoch is a whole number")
def asks_with_a_record(log, end_of):
    return min(len(log), end_of(log[-1])[1]) if log else 0


@wrong(1, "it keeps")
def until_an_older_epoch_is_named(log, end_of):
    """After an answer with a smaller epoch it stops asking, and keeps what is before
    the leader's end.
    """
    if not log:
        return 0
    epoch, end = end_of(log[-1][0])
    return min(end, sum(each <= epoch for each, _ in log))


# --- 2: the plans ---


def one_by_one(order, between=(("in sync",),)):
    return [
        step
        for broker in order
        for step in (("stop", broker), ("start", broker), *between)
    ]


def controller_last(brokers, controller):
    return sorted(brokers, key=lambda each: each == controller)


@right(2)
def as_lists(brokers, controller):
    return [list(step) for step in one_by_one(controller_last(brokers, controller))]


@right(2)
def with_five_pauses_a_broker(brokers, controller):
    return one_by_one(
        controller_last(brokers, controller), [("in sync",), *[("wait", 1)] * 5]
    )


@right(2)
def with_a_pause_and_backwards(brokers, controller):
    return one_by_one(
        controller_last(brokers[::-1], controller), [("in sync",), ("wait", 3)]
    )


@wrong(2, "there is no broker", "is stopped 0 times")
def brokers_1_2_3(brokers, controller):
    return one_by_one(controller_last([1, 2, 3], controller))


@wrong(2, "a controller was elected 2 times", "is stopped 0 times")
def a_controller_0_is_none(brokers, controller):
    return one_by_one(controller_last(brokers, controller) if controller else brokers)


@wrong(2, "it raised")
def raises_on_no_brokers(brokers, controller):
    return one_by_one([*brokers[1:], brokers[0]])


@wrong(2, "it raised ValueError")
def always_two_others(brokers, controller):
    first, second = [each for each in brokers if each != controller][:2]
    return one_by_one([first, second, controller])


@wrong(2, "broker 1 is stopped 0 times, not once.")
def nothing_to_do(brokers, controller):
    return []


@wrong(2, "a controller was elected 2 times; once would do.")
def in_the_order_given(brokers, controller):
    return one_by_one(brokers)


@wrong(2, "a controller was elected 2 times; once would do.")
def controller_first(brokers, controller):
    return one_by_one(sorted(brokers, key=lambda each: each != controller))


@wrong(2, "an order waits longer than 2 s.")
def all_at_once(brokers, controller):
    return [
        *(("stop", each) for each in brokers),
        *(("start", each) for each in brokers),
        ("in sync",),
    ]


@wrong(2, "an order waits longer than 2 s.")
def no_waiting(brokers, controller):
    return [*one_by_one(controller_last(brokers, controller), []), ("in sync",)]


@wrong(2, "an order waits longer than 2 s.")
def ten_seconds_will_do(brokers, controller):
    return [
        *one_by_one(controller_last(brokers, controller), [("wait", 10)]),
        ("in sync",),
    ]


@wrong(2, "an order waits longer than 2 s.")
def fifteen_seconds_will_do(brokers, controller):
    return one_by_one(controller_last(brokers, controller), [("wait", 15)])


@wrong(2, "an order waits longer than 2 s.")
def twice_fifteen_seconds_will_do(brokers, controller):
    return one_by_one(controller_last(brokers, controller), [("wait", 15)] * 2)


@wrong(2, "an order waits longer than 2 s.")
def two_of_three_and_no_waiting(brokers, controller):
    first, *rest = controller_last(brokers, controller) or [None]
    if first is None:
        return []
    return [("stop", first), ("start", first), *one_by_one(rest)]


@right(2)
def a_minute_in_four_pieces(brokers, controller):
    """No broker needs longer than 45 s."""
    return one_by_one(controller_last(brokers, controller), [("wait", 15)] * 4)


@wrong(2, "the plan ends while a broker isn't in sync yet.")
def does_not_wait_for_the_last(brokers, controller):
    return one_by_one(controller_last(brokers, controller))[:-1]


@wrong(2, "it waits until all are in sync, while broker 1 is down")
def in_sync_before_the_start(brokers, controller):
    return [
        step
        for each in brokers
        for step in (("stop", each), ("in sync",), ("start", each))
    ]


@wrong(2, "there is no broker 2 in [1]")
def one_of_them_twice(brokers, controller):
    return one_by_one([*controller_last(brokers, controller), 2])


@wrong(2, "broker 1 is started while it runs")
def the_other_way_round(brokers, controller):
    return [
        step
        for each in brokers
        for step in (("start", each), ("stop", each), ("in sync",))
    ]


@wrong(2, "('restart', 1) is no step")
def a_step_of_its_own(brokers, controller):
    return [("restart", each) for each in brokers]


@wrong(2, "there is no broker 3 in [1, 2]: 3 stays up")
def restarts_the_controller_whoever_it_is(brokers, controller):
    others = [each for each in brokers if each != controller]
    return one_by_one([*others, controller] if brokers else [])


@right(2)
def one_that_is_no_controller_at_a_time(brokers, controller):
    if not brokers:
        return []
    first = next((each for each in brokers if each != controller), controller)
    rest = [each for each in brokers if each != first]
    return [
        *one_by_one([first]),
        *one_that_is_no_controller_at_a_time(rest, controller),
    ]


@wrong(2, "there is no broker 0")
def counts_from_zero(brokers, controller):
    return one_by_one([0, 1, 2])


@wrong(2, "wait from 0 to 15 seconds, not 60")
def a_minute_each(brokers, controller):
    return one_by_one(controller_last(brokers, controller), [("wait", 60)])


@wrong(2, "it returned 'stop', and should return a list of steps")
def a_word(brokers, controller):
    return "stop"


@wrong(2, "is stopped 0 times")
def leaves_the_controller_alone(brokers, controller):
    return one_by_one([each for each in brokers if each != controller])

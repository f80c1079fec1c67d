"""The timers of a node: one heap that says when it wakes up next."""

from random import Random

from minikafka.cluster.timers import NEVER_MS, Deadlines, Timers


def test_without_a_timer_that_is_set_there_is_nothing_to_wake_up_for():
    timers = Timers()
    timer = timers.new()
    assert timers.next() == NEVER_MS
    timer.set(100)
    timer.stop()
    assert timers.next() == NEVER_MS


def test_a_timer_counts_as_it_was_set_last_however_often():
    timers, random = Timers(), Random(7)
    some = [timers.new() for _ in range(5)]
    for _ in range(2000):
        timer = random.choice(some)
        if random.random() < 0.2:
            timer.stop()
        else:
            timer.set(random.randrange(50))
        assert timers.next() == min(each.at_ms for each in some)


def test_deadlines_set_the_timer_to_the_earliest():
    timers, random = Timers(), Random(7)
    timer = timers.new()
    deadlines, at = Deadlines(timer), {}
    for step in range(2000):
        key, at_ms = random.randrange(8), random.choice((None, step, step + 30))
        deadlines.set(key, at_ms)
        at[key] = NEVER_MS if at_ms is None else at_ms
        for due in deadlines.overdue(step - 20):
            deadlines.set(due, None)
            at[due] = NEVER_MS
        assert timers.next() == timer.at_ms == min(at.values())


def test_the_heap_holds_no_more_than_was_set():
    timers = Timers()
    timer = timers.new()
    for at_ms in range(10_000):
        timer.set(at_ms)
        timers.next()
    assert len(timers._heap) <= 2

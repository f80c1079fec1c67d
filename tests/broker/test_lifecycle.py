"""The life of a node is a table, and the table is what runs."""

import itertools

import pytest

from minikafka.broker import lifecycle
from minikafka.broker.lifecycle import (
    ALLOWED,
    ASKED_TO_LEAVE,
    FAILED,
    HANDED_OVER,
    LEFT,
    LOGS_OPENED,
    READY,
    REGISTERED,
    STARTING,
    STOPPED,
    STOPS,
    STORAGE_FAILED,
    TRANSITIONS,
    UNFENCED,
    Lifecycle,
)
from minikafka.clock import Now
from tests.broker.node import Node

NOW = Now(0, 0)
EVENTS = sorted({event for _, event in TRANSITIONS})
TO_THE_END = (REGISTERED, LOGS_OPENED, UNFENCED, ASKED_TO_LEAVE, HANDED_OVER)


@pytest.mark.parametrize("state, event", [*itertools.product(ALLOWED, EVENTS)])
def test_every_event_leads_where_the_table_says_or_stops_the_node_loudly(state, event):
    life = Lifecycle()
    life.state = state
    row = TRANSITIONS.get((state, event))
    if row is not None:
        life.take(event, NOW)
        assert life.state == row.next_state
        return
    with pytest.raises(AssertionError, match=f"{event} while a node is {state}"):
        life.take(event, NOW)
    assert life.state == state


def test_every_state_is_reached_and_two_are_the_end():
    reached, new = set(), {STARTING}
    while new:
        reached |= new
        rows = [row for row in TRANSITIONS.values() if row.state in new]
        new = {row.next_state for row in rows} - reached
    assert reached == set(ALLOWED)
    begun = {row.state for row in TRANSITIONS.values()}
    assert set(ALLOWED) - begun == {STOPPED, FAILED}


def test_from_wherever_it_is_a_node_stops_or_fails():
    living = set(ALLOWED) - {STOPPED, FAILED}
    for state in living:
        assert TRANSITIONS[state, STOPS].next_state == STOPPED
        assert TRANSITIONS[state, STORAGE_FAILED].next_state == FAILED


def test_what_a_node_may_do_it_may_until_it_stops():
    """But stop: others may need it, once it has begun to work."""
    life = Lifecycle()
    before = life.allowed
    for event in TO_THE_END:
        life.take(event, NOW)
        for name in ("follows_image", "has_logs", "coordinates"):
            assert getattr(life.allowed, name) >= getattr(before, name), life.state
        before = life.allowed
    assert life.state == LEFT and life.allowed.may_stop


def drawn():
    """The diagram: one way from the beginning to the end, and how it can fail."""
    lines, state = [], STARTING
    while state != STOPPED:
        row = next(row for row in TRANSITIONS.values() if row.state == state)
        lines += [row.state, f"   |  {row.event}: {row.meaning}"]
        state = row.next_state
    [failure] = {
        (row.event, row.meaning, row.next_state)
        for row in TRANSITIONS.values()
        if row.event == STORAGE_FAILED
    }
    event, meaning, failed = failure
    lines += [STOPPED, "", "from each of them but stopped:"]
    lines += [f"   |  {event}: {meaning}", failed]
    return "\n".join(f"    {line}" if line else "" for line in lines)


def test_the_diagram_is_drawn_from_the_table():
    assert drawn() in lifecycle.__doc__


def test_a_node_lives_by_the_table():
    states = []

    class Watched(Node):
        def start(self):
            self.broker = self.new_broker()
            take = self.broker.life.take

            def watched(event, now):
                states.append((self.broker.life.state, event))
                take(event, now)

            self.broker.life.take = watched
            self.broker.start(self.now)
            while not self.broker.ready:
                self.broker.tick(self.now)

    node = Watched()
    assert node.broker.life.state == READY
    assert not node.broker.may_stop
    node.broker.leave(node.now)
    assert node.broker.may_stop, "alone it has nobody to hand over to"
    node.broker.stop(node.now)
    assert states == [
        ("starting", REGISTERED),
        ("recovering", LOGS_OPENED),
        ("fenced", UNFENCED),
        ("ready", ASKED_TO_LEAVE),
        ("leaving", HANDED_OVER),
        ("left", STOPS),
    ]
    assert node.broker.why_failed is None, "nothing made it stop"


def test_a_node_that_fails_says_why_and_allows_nothing():
    life = Lifecycle()
    assert life.fail("the disk is full")
    assert not life.fail("and it is wet"), "that is no news"
    assert life.why_failed == "the disk is full"
    assert not any(life.allowed)

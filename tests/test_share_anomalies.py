"""What must never happen to a share group (KIP-932), noticed in a trace that says so."""

import pytest

from minikafka.anomalies import (
    ACCEPTED_TWICE,
    EXTRA_DELIVERY,
    LOST_RECORD,
    START_WENT_BACK,
    share_anomalies,
)
from minikafka.trace import Trace

AVAILABLE, ACCEPTED, ARCHIVED = 0, 2, 4


class Story:
    """What brokers tell of one share partition."""

    def __init__(self):
        self.events = []
        self.brokers = {}

    def tell(self, broker, kind, **detail):
        listeners = [self.events.append]
        trace = self.brokers.setdefault(broker, Trace(f"broker {broker}", listeners))
        trace.emit(kind, topic="orders", partition=0, **detail)

    def read(self, offset, *batches, broker=1):
        batches = list(map(list, batches))
        self.tell(
            broker, "ShareStateRead", group="workers", offset=offset, batches=batches
        )

    def acquired(self, member, *batch, broker=1):
        self.tell(
            broker,
            "ShareRecordsAcquired",
            group="workers",
            member=member,
            batches=[list(batch)],
        )

    def said(self, member, *batch, broker=1):
        self.tell(
            broker,
            "ShareRecordsAcknowledged",
            group="workers",
            member=member,
            batches=[list(batch)],
        )

    def locks_ended(self, *batch, broker=1):
        self.tell(broker, "ShareLocksEnded", group="workers", batches=[list(batch)])

    def moved(self, was, offset, broker=1):
        self.tell(
            broker, "ShareStartOffsetMoved", group="workers", was=was, offset=offset
        )

    def found(self):
        return [each.name for each in share_anomalies(self.events)]


@pytest.fixture
def story():
    story = Story()
    story.read(0)
    story.acquired("a", 0, 4, 1)
    return story


def test_a_record_that_is_accepted_once_is_fine(story):
    story.said("a", 0, 3, ACCEPTED, 1)
    story.said("a", 4, 4, ARCHIVED, 1)
    story.moved(0, 5)
    assert story.found() == []


def test_two_members_may_have_a_record_one_after_the_other(story):
    story.locks_ended(0, 4, AVAILABLE, 1)
    story.acquired("b", 0, 4, 2)
    story.said("b", 0, 4, ACCEPTED, 2)
    story.moved(0, 5)
    assert story.found() == []


def test_two_members_may_not_both_accept_a_record(story):
    story.said("a", 0, 4, ACCEPTED, 1)
    story.said("b", 4, 4, ACCEPTED, 2)
    assert story.found() == [ACCEPTED_TWICE]


def test_a_start_offset_does_not_pass_what_somebody_has(story):
    story.said("a", 0, 3, ACCEPTED, 1)
    story.moved(0, 5)
    assert story.found() == [LOST_RECORD]


def test_a_start_offset_does_not_pass_what_was_never_delivered(story):
    story.said("a", 0, 4, ACCEPTED, 1)
    story.moved(0, 6)
    assert story.found() == [LOST_RECORD]


def test_a_start_offset_passes_what_the_log_has_given_up(story):
    story.tell(1, "LogStartOffsetAdvanced", log_start_offset=5)
    story.moved(0, 5)
    assert story.found() == []


def test_a_new_leader_does_not_begin_behind_what_is_undone(story):
    story.said("a", 0, 1, ACCEPTED, 1)
    story.read(4, broker=2)
    assert story.found() == [LOST_RECORD, LOST_RECORD]


def test_a_new_leader_may_know_of_what_the_last_one_has_not_heard(story):
    story.read(0, (0, 4, ACCEPTED, 1), broker=2)
    story.acquired("b", 5, 5, 1, broker=2)
    story.said("b", 5, 5, ACCEPTED, 1, broker=2)
    story.moved(5, 6, broker=2)
    assert story.found() == []


def test_a_new_leader_does_not_begin_before_what_is_written_down(story):
    story.said("a", 0, 4, ACCEPTED, 1)
    story.moved(0, 5)
    story.read(3, broker=2)
    assert story.found() == [START_WENT_BACK]


def test_what_an_ended_lock_has_archived_may_be_forgotten_with_the_leader(story):
    story.locks_ended(0, 4, ARCHIVED, 5)
    story.moved(0, 5)
    story.read(0, broker=2)
    assert story.found() == []


def test_nothing_before_the_start_offset_is_delivered(story):
    story.said("a", 0, 4, ACCEPTED, 1)
    story.moved(0, 5)
    story.acquired("b", 4, 4, 2)
    assert story.found() == [START_WENT_BACK]


def test_a_record_is_not_delivered_more_often_than_the_limit(story):
    for count in range(2, 7):
        story.locks_ended(0, 4, AVAILABLE, count - 1)
        story.acquired("a", 0, 0, count)
    assert story.found() == [EXTRA_DELIVERY]


def test_deliveries_that_are_not_counted_count(story):
    for _ in range(5):
        story.acquired("a", 0, 0, 1)
    assert story.found() == [EXTRA_DELIVERY]


def test_what_a_replaced_leader_does_by_itself_is_of_no_account(story):
    story.read(0, broker=2)
    story.locks_ended(0, 4, ARCHIVED, 5)
    story.moved(0, 5)
    story.acquired("a", 0, 0, 9)
    story.acquired("b", 0, 4, 1, broker=2)
    story.said("b", 0, 4, ACCEPTED, 1, broker=2)
    story.moved(0, 5, broker=2)
    assert story.found() == []

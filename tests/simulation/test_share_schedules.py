"""What a share group promises (KIP-932), over seeded schedules of crashes, freezes and
lost connections: no record is accepted twice, none is lost without being archived, none
is delivered more often than the limit, no start offset goes back; and all is done with
when faults stop. And that a broken share coordinator or partition would be noticed.

A failure prints its schedule. Schedule(number) replays it.
"""

import pytest

from minikafka.cluster import share_partition
from minikafka.cluster.share_batches import InFlight, RecordState
from minikafka.cluster.share_partition import SharePartition
from minikafka.cluster.share_window import Window
from minikafka.coordinators import share_states
from minikafka.coordinators.share_persister import SharePersister
from minikafka.coordinators.share_states import ShareStates
from tests.seeds import seeds
from tests.simulation.replication_schedules import is_noticed
from tests.simulation.share_schedules import Run, Schedule

pytestmark = [
    pytest.mark.apart,
    pytest.mark.slow,
    pytest.mark.usefixtures("quiet"),
]

SCHEDULES = 40
WITHIN = 3  # each broken one is noticed within so many


@pytest.mark.parametrize("number", seeds(range(SCHEDULES)))
def test_every_record_is_accepted_once_or_archived_whatever_fails(number):
    schedule = Schedule(number)
    assert not Run(schedule).problems, schedule


@pytest.mark.nightly
@pytest.mark.parametrize("number", [10, 60, 75])
def test_a_leader_whose_members_left_writes_what_they_said_before_it_begins_anew(
    number,
):
    """Its share coordinator does not answer just then. What it still writes, in the
    same leader epoch, nobody would fence.
    """
    schedule = Schedule(number)
    assert not Run(schedule).problems, schedule


@pytest.mark.nightly
@pytest.mark.parametrize("number", [129, 177])
def test_a_write_that_is_tried_again_takes_no_later_one_back(number):
    """It was made before the start offset moved, and comes after one that says so."""
    schedule = Schedule(number)
    assert not Run(schedule).problems, schedule


# -- broken share partitions


def a_delivery_is_not_counted(patch):
    right = InFlight.acquire

    def acquire(self, member_id, lock_ends_ms):
        right(self, member_id, lock_ends_ms)
        self.delivery_count = 1

    patch.setattr(InFlight, "acquire", acquire)


def a_record_comes_back_however_often_it_was_delivered(patch):
    right = InFlight.become

    def become(self, state, most_deliveries):
        right(self, state, most_deliveries=1000)

    patch.setattr(InFlight, "become", become)


def the_start_offset_passes_what_came_back(patch):
    def done_from_start(self):
        last = -1
        for batch in self.batches:
            for part in batch.parts:
                if part.state is RecordState.ACQUIRED:
                    return last, 0
                last = part.last
        return last, 0

    patch.setattr(Window, "_starts_done", property(lambda self: True))
    patch.setattr(Window, "_done_from_start", done_from_start)


def whoever_had_a_record_may_still_accept_it(patch):
    right = SharePartition._say

    def say(self, part, said, change, now_ms):
        if part.state is not RecordState.ACQUIRED:
            part.state = RecordState.ACQUIRED
        right(self, part, said, change, now_ms)

    patch.setattr(share_partition, "_check_owner", lambda *_: None)
    patch.setattr(share_partition, "_check_part", lambda *_: None)
    patch.setattr(SharePartition, "_say", say)


# -- broken share coordinators


def what_becomes_of_records_is_not_written(patch):
    def write(self, key, change, then):
        self.summary(key, then)

    patch.setattr(SharePersister, "write", write)


def a_new_leader_reads_no_states(patch):
    right = ShareStates.read

    def read(self, key, asked, now):
        decision = right(self, key, asked, now)
        return decision._replace(answer=decision.answer | {"state_batches": []})

    patch.setattr(ShareStates, "read", read)


def a_new_leader_begins_where_the_group_began(patch):
    right = ShareStates.read

    def read(self, key, asked, now):
        decision = right(self, key, asked, now)
        return decision._replace(answer=decision.answer | {"start_offset": 0})

    patch.setattr(ShareStates, "read", read)


def a_leader_that_was_replaced_still_writes(patch):
    patch.setattr(share_states, "_check_leader_epoch", lambda *_: None)


BREAKS = [
    a_delivery_is_not_counted,
    a_record_comes_back_however_often_it_was_delivered,
    the_start_offset_passes_what_came_back,
    whoever_had_a_record_may_still_accept_it,
    what_becomes_of_records_is_not_written,
    a_new_leader_reads_no_states,
    a_new_leader_begins_where_the_group_began,
]
# The leader stands still with a worker's records, is replaced, and goes on.
REPLACED = [(8001, "freeze a broker", 2, 14_000)]


@pytest.mark.nightly
@pytest.mark.parametrize("break_it", BREAKS)
def test_a_broken_share_group_is_noticed_when(break_it, monkeypatch):
    break_it(monkeypatch)
    assert any(is_noticed(Run, Schedule(number)) for number in range(WITHIN))


def test_a_leader_that_was_replaced_writes_nothing_any_more(monkeypatch):
    assert Run(Schedule(1, REPLACED)).problems == []
    a_leader_that_was_replaced_still_writes(monkeypatch)
    problems = Run(Schedule(1, REPLACED)).problems
    assert any("accepted twice" in each for each in problems)

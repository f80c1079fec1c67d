"""What replication promises, over seeded schedules of crashes, freezes and cut
networks: no acknowledged record is lost or written twice, no two replicas differ below
the high watermark, one leader an epoch, what was read stays readable at its offset, and
the cluster heals when the faults stop. And that a broken broker would be noticed.

A failure prints its schedule. Schedule(number) replays it.
"""

from dataclasses import replace

import pytest

from minikafka.broker.damage import DamagedReplicas
from minikafka.cluster import leadership, metadata
from minikafka.cluster.election import Election
from minikafka.cluster.promises import Promise
from minikafka.cluster.replica import Replica
from minikafka.storage import log
from minikafka.storage.log import Log
from minikafka.wire.records import batches
from tests.seeds import seeds
from tests.simulation.replication_schedules import Run, Schedule, is_noticed

pytestmark = [
    pytest.mark.apart,
    pytest.mark.slow,
    pytest.mark.usefixtures("quiet"),
]

SCHEDULES = 24


@pytest.mark.parametrize("number", seeds(range(SCHEDULES)))
def test_no_acknowledged_record_is_lost_and_the_cluster_heals(number):
    schedule = Schedule(number)
    assert not Run(schedule).problems, schedule


# -- broken brokers


def a_voter_votes_for_a_shorter_log(patch):
    def would_vote(self, asked):
        return asked.pre_vote or (
            self.vote.leader == -1 and self.vote.voted in (-1, asked.replica_id)
        )

    patch.setattr(Election, "_would_vote", would_vote)


def the_high_watermark_ignores_one_in_sync_replica(patch):
    def agreed(self):
        ends = [
            each.log_end_offset
            for node, each in self.followers.items()
            if node in self.partition.isr
        ]
        return min([self.log.log_end_offset, *sorted(ends)[1:]])

    patch.setattr(Replica, "_agreed_offset", agreed)


def a_follower_keeps_what_the_leader_never_had(patch):
    right = Replica.take

    def take(self, answer, now):
        if answer.diverging_epoch.epoch >= 0:
            answer.diverging_epoch.epoch = -1
            answer.records = b""
        right(self, answer, now)

    patch.setattr(Replica, "take", take)


def a_new_leader_goes_on_in_the_old_epoch(patch):
    def change(image, fields):
        partitions = image.topic_by_id(fields["topic_id"]).partitions
        epoch = partitions[fields["partition_id"]].leader_epoch
        right(image, fields)
        partitions[fields["partition_id"]] = replace(
            partitions[fields["partition_id"]], leader_epoch=epoch
        )

    right = metadata.APPLY["PartitionChangeRecord"]
    patch.setitem(metadata.APPLY, "PartitionChangeRecord", change)


def a_leader_is_chosen_outside_the_isr(patch):
    def elect(was, wanted, may_lead, election):
        outside = [
            node
            for node in wanted.replicas
            if may_lead(node) and node not in wanted.isr
        ]
        leader, is_clean = right(was, wanted, may_lead, election)
        return (
            (outside[0], False)
            if leader != was.leader and outside
            else (leader, is_clean)
        )

    right = leadership.elect
    patch.setattr(leadership, "elect", elect)


def records_are_acknowledged_below_min_insync_replicas(patch):
    patch.setattr(Replica, "enough_in_sync", property(lambda self: True))


def records_are_acknowledged_when_the_leader_has_them(patch):
    patch.setattr(Promise, "end_if_decided", lambda self: True)


def a_follower_checks_nothing(patch):
    def headers_of(data, offset, *, gapless):
        return [header for header, _ in batches(data)]

    patch.setattr(log, "checked", headers_of)


def a_damaged_replica_keeps_its_place_in_the_isr(patch):
    patch.setattr(Log, "damaged_at", lambda self, offset: None)
    patch.setattr(DamagedReplicas, "found", lambda self, *of: None)


# Each is noticed within so many schedules from the one that is named.
WITHIN = 3
BREAKS = {
    a_voter_votes_for_a_shorter_log: 7,
    the_high_watermark_ignores_one_in_sync_replica: 0,
    a_follower_keeps_what_the_leader_never_had: 0,
    a_new_leader_goes_on_in_the_old_epoch: 0,
    a_leader_is_chosen_outside_the_isr: 0,
    records_are_acknowledged_when_the_leader_has_them: 0,
}
# Bits flip in the logs of brokers that stopped cleanly.
FLIPPED = {
    3: [("damage", (4, 137))],
    7: [("restart", (4, 137))],
    11: [("damage", (5, 140))],
    15: [("restart", (5, 140))],
}
# A leader reads a flipped bit to a follower that comes back.
COPIED = {3: [("lag", (1, 1))], 6: [("rot", (1, 1))]}
# A leader is left alone: its followers stand still while it is written to, and come
# back when it crashes.
ALONE = {
    4: [("freeze", (4, 1)), ("freeze", (5, 1))],
    10: [("crash", (3, 1)), ("thaw", (4, 1)), ("thaw", (5, 1))],
    16: [("restart", (3, 1))],
}
NOTICED_IN = {
    records_are_acknowledged_below_min_insync_replicas: ALONE,
    a_follower_checks_nothing: COPIED,
    a_damaged_replica_keeps_its_place_in_the_isr: FLIPPED,
}


@pytest.mark.nightly
@pytest.mark.parametrize("break_it", BREAKS)
def test_a_broken_broker_is_noticed_when(break_it, monkeypatch):
    break_it(monkeypatch)
    first = BREAKS[break_it]
    assert any(is_noticed(Run, Schedule(first + number)) for number in range(WITHIN))


@pytest.mark.nightly
@pytest.mark.parametrize("break_it", NOTICED_IN)
def test_a_broken_broker_is_noticed_in_a_schedule_made_for_it_when(
    break_it, monkeypatch
):
    break_it(monkeypatch)
    assert Run(Schedule(1, NOTICED_IN[break_it])).problems


def test_a_leader_that_was_left_alone_takes_no_records_that_could_be_lost():
    assert Run(Schedule(1, ALONE)).problems == []


@pytest.mark.nightly
@pytest.mark.parametrize("steps", [FLIPPED, COPIED])
def test_bits_that_flip_cost_no_record_while_another_replica_has_it(steps):
    assert Run(Schedule(1, steps)).problems == []

"""What a consumer group promises, over 500 seeded schedules of crashes, freezes, resets
and delays; and that the detectors would notice if it were broken.

A failure prints its schedule. Schedule(number) replays it.
"""

from contextlib import suppress

import pytest

from minikafka.coordinators import consumer_group, groups
from minikafka.coordinators.classic_group import ClassicGroup
from minikafka.coordinators.runtime import Decision
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message
from tests.seeds import seeds
from tests.simulation.group_schedules import Run, Schedule

pytestmark = pytest.mark.apart

SCHEDULES = 500


def broken(run):
    """What is wrong with a run, in words."""
    found = [f"{each.name} at {each.at} ms: {each.what}" for each in run.anomalies]
    if not run.settled:
        read = {
            name: sorted(consumer.assignment())
            for name, consumer in run.consumers.items()
        }
        found.append(f"not settled: {read}")
    return found


@pytest.mark.parametrize("number", seeds(range(SCHEDULES)))
def test_a_group_never_has_two_owners_never_moves_early_and_settles_when_faults_stop(
    number,
):
    schedule = Schedule(number)
    assert not broken(Run(schedule)), schedule


# -- broken coordinators: name -> how to break one


def of_this_generation(request, group):
    """As if the member knew the generation of now."""
    request.generation_id = request.generation_id_or_member_epoch = group.generation


def generation_is_not_checked(patch):
    def unchecked(name):
        right = getattr(ClassicGroup, name)

        def call(group, *args):
            of_this_generation(
                next(each for each in args if isinstance(each, Message)), group
            )
            return right(group, *args)

        patch.setattr(ClassicGroup, name, call)

    for name in ("sync", "heartbeat", "check_commit"):
        unchecked(name)


def a_heartbeat_does_not_fence(patch):
    def heartbeat(self, request):
        fine = {"error_code": Error.NONE}
        with suppress(KafkaError):
            return right(self, request)._replace(answer=fine)
        return Decision((), fine)

    right = groups.Groups.heartbeat
    patch.setattr(groups.Groups, "heartbeat", heartbeat)


def the_generation_begins_before_all_have_joined(patch):
    right = ClassicGroup.remove

    def remove(self, member_id, why, now):
        if why.code != "rebalance_timeout":
            right(self, member_id, why, now)

    patch.setattr(ClassicGroup, "_all_joined", property(lambda self: True))
    patch.setattr(ClassicGroup, "remove", remove)


def a_partition_is_given_before_its_owner_gave_it_up(patch):
    right = consumer_group.reconcile

    def reconcile(member, goal, *of_the_request):
        return right(member, goal._replace(is_owned=lambda _: False), *of_the_request)

    patch.setattr(consumer_group, "reconcile", reconcile)


def a_commit_is_accepted_of_anybody(patch):
    patch.setattr(ClassicGroup, "check_commit", lambda *_: None)


def a_member_is_kept_after_its_session_timeout(patch):
    patch.setattr(
        ClassicGroup,
        "heard",
        lambda self, member_id, now: self._sessions.pause(member_id),
    )


def a_sync_is_answered_to_an_old_generation(patch):
    def sync(group, wait, request, now):
        of_this_generation(request, group)
        return right(group, wait, request, now)

    right = ClassicGroup.sync
    patch.setattr(ClassicGroup, "sync", sync)


BREAKS = [
    generation_is_not_checked,
    a_heartbeat_does_not_fence,
    the_generation_begins_before_all_have_joined,
    a_partition_is_given_before_its_owner_gave_it_up,
    a_commit_is_accepted_of_anybody,
    a_member_is_kept_after_its_session_timeout,
    a_sync_is_answered_to_an_old_generation,
]


def a_static_member_sleeps_through_a_generation():
    """It freezes between JoinGroup and SyncGroup, for longer than the others wait and
    shorter than its session.
    """
    schedule = Schedule(0)
    schedule.static, schedule.protocol, schedule.members, schedule.partitions = (
        True,
        "range",
        2,
        4,
    )
    schedule.faults = []
    freeze = "freeze as it joins", "consumer 2", 12_500
    schedule.steps = [
        (10_000, ("join", "", 0)),
        (10_001, freeze),
        (12_500, ("join", "", 0)),
    ]
    return schedule


@pytest.mark.nightly
@pytest.mark.parametrize("break_it", BREAKS)
def test_the_detectors_notice_when(break_it, monkeypatch):
    schedules = [
        a_static_member_sleeps_through_a_generation(),
        *map(Schedule, range(150)),
    ]
    assert not broken(Run(schedules[0]))
    break_it(monkeypatch)
    assert any(broken(Run(schedule)) for schedule in schedules)

"""Decisions change nothing: no state moves and no event is told before the records are
committed.
"""

import pytest

from minikafka.coordinators.classic_group import ClassicGroup
from tests.coordinators.party import Party
from tests.coordinators.purity import state_of
from tests.simulation.group_schedules import PROTOCOLS, Run, Schedule


@pytest.mark.slow
@pytest.mark.parametrize("first", range(len(PROTOCOLS)))
def test_random_requests_are_decided_without_changing_anything(first, decisions):
    for number in range(first, 4 * len(PROTOCOLS), len(PROTOCOLS)):
        Run(Schedule(number))
    assert len(decisions) > 400


def the_state(party):
    return party.node.broker.groups.loaded()[0]


def new_group(party):
    return lambda: party.join("a", version=3)


def leaders_assignment(party):
    party.join("a")
    party.pass_time(1)
    party.answer("a")
    return lambda: party.sync("a", {"a": b"all"})


def static_member_that_is_back(party):
    party.stable("a", instance="till-1")
    party.ids.pop("a")
    return lambda: party.join("a", instance="till-1")


def commit(party):
    party.commit(None, 3)
    return lambda: party.ask_to_commit(None, 4)


def offsets_that_expire(party):
    party.commit(None, 3)
    party.pass_time(3_500_000)
    return lambda: party.pass_time(200_000)


WRITES = [
    new_group,
    leaders_assignment,
    static_member_that_is_back,
    commit,
    offsets_that_expire,
]


@pytest.mark.parametrize("write", WRITES)
def test_what_is_written_shows_only_when_it_is_committed(write):
    events = []
    party = Party(events=events, offsets_retention_minutes=60)
    ask = write(party)
    replica = party.hold_back()
    before = state_of(the_state(party))
    told = len(events)
    assert ask() is None
    assert replica.log.log_end_offset > replica.high_watermark
    assert state_of(the_state(party)) == before
    assert len(events) == told
    party.let_through()
    assert state_of(the_state(party)) != before
    assert len(events) > told


def test_list_groups_shows_a_group_when_its_first_record_is_committed():
    party = Party()
    party.hold_back()
    party.join("a", version=3)
    assert party.ask("admin", "ListGroups", 5).groups == []
    party.let_through()
    assert [group.group_id for group in party.ask("admin", "ListGroups", 5).groups] == [
        "billing"
    ]


def test_an_impure_decision_would_be_noticed(monkeypatch):
    def heartbeat(group, request):
        group.heard(request.member_id, party.node.now)
        return right(group, request)

    party = Party()
    party.stable("a")
    party.pass_time(1)
    right = ClassicGroup.heartbeat
    monkeypatch.setattr(ClassicGroup, "heartbeat", heartbeat)
    with pytest.raises(AssertionError, match="it changed"):
        party.heartbeat("a")

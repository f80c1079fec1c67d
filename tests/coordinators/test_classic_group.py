"""The classic group protocol, as members see it on the wire."""

import pytest

from minikafka.coordinators.classic_state import TRANSITIONS
from minikafka.wire.errors import Error
from tests.coordinators.party import Party


@pytest.fixture
def party():
    return Party()


# -- joining


def ask_for_an_id(party, who, version=9):
    """The first of the two steps in which a member joins (KIP-394)."""
    body = {
        "group_id": "billing",
        "protocol_type": "consumer",
        "protocols": [{"name": "range"}],
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
    }
    return party.ask(who, "JoinGroup", version, **body)


def test_kip_394_a_new_member_is_given_an_id_and_asked_to_come_again(party):
    answer = ask_for_an_id(party, "a", version=4)
    assert answer.error_code == Error.MEMBER_ID_REQUIRED
    assert answer.member_id.startswith("test-")
    assert party.state == "Empty"


def test_kip_394_before_version_4_a_member_joins_in_one_step(party):
    party.join("a", version=3)
    party.pass_time(1)
    assert party.answer("a").error_code == Error.NONE


def test_kip_394_an_id_that_is_never_used_lapses_with_the_session(party):
    party.stable("a")
    ask_for_an_id(party, "b")
    # the leader wants a rebalance, and the group waits for the newcomer
    assert party.join("a") is None
    party.pass_time(9_000)
    assert party.answer("a") is None
    party.pass_time(1_000)
    assert party.answer("a").generation_id == 2


def test_kip_394_an_id_that_is_never_used_disturbs_nobody(party):
    party.stable("a", session_ms=60_000)
    ask_for_an_id(party, "b")
    party.pass_time(10_000)
    assert party.heartbeat("a") is Error.NONE


def test_kip_134_an_empty_group_waits_for_more_members_before_its_first_generation():
    party = Party(group_initial_rebalance_delay_ms=3000)
    assert party.join("a") is None
    party.pass_time(2000)
    assert party.join("b") is None
    party.pass_time(2000)  # b came during the first delay: there is another one
    assert party.answer("a") is None
    party.pass_time(2000)
    assert party.answer("a").generation_id == party.answer("b").generation_id == 1


def test_kip_134_the_initial_delay_ends_with_the_rebalance_timeout():
    party = Party(group_initial_rebalance_delay_ms=3000)
    for number in range(8):
        party.join(f"m{number}", rebalance_ms=10_000)
        party.pass_time(1_500)
    assert party.answer("m0").generation_id == 1


def test_only_the_leader_hears_of_the_others_and_their_subscriptions(party):
    party.stable("a")
    assert party.join("b") is None
    assert party.heartbeat("a") is Error.REBALANCE_IN_PROGRESS
    leader, follower = party.join("a"), party.answer("b")
    assert leader.leader == follower.leader == party.ids["a"]
    assert [member.member_id for member in leader.members] == [
        party.ids["a"],
        party.ids["b"],
    ]
    assert follower.members == []


def test_members_wait_until_all_have_joined_and_whoever_does_not_come_in_time_is_out(
    party,
):
    party.stable("a", "b", rebalance_ms=30_000, session_ms=60_000)
    party.join("c", rebalance_ms=30_000)
    party.join("a", rebalance_ms=30_000)
    party.pass_time(29_000)
    assert party.answer("a") is None
    party.pass_time(1_000)
    answer = party.answer("a")
    assert [member.member_id for member in answer.members] == [
        party.ids["a"],
        party.ids["c"],
    ]
    assert party.heartbeat("b") is Error.UNKNOWN_MEMBER_ID


def test_the_group_takes_a_protocol_that_all_members_know_and_most_like_best(party):
    party.stable("a", protocols=("range", "roundrobin", "sticky"))
    party.join("b", protocols=("roundrobin", "range"))
    party.join("c", protocols=("roundrobin", "range"))
    answer = party.join("a", protocols=("range", "roundrobin", "sticky"))
    assert answer.protocol_name == "roundrobin"


def test_a_member_without_a_common_protocol_is_refused(party):
    party.stable("a", protocols=("range",))
    assert (
        party.join("b", protocols=("sticky",)).error_code
        == Error.INCONSISTENT_GROUP_PROTOCOL
    )
    assert (
        party.join("c", protocol_type="connect").error_code
        == Error.INCONSISTENT_GROUP_PROTOCOL
    )
    assert party.state == "Stable"


def test_a_session_timeout_must_be_between_the_brokers_bounds(party):
    assert party.join("a", session_ms=5_999).error_code == Error.INVALID_SESSION_TIMEOUT
    assert (
        party.join("a", session_ms=1_800_001).error_code
        == Error.INVALID_SESSION_TIMEOUT
    )


def test_group_max_size_refuses_one_member_too_many():
    party = Party(group_max_size=2)
    party.stable("a", "b")
    assert party.join("c").error_code == Error.GROUP_MAX_SIZE_REACHED
    assert party.heartbeat("a") is Error.NONE


def test_group_max_size_counts_those_who_have_joined_while_a_rebalance_is_prepared():
    party = Party(group_max_size=2)
    party.stable("a", "b")
    assert party.join("a") is None
    assert party.join("c") is None  # came before b
    assert party.join("b").error_code == Error.GROUP_MAX_SIZE_REACHED


def test_kafka_7610_a_new_member_waits_for_its_first_answer_no_longer_than_five_minutes(
    party,
):
    party.stable("a", session_ms=1_800_000, rebalance_ms=1_800_000)
    assert party.join("b", session_ms=1_800_000) is None
    party.pass_time(299_999)
    assert party.answer("b") is None
    party.pass_time(1)
    assert party.answer("b").error_code == Error.UNKNOWN_MEMBER_ID


def test_a_member_that_joins_again_unchanged_gets_the_current_generation_but_the_leader_starts_a_rebalance(
    party,
):
    leader = party.stable("a", "b")
    follower = {"a": "b", "b": "a"}[leader]
    assert party.join(follower).generation_id == 1
    assert party.state == "Stable"
    assert party.join(leader) is None
    assert party.state == "PreparingRebalance"


# -- sharing out


def test_everybody_gets_the_share_that_the_leader_brought(party):
    party.stable("a", "b", "c")
    group = party.describe()
    assert group.group_state == "Stable"
    assert {member.client_id: member.member_assignment for member in group.members}
    assert sorted(member.member_assignment for member in group.members) == [
        b"a",
        b"b",
        b"c",
    ]


def test_a_member_that_the_leader_forgot_gets_nothing(party):
    party.join("a")
    party.pass_time(1)
    party.answer("a")
    party.join("b")
    party.join("a")
    party.answer("b")
    party.sync("b")
    party.sync("a", {"a": b"everything"})
    assert party.answer("b").assignment == b""


def test_a_sync_of_an_old_generation_is_refused(party):
    party.stable("a")
    assert party.sync("a", generation=0).error_code == Error.ILLEGAL_GENERATION


def test_kip_559_a_sync_that_names_another_protocol_is_refused(party):
    party.stable("a")
    assert (
        party.sync(
            "a", version=5, protocol_name="sticky", protocol_type="consumer"
        ).error_code
        == Error.INCONSISTENT_GROUP_PROTOCOL
    )
    assert (
        party.sync(
            "a", version=5, protocol_name="range", protocol_type="consumer"
        ).assignment
        == b"a"
    )


def test_a_sync_during_a_rebalance_sends_the_member_back_to_join(party):
    party.stable("a")
    party.join("b")
    assert party.sync("a").error_code == Error.REBALANCE_IN_PROGRESS


def test_somebody_who_joins_while_the_leader_assigns_starts_over(party):
    party.stable("a")
    party.join("b")
    party.join("a")
    party.answer("b")
    assert party.sync("b") is None
    assert party.join("c") is None
    assert party.answer("b").error_code == Error.REBALANCE_IN_PROGRESS
    assert party.sync("a", {"a": b"stale"}).error_code == Error.REBALANCE_IN_PROGRESS


def test_a_member_that_never_asks_for_its_share_is_out_after_the_rebalance_timeout(
    party,
):
    party.stable("a")
    party.join("b", rebalance_ms=20_000, session_ms=120_000)
    party.join("a", rebalance_ms=20_000, session_ms=120_000)
    party.answer("b")
    party.sync("a", {"a": b"all"})
    party.pass_time(20_000)
    assert party.heartbeat("a") is Error.REBALANCE_IN_PROGRESS
    assert party.heartbeat("b") is Error.UNKNOWN_MEMBER_ID


# -- living and dying


def test_a_member_that_is_silent_for_its_session_timeout_is_out_and_the_others_join_again(
    party,
):
    party.stable("a", "b")
    party.pass_time(9_000)
    assert party.heartbeat("a") is Error.NONE
    party.pass_time(1_000)
    assert party.heartbeat("a") is Error.REBALANCE_IN_PROGRESS
    assert party.join("a").generation_id == 2
    assert party.heartbeat("b") is Error.UNKNOWN_MEMBER_ID


def test_a_member_that_waits_for_the_others_needs_no_heartbeat(party):
    party.stable("a", "b", session_ms=10_000)
    party.join("c", session_ms=10_000)
    party.join("a", session_ms=10_000)
    party.pass_time(9_000)
    party.heartbeat("b")
    party.pass_time(9_000)
    party.heartbeat("b")
    assert party.join("b").generation_id == 2
    assert party.answer("a").generation_id == party.answer("c").generation_id == 2


def test_a_session_begins_anew_when_the_member_gets_the_share_that_it_waited_for(party):
    party.stable("a", session_ms=10_000)
    party.join("b", session_ms=10_000)
    party.join("a", session_ms=10_000)
    party.answer("b")
    assert party.sync("b") is None
    for _ in range(2):
        party.pass_time(9_000)
        party.heartbeat("a")
    party.sync("a", {"b": b"all"})
    party.pass_time(9_000)
    assert party.heartbeat("b") is Error.NONE


def test_a_goodbye_starts_the_rebalance_at_once(party):
    party.stable("a", "b")
    assert party.leave("b") == [Error.NONE]
    assert party.heartbeat("a") is Error.REBALANCE_IN_PROGRESS
    assert party.join("a").generation_id == 2


def test_when_the_last_member_leaves_the_group_is_empty_and_keeps_its_offsets(party):
    party.stable("a")
    assert party.commit("a", 7) is Error.NONE
    party.leave("a")
    assert party.state == "Empty"
    assert party.committed() == 7


def test_the_next_member_in_order_leads_when_the_leader_leaves(party):
    assert party.stable("a", "b", "c") == "a"
    party.leave("a")
    party.join("c")
    assert party.join("b").leader == party.ids["b"]


def test_an_unknown_member_is_told_so(party):
    party.stable("a")
    party.ids["ghost"] = "ghost-1"
    assert party.heartbeat("ghost") is Error.UNKNOWN_MEMBER_ID
    assert party.leave("ghost") == [Error.UNKNOWN_MEMBER_ID]
    assert party.sync("ghost", generation=1).error_code == Error.UNKNOWN_MEMBER_ID
    assert party.join("ghost").error_code == Error.UNKNOWN_MEMBER_ID


# -- static members (KIP-345)


def test_kip_345_a_static_member_that_comes_back_in_time_gets_its_share_and_nobody_notices(
    party,
):
    party.stable("a")
    party.join("b", instance="till-2")
    party.join("a")
    party.answer("b")
    party.sync("b")
    party.sync("a", {"a": b"a", "b": b"b"})
    party.answer("b")
    old_id = party.ids.pop("b")
    again = party.join("b", instance="till-2")
    assert (again.error_code, again.generation_id) == (Error.NONE, 2)
    assert party.ids["b"] != old_id
    assert party.sync("b").assignment == b"b"
    assert party.heartbeat("a") is Error.NONE


def test_kip_345_its_former_self_is_fenced(party):
    party.stable("a", instance="till-1")
    old_id = party.ids.pop("a")
    party.join("a", instance="till-1")
    party.ids["zombie"], party.generations["zombie"] = old_id, 1
    assert (
        party.heartbeat("zombie", group_instance_id="till-1")
        is Error.FENCED_INSTANCE_ID
    )
    assert (
        party.commit("zombie", 3, group_instance_id="till-1")
        is Error.FENCED_INSTANCE_ID
    )
    assert party.heartbeat("zombie") is Error.UNKNOWN_MEMBER_ID


def test_kip_814_a_static_leader_that_comes_back_is_told_not_to_assign(party):
    party.stable("a", instance="till-1")
    party.ids.pop("a")
    again = party.join("a", instance="till-1", version=9)
    assert again.leader == again.member_id and again.skip_assignment
    party.ids.pop("a")
    old = party.join("a", instance="till-1", version=8)
    assert old.leader != old.member_id and old.members == []


def test_kip_345_a_static_member_that_does_not_join_again_keeps_its_place_until_its_session_ends(
    party,
):
    party.stable("a")
    party.join("b", instance="till-2", session_ms=100_000, rebalance_ms=20_000)
    party.join("a", rebalance_ms=20_000)
    party.answer("b")
    party.sync("b")
    party.sync("a", {"a": b"a", "b": b"b"})
    party.join("c", rebalance_ms=20_000)
    party.join("a", rebalance_ms=20_000)
    party.pass_time(20_000)
    assert [member.group_instance_id for member in party.answer("a").members] == [
        None,
        "till-2",
        None,
    ]


def test_kip_345_an_admin_removes_a_static_member_by_its_instance_id(party):
    party.stable("a", instance="till-1")
    members = [
        {"member_id": "", "group_instance_id": "till-1"},
        {"member_id": "", "group_instance_id": "till-9"},
    ]
    answer = party.ask("admin", "LeaveGroup", 4, group_id="billing", members=members)
    assert [each.error_code for each in answer.members] == [
        Error.NONE,
        Error.UNKNOWN_MEMBER_ID,
    ]
    assert party.state == "Empty"


# -- the table


def test_every_transition_leads_to_a_state_that_kafka_allows():
    allowed = {
        "PreparingRebalance": {"Stable", "CompletingRebalance", "Empty"},
        "CompletingRebalance": {"PreparingRebalance"},
        "Stable": {"CompletingRebalance"},
        "Empty": {"PreparingRebalance"},
        "Dead": {
            "Stable",
            "PreparingRebalance",
            "CompletingRebalance",
            "Empty",
            "Dead",
        },
    }
    for row in TRANSITIONS.values():
        assert row.state in allowed[row.next_state], row


def test_the_trace_tells_each_transition_with_its_reason():
    events = []
    party = Party(events=events)
    party.stable("a")
    party.leave("a")
    changes = [event.detail for event in events if event.kind == "GroupStateChanged"]
    assert [(each["was"], each["reason"], each["state"]) for each in changes] == [
        ("Empty", "member_joins", "PreparingRebalance"),
        ("PreparingRebalance", "all_joined", "CompletingRebalance"),
        ("CompletingRebalance", "leader_assigned", "Stable"),
        ("Stable", "member_leaves", "PreparingRebalance"),
        ("PreparingRebalance", "nobody_joined", "Empty"),
    ]


def test_the_trace_tells_a_refusal_once_with_the_member_it_was_for():
    events = []
    party = Party(events=events)
    party.stable("a")
    party.heartbeat("a", generation=7)
    refusals = [event.detail for event in events if event.kind == "MemberRefused"]
    assert refusals[-1] == {
        "group": "billing",
        "member": party.ids["a"],
        "api": "Heartbeat",
        "error": "ILLEGAL_GENERATION",
    }
    assert [each["error"] for each in refusals] == [
        "MEMBER_ID_REQUIRED",
        "ILLEGAL_GENERATION",
    ]

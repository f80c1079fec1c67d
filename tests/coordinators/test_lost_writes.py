"""What a coordinator answers when its records can't be written, or are not committed in
time.
"""

from minikafka.wire.errors import Error
from tests.coordinators.party import Party


def two_who_wait_for_their_shares(party):
    """a leads, b has asked for its share."""
    party.join("a", version=3)
    party.pass_time(1)
    party.answer("a")
    party.join("b", version=3)
    party.join("a", version=3)
    party.answer("b")
    assert party.sync("b") is None


def test_an_assignment_larger_than_max_message_bytes_is_refused_to_leader_and_followers_and_the_group_rebalances():
    events = []
    party = Party(message_max_bytes=2000, events=events)
    two_who_wait_for_their_shares(party)
    assert party.sync("a", {"a": bytes(3000)}).error_code == Error.UNKNOWN_SERVER_ERROR
    assert party.answer("b").error_code == Error.UNKNOWN_SERVER_ERROR
    assert party.heartbeat("b") is Error.REBALANCE_IN_PROGRESS
    rebalances = [event for event in events if event.kind == "RebalanceStarted"]
    assert rebalances[-1].detail["reason"] == "assignment_lost"
    party.join("a", version=3)
    assert party.join("b", version=3).generation_id == 3


def test_an_assignment_that_is_not_committed_in_time_is_refused_to_leader_and_followers_and_the_group_rebalances():
    party = Party(offsets_commit_timeout_ms=3000)
    two_who_wait_for_their_shares(party)
    party.hold_back()
    assert party.sync("a", {"a": b"all"}) is None
    party.pass_time(2_999)
    assert party.answer("a") is None
    party.pass_time(1)
    assert party.answer("a").error_code == Error.COORDINATOR_NOT_AVAILABLE
    assert party.answer("b").error_code == Error.COORDINATOR_NOT_AVAILABLE
    party.let_through()
    assert party.heartbeat("b") is Error.REBALANCE_IN_PROGRESS


def test_what_waits_behind_an_uncommitted_record_times_out_too_and_the_record_counts_when_it_is_committed():
    party = Party()
    party.stable("a", session_ms=60_000)
    party.hold_back()
    assert party.ask_to_commit("a", 7) is None
    me = {"group_id": "billing", "member_id": party.ids["a"], "generation_id": 1}
    assert party.ask("other", "Heartbeat", 4, **me) is None
    party.pass_time(5_000)
    assert (
        party.answer("a").topics[0].partitions[0].error_code
        == Error.COORDINATOR_NOT_AVAILABLE
    )
    assert party.answer("other").error_code == Error.COORDINATOR_NOT_AVAILABLE
    assert party.committed() == -1
    party.let_through()
    assert party.committed() == 7


def test_a_group_whose_emptiness_cannot_be_written_is_empty_all_the_same():
    party = Party(offsets_commit_timeout_ms=3000)
    party.stable("a")
    party.hold_back()
    party.pass_time(13_000)
    assert party.state == "Empty"

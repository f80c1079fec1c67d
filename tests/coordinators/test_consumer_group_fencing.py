"""Consumer groups of KIP-848: epochs as passes, lost answers, timeouts, static members,
who may commit.
"""

import pytest

from minikafka.cluster.metadata import MetadataRecord
from minikafka.wire.errors import KafkaError
from tests.coordinators.consumer_groups import Consumer, Coordinator
from tests.coordinators.modern_groups import Topics, beat_until_quiet


@pytest.fixture
def coordinator():
    return Coordinator(Topics(orders=6))


def pair(coordinator, **options):
    a, b = Consumer(coordinator, "a", **options), Consumer(coordinator, "b")
    beat_until_quiet(a, b)
    return a, b


def refused(action, *args, **options):
    with pytest.raises(KafkaError) as error:
        action(*args, **options)
    return error.value.error.name


def test_kip_848_a_member_epoch_from_the_future_or_the_past_is_fenced(coordinator):
    a, _ = pair(coordinator)
    assert (a.epoch, refused(coordinator.heartbeat, member_id="a", member_epoch=4)) == (
        3,
        "FENCED_MEMBER_EPOCH",
    )
    assert (
        refused(coordinator.heartbeat, member_id="a", member_epoch=1)
        == "FENCED_MEMBER_EPOCH"
    )


def test_kip_848_a_fenced_member_drops_all_and_rejoins_with_epoch_0(coordinator):
    a, _b = pair(coordinator)
    a.epoch = 17
    assert refused(a.beat) == "FENCED_MEMBER_EPOCH"
    a.beat()
    assert (a.epoch, a.numbers) == (
        3,
        [0, 1, 2],
    ), "it is still a member: nothing was rebalanced"


def test_kip_848_the_lost_answer_to_a_join_is_repeated(coordinator):
    a = Consumer(coordinator, "a")
    a.beat(lost=True)
    written = len(coordinator.log)
    assert a.beat().member_epoch == 2
    assert (len(a.owned), len(coordinator.log)) == (6, written)


def one_epoch_behind(coordinator):
    """A member that made room for another; the answer with its new epoch is lost."""
    a, b = Consumer(coordinator, "a"), Consumer(coordinator, "b")
    a.beat()
    b.beat()
    a.beat()
    a.beat(lost=True)
    return a


def test_kip_848_the_previous_epoch_is_accepted_after_a_lost_answer(coordinator):
    a = one_epoch_behind(coordinator)
    assert (a.epoch, coordinator.group.state.members["a"].member_epoch) == (2, 3)
    assert a.beat().member_epoch == 3
    assert a.numbers == [0, 1, 2]


def test_kip_848_the_previous_epoch_with_a_partition_that_is_anothers_is_fenced(
    coordinator,
):
    a = one_epoch_behind(coordinator)
    a.owned.append(("orders", 5))
    assert refused(a.beat) == "FENCED_MEMBER_EPOCH"


def test_kip_848_the_previous_epoch_without_a_word_on_partitions_is_fenced(coordinator):
    one_epoch_behind(coordinator)
    assert (
        refused(coordinator.heartbeat, member_id="a", member_epoch=2)
        == "FENCED_MEMBER_EPOCH"
    )


def test_kip_848_a_group_may_have_timeouts_of_its_own(coordinator):
    configs = {
        "consumer.session.timeout.ms": "60000",
        "consumer.heartbeat.interval.ms": "7000",
    }
    for name, value in configs.items():
        fields = {
            "resource_type": 32,
            "resource_name": "billing",
            "name": name,
            "value": value,
        }
        coordinator.topics.image.apply(MetadataRecord("ConfigRecord", 0, fields))
    a = Consumer(coordinator, "a")
    assert a.beat().heartbeat_interval_ms == 7000
    coordinator.sleep(59.9)
    assert coordinator.group.member_ids == ["a"], "45 s are for the other groups"
    coordinator.sleep(0.1)
    assert coordinator.group.member_ids == []


def test_kip_848_a_silent_member_is_fenced_after_the_session_timeout(coordinator):
    a, b = pair(coordinator)
    coordinator.sleep(44.999)
    a.beat()
    assert len(coordinator.group.state.members) == 2
    coordinator.sleep(0.001)
    assert list(coordinator.group.state.members) == ["a"]
    left = next(event for event in coordinator.events if event.kind == "MemberLeft")
    assert (left.detail["member"], left.detail["reason"]) == ("b", "session_timeout")
    a.beat()
    assert len(a.owned) == 6
    assert refused(b.beat) == "UNKNOWN_MEMBER_ID"
    beat_until_quiet(a, b)
    assert len(b.owned) == 3


def test_kip_848_members_that_fall_silent_together_cost_one_group_epoch(coordinator):
    pair(coordinator)
    epoch = coordinator.group.state.group_epoch
    coordinator.sleep(45)
    assert (coordinator.group.state_name, coordinator.group.state.group_epoch) == (
        "Empty",
        epoch + 1,
    )


def test_kip_848_a_member_that_does_not_revoke_within_its_rebalance_timeout_is_fenced(
    coordinator,
):
    a, b = Consumer(coordinator, "a"), Consumer(coordinator, "b")
    a.beat()
    b.beat()
    a.beat()
    for _ in range(59):
        coordinator.sleep(1)
        # alive, but it says nothing of its partitions
        coordinator.heartbeat(member_id="a", member_epoch=2)
        b.beat()
    coordinator.sleep(1)
    assert list(coordinator.group.state.members) == ["b"]
    b.beat()
    assert len(b.owned) == 6


def test_kip_848_a_member_that_revoked_in_time_is_left_alone(coordinator):
    a, b = Consumer(coordinator, "a"), Consumer(coordinator, "b")
    beat_until_quiet(a, b)
    for _ in range(80):
        coordinator.sleep(1)
        a.beat()
        b.beat()
    assert (len(a.owned), len(b.owned)) == (3, 3)


def test_kip_848_a_new_coordinator_gives_everybody_a_full_session(coordinator):
    a, _b = pair(coordinator)
    coordinator.sleep(40)
    coordinator.restart()
    coordinator.sleep(44)
    a.beat()
    coordinator.sleep(1)
    assert list(coordinator.group.state.members) == ["a"]


def test_kip_848_a_new_coordinator_knows_who_must_revoke_and_waits_as_long_again(
    coordinator,
):
    a, b = Consumer(coordinator, "a"), Consumer(coordinator, "b")
    a.beat()
    b.beat()
    a.beat()
    coordinator.sleep(30)
    coordinator.restart()
    for _ in range(59):
        coordinator.sleep(1)
        coordinator.heartbeat(member_id="a", member_epoch=2)
        b.beat()
    assert "a" in coordinator.group.state.members
    coordinator.sleep(1)
    assert "a" not in coordinator.group.state.members


def test_kip_345_a_static_member_that_comes_back_gets_its_partitions_without_a_rebalance(
    coordinator,
):
    a, b = pair(coordinator, instance_id="one")
    before, epoch = a.numbers, coordinator.group.state.group_epoch
    assert a.leave(epoch=-2).member_epoch == -2
    b.beat()
    assert len(b.owned) == 3, "the partitions wait for their static member"
    again = Consumer(coordinator, "a2", instance_id="one")
    again.beat()
    assert (again.numbers, again.epoch, coordinator.group.state.group_epoch) == (
        before,
        epoch,
        epoch,
    )
    assert list(coordinator.group.state.members) == ["b", "a2"]


def test_kip_345_the_same_process_may_come_back_with_its_member_id(coordinator):
    a, b = pair(coordinator, instance_id="one")
    a.leave(epoch=-2)
    a.beat()
    assert len(a.owned) == 3
    for _ in range(9):
        coordinator.sleep(5)
        b.beat()
    assert list(coordinator.group.state.members) == ["b"], (
        "its session counts from its return"
    )


def test_kip_345_an_instance_id_in_use_is_not_given_away(coordinator):
    a, _b = pair(coordinator, instance_id="one")
    assert (
        refused(Consumer(coordinator, "a2", instance_id="one").beat)
        == "UNRELEASED_INSTANCE_ID"
    )
    a.beat()


def test_kip_345_a_static_member_that_missed_the_answer_to_its_join_is_in_its_own_way(
    coordinator,
):
    a = Consumer(coordinator, "a", instance_id="one")
    a.beat(lost=True)
    assert refused(a.beat) == "UNRELEASED_INSTANCE_ID", (
        "Apache Kafka does not ask whether it is the same process"
    )
    coordinator.sleep(45)
    a.beat()


def test_kip_345_the_old_process_of_a_replaced_static_member_is_fenced(coordinator):
    a, _b = pair(coordinator, instance_id="one")
    epoch = a.epoch
    a.leave(epoch=-2)
    Consumer(coordinator, "a2", instance_id="one").beat()
    assert (
        refused(
            coordinator.heartbeat, member_id="a", member_epoch=epoch, instance_id="one"
        )
        == "FENCED_INSTANCE_ID"
    )
    assert refused(a.leave) == "FENCED_INSTANCE_ID"


def test_kip_345_a_static_member_that_stays_away_loses_its_partitions_with_its_session(
    coordinator,
):
    a, b = pair(coordinator, instance_id="one")
    a.leave(epoch=-2)
    coordinator.sleep(44)
    b.beat()
    coordinator.sleep(1)
    b.beat()
    assert len(b.owned) == 6


def test_kip_345_a_static_member_that_goes_away_has_given_up_what_it_was_told_to_and_keeps_the_rest(
    coordinator,
):
    a = Consumer(coordinator, "a", instance_id="one", rebalance_timeout_ms=10_000)
    a.beat()
    b = Consumer(coordinator, "b")
    b.beat()
    a.beat(slow=True)  # is told to revoke
    a.leave(epoch=-2)
    b.beat()
    assert b.numbers == [3, 4, 5]
    coordinator.sleep(20)
    assert "a" in coordinator.group.state.members
    coordinator.sleep(30)
    assert "a" not in coordinator.group.state.members, "its session is over"


def test_kip_345_a_static_member_that_leaves_for_good_frees_its_instance_id(
    coordinator,
):
    a, b = pair(coordinator, instance_id="one")
    a.leave()
    b.beat()
    assert len(b.owned) == 6
    beat_until_quiet(Consumer(coordinator, "a2", instance_id="one"), b)
    assert len(b.owned) == 3


def test_kip_848_who_may_commit(coordinator):
    a, b = pair(coordinator)
    check, mine = coordinator.check_commit, [("orders", 0)]
    check("a", 3, mine, 9)
    assert refused(check, "a", 4, mine, 9) == "STALE_MEMBER_EPOCH"
    assert refused(check, "x", 3, mine, 9) == "UNKNOWN_MEMBER_ID"
    assert refused(check, "", -1, mine, 9) == "UNKNOWN_MEMBER_ID"
    assert refused(check, "a", 3, mine, 8) == "UNSUPPORTED_VERSION"
    a.leave()
    b.leave()
    check("", -1, mine, 8)


def test_kip_1251_an_older_epoch_commits_for_what_was_assigned_by_then_and_still_is(
    coordinator,
):
    pair(coordinator)
    check = coordinator.check_commit
    check("a", 2, [("orders", 0), ("orders", 1)], 9)
    assert refused(check, "a", 1, [("orders", 0)], 9) == "STALE_MEMBER_EPOCH"
    assert (
        refused(check, "a", 2, [("orders", 0), ("orders", 5)], 9)
        == "STALE_MEMBER_EPOCH"
    ), "5 is b's by now"
    assert refused(check, "b", 2, [("orders", 5)], 9) == "STALE_MEMBER_EPOCH", (
        "5 was not b's then"
    )
    assert refused(check, "a", 2, [("elsewhere", 0)], 9) == "STALE_MEMBER_EPOCH"


def test_kip_1251_what_must_be_given_up_is_still_committed_for(coordinator):
    a, b = Consumer(coordinator, "a"), Consumer(coordinator, "b")
    a.beat()
    b.beat()
    a.beat()
    coordinator.check_commit("a", 2, [("orders", 5)], 9)
    a.beat()
    assert (
        refused(coordinator.check_commit, "a", 2, [("orders", 5)], 9)
        == "STALE_MEMBER_EPOCH"
    )


def test_kip_848_a_member_fetches_offsets_with_its_current_epoch_and_anybody_without_a_member_id(
    coordinator,
):
    pair(coordinator)
    check = coordinator.group.check_fetch
    check("a", 3)
    check(None, -1)
    assert refused(check, "a", 2) == "STALE_MEMBER_EPOCH"
    assert refused(check, "x", 3) == "UNKNOWN_MEMBER_ID"

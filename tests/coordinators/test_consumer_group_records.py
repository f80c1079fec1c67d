"""Consumer groups of KIP-848: what is written, what can be read back, what is told."""

import pytest

from minikafka.coordinators.consumer_group import Draft
from minikafka.trace import Reason
from minikafka.wire.internal_records import (
    decode_coordinator_record,
    encode_coordinator_record,
)
from tests.coordinators.consumer_groups import Consumer, Coordinator
from tests.coordinators.modern_groups import Topics, beat_until_quiet, hard_state

TOPIC_ID = (1).to_bytes(16, "big")
KEY = {"group_id": "billing"}


@pytest.fixture
def coordinator():
    return Coordinator(Topics(orders=6))


def names(log):
    return [decode_coordinator_record(*record)[0] for record in log]


def busy(coordinator):
    """Joins, moves, a lost answer, a static member that goes and comes, a leaver, a
    session that ends.
    """
    a, b, c = (Consumer(coordinator, name) for name in "abc")
    s = Consumer(coordinator, "s", instance_id="one")
    beat_until_quiet(a, b, rounds=2)
    c.beat(lost=True)
    beat_until_quiet(s, a, b, c)
    s.leave(epoch=-2)
    beat_until_quiet(a, b, c, Consumer(coordinator, "s2", instance_id="one"))
    c.leave()
    beat_until_quiet(a, b)
    coordinator.topics.grow("orders", 7)
    beat_until_quiet(a, b)
    coordinator.sleep(30)
    beat_until_quiet(a)
    coordinator.sleep(20)
    beat_until_quiet(a)


def test_a_join_is_written_as_kafka_writes_it(coordinator):
    Consumer(coordinator, "a").beat()
    assert names(coordinator.log) == [
        "ConsumerGroupMemberMetadata",
        "ConsumerGroupMetadata",
        "ConsumerGroupTargetAssignmentMember",
        "ConsumerGroupTargetAssignmentMetadata",
        "ConsumerGroupCurrentMemberAssignment",
    ]
    current = decode_coordinator_record(*coordinator.log[-1])[2]
    assert (current.member_epoch, current.previous_member_epoch, current.state) == (
        2,
        0,
        0,
    )
    assert current.assigned_partitions[0].assignment_epochs == [2] * 6


def test_a_leaver_is_written_as_kafka_writes_it(coordinator):
    a = Consumer(coordinator, "a")
    a.beat()
    del coordinator.log[:]
    a.leave()
    kinds = [
        (name, value is None)
        for name, _, value in (
            decode_coordinator_record(*one) for one in coordinator.log
        )
    ]
    assert kinds == [
        ("ConsumerGroupCurrentMemberAssignment", True),
        ("ConsumerGroupTargetAssignmentMember", True),
        ("ConsumerGroupMemberMetadata", True),
        ("ConsumerGroupMetadata", False),
        ("ConsumerGroupTargetAssignmentMetadata", False),
    ]


def test_only_the_targets_that_change_are_written(coordinator):
    a, b = Consumer(coordinator, "a"), Consumer(coordinator, "b")
    coordinator.topics.grow("orders", 7)
    beat_until_quiet(a, b)
    del coordinator.log[:]
    coordinator.topics.grow("orders", 8)
    beat_until_quiet(a, b)
    assert names(coordinator.log).count("ConsumerGroupTargetAssignmentMember") == 1


def test_a_replay_gives_the_same_state_at_every_record(coordinator):
    live = []
    group, apply = coordinator.group, coordinator.group.apply

    def watched(name, key, value):
        apply(name, key, value)
        live.append(
            {attribute: repr(value) for attribute, value in hard_state(group).items()}
        )

    group.apply = watched
    busy(coordinator)
    replayed = coordinator.new_group()
    for record, expected in zip(coordinator.log, live, strict=True):
        replayed.apply(*decode_coordinator_record(*record))
        assert {
            attribute: repr(value) for attribute, value in hard_state(replayed).items()
        } == expected


def test_a_compacted_log_gives_the_same_state(coordinator):
    busy(coordinator)
    latest = {key: place for place, (key, _) in enumerate(coordinator.log)}
    compacted = [
        record
        for place, record in enumerate(coordinator.log)
        if latest[record[0]] == place
    ]
    assert len(compacted) < len(coordinator.log) / 3
    assert hard_state(coordinator.replayed(compacted)) == hard_state(coordinator.group)
    without_tombstones = [record for record in compacted if record[1] is not None]
    assert hard_state(coordinator.replayed(without_tombstones)) == hard_state(
        coordinator.group
    )


def test_a_new_coordinator_goes_on_where_the_old_one_stopped(coordinator):
    a, b = Consumer(coordinator, "a"), Consumer(coordinator, "b")
    a.beat()
    b.beat()
    a.beat()
    coordinator.restart()
    beat_until_quiet(a, b)
    assert (a.numbers, b.numbers) == ([0, 1, 2], [3, 4, 5])
    assert coordinator.group.state.group_epoch == 3, (
        "the topics' hash is the stored one"
    )


def kafka_wrote(coordinator, name, key, value):
    record = encode_coordinator_record(name, {**KEY, **key}, value)
    coordinator.log.append(record)


def kafka_members(coordinator, **current):
    metadata = {
        "client_id": "java",
        "client_host": "/10.0.0.1",
        "subscribed_topic_names": ["orders"],
    }
    metadata |= {
        "subscribed_topic_regex": "",
        "rebalance_timeout_ms": 300_000,
        "classic_member_metadata": None,
    }
    topics = [{"topic_id": TOPIC_ID, "partitions": [0, 1, 2, 3, 4, 5]}]
    kafka_wrote(
        coordinator, "ConsumerGroupMemberMetadata", {"member_id": "a"}, metadata
    )
    kafka_wrote(
        coordinator,
        "ConsumerGroupTargetAssignmentMember",
        {"member_id": "a"},
        {"topic_partitions": topics},
    )
    kafka_wrote(
        coordinator,
        "ConsumerGroupTargetAssignmentMetadata",
        {},
        {"assignment_epoch": 9},
    )
    value = {
        "member_epoch": 9,
        "previous_member_epoch": 8,
        "state": 0,
        "assigned_partitions": topics,
        **current,
    }
    kafka_wrote(
        coordinator, "ConsumerGroupCurrentMemberAssignment", {"member_id": "a"}, value
    )


def test_a_group_that_an_older_apache_kafka_wrote_goes_on(coordinator):
    kafka_wrote(coordinator, "ConsumerGroupMetadata", {}, {"epoch": 9})
    topics = [{"topic_id": TOPIC_ID, "topic_name": "orders", "num_partitions": 6}]
    kafka_wrote(coordinator, "ConsumerGroupPartitionMetadata", {}, {"topics": topics})
    kafka_members(coordinator)
    coordinator.restart()
    assert coordinator.group.state_name == "Stable"
    a = Consumer(
        coordinator,
        "a",
        epoch=9,
        must_say=False,
        owned=[("orders", number) for number in range(6)],
    )
    a.told = a.owned
    coordinator.check_commit("a", 9, [("orders", 5)], 9)
    assert a.beat().member_epoch == 10, (
        "our hash of the topics is not Kafka's: one epoch more"
    )
    assert len(a.owned) == 6
    assert decode_coordinator_record(*coordinator.log[8])[::2] == (
        "ConsumerGroupPartitionMetadata",
        None,
    )
    written = len(coordinator.log)
    a.beat()
    assert len(coordinator.log) == written


def test_a_state_of_a_newer_kafka_makes_the_member_start_over(coordinator):
    kafka_wrote(coordinator, "ConsumerGroupMetadata", {}, {"epoch": 9})
    kafka_members(coordinator, state=5)
    coordinator.restart()
    a = Consumer(coordinator, "a", epoch=9, owned=[("orders", 0)])
    with pytest.raises(Exception, match="FENCED_MEMBER_EPOCH"):
        a.beat()
    beat_until_quiet(a)
    assert len(a.owned) == 6
    assert coordinator.group.state_name == "Stable"


def test_a_group_can_be_deleted_by_its_tombstones(coordinator):
    busy(coordinator)
    records = coordinator.group.tombstones()
    assert all(record.value is None for record in records)
    gone = Reason("goodbye", "the group is deleted")
    coordinator.commit(
        Draft(records, why=dict.fromkeys(coordinator.group.state.members, gone))
    )
    state = hard_state(coordinator.group)
    assert (
        state["members"],
        state["target"],
        state["owners"],
        state["static_members"],
    ) == ({}, {}, {}, {})


def test_a_group_is_subscribed_to_the_topics_of_its_members(coordinator):
    a = Consumer(coordinator, "a")
    a.beat()
    assert coordinator.group.subscribes_to(
        "orders"
    ) and not coordinator.group.subscribes_to("invoices")
    a.leave()
    assert not coordinator.group.subscribes_to("orders")


def test_kip_848_describe_shows_what_a_member_has_what_it_must_give_up_and_what_it_is_to_have(
    coordinator,
):
    a, b = Consumer(coordinator, "a"), Consumer(coordinator, "b")
    a.beat()
    b.beat()
    a.beat()
    described = coordinator.group.describe()
    assert (
        described["group_state"],
        described["group_epoch"],
        described["assignment_epoch"],
    ) == ("Reconciling", 3, 3)
    mine, other = described["members"]
    assert mine["assignment"]["topic_partitions"][0]["partitions"] == [0, 1, 2, 3, 4, 5]
    assert mine["target_assignment"]["topic_partitions"] == [
        {"topic_id": TOPIC_ID, "topic_name": "orders", "partitions": [0, 1, 2]}
    ]
    assert (mine["member_epoch"], other["member_epoch"]) == (2, 3)
    assert other["assignment"]["topic_partitions"] == []
    assert (mine["client_id"], mine["client_host"], mine["member_type"]) == (
        "client of a",
        "/127.0.0.1",
        1,
    )


def test_the_trace_tells_a_rebalance_step_by_step(coordinator):
    a, b = Consumer(coordinator, "a"), Consumer(coordinator, "b")
    a.beat()
    assert coordinator.kinds() == [
        "MemberJoined",
        "RebalanceStarted",
        "GroupStateChanged",
        "AssignmentMade",
        "GroupStateChanged",
        "MemberReconciled",
        "GroupStateChanged",
    ]
    states = [
        event.detail["state"]
        for event in coordinator.events
        if event.kind == "GroupStateChanged"
    ]
    assert states == ["Assigning", "Reconciling", "Stable"]
    del coordinator.events[:]
    b.beat()
    reconciled = coordinator.events[-1].detail
    assert reconciled["waiting_for"] == [["orders", 3], ["orders", 4], ["orders", 5]]
    a.beat()
    assert coordinator.events[-1].detail["revoking"] == [
        ["orders", 3],
        ["orders", 4],
        ["orders", 5],
    ]
    assert [str(event) for event in coordinator.events], "every event has its sentence"


def test_a_replay_tells_nothing(coordinator):
    busy(coordinator)
    del coordinator.events[:]
    coordinator.restart()
    assert coordinator.events == []

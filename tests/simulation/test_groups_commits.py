"""Committed offsets in the simulation: who commits what, when, and what a refusal
means.
"""

import pytest

from minikafka.clients.errors import (
    CommitFailedError,
    IllegalStateError,
    KafkaTimeoutError,
)
from minikafka.clients.structs import OffsetAndMetadata, TopicPartition
from minikafka.faults import Lose
from minikafka.simulation.cluster import Cluster
from minikafka.wire.errors import KafkaError
from tests.simulation.members import committed, kinds, member, sent

FIRST = TopicPartition("orders", 0)


# commits


def test_auto_commit_commits_what_earlier_polls_gave_and_not_what_this_one_gives(
    cluster,
):
    consumer = member(cluster, auto_commit_interval_ms=1000, max_poll_records=5)
    assert sum(map(len, consumer.poll(timeout_ms=10000).values())) == 5
    cluster.run(seconds=2)
    assert committed(cluster) == {}
    assert sum(map(len, consumer.poll(timeout_ms=1000).values())) == 5
    cluster.run(seconds=1)
    assert sum(committed(cluster).values()) == 5


def test_without_auto_commit_nothing_is_committed_and_all_is_read_again(cluster):
    for _ in range(2):
        consumer = member(cluster, enable_auto_commit=False)
        assert sum(map(len, consumer.poll(timeout_ms=10000).values())) == 20
        consumer.close()
    assert committed(cluster) == {}


def test_commit_waits_until_the_coordinator_has_it(cluster):
    consumer = member(cluster, enable_auto_commit=False)
    consumer.poll(timeout_ms=10000)
    consumer.commit()
    assert committed(cluster) == {0: 10, 1: 10}
    consumer.commit({FIRST: OffsetAndMetadata(3, "by hand")})
    assert consumer.committed(FIRST) == 3
    assert consumer.committed(FIRST, metadata=True) == OffsetAndMetadata(
        3, "by hand", -1
    )
    assert cluster.lag("billing") == {FIRST: 7, TopicPartition("orders", 1): 0}
    consumer.commit({})
    with pytest.raises(TypeError, match="OffsetAndMetadata"):
        consumer.commit({FIRST: 3})
    assert cluster.consumer(group_id="new").committed(FIRST) is None


def test_a_new_member_goes_on_where_the_group_has_committed(cluster):
    consumer = member(cluster)
    consumer.poll(timeout_ms=10000)
    consumer.close()
    sent(cluster, 4)
    again = member(cluster)
    assert [
        each.offset
        for records in again.poll(timeout_ms=10000).values()
        for each in records
    ] == [10, 11, 10, 11]


def test_auto_offset_reset_counts_where_nothing_is_committed(cluster):
    consumer = member(cluster, auto_offset_reset="latest")
    assert consumer.poll(timeout_ms=10000) == {}
    assert consumer.position(FIRST) == 10
    assert {event.detail["reason"] for event in kinds(cluster, "PositionReset")} == {
        "auto_offset_reset"
    }


def test_commit_async_calls_back_in_a_later_call(cluster):
    consumer, told = member(cluster, enable_auto_commit=False), []
    consumer.poll(timeout_ms=10000)
    future = consumer.commit_async(
        callback=lambda offsets, answer: told.append((offsets[FIRST].offset, answer))
    )
    cluster.run(seconds=1)
    assert future.succeeded() and told == [] and committed(cluster) == {0: 10, 1: 10}
    consumer.poll()
    assert told == [(10, True)]


def test_commit_async_is_tried_once_and_commit_again_and_again():
    with Cluster(
        seed=7, faults=[Lose("consumer 1", "broker 1", "OffsetCommit", times=2)]
    ) as cluster:
        sent(cluster)
        consumer, told = member(cluster, enable_auto_commit=False), []
        consumer.poll(timeout_ms=10000)
        consumer.commit_async(callback=lambda _, answer: told.append(answer))
        cluster.run(seconds=1)
        consumer.poll()
        assert [type(each) for each in told] == [KafkaError] and told[0].error.retriable
        consumer.commit()
        assert committed(cluster) == {0: 10, 1: 10}
        assert [event.detail["how"] for event in kinds(cluster, "CommitSent")] == [
            "async",
            "sync",
            "sync",
        ]
        assert len(kinds(cluster, "CommitFailed")) == 1


def test_commit_survives_a_restart_of_the_coordinator(cluster):
    consumer = member(cluster, enable_auto_commit=False)
    consumer.poll(timeout_ms=10000)
    cluster.crash(1)
    cluster.restart(1)
    consumer.commit()
    assert committed(cluster) == {0: 10, 1: 10}


def test_commit_gives_up_in_the_end(cluster):
    consumer = member(cluster, enable_auto_commit=False)
    consumer.poll(timeout_ms=10000)
    cluster.crash(1)
    with pytest.raises(KafkaTimeoutError):
        consumer.commit(timeout_ms=3000)


def test_a_member_that_was_put_out_cannot_commit(cluster):
    consumer = member(cluster, enable_auto_commit=False, max_poll_interval_ms=10000)
    consumer.poll(timeout_ms=10000)
    cluster.run(seconds=20)
    with pytest.raises(CommitFailedError, match="max_poll_interval_ms"):
        consumer.commit()
    assert committed(cluster) == {}


def test_a_frozen_members_late_commit_is_refused_by_the_coordinator(cluster):
    consumer = member(cluster, enable_auto_commit=False)
    consumer.poll(timeout_ms=10000)
    cluster.freeze(consumer)
    cluster.run(seconds=50)
    cluster.thaw(consumer)
    with pytest.raises(CommitFailedError):
        consumer.commit()
    assert committed(cluster) == {}


def test_a_consumer_that_assigns_its_partitions_commits_without_being_a_member(cluster):
    consumer = cluster.consumer(group_id="billing", auto_offset_reset="earliest")
    consumer.assign([FIRST])
    consumer.poll(timeout_ms=1000)
    consumer.close()
    assert committed(cluster) == {0: 10} and cluster.group("billing").members == []


def test_commits_need_a_group(cluster):
    consumer = cluster.consumer("orders")
    for call in (
        consumer.commit,
        consumer.commit_async,
        lambda: consumer.committed(FIRST),
    ):
        with pytest.raises(IllegalStateError, match="needs a group"):
            call()

"""Consumer groups in the simulation: what a member lives through, and what its program
sees of it.
"""

import pytest

from minikafka.clients.errors import (
    FencedInstanceIdError,
    IllegalStateError,
)
from minikafka.simulation.cluster import Cluster
from tests.simulation.members import kinds, member, numbers, reads, running, sent


@pytest.fixture
def cluster():
    with Cluster(seed=7) as made:
        sent(made, count=60, partitions=6)
        yield made


class Listener:
    def __init__(self, heard):
        self.heard = heard

    def on_partitions_revoked(self, partitions):
        self.heard.append(("revoked", sorted(each.partition for each in partitions)))

    def on_partitions_assigned(self, partitions):
        self.heard.append(("assigned", sorted(each.partition for each in partitions)))

    def on_partitions_lost(self, partitions):
        self.heard.append(("lost", sorted(each.partition for each in partitions)))


# joining


def test_a_group_shares_the_partitions_and_reads_everything_once(cluster):
    seen = []
    consumers = [member(cluster) for _ in range(3)]
    for each in consumers:
        cluster.start(reads, each, seen)
    cluster.run(seconds=15)
    assert sorted(numbers(each) for each in consumers) == [[0, 1], [2, 3], [4, 5]]
    assert sorted(seen) == [
        (partition, offset) for partition in range(6) for offset in range(10)
    ]
    assert cluster.group("billing").state == "Stable" and set(
        cluster.lag("billing").values()
    ) == {0}


def test_kip_394_a_member_joins_in_two_steps_with_the_id_it_is_given(cluster):
    [consumer] = running(cluster)
    cluster.run(seconds=5)
    moves = [
        (event.detail["was"], event.detail["state"])
        for event in kinds(cluster, "MemberStateChanged")
    ]
    assert moves == [
        ("unjoined", "preparing_rebalance"),
        ("preparing_rebalance", "unjoined"),
        ("unjoined", "preparing_rebalance"),
        ("preparing_rebalance", "completing_rebalance"),
        ("completing_rebalance", "stable"),
    ]
    assert consumer.core.membership.member_id.startswith("consumer 1-")


def test_nobody_joins_before_the_first_poll(cluster):
    member(cluster)
    cluster.run(seconds=10)
    assert cluster.groups() == []


def test_a_member_that_comes_makes_all_others_join_again(cluster):
    first, *_ = running(cluster)
    cluster.run(seconds=10)
    assert numbers(first) == [0, 1, 2, 3, 4, 5]
    [second] = running(cluster)
    cluster.run(seconds=5)
    assert (numbers(first), numbers(second)) == ([0, 1, 2], [3, 4, 5])


def test_eager_members_give_everything_back_before_they_join_again(cluster):
    heard = []
    first = member(cluster)
    first.subscribe(["orders"], listener=Listener(heard))
    cluster.start(reads, first)
    cluster.run(seconds=10)
    running(cluster)
    cluster.run(seconds=5)
    assert heard == [
        ("assigned", [0, 1, 2, 3, 4, 5]),
        ("revoked", [0, 1, 2, 3, 4, 5]),
        ("assigned", [0, 1, 2]),
    ]


def test_kip_429_cooperative_members_keep_what_stays_theirs_and_join_twice(cluster):
    heard = []
    first = member(cluster, partition_assignment_strategy="cooperative-sticky")
    first.subscribe(["orders"], listener=Listener(heard))
    cluster.start(reads, first)
    cluster.run(seconds=10)
    [second] = running(cluster, partition_assignment_strategy="cooperative-sticky")
    cluster.run(seconds=10)
    [all_of_them, moved, nothing, last] = heard
    assert all_of_them == ("assigned", [0, 1, 2, 3, 4, 5])
    assert moved == ("revoked", numbers(second)) and nothing == last == ("assigned", [])
    assert cluster.group("billing").generation == 3


def test_the_first_poll_waits_for_the_program_even_if_the_answer_came_before(cluster):
    """As in Java: an answer to JoinGroup is looked at in poll()."""
    consumer = member(cluster)
    consumer.poll(timeout_ms=100)
    cluster.run(seconds=10)
    assert cluster.group("billing").state == "CompletingRebalance"
    consumer.poll(timeout_ms=100)
    assert (
        cluster.group("billing").state == "Stable" and len(consumer.assignment()) == 6
    )


# leaving


def test_a_member_that_closes_says_goodbye_and_commits(cluster):
    first, second = running(cluster, 2)
    cluster.run(seconds=10)
    second.close()
    cluster.run(seconds=4)
    assert numbers(first) == [0, 1, 2, 3, 4, 5]
    [left] = kinds(cluster, "MemberLeft")
    assert left.detail["reason"] == "goodbye"
    hows = [
        event.detail["how"] for event in kinds(cluster, "CommitSent", node=second.name)
    ]
    assert hows[-1] == "close"


def test_a_crashed_member_is_missed_when_its_session_is_over(cluster):
    first, second = running(cluster, 2)
    cluster.run(seconds=10)
    cluster.crash(second)
    cluster.run(seconds=40)
    assert numbers(first) == [0, 1, 2]
    cluster.run(seconds=10)
    assert numbers(first) == [0, 1, 2, 3, 4, 5]


def test_a_frozen_member_loses_its_partitions_and_joins_anew_when_it_goes_on(cluster):
    heard = []
    first, second = member(cluster), member(cluster)
    second.subscribe(["orders"], listener=Listener(heard))
    cluster.start(reads, first)
    cluster.start(reads, second)
    cluster.run(seconds=10)
    cluster.freeze(second, seconds=60)
    cluster.run(seconds=59)
    assert numbers(first) == [0, 1, 2, 3, 4, 5]
    cluster.run(seconds=10)
    assert [what for what, _ in heard] == ["assigned", "lost", "assigned"]
    [lost] = kinds(cluster, "PartitionsLost")
    assert (
        lost.detail["member"].startswith("consumer 2-")
        and lost.detail["generation"] == 1
    )
    assert sorted(numbers(first) + numbers(second)) == [0, 1, 2, 3, 4, 5] and numbers(
        second
    )


def test_unsubscribing_is_leaving(cluster):
    consumer = member(cluster)
    consumer.poll(timeout_ms=5000)
    consumer.unsubscribe()
    cluster.run(seconds=1)
    assert cluster.group("billing").state == "Empty" and consumer.assignment() == set()
    with pytest.raises(IllegalStateError, match="reads nothing yet"):
        consumer.poll()
    consumer.subscribe(["orders"])
    consumer.poll(timeout_ms=5000)
    assert len(consumer.assignment()) == 6


def test_kip_345_a_static_member_that_comes_back_in_time_has_its_share_again(cluster):
    first, second = (member(cluster, group_instance_id=name) for name in ("a", "b"))
    programs = [cluster.start(reads, each) for each in (first, second)]
    cluster.run(seconds=10)
    before = numbers(second), cluster.group("billing").generation
    cluster.crash(programs[1])
    cluster.run(seconds=20)
    cluster.restart(programs[1])
    cluster.run(seconds=10)
    assert (numbers(second), cluster.group("billing").generation) == before
    [replaced] = kinds(cluster, "MemberLeft")
    assert replaced.detail["reason"] == "static_member_replaced"
    second.close()
    cluster.run(seconds=5)
    assert kinds(cluster, "MemberLeft") == [replaced]


def test_kip_345_the_second_of_two_with_one_instance_id_fences_the_first(cluster):
    first = member(cluster, group_instance_id="a")
    first.poll(timeout_ms=5000)
    second = member(cluster, group_instance_id="a")
    second.poll(timeout_ms=5000)
    cluster.run(seconds=5)
    with pytest.raises(FencedInstanceIdError):
        first.poll(timeout_ms=5000)
    assert first.assignment() == set() and len(second.assignment()) == 6


# the poll interval


def test_who_does_not_poll_for_max_poll_interval_ms_leaves_and_comes_back(cluster):
    slow, other = member(cluster, max_poll_interval_ms=20000), member(cluster)

    def stuck(consumer, cluster):
        consumer.poll(timeout_ms=20000)
        cluster.sleep(60)
        consumer.poll(timeout_ms=10000)
        cluster.sleep(10)

    cluster.start(stuck, slow, cluster)
    cluster.start(reads, other)
    cluster.run(seconds=8)
    assert numbers(slow) and numbers(other)
    cluster.run(seconds=30)
    [overdue] = kinds(cluster, "PollOverdue")
    assert overdue.node == slow.name and 19_000 < overdue.at - 6_000 < 25_000
    assert numbers(other) == [0, 1, 2, 3, 4, 5]
    cluster.run(seconds=35)
    assert [
        event.detail["partitions"]
        for event in kinds(cluster, "PartitionsLost", node=slow.name)
    ] != []
    assert sorted(numbers(slow) + numbers(other)) == [0, 1, 2, 3, 4, 5] and numbers(
        slow
    )


def test_heartbeats_go_on_while_the_program_is_busy(cluster):
    consumer = member(cluster)
    consumer.poll(timeout_ms=5000)
    cluster.run(seconds=200)
    assert [each.client for each in cluster.group("billing").members] == ["consumer 1"]
    cluster.run(seconds=110)
    assert cluster.group("billing").members == []


def test_processing_ms_delays_the_next_poll_and_is_told(cluster):
    consumer = member(cluster, processing_ms=100, max_poll_records=10)
    consumer.poll(timeout_ms=10000)
    before = cluster.now_ms
    assert consumer.poll(timeout_ms=1000)
    assert cluster.now_ms - before >= 1000
    processed = kinds(cluster, "RecordsProcessed")
    assert (
        sum(
            last - first + 1
            for first, last in (event.detail["offsets"] for event in processed)
        )
        == 10
    )
    cluster.slow(consumer, processing_ms=1000)
    before = cluster.now_ms
    consumer.poll(timeout_ms=1000)
    assert cluster.now_ms - before >= 10_000


def test_a_slow_batch_of_a_loop_counts_as_one_poll(cluster):
    """As in kafka-python: between the records of one batch there is no poll."""
    [slow] = running(cluster, max_poll_interval_ms=8000, processing_ms=1000)
    cluster.run(seconds=30)
    assert [event.node for event in kinds(cluster, "PollOverdue")][:1] == [slow.name]
    [first] = kinds(cluster, "PartitionsAssigned")[:1]
    assert 8000 <= kinds(cluster, "PollOverdue")[0].at - first.at < 10_000

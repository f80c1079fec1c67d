"""What lesson 06 claims about rebalances, run on minikafka and on Apache Kafka over
TCP.
"""

import shutil
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException
from kafka import (
    AsyncConsumerRebalanceListener,
    ConsumerRebalanceListener,
    KafkaConsumer,
    TopicPartition,
)
from kafka.coordinator.assignors.abstract import RebalanceProtocol
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from tests.course.on_both import PATIENCE_SECONDS, take
from tests.course.test_claims_05_on_both import Member, party
from tests.kafka import java_tool

pytestmark = [pytest.mark.first, pytest.mark.slow]

__all__ = ["party"]  # a fixture


class Heard(ConsumerRebalanceListener):
    """Which partitions a member had to give back, and how often it heard of an
    assignment.

    at_work: while this is not set, the member is still at work on what it has to give
    back.
    """

    def __init__(self):
        self.revoked, self.assignments, self.at_work = [], 0, None

    def on_partitions_revoked(self, revoked):
        if self.at_work is not None:
            self.at_work.wait(PATIENCE_SECONDS)
        self.revoked += sorted(partition.partition for partition in revoked)

    def on_partitions_assigned(self, assigned):
        self.assignments += 1


@pytest.fixture
def join(party):
    """Lets a member join the group of a topic's name; its listener is its `heard`, made
    from its consumer.
    """

    def start(name, listener=lambda consumer: Heard(), **settings):
        defaults = {
            "group_id": name,
            "heartbeat_interval_ms": 500,
            "enable_auto_commit": False,
        }
        consumer = KafkaConsumer(
            bootstrap_servers=party.bootstrap, **{**defaults, **settings}
        )
        member = Member(party.changed, consumer)
        member.heard = listener(consumer)
        consumer.subscribe([name], listener=member.heard)
        party.members.append(member)
        member.start()
        return member

    return start


@pytest.mark.parametrize(
    ("assignor", "revoked"),
    [(RoundRobinPartitionAssignor, [0, 1, 2, 3]), (CooperativeStickyAssignor, 2)],
)
def test_kip_429_eager_members_give_everything_back_and_cooperative_ones_only_what_moves(
    topic, party, join, assignor, revoked
):
    name = topic(partitions=4)
    first = join(name, partition_assignment_strategy=[assignor])
    party.wait_until(lambda: first.share == [0, 1, 2, 3])
    second = join(name, partition_assignment_strategy=[assignor])
    party.wait_until(lambda: len(first.share) == len(second.share) == 2)
    given_back = first.heard.revoked
    assert (
        given_back == revoked
        if isinstance(revoked, list)
        else len(given_back) == revoked
    )


def test_while_a_member_is_busy_an_eager_group_stands_still(topic, party, join, write):
    name = topic(partitions=6)
    settings = {
        "partition_assignment_strategy": [RoundRobinPartitionAssignor],
        "auto_offset_reset": "earliest",
    }
    a, b, c = (join(name, **settings) for _ in range(3))
    party.wait_until(lambda: all(len(member.share) == 2 for member in (a, b, c)))
    a.heard.revoked.clear(), c.heard.revoked.clear()  # from when they came one by one
    # in the middle of a rebalance kafka-python refuses a commit
    b.rests_after, b.commit = 1, lambda: None
    write(name, [b"order"], partition=b.share[0])
    party.wait_until(lambda: b.read)
    d = join(name, **settings)

    def state():
        return topic.admin.describe_groups([name])[name]["group_state"]

    while state() != "PreparingRebalance":
        pass
    heard = a.heard.assignments
    party.wait_until(lambda: a.heard.revoked and c.heard.revoked)
    # B hasn't polled
    assert state() == "PreparingRebalance" and a.heard.assignments == heard
    b.rested.set()
    party.wait_until(
        lambda: sorted(len(member.share) for member in (a, b, c, d)) == [1, 1, 2, 2]
    )


@pytest.mark.java
@pytest.mark.skipif(shutil.which("javac") is None, reason="no Java compiler")
def test_kip_429_while_a_member_is_busy_a_cooperative_java_member_reads_on_but_can_commit_nothing(
    topic, bootstrap
):
    done = java_tool(
        str(Path(__file__).with_name("ReadsOn.java")), bootstrap, topic(partitions=4)
    )
    assert done.stdout.splitlines() == [
        "the commit is refused",
        "it reads on, and the third one has 0 partitions",
    ], done.stderr


@pytest.mark.parametrize(
    ("assignor", "rebalances"),
    [(RoundRobinPartitionAssignor, 1), (CooperativeStickyAssignor, 2)],
)
def test_kip_429_where_a_partition_moves_eager_takes_one_rebalance_and_cooperative_two(
    topic, party, join, assignor, rebalances
):
    name = topic(partitions=4)
    first = join(name, partition_assignment_strategy=[assignor])
    party.wait_until(lambda: first.share == [0, 1, 2, 3])
    before = first.consumer.group_metadata().generation_id
    second = join(name, partition_assignment_strategy=[assignor])
    party.wait_until(lambda: len(first.share) == len(second.share) == 2)
    assert first.consumer.group_metadata().generation_id == before + rebalances


class Hasty(RoundRobinPartitionAssignor):
    """What nobody should write: members keep what they have, and it is given to others
    at once.
    """

    name = "hasty"

    def supported_protocols(self):
        return [RebalanceProtocol.COOPERATIVE]


def test_nobody_but_the_assignor_keeps_a_partition_that_moves_from_having_two_owners(
    topic, party, join, write
):
    """With kafka-python, and of the classic protocol."""
    name = topic(partitions=2)
    settings = {
        "partition_assignment_strategy": [Hasty],
        "auto_offset_reset": "earliest",
    }
    first = join(name, **settings)
    party.wait_until(lambda: first.share == [0, 1])
    first.heard.at_work = threading.Event()
    second = join(name, **settings)
    party.wait_until(lambda: second.share)
    write(name, [b"order"], partition=second.share[0])
    party.wait_until(lambda: second.read)
    assert not first.heard.revoked
    first.heard.at_work.set()
    party.wait_until(lambda: first.heard.revoked == second.share)


@pytest.mark.java
@pytest.mark.skipif(shutil.which("javac") is None, reason="no Java compiler")
def test_kip_429_the_java_leader_refuses_a_cooperative_assignor_that_gives_away_what_another_member_has(
    topic, bootstrap
):
    done = java_tool(
        str(Path(__file__).with_name("Hasty.java")), bootstrap, topic(partitions=2)
    )
    said = (
        "java.lang.IllegalStateException: Assignor supporting the COOPERATIVE protocol"
        " violates its requirements"
    )
    assert said in done.stdout, done.stderr


def test_kip_345_a_static_member_is_back_before_the_others_hear_of_it(
    topic, party, join
):
    name = topic(partitions=4)
    others = join(
        name,
        group_instance_id="others",
        partition_assignment_strategy=[RangePartitionAssignor],
    )
    party.wait_until(lambda: others.share == [0, 1, 2, 3])
    member = join(
        name,
        group_instance_id="one",
        partition_assignment_strategy=[RangePartitionAssignor],
    )
    party.wait_until(lambda: len(member.share) == len(others.share) == 2)
    heard, share = others.heard.assignments, member.share
    member.leave()
    again = join(
        name,
        group_instance_id="one",
        partition_assignment_strategy=[RangePartitionAssignor],
    )
    party.wait_until(lambda: again.share == share)
    assert others.heard.assignments == heard and others.heard.revoked == [0, 1, 2, 3]


def test_new_partitions_of_a_topic_make_a_group_rebalance(topic, party, join):
    name = topic(partitions=1)
    member = join(name, metadata_max_age_ms=500)
    party.wait_until(lambda: member.share == [0])
    topic.admin.create_partitions({name: 3})
    party.wait_until(lambda: member.share == [0, 1, 2])


def test_kip_848_the_coordinator_assigns_and_a_client_can_set_neither_assignor_nor_session(
    topic, party, bootstrap
):
    name = topic(partitions=4)
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": name,
        "group.protocol": "consumer",
    }
    for classic in (
        {"session.timeout.ms": 6000},
        {"partition.assignment.strategy": "range"},
    ):
        with pytest.raises(KafkaException):
            Consumer(settings | classic)
    members = [Consumer(settings) for _ in range(2)]
    try:
        for member in members:
            member.subscribe([name])

        def shares():
            for member in members:
                member.poll(0.2)
            return [
                sorted(partition.partition for partition in member.assignment())
                for member in members
            ]

        found = next(
            each
            for each in iter(shares, None)
            if [len(share) for share in each] == [2, 2]
        )
        assert sorted(found[0] + found[1]) == [0, 1, 2, 3]
    finally:
        for member in members:
            member.close()


def test_kip_848_a_newcomer_does_not_wait_for_a_busy_member_that_has_nothing_to_give_it(
    topic, bootstrap
):
    orders, refunds = topic(partitions=2), topic(partitions=1)
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": orders,
        "group.protocol": "consumer",
    }
    busy, first, newcomer = (Consumer(settings) for _ in range(3))
    try:
        busy.subscribe([refunds])
        first.subscribe([orders])
        while not (busy.assignment() and len(first.assignment()) == 2):
            busy.poll(0.2), first.poll(0.2)
        newcomer.subscribe([orders])
        while not newcomer.assignment():  # and busy doesn't poll
            first.poll(0.2), newcomer.poll(0.2)
    finally:
        for member in (busy, first, newcomer):
            member.close()


class CommitFirst(AsyncConsumerRebalanceListener):
    """A rebalance listener that commits before it gives partitions back, as in lesson
    06.
    """

    def __init__(self, consumer):
        self.consumer = consumer

    async def on_partitions_revoked(self, revoked):
        await self.consumer.commit_async()

    async def on_partitions_assigned(self, assigned):
        pass

    on_partitions_lost = on_partitions_assigned


class CommitLastToo(CommitFirst):
    """Without the last line of lesson 06."""

    on_partitions_lost = AsyncConsumerRebalanceListener.on_partitions_lost


@pytest.mark.parametrize("listener", [CommitFirst, CommitLastToo])
def test_who_has_lost_its_partitions_can_commit_nothing_for_them(
    topic, party, write, listener
):
    """With kafka-python, whose listeners treat what is lost as revoked unless told
    otherwise.
    """
    name = topic(partitions=1)
    settings = {
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "max_poll_interval_ms": 5000,
    }
    late = KafkaConsumer(bootstrap_servers=party.bootstrap, group_id=name, **settings)
    try:
        late.subscribe([name], listener=listener(late))
        write(name, [b"order"] * 3, partition=0)
        assert [record.offset for record in take(late, 3)] == [0, 1, 2]
        until = time.monotonic() + PATIENCE_SECONDS
        while (
            topic.admin.describe_groups([name])[name]["members"]
            and time.monotonic() < until
        ):
            pass  # it doesn't poll, and its client takes it out of the group
        if listener is CommitFirst:
            assert [record.offset for record in take(late, 3)] == [0, 1, 2]
        else:
            with pytest.raises(KafkaError):
                take(late, 3)
    finally:
        late.close(autocommit=False)


@pytest.mark.parametrize("noted", [True, False])
def test_a_cooperative_listener_of_kafka_python_commits_what_moves_only_if_it_passes_the_offsets(
    topic, party, join, write, noted
):
    """With kafka-python 3.0: when the listener hears of what moves, that is no longer
    the consumer's.
    """
    name = topic(partitions=2)
    offsets = {
        TopicPartition(name, partition): OffsetAndMetadata(3, "", -1)
        for partition in (0, 1)
    }

    class CommitNoted(CommitFirst):
        async def on_partitions_revoked(self, revoked):
            await self.consumer.commit_async(
                {each: offsets[each] for each in revoked} if noted else None
            )

    settings = {
        "partition_assignment_strategy": [CooperativeStickyAssignor],
        "auto_offset_reset": "earliest",
    }
    first = join(name, CommitNoted, **settings)
    for partition in offsets:
        write(name, [b"order"] * 3, partition=partition.partition)
    party.wait_until(lambda: len(first.read) == 6)
    second = join(name, **settings)
    party.wait_until(lambda: len(first.share) == len(second.share) == 1)
    [committed] = topic.admin.list_group_offsets({name: list(offsets)}).values()
    assert (committed[TopicPartition(name, second.share[0])].offset == 3) is noted


def test_a_rebalance_listener_of_kafka_python_commits_before_somebody_else_goes_on(
    topic, party, join, write
):
    name = topic(partitions=1)
    settings = {"listener": CommitFirst, "auto_offset_reset": "earliest"}
    first = join(name, group_instance_id="b", **settings)
    write(name, [b"order"] * 3, partition=0)
    party.wait_until(lambda: len(first.read) == 3)
    # comes first in the order of members
    second = join(name, group_instance_id="a", **settings)
    party.wait_until(lambda: second.share == [0])
    write(name, [b"order"], partition=0)
    party.wait_until(lambda: second.read)
    assert second.read == [(0, 3)]

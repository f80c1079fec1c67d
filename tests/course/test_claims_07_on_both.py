"""What lesson 07 claims about lag and members, run on minikafka and on Apache Kafka
over TCP.
"""

import pytest
from confluent_kafka import Consumer
from kafka import TopicPartition
from kafka.structs import OffsetAndMetadata

from tests.clients.brokers import until
from tests.course.on_both import PATIENCE_SECONDS, take
from tests.course.test_claims_05_on_both import party
from tests.kafka import java_tool

pytestmark = pytest.mark.slow

__all__ = ["party"]  # a fixture

COMMAND = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


@pytest.fixture
def described(bootstrap):
    """What Kafka's own tool says of a group: {partition: (committed, log end, lag)}, as
    texts.
    """

    def rows(group):
        done = java_tool(
            COMMAND, "--bootstrap-server", bootstrap, "--describe", "--group", group
        )
        assert done.returncode == 0, done.stderr
        words = [
            line.split() for line in done.stdout.splitlines() if line.startswith(group)
        ]
        return {int(row[2]): tuple(row[3:6]) for row in words}

    return rows


@pytest.mark.java
def test_tools_count_lag_from_the_committed_offset_and_show_a_dash_where_there_is_none(
    topic, write, member, described
):
    name = topic(partitions=2)
    for partition in (0, 1):
        write(name, [b"order"] * 6, partition=partition)
    reader = member(name)
    assert len(take(reader, 12)) == 12
    reader.commit({TopicPartition(name, 0): OffsetAndMetadata(2, "", -1)})
    assert described(name) == {0: ("2", "6", "4"), 1: ("-", "6", "-")}


@pytest.mark.java
def test_lag_counts_offsets_also_those_of_records_that_are_deleted(
    topic, write, member, described
):
    name = topic()
    write(name, [b"order"] * 6, partition=0)
    reader = member(name)
    take(reader, 2)
    reader.commit({TopicPartition(name, 0): OffsetAndMetadata(2, "", -1)})
    topic.admin.delete_records({TopicPartition(name, 0): 5})
    assert described(name) == {0: ("2", "6", "4")}  # one record is left to read


def test_of_six_partitions_somebody_has_two_with_three_members_as_with_five(
    topic, party
):
    name = topic(partitions=6)

    def shares():
        return sorted(len(member.share) for member in party.members)

    for count, expected in ((3, [2, 2, 2]), (5, [1, 1, 1, 1, 2])):
        while len(party.members) < count:
            party.start(name, name)
        party.wait_until(lambda expected=expected: shares() == expected)


def test_a_group_that_does_five_while_four_come_in_catches_up_in_four_times_the_outage(
    topic, write, member
):
    """Counted in rounds, not in time: in each round four records come in, and the group
    may take up to five.
    """
    name = topic()
    reader = member(name, max_poll_records=5)
    outage = 3
    write(name, [b"order"] * 4 * outage, partition=0)
    rounds = done = 0
    while done < 4 * (outage + rounds):
        write(name, [b"order"] * 4, partition=0)
        done += len(take(reader, 5))
        rounds += 1
    assert rounds == 4 * outage


def test_kip_62_who_polls_too_late_has_committed_nothing_by_itself_and_gets_the_same_again(
    topic, write, member
):
    name = topic()
    write(name, [b"order"] * 3, partition=0)
    slow = member(
        name,
        enable_auto_commit=True,
        auto_commit_interval_ms=100,
        max_poll_interval_ms=1000,
    )
    assert [record.offset for record in take(slow, 3)] == [0, 1, 2]
    # it works, and its client takes it out of the group
    until(lambda: members_of(topic.admin, name) == [])
    assert [record.offset for record in take(slow, 3)] == [0, 1, 2]
    # 0: an interval went by before the first record came
    assert slow.committed(TopicPartition(name, 0)) in (None, 0)


@pytest.mark.java
def test_kip_62_who_polls_too_late_commits_nothing_more_and_its_groups_lag_stands_still(
    topic, write, member, described
):
    name = topic()
    write(name, [b"order"] * 2, partition=0)
    before = member(name)
    assert len(take(before, 2)) == 2
    before.commit()
    before.close(autocommit=False)
    write(name, [b"order"] * 4, partition=0)
    slow = member(
        name,
        enable_auto_commit=True,
        auto_commit_interval_ms=100,
        max_poll_interval_ms=1000,
    )
    for _ in range(2):
        assert [record.offset for record in take(slow, 4)] == [2, 3, 4, 5]
        until(lambda: members_of(topic.admin, name) == [])
        assert described(name) == {0: ("2", "6", "4")}


def test_librdkafka_takes_max_poll_records_and_consume_brings_what_it_is_asked_for(
    topic, write, bootstrap
):
    name = topic()
    write(name, [b"order"] * 3, partition=0)
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": name,
        "auto.offset.reset": "earliest",
        "max.poll.records": "1",
    }
    consumer = Consumer(settings)
    consumer.subscribe([name])
    assert len(consumer.consume(3, timeout=PATIENCE_SECONDS)) == 3
    consumer.close()


def members_of(admin, group):
    return admin.describe_groups([group])[group]["members"]

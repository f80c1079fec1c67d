"""What lesson 04 claims about committed offsets, run on minikafka and on Apache Kafka
over TCP.
"""

import pytest
from confluent_kafka import Consumer
from kafka import KafkaConsumer, TopicPartition
from kafka.structs import OffsetAndMetadata

from minikafka.wire.internal_records import decode_coordinator_record
from tests.clients.brokers import until
from tests.conformance.raw import Connection
from tests.course.on_both import PATIENCE_SECONDS, take

pytestmark = pytest.mark.slow


@pytest.fixture
def broker(bootstrap):
    with Connection(bootstrap) as connection:
        yield connection


def offsets(records):
    return [record.offset for record in records]


def committed(broker, group):
    """What the broker keeps for partition 0 of the topic with the group's name; -1 when
    it keeps nothing.
    """
    topics = [{"name": group, "partition_indexes": [0]}]
    [topic] = broker.ask("OffsetFetch", 5, group_id=group, topics=topics).topics
    return topic.partitions[0].committed_offset


def test_the_committed_offset_is_the_next_one_to_read(topic, write, member):
    name = topic()
    write(name, [b"order"] * 6)
    first = member(name)
    assert offsets(take(first, 5)) == [0, 1, 2, 3, 4]
    first.commit({TopicPartition(name, 0): OffsetAndMetadata(4, "", -1)})
    first.close(autocommit=False)
    assert offsets(take(member(name), 2)) == [4, 5]


def test_a_commit_without_offsets_commits_what_was_handed_over_done_or_not(
    topic, write, member
):
    name = topic()
    write(name, [b"order"] * 6)
    first = member(name)
    take(first, 4)
    first.commit()
    first.close(autocommit=False)
    assert offsets(take(member(name), 2)) == [4, 5]


def test_what_is_done_and_not_committed_comes_again(topic, write, member):
    name = topic()
    write(name, [b"order"] * 3)
    first = member(name)
    assert offsets(take(first, 3)) == [0, 1, 2]
    first.close(autocommit=False)
    assert offsets(take(member(name), 3)) == [0, 1, 2]


def test_any_number_can_be_committed_and_the_reader_finds_out(topic, write, member):
    name = topic()
    write(name, [b"order"] * 3)
    first = member(name)
    take(first, 1)
    first.commit({TopicPartition(name, 0): OffsetAndMetadata(100, "", -1)})
    assert first.committed(TopicPartition(name, 0)) == 100
    first.close(autocommit=False)
    assert offsets(take(member(name), 3)) == [0, 1, 2]


def test_auto_commit_commits_in_a_poll_what_earlier_polls_handed_over(
    topic, write, member, broker
):
    name = topic()
    write(name, [b"order"] * 4)
    first = member(name, enable_auto_commit=True, auto_commit_interval_ms=100)
    # in hand: the program would write them later, together
    assert offsets(take(first, 2)) == [0, 1]
    first.pause(TopicPartition(name, 0))  # from now on polls hand nothing over
    until(lambda: first.poll(timeout_ms=1000) or committed(broker, name) > 0)
    assert committed(broker, name) == 2
    first.close(autocommit=False)  # as if killed
    assert offsets(take(member(name), 2)) == [2, 3]


def test_commits_are_records_of_a_topic_and_the_last_one_of_a_key_counts(
    topic, write, member, bootstrap
):
    name = topic()
    write(name, [b"order"] * 3)
    reader = member(name)
    for _ in range(3):
        take(reader, 1)
        reader.commit()
    commits = KafkaConsumer(
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        consumer_timeout_ms=60_000,
    )
    numbers = commits.partitions_for_topic("__consumer_offsets")
    commits.assign(
        [TopicPartition("__consumer_offsets", number) for number in sorted(numbers)]
    )
    found = []
    for record in commits:
        kind, key, value = decode_coordinator_record(record.key, record.value)
        if kind == "OffsetCommit" and (key.group, key.topic, key.partition) == (
            name,
            name,
            0,
        ):
            found.append(value.offset)
        if len(found) == 3:
            break
    commits.close()
    assert found == [1, 2, 3]


def test_close_with_auto_commit_commits_all_that_a_poll_handed_over_looked_at_or_not(
    topic, write, member
):
    name = topic()
    write(name, [b"order"] * 6)
    first = member(name, enable_auto_commit=True)
    take(first, 4)
    first.close()
    assert offsets(take(member(name), 2)) == [4, 5]


def test_librdkafka_commits_the_record_that_the_program_is_still_working_on(
    topic, write, bootstrap, broker
):
    name = topic()
    write(name, [b"order"] * 3)
    settings = {
        "auto.offset.reset": "earliest",
        "auto.commit.interval.ms": 100,
        "group.id": name,
    }
    consumer = Consumer({"bootstrap.servers": bootstrap, **settings})
    consumer.subscribe([name])
    assert consumer.poll(PATIENCE_SECONDS).offset() == 0
    until(lambda: committed(broker, name) == 1)  # and the program hasn't polled again
    consumer.close()


def test_kip_211_when_a_groups_offset_has_expired_auto_offset_reset_decides(
    topic, write, member, broker
):
    """An old client says in its commit how long the offset is to be kept. So the test
    need not wait for days.
    """
    name = topic()
    write(name, [b"order"] * 3)
    partition = {"partition_index": 0, "committed_offset": 3, "committed_metadata": ""}
    place = {"name": name, "partitions": [partition]}

    def error_of_the_commit():
        [answer] = broker.ask(
            "OffsetCommit", 4, group_id=name, retention_time_ms=1, topics=[place]
        ).topics
        return answer.partitions[0].error_code

    until(lambda: broker.ask("FindCoordinator", 3, key=name).error_code == 0)
    until(lambda: error_of_the_commit() == 0)
    write(name, [b"order"] * 8)
    until(lambda: committed(broker, name) == -1)
    back = member(name, auto_offset_reset="latest")
    until(lambda: back.poll(timeout_ms=1000) or back.assignment())
    assert back.position(TopicPartition(name, 0)) == 11
    back.close(autocommit=False)
    assert offsets(take(member(name), 3)) == [0, 1, 2]

"""What lesson 04 claims about committed offsets, run on minikafka and on Apache Kafka over TCP."""

import time

import pytest
from kafka import KafkaConsumer, TopicPartition
from kafka.structs import OffsetAndMetadata

from minikafka.wire.internal_records import decode_coordinator_record
from tests.course.test_claims_on_both import PATIENCE_SECONDS, bootstrap, take, topic, write

__all__ = ["bootstrap", "topic", "write"]  # fixtures


@pytest.fixture
def member(bootstrap):
    """A consumer in the group of a topic's name; it leaves without committing."""
    made = []

    def join(name, **settings):
        defaults = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
        made.append(KafkaConsumer(name, bootstrap_servers=bootstrap, group_id=name, **{**defaults, **settings}))
        return made[-1]

    yield join
    for consumer in made:
        consumer.close(autocommit=False)


def offsets(records):
    return [record.offset for record in records]


def test_the_committed_offset_is_the_next_one_to_read(topic, write, member):
    name = topic()
    write(name, [b"order"] * 6)
    first = member(name)
    assert offsets(take(first, 5)) == [0, 1, 2, 3, 4]
    first.commit({TopicPartition(name, 0): OffsetAndMetadata(4, "", -1)})
    first.close(autocommit=False)
    assert offsets(take(member(name), 2)) == [4, 5]


def test_a_commit_without_offsets_commits_what_was_handed_over_done_or_not(topic, write, member):
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


def test_auto_commit_commits_in_a_poll_what_earlier_polls_handed_over(topic, write, member):
    name = topic()
    partition = TopicPartition(name, 0)
    write(name, [b"order"] * 4)
    reader = member(name, enable_auto_commit=True, auto_commit_interval_ms=100)
    assert offsets(take(reader, 2)) == [0, 1]
    until = time.monotonic() + PATIENCE_SECONDS
    seen = []
    while (
        not seen and time.monotonic() < until
    ):  # polls that hand nothing over: what they commit was handed over before
        reader.pause(partition)
        reader.poll(timeout_ms=50)
        committed = reader.committed(partition)
        seen = [committed] if committed is not None else []
    assert seen == [2]


def test_commits_are_records_of_a_topic_and_the_last_one_of_a_key_counts(topic, write, member, bootstrap):
    name = topic()
    write(name, [b"order"] * 3)
    reader = member(name)
    for _ in range(3):
        take(reader, 1)
        reader.commit()
    commits = KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=3000)
    numbers = commits.partitions_for_topic("__consumer_offsets")
    commits.assign([TopicPartition("__consumer_offsets", number) for number in sorted(numbers)])
    found = []
    for record in commits:
        kind, key, value = decode_coordinator_record(record.key, record.value)
        if kind == "OffsetCommit" and (key.group, key.topic, key.partition) == (name, name, 0):
            found.append(value.offset)
        if len(found) == 3:
            break
    commits.close()
    assert found == [1, 2, 3]

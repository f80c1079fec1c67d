"""What people reported of clients and tools of Apache Kafka, asked of both: programs that
decode `__consumer_offsets` themselves, lag behind a transaction's marker, the first
send to a topic that is not there.
"""

import struct

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from minikafka.wire.errors import Error
from minikafka.wire.records import batches, decode_batch
from tests.clients.brokers import fresh_name
from tests.clients.nodes import QUICK, node
from tests.conformance.raw import Connection, batch
from tests.kafka import BOTH

pytestmark = pytest.mark.slow

OFFSETS_TOPIC = "__consumer_offsets"
OFFSET_KEYS = (0, 1)  # versions of keys, which tell the kind of a record
WITH_TOPIC_ID = 1 + 1 + 1 + 16  # how many tagged fields, which, its size, the id


@pytest.fixture(scope="module", params=BOTH)
def bootstrap(request, tmp_path_factory):
    one = QUICK | {"offsets.topic.num.partitions": "1"}
    with node(request.param, tmp_path_factory.mktemp("data"), one) as kafka:
        yield kafka.bootstrap


@pytest.fixture
def broker(bootstrap):
    with Connection(bootstrap) as connection:
        yield connection


def text(data, at):
    """A string of the old encodings, and where it ends."""
    [size] = struct.unpack_from(">h", data, at)
    at += 2
    return data[at : at + size].decode(), at + size


def decoded_offsets(broker):
    """As exporters of lag decode the offsets topic, by hand: (group, topic, partition,
    version of the value) and the offset, leader epoch and metadata in it.
    """
    found = []
    offset, end = 0, broker.offset(OFFSETS_TOPIC, -1).offset
    while offset < end:
        for header, encoded in batches(broker.fetch(OFFSETS_TOPIC, offset).records):
            found += [record for record in decode_batch(encoded) if not header.control]
            offset = header.next_offset
    rows = []
    for record in found:
        key, value = bytes(record.key), record.value
        if struct.unpack_from(">h", key)[0] not in OFFSET_KEYS or value is None:
            continue
        group, at = text(key, 2)
        topic, at = text(key, at)
        [partition] = struct.unpack_from(">i", key, at)
        assert at + 4 == len(key)
        rows.append(((group, topic, partition), decoded_value(bytes(value))))
    return rows


def decoded_value(value):
    """Version, offset, leader epoch (None in versions that have none), metadata, and
    how many bytes follow the time of the commit.
    """
    version, offset = struct.unpack_from(">hq", value)
    epoch = None
    at = 10
    if version >= 3:
        [epoch] = struct.unpack_from(">i", value, at)
        at += 4
    if version >= 4:  # a length of one byte, one too large
        size = value[at] - 1
        metadata, at = value[at + 1 : at + 1 + size].decode(), at + 1 + size
    else:
        metadata, at = text(value, at)
    return version, offset, epoch, metadata, len(value) - at - 8


def coordinate(broker, group):
    while (
        broker.ask("FindCoordinator", 3, key=group).error_code
        or broker.ask("OffsetFetch", 7, group_id=group, topics=[]).error_code
    ):
        pass


def test_decoders_find_the_versions_that_apache_kafka_writes(broker):
    topic, group = broker.create_topic(fresh_name()), fresh_name("group")
    coordinate(broker, group)
    place = {"partition_index": 0, "committed_metadata": "note"}
    for version, more, epoch in (
        (2, {"retention_time_ms": -1}, None),
        (2, {"retention_time_ms": 5_000_000}, None),
        (5, {}, None),
        (6, {}, -1),
        (9, {}, 7),
    ):
        asked = place | {"committed_offset": version}
        if epoch is not None:
            asked["committed_leader_epoch"] = epoch
        topics = [{"name": topic, "partitions": [asked]}]
        fields = {"group_id": group, "topics": topics} | more
        [answer] = broker.ask("OffsetCommit", version, **fields).topics
        assert answer.partitions[0].error_code == 0
    rows = [value for key, value in decoded_offsets(broker) if key[0] == group]
    assert rows == [
        (4, 2, -1, "note", WITH_TOPIC_ID),
        (1, 2, None, "note", 8),  # the only one with a time of its end
        (4, 5, -1, "note", WITH_TOPIC_ID),
        (4, 6, -1, "note", WITH_TOPIC_ID),
        (4, 9, 7, "note", WITH_TOPIC_ID),
    ]
    assert {key for key, _ in decoded_offsets(broker) if key[0] == group} == {
        (group, topic, 0)
    }


@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
def test_there_is_no_lag_behind_a_transactional_producer_that_stopped(
    broker, bootstrap, level
):
    """The marker has an offset, and nobody reads it: the group's offset goes past it."""
    topic, group = broker.create_topic(fresh_name()), fresh_name("group")
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic})
    producer.init_transactions(60)
    for _ in range(3):
        producer.begin_transaction()
        producer.produce(topic, b"paid")
        producer.commit_transaction(60)
    del producer
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "isolation.level": level,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.subscribe([topic])
    values = []
    while True:
        message = consumer.poll(60)
        assert message is not None, "a record, or the end, within a minute"
        if message.error():
            break  # the partition's end
        values.append(message.value())
    assert values == [b"paid"] * 3
    place = TopicPartition(topic, 0)
    [position] = consumer.position([place])
    consumer.commit(offsets=[position], asynchronous=False)
    [committed] = consumer.committed([place], timeout=60)
    consumer.close()
    end = broker.offset(topic, -1).offset
    assert (committed.offset, end) == (6, 6)


def test_the_first_send_of_kafkajs_makes_its_topic(broker):
    """KafkaJS asks for metadata in version 6, which creates the topic, asks again for as
    long as the error may pass, and produces in version 7 to the leader it is told.
    """
    name = fresh_name("auto")
    passing = {Error.LEADER_NOT_AVAILABLE, Error.UNKNOWN_TOPIC_OR_PARTITION}
    asked = {"topics": [{"name": name}], "allow_auto_topic_creation": True}
    met = []
    while True:
        [topic] = broker.ask("Metadata", 6, **asked).topics
        leaders = [partition.leader_id for partition in topic.partitions]
        if not topic.error_code and -1 not in leaders:
            break
        met.append(topic.error_code)
    assert set(met) <= passing
    assert leaders == [1]
    passing = {Error.NOT_LEADER_OR_FOLLOWER, Error.UNKNOWN_TOPIC_OR_PARTITION}
    while True:
        answer = broker.produce(name, batch(b"first"), version=7)
        if answer.error_code == 0:
            break
        assert answer.error_code in passing
    assert answer.base_offset == 0

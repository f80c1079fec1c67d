"""A compacted topic on `minikafka serve`, with kafka-python: what a consumer finds
after the cleaner has been there.
"""

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic
from kafka.errors import InvalidRecordError

from minikafka.server.embedded import Served
from tests.clients.brokers import fresh_name
from tests.storage.tables import wait_until_clean

pytestmark = pytest.mark.slow

CONFIGS = {
    "cleanup.policy": "compact",
    "segment.ms": "1000",
    "min.cleanable.dirty.ratio": "0.01",
}
TIME = 1_700_000_000_000


@pytest.fixture(scope="module")
def kafka(tmp_path_factory):
    data = tmp_path_factory.mktemp("data")
    with Served(data, options=("--override", "log.cleaner.backoff.ms=20")) as served:
        served.data = data
        yield served


def test_a_consumer_reads_the_latest_of_each_key_over_gaps_and_empty_batches(kafka):
    topic = fresh_name()
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    admin.create_topics([NewTopic(topic, 1, 1, topic_configs=CONFIGS)])
    admin.close()
    producer = KafkaProducer(
        bootstrap_servers=kafka.bootstrap, linger_ms=0, compression_type="gzip"
    )
    # the time of a record rolls the segment, so each is alone in one
    for number in range(60):
        key, value = b"key %d" % (number % 4), None if number == 57 else b"%d" % number
        producer.send(
            topic, key=key, value=value, timestamp_ms=TIME + number * 2000
        ).get(60)
    with pytest.raises(InvalidRecordError):
        producer.send(topic, value=b"no key").get(60)
    producer.close()
    wait_until_clean(kafka.data, topic, 59)
    consumer = KafkaConsumer(
        bootstrap_servers=kafka.bootstrap, group_id=None, auto_offset_reset="earliest"
    )
    partition = TopicPartition(topic, 0)
    consumer.assign([partition])
    found = []
    while consumer.position(partition) < 60:
        for records in consumer.poll(timeout_ms=5000).values():
            found += [(record.offset, record.key, record.value) for record in records]
    consumer.close()
    assert found == [
        (55, b"key 3", b"55"),
        (56, b"key 0", b"56"),
        (57, b"key 1", None),
        (58, b"key 2", b"58"),
        (59, b"key 3", b"59"),
    ]

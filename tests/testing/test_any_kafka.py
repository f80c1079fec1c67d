"""What a test sees of a cluster is the same on minikafka and on Apache Kafka."""

import confluent_kafka
import pytest

from minikafka.testing import Kafka
from minikafka.testing.kafka import AnyKafka
from minikafka.wire.errors import KafkaError
from tests.kafka import BOTH, MINIKAFKA, ApacheKafka

pytestmark = pytest.mark.slow


class Another(AnyKafka):
    """Known by its address alone."""

    def __init__(self, address):
        self.bootstrap_servers = address
        super().__init__(lambda: [address])


@pytest.fixture(scope="module", params=BOTH)
def any_kafka(request):
    started = Kafka() if request.param == MINIKAFKA else ApacheKafka()
    with started as running:
        address = (
            running.bootstrap_servers
            if request.param == MINIKAFKA
            else running.bootstrap
        )
        another = Another(address)
        yield another
        another.close()


def transactional(kafka, name):
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "transactional.id": name,
            "log_level": 0,
        }
    )
    producer.init_transactions(60)
    return producer


def test_records_are_those_that_are_committed(any_kafka):
    topic = any_kafka.topic(partitions=2)
    producer = transactional(any_kafka, "copier")
    for value, end in (
        (b"undone", producer.abort_transaction),
        (b"done", producer.commit_transaction),
    ):
        producer.begin_transaction()
        for partition in (0, 1):
            producer.produce(topic, value, partition=partition)
        producer.flush(60)
        end(60)
    found = any_kafka.records(topic)
    assert [(each.partition, each.value) for each in found] == [
        (0, b"done"),
        (1, b"done"),
    ]
    any_kafka.delete_topics(topic)


def test_kip_360_a_fenced_producer_can_not_commit(any_kafka):
    topic = any_kafka.topic()
    producer = transactional(any_kafka, "fenced")
    producer.begin_transaction()
    producer.produce(topic, b"paid")
    producer.flush(60)
    any_kafka.fence("fenced")
    with pytest.raises(confluent_kafka.KafkaException):
        producer.commit_transaction(60)
    assert any_kafka.records(topic) == []


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_is_stable_with_its_only_member(any_kafka, protocol):
    topic, group_id = any_kafka.topic(), f"billing-{protocol}"
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": any_kafka.bootstrap_servers,
            "group.id": group_id,
            "group.protocol": protocol,
            "log_level": 0,
        }
    )
    consumer.subscribe([topic])
    group = any_kafka.group(group_id)
    while not consumer.assignment():
        consumer.poll(0.05)
    group.wait_stable(members=1)
    consumer.commit(
        offsets=[confluent_kafka.TopicPartition(topic, 0, 0)], asynchronous=False
    )
    assert group.committed(topic) == {0: 0}
    assert group.lag() == 0
    consumer.close()


def test_the_only_broker_leads_and_is_in_sync(any_kafka):
    topic = any_kafka.topic()
    assert any_kafka.in_sync(topic) == [any_kafka.leader(topic)] == [1]
    any_kafka.move_leader(topic, to=1)
    assert any_kafka.controller() == 1


def test_a_topic_that_is_not_there_is_told(any_kafka):
    with pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        any_kafka.leader("nowhere")

"""How Spark's Kafka source and sink take it when a broker misbehaves."""

import pytest
from confluent_kafka import Producer

from minikafka.testing import Answer, Lose

pytestmark = [pytest.mark.spark, pytest.mark.nightly]


@pytest.fixture(scope="module")
def spark():
    from minikafka.course.spark import session

    spark = session("recipes")
    yield spark
    spark.stop()


@pytest.fixture
def topic(kafka):
    """It has two orders."""
    name = kafka.topic()
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for value in (b"order 1", b"order 2"):
        producer.produce(name, value)
    producer.flush()
    return name


def orders(spark, kafka, topic):
    """What a batch query reads."""
    source = spark.read.format("kafka").option("subscribe", topic)
    frame = source.option("kafka.bootstrap.servers", kafka.bootstrap_servers).load()
    return sorted(bytes(row.value) for row in frame.select("value").collect())


@pytest.mark.parametrize(
    "fault",
    [
        Lose("Fetch", answer=True),
        Answer("Fetch", "NOT_LEADER_OR_FOLLOWER"),
        Lose("ListOffsets"),
    ],
    ids=repr,
)
def test_the_source_asks_again_and_reads_each_record_once(spark, kafka, topic, fault):
    with kafka.fault(fault) as active:
        assert orders(spark, kafka, topic) == [b"order 1", b"order 2"]
    assert active.hits == 1


def test_the_sinks_producer_is_idempotent(spark, kafka):
    topic = kafka.topic()
    frame = spark.createDataFrame([("order 1",)], "value string")
    sink = frame.write.format("kafka").option("topic", topic)
    with kafka.fault(Lose("Produce", answer=True)) as fault:
        sink.option("kafka.bootstrap.servers", kafka.bootstrap_servers).save()
    assert fault.hits == 1
    assert kafka.records(topic).values == [b"order 1"]


def test_a_record_that_is_too_large_fails_the_query(spark, kafka):
    topic = kafka.topic()
    frame = spark.createDataFrame([("order 1",)], "value string")
    sink = frame.write.format("kafka").option("topic", topic)
    sink = sink.option("kafka.bootstrap.servers", kafka.bootstrap_servers)
    too_large = Answer("Produce", "MESSAGE_TOO_LARGE", times=None)
    with kafka.fault(too_large), pytest.raises(Exception, match="RecordTooLarge"):
        sink.save()
    assert kafka.records(topic) == []

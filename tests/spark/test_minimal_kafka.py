"""Lesson 23's minimal Kafka is one that Spark can read and write."""

import pytest

from minikafka.course.experiments.lesson_23_kafka import MINIMAL_KAFKA
from minikafka.course.judging.kafka_requests import TOPIC, produce, with_orders
from minikafka.course.judging.kafka_trial import trial

pytestmark = pytest.mark.spark


def test_spark_reads_a_topic_of_the_minimal_kafka_and_writes_another(spark):
    with trial(MINIMAL_KAFKA) as running:
        us = with_orders(running)
        produce(us, "created", "paid")
        produce(us, "shipped", partition=1)
        reader = spark.read.format("kafka")
        reader = reader.option("kafka.bootstrap.servers", running.bootstrap)
        orders = reader.option("subscribe", TOPIC).load()
        writer = orders.select("key", "value").write.format("kafka")
        writer = writer.option("kafka.bootstrap.servers", running.bootstrap)
        writer.option("topic", "copies").save()
        copies = reader.option("subscribe", "copies").load()
        values = [bytes(row.value) for row in copies.select("value").collect()]
        assert sorted(values) == [b"created", b"paid", b"shipped"]
        running.judge()

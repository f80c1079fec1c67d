"""A data directory survives a restart and kill -9: nothing that was acknowledged is
lost, moved or changed.
"""

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from minikafka.server.embedded import Served
from tests.clients.test_confluent_kafka import consuming, finish, read, send
from tests.kafka import free_ports

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("stop", [Served.stop, Served.kill], ids=["stop", "kill -9"])
def test_topics_configs_and_records_are_there_after_a_restart(tmp_path, stop):
    values = [b"%d" % number * 50 for number in range(2000)]
    with Served(data=tmp_path) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
        finish(
            admin.create_topics(
                [
                    NewTopic("orders", 2, 1, config={"retention.ms": "-1"}),
                    NewTopic("gone", 1, 1),
                ]
            )
        )
        finish(admin.delete_topics(["gone"]))
        send(
            kafka.bootstrap,
            "orders",
            [{"value": value, "partition": 1} for value in values],
        )
        finish(admin.delete_records([TopicPartition("orders", 1, 500)]))
        stop(kafka)
    with Served(data=tmp_path) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
        topics = admin.list_topics(timeout=60).topics
        assert (set(topics), len(topics["orders"].partitions)) == ({"orders"}, 2)
        [configs] = finish(
            admin.describe_configs([ConfigResource("topic", "orders")])
        ).values()
        assert configs["retention.ms"].value == "-1"
        with consuming(kafka.bootstrap) as consumer:
            first, end = consumer.get_watermark_offsets(
                TopicPartition("orders", 1), timeout=60
            )
        assert end == 2000
        # As in Apache Kafka the log start offset is written down now and then: a crash
        # may bring deleted records back.
        assert first == 500 or stop is Served.kill
        assert [
            message.value() for message in read(kafka.bootstrap, "orders", 1500, 1, 500)
        ] == values[500:]


def test_kill_9_in_the_middle_of_producing_loses_nothing_acknowledged_and_doubles_nothing(
    tmp_path,
):
    """An idempotent librdkafka producer goes on over three kills: every record is
    there, once and in order.
    """
    total, kill_at, in_flight = 30_000, [7_500, 15_000, 22_500], 2000
    acknowledged = []

    def on_delivery(error, message):
        assert error is None, error
        acknowledged.append((message.offset(), message.value()))

    [port] = free_ports(1)
    kafka = Served(data=tmp_path, port=port)
    options = {
        "enable.idempotence": True,
        "linger.ms": 1,
        "batch.num.messages": 100,
        "log_level": 0,
    }
    options |= {
        "reconnect.backoff.ms": 10,
        "reconnect.backoff.max.ms": 100,
        "retry.backoff.ms": 10,
    }
    producer = Producer({"bootstrap.servers": kafka.bootstrap, **options})
    try:
        for number in range(total):
            producer.produce(
                "orders", b"%d" % number, partition=0, on_delivery=on_delivery
            )
            producer.poll(0)
            while number - len(acknowledged) > in_flight:
                producer.poll(1)
            if kill_at and len(acknowledged) > kill_at[0]:
                kill_at.pop(0)
                kafka.kill()
                kafka = Served(data=tmp_path, port=port)
        assert producer.flush(60) == 0
        assert not kill_at, "the scenario needs its kills"
        values = [message.value() for message in read(kafka.bootstrap, "orders", total)]
        assert values == [b"%d" % number for number in range(total)]
        assert all(values[offset] == value for offset, value in acknowledged)
        with consuming(kafka.bootstrap) as consumer:
            assert consumer.get_watermark_offsets(
                TopicPartition("orders", 0), timeout=60
            ) == (0, total)
    finally:
        kafka.stop()

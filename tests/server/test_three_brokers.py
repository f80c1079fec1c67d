"""`minikafka serve --brokers 3`: a cluster that real clients use, in one process."""

import pytest

from minikafka.broker.handlers import HANDLERS
from minikafka.server.embedded import Served
from tests.conformance.raw import Connection

kafka = pytest.importorskip("kafka")
QUICK = ("--brokers", "3", "--override", "offsets.topic.num.partitions=1")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Served(data=tmp_path_factory.mktemp("three"), options=QUICK) as served:
        yield served.bootstrap.split(",")


def test_it_says_the_addresses_of_all(cluster):
    assert len(set(cluster)) == 3


def test_a_topic_has_its_replicas_on_all_three_and_every_broker_knows_it(cluster):
    admin = kafka.KafkaAdminClient(bootstrap_servers=cluster[:1])
    admin.create_topics([kafka.admin.NewTopic("orders", 3, 3)])
    admin.close()
    for address in cluster:
        one = kafka.KafkaAdminClient(bootstrap_servers=[address])
        [topic] = one.describe_topics(["orders"])
        one.close()
        assert sorted(partition["leader_id"] for partition in topic["partitions"]) == [1, 2, 3]
        assert all(sorted(partition["isr_nodes"]) == [1, 2, 3] for partition in topic["partitions"])


def test_what_is_produced_with_acks_all_is_read_by_a_group(cluster):
    producer = kafka.KafkaProducer(bootstrap_servers=cluster, acks="all")
    sent = {b"%d" % number for number in range(100)}
    futures = [producer.send("payments", value, key=value) for value in sorted(sent)]
    assert all(future.get(60).offset >= 0 for future in futures)
    producer.close()
    settings = {"group_id": "billing", "auto_offset_reset": "earliest", "consumer_timeout_ms": 60_000}
    consumer = kafka.KafkaConsumer("payments", bootstrap_servers=cluster, **settings)
    read = set()
    for record in consumer:
        read.add(record.value)
        if read == sent:
            break
    consumer.close()
    assert read == sent


def test_what_nodes_ask_of_each_other_is_not_served_to_clients(cluster):
    between_nodes = {key for key, handler in HANDLERS.items() if handler.of_nodes}
    with Connection(cluster[0]) as client:
        told = {each.api_key for each in client.ask("ApiVersions", 0).api_keys}
        assert told == set(HANDLERS) - between_nodes
        with pytest.raises(EOFError):
            client.ask("Vote", 2, topics=[])

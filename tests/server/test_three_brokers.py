"""`minikafka serve --brokers 3`: a cluster that real clients use, in one process."""

import json

import pytest

from minikafka.broker.handlers import HANDLERS
from minikafka.server.embedded import Served
from minikafka.wire.errors import Error
from tests.clients.brokers import overrides, until
from tests.conformance.raw import Connection, batch
from tests.server.test_processes import described

pytestmark = pytest.mark.slow

kafka = pytest.importorskip("kafka")
# One process: when it stands still, all three do.
PATIENT = {
    "broker.session.timeout.ms": "20000",
    "controller.quorum.fetch.timeout.ms": "10000",
    "replica.lag.time.max.ms": "60000",
}
QUICK = ("--brokers", "3", *overrides({"offsets.topic.num.partitions": "1", **PATIENT}))


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
    until(lambda: all(knows_orders(address) for address in cluster))


def knows_orders(address):
    """Whether this broker knows three leaders, and all replicas in sync."""
    one = kafka.KafkaAdminClient(bootstrap_servers=[address])
    [topic] = one.describe_topics(["orders"])
    one.close()
    partitions = topic["partitions"]
    in_sync = all(
        sorted(partition["isr_nodes"]) == [1, 2, 3] for partition in partitions
    )
    return in_sync and sorted(partition["leader_id"] for partition in partitions) == [
        1,
        2,
        3,
    ]


def test_what_is_produced_with_acks_all_is_read_by_a_group(cluster):
    producer = kafka.KafkaProducer(bootstrap_servers=cluster, acks="all")
    sent = {b"%d" % number for number in range(100)}
    futures = [producer.send("payments", value, key=value) for value in sorted(sent)]
    assert all(future.get(60).offset >= 0 for future in futures)
    producer.close()
    settings = {
        "group_id": "billing",
        "auto_offset_reset": "earliest",
        "consumer_timeout_ms": 60_000,
    }
    consumer = kafka.KafkaConsumer("payments", bootstrap_servers=cluster, **settings)
    read = set()
    for record in consumer:
        read.add(record.value)
        if read == sent:
            break
    consumer.close()
    assert read == sent


def test_what_nodes_ask_of_each_other_is_not_served_to_clients(cluster):
    between_nodes = {key for key, handler in HANDLERS.items() if handler.inter_broker}
    with Connection(cluster[0]) as client:
        told = {each.api_key for each in client.ask("ApiVersions", 0).api_keys}
        assert told == set(HANDLERS) - between_nodes
        with pytest.raises(EOFError):
            client.ask("Vote", 2, topics=[])


def test_a_consumer_reads_from_the_replica_in_its_rack(tmp_path):
    """KIP-392: the leader sends it there."""
    confluent_kafka = pytest.importorskip("confluent_kafka")
    selector = "replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector"
    options = (*QUICK, "--racks", "a,b,c", "--override", selector)
    with Served(
        data=tmp_path / "data", trace=tmp_path / "trace", options=options
    ) as served:
        admin = kafka.KafkaAdminClient(bootstrap_servers=served.bootstrap)
        admin.create_topics([kafka.admin.NewTopic("orders", 1, 3)])
        producer = kafka.KafkaProducer(bootstrap_servers=served.bootstrap, acks="all")
        assert [
            producer.send("orders", b"%d" % number).get(60).offset
            for number in range(10)
        ] == list(range(10))
        producer.close()
        admin.close()
        leader, _ = described(served.bootstrap, "orders")
        nearest = leader % 3 + 1
        settings = {
            "group.id": "near",
            "auto.offset.reset": "earliest",
            "client.rack": "abc"[nearest - 1],
        }
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": served.bootstrap, **settings}
        )
        consumer.assign([confluent_kafka.TopicPartition("orders", 0, 0)])
        read = [
            message.value()
            for _ in range(10)
            if (message := consumer.poll(60)) is not None
        ]
        consumer.close()
    assert read == [b"%d" % number for number in range(10)]
    events = map(json.loads, (tmp_path / "trace").read_text().splitlines())
    fetched = {event["node"] for event in events if event["kind"] == "RecordsFetched"}
    assert fetched == {f"broker {nearest}"}


def voters_told(address, version=2):
    topics = [
        {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}
    ]
    with Connection(address) as broker:
        answer = broker.ask("DescribeQuorum", version, topics=topics)
    [quorum] = answer.topics[0].partitions
    return quorum, [node.node_id for node in answer.nodes]


def test_kip_595_any_broker_tells_how_far_each_voter_is(cluster):
    for address in cluster:
        quorum, nodes = voters_told(address)
        assert (
            [voter.replica_id for voter in quorum.current_voters] == nodes == [1, 2, 3]
        )
        assert not quorum.observers
        for voter in quorum.current_voters:
            assert (
                voter.last_fetch_timestamp
                >= voter.last_caught_up_timestamp
                > 1_750_000_000_000
            )
        until(lambda address=address: all_are_level(voters_told(address)[0]))


@pytest.mark.parametrize(("version", "has_times"), [(0, False), (1, True)])
def test_kip_595_older_clients_are_told_less_of_the_voters(cluster, version, has_times):
    for address in cluster:
        quorum, nodes = voters_told(address, version)
        assert ([voter.replica_id for voter in quorum.current_voters], nodes) == (
            [1, 2, 3],
            [],
        )
        assert {voter.last_fetch_timestamp > 0 for voter in quorum.current_voters} == {
            has_times
        }


def all_are_level(quorum):
    """Whether all voters have all that counts, and nothing else."""
    return (
        {voter.log_end_offset for voter in quorum.current_voters}
        == {quorum.high_watermark}
        != {0}
    )


def broker_ids(address, count):
    """Who is there, once a broker knows of so many."""
    with Connection(address) as client:

        def told():
            return client.ask("Metadata", 12, topics=[]).brokers

        until(lambda: len(told()) == count, f"{count} brokers are known")
        return {broker.node_id: (broker.host, broker.port) for broker in told()}


def test_kip_951_who_produces_to_the_wrong_broker_is_told_the_right_one_and_where_it_is(
    cluster,
):
    addresses = broker_ids(cluster[0], 3)
    with Connection(cluster[0]) as client:
        assignment = [{"partition_index": 0, "broker_ids": [3]}]
        topic = {
            "name": "led",
            "num_partitions": -1,
            "replication_factor": -1,
            "assignments": assignment,
        }
        [created] = client.ask("CreateTopics", 7, topics=[topic]).topics
        data = [
            {
                "topic_id": created.topic_id,
                "partition_data": [{"index": 0, "records": batch(b"a")}],
            }
        ]
        unknown = Error.UNKNOWN_TOPIC_ID
        while unknown == Error.UNKNOWN_TOPIC_ID:  # the broker has not heard of it yet
            answer = client.ask(
                "Produce", 13, acks=-1, timeout_ms=1000, topic_data=data
            )
            [refused] = answer.responses[0].partition_responses
            unknown = refused.error_code
    assert refused.error_code == Error.NOT_LEADER_OR_FOLLOWER
    assert (refused.current_leader.leader_id, refused.current_leader.leader_epoch) == (
        3,
        0,
    )
    assert [
        (node.node_id, (node.host, node.port)) for node in answer.node_endpoints
    ] == [(3, addresses[3])]


def test_kip_631_a_broker_that_is_unregistered_and_lives_registers_again(cluster):
    with Connection(cluster[0]) as client:
        for broker in (1, 2, 3):
            assert (
                client.ask("UnregisterBroker", 0, broker_id=broker).error_code
                == Error.NONE
            )
            assert broker_ids(cluster[0], 3).keys() == {1, 2, 3}
        assert (
            client.ask("UnregisterBroker", 0, broker_id=4).error_code
            == Error.BROKER_ID_NOT_REGISTERED
        )

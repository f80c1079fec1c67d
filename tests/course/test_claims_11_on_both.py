"""What lesson 11 claims about the control plane, on clusters of both kinds.

Nodes 1, 2 and 3 are controllers, 3 and 4 are brokers with replicas: so two of three
voters may go, and both brokers are still there. On minikafka 1 and 2 are brokers, too:
no node there only controls.
"""

import re
from collections import Counter
from contextlib import closing

import pytest
from kafka import KafkaAdminClient
from kafka.errors import KafkaError, KafkaTimeoutError

from minikafka.wire.errors import Error
from tests.clients.brokers import until
from tests.course.processes import NOBODY, PATIENCE_SECONDS, PROPERTIES, running, sent
from tests.kafka import BOTH, java_tool

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.first,
    pytest.mark.slow,
    pytest.mark.timeout(1200),
]

LAG_MS = 4000  # so that a leader soon wants a dead follower out of the ISR
DUMP = "org.apache.kafka.tools.DumpLogSegments"
ROLES = {1: "controller", 2: "controller", 3: "broker,controller", 4: "broker"}
METADATA = [
    {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}
]


@pytest.fixture(scope="module", params=BOTH)
def nodes(request):
    with running(
        request.param, ROLES, asked=4, replica_lag_time_max_ms=LAG_MS
    ) as found:
        yield found


def quorum(nodes):
    """As a broker tells it, once there is an active controller."""
    told = []

    def is_told():
        for topic in nodes.ask("DescribeQuorum", 2, topics=METADATA).topics:
            told.extend(
                each for each in topic.partitions if each.error_code == Error.NONE
            )
        return told

    until(is_told)
    return told[0]


def producer(nodes, **options):
    return closing(nodes.producer(**options))


def metadata_records(nodes):
    """How many of each type the dump tool finds in broker 4's copy of the metadata
    log.
    """
    [log] = (nodes[4].data / "__cluster_metadata-0").glob("*0.log")
    done = java_tool(
        DUMP,
        "--cluster-metadata-decoder",
        "--files",
        str(log),
        timeout=PATIENCE_SECONDS,
    )
    return Counter(re.findall(r'"type":"(\w+)"', done.stdout))


@pytest.mark.java
def test_kip_631_neither_records_nor_heartbeats_go_into_the_metadata_log(nodes):
    """KIP-835: Apache Kafka's controller itself has a NO_OP_RECORD there twice a
    second.
    """

    def seen_ms():
        """When the active controller saw broker 4 last; a new one has not seen it
        yet.
        """
        seen = []

        def is_seen():
            seen.extend(
                each.last_fetch_timestamp
                for each in quorum(nodes).observers
                if each.replica_id == 4
            )
            return seen

        until(is_seen)
        return seen[0]

    nodes.create("busy", 4)
    with producer(nodes) as shop:
        sent(shop, "busy", b"order")
        before, began_ms = metadata_records(nodes), seen_ms()
        for _ in range(100):
            shop.send("busy", b"order")
        shop.flush()
        assert nodes.read("busy") == [b"order"] * 101
        until(
            lambda: (
                seen_ms()
                > began_ms + 3 * int(PROPERTIES["broker.heartbeat.interval.ms"])
            )
        )
    grown = metadata_records(nodes) - before
    assert set(grown) <= {"NO_OP_RECORD", "PRODUCER_IDS_RECORD"}, grown
    assert before["REGISTER_BROKER_RECORD"] == len(nodes.brokers), (
        "who only controls has a record of another type"
    )
    assert before["BROKER_REGISTRATION_CHANGE_RECORD"] >= len(nodes.brokers), (
        "unfenced after it had registered"
    )


def test_kip_500_a_dead_controller_holds_up_no_record_and_the_other_voters_elect_another_in_a_later_epoch(
    nodes,
):
    """One of the other two stands still meanwhile, so that there is certainly no active
    controller.
    """
    nodes.create("alone", 4)
    was = quorum(nodes)
    assert sorted(each.replica_id for each in was.current_voters) == [1, 2, 3]
    with producer(nodes) as shop:
        assert sent(shop, "alone", b"created") == 0
        with nodes.frozen(was.leader_id % 3 + 1):
            nodes.kill(was.leader_id)
            assert sent(shop, "alone", b"paid") == 1
    until(lambda: quorum(nodes).leader_id not in (was.leader_id, NOBODY))
    assert quorum(nodes).leader_epoch > was.leader_epoch
    nodes.start(was.leader_id)
    until(
        lambda: all(
            each.log_end_offset > was.high_watermark
            for each in quorum(nodes).current_voters
        )
    )


def test_without_a_majority_records_are_written_and_read_and_nothing_is_decided(nodes):
    """A topic can't be created, and a dead follower stays in the ISR, though
    min.insync.replicas is 1 (KIP-497).
    """
    nodes.create("orders", 4, 3)
    patient = {"request_timeout_ms": 5000, "delivery_timeout_ms": 4 * LAG_MS}
    with (
        producer(nodes, acks="all", **patient) as shop,
        producer(nodes, acks=1) as hasty,
    ):
        assert [sent(shop, "orders", b"created"), sent(hasty, "orders", b"noted")] == [
            0,
            1,
        ]
        until(lambda: nodes.described("orders") == (4, [3, 4]))
        nodes.kill(1, 2)
        assert [sent(shop, "orders", b"paid"), sent(hasty, "orders", b"seen")] == [2, 3]
        until(lambda: nodes.read("orders") == [b"created", b"noted", b"paid", b"seen"])
        admin = KafkaAdminClient(
            bootstrap_servers=nodes[4].bootstrap, request_timeout_ms=8000
        )
        with closing(admin), pytest.raises(KafkaError):
            admin.create_topics({"more": {"num_partitions": 1}}, timeout_ms=5000)
        assert nodes.partition("more") is None
        nodes.kill(3)
        with pytest.raises(KafkaTimeoutError):
            shop.send("orders", b"shipped").get(timeout=PATIENCE_SECONDS)
        assert sent(hasty, "orders", b"late") > 3
        assert nodes.described("orders") == (4, [3, 4])
        nodes.start(1, 2)
        until(lambda: nodes.described("orders") == (4, [4]))
        with producer(nodes, acks="all") as another:
            assert sent(another, "orders", b"delivered") > 4
    nodes.start(3)
    until(lambda: nodes.described("orders") == (4, [3, 4]))

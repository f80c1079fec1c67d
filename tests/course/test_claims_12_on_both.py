"""What lesson 12 claims about bytes, addresses and versions, as one check each, run on
minikafka and on Apache Kafka over TCP.

The ledger (`notebooks/claims.toml`) names these tests as its evidence.
"""

import re
import socket
from contextlib import contextmanager

import nbformat
import pytest

from minikafka.course import editions
from minikafka.course.experiments import lesson_12_runs as runs
from minikafka.course.experiments.lesson_12_real import (
    NOWHERE,
    apis,
    one_order,
    send_ten,
)
from minikafka.server.embedded import Served
from minikafka.server.proxy import Proxy
from minikafka.wire.records import encode_batch
from tests.clients.brokers import KEPT, fresh_name, overrides
from tests.conformance.raw import Connection
from tests.kafka import BOTH, MINIKAFKA, ApacheKafka, free_ports

pytestmark = pytest.mark.slow

CLIENT, CORRELATION_ID = "shop", 7


@pytest.fixture(scope="module", params=BOTH)
def kafka(request):
    """The bootstrap address of either broker."""
    if request.param == MINIKAFKA:
        with Served(options=overrides(KEPT)) as served:
            yield served.bootstrap
    else:
        with ApacheKafka({"log.initial.task.delay.ms": "3600000"}) as apache:
            yield apache.bootstrap


@contextmanager
def advertising_nowhere(kind):
    """A broker that tells its clients to come to a name that nobody knows; yields its
    true address.
    """
    if kind == MINIKAFKA:
        with Served(options=("--advertised-host", NOWHERE)) as served:
            yield f"127.0.0.1:{served.bootstrap.rsplit(':', 1)[1]}"
        return
    (port,) = free_ports(1)
    listeners = f"PLAINTEXT://{NOWHERE}:{port}"
    with ApacheKafka({"advertised.listeners": listeners}) as apache:
        yield apache.bootstrap


def answer_to(bootstrap, frame):
    """What comes back; None if the broker hangs up."""
    with Connection(bootstrap) as broker:
        broker.send_frame(frame)
        try:
            return broker.read_frame()
        except (EOFError, ConnectionError):
            return None


def test_no_produce_request_passes_a_proxy_that_the_broker_does_not_advertise(kafka):
    with Proxy(kafka) as proxy:
        send_ten(proxy.address)
        assert apis(proxy.requests()) == ["ApiVersions", "Metadata"]


@pytest.mark.parametrize("kind", BOTH)
def test_an_advertised_name_that_leads_nowhere_is_told_as_missing_metadata(kind):
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo(NOWHERE, 9092)
    with advertising_nowhere(kind) as bootstrap:
        error = one_order(bootstrap, wait_s=3)
    assert "Failed to update metadata" in error
    assert NOWHERE not in error


# The two of 123 for which Apache Kafka has other words than minikafka: no partition at
# all is answered without the topic, too; a batch that is a byte too short is damaged
# instead of invalid.
OTHER_WORDS = {57: "CORRUPT_MESSAGE"}


def test_a_flipped_bit_is_noticed_or_not_by_where_it_is(kafka):
    send_ten(kafka)
    with Connection(kafka) as broker:
        before = broker.offset(runs.TOPIC, -1).offset
    request = runs.order_request()
    simulated = runs.flip_each(runs.shop(), request)
    found = []
    for at in range(len(request)):
        answer = answer_to(kafka, runs.flipped(request, at))
        found.append(runs.what_came(answer, hung_up=answer is None))
    different = {
        at: mine
        for at, (mine, ours) in enumerate(zip(found, simulated, strict=True))
        if mine != ours
    }
    assert different in ({}, OTHER_WORDS)
    stored = [at for at, what in enumerate(found) if what.startswith(runs.STORED)]
    assert stored == [*range(4, 8), *range(10, 16), *range(18, 22), *range(58, 62)]
    with Connection(kafka) as broker:
        assert broker.offset(runs.TOPIC, -1).offset == before + len(stored)


def test_a_record_of_nine_bytes_is_stored_as_77_alone_and_as_18_among_a_thousand(kafka):
    records = [(runs.AT_MS + ms, b"alice", b"paid", []) for ms in range(1000)]
    with Connection(kafka) as broker:
        for count, size_bytes in ((1, 77), (1000, 17_933)):
            topic = broker.create_topic(fresh_name("orders"))
            batch = bytearray(encode_batch(records[:count]))
            assert broker.produce(topic, batch).error_code == 0
            assert len(broker.fetch(topic).records) == size_bytes
            assert runs.batch_bytes(count) == size_bytes


def test_brokers_keep_the_bytes_that_producers_have_compressed(kafka):
    records = [
        (each.ingest_ms, each.key, each.value, []) for each in runs._orders(1000)
    ]
    with Connection(kafka) as broker:
        for codec in ("gzip", "zstd"):
            sizes = []
            for batch in (records[:1], records):
                topic = broker.create_topic(fresh_name("orders"))
                sent = bytearray(encode_batch(batch, compression=codec))
                assert broker.produce(topic, bytearray(sent)).error_code == 0
                stored = bytes(broker.fetch(topic).records)
                assert len(stored) == len(sent) and stored[16:] == sent[16:]
                sizes.append(len(stored) / len(encode_batch(batch)))
            assert sizes[0] > 0.8 and sizes[1] < 0.2


def test_kip_511_only_api_versions_is_answered_in_a_version_that_nobody_knows(kafka):
    for version in (6, 99):
        asked = runs.of_the_future("ApiVersions", version, CORRELATION_ID, CLIENT)
        answer = answer_to(kafka, asked)
        assert answer.hex() == "00000007002300000001001200000005"
    for api in ("Produce", "Fetch", "Metadata", "FindCoordinator"):
        asked = runs.of_the_future(api, 99, CORRELATION_ID, CLIENT)
        assert answer_to(kafka, asked) is None


def with_the_lessons_listeners(**changes):
    """A node of Apache Kafka with the settings that the lesson shows, on free ports."""
    cells = nbformat.read(editions.notebooks()["12"], as_version=4).cells
    [text] = [each.source for each in cells if each.id == "at-work"]
    [block] = [each for each in text.split("```") if "listeners=" in each]
    told = dict(line.split("=", 1) for line in block.split()) | changes
    node = ApacheKafka()
    ports = {"9092": node.port, "9093": node.controller_port}
    ports["19092"] = free_ports(1)[0]
    for name, value in told.items():
        node.properties[name.replace("_", ".")] = re.sub(
            r"\d+$|\d+(?=,)", lambda found: str(ports.get(found[0], found[0])), value
        )
    return node


@pytest.mark.java
def test_a_combined_node_takes_connections_at_the_listeners_of_the_lesson():
    with with_the_lessons_listeners() as node, Connection(node.bootstrap) as client:
        [broker] = client.ask("Metadata", 9, topics=[]).brokers
        assert (broker.host, broker.port) == ("localhost", node.port)


@pytest.mark.java
@pytest.mark.parametrize(
    "changes",
    [
        {"listeners": "INSIDE://:19092,OUTSIDE://:9092"},
        {"process_roles": "broker", "controller_quorum_voters": "7@127.0.0.1:9093"},
    ],
    ids=["a controller without its listener", "a controller's listener on a broker"],
)
def test_a_node_has_a_listener_for_controllers_if_it_is_one(changes):
    node = with_the_lessons_listeners(**changes)
    with pytest.raises(RuntimeError, match=r"controller\.listener\.names"):
        node.start()

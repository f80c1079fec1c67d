"""`serve --kafka-version 3.9`: clients see what brokers of an older Kafka offer."""

import os
import subprocess
import sys

import confluent_kafka
import kafka as kafka_python
import pytest

from minikafka.broker.handlers import HANDLERS
from minikafka.cluster.features import ELR_FEATURE
from minikafka.server.embedded import Served
from minikafka.server.kafka_versions import API_ROW, FEATURE_ROW, kafka_versions
from minikafka.wire.messages import API
from tests.clients.brokers import until
from tests.conformance.kafka_versions import ASKED, said
from tests.conformance.raw import Connection
from tests.kafka import BOTH, MINIKAFKA, ROOT, ApacheKafka
from tests.server.test_life import refused  # noqa: F401 (a fixture)

pytestmark = pytest.mark.slow
WHO = {"client_software_name": "tests", "client_software_version": "1"}


@pytest.fixture(params=ASKED)
def older(request):
    """A broker that is to look like this version's, and the version."""
    with Served(options=("--kafka-version", request.param)) as served:
        yield request.param, served.bootstrap


def test_a_broker_offers_what_one_of_that_version_does_as_far_as_it_serves_it(older):
    version, bootstrap = older
    theirs = kafka_versions()[version]
    with Connection(bootstrap) as client:
        ours = said(client)
    features = dict(theirs.features)
    if ELR_FEATURE in features:  # KIP-966 can't be switched off here
        features[ELR_FEATURE] = features[ELR_FEATURE]._replace(finalized=1)
    assert ours.features == features
    assert ours.apis.keys() == theirs.apis.keys()
    for name, (lowest, highest) in ours.apis.items():
        # versions of before 4.0 are served no more, except that Produce says it is
        served_from, _ = HANDLERS[API[name].key].versions
        expected = 0 if name == "Produce" else max(served_from, theirs.apis[name][0])
        assert (name, lowest, highest) == (name, expected, theirs.apis[name][1])


def test_kafka_python_takes_it_for_that_version(older):
    """It has a table of its own of what each version offers."""
    version, bootstrap = older
    producer = kafka_python.KafkaProducer(bootstrap_servers=bootstrap)
    assert producer.config["api_version"] == tuple(map(int, version.split(".")))
    producer.close()


def test_a_client_writes_and_reads_in_a_transaction_and_a_group(older):
    _, bootstrap = older
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": bootstrap, "transactional.id": "till"}
    )
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce("orders", b"paid")
    producer.commit_transaction(60)
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "billing",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["orders"])
    assert consumer.poll(60).value() == b"paid"
    consumer.close()


def test_what_that_version_does_not_offer_is_refused():
    with Served(options=("--kafka-version", "3.9")) as served:
        with Connection(served.bootstrap) as client:
            # in version 0, which says what it speaks instead (KIP-511)
            client.send("ApiVersions", 5, **WHO)
            answer = client.read("ApiVersions", 0)
            assert answer.error_code == 35
            [own] = answer.api_keys
            assert (own.min_version, own.max_version) == (0, 4)
        for api, version in (("Metadata", 13), ("ShareGroupHeartbeat", 1)):
            with Connection(served.bootstrap) as client:
                client.send(
                    api, version, **({"group_id": "g"} if "Share" in api else {})
                )
                assert client.is_closed_by_the_broker()


@pytest.mark.parametrize(("version", "error"), [("3.9", 35), ("4.0", 0)])
def test_kip_848_before_4_0_the_consumer_protocol_is_off_unless_asked_for(
    version, error
):
    """Though ConsumerGroupHeartbeat is offered."""
    with (
        Served(options=("--kafka-version", version)) as served,
        Connection(served.bootstrap) as client,
    ):
        joins = {
            "group_id": "billing",
            "member_epoch": 0,
            "rebalance_timeout_ms": 60_000,
            "subscribed_topic_names": ["orders"],
            "topic_partitions": [],
        }
        who = {"key": "billing", "key_type": 0}
        until(lambda: client.ask("FindCoordinator", 3, **who).error_code == 0)

        def code():
            return client.ask("ConsumerGroupHeartbeat", 0, **joins).error_code

        until(lambda: code() not in (14, 15, 16), "its coordinator has loaded it")
        assert code() == error


def test_three_nodes_of_that_version_speak_to_each_other_as_ever():
    options = ("--brokers", "3", "--processes", "--kafka-version", "3.6")
    replicated = ("--override", "default.replication.factor=3")
    with Served(options=(*options, *replicated)) as served:
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": served.bootstrap, "acks": "all"}
        )
        producer.produce("orders", b"paid")
        assert producer.flush(60) == 0


@pytest.mark.parametrize("text", ["2.8", "4.4", "3.9.1", "", "x"])
def test_a_version_that_nobody_has_asked_is_not_offered(text, refused):  # noqa: F811
    code, errors = refused("--port", "0", "--kafka-version", text)
    assert code == 2
    assert (
        "is not a version whose answers are known here: 3.6, 3.7, 3.8, 3.9, 4.0,"
        in (errors)
    )


@pytest.mark.compares
@pytest.mark.parametrize("which", BOTH)
def test_kip_1022_features_that_may_be_off_are_told_from_api_versions_4_on(which):
    """Clients of before can't read a level 0."""
    with (
        Served() if which == MINIKAFKA else ApacheKafka() as served,
        Connection(served.bootstrap) as client,
    ):
        before, since = (
            {
                each.name
                for each in client.ask("ApiVersions", version, **WHO).supported_features
            }
            for version in (3, 4)
        )
    assert before == {"metadata.version"}
    assert before < since and "group.version" in since


@pytest.mark.java
@pytest.mark.nightly
@pytest.mark.parametrize("line", ASKED)
def test_apache_kafka_of_that_version_says_what_the_table_says(line):
    """`make nightly` fetches one of them; python -m tests.conformance.kafka_versions
    fetches and asks all.
    """
    version = ASKED[line]
    if not (ROOT / ".cache" / f"kafka-{version}").exists():
        pytest.skip(f"no jars of Apache Kafka {version}")
    done = subprocess.run(
        [sys.executable, "-m", "tests.conformance.kafka_versions", "--one"],
        env=os.environ | {"MINIKAFKA_KAFKA_VERSION": version},
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    told = kafka_versions()[line]
    rows = {}
    for row in done.stdout.splitlines():
        kind, name, cell = row.split(",")
        rows[kind, name] = tuple(map(int, cell.split()))
    expected = {(API_ROW, name): levels for name, levels in told.apis.items()}
    expected |= {(FEATURE_ROW, name): tuple(at) for name, at in told.features.items()}
    assert rows == expected

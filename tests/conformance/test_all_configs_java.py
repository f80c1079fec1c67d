"""What Java's AdminClient and kafka-configs are told of configs and features: the same
by minikafka as by Apache Kafka, of one broker and of three.

differences_configs.toml lists where the two differ on purpose (test_all_configs.py).
"""

import pytest

from minikafka.course.clusters.jvm_cluster import JvmCluster
from minikafka.server.embedded import Served
from tests.clients.brokers import KEPT, fresh_name, minikafka, overrides, until
from tests.clients.java_tools import JavaTools
from tests.conformance.conftest import AT_ONCE
from tests.conformance.java_admin import JavaAdmin
from tests.conformance.same_answers import differences, unexpected
from tests.conformance.test_all_configs import DIFFERENCES
from tests.conformance.test_same_answers_of_three import LIKE_THEIRS
from tests.kafka import CONFIG_COMMAND, SMALL_JVM, ApacheKafka, an_address, java_tool

pytestmark = [pytest.mark.slow, pytest.mark.java, pytest.mark.nightly]

# as docker/compose.yaml has them, though they are the defaults
OF_THREE = {
    "offsets.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
    "share.coordinator.state.topic.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.replication.factor": "3",
}
FEATURE_COMMAND = "org.apache.kafka.tools.FeatureCommand"  # it ends its JVM


@pytest.fixture(scope="module")
def java():
    with JavaTools() as tools:
        yield tools


@pytest.fixture(scope="module")
def one():
    with minikafka(AT_ONCE) as ours, ApacheKafka(KEPT) as theirs:
        yield ours, theirs.bootstrap


@pytest.fixture(scope="module")
def three():
    options = ("--brokers", "3", *overrides(LIKE_THEIRS | OF_THREE))
    with (
        Served(options=options) as ours,
        JvmCluster(an_address(), jvm=SMALL_JVM) as theirs,
    ):
        yield ours.bootstrap, theirs.bootstrap


def check(ours, theirs, listed):
    left, stale = unexpected(differences(ours, theirs), DIFFERENCES[listed], {})
    assert not left
    assert not stale, "these no longer differ: take them out of the file"


UNKNOWN = "UnknownTopicOrPartition"


def resources(topic, brokers):
    """Kind and name of one resource of each kind, of brokers of all."""
    found = [("TOPIC", topic), ("BROKER", ""), ("CLIENT_METRICS", topic)]
    for broker in brokers:
        found += [("BROKER", broker), ("BROKER_LOGGER", broker)]
    return [*found, ("GROUP", topic)]


def story(admin, topic, brokers):
    """What one does with configs: question -> answer. All but the loggers are in the
    end as they were.
    """
    told = {"created": admin.create_topic(topic)}
    until(
        lambda: UNKNOWN not in str(admin.describe_configs("TOPIC", topic)),
        "the broker that is asked has heard of the topic",
    )
    for kind, name in resources(topic, brokers):
        told[f"{kind} {name and name.replace(topic, 't')}"] = admin.describe_configs(
            kind, name
        )
    for broker in brokers:
        for what, kind, config, value in (
            ("its own", "BROKER", "num.io.threads", "9"),
            ("a fixed one", "BROKER", "node.id", "9"),
            ("a bad one", "BROKER", "log.retention.ms", "x"),
            ("how many in sync", "BROKER", "min.insync.replicas", "1"),
            ("its logger", "BROKER_LOGGER", "root", "ERROR"),
            ("a bad level", "BROKER_LOGGER", "root", "LOUD"),
            ("no logger", "BROKER_LOGGER", "no.such", "INFO"),
        ):
            told[f"{what} of {broker}"] = admin.alter_configs(
                kind, broker, "SET", config, value, only_check=True
            )
        changed = admin.alter_configs("BROKER_LOGGER", broker, "SET", "root", "WARN")
        shown = admin.describe_configs("BROKER_LOGGER", broker)["root"]
        told[f"level of {broker}"] = [changed, *shown]
    for what, kind, operation, config, value in (
        ("of the topic", "TOPIC", "SET", "retention.ms", "5000"),
        ("to a list", "TOPIC", "APPEND", "cleanup.policy", "compact"),
        ("back", "TOPIC", "DELETE", "retention.ms", ""),
        ("of the group", "GROUP", "SET", "consumer.session.timeout.ms", "50000"),
        ("of the group, bad", "GROUP", "SET", "consumer.session.timeout.ms", "1"),
        ("metrics", "CLIENT_METRICS", "SET", "interval.ms", "1000"),
        ("metrics, bad", "CLIENT_METRICS", "SET", "interval.ms", "1"),
    ):
        told[what] = admin.alter_configs(kind, topic, operation, config, value)
    mine = f"name='{topic}'"
    for kind in ("TOPIC", "BROKER", "BROKER_LOGGER", "CLIENT_METRICS", "GROUP"):
        found = admin.list_config_resources(kind)
        of_this = [each for each in found if mine in each or "BROKER" in each]
        told[f"resources {kind}"] = [each.replace(topic, "t") for each in of_this]
    metrics = admin.list_client_metrics_resources()
    told["subscriptions"] = [each.replace(topic, "t") for each in metrics]
    for kind, config in (
        ("GROUP", "consumer.session.timeout.ms"),
        ("CLIENT_METRICS", "interval.ms"),
    ):
        told[f"back: {kind}"] = admin.alter_configs(kind, topic, "DELETE", config, "")
    told["features"] = admin.describe_features()
    for name in ("share.version", "streams.version", "group.version", "kraft.version"):
        for level, kind in ((1, "UPGRADE"), (0, "SAFE_DOWNGRADE"), (5, "UPGRADE")):
            told[f"{name} {kind} to {level}"] = (
                admin.update_features(name, level, kind, only_check=True)
                .replace("controller 2", "controller 1")
                .replace("controller 3", "controller 1")
            )
    return told


@pytest.mark.compares
@pytest.mark.parametrize("brokers", [["1"], ["1", "2", "3"]], ids=["one", "three"])
def test_javas_admin_client_is_told_the_same_of_configs(java, brokers, request):
    cluster = "one" if len(brokers) == 1 else "three"
    topic = fresh_name("configured")
    told = []
    for bootstrap in request.getfixturevalue(cluster):
        with JavaAdmin(java, bootstrap) as admin:
            told.append(story(admin, topic, brokers))
    check(*told, f"java_admin_of_{cluster}")


def described(java, bootstrap, kind, name):
    """kafka-configs --describe --all: config -> what the line says behind its name."""
    entity = ("--entity-type", kind, "--entity-name", name)
    options = ("--bootstrap-server", bootstrap, "--describe", "--all")
    found = {}
    for line in java.run(CONFIG_COMMAND, *options, *entity).splitlines():
        if line.startswith("  "):
            config, _, rest = line.strip().partition("=")
            found[config] = rest
    return found


@pytest.mark.compares
def test_kafka_configs_describes_all_as_of_apache_kafka(java, one):
    topic = fresh_name("described")
    told = []
    for bootstrap in one:
        with JavaAdmin(java, bootstrap) as admin:
            admin.create_topic(topic)
            admin.alter_configs("BROKER_LOGGER", "1", "SET", "root", "WARN")
        found = {}
        for kind, name in (
            ("brokers", "1"),
            ("topics", topic),
            ("groups", topic),
            ("broker-loggers", "1"),
            ("client-metrics", topic),
        ):
            found[kind] = described(java, bootstrap, kind, name)
            assert found[kind], "it describes something"
        told.append(found)
    check(*told, "kafka_configs")


@pytest.mark.compares
def test_kip_1022_a_release_brings_all_features_and_kraft_version_stays(java, one):
    told = []
    for bootstrap in one:
        found = {}
        for what, *args in (
            ("tried", "upgrade", "--release-version", "4.4", "--dry-run"),
            ("done", "upgrade", "--release-version", "4.4"),
            ("again", "upgrade", "--feature", "kraft.version=1"),
        ):
            options = ("--bootstrap-server", bootstrap)
            done = java_tool(FEATURE_COMMAND, *options, *args)
            found[what] = [str(done.returncode), *done.stdout.splitlines()]
        with JavaAdmin(java, bootstrap) as admin:
            found["levels"] = admin.describe_features()
            found["back"] = admin.update_features(
                "kraft.version", 0, "UNSAFE_DOWNGRADE"
            )
        told.append(found)
    check(*told, "kafka_features")

"""`pytest --kafka=testcontainers`: what it says where no container can be started, and
that Apache Kafka with the container's environment is what clients are told.
"""

import sys

import pytest

from minikafka.course.clusters import compose
from minikafka.course.clusters.jvm_cluster import JvmCluster
from minikafka.testing import container
from minikafka.testing.kafka import AnyKafka
from tests.kafka import SMALL_JVM, VERSION, an_address, free_ports

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow

NEEDS_KAFKA = "def test_topic(kafka): kafka.topic()"


@pytest.fixture
def said(pytester):
    """What pytest says, on standard error, and that it is a usage error."""

    def said():
        pytester.makepyfile(NEEDS_KAFKA)
        plugin = ("-p", "no:minikafka", "-p", "minikafka.testing.plugin")
        result = pytester.runpytest_inprocess(*plugin, "--kafka=testcontainers")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        return result.stdout.str()

    return said


def test_who_lacks_the_package_is_told_what_to_install(said, monkeypatch):
    monkeypatch.setitem(sys.modules, "testcontainers", None)
    assert "--kafka=testcontainers: it needs the package testcontainers" in said()


def test_who_has_no_container_engine_is_told_so(said, monkeypatch):
    pytest.importorskip("testcontainers")
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    assert "no container engine has started apache/kafka" in said()


@pytest.mark.java
@pytest.mark.nightly
def test_apache_kafka_in_the_containers_environment_is_found_where_it_says():
    """The image's own translator makes server.properties of the environment."""
    host = an_address()
    port, controller = free_ports(2)
    address = f"{host}:{port}"
    environment = {
        name: value.replace(str(container.CONTROLLER_PORT), str(controller))
        for name, value in container.environment(address).items()
    }
    cluster = JvmCluster(host, jvm=SMALL_JVM)
    version = container.IMAGE.rpartition(":")[2]
    assert version == VERSION
    broker = compose.Broker("kafka", version, environment, container.DATA, ())
    cluster.brokers, cluster.bootstrap = (broker,), address
    with cluster:
        container.wait_for(address)
        kafka = AnyKafka(lambda: [address])
        assert kafka.records(kafka.topic()) == []
        assert kafka.group("nobody").committed(kafka.made_topics[0]) == {}
        kafka.close()

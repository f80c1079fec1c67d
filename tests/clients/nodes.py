"""Brokers that tests may restart, of both kinds: minikafka and Apache Kafka, with short
sessions for groups.
"""

import os
from contextlib import contextmanager

import pytest

from minikafka.server.embedded import Served
from tests.clients.brokers import KEPT, overrides
from tests.kafka import APACHE_KAFKA, MINIKAFKA, ApacheKafka, free_ports

SESSION_MS = 6000  # the shortest that a broker allows by default
# Both kinds know these; a new group waits for nobody, a dead member is missed soon.
QUICK = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.consumer.heartbeat.interval.ms": "300",
    "offsets.topic.num.partitions": "5",
    **KEPT,
}
# What Apache Kafka must allow besides.
ALLOWED = {
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.max.session.timeout.ms": "3600000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.min.assignment.interval.ms": "0",
    "group.streams.min.session.timeout.ms": "1000",
    "group.streams.max.session.timeout.ms": "3600000",
    "group.streams.min.heartbeat.interval.ms": "100",
    # the assignment is made before the answer, as in minikafka
    "group.consumer.assignor.offload.enable": "false",
    # minikafka aborts them when it is time
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    # retention: tests write records with old times
    "log.initial.task.delay.ms": "3600000",
}


class Minikafka:
    """`minikafka serve` on a folder."""

    def __init__(self, data, properties):
        self.data, self.port = data, free_ports(1)[0]
        self.options = overrides(properties)
        self.said = ""
        self.served = Served(data=data, port=self.port, options=self.options)
        self.bootstrap = self.served.bootstrap

    def stop(self):
        self.served.stop()
        self.said += self.served.said()
        assert "Traceback" not in self.said, self.said

    def restart(self, crash=False):
        """Stop it cleanly, or kill -9; the next one has the same folder and port."""
        if crash:
            self.served.kill()
        self.stop()
        self.served = Served(data=self.data, port=self.port, options=self.options)


class Apache:
    """Apache Kafka on a folder."""

    def __init__(self, data, properties):
        self.kafka = ApacheKafka(ALLOWED | properties, data=data)
        self.bootstrap = self.kafka.bootstrap
        self.kafka.__enter__()

    def stop(self):
        self.kafka.stop()

    def restart(self, crash=False):
        if crash:
            self.kafka.process.kill()
        self.stop()
        self.kafka.folder.mkdir()
        self.kafka.start()


class Given:
    """The Kafka that MINIKAFKA_BOOTSTRAP names. It is not ours to restart."""

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap

    def restart(self, crash=False):
        pytest.skip("somebody else's Kafka is not restarted")


@contextmanager
def node(kind, data, properties=QUICK):
    """A broker of this kind; the one that MINIKAFKA_BOOTSTRAP names instead of
    minikafka.
    """
    given = os.environ.get("MINIKAFKA_BOOTSTRAP")
    if given and kind == MINIKAFKA:
        yield Given(given)
        return
    broker = (Minikafka if kind == MINIKAFKA else Apache)(data, properties)
    try:
        yield broker
    finally:
        broker.stop()


def ours_and_theirs(found):
    """Two fixtures of a module: what `found` makes of minikafka, and of Apache Kafka. It
    is given the kind and a folder.
    """

    def fixture_of(kind):
        @pytest.fixture(scope="module")
        def of_this_kind(tmp_path_factory):
            return found(kind, tmp_path_factory.mktemp("data"))

        return of_this_kind

    return fixture_of(MINIKAFKA), fixture_of(APACHE_KAFKA)

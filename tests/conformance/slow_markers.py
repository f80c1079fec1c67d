"""A Kafka of several brokers, one of which can be made to stand still: the markers for
what it leads wait meanwhile.
"""

import os
import signal
from pathlib import Path

from minikafka.server.embedded import Served
from tests.clients.brokers import STEADY, overrides
from tests.clients.nodes import ALLOWED
from tests.conformance.raw import Connection
from tests.kafka import APACHE_KAFKA, ApacheKafka

# Who stands still is taken for dead by nobody, so that its partitions keep their
# leader.
PATIENT = {
    "broker.session.timeout.ms": "600000",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    "group.initial.rebalance.delay.ms": "0",
}


class ThreeMinikafkas:
    """`minikafka serve --brokers 3 --processes`."""

    brokers = 3

    def __init__(self, folder):
        self._folder = Path(folder)
        options = ("--brokers", "3", "--processes", *overrides(STEADY | PATIENT))
        self.served = Served(data=folder, options=options)
        self.bootstrap = self.served.bootstrap.split(",")[0]

    def pid(self, broker):
        return int((self._folder / f"broker-{broker}.pid").read_text())

    def stop(self):
        self.served.stop()
        assert "Traceback" not in self.served.said(), self.served.said()


class TwoApacheKafkas:
    """Broker and controller 1, which coordinates all, and broker 2."""

    brokers = 2

    def __init__(self, folder):
        first = ApacheKafka(ALLOWED | PATIENT, data=Path(folder) / "1").start()
        self._nodes = [first]
        self.bootstrap = first.bootstrap
        with Connection(first.bootstrap) as broker:
            # the internal topics are made while there is one broker only
            for key_type in (0, 1):
                while broker.ask(
                    "FindCoordinator", 3, key="of all", key_type=key_type
                ).error_code:
                    pass
        second = ApacheKafka(ALLOWED | PATIENT, data=Path(folder) / "2")
        address = f"PLAINTEXT://{second.bootstrap}"
        second.properties |= {
            "process.roles": "broker",
            "node.id": "2",
            "controller.quorum.voters": first.properties["controller.quorum.voters"],
            "listeners": address,
            "advertised.listeners": address,
        }
        self._nodes.append(second.start())

    def pid(self, broker):
        return self._nodes[broker - 1].process.pid

    def stop(self):
        for node in reversed(self._nodes):
            node.stop()


class SlowMarkers:
    """The cluster, with two topics of one partition: `fast` is led by the coordinator
    of all transactional ids, `slow` by a broker that coordinates nothing, and stands
    still between freeze() and thaw().
    """

    def __init__(self, kind, folder):
        self.cluster = (TwoApacheKafkas if kind == APACHE_KAFKA else ThreeMinikafkas)(
            folder
        )
        self._connections = {}
        self._is_frozen = False
        with Connection(self.cluster.bootstrap) as broker:
            while len(addresses := self._addresses(broker)) < self.cluster.brokers:
                pass
            coordinators = [self._coordinator(broker, key_type) for key_type in (0, 1)]
            self.slow = max(set(addresses) - set(coordinators))
            self.groups, self.coordinator = (
                Connection(addresses[node]) for node in coordinators
            )
            self._create(broker, {"fast": coordinators[1], "slow": self.slow})
            for topic in ("fast", "slow"):
                # 6: another one leads it
                while self.coordinator.offset(topic, -1).error_code not in (0, 6):
                    pass

    def _addresses(self, broker):
        found = broker.ask("Metadata", 9, topics=[]).brokers
        return {each.node_id: f"{each.host}:{each.port}" for each in found}

    def _coordinator(self, broker, key_type):
        while (
            found := broker.ask("FindCoordinator", 3, key="of all", key_type=key_type)
        ).error_code:
            pass
        return found.node_id

    def _create(self, broker, leaders):
        topics = [
            {
                "name": name,
                "num_partitions": -1,
                "replication_factor": -1,
                "assignments": [{"partition_index": 0, "broker_ids": [leader]}],
            }
            for name, leader in leaders.items()
        ]
        created = broker.ask("CreateTopics", 5, topics=topics, timeout_ms=30_000).topics
        assert [each.error_code for each in created] == [0, 0], created

    def freeze(self):
        os.kill(self.cluster.pid(self.slow), signal.SIGSTOP)
        self._is_frozen = True

    def thaw(self):
        if self._is_frozen:
            os.kill(self.cluster.pid(self.slow), signal.SIGCONT)
            self._is_frozen = False

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.thaw()
        self.groups.close()
        self.coordinator.close()
        self.cluster.stop()

"""Somebody who reaches the nodes' listener of a cluster."""

from minikafka import Cluster
from minikafka.cluster import registration
from minikafka.cluster.metadata import METADATA_TOPIC
from minikafka.simulation.processes import CONTROLLER_PORT
from minikafka.wire.errors import Error
from minikafka.wire.messages import (
    API,
    decode_response,
    encode_request,
)
from tests.simulation.replication_schedules import QUICK


class Stranger:
    """Somebody who reaches the nodes' listener of a cluster, and knows all that one can
    know.
    """

    name, state, silent = "stranger", "up", False

    def __init__(self, **configs):
        self.asked = 0
        self.cluster = Cluster(brokers=3, seed=2, configs=QUICK | configs)
        self.cluster.create_topic("orders", partitions=1, replication_factor=3)
        self.cluster.run(seconds=2)
        self.leader = self.broker(1).quorum.leader_id
        self.one, self.other = {1, 2, 3} - {self.leader}

    def broker(self, node):
        return self.cluster.brokers[node].broker

    @property
    def active(self):
        return self.broker(self.leader)

    @property
    def epoch(self):
        return self.active.quorum.epoch

    def ask(self, node, api, version=None, **body):
        """The answer, or None if the connection was closed."""
        version = API[api].max_version if version is None else version
        self.got, network = [], self.cluster.network
        self.asked += 1
        link = network.connect(
            self, f"{self.name} #{self.asked}", (f"broker-{node}", CONTROLLER_PORT)
        )
        network.request(link, encode_request(api, version, 1, "stranger", body))
        self.cluster.run_until(lambda: bool(self.got))
        network.close(link, by_caller=True)
        return self.got[0] and decode_response(api, version, self.got[0])[1]

    def reply(self, link, frame):
        self.got.append(frame)

    def lost(self, link):
        self.got.append(None)

    def of_quorum(
        self,
        node,
        api,
        field="topic_name",
        number="partition_index",
        at=0,
        more=None,
        **partition,
    ):
        """The error of a request of the quorum: of the whole, or of its partition."""
        body = {
            "cluster_id": self.active.cluster_id,
            "topics": [{field: METADATA_TOPIC, "partitions": [partition]}],
        }
        partition[number] = at
        if api in ("Vote", "BeginQuorumEpoch"):
            body["voter_id"] = node
        answer = self.ask(node, api, **body | (more or {}))
        return Error(
            answer.error_code or answer.topics[0].partitions[0].error_code
        ).name

    def said(self, node):
        """What a broker says of itself when it registers."""
        fields = self.active.image.brokers[node].fields
        of = (
            node,
            b"another run".ljust(16),
            fields["log_dirs"],
            self.broker(node).config.advertised,
        )
        asked = registration.fields(*of) | {"cluster_id": self.active.cluster_id}
        return asked | {"previous_broker_epoch": -1}

    def registered(self, **changes):
        """The error of a registration."""
        asked = self.said(self.one) | changes
        return Error(
            self.ask(self.leader, "BrokerRegistration", **asked).error_code
        ).name

    def takes_a_write(self):
        producer = self.cluster.producer(acks="all")
        future = producer.send("orders", value="x")
        self.cluster.run(seconds=10)
        return future.succeeded()

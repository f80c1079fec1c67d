"""What only the active controller decides, asked of a broker that isn't it: passed on,
and refused item by item where nobody decides (KIP-590).
"""

import pytest

from minikafka import Cluster
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.messages import decode_response, encode_request

NEW = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in "ab"]
SET = {"name": "retention.ms", "value": "5"}
OF_TOPIC = {"resource_type": 2, "resource_name": "a", "configs": [SET]}
OF_BROKER = {"resource_type": 4, "resource_name": "77", "configs": [SET]}
PLACES = [{"topic": "a", "partitions": [0, 1]}]
MOVED = [{"partition_index": number, "replicas": None} for number in (0, 1)]
TIMED_OUT = Error.REQUEST_TIMED_OUT


class Client:
    """Somebody who asks one broker of a simulated cluster."""

    name, state, silent = "client", "up", False

    def __init__(self, cluster, node):
        self.cluster, self.got, self.network = cluster, [], cluster.network
        address = (f"broker-{node}", 9092)
        self.link = self.network.connect(self, self.name, address)

    def ask(self, api, version, **body):
        self.got.clear()
        frame = encode_request(api, version, 1, "client", body)
        self.network.request(self.link, frame)
        self.cluster.run_until(lambda: bool(self.got))
        return decode_response(api, version, self.got[0])[1]

    def reply(self, link, frame):
        self.got.append(frame)

    def lost(self, link):
        raise AssertionError("the broker hung up")


@pytest.fixture
def alone():
    """A broker whose cluster has lost its controller, and can't have another."""
    cluster = Cluster(brokers=3, seed=5)
    cluster.run(seconds=2)
    cluster.crash(2)
    cluster.crash(3)
    cluster.run(seconds=5)
    return Client(cluster, 1)


def codes(items, field="error_code"):
    return [getattr(item, field) for item in items]


def test_each_topic_of_a_request_has_timed_out_without_a_controller(alone):
    created = alone.ask("CreateTopics", 7, topics=NEW)
    assert codes(created.topics, "name") == ["a", "b"]
    assert codes(created.topics) == [TIMED_OUT] * 2
    grown = [{"name": name, "count": 2, "assignments": None} for name in "ab"]
    assert codes(alone.ask("CreatePartitions", 3, topics=grown).results) == (
        [TIMED_OUT] * 2
    )
    gone = alone.ask("DeleteTopics", 5, topic_names=["a", "b"])
    assert codes(gone.responses) == [TIMED_OUT] * 2
    topic_id = bytes(range(16))
    named = [{"name": "a"}, {"name": None, "topic_id": topic_id}]
    gone = alone.ask("DeleteTopics", 6, topics=named)
    assert codes(gone.responses) == [TIMED_OUT] * 2
    assert codes(gone.responses, "topic_id") == [bytes(16), topic_id]


def test_each_partition_has_timed_out_without_a_controller(alone):
    for version in (0, 2):
        elected = alone.ask("ElectLeaders", version, topic_partitions=PLACES)
        [topic] = elected.replica_election_results
        assert codes(topic.partition_result) == [TIMED_OUT] * 2
    assert elected.error_code == TIMED_OUT
    topics = [{"name": "a", "partitions": MOVED}]
    reassigned = alone.ask("AlterPartitionReassignments", 1, topics=topics)
    assert reassigned.error_code == TIMED_OUT
    assert codes(reassigned.responses[0].partitions) == [TIMED_OUT] * 2


@pytest.mark.parametrize("api", ("AlterConfigs", "IncrementalAlterConfigs"))
def test_of_configs_what_is_not_passed_on_is_refused_all_the_same(alone, api):
    answer = alone.ask(api, 1, resources=[OF_TOPIC, OF_BROKER])
    assert codes(answer.responses) == [TIMED_OUT, Error.INVALID_REQUEST]


@pytest.mark.parametrize("api", ("AlterConfigs", "IncrementalAlterConfigs"))
def test_a_broker_checks_its_own_keystores_before_it_passes_a_change_on(api):
    """KIP-226, and whoever is the controller."""
    cluster = Cluster(brokers=3, seed=5)
    cluster.run(seconds=2)
    name = "listener.name.ssl.ssl.keystore.location"
    checked = []

    def check_stores(configs):
        checked.append(configs[name])
        if configs[name] == "bad":
            raise KafkaError(Error.INVALID_REQUEST, "it can't be used")

    for node, process in cluster.brokers.items():
        process.broker.config.check_stores = check_stores
        client = Client(cluster, node)
        for path, code in (("bad", Error.INVALID_REQUEST), ("good", Error.NONE)):
            config = {"name": name, "value": path}
            whose = {"resource_type": 4, "resource_name": str(node)}
            answer = client.ask(api, 1, resources=[whose | {"configs": [config]}])
            assert codes(answer.responses) == [code]
        cluster.run(seconds=1)
        assert process.broker.own_configs == {name: "good"}
    assert checked == ["bad", "good"] * 3


def test_a_coordinator_is_not_available_without_a_controller_at_once(alone):
    began_ms = alone.cluster.now_ms
    for kind in (0, 1):
        asked = {"coordinator_keys": ["a"], "key_type": kind}
        [found] = alone.ask("FindCoordinator", 4, **asked).coordinators
        assert found.error_code == Error.COORDINATOR_NOT_AVAILABLE
    assert alone.cluster.now_ms - began_ms < 1000


def test_nor_is_it_once_a_silent_controller_is_given_up():
    cluster = Cluster(brokers=3, seed=5)
    cluster.run(seconds=2)
    controller = cluster.brokers[1].broker.quorum.leader_id
    asked, other = {1, 2, 3} - {controller}
    client = Client(cluster, asked)
    cluster.freeze(controller)
    cluster.freeze(other)
    began_ms = cluster.now_ms
    [found] = client.ask("FindCoordinator", 4, coordinator_keys=["a"]).coordinators
    assert found.error_code == Error.COORDINATOR_NOT_AVAILABLE
    assert cluster.now_ms - began_ms < 10_000

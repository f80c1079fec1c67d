"""What lesson 09 says of a broker's place in a cluster: who is asked, who asks whom,
who leads. Three brokers of both kinds, each in a rack of its own.

Broker 1 is the only controller. The others write down what they are asked.
"""

import itertools
from contextlib import closing

import pytest
from kafka import KafkaProducer

from minikafka.wire.errors import Error
from tests.clients.brokers import overrides, until
from tests.conformance.raw import Connection
from tests.course.processes import (
    CLUSTER_ID,
    NOBODY,
    PATIENCE_SECONDS,
    PREFERRED,
    Minikafka,
    port_of,
    running,
    sent,
)
from tests.kafka import BOTH

pytestmark = [pytest.mark.nightly, pytest.mark.slow, pytest.mark.timeout(1200)]

NUMBERS = itertools.count()
ROLES = {1: "broker,controller", 2: "broker", 3: "broker"}
RACKS = {2: "b", 3: "c"}
NEAREST = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
REQUEST_LOG = "-Dorg.slf4j.simpleLogger.log.kafka.request.logger=debug"


@pytest.fixture(scope="module", params=BOTH)
def brokers(request):
    with running(request.param, ROLES, replica_selector_class=NEAREST) as nodes:
        nodes.kill(*RACKS)
        for number, rack in RACKS.items():
            place(nodes[number], rack)
        nodes.start(*RACKS)
        until(nodes.all_are_there)
        yield nodes


def place(node, rack):
    """In this rack from its next start on. What it is asked it writes down then."""
    if isinstance(node, Minikafka):
        node.trace = node.folder / "trace"
        node.command += ["--trace", str(node.trace)]
        node.command += overrides({"broker.rack": rack})
    else:
        node.trace = node.errors
        node.jvm = (*node.jvm, REQUEST_LOG)
        node.properties["broker.rack"] = rack


def fetches_of(follower, node):
    """How many Fetch requests of this follower the node has noted."""
    if isinstance(node, Minikafka):
        kind, asker = '"FollowerFetched"', f'"follower": {follower}'
    else:
        kind, asker = '"requestApiKeyName":"FETCH"', f'"broker-{follower}-fetcher-'
    lines = node.trace.read_text(errors="replace").splitlines()
    return sum(kind in line and asker in line for line in lines)


@pytest.fixture
def topic(brokers):
    name = f"orders-{next(NUMBERS)}"
    brokers.create(name, 2, 3)
    return name


def partitions(brokers, topic):
    [found] = brokers.ask("DescribeTopicPartitions", 0, topics=[{"name": topic}]).topics
    return found.partitions


def leaders(brokers, topic):
    return sorted(each.leader_id for each in partitions(brokers, topic))


def test_whichever_broker_is_asked_first_tells_a_producer_who_leads(brokers, topic):
    """Broker 2 leads. Broker 1 has no replica at all."""
    for offset, number in enumerate(ROLES):
        address = brokers[number].bootstrap
        with closing(KafkaProducer(bootstrap_servers=address)) as producer:
            assert sent(producer, topic, b"paid") == offset
    assert brokers.described(topic)[0] == 2


def test_a_follower_asks_its_leader_for_records_and_is_sent_none_unasked(
    brokers, topic
):
    """The leader notes the requests of its follower. The follower, which leads nothing,
    is asked for nothing.
    """
    before = fetches_of(3, brokers[2])
    with closing(brokers.producer(acks="all")) as producer:
        assert sent(producer, topic, b"paid") == 0
    until(lambda: fetches_of(3, brokers[2]) > before)
    assert fetches_of(2, brokers[3]) == 0


def test_kip_392_a_reader_in_the_rack_of_a_follower_is_sent_there_and_served(
    brokers, topic
):
    with closing(brokers.producer(acks="all")) as producer:
        assert sent(producer, topic, b"paid") == 0

    def preferred(rack):
        with Connection(brokers[2].bootstrap) as leader:
            return leader.fetch(topic, rack_id=rack).preferred_read_replica

    until(lambda: preferred("c") == 3)
    assert preferred("b") == NOBODY, "who is in the leader's rack stays there"
    with Connection(brokers[3].bootstrap) as follower:
        until(lambda: follower.fetch(topic).records)
        assert follower.fetch(topic).error_code == Error.NONE
    with Connection(brokers[1].bootstrap) as other:
        assert other.fetch(topic).error_code in (
            Error.NOT_LEADER_OR_FOLLOWER,
            Error.UNKNOWN_TOPIC_OR_PARTITION,
        )


def test_each_of_three_brokers_leads_one_of_three_partitions_until_one_of_them_dies(
    brokers,
):
    name = f"orders-{next(NUMBERS)}"
    wanted = {"name": name, "num_partitions": 3, "replication_factor": 3}
    brokers.ask("CreateTopics", 7, topics=[wanted], timeout_ms=60_000)
    until(lambda: leaders(brokers, name) == [1, 2, 3])
    for each in partitions(brokers, name):
        assert sorted(each.replica_nodes) == [1, 2, 3]
    brokers.kill(2)
    until(lambda: 2 not in leaders(brokers, name))
    assert sorted(map(leaders(brokers, name).count, (1, 3))) == [1, 2]
    brokers.start(2)
    until(lambda: all(2 in each.isr_nodes for each in partitions(brokers, name)))
    assert 2 not in leaders(brokers, name), "it follows until somebody asks for it"
    asked = [{"topic": name, "partitions": [0, 1, 2]}]
    brokers.ask(
        "ElectLeaders",
        2,
        election_type=PREFERRED,
        topic_partitions=asked,
        timeout_ms=PATIENCE_SECONDS * 1000,
    )
    until(lambda: leaders(brokers, name) == [1, 2, 3])


def test_kip_320_a_larger_leader_epoch_fences_who_knows_an_older_one(brokers, topic):
    first = brokers.partition(topic).leader_epoch
    brokers.kill(2)
    until(lambda: brokers.described(topic)[0] == 3)
    now = brokers.partition(topic).leader_epoch
    assert now > first
    with Connection(brokers[3].bootstrap) as leader:

        def told(epoch):
            return leader.fetch(topic, current_leader_epoch=epoch).error_code

        # a follower answers readers, too (KIP-392), until it hears that it leads
        until(lambda: told(first) != Error.NONE)
        assert told(first) == Error.FENCED_LEADER_EPOCH
        assert told(now + 1) == Error.UNKNOWN_LEADER_EPOCH
        assert told(now) == Error.NONE
    brokers.start(2)
    until(lambda: brokers.described(topic)[1] == [2, 3])


def test_kip_595_a_larger_controller_epoch_fences_who_asks_for_votes_in_an_older_one(
    brokers,
):
    node = brokers[1]
    port = (
        port_of(node.kept[1]) if isinstance(node, Minikafka) else node.controller_port
    )
    asked = {
        "partition_index": 0,
        "replica_epoch": 0,
        "replica_id": 2,
        "last_offset_epoch": 0,
        "last_offset": 0,
        "pre_vote": True,  # of a real one the epoch must be above the last record's
    }
    topics = [{"topic_name": "__cluster_metadata", "partitions": [asked]}]
    with Connection(f"127.0.0.1:{port}") as controller:
        answer = controller.ask(
            "Vote", 2, cluster_id=CLUSTER_ID, voter_id=1, topics=topics
        )
    [found] = answer.topics
    [told] = found.partitions
    assert (told.error_code, told.vote_granted) == (Error.FENCED_LEADER_EPOCH, False)
    assert told.leader_epoch > 0

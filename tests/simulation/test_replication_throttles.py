"""Replication throttles (KIP-73): replicas that catch up, by a reassignment (KIP-455) for
one, get no more bytes a second than the quota, and those in sync all they need.
"""

import pytest

from minikafka import Cluster
from minikafka.clients.errors import KafkaError
from tests.simulation.three_brokers import isr, sent

LEADER, FOLLOWER = "leader.replication.throttled", "follower.replication.throttled"
LIMIT = 200_000  # bytes a second
SMALL = {"replica.fetch.max.bytes": 20_000}
RECORD = "x" * 9_000
RECORDS = 440
SIZE = RECORDS * len(RECORD)  # 20 s at the limit


@pytest.fixture
def cluster():
    """Four brokers, and a topic of one replica with records."""
    cluster = Cluster(brokers=4, seed=5, configs=SMALL)
    cluster.create_topic("orders")
    fill(cluster)
    return cluster


def fill(cluster, topic="orders"):
    producer = cluster.producer()
    for _ in range(RECORDS):
        producer.send(topic, value=RECORD, partition=0)
    producer.flush()


def reassign(cluster, *replicas, topic="orders"):
    """replicas: those that the partition is to have; none: it stays as it was."""
    part = {"partition_index": 0, "replicas": list(replicas) or None}
    topics = [{"name": topic, "partitions": [part]}]
    body = {"timeout_ms": 30_000, "topics": topics}
    answer = cluster._topics._admin.ask("AlterPartitionReassignments", body)
    assert answer.responses[0].partitions[0].error_code == 0, answer


def throttle(cluster, limit=LIMIT, *roles, replicas="*", topic="orders"):
    """As kafka-reassign-partitions does it: the rate on each broker, the list at the
    topic; None takes both back.
    """
    roles = roles or (LEADER, FOLLOWER)
    for node in cluster.brokers:
        cluster.alter_configs(node, {f"{role}.rate": limit for role in roles})
    listed = None if limit is None else replicas
    cluster.alter_configs(topic, {f"{role}.replicas": listed for role in roles})


def new_ones(cluster, count=1, topic="orders"):
    """Brokers that have no replica."""
    replicas = cluster.partition(topic, 0).replicas
    return [node for node in cluster.brokers if node not in replicas][:count]


def size_on(cluster, node, topic="orders"):
    """The bytes of the partition that a broker has."""
    replica = cluster.brokers[node].broker.replicas.replicas.get((topic, 0))
    return replica.log.size_bytes if replica else 0


def seconds_until(cluster, condition, most=120):
    began_ms = cluster.now_ms
    cluster.run_until(condition, most)
    return (cluster.now_ms - began_ms) / 1000


def is_moved(cluster, *replicas, topic="orders"):
    return cluster.partition(topic, 0).replicas == tuple(replicas)


ROLES = [(LEADER,), (FOLLOWER,), (LEADER, FOLLOWER)]


@pytest.mark.parametrize("roles", ROLES, ids=["leader", "follower", "both"])
def test_kip_73_a_reassignment_moves_as_many_bytes_a_second_as_the_quota_says(
    cluster, roles
):
    throttle(cluster, LIMIT, *roles)
    [new] = new_ones(cluster)
    reassign(cluster, new)
    seconds = seconds_until(cluster, lambda: is_moved(cluster, new))
    assert SIZE / seconds == pytest.approx(LIMIT, rel=0.2)
    assert len(cluster.records("orders")) == RECORDS


def test_kip_73_two_new_replicas_share_their_leaders_quota(cluster):
    throttle(cluster, LIMIT, LEADER)
    [old] = cluster.partition("orders", 0).replicas
    new = new_ones(cluster, 2)
    reassign(cluster, old, *new)
    seconds = seconds_until(cluster, lambda: len(isr(cluster)) == 3)
    assert 2 * SIZE / seconds == pytest.approx(LIMIT, rel=0.2)


def test_without_a_throttle_a_reassignment_is_over_at_once(cluster):
    [new] = new_ones(cluster)
    reassign(cluster, new)
    assert seconds_until(cluster, lambda: is_moved(cluster, new)) < 5


LONG = "9" * 5000


@pytest.mark.parametrize(
    "listed", ["", "0:9,7:1", "1:1,,1:2,1:3,1:4,", f"0:{LONG},{LONG}:1"]
)
def test_kip_73_a_replica_that_no_list_names_is_not_throttled(cluster, listed):
    throttle(cluster, 1, replicas=listed)
    [new] = new_ones(cluster)
    reassign(cluster, new)
    assert seconds_until(cluster, lambda: is_moved(cluster, new)) < 5


def test_kip_73_the_lists_name_the_leader_and_the_follower_by_partition_and_broker(
    cluster,
):
    [old] = cluster.partition("orders", 0).replicas
    [new] = new_ones(cluster)
    for role, node in ((LEADER, old), (FOLLOWER, new)):
        throttle(cluster, None)
        throttle(cluster, LIMIT, role, replicas=f"7:{node},00:0{node}")
        reassign(cluster, new)
        seconds = seconds_until(cluster, lambda: is_moved(cluster, new))
        assert SIZE / seconds == pytest.approx(LIMIT, rel=0.2), role
        throttle(cluster, None)
        reassign(cluster, old)
        cluster.run_until(lambda: is_moved(cluster, old), 30)


@pytest.mark.parametrize("role", [LEADER, FOLLOWER])
def test_kip_73_replicas_in_sync_are_never_held_up(role):
    cluster = Cluster(brokers=3, seed=5)
    cluster.create_topic("orders", replication_factor=3)
    throttle(cluster, 1, role)
    for _ in range(20):
        began_ms = cluster.now_ms
        assert isinstance(sent(cluster, "x" * 20_000)[0], int)
        assert cluster.now_ms - began_ms < 500
    assert isr(cluster) == {1, 2, 3}
    assert not [event for event in cluster.trace if event.kind == "IsrShrunk"]


def test_kip_73_the_bytes_of_replicas_in_sync_count(cluster):
    """They leave nothing of the quota for a replica that catches up."""
    cluster.create_topic("payments", replication_factor=4)
    producer = cluster.producer(acks="all")
    leader = cluster.leader("orders")
    throttle(cluster, LIMIT, LEADER)
    throttle(cluster, LIMIT, LEADER, topic="payments")
    move(cluster, "payments", leader)
    [new] = new_ones(cluster)
    reassign(cluster, new)
    for _ in range(40):
        for _ in range(20):
            producer.send("payments", value=RECORD)
        producer.flush()
        cluster.run(seconds=0.5)
    assert size_on(cluster, new) < SIZE / 4
    cluster.run_until(lambda: is_moved(cluster, new), 60)


def move(cluster, topic, leader):
    """To be led by this broker."""
    replicas = cluster.partition(topic, 0).replicas
    order = [leader, *(node for node in replicas if node != leader)]
    reassign(cluster, *order, topic=topic)
    partitions = [{"topic": topic, "partitions": [0]}]
    body = {"election_type": 0, "topic_partitions": partitions, "timeout_ms": 30_000}
    cluster._topics._admin.ask("ElectLeaders", body)
    cluster.run_until(lambda: cluster.leader(topic) == leader, 30)


@pytest.mark.parametrize("role", [LEADER, FOLLOWER])
def test_kip_73_without_its_throttle_a_reassignment_goes_on_at_full_speed(
    cluster, role
):
    [new] = new_ones(cluster)
    throttle(cluster, 1000, role)
    reassign(cluster, new)
    cluster.run(seconds=20)
    assert size_on(cluster, new) < SIZE / 10
    throttle(cluster, None, role)
    assert seconds_until(cluster, lambda: is_moved(cluster, new)) < 5


@pytest.mark.parametrize("role", [LEADER, FOLLOWER])
def test_kip_73_another_rate_counts_from_then_on(cluster, role):
    """For the windows before, too: what had to wait may come at once, as far as it is
    in them.
    """
    [new] = new_ones(cluster)
    throttle(cluster, 1000, role)
    reassign(cluster, new)
    cluster.run(seconds=20)
    throttle(cluster, LIMIT, role)
    seconds = seconds_until(cluster, lambda: is_moved(cluster, new))
    assert SIZE / LIMIT - 12 < seconds < SIZE / LIMIT * 1.2


@pytest.mark.parametrize("role, most", [(LEADER, 20), (FOLLOWER, 2)])
def test_kip_73_a_throttled_follower_asks_every_half_second_or_not_at_all(
    cluster, role, most
):
    [new] = new_ones(cluster)
    throttle(cluster, 10, role)
    reassign(cluster, new)
    cluster.run(seconds=5)
    fetcher, asked = cluster.brokers[new].broker.fetcher, []
    ask_node = fetcher._ask_node

    def ask(node, lane, *request):
        asked.append(node)
        ask_node(node, lane, *request)

    fetcher._ask_node = ask
    cluster.run(seconds=10)
    assert len(asked) <= most


def test_kip_455_a_throttled_reassignment_can_be_taken_back(cluster):
    before = cluster.partition("orders", 0)
    [new] = new_ones(cluster)
    throttle(cluster, 1000)
    reassign(cluster, new)
    cluster.run(seconds=5)
    assert new in cluster.partition("orders", 0).replicas
    reassign(cluster)
    cluster.run(seconds=1)
    after = cluster.partition("orders", 0)
    assert (after.replicas, after.isr) == (before.replicas, before.isr)
    assert not after.is_reassigning
    assert size_on(cluster, new) == 0
    throttle(cluster, None)
    reassign(cluster, new)
    assert seconds_until(cluster, lambda: is_moved(cluster, new)) < 5


def test_kip_860_while_replicas_are_added_the_factor_is_the_one_to_come(cluster):
    [old] = cluster.partition("orders", 0).replicas
    new = new_ones(cluster, 2)
    throttle(cluster, 1000)
    reassign(cluster, old, *new)
    told = []
    for replicas in ([old], [old, new[0]], [*new, old]):
        part = {"partition_index": 0, "replicas": replicas}
        body = {
            "timeout_ms": 30_000,
            "allow_replication_factor_change": False,
            "topics": [{"name": "orders", "partitions": [part]}],
        }
        answer = cluster._topics._admin.ask("AlterPartitionReassignments", body)
        told.append(answer.responses[0].partitions[0].error_message)
    words = "The replication factor is changed from 3 to"
    assert told == [f"{words} 1", f"{words} 2", None]


@pytest.mark.parametrize(
    "value", ["x", "0", "0:", ":1", "0:1;1:2", "*,0:1", "-1:1", "\u0663:1"]
)
def test_kip_73_a_list_that_is_none_is_refused(cluster, value):
    for role in (LEADER, FOLLOWER):
        with pytest.raises(KafkaError) as refused:
            cluster.alter_configs("orders", {f"{role}.replicas": value})
        assert "[partitionId]:[brokerId],[partitionId]:[brokerId],..." in str(
            refused.value
        )


def test_the_windows_of_the_quota_can_be_set():
    """In one window of 20 s a replica gets 20 s' worth at once."""
    window = {
        "replication.quota.window.num": 2,
        "replication.quota.window.size.seconds": 20,
    }
    cluster = Cluster(brokers=2, seed=5, configs=SMALL | window)
    cluster.create_topic("orders")
    fill(cluster)
    [new] = new_ones(cluster)
    throttle(cluster, LIMIT)
    reassign(cluster, new)
    assert seconds_until(cluster, lambda: is_moved(cluster, new)) < 5

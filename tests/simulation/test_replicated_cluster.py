"""Three brokers on a virtual clock: what replication, failover and the quorum promise, statement by statement."""

import pytest

from minikafka import Cluster
from minikafka.clients.errors import KafkaError
from tests.simulation.replication_schedules import QUICK, contents


def three(min_insync_replicas=2, seed=3, **more):
    cluster = Cluster(brokers=3, seed=seed, configs=QUICK | more)
    cluster.create_topic("orders", replication_factor=3, configs={"min.insync.replicas": min_insync_replicas})
    return cluster


def isr(cluster, topic="orders"):
    return set(cluster._topics._described(topic, 0).isr)


def followers(cluster):
    return sorted({1, 2, 3} - {cluster.leader("orders")})


def sent(cluster, *values, seconds=10, **config):
    """What became of each: its offset, or the name of the error."""
    futures = [cluster.producer(acks="all", **config).send("orders", value=value) for value in values]
    cluster.run_until(lambda: all(future.is_done for future in futures), seconds)
    found = []
    for future in futures:
        try:
            found.append(future.get().offset)
        except KafkaError as error:
            found.append(error.error.name)
    return found


def kinds(cluster, kind):
    return [event for event in cluster.trace if event.kind == kind]


def test_every_replica_has_what_was_acknowledged():
    cluster = three()
    assert sent(cluster, "a", "b") == [0, 1]
    for process in cluster._brokers.values():
        replica = process.broker.replicas.find("orders", 0)
        assert [value for _, value in contents(replica, replica.log.log_end_offset)] == ["a", "b"]


def test_acks_all_waits_for_a_follower_until_it_is_out_of_the_isr():
    cluster = three()
    slow = followers(cluster)[0]
    cluster.freeze(slow)
    began = cluster.now_ms
    assert sent(cluster, "a") == [0]
    assert cluster.now_ms - began >= QUICK["broker.session.timeout.ms"] // 2
    assert isr(cluster) == {1, 2, 3} - {slow}
    cluster.thaw(slow)
    cluster.run_until(lambda: isr(cluster) == {1, 2, 3})
    assert kinds(cluster, "IsrShrunk") and kinds(cluster, "IsrExpanded")


def test_when_the_leader_crashes_an_in_sync_replica_leads_in_the_next_epoch_and_nothing_is_lost():
    cluster = three()
    assert sent(cluster, "a") == [0]
    leader = cluster.leader("orders")
    cluster.crash(leader)
    assert sent(cluster, "b", seconds=30) == [1]
    assert cluster.leader("orders") in {1, 2, 3} - {leader}
    assert [record.value for record in cluster.records("orders")] == [b"a", b"b"]
    elected = [event.detail for event in kinds(cluster, "LeaderElected") if event.detail["topic"] == "orders"]
    assert [detail["leader_epoch"] for detail in elected] == [1]


def test_kip_101_a_leader_that_was_replaced_drops_what_nobody_else_has():
    cluster = three()
    sent(cluster, "a")
    leader = cluster.leader("orders")
    for other in followers(cluster):
        cluster.cut(leader, other)
    lonely = cluster.producer(acks=1, client_id="lonely")
    for other in followers(cluster):
        cluster.cut("lonely", other)
    lost = lonely.send("orders", value="lost")
    cluster.run_until(lambda: lost.is_done, 10)
    assert lost.get().offset == 1
    one = cluster._brokers[followers(cluster)[0]].broker
    cluster.run_until(lambda: one.image.topics["orders"].partitions[0].leader != leader, 30)
    cluster.heal()
    assert sent(cluster, "b", seconds=30) == [1]
    cluster.run(seconds=5)
    replica = cluster._brokers[leader].broker.replicas.find("orders", 0)
    assert [value for _, value in contents(replica, replica.log.log_end_offset)] == ["a", "b"]
    assert [event.node for event in kinds(cluster, "LogTruncated")] == [f"broker {leader}"]


def test_below_min_insync_replicas_acks_all_is_refused_and_acks_1_is_not():
    cluster = three(min_insync_replicas=3)
    gone = followers(cluster)[0]
    cluster.crash(gone)
    cluster.run_until(lambda: gone not in isr(cluster), 30)
    assert sent(cluster, "a", retries=0) == ["NOT_ENOUGH_REPLICAS"]
    producer = cluster.producer(acks=1)
    future = producer.send("orders", value="b")
    cluster.run_until(lambda: future.is_done, 10)
    assert future.get().offset == 0


def test_kip_966_below_min_insync_replicas_nothing_new_counts():
    cluster = three(min_insync_replicas=3)
    gone = followers(cluster)[0]
    cluster.crash(gone)
    cluster.run_until(lambda: gone not in isr(cluster), 30)
    future = cluster.producer(acks=1).send("orders", value="a")
    cluster.run_until(lambda: future.is_done, 10)
    assert cluster.records("orders") == []
    cluster.restart(gone)
    cluster.run_until(lambda: gone in isr(cluster), 30)
    assert [record.value for record in cluster.records("orders")] == [b"a"]


def test_kip_595_without_its_controller_the_quorum_elects_another_and_topics_can_be_made():
    cluster = three()
    first = kinds(cluster, "ControllerElected")[-1]
    cluster.crash(int(first.node.split()[1]))
    cluster.create_topic("payments", replication_factor=2)
    second = kinds(cluster, "ControllerElected")[-1]
    assert second.node != first.node and second.detail["epoch"] > first.detail["epoch"]
    assert "payments" in cluster.topics()


def test_raft_a_controller_without_a_majority_resigns_and_decides_nothing():
    cluster = three()
    controller = int(kinds(cluster, "ControllerElected")[-1].node.split()[1])
    others = sorted({1, 2, 3} - {controller})
    for other in others:
        cluster.cut(controller, other)
    cluster.run_until(lambda: len(kinds(cluster, "ControllerElected")) == 2, 30)
    cluster.run_until(lambda: kinds(cluster, "ControllerResigned"), 30)
    assert [event.node for event in kinds(cluster, "ControllerResigned")] == [f"broker {controller}"]
    cluster.heal()
    cluster.run(seconds=3)
    assert {process.broker.quorum.leader_id for process in cluster._brokers.values()} <= set(others)


def test_a_groups_offsets_survive_its_coordinator():
    cluster = three()
    sent(cluster, "a", "b", "c")
    consumer = cluster.consumer("orders", group_id="billing", auto_offset_reset="earliest", enable_auto_commit=False)
    while not consumer.poll(timeout_ms=1000):
        pass
    consumer.commit()
    coordinator = cluster.leader("__consumer_offsets")
    cluster.crash(coordinator)
    cluster.run_until(lambda: cluster.leader("__consumer_offsets") not in (None, coordinator), 30)
    cluster.run(seconds=1)
    assert list(cluster.committed_offsets("billing").values()) == [3]


@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_seed_gives_the_same_trace(seed):
    def run():
        cluster = three(seed=seed)
        sent(cluster, "a")
        cluster.crash(cluster.leader("orders"))
        sent(cluster, "b", seconds=30)
        return [event.to_json() for event in cluster.trace]

    assert run() == run()

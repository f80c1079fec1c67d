"""DeleteRecords (KIP-107) with replicas: answered when every replica on a live broker
has forgotten the records.
"""

import pytest

from minikafka import Cluster
from minikafka.clients.errors import KafkaError
from tests.simulation.replication_schedules import QUICK
from tests.simulation.three_brokers import followers, isr, sent, three


def log_starts(cluster):
    """By broker, where its log of orders begins."""
    brokers = {
        node: process.broker
        for node, process in cluster.brokers.items()
        if process.broker is not None
    }
    return {
        node: broker.replicas.find_or_create("orders", 0).log.log_start_offset
        for node, broker in brokers.items()
    }


def test_when_the_answer_comes_all_replicas_have_forgotten():
    cluster = three()
    sent(cluster, *"abcd")
    assert cluster.delete_records("orders", 0, 3) == 3
    assert log_starts(cluster) == {1: 3, 2: 3, 3: 3}


def test_minus_one_forgets_up_to_the_high_watermark():
    cluster = three()
    sent(cluster, *"abcd")
    assert cluster.delete_records("orders", 0, -1) == 4
    assert log_starts(cluster) == {1: 4, 2: 4, 3: 4}


def test_a_live_replica_that_does_not_fetch_is_waited_for_until_it_is_fenced():
    cluster = three()
    sent(cluster, *"abcd")
    leader, (behind, other) = cluster.leader("orders"), followers(cluster)
    cluster.freeze(behind)
    asked_ms = cluster.now_ms
    assert cluster.delete_records("orders", 0, 2) == 2
    assert log_starts(cluster) == {leader: 2, other: 2, behind: 0}
    assert cluster.now_ms - asked_ms > int(QUICK["broker.session.timeout.ms"]) / 2
    cluster.thaw(behind)
    cluster.run_until(lambda: log_starts(cluster)[behind] == 2)


def test_a_replica_on_a_broker_that_is_down_is_not_waited_for():
    cluster = three()
    sent(cluster, *"abcd")
    down = followers(cluster)[0]
    cluster.crash(down)
    cluster.run_until(lambda: isr(cluster) == {1, 2, 3} - {down})
    assert cluster.delete_records("orders", 0, 2) == 2


def test_who_lives_and_does_not_fetch_lets_the_request_time_out():
    cluster = Cluster(
        brokers=3, seed=3, configs=QUICK | {"broker.session.timeout.ms": 600_000}
    )
    cluster.create_topic("orders", replication_factor=3)
    sent(cluster, *"abcd")
    cluster.cut(cluster.leader("orders"), followers(cluster)[0])
    with pytest.raises(KafkaError, match="REQUEST_TIMED_OUT"):
        cluster.delete_records("orders", 0, 2)


def test_a_broker_that_has_not_opened_its_logs_yet_leads_nothing_and_forgets_nothing():
    cluster = three()
    sent(cluster, *"abcd")
    leader = cluster.leader("orders")
    cluster.crash(leader)
    cluster.restart(leader)
    with pytest.raises(KafkaError, match="NOT_LEADER_OR_FOLLOWER"):
        cluster.delete_records("orders", 0, 3)
    cluster.run(seconds=10)
    assert log_starts(cluster) == {1: 0, 2: 0, 3: 0}

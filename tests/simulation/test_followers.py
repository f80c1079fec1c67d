"""What passes between leaders, their followers and the producers that wait for them."""

import pytest

from minikafka import Cluster
from tests.simulation.replication_schedules import QUICK, contents
from tests.simulation.three_brokers import followers, isr, sent, three


def test_kip_227_a_leader_without_room_for_sessions_has_followers_nevertheless():
    cluster = three(**{"max.incremental.fetch.session.cache.slots": 0})
    assert sent(cluster, "a", "b") == [0, 1]
    assert isr(cluster) == {1, 2, 3}


def test_a_leader_hears_where_a_follower_whose_retention_was_faster_begins():
    cluster = three(**{"log.retention.check.interval.ms": 10**9})
    cluster.alter_configs(
        "orders", {"retention.ms": 1000, "internal.segment.bytes": 100}
    )
    assert sent(cluster, "a", "b", "c") == [0, 1, 2]
    cluster.run(seconds=5)
    leader, follower = (
        cluster.brokers[node].broker
        for node in (cluster.leader("orders"), followers(cluster)[0])
    )
    follower.replicas.upkeep.clean_up(follower.now)
    begin = follower.replicas.find_or_create("orders", 0).log.log_start_offset
    assert begin > 0
    cluster.run(seconds=2)
    known = leader.replicas.find_or_create("orders", 0).followers[follower.node_id]
    assert known.log_start_offset == begin


@pytest.mark.parametrize("under_way", [5, 3])
def test_kip_98_no_more_batches_are_under_way_than_a_leader_recognises_however_many_leaders_there_are(
    under_way,
):
    """The old leader went without a word with some of them; the new one has them, and
    only remembers the last five.
    """
    cluster = Cluster(brokers=5, seed=3, configs=QUICK)
    cluster.create_topic(
        "orders", replication_factor=3, configs={"min.insync.replicas": 2}
    )
    cluster.create_topic("payments", 5, replication_factor=1)
    cluster.create_topic("refunds", replication_factor=3)
    old = cluster.leader("orders")
    slow, new = isr(cluster) - {old}
    producer = cluster.producer(acks="all", linger_ms=0)
    for partition in range(5):
        producer.send("payments", value="to have a connection", partition=partition)
    producer.send("orders", value="first")
    cluster.run(seconds=1)
    cluster.freeze(slow)
    futures = []
    for number in range(under_way):
        futures.append(producer.send("orders", value=str(number)))
        cluster.run_ms(20)
    assert not any(future.is_done for future in futures)
    cluster.crash(old, silent=True)
    cluster.run_until(lambda: cluster.leader("orders") == new, 20)
    cluster.thaw(slow)
    cluster.run_until(lambda: isr(cluster) == {slow, new}, 20)
    producer.send(
        "refunds", value="whose leader it has to ask for, and so hears of the new one"
    )
    for number in range(under_way, 12):
        futures.append(producer.send("orders", value=str(number)))
        cluster.run_ms(100)
    cluster.run_until(lambda: all(future.is_done for future in futures), 60)
    assert [future.get().offset for future in futures] == list(range(1, 13))
    replica = cluster.brokers[cluster.leader("orders")].broker.replicas.find_or_create(
        "orders", 0
    )
    written = [value for _, value in contents(replica, replica.high_watermark)]
    assert written == ["first", *(str(number) for number in range(12))]

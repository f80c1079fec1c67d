"""Three brokers on a virtual clock: what replication, failover and the quorum promise,
statement by statement.
"""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from minikafka import Cluster
from minikafka.broker.handlers import Handlers
from minikafka.broker.peers import REQUEST_TIMEOUT_MS
from minikafka.wire.errors import Error
from minikafka.wire.unpacking import Allowance
from tests.simulation.replication_schedules import QUICK, contents
from tests.simulation.three_brokers import followers, isr, kinds, leader_of, sent, three


def test_every_replica_has_what_was_acknowledged():
    cluster = three()
    assert sent(cluster, "a", "b") == [0, 1]
    for process in cluster.brokers.values():
        replica = process.broker.replicas.find_or_create("orders", 0)
        assert [
            value for _, value in contents(replica, replica.log.log_end_offset)
        ] == ["a", "b"]


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


def test_who_had_nothing_to_fetch_for_long_is_waited_for_as_long_as_anybody_when_it_falls_behind():
    """replica.lag.time.max.ms counts from the last fetch that asked for the leader's
    end, though nothing came of it.
    """
    lag_ms = 10_000
    cluster = three(
        **{"replica.lag.time.max.ms": lag_ms, "broker.session.timeout.ms": 600_000}
    )
    assert sent(cluster, "a") == [0]
    cluster.run(seconds=60)
    cluster.cut(cluster.leader("orders"), followers(cluster)[0])
    began_ms = cluster.now_ms
    assert sent(cluster, "b", seconds=60) == [1]
    assert (
        lag_ms - QUICK["replica.fetch.wait.max.ms"]
        <= cluster.now_ms - began_ms
        < 2 * lag_ms
    )
    assert len(isr(cluster)) == 2


def test_when_the_leader_crashes_an_in_sync_replica_leads_in_the_next_epoch_and_nothing_is_lost():
    cluster = three()
    assert sent(cluster, "a") == [0]
    leader = cluster.leader("orders")
    cluster.crash(leader)
    assert sent(cluster, "b", seconds=30) == [1]
    assert cluster.leader("orders") in {1, 2, 3} - {leader}
    assert [record.value for record in cluster.records("orders")] == [b"a", b"b"]
    elected = [
        event.detail
        for event in kinds(cluster, "LeaderElected")
        if event.detail["topic"] == "orders"
    ]
    assert [detail["leader_epoch"] for detail in elected] == [1]


def test_kip_497_the_isr_is_kept_in_the_order_in_which_its_leader_proposes_it():
    """At first it is that of the replicas, later of their ids."""
    cluster = three()
    topics = [f"topic-{number}" for number in range(6)]
    for name in topics:
        cluster.create_topic(name, replication_factor=3)
    replicas = {name: cluster.partition(name, 0).replicas for name in topics}
    assert {name: cluster.partition(name, 0).isr for name in topics} == replicas
    assert len(set(replicas.values())) > 1
    cluster.crash(3)
    cluster.run_until(lambda: all(len(isr(cluster, name)) == 2 for name in topics), 30)
    cluster.restart(3)
    cluster.run_until(lambda: all(len(isr(cluster, name)) == 3 for name in topics), 30)
    assert {cluster.partition(name, 0).isr for name in topics} == {(1, 2, 3)}


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
    one = cluster.brokers[followers(cluster)[0]].broker
    cluster.run_until(
        lambda: one.image.topics["orders"].partitions[0].leader != leader, 30
    )
    cluster.heal()
    assert sent(cluster, "b", seconds=30) == [1]
    cluster.run(seconds=5)
    replica = cluster.brokers[leader].broker.replicas.find_or_create("orders", 0)
    assert [value for _, value in contents(replica, replica.log.log_end_offset)] == [
        "a",
        "b",
    ]
    assert [event.node for event in kinds(cluster, "LogTruncated")] == [
        f"broker {leader}"
    ]


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
    assert [event.node for event in kinds(cluster, "ControllerResigned")] == [
        f"broker {controller}"
    ]
    cluster.heal()
    cluster.run(seconds=3)
    assert {
        process.broker.quorum.leader_id for process in cluster.brokers.values()
    } <= set(others)


def test_a_groups_offsets_survive_its_coordinator():
    cluster = three()
    sent(cluster, "a", "b", "c")
    consumer = cluster.consumer(
        "orders",
        group_id="billing",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    while not consumer.poll(timeout_ms=1000):
        pass
    consumer.commit()
    coordinator = cluster.leader("__consumer_offsets")
    cluster.crash(coordinator)
    cluster.run_until(
        lambda: cluster.leader("__consumer_offsets") not in (None, coordinator), 30
    )
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


def test_a_clean_stop_hands_over_first_so_that_nobody_waits_for_a_session_to_end():
    cluster = three()
    sent(cluster, "a")
    old, began = leader_of(cluster), cluster.now_ms
    cluster.stop(old)
    assert sent(cluster, "b") == [1]
    assert cluster.now_ms - began < QUICK["broker.session.timeout.ms"], (
        "a crash takes longer to notice"
    )
    cluster.run_until(lambda: kinds(cluster, "NodeShutDown"))
    assert not kinds(cluster, "BrokerFenced")
    assert (leader_of(cluster) == old, isr(cluster)) == (False, {1, 2, 3} - {old})
    cluster.restart(old)
    cluster.run_until(lambda: isr(cluster) == {1, 2, 3})


def test_a_clean_stop_that_stood_still_for_a_while_ends_when_it_goes_on():
    cluster = three()
    sent(cluster, "a")
    leaving = followers(cluster)[0]
    cluster.stop(leaving)
    cluster.run_ms(60)
    cluster.freeze(leaving)
    cluster.run(seconds=REQUEST_TIMEOUT_MS // 1000)
    cluster.thaw(leaving)
    cluster.run_until(lambda: kinds(cluster, "NodeShutDown"))
    assert isr(cluster) == {1, 2, 3} - {leaving}


def test_who_asks_for_a_coordinator_is_answered_by_a_broker_that_stops():
    """It waits for a controller that went without a word, and should make the topic of
    the committed offsets.
    """
    cluster = three(seed=5)
    controller = int(kinds(cluster, "ControllerElected")[-1].node.split()[1])
    member = cluster.consumer("orders", group_id="billing")
    cluster.crash(controller, silent=True)
    member.poll(timeout_ms=100)
    cluster.stop(min({1, 2, 3} - {controller}))
    cluster.run_until(lambda: kinds(cluster, "NodeShutDown"), 60)


def test_all_may_stop_at_once_and_whoever_was_in_sync_at_the_end_leads_again():
    cluster = three()
    sent(cluster, "a")
    for broker in (1, 2, 3):
        cluster.stop(broker)
    cluster.run_until(lambda: len(kinds(cluster, "NodeShutDown")) == 3)
    for broker in (1, 2, 3):
        cluster.restart(broker)
    cluster.run_until(
        lambda: all(each.broker.ready for each in cluster.brokers.values())
    )
    cluster.run_until(lambda: isr(cluster) == {1, 2, 3})
    assert sent(cluster, "b") == [1]


def test_who_lost_power_comes_back_behind_and_catches_up_before_it_counts():
    """KIP-966: its registration doesn't name the broker epoch of a clean stop, so it is
    out of ISR and ELR.
    """
    cluster = three()
    leader = leader_of(cluster)
    assert sent(cluster, *"abcdefgh") == list(range(8))
    cluster.crash(leader, power=True)
    cluster.run_until(lambda: leader_of(cluster) not in (leader, -1))
    cluster.restart(leader)
    cluster.run_until(lambda: isr(cluster) == {1, 2, 3})
    replica = cluster.brokers[leader].broker.replicas.find_or_create("orders", 0)
    assert [
        value for _, value in contents(replica, replica.log.log_end_offset)
    ] == list("abcdefgh")


def test_a_machine_that_went_without_a_word_is_followed_again_when_it_is_back():
    """Its followers wait for answers on connections that look well; nobody tells them
    but the time they have waited.
    """
    cluster = three(**{"leader.imbalance.check.interval.seconds": 1})
    first = cluster.partition("orders", 0).replicas[0]
    assert sent(cluster, "a") == [0]
    cluster.crash(first, power=True, silent=True)
    cluster.run_until(lambda: leader_of(cluster) not in (first, -1))
    cluster.restart(first)
    cluster.run_until(lambda: leader_of(cluster) == first, 60)
    cluster.run(seconds=REQUEST_TIMEOUT_MS // 1000)
    assert isr(cluster) == {1, 2, 3}
    assert sent(cluster, "b") == [1]


def test_the_first_replica_leads_again_after_a_while():
    """auto.leader.rebalance.enable."""
    cluster = three(**{"leader.imbalance.check.interval.seconds": 20})
    cluster.run(seconds=1)  # everybody has heard of the topic
    preferred = leader_of(cluster)
    cluster.crash(preferred)
    cluster.run_until(lambda: leader_of(cluster) != preferred)
    cluster.restart(preferred)
    cluster.run_until(lambda: leader_of(cluster) == preferred, 60)


def test_each_partition_has_a_replica_in_every_rack():
    racks = ("a", "a", "b", "b", "c", "c")
    cluster = Cluster(brokers=6, racks=racks, configs=QUICK)
    cluster.create_topic("orders", 6, replication_factor=3)
    for number in range(6):
        replicas = cluster.partition("orders", number).replicas
        assert {racks[broker - 1] for broker in replicas} == {"a", "b", "c"}


def test_a_new_leader_tells_the_latest_offset_when_it_knows_that_nothing_will_go_back():
    """KIP-207: until the high watermark has reached the beginning of its epoch."""
    cluster = three()
    sent(cluster, *"abcd")
    broker = cluster.brokers[followers(cluster)[0]].broker
    replica = broker.replicas.find_or_create("orders", 0)
    replica.high_watermark = 1  # it has not heard of more
    leads = {"leader": broker.node_id, "leader_epoch": 1, "partition_epoch": 9}
    replica.follow_image(replace(cluster.partition("orders", 0), **leads))
    request = SimpleNamespace(version=7, body=SimpleNamespace(isolation_level=0))
    asked = SimpleNamespace(partition_index=0, current_leader_epoch=-1, timestamp=-1)
    look_up = Handlers(broker).offsets.look_up
    answer = look_up(request, "orders", asked, Allowance())
    assert answer["error_code"] == Error.OFFSET_NOT_AVAILABLE
    for other in replica.partition.isr:
        replica.follower_fetched(other, 4, broker.now)
    assert look_up(request, "orders", asked, Allowance())["offset"] == 4


def test_kip_320_a_reader_does_not_go_back_to_a_leader_of_an_older_epoch():
    cluster = three()
    sent(cluster, "a")
    writer = cluster.producer(client_id="writer", request_timeout_ms=1000)
    reader = cluster.consumer(
        "orders",
        client_id="reader",
        auto_offset_reset="earliest",
        request_timeout_ms=1000,
    )
    leader, others, read = cluster.leader("orders"), followers(cluster), []

    def read_for(seconds):
        until_ms = cluster.now_ms + 1000 * seconds
        while cluster.now_ms < until_ms:
            read.extend(
                record.value
                for found in reader.poll(timeout_ms=500).values()
                for record in found
            )

    for lonely in (*others, "reader", "writer"):
        cluster.cut(leader, lonely)
    writer.send("orders", value="b")
    read_for(10)
    assert read == [b"a", b"b"]
    cluster.heal("reader", leader)
    for other in others:
        cluster.cut("reader", other)
    read_for(10)
    cluster.heal()
    writer.send("orders", value="c")
    read_for(10)
    assert read == [b"a", b"b", b"c"]

"""Who may lead when those in sync are gone (virtual clock): eligible leader replicas
(KIP-966), unclean elections.
"""

import pytest

from minikafka.broker.active_controller import ActiveController
from tests.simulation.replication_schedules import QUICK, contents
from tests.simulation.three_brokers import five, isr, kinds, leader_of, sent, three


def test_the_last_in_sync_replicas_are_eligible_and_nobody_else_leads():
    cluster, (first, second, last) = five()
    sent(cluster, "a")
    for broker in (first, second):
        cluster.crash(broker)
        cluster.run_until(lambda broker=broker: broker not in isr(cluster))
    partition = cluster.partition("orders", 0)
    assert (partition.isr, partition.eligible_leader_replicas, partition.leader) == (
        (last,),
        (second,),
        last,
    )
    asked = {"topics": [{"name": "orders"}], "response_partition_limit": 1}
    [told] = cluster.admin.ask("DescribeTopicPartitions", asked).topics[0].partitions
    assert (told.isr_nodes, told.eligible_leader_replicas, told.last_known_elr) == (
        [last],
        [second],
        [],
    )
    assert sent(cluster, "b", retries=0) == ["NOT_ENOUGH_REPLICAS"]
    cluster.crash(last)
    cluster.run_until(lambda: not isr(cluster))
    cluster.restart(first)
    cluster.run(seconds=10)
    assert leader_of(cluster) == -1, "it left the ISR while records counted"
    cluster.restart(last)
    cluster.run(seconds=10)
    assert leader_of(cluster) == -1, (
        "after kill -9 it may lack what was not on disk; the other eligible one may not"
    )
    cluster.restart(second)
    cluster.run_until(lambda: isr(cluster) == {first, second, last})
    assert leader_of(cluster) == last, (
        "of those that may all have lost something, who led last"
    )
    assert sent(cluster, "b") == [1]


def after_the_eligible_one_lost_power():
    """What is read of an acknowledged record when of its two replicas one lost power,
    and came back first.
    """
    cluster, (first, second, last) = five()
    cluster.crash(first)
    cluster.run_until(lambda: isr(cluster) == {second, last})
    assert sent(cluster, *"abcdefgh") == list(range(8))
    cluster.crash(second, power=True)
    cluster.run_until(lambda: isr(cluster) == {last})
    cluster.crash(last)
    cluster.run_until(lambda: not isr(cluster))
    cluster.restart(second)
    cluster.run(seconds=10)
    early = leader_of(cluster)
    cluster.restart(last)
    cluster.run_until(lambda: isr(cluster) >= {second, last})
    replica = cluster.brokers[last].broker.replicas.find_or_create("orders", 0)
    return early, [value for _, value in contents(replica, replica.log.log_end_offset)]


def test_kip_966_who_may_have_lost_records_waits_for_who_has_them():
    assert after_the_eligible_one_lost_power() == (-1, list("abcdefgh"))


def test_a_controller_that_believes_in_every_restart_would_be_noticed(monkeypatch):
    monkeypatch.setattr(ActiveController, "_was_clean", lambda self, asked, known: True)
    assert after_the_eligible_one_lost_power() != (-1, list("abcdefgh"))


@pytest.mark.parametrize("seed", [14, 29])
def test_kip_966_who_is_silent_together_is_fenced_together_so_that_none_of_the_dead_leads_last(
    seed,
):
    """To a new controller all sessions begin when it does. Apache Kafka fences one
    after the other: there `second`, dead as it is, leads when `first` is fenced, is the
    last leader then, and leads again without what it lost.
    """
    cluster, (first, second, last) = five([seed])
    assert sent(cluster, *"abcdefgh") == list(range(8))
    cluster.stop(last)
    cluster.run_until(lambda: isr(cluster) == {first, second})
    cluster.crash(second, power=True)
    for broker in {1, 2, 3, first} - {second, last}:
        cluster.crash(broker)
    for broker in {1, 2, 3} - {first, second, last}:
        cluster.restart(broker)
    cluster.run(seconds=5)
    partition = cluster.partition("orders", 0)
    assert (partition.last_known_elr, partition.leader_epoch) == ((first,), 1)
    for broker in (second, first, last):
        cluster.restart(broker)
    cluster.run_until(lambda: isr(cluster) == {first, second, last})
    replica = cluster.brokers[second].broker.replicas.find_or_create("orders", 0)
    assert [
        value for _, value in contents(replica, replica.log.log_end_offset)
    ] == list("abcdefgh")


def test_kip_631_a_node_that_leads_the_quorum_waits_for_the_session_of_its_own_last_run_too():
    cluster = three()
    assert sent(cluster, *"abcd") == list(range(4))
    for broker in (1, 2, 3):
        cluster.crash(broker)
    for broker in (1, 2, 3):
        cluster.restart(broker)
    cluster.run(seconds=10)
    elected_ms = kinds(cluster, "ControllerElected")[-1].at
    fenced = kinds(cluster, "BrokerFenced")
    assert {event.detail["broker"] for event in fenced} == isr(cluster) == {1, 2, 3}
    assert {event.at - elected_ms for event in fenced} == {
        QUICK["broker.session.timeout.ms"]
    }
    assert sent(cluster, "e") == [4]


def test_a_topic_may_prefer_to_lose_records_to_being_away():
    cluster, (first, second, last) = five(
        **{"leader.imbalance.check.interval.seconds": 5}
    )
    cluster.alter_configs("orders", {"min.insync.replicas": 1})
    for broker in (second, last):
        cluster.crash(broker)
    cluster.run_until(lambda: isr(cluster) == {first})
    assert sent(cluster, "lost") == [0]
    cluster.crash(first)
    for broker in (second, last):
        cluster.restart(broker)
    cluster.run(seconds=10)
    assert leader_of(cluster) == -1
    cluster.alter_configs("orders", {"unclean.leader.election.enable": "true"})
    cluster.run_until(lambda: leader_of(cluster) in (second, last), 20)
    assert sent(cluster, "new") == [0], "the offset is given a second time"
    cluster.restart(first)
    cluster.run_until(lambda: isr(cluster) == {first, second, last})
    replica = cluster.brokers[first].broker.replicas.find_or_create("orders", 0)
    assert [value for _, value in contents(replica, replica.log.log_end_offset)] == [
        "new"
    ]

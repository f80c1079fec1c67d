"""Disks that flip bits or lose them, under a replicated cluster (virtual clock): what is damaged spreads to nobody, and
every acknowledged record stays readable while another replica has it.
"""

import pytest

from minikafka.storage.segment import LOG, file_name
from tests.simulation.replication_schedules import contents
from tests.simulation.three_brokers import followers, isr, sent, three

LOG_FILE = f"orders-0/{file_name(0, LOG)}"
HEADER = {
    "offset": 7,
    "a far offset": 0,
    "length": 11,
    "epoch": 15,
    "magic": 16,
    "crc": 20,
    "a value": 67,
    "the next offset": 75,
}
VALUES = [f"value {number}" for number in range(10)]


def flip(cluster, node, at, path=LOG_FILE):
    cluster._brokers[node].disk.open(path, create=False).data[at] ^= 1


def size_of(cluster, node, path=LOG_FILE):
    return cluster._brokers[node].disk.open(path, create=False).size


def replica_of(cluster, node):
    return cluster._brokers[node].broker.replicas.find("orders", 0)


def values_of(cluster, node):
    replica = replica_of(cluster, node)
    return contents(replica, replica.log.log_end_offset)


def in_order(values):
    return [*enumerate(values)]


def stopped(cluster, node):
    cluster.stop(node)
    cluster.run_until(lambda: cluster._brokers[node].state == "down")


def read_from_start(cluster):
    consumer = cluster.consumer("orders", auto_offset_reset="earliest")
    polled = consumer.poll(timeout_ms=5000).values()
    return [
        (each.offset, each.value.decode()) for records in polled for each in records
    ]


def told(capsys):
    return [line for line in capsys.readouterr().err.splitlines() if line]


def is_healed(cluster):
    """All in sync, and with logs of one length."""

    def healed():
        ends = {replica_of(cluster, node).log.log_end_offset for node in (1, 2, 3)}
        return isr(cluster) == {1, 2, 3} and len(ends) == 1

    return healed


def written(**more):
    cluster = three(**more)
    assert sent(cluster, *VALUES) == list(range(10))
    return cluster


@pytest.mark.parametrize("what", HEADER)
def test_a_follower_refuses_what_its_leader_reads_damaged_and_another_leads(what):
    """A bit flips on the leader's disk while a follower is away; the follower comes back, and copies from there."""
    cluster = written()
    leader, (one, _) = cluster.leader("orders"), followers(cluster)
    stopped(cluster, one)
    at = size_of(cluster, leader)
    assert sent(cluster, *"abcdef") == list(range(10, 16))
    flip(cluster, leader, at + HEADER[what])
    cluster.restart(one)
    cluster.run_until(is_healed(cluster), 30)
    for node in (1, 2, 3):
        assert values_of(cluster, node) == in_order([*VALUES, *"abcdef"]), node
    assert cluster.leader("orders") != leader
    assert all(process.state == "up" for process in cluster._brokers.values())


@pytest.mark.parametrize("what", HEADER)
@pytest.mark.parametrize("which", ["leader", "follower"])
def test_a_bit_that_flips_while_a_broker_is_down_costs_no_record(what, which):
    cluster = written()
    leader, (one, _) = cluster.leader("orders"), followers(cluster)
    node = leader if which == "leader" else one
    stopped(cluster, node)
    flip(cluster, node, size_of(cluster, node) // 10 * 3 + HEADER[what])
    cluster.restart(node)
    cluster.run(seconds=3)
    cluster.run_until(is_healed(cluster), 30)
    for each in (1, 2, 3):
        assert values_of(cluster, each) == in_order(VALUES), each
    assert read_from_start(cluster) == in_order(VALUES)

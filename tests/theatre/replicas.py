"""Runs of three brokers for the pictures of replication, each a second or two of real
time, and a look at them.
"""

from functools import cache

import pytest

from minikafka import Cluster
from minikafka.theatre import picture
from minikafka.theatre.drawing import WIDE
from tests.simulation.replication_schedules import QUICK
from tests.simulation.three_brokers import five


def drawn_once(name, run):
    """A fixture: the picture of a run, once for all tests of a file."""
    return pytest.fixture(scope="module")(lambda: picture(name, run(), seed=3))


def first(pic, kind, words=""):
    return next(
        scene
        for scene in pic.scenes
        if scene["kind"] == kind and words in scene["sentence"]
    )


def shapes(pic, scene, width=WIDE):
    return pic.drawings(width)[scene["step"]].shapes


def three(seed=3, topic="orders", **configs):
    cluster = Cluster(brokers=3, seed=seed, configs=QUICK)
    cluster.create_topic(topic, replication_factor=3, configs=configs)
    return cluster


def leader_crashes_unheard(cluster, shop, topic="orders", key="alice"):
    """Two records are copied; the third one nobody fetches before its leader crashes.
    Returns the leader.
    """
    for value in ("created", "paid"):
        shop.send(topic, key=key, value=value)
        cluster.run_ms(300)
    leader = cluster.leader(topic)
    for other in {1, 2, 3} - {leader}:
        cluster.cut(leader, other)
    shop.send(topic, key=key, value="shipped")
    cluster.run_ms(5)
    cluster.crash(leader)
    cluster.run_ms(6000)
    return leader


def crash(acks, name="shop", topic="orders", key="alice", another="bob"):
    """The leader crashes with a record that nobody else has, and comes back when there
    is another leader.
    """
    with three(topic=topic) as cluster:
        shop = cluster.producer(acks=acks, client_id=name, linger_ms=0)
        leader = leader_crashes_unheard(cluster, shop, topic, key)
        shop.send(topic, key=another, value="created")
        cluster.run_ms(1000)
        cluster.heal()
        cluster.restart(leader)
        cluster.run_ms(6000)
        return tuple(cluster.trace)


@cache
def acks_1():
    return crash(1)


@cache
def acks_all():
    return crash("all")


@cache
def too_few_in_sync():
    """min.insync.replicas 3, and one broker freezes and goes on."""
    with three(**{"min.insync.replicas": "3"}) as cluster:
        shop = cluster.producer(client_id="shop", linger_ms=0, retries=0)
        shop.send("orders", key="alice", value="created")
        cluster.run_ms(500)
        cluster.freeze(3)
        cluster.run_ms(4000)
        shop.send("orders", key="alice", value="paid")
        cluster.run_ms(1000)
        cluster.thaw(3)
        cluster.run_ms(4000)
        return tuple(cluster.trace)


@cache
def cut_off():
    """The leader, which is the controller too, is cut off with one producer, and
    heals.
    """
    with three() as cluster:
        leader = cluster.leader("orders")
        lonely = cluster.producer(acks=1, client_id="lonely", linger_ms=0)
        lonely.send("orders", key="alice", value="created")
        cluster.run_ms(300)
        for other in {1, 2, 3} - {leader}:
            cluster.cut(leader, other)
            cluster.cut("lonely", other)
        lonely.send("orders", key="alice", value="paid")
        cluster.run_ms(6000)
        cluster.heal()
        cluster.run_ms(5000)
        return tuple(cluster.trace)


@cache
def stale():
    """The leader freezes while a producer knows it, and another leads when it goes
    on.
    """
    with three() as cluster:
        shop = cluster.producer(client_id="shop", linger_ms=0)
        shop.send("orders", key="alice", value="created")
        cluster.run_ms(500)
        leader = cluster.leader("orders")
        cluster.freeze(leader)
        cluster.run_ms(3000)
        cluster.thaw(leader)
        shop.send("orders", key="alice", value="paid")
        cluster.run_ms(4000)
        return tuple(cluster.trace)


@cache
def unclean():
    """acks=all with an ISR of the leader alone: it crashes, the others come back, and
    one of them is allowed to lead. Five brokers, so that there is always a controller.
    """
    cluster, replicas = five(**{"leader.imbalance.check.interval.seconds": 5})
    with cluster:
        cluster.alter_configs("orders", {"min.insync.replicas": 1})
        shop = cluster.producer(acks="all", client_id="shop", linger_ms=0)
        shop.send("orders", key="alice", value="created")
        cluster.run_ms(500)
        leader, *others = replicas
        for other in others:
            cluster.crash(other)
        cluster.run_ms(3000)
        shop.send("orders", key="alice", value="paid")
        cluster.run_ms(500)
        cluster.crash(leader)
        for other in others:
            cluster.restart(other)
        cluster.run_ms(3000)
        cluster.alter_configs("orders", {"unclean.leader.election.enable": "true"})
        cluster.run_ms(7000)
        shop.send("orders", key="bob", value="created")
        cluster.run_ms(500)
        cluster.restart(leader)
        cluster.run_ms(4000)
        return tuple(cluster.trace)

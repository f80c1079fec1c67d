"""At which moments may the leader of a partition fail? A run for each, with unclean
leader election on or off.
"""

from collections.abc import Sequence

from minikafka.course.experiments.lesson_09_runs import (
    ORDERS,
    TOPIC,
    acknowledged,
    loss,
)
from minikafka.faults import Crash, Fault, Freeze
from minikafka.simulation.cluster import Cluster
from minikafka.simulation.fault_map import NOTHING, FaultMap, Outcome, fault_map

LEADER, FOLLOWER = 3, 1  # with this seed
SEED = 7
BEGINS_MS = 5000
EVERY_S = 5  # from order to order
AWAY_MS, BACK_MS = 8000, 24_000  # of the follower
MINUTE_MS = 60_000  # that the leader is away
AFTER_S = 80
MOMENTS_MS = range(4000, 30_000, 1000)
FAULTS = (
    Crash(LEADER, restart_after_ms=MINUTE_MS),
    Crash(LEADER, restart_after_ms=MINUTE_MS, power=True),
    Freeze(LEADER, at_ms=0, for_ms=MINUTE_MS),
)
ALWAYS = {
    AWAY_MS: f"broker {FOLLOWER} freezes",
    BACK_MS: "it is back",
}  # what happens in every run


def whenever_the_leader_fails(unclean: bool, min_insync_replicas: int = 1) -> FaultMap:
    """Two replicas, and the follower is frozen for a while; the leader fails at one
    moment. unclean: whether a replica may lead that lacks committed records.
    """

    def run(plan: Sequence[Fault]) -> Cluster:
        return orders_while_the_follower_is_away(plan, unclean, min_insync_replicas)

    return fault_map(run, FAULTS, fared, MOMENTS_MS, keeps_traces=True)


def orders_while_the_follower_is_away(
    faults: Sequence[Fault], unclean: bool, min_insync_replicas: int = 1
) -> Cluster:
    """Five orders with acks=all, one every 5 s, and time for the leader to come
    back.
    """
    stands_still = Freeze(FOLLOWER, at_ms=AWAY_MS, for_ms=BACK_MS - AWAY_MS)
    cluster = Cluster(brokers=3, seed=SEED, faults=[stands_still, *faults])
    configs = {
        "min.insync.replicas": min_insync_replicas,
        "unclean.leader.election.enable": str(unclean).lower(),
    }
    cluster.create_topic(TOPIC, replication_factor=2, configs=configs)
    shop = cluster.producer(client_id="shop")
    cluster.run_ms(BEGINS_MS - cluster.now_ms)
    for number in range(ORDERS):
        shop.send(TOPIC, value=f"order {number}")
        cluster.run(seconds=EVERY_S)
    cluster.run(seconds=AFTER_S)
    return cluster


def fared(cluster: Cluster) -> Outcome:
    """The fate of the orders that were acknowledged."""
    worst = loss(cluster)
    if worst is not None:
        return worst
    if len(acknowledged(cluster)) < ORDERS:
        return Outcome("refused")
    return NOTHING

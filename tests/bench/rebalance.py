"""How long a rebalance of a large simulated group takes in real time, and how that
grows with members and partitions.

A stable group of n members gets one more; the time runs until the group is stable with
n + 1 and everybody has what the coordinator thinks. Clients, network, broker and
assignor together: all real frames, in one process.
"""

import statistics
import time

from minikafka import Cluster

PROTOCOLS = ("range", "cooperative-sticky", "consumer")
SIZES = ((50, 1000), (100, 1000), (200, 1000), (200, 500), (200, 250))
LARGEST = (200, 1000)
AIM_S = 2.0
BROKER = {"offsets.topic.num.partitions": 1, "group.consumer.assignment.interval.ms": 0}


def reads(consumer):
    while True:
        consumer.poll(timeout_ms=60_000)


class Group:
    """members on partitions. Nothing is produced: what is measured is the rebalance."""

    def __init__(self, members, partitions, protocol):
        self.protocol = protocol
        self.partitions = partitions
        self.cluster = Cluster(brokers=1, seed=7, configs=BROKER)
        self.cluster.create_topic("orders", partitions=partitions)
        self.consumers = []
        for _ in range(members):
            self.join()
        self.settle()

    def join(self):
        how = {"group_protocol": "consumer"}
        if self.protocol != "consumer":
            how = {"partition_assignment_strategy": self.protocol}
        consumer = self.cluster.consumer(
            "orders", group_id="billing", fetch_max_wait_ms=60_000, **how
        )
        self.consumers.append(consumer)
        self.cluster.start(reads, consumer)

    def settle(self):
        """Looked at every 50 virtual ms, so that looking takes no time worth
        counting.
        """
        while not self.settled():
            assert self.cluster.now_ms < 300_000, "the group never settled"
            self.cluster.run_ms(50)

    def settled(self):
        """Everybody has a share, together they have all."""
        sizes = [
            len(consumer.core.subscription.assigned) for consumer in self.consumers
        ]
        if min(sizes) == 0 or sum(sizes) != self.partitions:
            return False
        return self.cluster.group("billing").state == "Stable"

    def rebalance(self):
        """Real seconds from one more member to a settled group: the median of three."""
        seconds = []
        for _ in range(3):
            began = time.perf_counter()
            self.join()
            self.settle()
            seconds.append(time.perf_counter() - began)
        return statistics.median(seconds)


def measure():
    """{(protocol, members, partitions): seconds}, printed as they come."""
    found = {}
    for protocol in PROTOCOLS:
        for members, partitions in SIZES:
            group = Group(members, partitions, protocol)
            found[protocol, members, partitions] = seconds = group.rebalance()
            group.cluster.close()
            print(
                f"  {protocol:18} {members:4} members {partitions:5} partitions:"
                f" {seconds:.2f} s",
                flush=True,
            )
    return found


def table(found):
    """Time of the largest, and how much it grew from the smallest against how much
    members x partitions did.
    """
    lines = [
        f"rebalance of {LARGEST[0]} members on {LARGEST[1]} partitions, one more joins"
        f" (aim: under {AIM_S:g} s)"
    ]
    for protocol in PROTOCOLS:
        largest = found[protocol, *LARGEST]
        by_members = largest / found[protocol, 50, 1000]
        by_partitions = largest / found[protocol, 200, 250]
        lines.append(
            f"  {protocol:18} {largest:5.2f} s;  members x 4: time x {by_members:.1f};"
            f"  partitions x 4: time x {by_partitions:.1f}"
        )
    return "\n".join(lines)

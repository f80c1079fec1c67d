"""How far the core walks for what a cluster does: `python -m tests.bench.walks`.

Three walks of a simulated cluster of three brokers, counted with sys.setprofile: how
many functions of the core are called, and how often a call goes up to `NodeEvents`,
which tells the parts of a node. A simulation is the same each time, so two versions
differ by what was changed, and by nothing else.
"""

import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

from minikafka import Cluster
from minikafka.broker.broker import Broker

ROOMS = ("wire", "storage", "cluster", "coordinators", "broker")
CLIMBS = ("appended", "high_watermark_advanced", "placed", "removed")


class Walk:
    """calls: of functions of the core, by file and name."""

    def __init__(self):
        self.calls = Counter()

    @contextmanager
    def counted(self):
        sys.setprofile(self._step)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _step(self, frame, event, arg):
        if event != "call":
            return
        path = Path(frame.f_code.co_filename)
        if "minikafka" in path.parts and not set(path.parts).isdisjoint(ROOMS):
            self.calls[path.name, frame.f_code.co_name] += 1

    def __str__(self):
        climbs = sum(self.calls["node_events.py", name] for name in CLIMBS)
        return f"{self.calls.total()} calls, {climbs} climbs"


def three():
    cluster = Cluster(brokers=3, seed=7)
    cluster.create_topic("orders", partitions=1, replication_factor=3)
    cluster.run(seconds=5)
    return cluster


def leader(cluster):
    return cluster.leader("orders", 0)


def produce():
    """One record with acks=all: what the leader does with the request, and what all
    brokers do until it is acknowledged.
    """
    whole, received = Walk(), Walk()
    with three() as cluster:
        producer = cluster.producer(acks="all")
        producer.send("orders", value="before", partition=0).get()
        cluster.run(seconds=1)
        right = Broker.receive

        def receive(broker, connection, frame, now):
            is_produce = bytes(frame[:2]) == b"\x00\x00"
            if is_produce:
                sys.setprofile(received._step)
            right(broker, connection, frame, now)
            if is_produce:
                sys.setprofile(None)

        Broker.receive = receive
        producer.send("orders", value="x", partition=0).get()
        Broker.receive = right
        with whole.counted():
            producer.send("orders", value="y", partition=0).get()
    return {"produce, the leader's receive": received, "produce, in all": whole}


def death():
    """The leader dies: what the others do until there is another one."""
    walk = Walk()
    with three() as cluster:
        cluster.producer(acks="all").send("orders", value="x", partition=0).get()
        cluster.run(seconds=1)
        former = leader(cluster)
        cluster.crash(former)
        with walk.counted():
            cluster.run_until(lambda: leader(cluster) not in (former, None))
    return {"a death to a new leader": walk}


def commit():
    """A transaction of one partition: what the brokers do for its commit, and in the
    20 ms in which its markers are written.
    """
    walk = Walk()
    with three() as cluster:
        producer = cluster.producer(transactional_id="pay")
        producer.init_transactions()
        for number in range(2):
            producer.begin_transaction()
            producer.send("orders", value="x", partition=0).get()
            if number:
                with walk.counted():
                    producer.commit_transaction()
                    cluster.run(seconds=0.02)
            else:
                producer.commit_transaction()
                cluster.run(seconds=1)
    return {"a transaction's commit": walk}


def main():
    for name, walk in (produce() | death() | commit()).items():
        print(f"{name}: {walk}")


if __name__ == "__main__":
    main()

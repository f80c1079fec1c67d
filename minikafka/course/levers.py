"""Pictures with levers: the theatre's live controls on clusters of the simulation. Each change runs the same calls
again.
"""

from __future__ import annotations

from collections.abc import Sequence

from minikafka.simulation.cluster import Cluster
from minikafka.theatre import live
from minikafka.trace import Event


def partitioner(keys: str = "alice bob carol dave", partitions: int = 3, then: int = 4, seed: int = 7) -> live.Live:
    """The partitioner's machine: type keys, change the count before and after, choose the rule for records without a
    key.

    keys: words; `-` is a record without a key. partitions, then: the topic's partitions at first, and after it grew.
    """

    def rerun(keys: Sequence[str | None], counts: Sequence[int], rule: str) -> Sequence[Event]:
        before, after = counts
        with Cluster(seed=seed) as cluster:
            cluster.create_topic("orders", partitions=before)
            shop = cluster.producer(partitioner=rule, client_id="shop")
            for key in keys:
                shop.send("orders", key=key, value="created")
            cluster.run(seconds=1)
            if after > before:
                cluster.create_partitions("orders", after)
                cluster.run(seconds=300)  # until the producer has noticed
                for key in keys:
                    shop.send("orders", key=key, value="paid")
                cluster.run(seconds=1)
            return list(cluster.trace)

    return live.partitioner(rerun, keys=keys, partitions=partitions, then=then, seed=seed)

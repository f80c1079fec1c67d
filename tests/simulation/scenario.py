"""A busy run and the digest of its trace. As a script it prints the digest, to compare
processes and Pythons.
"""

import hashlib
import json
import sys
from pathlib import Path

# another Python runs this file, without the project installed
if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from minikafka.faults import Crash, Cut, Delay, Freeze, Lose
from minikafka.simulation.cluster import Cluster

FAULTS = [
    Lose("producer 1", "broker 1", "Produce", chance_percent=10, answer=True),
    Crash("broker 1", at_ms=2000, restart_after_ms=300),
    Cut("copy", "broker 1", at_ms=2500, for_ms=100),
    Cut("consumer 1", "broker 1", at_ms=3000, for_ms=200),
    Freeze("broker 1", at_ms=4000, for_ms=250),
    Delay("consumer 1", "broker 1", extra_ms=9, at_ms=1000, for_ms=1500),
    Crash("copy", at_ms=5000, restart_after_ms=400),
]


def copy(cluster, consumer, producer):
    for record in consumer:
        producer.send(
            "copies",
            key=record.key,
            value=record.value,
            headers=[("from", str(record))],
        )
        producer.flush()
        cluster.sleep(0.01)


def run(seed):
    cluster = Cluster(seed=seed, faults=FAULTS)
    cluster.create_topic("orders", partitions=4)
    cluster.create_topic(
        "copies", partitions=2, configs={"message.timestamp.type": "LogAppendTime"}
    )
    producer = cluster.producer(batch_size=300, linger_ms=3)
    reader = cluster.consumer(
        "orders", auto_offset_reset="earliest", max_poll_records=7
    )
    cluster.start(copy, cluster, reader, cluster.producer())
    for n in range(120):
        producer.send(
            "orders",
            key=None if n % 3 else f"customer {n % 11}",
            value={"n": n, "total": n * 1.25},
        )
        cluster.run(seconds=0.05)
    cluster.create_partitions("orders", 5)
    late = cluster.consumer("orders", "copies", auto_offset_reset="earliest")
    late.poll(timeout_ms=3000)
    for _ in late:
        pass
    return cluster


def lines(cluster):
    return [json.dumps(event.to_json(), sort_keys=True) for event in cluster.trace]


def digest(seed):
    with run(seed) as cluster:
        return hashlib.sha256("\n".join(lines(cluster)).encode()).hexdigest()


if __name__ == "__main__":
    print(digest(int(sys.argv[1])))

"""The current leader of a partition, for a client that was wrong about it (KIP-951):
answers to Produce, Fetch and share fetches name the leader and its address.
"""

from collections.abc import Iterable

from minikafka.broker.calls import Call
from minikafka.cluster.metadata import Image
from minikafka.cluster.waiting import Answer


def leader_named(node: int, epoch: int) -> dict[str, int]:
    """The fields of current_leader."""
    return {"leader_id": node, "leader_epoch": epoch}


def current_leader(image: Image, topic: str, number: int) -> dict[str, int]:
    """The fields that name a partition's current leader and its epoch."""
    partitions = image.topics[topic].partitions
    partition = partitions[number]
    return leader_named(partition.leader, partition.leader_epoch)


def leaders_named(
    image: Image, request: Call, answers: Iterable[Answer]
) -> list[Answer]:
    """Where to find the leaders that refused partitions are said to have."""
    named = set()
    for answer in answers:
        if "current_leader" in answer:
            named.add(answer["current_leader"]["leader_id"])
    nodes = []
    for node in sorted(named):
        known = image.brokers.get(node)
        if known is None or request.client.listener not in known.endpoints:
            continue
        host, port = known.endpoints[request.client.listener]
        nodes.append({"node_id": node, "host": host, "port": port, "rack": known.rack})
    return nodes

"""FindCoordinator (KIP-98, KIP-699): which broker coordinates a group or a transactional id.

Behaviour: the group's name chooses a partition of `__consumer_offsets`, a transactional id one of
`__transaction_state`, and whoever leads that partition is the coordinator. The topic is made when somebody asks for the
first time. Versions: 0 to 6; 1 adds the key type, 4 asks for many keys in one request, 6 adds share groups (refused).
"""

from __future__ import annotations

from minikafka.broker.calls import Broker, Call
from minikafka.clock import Now
from minikafka.cluster.metadata import NO_LEADER
from minikafka.cluster.waiting import Answer, Wait
from minikafka.coordinators.groups import partition_for
from minikafka.wire.errors import Error

GROUP, TRANSACTION = 0, 1


def handle(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    body = request.body
    kind = body.key_type if request.version >= 1 else GROUP
    keys = body.coordinator_keys if request.version >= 4 else [body.key]
    if kind not in (GROUP, TRANSACTION):
        return shaped(request, [refused(key, Error.INVALID_REQUEST, f"Unsupported key type {kind}") for key in keys])
    coordinator = broker.groups if kind == GROUP else broker.transactions

    def find(key: str) -> Answer:
        """The leader of the key's partition."""
        partitions = coordinator.topic.partitions if coordinator.topic else {}
        leader = partitions[partition_for(key, len(partitions))].leader if partitions else NO_LEADER
        if leader == NO_LEADER:
            return refused(key, Error.COORDINATOR_NOT_AVAILABLE, Error.COORDINATOR_NOT_AVAILABLE.message)
        host, port = broker.image.brokers[leader].endpoints[request.client.listener]
        found = {"key": key, "node_id": leader, "host": host, "port": port}
        return found | {"error_code": Error.NONE, "error_message": ""}

    def answer() -> Answer:
        return shaped(request, [find(key) for key in keys])

    if coordinator.topic is not None:
        return answer()
    return broker.control.create([coordinator.creation()], now, answer)


def refused(key: str, error: Error, message: str) -> Answer:
    return {"key": key, "error_code": error, "error_message": message, "node_id": -1, "host": "", "port": -1}


def shaped(request: Call, coordinators: list[Answer]) -> Answer:
    """One coordinator before version 4, many from there on."""
    if request.version >= 4:
        return {"coordinators": coordinators}
    return {name: value for name, value in coordinators[0].items() if name != "key"}

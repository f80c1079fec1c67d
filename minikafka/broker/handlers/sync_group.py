"""SyncGroup (KIP-62, KIP-559): a member asks for its share; the leader brings everybody's.

Behaviour: parked until the leader's assignment is committed. Versions: 0 to 5; 3 brings static members, 4 is flexible,
5 names protocol type and protocol, which must be the group's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minikafka.wire.errors import Error, KafkaError

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker
    from minikafka.broker.calls import Call
    from minikafka.clock import Now
    from minikafka.cluster.waiting import Wait

KEY, VERSIONS = 14, (0, 5)


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    if request.version >= 5 and None in (request.body.protocol_type, request.body.protocol_name):
        raise KafkaError(Error.INCONSISTENT_GROUP_PROTOCOL)
    return broker.groups.ask(
        request.body.group_id, lambda groups, wait, now: groups.sync(wait, request.body, now), now
    )


def refuse(request: Call, error: KafkaError) -> dict[str, Any]:
    return {"error_code": error.error, "assignment": b""}

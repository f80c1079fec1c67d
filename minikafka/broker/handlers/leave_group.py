"""LeaveGroup (KIP-345): members say goodbye, so that the others needn't wait for a session timeout.

Behaviour: the group rebalances at once. An admin may remove members of others, static ones by instance id alone.
Versions: 0 to 5; 3 names many members and answers each, 4 is flexible, 5 brings a reason (KIP-800).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minikafka.wire.errors import Error, KafkaError

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker
    from minikafka.broker.calls import Call
    from minikafka.clock import Now
    from minikafka.cluster.waiting import Wait

KEY, VERSIONS = 13, (0, 5)


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    return broker.groups.ask(
        request.body.group_id, lambda groups, *_: groups.leave(request.body, request.version), now
    )


def refuse(request: Call, error: KafkaError) -> dict[str, Any]:
    if error.error is not Error.UNKNOWN_MEMBER_ID or request.version < 3:
        return {"error_code": error.error}
    unknown = [
        {"member_id": each.member_id, "group_instance_id": each.group_instance_id, "error_code": error.error}
        for each in request.body.members
    ]
    return {"error_code": Error.NONE, "members": unknown}

"""DescribeGroups (KIP-43, KIP-345): classic groups, their state and members.

Behaviour: subscriptions are shown while the group is stable, shares always (the last ones). A group that is not there
reads as Dead; from version 6 on with GROUP_ID_NOT_FOUND (KIP-1043). Versions: 0 to 6; 3 adds authorized operations, 4
instance ids, 5 is flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minikafka.wire.errors import Error, KafkaError

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker
    from minikafka.broker.calls import Call
    from minikafka.clock import Now

KEY, VERSIONS = 15, (0, 6)

# AclOperation codes that a group knows: READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS.
GROUP_OPERATIONS = sum(1 << operation for operation in (3, 6, 8, 10, 11))
NOT_ASKED = -(2**31)


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any]:
    return {"groups": [describe(broker, request, group_id) for group_id in request.body.groups]}


def describe(broker: Broker, request: Call, group_id: str) -> dict[str, Any]:
    """One group, or its error."""
    try:
        found = broker.groups.state(group_id).describe_classic(group_id)
    except KafkaError as error:
        found = {"group_id": group_id, "error_code": error.error}
    if request.version < 6 and found.get("error_code") is Error.GROUP_ID_NOT_FOUND:
        del found["error_code"], found["error_message"]
    if request.version >= 3:
        asked = request.body.include_authorized_operations and not found.get("error_code")
        found["authorized_operations"] = GROUP_OPERATIONS if asked else NOT_ASKED
    return found

"""ConsumerGroupDescribe (KIP-848): groups of the consumer protocol, with each member's share now and in the end.

Behaviour: a classic group reads as GROUP_ID_NOT_FOUND; clients then try DescribeGroups. Versions: 0 and 1; 1 adds the
kind of each member.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minikafka.broker.handlers.describe_groups import GROUP_OPERATIONS, NOT_ASKED
from minikafka.wire.errors import KafkaError

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker
    from minikafka.broker.calls import Call
    from minikafka.clock import Now

KEY, VERSIONS = 69, (0, 1)


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any]:
    return {"groups": [describe(broker, request, group_id) for group_id in request.body.group_ids]}


def describe(broker: Broker, request: Call, group_id: str) -> dict[str, Any]:
    """One group, or its error."""
    try:
        found = broker.groups.state(group_id).describe_consumer(group_id)
    except KafkaError as error:
        found = {"group_id": group_id, "error_code": error.error, "error_message": error.message}
    asked = request.body.include_authorized_operations and not found.get("error_code")
    return found | {"authorized_operations": GROUP_OPERATIONS if asked else NOT_ASKED}

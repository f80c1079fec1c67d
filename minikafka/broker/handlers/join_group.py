"""JoinGroup (KIP-62, KIP-345, KIP-394, KIP-814): a member of a classic group wants to be in the next generation.

Behaviour: parked until all members have joined or the rebalance timeout is over; the leader's answer lists everybody
with their subscriptions. Versions: 0 to 9; 1 brings the rebalance timeout (0 uses the session timeout), 4 makes a new
member come twice, first to be given its id (KIP-394), 5 brings static members, 6 is flexible, 7 names the protocol
type, 8 the client's reason, 9 tells a static leader that came back not to assign.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minikafka.wire.errors import Error, KafkaError

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker
    from minikafka.broker.calls import Call
    from minikafka.clock import Now
    from minikafka.cluster.waiting import Wait

KEY, VERSIONS = 11, (0, 9)

NO_GENERATION = -1


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    body = request.body
    if request.version == 0:
        body.rebalance_timeout_ms = body.session_timeout_ms
    client = request.client.client_id or "", f"/{request.client.host}"

    return broker.groups.ask(
        body.group_id, lambda groups, wait, now: groups.join(wait, body, client, request.version, now), now
    )


def refuse(request: Call, error: KafkaError) -> dict[str, Any]:
    unforeseen = error.error is Error.UNKNOWN_SERVER_ERROR
    return shape(request, {"error_code": error.error, "member_id": "" if unforeseen else request.body.member_id})


def shape(request: Call, answer: dict[str, Any]) -> dict[str, Any]:
    """The fields that a refusal has no news about; before version 7 the protocol's name can't be null."""
    whole = {"generation_id": NO_GENERATION, "protocol_name": None, "leader": "", "members": []} | answer
    if request.version < 7:
        whole["protocol_name"] = whole["protocol_name"] or ""
    return whole

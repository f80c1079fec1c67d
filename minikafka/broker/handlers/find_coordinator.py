"""FindCoordinator (KIP-98, KIP-699): which broker coordinates a group or a transactional id.

Behaviour: this node, for every key: so a client that wants a group learns at once, from the absent JoinGroup, that
groups are not served yet. Versions: 0 to 6; 1 adds the key type, 4 asks for many keys in one request, 6 adds share
groups (refused).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minikafka.wire.errors import Error

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker, Call, Now

KEY, VERSIONS = 10, (0, 6)

GROUP, TRANSACTION = 0, 1


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any]:
    body = request.body
    host, port = broker.config.advertised[request.client.listener]
    found: dict[str, Any] = {
        "error_code": Error.NONE,
        "error_message": None,
        "node_id": broker.node_id,
        "host": host,
        "port": port,
    }
    if request.version >= 1 and body.key_type not in (GROUP, TRANSACTION):
        refused = {"error_code": Error.INVALID_REQUEST, "error_message": f"Unsupported key type {body.key_type}"}
        found = {**refused, "node_id": -1, "host": "", "port": -1}
    if request.version >= 4:
        return {"coordinators": [{"key": key, **found} for key in body.coordinator_keys]}
    return found

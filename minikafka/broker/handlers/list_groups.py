"""ListGroups (KIP-518, KIP-848): all groups that this node coordinates.

Behaviour: filters by state and by type ignore upper and lower case; a client asks every broker and puts the answers
together. Versions: 0 to 5; 3 is flexible, 4 filters by state, 5 by type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minikafka.wire.errors import Error

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker
    from minikafka.broker.calls import Call
    from minikafka.clock import Now

KEY, VERSIONS = 16, (0, 5)


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any]:
    states = {state.strip().lower() for state in (request.body.states_filter if request.version >= 4 else ())}
    types = {kind.strip().lower() for kind in (request.body.types_filter if request.version >= 5 else ())}
    found = [
        group
        for groups in broker.groups.loaded()
        for group in groups.listed()
        if (not states or group["group_state"].lower() in states) and (not types or group["group_type"] in types)
    ]
    return {"error_code": Error.NONE, "groups": found}

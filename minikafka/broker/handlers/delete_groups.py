"""DeleteGroups (KIP-229): groups and their committed offsets go.

Behaviour: only an empty group can be deleted (NON_EMPTY_GROUP). Each group has its own verdict. Versions: 0 to 2; 2 is
flexible.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from minikafka.cluster.waiting import Wait
from minikafka.wire.errors import Error

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker
    from minikafka.broker.calls import Call
    from minikafka.clock import Now
    from minikafka.coordinators.groups import Groups
    from minikafka.coordinators.runtime import Decision

KEY, VERSIONS = 42, (0, 2)


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    deletions = {
        group_id: broker.groups.ask(group_id, partial(delete, group_id), now)
        for group_id in dict.fromkeys(request.body.groups_names)
    }
    for deletion in deletions.values():
        deletion.then(lambda ended: broker.moved(ended, 1))

    def attempt(wait: Wait, now: Now, expired: bool) -> dict[str, Any] | None:
        if not expired and not all(deletion.is_done for deletion in deletions.values()):
            return None
        return {"results": [{"group_id": name, "error_code": verdict(each)} for name, each in deletions.items()]}

    return Wait(list(deletions.values()), attempt=attempt)


def delete(group_id: str, groups: Groups, *_: object) -> Decision:
    return groups.delete(group_id)


def verdict(deletion: Wait) -> Error:
    if deletion.error is not None:
        return deletion.error.error
    return Error.NONE if deletion.is_done else Error.COORDINATOR_NOT_AVAILABLE  # the node stops

"""Heartbeat (KIP-62, KIP-345): a member of a classic group says that it is alive.

Behaviour: answers REBALANCE_IN_PROGRESS while the group prepares a rebalance, which is how a member learns that it
must join again. While the coordinator still loads, a heartbeat is fine: nobody is thrown out meanwhile. Versions: 0 to
4; 3 adds GroupInstanceId for static members, 4 is flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minikafka.wire.errors import Error, KafkaError

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker
    from minikafka.broker.calls import Call
    from minikafka.clock import Now
    from minikafka.cluster.waiting import Wait

KEY, VERSIONS = 12, (0, 4)


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    return broker.groups.ask(request.body.group_id, lambda groups, *_: groups.heartbeat(request.body), now)


def refuse(request: Call, error: KafkaError) -> dict[str, Any]:
    return {"error_code": Error.NONE if error.error is Error.COORDINATOR_LOAD_IN_PROGRESS else error.error}

"""OffsetDelete (KIP-496): forget committed offsets of topics that a group no longer reads.

Behaviour: refused per topic with GROUP_SUBSCRIBED_TO_TOPIC while members read it. Version: 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minikafka.broker.handlers.offset_commit import merged, without_unknown

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker
    from minikafka.broker.calls import Call
    from minikafka.clock import Now
    from minikafka.cluster.waiting import Wait
    from minikafka.wire.errors import KafkaError

KEY, VERSIONS = 47, (0, 0)


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    body = request.body
    body.unknown = without_unknown(broker, body.topics)
    return broker.groups.ask(body.group_id, lambda groups, *_: groups.delete_offsets(body), now)


def shape(request: Call, answer: dict[str, Any]) -> dict[str, Any]:
    return answer | {"topics": merged(request.body.unknown, answer.get("topics", ()))}


def refuse(request: Call, error: KafkaError) -> dict[str, Any]:
    return shape(request, {"error_code": error.error})

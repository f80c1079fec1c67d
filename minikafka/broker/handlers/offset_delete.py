"""OffsetDelete (KIP-496): forget committed offsets of topics that a group no longer reads.

Behaviour: refused per topic with GROUP_SUBSCRIBED_TO_TOPIC while members read it. Version: 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minikafka.broker.handlers.offset_commit import merged, without_unknown

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker, Call
    from minikafka.clock import Now
    from minikafka.broker.waiting import Wait

KEY, VERSIONS = 47, (0, 0)


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    body = request.body
    results = without_unknown(broker, body.topics)
    return broker.groups.change(
        request,
        body.group_id,
        lambda groups, _: groups.delete_offsets(body),
        lambda error: {"error_code": error.error},
        now,
        lambda answer: answer | {"topics": merged(results, answer.get("topics", ()))},
    )

"""OffsetDelete (KIP-496): forget committed offsets of topics that a group no longer reads.

Behaviour: refused per topic with GROUP_SUBSCRIBED_TO_TOPIC while members read it. Version: 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minikafka.broker.handlers.offset_commit import failed, take_unknown
from minikafka.wire.errors import Error

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker, Call, Now
    from minikafka.broker.waiting import Wait

KEY, VERSIONS = 47, (0, 0)


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    body = request.body
    unknown = [failed(topic, take_unknown(broker, topic), Error.UNKNOWN_TOPIC_OR_PARTITION) for topic in body.topics]
    return broker.groups.change(
        request,
        body.group_id,
        lambda groups, _: groups.delete_offsets(body),
        lambda error: {"error_code": error.error},
        now,
        lambda answer: answer | {"topics": with_unknown(answer.get("topics", ()), unknown)},
    )


def with_unknown(answered: Any, unknown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The coordinator's answer and what it wasn't asked for."""
    return [topic for topic in (*answered, *unknown) if topic["partitions"]]

"""OffsetFetch (KIP-88, KIP-447, KIP-709): where groups go on reading.

Behaviour: a partition without a committed offset reads as -1, not as an error, and so does every partition of a group
that doesn't exist. Null topics mean all. RequireStable waits for open transactions, of which there are none here.
Versions: 1 to 9; 2 brings an error of its own, 5 leader epochs, 6 is flexible, 7 RequireStable, 8 asks for many groups
at once, 9 checks a member's epoch (KIP-848). (10 names topics by id.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minikafka.coordinators.offsets import NOTHING
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker
    from minikafka.broker.calls import Call
    from minikafka.clock import Now

KEY, VERSIONS = 9, (1, 9)

MANY_GROUPS = 8


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any]:
    if request.version >= MANY_GROUPS:
        return {"groups": [of_group(broker, group, request.version) for group in request.body.groups]}
    answer = of_group(broker, request.body, request.version)
    del answer["group_id"]
    if request.version < 2:
        del answer["error_code"]
    return answer


def of_group(broker: Broker, asked: Message, version: int) -> dict[str, Any]:
    """One group's offsets, or its error."""
    member = (asked.member_id, asked.member_epoch) if version >= 9 else (None, NOTHING)
    try:
        found = broker.groups.state(asked.group_id).fetch(asked, *member)
        return {"group_id": asked.group_id, "error_code": Error.NONE, **found}
    except KafkaError as error:
        topics = [failed(topic, error.error) for topic in asked.topics or ()] if version < 2 else []
        return {"group_id": asked.group_id, "error_code": error.error, "topics": topics}


def failed(topic: Any, error: Error) -> dict[str, Any]:
    """Version 1 has no error for the whole: every partition says it."""
    unknown = {"committed_offset": NOTHING, "metadata": "", "error_code": error}
    return {"name": topic.name, "partitions": [{"partition_index": n, **unknown} for n in topic.partition_indexes]}

"""DeleteTopics (KIP-4, KIP-516): topics go, by name or by id.

Behaviour: the topic is gone for all clients at once; its files are renamed first and removed in the background.
Versions: 1 to 6; 5 adds an error message, 6 names topics by id or name.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from minikafka.broker.calls import Broker, Call
from minikafka.clock import Now
from minikafka.cluster import controller
from minikafka.cluster.metadata import MetadataRecord, Topic
from minikafka.cluster.waiting import Wait
from minikafka.wire.errors import Error, KafkaError

NO_ID = bytes(16)


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    if request.version >= 6:
        asked = Counter((one.name, one.topic_id) for one in request.body.topics)
    else:
        asked = Counter((name, NO_ID) for name in request.body.topic_names)
    records: list[MetadataRecord] = []
    results: dict[bytes | tuple[str | None, bytes], dict[str, Any]] = {}
    for (name, topic_id), times in asked.items():
        try:
            topic = find(broker, name, topic_id, times)
        except KafkaError as error:
            result = {"name": name, "topic_id": topic_id, "error_code": error.error, "error_message": error.message}
            results[name, topic_id] = result
            continue
        result = {"name": topic.name, "topic_id": topic.topic_id, "error_code": Error.NONE, "error_message": None}
        if topic.topic_id in results:
            what = "The provided topic name maps to an ID that was already supplied."
            result |= {"error_code": Error.INVALID_REQUEST, "error_message": what}
        results[topic.topic_id] = result
    for result in results.values():
        if result["error_code"] == Error.NONE:
            records += controller.delete_topic(broker.image.topics[result["name"]])

    def answer() -> dict[str, Any]:
        if broker.trace:
            for result in results.values():
                if result["error_code"] == Error.NONE:
                    broker.trace.emit("TopicDeleted", topic=result["name"])
        return {"responses": list(results.values())}

    return broker.control.decide(records, now, answer)


def find(broker: Broker, name: str | None, topic_id: bytes, times: int) -> Topic:
    """The topic that is to go. times: how often the request names it this way."""
    if not broker.config["delete.topic.enable"]:
        raise KafkaError(Error.TOPIC_DELETION_DISABLED)
    if times > 1:
        raise KafkaError(Error.INVALID_REQUEST, f"Duplicate topic {'id' if name is None else 'name'}.")
    if name is None:
        if topic_id == NO_ID:
            raise KafkaError(Error.INVALID_REQUEST, "Neither topic name nor id were specified.")
        return broker.image.topic_by_id(topic_id)
    if topic_id != NO_ID:
        raise KafkaError(Error.INVALID_REQUEST, "You may not specify both topic name and topic id.")
    return broker.image.topic(name)

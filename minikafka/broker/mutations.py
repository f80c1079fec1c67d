"""The quota of changes through the controller (KIP-599): how many partitions a client
may create and delete a second.

It is measured by the broker that is asked, which knows the client, before the request
comes to the controller; Apache Kafka's controller measures, for all brokers together.
What is refused anyway (a topic that is there already) doesn't count. A topic that the
controller refuses for another reason does, where it doesn't in Apache Kafka.
"""

from typing import Any

from minikafka.broker.calls import Answered, Call
from minikafka.broker.config import BrokerConfig
from minikafka.broker.throttling import Mutations, Throttling
from minikafka.cluster.metadata import Image, Topic
from minikafka.cluster.waiting import Answer
from minikafka.wire.errors import Error

# From this version on a request that is too much is refused; in an older one it is
# carried out, and its client is not heard for a while.
STRICT = {"CreateTopics": 6, "CreatePartitions": 3, "DeleteTopics": 5}
ANSWERED = {
    "CreateTopics": "topics",
    "CreatePartitions": "results",
    "DeleteTopics": "responses",
}


def limit_mutations(
    call: Call, throttling: Throttling, image: Image, config: BrokerConfig
) -> Answer | None:
    """Takes the topics out of a request that its client may not change now; the answer
    says so, and for how long it is throttled. Returns the answer if nothing is left.
    """
    mutations = throttling.mutations(call.client)
    if mutations is None:
        return None
    is_strict = call.version >= STRICT[call.api]
    refused: list[Answer] = []
    is_anything_left = False
    for listed in ("topics", "topic_names"):
        asked = getattr(call.body, listed, None)
        if not asked:
            continue
        left = []
        for one in asked:
            partitions = partitions_of(call.api, one, image, config)
            if partitions and is_strict and mutations.is_overdrawn:
                refused.append(refusal(one))
                continue
            mutations.take(partitions)
            left.append(one)
        setattr(call.body, listed, left)
        is_anything_left = is_anything_left or bool(left)
    throttle(call, mutations, refused, is_strict)
    return {} if refused and not is_anything_left else None


def throttle(
    call: Call, mutations: Mutations, refused: list[Answer], is_strict: bool
) -> None:
    """Have the answer say what is refused, and for how long its client is throttled."""
    throttle_ms = mutations.throttle_ms if refused or not is_strict else 0
    if not throttle_ms:
        return
    listed = ANSWERED[call.api]

    def whole(answer: Answered) -> Answered:
        mutations.mute(throttle_ms)
        if not isinstance(answer, dict):
            return answer
        rows = [*answer.get(listed, ()), *refused]
        return answer | {listed: rows, "throttle_time_ms": throttle_ms}

    call.amend(whole)


def partitions_of(api: str, asked: Any, image: Image, config: BrokerConfig) -> int:
    """How many partitions an item of a request makes or deletes; 0 if it can't."""
    if isinstance(asked, str):
        named: Topic | None = image.topics.get(asked)
        return 0 if named is None else len(named.partitions)
    topic = image.topics.get(asked.name or "")
    if api == "CreateTopics":
        if topic is not None:
            return 0
        count = len(asked.assignments) or asked.num_partitions
        return max(0, config["num.partitions"] if count == -1 else count)
    if api == "CreatePartitions":
        return 0 if topic is None else max(0, asked.count - len(topic.partitions))
    if topic is None and asked.topic_id in image.topic_names:
        topic = image.topics[image.topic_names[asked.topic_id]]
    return 0 if topic is None else len(topic.partitions)


def refusal(asked: Any) -> Answer:
    """The answer for a topic that may not be changed now."""
    error = Error.THROTTLING_QUOTA_EXCEEDED
    said = {"error_code": error, "error_message": error.message}
    if isinstance(asked, str):
        return {"name": asked} | said
    named = {"name": asked.name} | said
    topic_id = asked.to_dict().get("topic_id")
    return named if topic_id is None else named | {"topic_id": topic_id}

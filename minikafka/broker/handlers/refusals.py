"""How a request is refused as a whole whose answer has no place for that: each item is.

So answers a broker that can't ask the controller in time, and a controller that is none
any more (NOT_CONTROLLER, which the broker that passed the request on hears).
"""

from typing import Any

from minikafka.broker.calls import Call
from minikafka.broker.forwarding import Split
from minikafka.cluster.waiting import Answer
from minikafka.wire.errors import KafkaError
from minikafka.wire.schema import nested


def said(error: KafkaError) -> Answer:
    return {"error_code": error.error, "error_message": error.message}


def new_topics(call: Call, error: KafkaError) -> Answer:
    """CreateTopics."""
    return {"topics": by_name(call, error)}


def grown_topics(call: Call, error: KafkaError) -> Answer:
    """CreatePartitions."""
    return {"results": by_name(call, error)}


def by_name(call: Call, error: KafkaError) -> list[Answer]:
    return [{"name": topic.name} | said(error) for topic in call.body.topics]


def deleted_topics(call: Call, error: KafkaError) -> Answer:
    """DeleteTopics."""
    code = {"error_code": error.error}
    named: list[Answer] = [{"name": name} for name in call.body.topic_names]
    named += [{"name": one.name, "topic_id": one.topic_id} for one in call.body.topics]
    return {"responses": [one | code for one in named]}


def altered_resources(call: Call, error: KafkaError) -> Answer:
    """AlterConfigs, IncrementalAlterConfigs: those that were passed on, if they were;
    of others it is known why.
    """
    asked = call.passed_on or Split(call.body.to_dict(), whole=dict)
    responses = []
    for resource in asked.rest["resources"]:
        named = {key: resource[key] for key in ("resource_type", "resource_name")}
        responses.append(named | said(error))
    return asked.whole({"responses": responses})


def elections(call: Call, error: KafkaError) -> Answer:
    """ElectLeaders; before version 1 nothing is said but of each partition."""
    rows: list[tuple[str, Any]] = []
    for topic in call.body.topic_partitions or []:
        for number in topic.partitions:
            rows.append((topic.topic, {"partition_id": number} | said(error)))
    results = nested(rows, "topic", "partition_result")
    answer: Answer = {"replica_election_results": results}
    if call.version >= 1:
        answer["error_code"] = error.error
    return answer


def reassignments(call: Call, error: KafkaError) -> Answer:
    """AlterPartitionReassignments."""
    rows: list[tuple[str, Any]] = []
    for topic in call.body.topics:
        for partition in topic.partitions:
            named = {"partition_index": partition.partition_index}
            rows.append((topic.name, named | said(error)))
    return said(error) | {"responses": nested(rows)}

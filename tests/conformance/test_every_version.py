"""Every version of every API that minikafka advertises is really served, and says the same as Apache Kafka's."""

import pytest

from minikafka.broker.handlers import HANDLERS
from minikafka.wire.messages import BY_KEY
from tests.conformance.raw import batch


def body(api, version, topic, topic_id):
    """A request that succeeds."""
    by_id = {"topic_id": topic_id}
    partition = {"partition_index": 0}
    bodies = {
        "Produce": {
            "acks": -1, "timeout_ms": 1000,
            "topic_data": [
                (by_id if version >= 13 else {"name": topic})
                | {"partition_data": [{"index": 0, "records": batch(b"x")}]}
            ],
        },
        "Fetch": {
            "max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20,
            "topics": [
                (by_id if version >= 13 else {"topic": topic})
                | {"partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}]}
            ],
        },
        "ListOffsets": {
            "replica_id": -1, "topics": [{"name": topic, "partitions": [partition | {"timestamp": -1}]}]
        },
        "Metadata": {"topics": [{"name": topic}]},
        "FindCoordinator": {"coordinator_keys": ["billing"]} if version >= 4 else {"key": "billing"},
        "ApiVersions": {"client_software_name": "raw", "client_software_version": "1"},
        "CreateTopics": {
            "topics": [{"name": f"{topic}-made-{version}", "num_partitions": 2, "replication_factor": 1}],
            "timeout_ms": 10_000,
        },
        "DeleteTopics": (
            {"topics": [{"name": f"{topic}-doomed"}]} if version >= 6 else {"topic_names": [f"{topic}-doomed"]}
        ) | {"timeout_ms": 10_000},
        "DeleteRecords": {
            "topics": [{"name": topic, "partitions": [partition | {"offset": 0}]}], "timeout_ms": 1000
        },
        "InitProducerId": {"transactional_id": None, "transaction_timeout_ms": 1000},
        "DescribeConfigs": {
            "resources": [{"resource_type": 2, "resource_name": topic, "configuration_keys": ["retention.ms"]}],
            "include_synonyms": True,
        },
        "CreatePartitions": {"topics": [{"name": topic, "count": 2, "assignments": None}], "timeout_ms": 10_000},
        "IncrementalAlterConfigs": {
            "resources": [
                {"resource_type": 2, "resource_name": topic, "configs": [{"name": "retention.ms", "value": "5000"}]}
            ]
        },
        "DescribeCluster": {},
        "DescribeTopicPartitions": {"topics": [{"name": topic}]},
    }  # fmt: skip
    return bodies[api]


def errors_in(message):
    """All error codes anywhere in an answer."""
    found = set()

    def look(value):
        if isinstance(value, dict):
            found.update(code for name, code in value.items() if name == "error_code")
            for inner in value.values():
                look(inner)
        elif isinstance(value, (list, tuple)):
            for inner in value:
                look(inner)

    look(message.to_dict())
    return found


SERVED = [
    (BY_KEY[key].name, version)
    for key, handler in HANDLERS.items()
    for version in range(max(handler.VERSIONS[0], BY_KEY[key].min_version), handler.VERSIONS[1] + 1)
]


@pytest.mark.parametrize(("api", "version"), SERVED)
def test_every_version_that_is_advertised_is_served(broker, topic, api, version):
    if api == "DeleteTopics":
        broker.create_topic(f"{topic}-doomed")
    topic_id = broker.ask("Metadata", 10, topics=[{"name": topic}]).topics[0].topic_id
    while True:
        answer = broker.ask(api, version, **body(api, version, topic, topic_id))
        if api not in ("InitProducerId", "FindCoordinator") or not errors_in(answer) & {14, 15}:
            break  # Apache Kafka asks for patience while it makes what these two need
    assert errors_in(answer) <= {0}

"""The metadata log, read by Apache Kafka's own tool."""

import json

import pytest

from minikafka.server.folder_disk import FolderDisk
from tests.broker.node import Node
from tests.kafka import java_tool


@pytest.mark.java
def test_apache_kafkas_dump_tool_reads_the_metadata_log(tmp_path):
    node = Node(disk=FolderDisk(tmp_path))
    node.create_topic("orders", partitions=2, retention_ms=5000)
    node.call(
        "CreatePartitions",
        3,
        topics=[{"name": "orders", "count": 3, "assignments": None}],
        timeout_ms=1000,
    )
    node.call("InitProducerId", 4, transactional_id=None, transaction_timeout_ms=1000)
    node.restart()
    node.create_topic("gone")
    node.call("DeleteTopics", 5, topic_names=["gone"], timeout_ms=1000)
    node.broker.stop(node.now)
    log = tmp_path / "__cluster_metadata-0" / "00000000000000000000.log"
    dumped = java_tool(
        "org.apache.kafka.tools.DumpLogSegments",
        "--cluster-metadata-decoder",
        "--files",
        str(log),
    )
    assert dumped.returncode == 0, dumped.stderr
    payloads = [
        line.split("payload: ", 1)[1]
        for line in dumped.stdout.splitlines()
        if "payload: " in line
    ]
    types = [json.loads(payload)["type"] for payload in payloads]
    registered = ["REGISTER_BROKER_RECORD", "BROKER_REGISTRATION_CHANGE_RECORD"]
    assert types == [
        *["FEATURE_LEVEL_RECORD"] * 3,
        *registered,
        "TOPIC_RECORD",
        "CONFIG_RECORD",
        "PARTITION_RECORD",
        "PARTITION_RECORD",
        "PARTITION_RECORD",
        "PRODUCER_IDS_RECORD",
        *registered,
        "TOPIC_RECORD",
        "PARTITION_RECORD",
        "REMOVE_TOPIC_RECORD",
    ]
    assert dumped.stdout.count("LeaderChange") == 2
    assert "Found records with invalid" not in dumped.stdout + dumped.stderr

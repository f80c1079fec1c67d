"""Groups seen by the tools of the Python clients: kafka-python's command line,
librdkafka's admin client.
"""

import json
import subprocess
import sys

import pytest
from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from tests.clients.group_history import PATIENT, make_history
from tests.clients.nodes import node
from tests.conformance.raw import Connection
from tests.kafka import BOTH

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=BOTH)
def bootstrap(request, tmp_path_factory):
    """A broker with the groups of group_history.py."""
    with node(request.param, tmp_path_factory.mktemp("data"), PATIENT) as kafka:
        with Connection(kafka.bootstrap) as broker:
            make_history(broker)
        yield kafka.bootstrap


def test_kafka_pythons_command_line_reads_a_group(bootstrap):
    def groups(*args):
        command = [
            sys.executable,
            "-m",
            "kafka.admin",
            "-b",
            bootstrap,
            "--format",
            "json",
            "groups",
            *args,
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    listed = {each["group_id"]: each["group_state"] for each in groups("list")}
    assert listed | {"left": ""} == {
        "tool": "Empty",
        "left": "",
        "classic": "Stable",
        "consumer": "Stable",
    }
    described = groups("describe", "-g", "classic")["classic"]
    assert described["group_state"] == "Stable"
    shares = {
        member["group_instance_id"]: member["member_assignment"]["assigned_partitions"]
        for member in described["members"]
    }
    assert shares == {
        "a": [{"topic": "orders", "partitions": [0, 1]}],
        "b": [{"topic": "orders", "partitions": [2]}],
    }
    offsets = groups("list-offsets", "-g", "tool")
    assert {
        topic: {int(n): each["offset"] for n, each in found.items()}
        for topic, found in offsets.items()
    } == {
        "orders": {0: 5, 1: 9},
        "other": {0: 2},
    }


def test_librdkafkas_admin_lists_describes_alters_and_deletes(bootstrap):
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    groups = {
        group.group_id: group for group in admin.list_consumer_groups().result().valid
    }
    assert groups["classic"].type == ConsumerGroupType.CLASSIC
    assert groups["consumer"].type == ConsumerGroupType.CONSUMER
    assert groups["tool"].state == ConsumerGroupState.EMPTY
    described = {
        name: found.result()
        for name, found in admin.describe_consumer_groups(list(groups)).items()
    }
    assert [described[name].partition_assignor for name in ("classic", "consumer")] == [
        "range",
        "uniform",
    ]
    shares = sorted(
        [(each.topic, each.partition) for each in member.assignment.topic_partitions]
        for member in described["consumer"].members
    )
    assert shares == [[("orders", 0), ("orders", 1)], [("orders", 2)]]

    def committed():
        [found] = admin.list_consumer_group_offsets(
            [ConsumerGroupTopicPartitions("left")]
        ).values()
        return {
            (each.topic, each.partition): each.offset
            for each in found.result().topic_partitions
        }

    assert committed() == {("orders", 2): 0}
    wanted = ConsumerGroupTopicPartitions(
        "left", [TopicPartition("orders", 0, 7), TopicPartition("other", 0, 3)]
    )
    [altered] = admin.alter_consumer_group_offsets([wanted]).values()
    assert all(each.error is None for each in altered.result().topic_partitions)
    assert committed() == {("orders", 2): 0, ("orders", 0): 7, ("other", 0): 3}
    [deleted] = admin.delete_consumer_groups(["left"]).values()
    assert deleted.result() is None
    assert "left" not in {
        group.group_id for group in admin.list_consumer_groups().result().valid
    }
    [refused] = admin.delete_consumer_groups(["classic"]).values()
    with pytest.raises(Exception, match="NON_EMPTY_GROUP"):
        refused.result()

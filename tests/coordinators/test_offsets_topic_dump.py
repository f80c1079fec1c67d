"""Apache Kafka's dump tool decodes our `__consumer_offsets`: for the same history the
records are Apache Kafka's.

The same keys and values in the same order, and the same that are left after compaction.
Times aside, and ids that the broker made.
"""

import json
import re

import pytest

from minikafka.wire.records import batches, decode_batch
from tests.clients import streams_group_history
from tests.clients.brokers import until
from tests.clients.group_history import PATIENT, commit, make_history
from tests.clients.nodes import node
from tests.conformance.raw import Connection
from tests.kafka import APACHE_KAFKA, MINIKAFKA, java_tool

pytestmark = pytest.mark.java

OFFSETS_TOPIC = "__consumer_offsets"
ONE_PARTITION = {
    "offsets.topic.num.partitions": "1",
    "log.cleaner.backoff.ms": "50",
    "log.cleaner.min.cleanable.ratio": "0",
}
TIMES = {"commitTimestamp", "currentStateTimestamp", "assignmentTimestamp"}
MADE = {"topicId", "metadataHash"}  # the hash is over topic ids
MEMBER_ID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def dump(data):
    """(key, value) of each record of the topic's only partition, as the tool decodes
    them, in order.
    """
    files = sorted(map(str, (data / f"{OFFSETS_TOPIC}-0").glob("*.log")))
    done = java_tool(
        "org.apache.kafka.tools.DumpLogSegments",
        "--offsets-decoder",
        "--files",
        ",".join(files),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    records = []
    for line in done.stdout.splitlines():
        if line.startswith("| offset:"):
            key, _, value = line.partition(" key: ")[2].partition(" payload: ")
            records.append((plain(key), plain(value)))
    return records


def plain(text):
    """What the tool says of a key or a value, without times and made ids."""

    def look(value):
        if isinstance(value, list):
            return sorted((look(each) for each in value), key=str)
        if not isinstance(value, dict):
            return value
        return {
            name: (
                "(a time)"
                if name in TIMES
                else "(made)"
                if name in MADE
                else look(each)
            )
            for name, each in value.items()
        }

    try:
        return json.dumps(
            look(json.loads(MEMBER_ID.sub("(an id)", text))), sort_keys=True
        )
    except json.JSONDecodeError:
        return text


def come_and_go(broker):
    """Keys that are written again, and tombstones."""
    for offset in range(1, 6):
        commit(broker, "tool", {"orders": {0: offset, 2: 0}})
    forgotten = [{"name": "orders", "partitions": [{"partition_index": 0}]}]
    assert (
        broker.ask("OffsetDelete", 0, group_id="tool", topics=forgotten).error_code == 0
    )
    for instance_id in ("b", "a"):
        leaving = {"member_id": "", "group_instance_id": instance_id}
        assert (
            broker.ask(
                "LeaveGroup", 3, group_id="classic", members=[leaving]
            ).error_code
            == 0
        )
    for member_id in ("two", "one"):
        leaving = {"group_id": "consumer", "member_id": member_id, "member_epoch": -1}
        assert broker.ask("ConsumerGroupHeartbeat", 1, **leaving).error_code == 0
    [deleted] = broker.ask("DeleteGroups", 2, groups_names=["left"]).results
    assert deleted.error_code == 0
    commit(broker, "tool", {"other": {0: 9}})


def compact(broker):
    """Returns when every segment but the active one is compacted. Two more commits
    close the segments before them.
    """
    config = {"name": "segment.ms", "value": "1", "config_operation": 0}
    resource = {"resource_type": 2, "resource_name": OFFSETS_TOPIC}
    [altered] = broker.ask(
        "IncrementalAlterConfigs", 1, resources=[resource | {"configs": [config]}]
    ).responses
    assert altered.error_code == 0
    asked = resource | {"configuration_keys": ["segment.ms"]}
    while (
        broker.ask("DescribeConfigs", 4, resources=[asked]).results[0].configs[0].value
        != "1"
    ):
        pass
    for offset in (1, 2):
        commit(broker, "tool", {"orders": {1: offset}})
    until(lambda: not has_duplicates(broker))


def has_duplicates(broker):
    """Whether a key is there twice before the active segment, which holds the last
    commit only.
    """
    keys, offset = [], 0
    end = broker.offset(OFFSETS_TOPIC, -1).offset
    while offset < end:
        for header, encoded in batches(broker.fetch(OFFSETS_TOPIC, offset).records):
            keys += [
                record.key
                for record in decode_batch(encoded)
                if record.offset >= offset
            ]
            offset = header.next_offset
    return len(set(keys[:-1])) < len(keys) - 1


def look(broker):
    """What clients are told of the groups."""
    groups = sorted(
        broker.ask("ListGroups", 5).groups, key=lambda group: group.group_id
    )
    shown = [(group.group_id, group.group_state, group.group_type) for group in groups]
    asked = [{"group_id": group.group_id, "topics": None} for group in groups]
    offsets = {
        (group.group_id, topic.name, each.partition_index): each.committed_offset
        for group in broker.ask("OffsetFetch", 8, groups=asked).groups
        for topic in group.topics
        for each in topic.partitions
    }
    return shown, offsets


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    """Of both brokers: the records of the history, what compaction leaves, what clients
    are told before a restart and after it.
    """
    return [
        history_of(kind, tmp_path_factory.mktemp("data"))
        for kind in (MINIKAFKA, APACHE_KAFKA)
    ]


def history_of(kind, data):
    with node(kind, data, PATIENT | ONE_PARTITION) as kafka:
        with Connection(kafka.bootstrap) as broker:
            make_history(broker)
            come_and_go(broker)
            written = dump(data)
            compact(broker)
            left = dump(data)
            told = look(broker)
        kafka.restart()
        with Connection(kafka.bootstrap) as broker:
            while (
                broker.ask("OffsetFetch", 7, group_id="tool", topics=[]).error_code != 0
            ):
                pass  # it loads
            return written, left, told, look(broker)


def test_the_dump_tool_finds_apache_kafkas_records(dumps):
    (ours, *_), (theirs, *_) = dumps
    assert ours == theirs
    kinds = {json.loads(key)["type"] for key, _ in ours}
    assert kinds == {
        "1",
        "2",
        "3",
        "5",
        "6",
        "7",
        "8",
    }, "every kind but those of regular expressions"
    assert any(value == "<DELETE>" or "null" in value for _, value in ours), (
        "tombstones, too"
    )


def test_compaction_leaves_what_apache_kafkas_leaves(dumps):
    (written, ours, *_), (_, theirs, *_) = dumps
    assert ours == theirs
    assert len(ours) < len(written)
    *compacted, last = ours
    assert len({key for key, _ in compacted}) == len(compacted)
    latest = dict(written)
    latest |= dict([compacted[-1], last])
    assert dict(ours) == latest


def test_groups_and_offsets_are_the_same_after_compaction_and_a_restart(dumps):
    for _, _, before, after in dumps:
        assert before == after
    (*_, ours), (*_, theirs) = dumps
    assert ours == theirs


def streams_history_of(kind, data):
    """The records of streams groups, and what clients are told of them before a restart
    and after it.
    """
    with node(kind, data, streams_group_history.PATIENT | ONE_PARTITION) as kafka:
        with Connection(kafka.bootstrap) as broker:
            streams_group_history.make_history(broker)
            [deleted] = broker.ask("DeleteGroups", 2, groups_names=["left"]).results
            assert deleted.error_code == 0
            written = dump(data)
            told = look(broker), members_of(broker)
        kafka.restart()
        with Connection(kafka.bootstrap) as broker:
            while (
                broker.ask("OffsetFetch", 7, group_id="old", topics=[]).error_code != 0
            ):
                pass  # it loads
            return written, told, (look(broker), members_of(broker))


def members_of(broker):
    names = ["counting", "waiting", "left"]
    groups = broker.ask("StreamsGroupDescribe", 0, group_ids=names).groups
    shown = []
    for group in groups:
        fields = group.to_dict()
        # what is known of its topics is not kept
        topology = fields.pop("topology")
        subtopologies = [] if topology is None else topology["subtopologies"]
        names = [each["subtopology_id"] for each in subtopologies]
        shown.append((plain(json.dumps(fields)), names))
    return sorted(shown)


def test_kip_1071_streams_groups_are_written_as_by_apache_kafka_and_loaded(
    tmp_path_factory,
):
    ours, theirs = (
        streams_history_of(kind, tmp_path_factory.mktemp("data"))
        for kind in (MINIKAFKA, APACHE_KAFKA)
    )
    assert ours == theirs
    written, told, told_after = ours
    assert told == told_after
    kinds = {json.loads(key)["type"] for key, _ in written}
    assert kinds >= {"17", "19", "20", "21", "22", "23"}

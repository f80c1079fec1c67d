"""Apache Kafka's dump tool decodes our `__consumer_offsets`: for the same history the
records are Apache Kafka's.

The same keys and values in the same order, and the same that are left after compaction.
Times aside, and ids that the broker made. At night the tool reads what both have written
(tests/recording.py).
"""

import json
import re
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from minikafka.wire.internal_records import decode_coordinator_record
from minikafka.wire.records import batches, decode_batch
from tests.clients import streams_group_history
from tests.clients.brokers import until
from tests.clients.group_history import PATIENT, commit, make_history
from tests.clients.nodes import node, ours_and_theirs
from tests.conformance.raw import Connection
from tests.kafka import APACHE_KAFKA, MINIKAFKA, java_tool
from tests.recording import Recording

pytestmark = pytest.mark.slow

RECORDING = Recording(__file__)

OFFSETS_TOPIC = "__consumer_offsets"
ONE_PARTITION = {
    "offsets.topic.num.partitions": "1",
    "log.cleaner.backoff.ms": "50",
    "log.cleaner.min.cleanable.ratio": "0",
}
# however they are spelled
TIMES = {"committimestamp", "currentstatetimestamp", "assignmenttimestamp"}
MADE = {"topicid", "metadatahash"}  # the hash is over topic ids
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


def decoded(data):
    """The same as minikafka reads it."""
    records = []
    for file in sorted((data / f"{OFFSETS_TOPIC}-0").glob("*.log")):
        for _, encoded in batches(file.read_bytes()):
            for record in decode_batch(encoded):
                name, key, value = decode_coordinator_record(record.key, record.value)
                fields = None if value is None else plain(as_json(value))
                records.append((name, plain(as_json(key)), fields))
    return records


def as_json(message):
    return json.dumps(message.to_dict(), default=repr)


def plain(text):
    """What is said of a key or a value, without times and made ids."""

    def look(value):
        if isinstance(value, list):
            return sorted((look(each) for each in value), key=str)
        if not isinstance(value, dict):
            return value
        found = {}
        for name, each in value.items():
            letters = name.replace("_", "").lower()
            word = (letters in TIMES and "(a time)") or (letters in MADE and "(made)")
            found[name] = word or look(each)
        return found

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


class History(NamedTuple):
    """The folders as they were when all was written, and after compaction; what clients
    are told before a restart and after it.
    """

    written: Path
    left: Path
    told: tuple
    told_after: tuple


def history_of(kind, data):
    with node(kind, data, PATIENT | ONE_PARTITION) as kafka:
        with Connection(kafka.bootstrap) as broker:
            make_history(broker)
            come_and_go(broker)
            written = copied(data, "written")
            compact(broker)
            left = copied(data, "left")
            told = look(broker)
        kafka.restart()
        with Connection(kafka.bootstrap) as broker:
            while (
                broker.ask("OffsetFetch", 7, group_id="tool", topics=[]).error_code != 0
            ):
                pass  # it loads
            return History(written, left, told, look(broker))


def copied(data, name):
    folder = data.with_name(f"{data.name}-{name}")
    part = f"{OFFSETS_TOPIC}-0"
    shutil.copytree(data / part, folder / part)
    return folder


ours, theirs = ours_and_theirs(history_of)


def test_what_is_written_and_what_compaction_leaves_is_as_recorded(ours):
    RECORDING.check("written", decoded(ours.written))
    RECORDING.check("left", decoded(ours.left))


def test_clients_are_told_after_a_restart_what_they_were_told_before(ours):
    assert ours.told == ours.told_after


@pytest.mark.java
@pytest.mark.nightly
def test_the_dump_tool_finds_apache_kafkas_records(ours, theirs):
    here, there = dump(ours.written), dump(theirs.written)
    assert here == there
    kinds = {json.loads(key)["type"] for key, _ in here}
    assert kinds == {
        "1",
        "2",
        "3",
        "5",
        "6",
        "7",
        "8",
    }, "every kind but those of regular expressions"
    assert any(value == "<DELETE>" or "null" in value for _, value in here), (
        "tombstones, too"
    )
    RECORDING.confirm("written", decoded(ours.written))


@pytest.mark.java
@pytest.mark.nightly
def test_compaction_leaves_what_apache_kafkas_leaves(ours, theirs):
    written, here, there = map(dump, (ours.written, ours.left, theirs.left))
    assert here == there
    assert len(here) < len(written)
    *compacted, last = here
    assert len({key for key, _ in compacted}) == len(compacted)
    latest = dict(written)
    latest |= dict([compacted[-1], last])
    assert dict(here) == latest
    RECORDING.confirm("left", decoded(ours.left))


@pytest.mark.java
@pytest.mark.nightly
def test_groups_and_offsets_are_the_same_after_compaction_and_a_restart(ours, theirs):
    assert theirs.told == theirs.told_after
    assert ours.told_after == theirs.told_after


def streams_history_of(kind, data):
    """The folder with the records of streams groups, and what clients are told of them
    before a restart and after it.
    """
    with node(kind, data, streams_group_history.PATIENT | ONE_PARTITION) as kafka:
        with Connection(kafka.bootstrap) as broker:
            streams_group_history.make_history(broker)
            [deleted] = broker.ask("DeleteGroups", 2, groups_names=["left"]).results
            assert deleted.error_code == 0
            written = copied(data, "written")
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


@pytest.fixture(scope="module")
def our_streams(tmp_path_factory):
    return streams_history_of(MINIKAFKA, tmp_path_factory.mktemp("data"))


def test_streams_groups_are_written_as_recorded_and_loaded(our_streams):
    written, told, told_after = our_streams
    assert told == told_after
    RECORDING.check("streams groups", decoded(written))


@pytest.mark.java
@pytest.mark.nightly
def test_kip_1071_streams_groups_are_written_as_by_apache_kafka_and_loaded(
    our_streams, tmp_path
):
    written, told, told_after = our_streams
    their_written, *their_told = streams_history_of(APACHE_KAFKA, tmp_path / "data")
    here = dump(written)
    assert here == dump(their_written)
    assert [told, told_after] == their_told
    kinds = {json.loads(key)["type"] for key, _ in here}
    assert kinds >= {"17", "19", "20", "21", "22", "23"}
    RECORDING.confirm("streams groups", decoded(written))

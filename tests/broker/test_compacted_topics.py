"""A compacted topic on a whole node: its configs, what it refuses, and the cleaner that
works between requests.
"""

import pytest

from minikafka.storage import checkpoints
from minikafka.wire.errors import Error
from minikafka.wire.records import batches, decode_batch, encode_batch
from tests.broker.node import Node

SMALL = {"cleanup_policy": "compact", "internal_segment_bytes": 300}


def put(node, topic, *pairs, **fields):
    """(key, value) pairs as one batch; the partition's answer."""
    records = [
        (node.now.wall_ms, key and key.encode(), value and value.encode(), [])
        for key, value in pairs
    ]
    return node.produce(topic, batch=encode_batch(records, **fields))


def table(node, topic, **how):
    """All that a consumer reads: (offset, key, value)."""
    found, position = [], 0
    while (data := node.fetch(topic, position, **how).records) and len(data):
        for header, one in batches(data):
            found += [
                (record.offset, record.key.decode(), record.value)
                for record in decode_batch(one)
            ]
            position = header.next_offset
    return found


def filled(topic="prices", records=40, **properties):
    node = Node(**properties)
    node.create_topic(topic, **SMALL)
    for number in range(records):
        put(node, topic, (f"key {number % 3}", f"value {number}"))
    return node


def half_compacted():
    """A node that has written a part of a new segment of prices-0."""
    node = Node()
    node.create_topic("prices", **SMALL | {"internal_segment_bytes": 300_000})
    for number in range(400):
        put(node, "prices", (f"key {number % 300}", "x" * 3000))
    node.pass_time(15_000)
    while not leftovers(node):
        node.pass_time(1)
    return node


def leftovers(node):
    return [
        name
        for name in node.disk.listdir("prices-0")
        if name.endswith((".cleaned", ".swap"))
    ]


def log_of(node):
    return node.broker.replicas.replicas["prices", 0].log


def test_after_log_cleaner_backoff_ms_only_the_latest_of_each_key_is_left_below_the_active_segment():
    node = filled()
    assert len(table(node, "prices")) == 40
    node.pass_time(15_000)
    found = table(node, "prices")
    active = log_of(node).active.base_offset
    closed = [entry for entry in found if entry[0] < active]
    assert len({key for _, key, _ in closed}) == len(closed) <= 3
    assert [offset for offset, _, _ in found] == sorted(
        {offset for offset, _, _ in found}
    )
    assert {key: value for _, key, value in found} == {
        "key 0": b"value 39",
        "key 1": b"value 37",
        "key 2": b"value 38",
    }


def test_a_record_without_key_is_refused_and_blamed():
    node = Node()
    node.create_topic("prices", **SMALL)
    answer = put(node, "prices", ("a", "1"), (None, "2"), (None, "3"))
    assert answer.error_code == Error.INVALID_RECORD
    assert [error.batch_index for error in answer.record_errors] == [1, 2]
    why = (
        "Compacted topic cannot accept message without key in topic partition prices-0"
    )
    assert {error.batch_index_error_message for error in answer.record_errors} == {why}
    assert (
        answer.error_message
        == "One or more records have been rejected due to 2 record errors in total,"
        " and only showing the first three errors at most:"
        f" [RecordError(batchIndex=1, message='{why}'), RecordError(batchIndex=2,"
        f" message='{why}')]"
    )
    assert put(node, "prices", ("a", "1")).base_offset == 0


@pytest.mark.parametrize("policy", ["compact", "compact,delete", "delete, compact"])
def test_every_policy_with_compact_asks_for_keys(policy):
    node = Node()
    assert node.create_topic("prices", cleanup_policy=policy).error_code == Error.NONE
    assert put(node, "prices", (None, "1")).error_code == Error.INVALID_RECORD


def test_a_topic_becomes_compacted_when_its_policy_is_altered():
    node = Node()
    node.create_topic("prices", internal_segment_bytes=300)
    for number in range(20):
        put(node, "prices", ("a", str(number)))
    node.pass_time(20_000)
    assert len(table(node, "prices")) == 20
    change = {"name": "cleanup.policy", "config_operation": 0, "value": "compact"}
    node.call(
        "IncrementalAlterConfigs",
        1,
        resources=[
            {"resource_type": 2, "resource_name": "prices", "configs": [change]}
        ],
        validate_only=False,
    )
    node.pass_time(15_000)
    assert table(node, "prices")[0][0] == log_of(node).active.base_offset - 1


def test_compact_and_delete_together_do_both():
    node = Node()
    node.create_topic(
        "prices",
        **SMALL | {"cleanup_policy": "compact,delete", "retention_ms": 3_600_000},
    )
    for number in range(20):
        put(node, "prices", ("a", str(number)))
    node.pass_time(20_000)
    assert table(node, "prices")[0][0] == log_of(node).active.base_offset - 1
    node.pass_time(2 * 3_600_000)
    log = log_of(node)
    assert log.log_start_offset == log.log_end_offset == 20


def test_compact_alone_deletes_nothing_by_age_or_size():
    node = filled(log_retention_ms=1000, log_retention_bytes=1)
    node.pass_time(600_000)
    assert {key for _, key, _ in table(node, "prices")} == {"key 0", "key 1", "key 2"}


@pytest.mark.parametrize("clean", [True, False])
def test_the_cleaner_offset_checkpoint_survives_a_restart(clean):
    node = filled()
    node.pass_time(15_000)
    first_dirty = log_of(node).first_dirty_offset
    assert checkpoints.read_offsets(node.disk, "cleaner-offset-checkpoint") == {
        ("prices", 0): first_dirty
    }
    before = table(node, "prices")
    node.restart(clean)
    log = log_of(node)
    assert log.first_dirty_offset == first_dirty == log.active.base_offset
    assert table(node, "prices") == before


def test_a_topic_made_again_is_all_dirty():
    node = filled()
    node.pass_time(15_000)
    node.call("DeleteTopics", 4, topic_names=["prices"], timeout_ms=1000)
    assert checkpoints.read_offsets(node.disk, "cleaner-offset-checkpoint") == {}
    node.create_topic("prices", **SMALL)
    assert log_of(node).first_dirty_offset == 0


def test_a_topic_deleted_while_it_is_being_compacted_goes_whole():
    node = half_compacted()
    node.call("DeleteTopics", 4, topic_names=["prices"], timeout_ms=1000)
    node.create_topic("prices", **SMALL)
    put(node, "prices", ("a", "1"))
    node.pass_time(60_000)
    assert [name for name in node.disk.listdir("") if name.startswith("prices")] == [
        "prices-0"
    ]
    assert not [
        name
        for name in node.disk.listdir("prices-0")
        if not name.startswith("0" * 20)
        and name not in ("leader-epoch-checkpoint", "partition.metadata")
    ]
    assert table(node, "prices") == [(0, "a", b"1")]


def test_a_clean_stop_in_the_middle_of_a_pass_leaves_nothing_of_it():
    node = half_compacted()
    before = table(node, "prices")
    node.broker.stop(node.now)
    assert not leftovers(node)
    node.start()
    assert table(node, "prices") == before


def test_a_batch_that_cannot_be_read_is_left_alone_and_said_once():
    events = []
    node = Node(listeners=[events.append])
    node.create_topic("prices", **SMALL)
    for number in range(20):
        put(node, "prices", ("a", str(number)))
    node.disk.open("prices-0/00000000000000000000.log").data[-1] ^= 1
    before = node.disk.read("prices-0/00000000000000000000.log")
    node.pass_time(60_000)
    assert node.broker.why_failed is None
    assert [str(event)[9:] for event in events if event.kind == "CompactionFailed"] == [
        " broker 1: prices-0 is not compacted any more: the batch at offset 3 does not"
        " match its checksum"
    ]
    assert node.disk.read("prices-0/00000000000000000000.log") == before


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("min.cleanable.dirty.ratio", "1.5", "Value must be no more than 1"),
        ("min.cleanable.dirty.ratio", "half", "Not a number of type DOUBLE"),
        ("max.compaction.lag.ms", "0", "Value must be at least 1"),
        ("delete.retention.ms", "-1", "Value must be at least 0"),
        (
            "cleanup.policy",
            "delete,burn",
            (
                "Invalid value burn for configuration cleanup.policy: String must be"
                " one of: compact, delete"
            ),
        ),
    ],
)
def test_wrong_values_are_refused(name, value, why):
    answer = Node().create_topic("prices", **{name.replace(".", "_"): value})
    assert answer.error_code == Error.INVALID_CONFIG and why in answer.error_message


def test_without_any_policy_nothing_is_compacted_and_nothing_is_deleted():
    node = Node(log_retention_ms=1000)
    node.create_topic("prices", cleanup_policy="", internal_segment_bytes=300)
    for number in range(20):
        assert put(node, "prices", (None, str(number))).error_code == Error.NONE
    node.pass_time(3_600_000)
    assert log_of(node).log_start_offset == 0 and log_of(node).first_dirty_offset == 0


def test_the_lags_must_not_contradict_each_other():
    answer = Node().create_topic(
        "prices", min_compaction_lag_ms=10, max_compaction_lag_ms=5
    )
    assert answer.error_code == Error.INVALID_CONFIG
    assert (
        "min.compaction.lag.ms (10) > max.compaction.lag.ms (5)" in answer.error_message
    )

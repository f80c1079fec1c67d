"""No batch, however made, blocks or stops a node: what it decodes is bounded wherever
it decodes. Work is counted in records looked at and bytes decompressed; time is not
measured here (tests/soak/bombs.py does).
"""

import pytest

from minikafka.broker.effects import Notice
from minikafka.broker.handlers import offsets, produce
from minikafka.cluster import replica_events
from minikafka.trace import Reason
from minikafka.wire import records, unpacking
from minikafka.wire.compression import CODECS
from minikafka.wire.errors import Error
from minikafka.wire.internal_records import encode_coordinator_record
from minikafka.wire.records import encode_batch
from tests.broker.node import Node
from tests.wire.bombs import BOMBS, NOW_MS, batch, bomb, record

pytestmark = pytest.mark.slow

CONTENT_BYTES = 16 << 20  # that a request may make the node decompress
# Without compression what is large is as large on the wire.
LARGE = ("five million tiny records", "one huge value", "seven million headers")
ALL = pytest.mark.parametrize(
    ("what", "codec"),
    [
        (what, codec)
        for what in BOMBS
        for codec in CODECS
        if codec != "none" or what not in LARGE
    ],
)
TOO_MUCH, WRONG = Error.MESSAGE_TOO_LARGE, Error.INVALID_RECORD


class Work:
    """What was decoded since `reset`: records looked at, bytes decompressed, and the
    most at once.
    """

    def __init__(self, monkeypatch):
        self.reset()
        walk, decompress = records.walk, unpacking.decompress

        def counted_walk(*args):
            for each in walk(*args):
                self.records += 1
                yield each

        def counted_decompress(*args):
            content, whole = decompress(*args)
            self.content_bytes += len(content)
            self.most_bytes = max(self.most_bytes, len(content))
            return content, whole

        monkeypatch.setattr(records, "walk", counted_walk)
        monkeypatch.setattr(unpacking, "decompress", counted_decompress)

    def reset(self):
        self.records = self.content_bytes = self.most_bytes = 0

    def was_bounded(self, most_records, packed):
        """A content that has to grow is decompressed anew, from its beginning."""
        most_bytes = len(packed) + CONTENT_BYTES
        return (
            self.records <= most_records
            and self.most_bytes <= most_bytes
            and self.content_bytes <= 3 * most_bytes
        )


@pytest.fixture
def work(monkeypatch):
    return Work(monkeypatch)


def lives(node):
    """Another client's request is answered."""
    node.connect("another")
    node.send("ApiVersions", 0, connection="another")
    return node.answer().error_code == 0 and node.broker.why_failed is None


def topic(node, **configs):
    node.create_topic("bombs", max_message_bytes=64 << 20, **configs)


def offset(node, timestamp):
    partitions = [{"partition_index": 0, "timestamp": timestamp}]
    answer = node.call(
        "ListOffsets",
        7,
        replica_id=-1,
        isolation_level=0,
        topics=[{"name": "bombs", "partitions": partitions}],
    )
    return answer.topics[0].partitions[0]


@ALL
def test_a_compacted_topic_looks_at_no_more_than_a_request_may_bring(what, codec, work):
    node = Node()
    topic(node, cleanup_policy="compact")
    packed = bomb(what, codec)
    answer = node.produce("bombs", batch=packed)
    # nobody looks at headers
    if what in ("seven million headers", "headers that are not there"):
        assert answer.error_code == Error.NONE
    else:
        assert answer.error_code in (TOO_MUCH, WRONG, Error.INVALID_TIMESTAMP)
    assert work.was_bounded(produce.MAX_RECORDS, packed)
    assert lives(node)


@ALL
def test_list_offsets_looks_at_no_more_than_a_request_may(what, codec, work):
    node = Node()
    topic(node)
    packed = bomb(what, codec)
    assert node.produce("bombs", batch=packed).error_code == Error.NONE
    for timestamp in (NOW_MS, NOW_MS - 1, 0, -3):
        work.reset()
        answer = offset(node, timestamp)
        assert answer.error_code in (Error.NONE, Error.CORRUPT_MESSAGE)
        assert -1 <= answer.offset < 2**31
        assert work.was_bounded(offsets.MAX_RECORDS, packed)
    assert lives(node)


@ALL
def test_a_topic_that_is_compacted_later_is_compacted_in_slices_or_set_aside(
    what, codec, work
):
    node = Node()
    topic(node, internal_segment_bytes=64 << 20)
    node.create_topic("others", cleanup_policy="compact", internal_segment_bytes=300)
    packed = bomb(what, codec)
    node.produce("bombs", batch=packed)
    change = {"name": "cleanup.policy", "config_operation": 0, "value": "compact"}
    resource = {"resource_type": 2, "resource_name": "bombs", "configs": [change]}
    node.call("IncrementalAlterConfigs", 1, validate_only=False, resources=[resource])
    log = node.broker.replicas.replicas["bombs", 0].log
    log.roll(log.log_end_offset, Reason("segment_ms", "the test says so"))
    for number in range(20):
        node.produce("others", batch=encode_batch([(NOW_MS, b"k", b"%d" % number, [])]))
    notices, most = [], 0
    for _ in range(3000):
        work.reset()
        node.pass_time(1 if node.broker.replicas.upkeep.cleaner.busy else 5_000)
        notices += [effect for effect in node.out() if isinstance(effect, Notice)]
        most = max(most, work.records)
        if (
            len(notices) + (log.first_dirty_offset > 0)
            and not node.broker.replicas.upkeep.cleaner.busy
        ):
            break
    assert len(notices) + (log.first_dirty_offset > 0) == 1
    assert all(
        notice.line.startswith("bombs-0 is not compacted any more: ")
        for notice in notices
    )
    assert most <= 4000
    node.pass_time(60_000)
    others = node.broker.replicas.replicas["others", 0].log
    assert others.first_dirty_offset == others.active.base_offset
    assert lives(node)


@ALL
def test_a_trace_changes_no_answer(what, codec, work):
    events = []
    node = Node(listeners=[events.append])
    topic(node)
    work.reset()
    packed = bomb(what, codec)
    assert node.produce("bombs", batch=packed).error_code == Error.NONE
    (appended,) = [event for event in events if event.kind == "RecordsAppended"]
    assert len(appended.detail["records"]) <= replica_events.TRACED_RECORDS
    assert appended.detail["records"] or appended.detail["unreadable"]
    assert work.was_bounded(replica_events.TRACED_RECORDS + 1, packed)
    assert lives(node)


def test_one_request_may_bring_so_many_records_for_all_its_partitions_together(work):
    node = Node()
    node.create_topic("bombs", partitions=30, cleanup_policy="compact")
    work.reset()
    packed = bytes(batch(b"".join(map(record, range(10_000))), 10_000, "zstd"))
    data = [{"index": index, "records": packed} for index in range(30)]
    answer = node.call(
        "Produce",
        9,
        acks=-1,
        timeout_ms=1000,
        topic_data=[{"name": "bombs", "partition_data": data}],
    )
    errors = [
        partition.error_code for partition in answer.responses[0].partition_responses
    ]
    assert errors == [Error.NONE] * 5 + [Error.MESSAGE_TOO_LARGE] * 25
    assert work.records == produce.MAX_RECORDS


def test_a_search_that_looks_at_too_much_answers_with_an_offset_that_is_not_too_late(
    work,
):
    """Headers that promise more than there is lead from batch to batch."""
    node = Node()
    topic(node)
    lie = bytes(
        batch(
            b"".join(map(record, range(20_000))),
            20_000,
            "zstd",
            max_timestamp=NOW_MS + 1,
        )
    )
    for _ in range(20):
        assert node.produce("bombs", batch=lie).error_code == Error.NONE
    node.produce("bombs", batch=encode_batch([(NOW_MS + 1, b"k", b"here", [])]))
    work.reset()
    answer = offset(node, NOW_MS + 1)
    assert (answer.error_code, answer.timestamp) == (Error.NONE, NOW_MS + 1)
    assert 2 * 20_000 <= answer.offset < 3 * 20_000
    assert work.records <= offsets.MAX_RECORDS


def test_a_search_walks_over_a_bounded_number_of_headers():
    node = Node()
    topic(node)
    led = node.broker.replicas.leader("bombs", 0)
    for timestamp, count in ((2, 1), (1, 60_000), (3, 1)):
        written = bytearray(encode_batch([(timestamp, None, b"", [])]) * count)
        led.append(
            written, [header for header, _ in records.batches(written)], node.now
        )
    assert 0 < offset(node, 3).offset <= 60_001


def test_a_timestamp_beyond_64_bits_wraps_as_in_apache_kafka_and_is_compacted():
    node = Node()
    node.create_topic("bombs", cleanup_policy="compact", internal_segment_bytes=200)
    minute = batch(
        record(timestamp_delta=-(1 << 63)),
        base_timestamp=60_000 - (1 << 63),
        max_timestamp=60_000,
    )
    beyond = batch(record(timestamp_delta=1), base_timestamp=2**63 - 1)
    assert node.produce("bombs", batch=bytes(minute)).error_code == Error.NONE
    assert (
        node.produce("bombs", batch=bytes(beyond)).error_code == Error.INVALID_TIMESTAMP
    )
    for number in range(10):
        node.produce("bombs", batch=encode_batch([(NOW_MS, b"k", b"%d" % number, [])]))
    node.pass_time(60_000)
    log = node.broker.replicas.replicas["bombs", 0].log
    assert log.first_dirty_offset == log.active.base_offset
    assert lives(node)


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_groups_are_loaded_in_slices_of_what_was_compressed(codec, work):
    node = Node(offsets_topic_num_partitions=1)
    node.call("FindCoordinator", 4, key_type=0, coordinator_keys=["billing"])
    node.pass_time(1000)
    key, _ = encode_coordinator_record("GroupMetadata", {"group": "billing"}, None)
    tombstones = [
        record(number, key=b"%c" % (2 * len(key)) + key, value=b"\1")
        for number in range(150_000)
    ]
    log = node.broker.replicas.replicas["__consumer_offsets", 0].log
    log.append(batch(b"".join(tombstones), 150_000, codec), 0, node.now)
    node.broker.stop(node.now)
    node.start()
    most, total = 0, 0
    while node.broker.timers.next() == 0:
        work.reset()
        node.pass_time(1)
        most, total = max(most, work.records), total + work.records
    assert total >= 110_000 and most <= 35_000  # in two ticks

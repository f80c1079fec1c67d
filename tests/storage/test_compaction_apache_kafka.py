"""Apache Kafka's cleaner and ours, given the same batches, leave the same; and its
tools read what ours has left.
"""

import re
from random import Random

import pytest

from minikafka.server.embedded import Served
from minikafka.server.folder_disk import FolderDisk
from minikafka.wire.records import batches, decode_batch, encode_batch
from tests.conformance.raw import Connection
from tests.kafka import ApacheKafka
from tests.storage.tables import compact, open_table, put, roll, wait_until_clean
from tests.storage.test_apache_kafka import COMPLAINT, dump, paths

pytestmark = [pytest.mark.java, pytest.mark.nightly]

# markers are of now, so older: whether they begin a segment does not depend on the
# clock
TIME = 2_000_000_000_000
PROPERTIES = {"log.cleaner.backoff.ms": "50", "log.retention.ms": "-1"}
# there is no coordinator of these transactions
UNVERIFIED = {"transaction.partition.verification.enable": "false"}
TRANSACTIONAL = 7, 8
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TOPICS = {"kept": 10**12, "gone": 0}  # -> delete.retention.ms


def history(seed, count, start, sequences):
    """Batches: all codecs, tombstones, headers, two idempotent producers and two with
    transactions, whose ends are (producer id, committed). Now and then a pause that
    rolls a segment.
    """
    random, timestamp, ongoing = Random(seed), TIME + start * 1000, {}
    for number in range(start, start + count):
        timestamp += 5000 if random.random() < 0.2 else 10
        records = []
        for each in range(random.randint(1, 5)):
            key = b"key %d" % (seed * 15 + random.randrange(25))
            value = (
                None
                if random.random() < 0.25
                else b"%d.%d " % (number, each) * random.randrange(20)
            )
            records.append(
                (
                    timestamp - random.randrange(5),
                    key,
                    value,
                    [("n", b"%d" % number)] * (each % 2),
                )
            )
        fields = {"compression": random.choice(CODECS)}
        producer = random.choice((None, 5, 6, *TRANSACTIONAL))
        if producer in TRANSACTIONAL:
            fields["transactional"] = ongoing[producer] = True
        if producer:
            fields |= {
                "producer_id": producer,
                "producer_epoch": 1,
                "base_sequence": sequences.get(producer, 0),
            }
            sequences[producer] = sequences.get(producer, 0) + len(records)
        yield bytearray(encode_batch(records, **fields))
        if random.random() < 0.2 or number == start + count - 1:
            for each in list(ongoing):
                yield each, random.random() < 0.5
                del ongoing[each]


def on_disk(data, topic):
    """Batch by batch what is there: the header, without what depends on the moment or
    the codec's version; records.
    """
    found = []
    for path in sorted((data / f"{topic}-0").glob("*.log")):
        for header, one in batches(path.read_bytes()):
            same = {"crc": 0, "batch_length": 0, "partition_leader_epoch": 0}
            if header.delete_horizon is not None:
                same["base_timestamp"] = 0
            records = decode_batch(one)
            if header.control:
                same |= {"base_timestamp": 0, "max_timestamp": 0}
                records = [record._replace(timestamp=0) for record in records]
            found.append((header._replace(**same), records))
    return found


def compacted(bootstrap, data):
    """What is on the disk after each pass. While the policy is delete no pass is made,
    so both see the same.
    """
    with Connection(bootstrap) as broker:
        for topic, retention_ms in TOPICS.items():
            broker.create_topic(
                topic,
                cleanup_policy="delete",
                segment_ms=1000,
                min_cleanable_dirty_ratio=0.01,
                delete_retention_ms=retention_ms,
                index_interval_bytes=200,
                message_timestamp_after_max_ms=10**12,
            )
        sequences = {topic: {} for topic in TOPICS}
        for round_number in range(3):
            ends = {}
            for topic in TOPICS:
                for one in history(
                    round_number, 150, round_number * 150, sequences[topic]
                ):
                    answer = (
                        end(broker, topic, *one)
                        if isinstance(one, tuple)
                        else broker.produce(topic, one)
                    )
                    assert answer.error_code == 0, answer
                # Alone in its segment, and so where each broker's active one begins.
                late = [(TIME + (round_number + 1) * 10**9, b"last", b"", [])]
                ends[topic] = broker.produce(
                    topic, bytearray(encode_batch(late))
                ).base_offset
                alter(broker, topic, "compact")
            left = {topic: cleaned(data, topic, ends[topic]) for topic in TOPICS}
            yield left | {
                f"aborted in {topic}": aborted(data, topic) for topic in TOPICS
            }
            for topic in TOPICS:
                alter(broker, topic, "delete")


def end(broker, topic, producer, committed):
    topics = [{"name": topic, "partition_indexes": [0]}]
    marker = {
        "producer_id": producer,
        "producer_epoch": 1,
        "transaction_result": committed,
        "topics": topics,
    }
    return (
        broker.ask("WriteTxnMarkers", 1, markers=[marker])
        .markers[0]
        .topics[0]
        .partitions[0]
    )


def alter(broker, topic, policy):
    change = {"name": "cleanup.policy", "config_operation": 0, "value": policy}
    resource = {"resource_type": 2, "resource_name": topic, "configs": [change]}
    (answer,) = broker.ask(
        "IncrementalAlterConfigs", 1, resources=[resource], validate_only=False
    ).responses
    assert answer.error_code == 0, answer


def cleaned(data, topic, offset):
    wait_until_clean(data, topic, offset)
    return on_disk(data, topic)


def aborted(data, topic):
    return b"".join(
        path.read_bytes() for path in sorted((data / f"{topic}-0").glob("*.txnindex"))
    )


def test_the_same_records_batches_and_tombstones_survive_three_passes(tmp_path):
    properties = PROPERTIES | UNVERIFIED
    overrides = [
        word
        for name, value in properties.items()
        for word in ("--override", f"{name}={value}")
    ]
    with Served(tmp_path / "ours", options=tuple(overrides)) as kafka:
        ours = list(compacted(kafka.bootstrap, tmp_path / "ours"))
    with ApacheKafka(properties, data=tmp_path / "theirs") as kafka:
        theirs = list(compacted(kafka.bootstrap, tmp_path / "theirs"))
    for left, right in zip(ours, theirs, strict=True):
        for topic in TOPICS:
            assert left[f"aborted in {topic}"] == right[f"aborted in {topic}"]
            assert [header.base_offset for header, _ in left[topic]] == [
                header.base_offset for header, _ in right[topic]
            ]
            for our, their in zip(left[topic], right[topic], strict=True):
                assert our == their
    kept, gone = ([header for header, _ in ours[-1][topic]] for topic in TOPICS)
    assert any(header.delete_horizon is not None for header in kept)
    assert any(header.records_count == 0 for header in kept)
    assert any(header.control and header.delete_horizon is not None for header in kept)
    assert len(gone) < len(kept) < 200


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A log that was compacted twice: several segments, rewritten batches of all
    codecs, empty ones, gaps.
    """
    root = tmp_path_factory.mktemp("compacted")
    disk = FolderDisk(root)
    log = open_table(disk, segment_bytes=8000, index_interval_bytes=500)
    for number in range(300):
        pairs = [
            (
                f"key {(number * 7 + each) % 700}",
                None if number % 9 == each else "x" * 60,
            )
            for each in range(5)
        ]
        put(
            log,
            *pairs,
            compression=CODECS[number % 5],
            timestamp=TIME + number * 10,
            producer_id=number % 3,
            producer_epoch=0,
            base_sequence=number // 3 * 5,
        )
    roll(log)
    compact(log)
    compact(log)
    put(log, ("active", "x"), timestamp=TIME + 10_000)
    log.close()
    disk.close()
    assert len(log.segments) > 2
    return root / "orders-0"


def test_the_dump_tool_reads_the_compacted_log(folder):
    text = dump(
        "--files", paths(folder, ".log"), "--deep-iteration", "--print-data-log"
    )
    offsets = [
        int(found) for found in re.findall(r"^\| offset: (\d+)", text, re.MULTILINE)
    ]
    assert offsets == sorted(set(offsets)) and 500 < len(offsets) < 800
    assert "isvalid: false" not in text and "deleteHorizonMs: OptionalLong[" in text
    for codec in CODECS:
        assert f"compresscodec: {codec}" in text


@pytest.mark.parametrize("check", ["--index-sanity-check", "--verify-index-only"])
def test_the_indexes_agree_with_the_compacted_log(folder, check):
    text = dump("--files", paths(folder, "index"), check)
    assert not COMPLAINT.search(text), text

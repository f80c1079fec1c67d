"""Apache Kafka's own tool reads our files: segments, their indexes, producer
snapshots.
"""

import re
import time

import pytest

from minikafka.server.folder_disk import FolderDisk
from minikafka.storage.producer_state import decode_snapshot
from minikafka.wire.errors import Error
from minikafka.wire.internal_records import encode_end_transaction
from tests.conformance.raw import Connection, batch
from tests.kafka import ApacheKafka, java_tool
from tests.storage.logs import Now, append, open_log, recovered

pytestmark = [pytest.mark.java, pytest.mark.nightly]

COMPLAINT = re.compile(
    r"(?i)exception|error|corrupt|mismatch|invalid|found|not found|non-consecutive"
)


def dump(*args):
    done = java_tool("org.apache.kafka.tools.DumpLogSegments", *args)
    assert done.returncode == 0, done.stderr
    # It says so of every segment that doesn't begin at offset 0, Apache Kafka's own
    # too.
    complaints = re.sub(
        r"Non-consecutive offsets in .*\n  -1 is followed by \d+\n", "", done.stderr
    )
    assert not complaints, complaints
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two segments: all codecs, an idempotent and a transactional producer, several
    epochs, an open transaction.
    """
    root = tmp_path_factory.mktemp("ours")
    disk = FolderDisk(root)
    log = open_log(disk, segment_bytes=30_000, index_interval_bytes=1000)
    for number in range(120):
        codec = ("none", "gzip", "snappy", "lz4", "zstd")[number % 5]
        values = [f"value {number}.{each} " + "x" * 100 for each in range(10)]
        append(
            log,
            *values,
            compression=codec,
            epoch=number // 50,
            timestamp=1_700_000_000_000 + number * 50,
            producer_id=number % 3,
            producer_epoch=2,
            base_sequence=number // 3 * 10,
        )
    append(
        log,
        "transactional",
        producer_id=9,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
        epoch=4,
        timestamp=1_700_000_100_000,
    )
    log.append(
        bytearray(encode_end_transaction(False, 9, 0, 1, 1_700_000_100_001)), 4, Now(0)
    )
    append(
        log,
        "open",
        producer_id=9,
        producer_epoch=0,
        base_sequence=1,
        transactional=True,
        epoch=4,
        timestamp=1_700_000_100_002,
    )
    log.close()
    disk.close()
    assert len(log.segments) == 2
    return root / "orders-0"


def paths(folder, suffix):
    return ",".join(str(path) for path in sorted(folder.glob(f"*{suffix}")))


def test_every_record_is_read_decompressed_and_in_order(folder):
    text = dump(
        "--files", paths(folder, ".log"), "--deep-iteration", "--print-data-log"
    )
    offsets = [
        int(found) for found in re.findall(r"^\| offset: (\d+)", text, re.MULTILINE)
    ]
    assert offsets == list(range(1203))
    assert text.count("isvalid: true") == 123 and "isvalid: false" not in text
    assert "payload: value 119.9 " in text and "endTxnMarker: ABORT" in text
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        assert f"compresscodec: {codec}" in text
    assert "partitionLeaderEpoch: 4" in text


@pytest.mark.parametrize("check", ["--index-sanity-check", "--verify-index-only", None])
def test_the_indexes_agree_with_the_log(folder, check):
    files = f"{paths(folder, '.index')},{paths(folder, '.timeindex')}"
    assert len(files.split(",")) == 4
    text = dump("--files", files, *([check] if check else []))
    assert not COMPLAINT.search(text), text
    if check == "--index-sanity-check":
        assert text.count("passed sanity check") == 4
    if check is None:
        assert len(re.findall(r"^offset: \d+ position: \d+", text, re.MULTILINE)) > 10
        assert len(re.findall(r"^timestamp: \d+ offset: \d+", text, re.MULTILINE)) > 10


def test_kip_98_the_aborted_transactions_are_read(folder):
    found = re.search(
        r"version: 0 producerId: 9 firstOffset: 1200 .*",
        dump("--files", paths(folder, ".txnindex")),
    )
    assert found.group().endswith("lastOffset: 1201 lastStableOffset: 1202"), (
        found.group()
    )


def test_the_producer_snapshots_are_read(folder):
    text = dump("--files", paths(folder, ".snapshot"))
    assert not COMPLAINT.search(text), text
    assert "producerId: 2 producerEpoch: 2" in text
    assert re.search(
        r"producerId: 9 .* currentTxnFirstOffset: OptionalLong\[1202\]", text
    )


def test_a_log_that_apache_kafka_wrote_is_read_and_goes_on(tmp_path):
    from kafka import KafkaProducer

    properties = {"log.index.interval.bytes": "1000", "num.partitions": "1"}
    with ApacheKafka(properties, data=tmp_path / "data") as kafka:
        for codec in (None, "gzip"):
            producer = KafkaProducer(
                bootstrap_servers=kafka.bootstrap, compression_type=codec, linger_ms=5
            )
            for number in range(500):
                producer.send(
                    "orders",
                    key=b"key",
                    value=b"value %d" % number,
                    headers=[("n", b"%d" % number)],
                )
            producer.flush()
            producer.close()
    disk = FolderDisk(tmp_path / "data")
    log = recovered(
        disk, clean=True, recovery_point=1000, topic_id=None, index_interval_bytes=1000
    )
    assert log.log_end_offset == 1000
    assert len(log.producers.producers) == 2
    indexes = {
        name: disk.read(f"orders-0/{name}")
        for name in disk.listdir("orders-0")
        if "index" in name
    }
    log.close()
    for name in indexes:
        disk.remove(f"orders-0/{name}")
    log = recovered(disk, topic_id=None, index_interval_bytes=1000)
    assert log.log_end_offset == 1000
    log.close()
    assert {name: disk.read(f"orders-0/{name}") for name in indexes} == indexes
    assert append(log, "ours").base_offset == 1000
    log.close()
    disk.close()
    with ApacheKafka(properties, data=tmp_path / "data") as kafka:
        from kafka import KafkaConsumer, TopicPartition

        consumer = KafkaConsumer(
            bootstrap_servers=kafka.bootstrap,
            group_id=None,
            auto_offset_reset="earliest",
        )
        consumer.assign([TopicPartition("orders", 0)])
        values = []
        while len(values) < 1001 and (polled := consumer.poll(timeout_ms=60_000)):
            values += [
                record.value for records in polled.values() for record in records
            ]
        consumer.close()
    assert values == [b"value %d" % number for number in range(500)] * 2 + [b"ours"]


# who sends, who commits (+) and who aborts (-)
STEPS = "plain long early plain -early late +late -long open plain"


def write_transactions(bootstrap):
    """Four transactional producers and a plain one, one record after another; one of
    the transactions stays open.
    """
    from confluent_kafka import Producer

    quiet = {"bootstrap.servers": bootstrap, "log_level": 0}
    producers = {"plain": Producer({**quiet, "enable.idempotence": True})}
    for name in ("early", "late", "long", "open"):
        producer = Producer({**quiet, "transactional.id": name})
        producer.init_transactions()
        producer.begin_transaction()
        producers[name] = producer

    def take(step):
        producer = producers[step.lstrip("+-")]
        if step.startswith("+"):
            producer.commit_transaction()
        elif step.startswith("-"):
            producer.abort_transaction()
        else:
            producer.produce("orders", step.encode())
            producer.flush()

    for step in STEPS.split():
        take(step)
    for end in ("-early", "+early", "-early"):
        producers["early"].begin_transaction()
        take("early")
        take(end)


def test_kip_98_of_a_log_with_transactions_we_rebuild_what_apache_kafka_wrote(tmp_path):
    """The aborted transactions and the producers, with their epochs and their
    coordinator's: as its files have them.
    """
    with ApacheKafka({"num.partitions": "1"}, data=tmp_path / "data") as kafka:
        write_transactions(kafka.bootstrap)
    disk = FolderDisk(tmp_path / "data")
    log = recovered(disk, clean=True, topic_id=None)
    end = log.log_end_offset
    wrote = {
        name: disk.read(f"orders-0/{name}")
        for name in (f"{0:020}.txnindex", f"{end:020}.snapshot")
    }
    assert len(log.aborted_transactions(0, end)) == 4
    log.close()
    for name in disk.listdir("orders-0"):
        if name.endswith((".txnindex", ".snapshot")):
            disk.remove(f"orders-0/{name}")
    log = recovered(disk, topic_id=None)
    log.close()
    ours = {name: disk.read(f"orders-0/{name}") for name in wrote}
    disk.close()
    assert ours[f"{0:020}.txnindex"] == wrote[f"{0:020}.txnindex"]
    known = decode_snapshot(ours[f"{end:020}.snapshot"])
    for producer in known.values():
        producer.batches = producer.batches[-1:]  # is all that Apache Kafka keeps
    assert known == decode_snapshot(wrote[f"{end:020}.snapshot"])
    ongoing = [
        producer
        for producer in known.values()
        if producer.transaction_first_offset is not None
    ]
    assert len(ongoing) == 1


def test_kip_98_apache_kafka_goes_on_from_our_snapshot_with_five_batches_of_a_producer(
    tmp_path,
):
    """Of several rows it takes the last one, which is all that it would have written
    itself.
    """

    def send(connection, sequence):
        # producers that were silent for long are forgotten
        now_ms = time.time_ns() // 1_000_000
        fields = {"producer_id": 7, "producer_epoch": 0, "base_sequence": sequence}
        answer = connection.produce("orders", batch(b"x", timestamp=now_ms, **fields))
        return (
            answer.base_offset
            if answer.error_code == Error.NONE
            else Error(answer.error_code)
        )

    data = tmp_path / "data"
    with ApacheKafka(data=data) as kafka, Connection(kafka.bootstrap) as connection:
        connection.create_topic("orders")
        assert [send(connection, sequence) for sequence in range(7)] == list(range(7))
    disk = FolderDisk(data)
    for name in disk.listdir("orders-0"):
        if name.endswith(".snapshot"):
            disk.remove(f"orders-0/{name}")
    recovered(disk, topic_id=None).close()
    [snapshot] = [
        name for name in disk.listdir("orders-0") if name.endswith(".snapshot")
    ]
    assert len(decode_snapshot(disk.read(f"orders-0/{snapshot}"))[7].batches) == 5
    disk.close()
    with ApacheKafka(data=data) as kafka, Connection(kafka.bootstrap) as connection:
        while send(connection, 6) is Error.NOT_LEADER_OR_FOLLOWER:
            pass  # it has just started
        assert [send(connection, sequence) for sequence in (6, 3, 7)] == [
            6,
            Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
            7,
        ]

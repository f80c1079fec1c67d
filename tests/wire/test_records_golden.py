"""Record batches against four other implementations: Apache Kafka's bytes,
kafka-python, aiokafka and kio.
"""

import datetime
import io
from pathlib import Path

import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AioBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AioBuilder
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from kio.records.readers import read_batch
from kio.records.schema import NewRecordBatch, RecordHeader
from kio.records.schema import Record as KioRecord
from kio.records.writers import write_new_batch

from minikafka.wire.errors import KafkaError
from minikafka.wire.internal_records import (
    ABORT,
    COMMIT,
    control_type,
    encode_end_transaction,
    encode_leader_change,
)
from minikafka.wire.records import (
    crc_matches,
    decode_batch,
    encode_batch,
    read_header,
    stamp,
)

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
LINES = (Path(__file__).parent / "record_batches.txt").read_text().splitlines()
APACHE = {
    name: bytes.fromhex(content)
    for name, content in (line.split() for line in LINES if line[0] != "#")
}

RECORDS = [
    (1700000000000, b"key", b"value", [("a", b"\1\2"), ("a", None), ("é", b"")]),
    (1699999999000, None, b"", []),
    (1700000000777, b"", None, []),
    (1700000000001, None, b"x" * 300, []),
]
FIELDS = {
    "base_offset": 7,
    "producer_id": 9,
    "producer_epoch": 3,
    "base_sequence": 2**31 - 1,
    "leader_epoch": 5,
}

small = st.none() | st.binary(max_size=50)
names = st.text(max_size=8)
records = st.lists(
    st.tuples(
        st.integers(0, 2**40),
        small,
        small,
        st.lists(st.tuples(names, st.none() | st.binary(max_size=9)), max_size=3),
    ),
    min_size=1,
    max_size=8,
)


def test_an_uncompressed_batch_has_apache_kafkas_bytes():
    assert encode_batch(RECORDS, **FIELDS) == APACHE["none"]


@pytest.mark.parametrize("codec", CODECS)
def test_apache_kafkas_batches_are_read(codec):
    batch = APACHE[codec]
    header = read_header(batch)
    assert crc_matches(batch, header)
    assert (header.compression, header.last_sequence, header.size_bytes) == (
        codec,
        2,
        len(batch),
    )
    assert [tuple(record) for record in decode_batch(batch)] == [
        (7 + n, *record) for n, record in enumerate(RECORDS)
    ]


@pytest.mark.parametrize(
    ("name", "kind", "offset"), [("commit", COMMIT, 11), ("abort", ABORT, 0)]
)
def test_end_transaction_markers_have_apache_kafkas_bytes(name, kind, offset):
    batch = bytearray(encode_end_transaction(kind == COMMIT, 22, 1, 6, 1700000000000))
    stamp(batch, offset, 4 if kind == COMMIT else -1)
    assert batch == APACHE[name]
    (record,) = decode_batch(APACHE[name])
    assert control_type(record) == kind


def test_a_leader_change_has_apache_kafkas_bytes():
    batch = bytearray(encode_leader_change(1, [1, 2], 1700000000000))
    stamp(batch, 0, 5)
    assert batch == APACHE["leader"]


def test_apache_kafkas_old_format_is_refused():
    with pytest.raises(KafkaError, match="magic 1"):
        read_header(APACHE["magic1"])


@given(records)
def test_kafka_python_builds_the_same_bytes(new):
    builder = DefaultRecordBatchBuilder(2, 0, 1, 77, 2, 5, 1 << 20)
    for number, (timestamp, key, value, headers) in enumerate(new):
        builder.append(number, timestamp, key, value, headers)
    ours = encode_batch(
        new, producer_id=77, producer_epoch=2, base_sequence=5, transactional=True
    )
    theirs = bytearray(builder.build())
    stamp(theirs, 0, -1)  # the leader epoch it leaves at 0
    assert ours == theirs


@given(records, st.sampled_from(CODECS))
def test_kafka_python_and_aiokafka_read_ours(new, codec):
    batch = encode_batch(new, base_offset=50, compression=codec)
    # kafka-python has its own packages for the codecs other than gzip
    for reader in (
        (DefaultRecordBatch, AioBatch) if codec in ("none", "gzip") else (AioBatch,)
    ):
        theirs = reader(batch)
        assert theirs.validate_crc()
        read = [
            (
                record.offset,
                record.timestamp,
                record.key,
                record.value,
                list(map(tuple, record.headers)),
            )
            for record in theirs
        ]
        assert read == [(50 + number, *record) for number, record in enumerate(new)]


@pytest.mark.parametrize(
    ("library", "codec"),
    [("kafka", 0), ("kafka", 1), *(("aio", codec) for codec in range(5))],
)
def test_the_compressed_batches_of_kafka_python_and_aiokafka_are_read(library, codec):
    builder = {"kafka": DefaultRecordBatchBuilder, "aio": AioBuilder}[library](
        2, codec, 0, -1, -1, -1, 1 << 20
    )
    for number in range(100):
        builder.append(number, 1000 + number, b"key", b"value" * number, [])
    batch = bytes(builder.build())
    assert crc_matches(batch, read_header(batch))
    assert [record.value for record in decode_batch(batch)] == [
        b"value" * number for number in range(100)
    ]


@given(records)
def test_kio_writes_and_reads_the_same_bytes(new):
    first = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    theirs = NewRecordBatch(
        producer_id=7,
        producer_epoch=1,
        partition_leader_epoch=4,
        base_sequence=3,
        attributes=0,
        records=tuple(
            KioRecord(
                attributes=0,
                timestamp=first + datetime.timedelta(seconds=timestamp // 1000),
                offset=number,
                key=key,
                value=value,
                headers=tuple(
                    RecordHeader(key=name.encode(), value=content)
                    for name, content in headers
                ),
            )
            for number, (timestamp, key, value, headers) in enumerate(new)
        ),
    )
    buffer = io.BytesIO()
    write_new_batch(buffer, theirs)
    rounded = [(record[0] // 1000 * 1000, *record[1:]) for record in new]
    ours = encode_batch(
        rounded, producer_id=7, producer_epoch=1, base_sequence=3, leader_epoch=4
    )
    assert ours == buffer.getvalue()
    read, _ = read_batch(ours, 0)
    assert [(record.key, record.value) for record in read.records] == [
        (record[1], record[2]) for record in new
    ]

"""Record batches: what is written can be read, and what can't be a batch is refused in
plain words.
"""

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minikafka.wire import compression
from minikafka.wire.errors import CorruptRecord, Error, KafkaError
from minikafka.wire.internal_records import (
    COMMIT,
    LEADER_CHANGE,
    control_type,
    encode_end_transaction,
    encode_leader_change,
)
from minikafka.wire.primitives import append_varint, read_varint
from minikafka.wire.records import (
    BATCH_OVERHEAD,
    assemble,
    batches,
    crc_matches,
    decode_batch,
    encode_batch,
    encode_raw,
    raw_records,
    read_header,
    stamp,
)

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

payloads = st.none() | st.binary(max_size=200)
headers = st.lists(
    st.tuples(st.text(max_size=10), st.none() | st.binary(max_size=20)), max_size=3
)
timestamps = st.integers(-1, 2**45)
records = st.lists(
    st.tuples(timestamps, payloads, payloads, headers), min_size=1, max_size=20
)


@given(records, st.sampled_from(CODECS), st.integers(0, 2**62))
def test_a_batch_holds_what_was_put_in(new, codec, base_offset):
    batch = encode_batch(
        new, base_offset=base_offset, compression=codec, leader_epoch=3
    )
    header = read_header(batch)
    assert crc_matches(batch, header)
    assert header.compression == codec
    assert (header.size_bytes, header.records_count, header.partition_leader_epoch) == (
        len(batch),
        len(new),
        3,
    )
    assert (header.base_timestamp, header.max_timestamp) == (
        new[0][0],
        max(record[0] for record in new),
    )
    expected = [(base_offset + number, *record) for number, record in enumerate(new)]
    assert [tuple(record) for record in decode_batch(batch)] == expected


@pytest.mark.parametrize("codec", CODECS)
def test_large_values_of_any_compressibility_survive_every_codec(codec):
    noise = bytes(range(256)) * 700
    new = [
        (0, None, noise[:150_000], []),
        (0, None, b"x" * 200_000, []),
        (0, b"", bytes.fromhex("deadbeef"), []),
    ]
    assert [
        record.value for record in decode_batch(encode_batch(new, compression=codec))
    ] == [row[2] for row in new]


@given(st.lists(records, max_size=4), st.integers(0, BATCH_OVERHEAD + 10))
def test_a_buffer_of_batches_is_walked_and_a_torn_end_left_out(many, torn):
    whole = [encode_batch(each) for each in many]
    tail = encode_batch([(0, None, b"value", [])] * 3)[:torn]
    found = list(batches(b"".join(whole) + tail))
    assert [bytes(batch) for _, batch in found] == whole


@given(records, st.data())
def test_one_wrong_bit_behind_the_crc_is_seen(new, data):
    batch = bytearray(encode_batch(new))
    position = data.draw(st.integers(17, len(batch) - 1))
    batch[position] ^= 1 << data.draw(st.integers(0, 7))
    assert not crc_matches(batch, read_header(batch))


def test_the_leader_stamps_offset_and_epoch_without_touching_the_crc():
    batch = bytearray(encode_batch([(1000, b"k", b"v", [])]))
    stamp(batch, 4711, 8)
    header = read_header(batch)
    assert (header.base_offset, header.partition_leader_epoch) == (4711, 8)
    assert crc_matches(batch, header)


def test_kip_32_log_append_time_replaces_every_timestamp_of_the_batch():
    batch = bytearray(
        encode_batch(
            [(1000, b"k", b"v", []), (2000, b"k", b"v", [])], compression="gzip"
        )
    )
    stamp(batch, 10, 0, log_append_time_ms=5555)
    header = read_header(batch)
    assert header.log_append_time and header.max_timestamp == 5555
    assert crc_matches(batch, header)
    assert [record.timestamp for record in decode_batch(batch)] == [5555, 5555]


def test_a_batch_is_stamped_inside_a_larger_frame():
    frame = bytearray(b"before" + encode_batch([(1, b"k", b"v", [])]) + b"after")
    view = memoryview(frame)[6:-5]
    stamp(view, 1, 2, 3)
    assert crc_matches(frame, read_header(frame, 6), 6)
    assert frame.startswith(b"before") and frame.endswith(b"after")


def test_kip_98_sequence_numbers_wrap_to_zero():
    one = [(0, None, b"", [])]
    assert (
        read_header(
            encode_batch(one * 3, producer_id=1, base_sequence=2**31 - 2)
        ).last_sequence
        == 0
    )
    assert (
        read_header(
            encode_batch(one, producer_id=1, base_sequence=2**31 - 1)
        ).last_sequence
        == 2**31 - 1
    )
    assert read_header(encode_batch(one * 3)).last_sequence == -1


def test_kip_98_an_end_transaction_marker_is_a_control_batch():
    batch = encode_end_transaction(
        True, producer_id=7, producer_epoch=1, coordinator_epoch=3, timestamp=1000
    )
    header = read_header(batch)
    assert header.control and header.transactional and header.producer_id == 7
    (record,) = decode_batch(batch)
    assert control_type(record) == COMMIT
    assert record.value == struct.pack(">hi", 0, 3)


def test_kip_595_a_leader_change_is_a_control_batch():
    (record,) = decode_batch(encode_leader_change(1, [1, 2, 3], 1000))
    assert control_type(record) == LEADER_CHANGE


@pytest.mark.parametrize("magic", [0, 1])
def test_the_formats_before_kafka_0_11_are_refused_by_name(magic):
    batch = bytearray(encode_batch([(0, None, b"v", [])]))
    batch[16] = magic
    with pytest.raises(KafkaError, match=f"old format with magic {magic}") as caught:
        read_header(batch)
    assert caught.value.error is Error.INVALID_RECORD


@pytest.mark.parametrize(
    ("at", "content"),
    [
        (8, struct.pack(">i", 48)),
        (8, struct.pack(">i", -1)),
        (16, b"\3"),
        (16, b"\xff"),
    ],
)
def test_a_header_of_nonsense_is_corrupt(at, content):
    batch = bytearray(encode_batch([(0, None, b"v", [])]))
    batch[at : at + len(content)] = content
    with pytest.raises(CorruptRecord):
        read_header(batch)


def test_too_few_bytes_are_corrupt():
    batch = encode_batch([(0, None, b"v", [])])
    for size in range(BATCH_OVERHEAD):
        with pytest.raises(CorruptRecord):
            read_header(batch[:size])
    with pytest.raises(CorruptRecord, match="only 62 are there"):
        decode_batch(batch[:62])


@given(st.binary(max_size=300), st.integers(0, 7), st.integers(-1, 50))
@example(b"\x0e\x00\x00\x00\x01\x01" + b"\xff" * 9 + b"\x01", 0, 1)
def test_garbage_in_a_batch_is_an_error_and_never_a_surprise(
    garbage, attributes, count
):
    batch = bytearray(encode_batch([(0, None, b"v", [])]))[:BATCH_OVERHEAD] + garbage
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    struct.pack_into(">h", batch, 21, attributes)
    struct.pack_into(">i", batch, 57, count)
    try:
        decode_batch(batch)
    except KafkaError as error:
        assert error.error in (
            Error.CORRUPT_MESSAGE,
            Error.UNSUPPORTED_COMPRESSION_TYPE,
        )


@given(st.integers(-(2**63), 2**63 - 1))
@example(0)
@example(-(2**63))
def test_varints_are_zigzag(number):
    data = bytearray()
    append_varint(data, number)
    assert read_varint(bytes(data), 0) == (number, len(data))
    assert len(data) <= 10


@given(st.binary(max_size=300))
@example(b"123456789")
def test_the_pure_crc_is_that_of_the_package(data):
    package = pytest.importorskip("crc32c")
    assert compression.pure_crc32c(data) == package.crc32c(data)
    assert compression.crc32c(data) == package.crc32c(data)


def test_the_crc_is_computed_in_c_where_the_package_is_installed():
    assert compression.crc32c is not compression.pure_crc32c


def test_the_crc_is_castagnolis():
    assert compression.pure_crc32c(b"123456789") == 0xE3069283


def test_without_cramjam_gzip_works_and_the_others_say_what_is_missing(monkeypatch):
    monkeypatch.setattr(compression, "cramjam", None)
    new = [(0, None, b"v", [])]
    assert decode_batch(encode_batch(new, compression="gzip"))[0].value == b"v"
    for codec in ("snappy", "lz4", "zstd"):
        with pytest.raises(KafkaError, match="pip install cramjam") as caught:
            encode_batch(new, compression=codec)
        assert caught.value.error is Error.UNSUPPORTED_COMPRESSION_TYPE


def test_librdkafkas_raw_snappy_is_read():
    import cramjam

    content = b"some content " * 20
    assert compression.decompress(
        "snappy", bytes(cramjam.snappy.compress_raw(content)), 1000
    ) == (content, True)


def test_lz4_frames_of_other_writers_are_read():
    import cramjam

    content = b"some content " * 20_000
    assert compression.decompress(
        "lz4", bytes(cramjam.lz4.compress(content)), 1 << 20
    ) == (content, True)


@pytest.mark.parametrize("codec", ["gzip", "lz4", "zstd"])
def test_only_the_wanted_beginning_is_decompressed(codec):
    content = bytes(range(256)) * 5000
    packed = compression.compress(codec, content)
    assert compression.decompress(codec, packed, 1000) == (content[:1000], False)
    assert compression.decompress(codec, packed, len(content) + 1) == (content, True)


def test_of_snappy_whole_blocks_are_decompressed():
    content = bytes(range(256)) * 5000
    packed = compression.compress("snappy", content)
    assert compression.decompress("snappy", packed, 1000) == (b"", False)
    assert compression.decompress("snappy", packed, 100 << 10) == (
        content[: 96 << 10],
        False,
    )


@pytest.mark.parametrize("codec", CODECS[1:])
def test_a_torn_batch_is_corrupt(codec):
    packed = compression.compress(codec, bytes(range(256)) * 5000)
    with pytest.raises(KafkaError, match="CORRUPT_MESSAGE"):
        compression.decompress(codec, packed[: len(packed) // 2], 1 << 24)


def test_a_snappy_block_that_announces_gigabytes_is_refused():
    with pytest.raises(KafkaError, match="CORRUPT_MESSAGE"):
        compression.decompress("snappy", b"\xff\xff\xff\xff\\x0f" + b"garbage", 1 << 20)


@given(st.sampled_from(CODECS[1:]), st.binary(max_size=300))
def test_garbage_is_a_decompression_error_of_every_codec(codec, garbage):
    try:
        compression.decompress(codec, garbage, 1 << 20)
    except KafkaError as error:
        assert error.error is Error.CORRUPT_MESSAGE


@given(records, st.sampled_from(CODECS))
def test_a_broker_reads_records_one_by_one_and_writes_them_as_they_were(new, codec):
    batch = encode_batch(new, compression=codec)
    header, content = read_header(batch), bytearray()
    for raw, record in zip(raw_records(batch), decode_batch(batch), strict=True):
        assert (raw.offset, raw.timestamp, raw.key, raw.value) == record[:4]
        assert raw.tombstone == (record.value is None)
        encode_raw(content, header, raw)
    assert decode_batch(assemble(header, content)) == decode_batch(batch)

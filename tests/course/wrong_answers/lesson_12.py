"""Lesson 12: decode a record batch; answer ApiVersions."""

import io
import struct

from minikafka.course.experiments.lesson_12_runs import Record
from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right


# --- 1: decode a batch ---


class Reader:
    """Reads a batch; each wrong answer changes one thing of it."""

    def __init__(self, data):
        self.stream = io.BytesIO(data)

    def byte(self):
        return self.stream.read(1)[0]

    def unsigned(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if not byte & 128:
                return value

    def varint(self):
        raw = self.unsigned()
        return (raw >> 1) ^ -(raw & 1)

    def null(self):
        return None

    def content(self):
        length = self.varint()
        return self.null() if length < 0 else self.stream.read(length)

    def name(self):
        return self.content().decode()

    def headers(self):
        return [(self.name(), self.content()) for _ in range(self.varint())]

    def offset(self, base, delta, number):
        return base + delta

    def time(self, base, delta):
        return base + delta

    def count(self, data):
        return int.from_bytes(data[57:61], "big")

    def record(self, base, base_ms, number):
        self.varint()
        self.byte()
        timestamp_ms = self.time(base_ms, self.varint())
        offset = self.offset(base, self.varint(), number)
        key, value = self.content(), self.content()
        return Record(offset, timestamp_ms, key, value, self.headers())

    def records(self):
        data = self.stream.getvalue()
        base = struct.unpack_from(">q", data, 0)[0]
        base_ms = struct.unpack_from(">q", data, 27)[0]
        self.stream.seek(61)
        return [self.record(base, base_ms, at) for at in range(self.count(data))]


def reads(called, /, **changes):
    """A function of this name, by a Reader with these methods."""
    kind = type(called, (Reader,), changes)

    def decode(batch):
        return kind(batch).records()

    decode.__name__ = called
    return decode


right(1)(reads("with_a_stream"))
right(1)(
    reads(
        "zigzag_by_parity",
        varint=lambda self: (
            -(raw + 1) // 2 if (raw := self.unsigned()) % 2 else raw // 2
        ),
    )
)


@right(1)
def as_tuples_until_the_end(batch):
    """Plain tuples, and no look at the count."""
    reader = Reader(batch)
    base, base_ms = (struct.unpack_from(">q", batch, at)[0] for at in (0, 27))
    reader.stream.seek(61)
    while reader.stream.tell() < len(batch):
        yield tuple(reader.record(base, base_ms, 0))


class NineBytes(Reader):
    def unsigned(self):
        value = 0
        for at in range(9):
            byte = self.byte()
            value |= (byte & 127) << 7 * at
            if not byte & 128:
                break
        return value


@wrong(1, "9223372036854775807", "and should be")
def a_varint_ends_after_nine_bytes(batch):
    return NineBytes(batch).records()


wrong(1, "it returned 0 records, and the batch has 256.")(
    reads("the_count_is_one_byte", count=lambda self, data: data[60])
)
wrong(1, "timestamp_ms is")(
    reads("no_time_before_1970", time=lambda self, base, delta: max(base + delta, 0))
)
wrong(1, "timestamp_ms is")(
    reads(
        "an_unsigned_base_timestamp",
        time=lambda self, base, delta: base % 2**64 + delta,
    )
)
wrong(1, "timestamp_ms is", "index out of range", "raised", "key is")(
    reads("without_zigzag", varint=lambda self: self.unsigned())
)


def highest_first(self):
    value = 0
    while True:
        byte = self.byte()
        value = value << 7 | byte & 127
        if not byte & 128:
            return value


wrong(1, "value is", "timestamp_ms is", "raised", "key is")(
    reads("highest_bits_first", unsigned=highest_first)
)
wrong(1, "bytes 61 to 62, 84 01, are one varint: the length of record 0 is 66")(
    reads("one_byte_each", unsigned=lambda self: self.byte() & 127)
)


def two_bytes_at_most(self):
    value = self.byte()
    return value if value < 128 else value & 127 | self.byte() << 7


def keeps_the_highest_bit(self):
    value = shift = 0
    while True:
        byte = self.byte()
        value |= byte << shift
        if byte < 128:
            return value
        shift += 7


def eight_bits_a_byte(self):
    value = shift = 0
    while True:
        byte = self.byte()
        value |= (byte & 127) << shift
        if byte < 128:
            return value
        shift += 8


wrong(1, "bytes 61 to 63, e2 8c 01, are one varint: the length of record 0 is 9009")(
    reads("two_bytes_at_most", unsigned=two_bytes_at_most)
)
wrong(1, "80 02, are one varint: the length of the value is 128")(
    reads("keeps_the_highest_bit", unsigned=keeps_the_highest_bit)
)
wrong(1, "80 01, are one varint: the length of the value is 64")(
    reads("eight_bits_a_byte", unsigned=eight_bits_a_byte)
)
wrong(1, "key is b'', and should be None", "value is b'', and should be None")(
    reads("null_is_empty", null=lambda self: b"")
)


def empty_is_null(self):
    length = self.varint()
    return self.stream.read(length) if length > 0 else None


wrong(1, "is None, and should be b''")(reads("empty_is_null", content=empty_is_null))
wrong(1, "offset is")(
    reads("offsets_without_gaps", offset=lambda self, base, delta, at: base + at)
)
wrong(1, "offset is")(
    reads("deltas_as_offsets", offset=lambda self, base, delta, at: delta)
)
wrong(1, "timestamp_ms is")(
    reads("one_time_for_all", time=lambda self, base, delta: base)
)
wrong(1, "timestamp_ms is")(
    reads("times_never_go_back", time=lambda self, base, delta: base + max(delta, 0))
)
wrong(1, "raised")(
    reads("names_in_ascii", name=lambda self: self.content().decode("ascii"))
)
wrong(1, "headers is")(reads("names_as_bytes", name=lambda self: self.content()))
wrong(1, "headers is")(
    reads(
        "sorted_headers",
        headers=lambda self: sorted(Reader.headers(self), key=str),
    )
)
wrong(1, "headers should be a list of pairs")(
    reads("headers_in_a_dict", headers=lambda self: dict(Reader.headers(self)))
)
wrong(1, "records, and the batch has")(
    reads("only_the_first", count=lambda self, data: 1)
)
wrong(1, "records, and the batch has", "raised")(
    reads("count_in_one_byte", count=lambda self, data: min(data[60], 64))
)


@wrong(1, "offset is", "headers is")
def no_headers_please(batch):
    """Never reads their count."""

    class Short(Reader):
        def headers(self):
            return []

    return Short(batch).records()


@wrong(1, "key is 'alice', and should be b'alice'", "key is")
def keys_as_text(batch):
    found = Reader(batch).records()
    return [
        record._replace(key=record.key and record.key.decode("utf-8", "replace"))
        for record in found
    ]


@wrong(1, "is no Record")
def dictionaries(batch):
    return [record._asdict() for record in Reader(batch).records()]


@wrong(1, "a list of Records")
def one_record(batch):
    return {"record": Reader(batch).records()[0]}


@wrong(1, "offset is")
def newest_first(batch):
    return Reader(batch).records()[::-1]


# --- 2: answer ApiVersions ---


def answer(
    frame,
    apis,
    *,
    known=lambda version, own: own[1] <= version <= own[2],
    own_only=True,
    of_unknown=0,
    error=35,
    compact=3,
    throttle=1,
    plus=1,
    header=b"",
    each=b"\0",
    last=b"\0",
    id_at=4,
):
    """The right one, if nothing is said otherwise."""
    version = struct.unpack_from(">h", frame, 2)[0]
    own = {api[0]: api for api in apis}[18]
    code = 0
    if not known(version, own):
        version, code = of_unknown, error
        apis = [own] if own_only else apis
    flexible = version >= compact
    parts = [
        frame[id_at : id_at + 4],
        header if flexible else b"",
        struct.pack(">h", code),
    ]
    parts.append(varint(len(apis) + plus) if flexible else struct.pack(">i", len(apis)))
    for api in apis:
        parts += [struct.pack(">hhh", *api), each if flexible else b""]
    parts.append(bytes(4) if version >= throttle else b"")
    parts.append(last if flexible else b"")
    return b"".join(parts)


def varint(number):
    data = bytearray()
    while True:
        number, low = divmod(number, 128)
        data.append(low | 128 if number else low)
        if not number:
            return bytes(data)


def answers(name, **changes):
    def api_versions(frame, apis):
        return answer(frame, apis, **changes)

    api_versions.__name__ = name
    return api_versions


right(2)(answers("with_struct"))


@right(2)
def as_a_bytearray(frame, apis):
    return bytearray(answer(frame, apis))


wrong(2, "should be 00 23", "the error code")(answers("no_error", error=0))
wrong(2, "the number of APIs")(answers("all_apis_to_the_unknown", own_only=False))
wrong(2, "goes on after its end", "the number of APIs")(
    answers("unknown_in_version_four", of_unknown=4)
)
wrong(2, "goes on after its end")(answers("unknown_in_version_one", of_unknown=1))
wrong(2, "the number of APIs")(answers("never_compact", compact=99))
wrong(2, "the number of APIs")(answers("compact_from_two", compact=2))
wrong(2, "the number of APIs")(answers("compact_without_plus_one", plus=0))
wrong(2, "the number of APIs")(answers("tagged_fields_in_the_header", header=b"\0"))
wrong(2, "the tagged fields")(answers("no_tagged_fields_each", each=b""))
wrong(2, "the tagged fields at the end")(
    answers("no_tagged_fields_at_the_end", last=b"")
)
wrong(2, "goes on after its end")(answers("throttle_in_version_zero", throttle=0))
wrong(2, "the throttle time")(answers("no_throttle", throttle=99))
wrong(2, "the throttle time", "the tagged fields at the end")(
    answers("throttle_from_two", throttle=2)
)
wrong(2, "the correlation id")(answers("no_correlation_id", id_at=0))
wrong(2, "the error code", "the number of APIs")(
    answers("zero_to_four_whatever_is_served", known=lambda v, own: 0 <= v <= 4)
)
wrong(2, "the error code", "the number of APIs")(
    answers("negative_is_known", known=lambda v, own: v <= own[2])
)


@wrong(2, "the number of APIs")
def a_count_of_one_byte(frame, apis):
    found = answer(frame, apis)
    version = struct.unpack_from(">h", frame, 2)[0]
    if version in (3, 4) and len(apis) > 126:
        return found[:6] + bytes([(len(apis) + 1) % 256]) + found[8:]
    return found


@wrong(2, "API")
def sorted_apis(frame, apis):
    return answer(frame, sorted(apis))


@wrong(2, "the correlation id")
def with_its_size(frame, apis):
    found = answer(frame, apis)
    return struct.pack(">i", len(found)) + found


@wrong(2, "should return bytes")
def as_hex(frame, apis):
    return answer(frame, apis).hex()


@wrong(2, "raised", "the correlation id")
def client_id_is_always_there(frame, apis):
    length = struct.unpack_from(">h", frame, 8)[0]
    frame[10 : 10 + length].decode("ascii")
    return answer(frame, apis)

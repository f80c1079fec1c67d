"""Lesson 12, the wire protocol: what a right answer does."""

from minikafka.course.experiments.lesson_12_runs import (
    AT_MS,
    ONE_RECORD,
    TWO_RECORDS,
    Record,
    versions_request,
)
from minikafka.course.judging.checks import Exercise, Rung, WrongKind, short
from minikafka.course.lessons import Question
from minikafka.wire.messages import encode_response
from minikafka.wire.primitives import read_varint, unsigned_varint
from minikafka.wire.records import (
    BATCH_OVERHEAD,
    assemble,
    decode_batch,
    encode_batch,
    encode_records,
    read_header,
)

EXIT_TICKET = (
    Question(
        "three brokers are advertised, and the machine finds one of them",
        right=3,
        why=(
            "3. The program's first questions are answered, so it knows which broker"
            " leads each partition. But it can only reach broker 1's address."
        ),
    ),
    Question(
        "a bit flips on a broker's disk",
        right=1,
        why=(
            "1. The broker stores the producer's checksum and sends it with the batch,"
            " and Java's consumer computes it again. TLS carries the damaged bytes"
            " unchanged."
        ),
    ),
    Question(
        "the bytes of an answer to ApiVersions",
        right=2,
        why=(
            "2. 5 is the correlation id, and 00 23 is error 35. The broker knows API 18,"
            " which is ApiVersions, in versions 0 to 3, so the client takes 3."
        ),
    ),
    Question(
        "ten records share a batch",
        right=2,
        why=(
            "2. A batch of ten takes 61 + 10 x (7 + 9) = 221 bytes, and there are 100"
            " batches. Only the header is shared."
        ),
        lesson="03",
    ),
    Question(
        "the last bytes of a record",
        right=3,
        why=(
            "3. 0a is 5 in zigzag, the length of the key. 01 is -1, so the value is"
            " null: a tombstone. An empty value would be 00. The last 00 says that"
            " there are no headers."
        ),
        lesson="04",
    ),
)

# --- 1: decode a record batch ---

MOST_SHOWN = 160  # bytes

NAMES = ("till", "Till", "", "straße", "trace-id", "t")
SMALL = (b"alice", b"bob", b"", b"0", b"None", "Zoë".encode(), b"\x00\xff\x01")


def exercise_1():
    """A batch in four rungs: one record; many; null; headers."""
    common = {"smaller": fewer, "describe": as_bytes, "broken": other_records}
    return Exercise(
        name="decode",
        right="your decoder reads what producers write.",
        hints=(
            (
                "Write a function for the varint first: it takes a position, and"
                " returns the number and the position after it. Everything else calls it."
            ),
            (
                "A varint: byte & 0x7F are the bits, the first byte has the lowest"
                " seven, and a byte below 0x80 is the last. Zigzag: an even number is"
                " twice the value, 1 is -1, 3 is -2."
            ),
            (
                "Key, value, a header's name and its content all have the same form:"
                " a length, then that many bytes; a length of -1 is None. So one more"
                " function reads them all. Decode the names."
            ),
        ),
        rungs=(
            Rung(
                holds="one record with a key and a value is read",
                cases={"the example": ONE_RECORD},
                scenario=lambda source: drawn(source, most=1),
                **common,
            ),
            Rung(
                holds="many records are read, with their offsets and times",
                cases=many_cases(),
                scenario=lambda source: drawn(source, most=90),
                **common,
            ),
            Rung(
                holds="null is None, and empty is not null",
                cases={
                    "no key": made((0, None, b"paid")),
                    "a tombstone": made((0, b"alice", None)),
                    "neither": made((0, None, None)),
                    "both empty": made((0, b"", b"")),
                },
                scenario=lambda source: drawn(source, most=5, nulls=True),
                **common,
            ),
            Rung(
                holds="headers are read, in their order",
                cases=header_cases(),
                scenario=lambda source: drawn(source, most=5, nulls=True, headers=True),
                **common,
            ),
        ),
    )


def many_cases():
    return {
        "a time that goes back": made((0, b"a", b"b"), (-1, b"a", b"b")),
        "a value of 64 bytes": made((0, b"a", 64 * b"x"), (1, b"a", b"b")),
        "a value of 9,000 bytes": made((0, b"a", 9000 * b"x")),
        "a month later": made((0, b"a", b"b"), (31 * 86_400_000, b"c", b"")),
        "a varint of ten bytes": made(
            (-AT_MS, b"a", b"b"), (2**63 - 1 - AT_MS, b"c", b"")
        ),
        "before 1970": made((-AT_MS - 5, b"a", b"b"), (-AT_MS, b"a", b"b")),
        "three hundred records": made(*((n, b"a", b"b") for n in range(300))),
        "gaps": with_gaps([0, 2, 70, 9000]),
        "the first one is gone": with_gaps([3, 4]),
    }


def header_cases():
    return {
        "the example": TWO_RECORDS,
        "a name twice": headed([("a", b"1"), ("a", b"2"), ("a", b"1")]),
        "a header without content": headed([("a", None), ("b", b"")]),
        "a name that is empty": headed([("", b"1")]),
        "a name with an umlaut": headed([("größe", b"\xff")]),
        "seventy headers": headed([("n", b"1")] * 70),
    }


def made(*records):
    """A batch of (ms after the first record, key, value)."""
    return encode_batch([(AT_MS + ms, key, value, []) for ms, key, value in records])


def headed(headers):
    return encode_batch([(AT_MS, b"alice", b"paid", headers)], base_offset=9)


def with_gaps(deltas):
    """As the cleaner leaves a batch: records keep their offsets."""
    records = [(AT_MS + delta, b"a", b"b", []) for delta in deltas]
    header = read_header(encode_batch(records, base_offset=40))
    header = header._replace(last_offset_delta=deltas[-1])
    return assemble(header, encode_records(header, zip(deltas, records, strict=True)))


def drawn(source, *, most, nulls=False, headers=False):
    """A random batch of one to so many records."""
    records, ms = [], 0
    for _ in range(source.randint(1, most)):
        key, value = drawn_bytes(source, nulls), drawn_bytes(source, nulls)
        named = drawn_headers(source) if headers else []
        records.append((AT_MS + ms, key, value, named))
        ms += source.choice((0, 1, 5, 5, 64, 9000, -1, -63, -64, -65, 10**10))
    offset = source.choice((0, 3, 255, 256, source.randrange(2**40)))
    return encode_batch(records, base_offset=offset)


def drawn_bytes(source, nulls):
    if nulls and source.random() < 0.3:
        return None
    long = source.random() < 0.1
    return source.randbytes(source.randint(60, 200)) if long else source.choice(SMALL)


def drawn_headers(source):
    count = source.choice((0, 0, 1, 2, 3))
    return [(source.choice(NAMES), drawn_bytes(source, True)) for _ in range(count)]


def fewer(batch):
    """Without one of its records."""
    records = decode_batch(batch)
    if len(records) > 1:
        base = read_header(batch).base_offset
        for gone in range(len(records)):
            left = records[:gone] + records[gone + 1 :]
            yield encode_batch([tuple(each[1:]) for each in left], base_offset=base)


def as_bytes(batch):
    """The bytes, and where a varint has more than one of them."""
    shown = batch.hex(" ")
    if len(batch) > MOST_SHOWN:
        shown = f"{batch[:96].hex(' ')} ..."
    lines = [f"{len(batch)} bytes, {shown}"]
    long = [
        (at, size, what, value)
        for at, size, what, value in varints(batch)
        if size > 1 and at + size <= MOST_SHOWN
    ]
    for at, size, what, value in long[:3]:
        written = batch[at : at + size].hex(" ")
        lines.append(
            f"  bytes {at} to {at + size - 1}, {written}, are one varint: {what} is {value}"
        )
    return "\n".join(lines)


def varints(batch):
    """(its first byte, how many, what it is, its value) of each, as they come."""
    at = BATCH_OVERHEAD

    def read(what):
        nonlocal at
        first = at
        value, at = read_varint(batch, first)
        return first, at - first, what, value

    for number in range(read_header(batch).records_count):
        yield read(f"the length of record {number}")
        at += 1  # attributes
        yield read("the time after the base timestamp")
        yield read("the offset after the base offset")
        for what in ("the key", "the value"):
            yield (length := read(f"the length of {what}"))
            at += max(0, length[-1])
        yield (count := read("the number of headers"))
        for _ in range(count[-1]):
            for what in ("a header's name", "a header's content"):
                yield (length := read(f"the length of {what}"))
                at += max(0, length[-1])


def other_records(answer, batch):
    """The first record that differs from the one in the batch."""
    found = answer(batch)
    if isinstance(found, str | bytes | dict) or not hasattr(found, "__iter__"):
        raise WrongKind(f"decode should return a list of Records, not {short(found)}.")
    found = list(found)
    right = [Record(*record) for record in decode_batch(batch)]
    for number, (mine, record) in enumerate(zip(found, right, strict=False)):
        told = another_field(mine, record)
        if told:
            return f"record {number}: {told}"
    if len(found) != len(right):
        return f"it returned {len(found)} records, and the batch has {len(right)}."
    return None


def another_field(mine, record):
    if not isinstance(mine, tuple) or len(mine) != len(Record._fields):
        raise WrongKind(f"{short(mine)} in the list isn't a Record.")
    if not isinstance(mine[-1], list | tuple):
        raise WrongKind(f"headers should be a list of pairs, not {short(mine[-1])}.")
    for name, got, wanted in zip(Record._fields, mine, record, strict=True):
        if name == "headers":
            got = [tuple(pair) if isinstance(pair, list) else pair for pair in got]
        same_kind = isinstance(got, bytes) if isinstance(wanted, bytes) else True
        if got != wanted or not same_kind or isinstance(got, bool):
            return f"{name} is {short(got)}, and should be {short(wanted)}."
    return None


# --- 2: answer ApiVersions ---

NEWEST = 4
EXAMPLE = [(0, 0, 13), (18, 0, 4)]
CLIENTS = ("shop", "", "kafka-python", "größe", None)
FRAME, APIS = range(2)
UNKNOWN = {
    "the example": (versions_request(99, 7, "shop"), EXAMPLE),
    "the next one": (versions_request(5, 7, "shop"), EXAMPLE),
    "the highest there is": (versions_request(32767, 7, ""), EXAMPLE),
    "a negative one": (versions_request(-1, 7, "shop"), EXAMPLE),
    "a broker without version 3": (
        versions_request(3, 7, "shop"),
        [(18, 0, 2), (19, 2, 7)],
    ),
    "a broker without version 0": (
        versions_request(0, 7, "shop"),
        [(0, 3, 13), (18, 1, 4)],
    ),
}


def exercise_2():
    """ApiVersions in four rungs: version 0; 1 and 2; 3 and 4; what is unknown."""
    common = {"smaller": fewer_apis, "describe": as_request, "broken": other_answer}
    return Exercise(
        name="api_versions",
        right="real clients go on after your answer.",
        hints=(
            (
                "You need only two fields of the request: bytes 2 and 3 are the version,"
                " and bytes 4 to 7 the correlation id."
            ),
            (
                "number.to_bytes(2, 'big', signed=True) is an int16. In versions 3 and"
                " 4 a byte 0 follows each API, and another one ends the answer: no"
                " tagged fields."
            ),
            (
                "First decide on the version of the answer, the error code and the"
                " list: for an unknown version that is 0, 35 and the entry with key 18"
                " alone. Then write the answer as you would any other."
            ),
        ),
        rungs=(
            Rung(
                holds="version 0 is answered",
                cases={"the example": (versions_request(0, 7, "shop"), EXAMPLE)},
                scenario=lambda source: asked(source, (0,)),
                **common,
            ),
            Rung(
                holds="versions 1 and 2 have a throttle time",
                cases={
                    f"version {version}": (versions_request(version, 7, "a"), EXAMPLE)
                    for version in (1, 2)
                },
                scenario=lambda source: asked(source, (0, 1, 2)),
                **common,
            ),
            Rung(
                holds="versions 3 and 4 are compact",
                cases={
                    f"version {version}, {count} APIs": (
                        versions_request(version, 2**31 - 1, None),
                        many_apis(count),
                    )
                    for version in (3, 4)
                    for count in (1, 126, 127, 128, 300)
                },
                scenario=lambda source: asked(source, (0, 1, 2, 3, 4)),
                **common,
            ),
            Rung(
                holds="an unknown version is answered in version 0, with error 35",
                cases=UNKNOWN,
                scenario=unknown_or_not,
                **common,
            ),
        ),
    )


def many_apis(count):
    others = [(key, key % 3, key % 3 + key % 17) for key in range(count) if key != 18]
    return [*others[: count - 1], (18, 0, NEWEST)]


def asked(source, versions, newest=NEWEST):
    """A random request, and a broker's APIs in any order."""
    keys = source.sample([key for key in range(95) if key != 18], source.randint(0, 9))
    lows = [(key, source.randint(0, 4)) for key in keys]
    apis = [(key, low, low + source.randint(0, 300)) for key, low in lows]
    apis.insert(source.randint(0, len(apis)), (18, 0, newest))
    correlation_id = source.choice((0, 1, 7, 2**31 - 1, -1, source.randrange(2**31)))
    client = source.choice(CLIENTS)
    return versions_request(source.choice(versions), correlation_id, client), apis


def unknown_or_not(source):
    versions = (0, 1, 2, 3, 4, 5, 6, 99, source.randrange(6, 32768), -2)
    return asked(source, versions, newest=source.randint(0, NEWEST))


def fewer_apis(case):
    frame, apis = case
    for gone, api in enumerate(apis):
        if api[0] != 18:
            yield frame, apis[:gone] + apis[gone + 1 :]


def as_request(case):
    frame, apis = case
    version = int.from_bytes(frame[2:4], "big", signed=True)
    told = str(apis) if len(apis) <= 6 else f"{len(apis)} of them, {apis[:3]} ..."
    return f"version {version}, apis {told}, frame {frame.hex(' ')}"


def answered(case):
    """(version of the answer, error code, APIs in it)."""
    frame, apis = case
    version = int.from_bytes(frame[2:4], "big", signed=True)
    own = next(api for api in apis if api[0] == 18)
    if own[1] <= version <= own[2]:
        return version, 0, apis
    return 0, 35, [own]


def right_answer(case):
    """By the schema."""
    version, error_code, apis = answered(case)
    named = [
        {"api_key": key, "min_version": low, "max_version": high}
        for key, low, high in apis
    ]
    correlation_id = int.from_bytes(case[FRAME][4:8], "big", signed=True)
    body = {"error_code": error_code, "api_keys": named}
    return b"".join(encode_response("ApiVersions", version, correlation_id, body))


def parts(case):
    """(what it is, how many bytes) of the right answer, in order."""
    version, _, apis = answered(case)
    compact = version >= 3
    yield "the correlation id", 4
    yield "the error code", 2
    count = len(unsigned_varint(len(apis) + 1)) if compact else 4
    yield "the number of APIs", count
    for key, _, _ in apis:
        yield f"API {key}", 6
        if compact:
            yield f"the tagged fields of API {key}", 1
    if version >= 1:
        yield "the throttle time", 4
    if compact:
        yield "the tagged fields at the end", 1


def other_answer(answer, case):
    """The first field that differs from the right answer."""
    found = answer(*case)
    if not isinstance(found, bytes | bytearray):
        raise WrongKind(f"api_versions should return bytes, not {short(found)}.")
    found, right, at = bytes(found), right_answer(case), 0
    for what, size in parts(case):
        mine, wanted = found[at : at + size], right[at : at + size]
        if mine != wanted:
            told = mine.hex(" ") or "missing"
            return f"{what}, from byte {at}: {told}, and should be {wanted.hex(' ')}."
        at += size
    if len(found) > len(right):
        more = found[len(right) :].hex(" ")
        return f"the answer goes on after its end: {short(more)}."
    return None

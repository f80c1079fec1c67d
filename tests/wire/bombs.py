"""Batches that were made to be a burden: small on the wire, large or endless for
whoever decodes them. Each has the right CRC. A table, for the tests of every place
where records are decoded, and for tests/soak/bombs.py.
"""

import struct
from functools import cache

from minikafka.wire.compression import CODECS, compress, crc32c

NOW_MS = 1_767_225_600_000
# a record of 7 bytes: an empty key, no value, no headers
SMALLEST = b"\x0c\0\0\0\0\1\0"


def varint(value):
    rest, data = value << 1 if value >= 0 else (-value << 1) - 1, b""
    while rest > 0x7F:
        data, rest = data + bytes([rest & 0x7F | 0x80]), rest >> 7
    return data + bytes([rest])


def record(offset_delta=0, timestamp_delta=0, key=b"\2k", value=b"\2v", headers=b"\0"):
    """One record; key, value and headers as they are encoded."""
    body = (
        b"\0" + varint(timestamp_delta) + varint(offset_delta) + key + value + headers
    )
    return varint(len(body)) + body


def batch(
    content,
    count=1,
    codec="none",
    base_timestamp=NOW_MS,
    max_timestamp=NOW_MS,
    torn=False,
):
    """A batch with this content. torn: half of what is compressed is missing."""
    packed = bytes(compress(codec, content))
    packed = packed[: len(packed) // 2] if torn else packed
    rest = struct.pack(
        ">hiqqqhii",
        CODECS.index(codec),
        count - 1,
        base_timestamp,
        max_timestamp,
        -1,
        -1,
        -1,
        count,
    )
    rest += packed
    return bytearray(
        struct.pack(">qiibI", 0, len(rest) + 9, -1, 2, crc32c(rest)) + rest
    )


def ordinary(count):
    return b"".join(record(offset) for offset in range(count))


BOMBS = {
    # what it is -> content, number of records, torn
    "five million tiny records": lambda: (SMALLEST * 5_000_000, 5_000_000, False),
    "more records than one request may bring": lambda: (
        ordinary(160_000),
        160_000,
        False,
    ),
    "one huge value": lambda: (
        record(value=varint(40 << 20) + bytes(40 << 20)),
        1,
        False,
    ),
    "seven million headers": lambda: (
        record(headers=varint(7_000_000) + bytes(14_000_000)),
        1,
        False,
    ),
    "headers that are not there": lambda: (record(headers=varint(1 << 30)), 1, False),
    "two billion records announced": lambda: (record(), 2**31 - 1, False),
    "fewer records announced": lambda: (ordinary(1000), 1, False),
    "a key longer than its record": lambda: (record(key=varint(1 << 40)), 1, False),
    "a value longer than its record": lambda: (record(value=varint(1 << 29)), 1, False),
    "a record longer than its batch": lambda: (varint(1 << 30) + record(), 1, False),
    "a record of a negative length": lambda: (varint(-5) + record(), 2, False),
    "a number without an end": lambda: (b"\xff" * 10_000, 1, False),
    "offsets far outside": lambda: (record(1 << 62), 1, False),
    "a timestamp beyond 64 bits": lambda: (
        record(timestamp_delta=1 << 63) + record(1, -(1 << 63)),
        2,
        False,
    ),
    "torn": lambda: (ordinary(100_000), 100_000, True),
}


@cache
def _content(what):
    return BOMBS[what]()


@cache
def bomb(what, codec, max_timestamp=NOW_MS):
    """The bytes of a batch that is small, and large once it is unpacked."""
    content, count, torn = _content(what)
    return bytes(batch(content, count, codec, max_timestamp=max_timestamp, torn=torn))

"""Lesson 12's experiments and measurements: the bytes of one produce request beside
their fields, what a broker answers when one of them is flipped, how it answers versions
that it doesn't know, and how much a record costs.
"""

import struct
import time
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from minikafka.course.data import dataset
from minikafka.simulation.cluster import Cluster
from minikafka.simulation.network import Link
from minikafka.wire import compression
from minikafka.wire.errors import Error
from minikafka.wire.messages import (
    API,
    decode_response,
    encode_request,
)
from minikafka.wire.primitives import append_varint
from minikafka.wire.records import encode_batch

TOPIC = "orders"
AT_MS = 1_700_000_000_000  # when the order was paid
VERSION, CORRELATION_ID, CLIENT = 8, 7, "shop"
STORED, CLOSED = "stored", "hung up"
NO_ANSWER = "no answer"
PATIENCE_S = 60
NAMES_SOFTWARE = 3  # the first version of ApiVersions that says which client it is


class Record(NamedTuple):
    """A record of exercise 1. headers: a list of (name, content), content is bytes or
    None.
    """

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


# exercise 1's examples
ONE_RECORD = encode_batch([(AT_MS, b"alice", b"paid", [])], base_offset=3)
TWO_RECORDS = encode_batch(
    [
        (AT_MS, b"alice", b"paid", [("till", b"7")]),
        (AT_MS - 5, b"bob", None, []),
    ],
    base_offset=700,
)


# -- one request, byte by byte

# A Produce request, version 8, with one record: field and how many bytes it takes.
LAYOUT = (
    ("API key", 2),
    ("API version", 2),
    ("correlation id", 4),
    ("client id: length", 2),
    ("client id", 4),
    ("transactional id: null", 2),
    ("acks", 2),
    ("timeout", 4),
    ("topics: count", 4),
    ("topic: length", 2),
    ("topic", 6),
    ("partitions: count", 4),
    ("partition", 4),
    ("records: length", 4),
    ("batch: base offset", 8),
    ("batch: length", 4),
    ("batch: leader epoch", 4),
    ("batch: magic", 1),
    ("batch: checksum", 4),
    ("batch: other fields", 40),
    ("record: length to key's length", 5),
    ("record: key", 5),
    ("record: value's length", 1),
    ("record: value", 4),
    ("record: headers' count", 1),
)


def order_request(acks: int = -1) -> bytes:
    """A produce request with one order, without its size."""
    batch = encode_batch([(AT_MS, b"alice", b"paid", [])])
    partition = {"index": 0, "records": batch}
    topic = {"name": TOPIC, "partition_data": [partition]}
    body = {"acks": acks, "timeout_ms": 10_000, "topic_data": [topic]}
    return b"".join(encode_request("Produce", VERSION, CORRELATION_ID, CLIENT, body))


def fields(frame: bytes) -> Iterable[tuple[str, int, bytes]]:
    """(field, where it begins, its bytes) of such a request."""
    at = 0
    for name, size in LAYOUT:
        yield name, at, frame[at : at + size]
        at += size


class Client:
    """A connection to the first broker of a simulated cluster, over which any bytes may
    go.
    """

    state = "up"

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.name = name
        self._cluster = cluster
        self._answers: list[bytes] = []
        self._is_open = True
        address = cluster.bootstrap()[0]
        self._link = cluster.network.connect(self, name, address)

    def reply(self, link: Link, frame: bytearray) -> None:
        self._answers.append(bytes(frame))

    def lost(self, link: Link) -> None:
        self._is_open = False

    def ask(self, frame: bytes) -> bytes | None:
        """The answer, without its size; None if the broker hangs up or keeps silent."""
        self._cluster.network.request(self._link, [frame])
        for _ in range(PATIENCE_S):
            if self._answers or not self._is_open:
                break
            self._cluster.run(seconds=1)
        return self._answers.pop() if self._answers else None

    @property
    def hung_up(self) -> bool:
        """Whether the broker did."""
        return not self._is_open


def shop(seed: int = 12) -> Cluster:
    """One broker, and the topic orders with one partition."""
    cluster = Cluster(seed=seed)
    cluster.create_topic(TOPIC, partitions=1)
    return cluster


def flip_each(cluster: Cluster, frame: bytes) -> list[str]:
    """Send the request once for each of its bytes, with this byte's lowest bit flipped.
    For each byte what came of it.
    """
    found = []
    for at in range(len(frame)):
        client = Client(cluster, f"client {at}")
        answer = client.ask(flipped(frame, at))
        found.append(what_came(answer, client.hung_up))
    return found


def flipped(frame: bytes, at: int) -> bytes:
    """The lowest bit of one byte is another one."""
    damaged = bytearray(frame)
    damaged[at] ^= 1
    return bytes(damaged)


def what_came(answer: bytes | None, hung_up: bool) -> str:
    """An answer to such a request in a word or two."""
    if answer is None:
        return CLOSED if hung_up else NO_ANSWER
    correlation_id, body = decode_response("Produce", VERSION, answer)
    partitions = [
        each for topic in body.responses for each in topic.partition_responses
    ]
    if not partitions:
        return "nothing to do"
    if partitions[0].error_code:
        return Error(partitions[0].error_code).name
    return STORED if correlation_id == CORRELATION_ID else f"{STORED}, another id"


def show_by_field(frame: bytes, found: Sequence[str]) -> None:
    """Prints for each field what came of its bytes."""
    for name, at, data in fields(frame):
        told = dict.fromkeys(found[at : at + len(data)])
        print(f"{name:31} {len(data):>2} bytes   {', '.join(told)}")


# -- versions


def asked_in_version(api: str, version: int) -> str:
    """A client asks a broker in this version of an API, whatever it is. Returns what
    comes back.
    """
    frame = of_the_future(api, version, CORRELATION_ID, CLIENT)
    answer = Client(shop(), "client").ask(frame)
    return CLOSED if answer is None else answer.hex(" ")


def versions_request(version: int, correlation_id: int, client_id: str | None) -> bytes:
    """A request for ApiVersions without its size, in a known version or one of the
    future.
    """
    if version in range(API["ApiVersions"].max_version + 1):
        software = {"client_software_name": "shop", "client_software_version": "1"}
        body = software if version >= NAMES_SOFTWARE else {}
        known = encode_request("ApiVersions", version, correlation_id, client_id, body)
        return b"".join(known)
    return of_the_future("ApiVersions", version, correlation_id, client_id)


def of_the_future(
    api: str, version: int, correlation_id: int, client_id: str | None
) -> bytes:
    """A request whose header is today's newest, and whose body nobody knows."""
    name = b"" if client_id is None else client_id.encode()
    length = -1 if client_id is None else len(name)
    header = struct.pack(">hhih", API[api].key, version, correlation_id, length)
    return header + name + b"\0" + b"from the future"


# -- what a record costs


def zigzag(number: int) -> bytes:
    """The number as a record has it."""
    data = bytearray()
    append_varint(data, number)
    return bytes(data)


def batch_bytes(records: int) -> int:
    """The size of a batch of this many records: key alice, value paid, a ms apart."""
    return len(
        encode_batch([(AT_MS + ms, b"alice", b"paid", []) for ms in range(records)])
    )


@cache
def _orders(count: int) -> list[Any]:
    return list(dataset("orders").stream("orders", count=count, seed=7))


def stored_bytes(codec: str, records_a_batch: int, count: int = 1000) -> int:
    """How many bytes a thousand orders of the data set take, in batches of this many,
    compressed with this codec.
    """
    records: list[Any] = [
        (each.ingest_ms, each.key, each.value, []) for each in _orders(count)
    ]
    return sum(
        len(encode_batch(records[at : at + records_a_batch], compression=codec))
        for at in range(0, count, records_a_batch)
    )


def kept_percent(codec: str, records_a_batch: int) -> float:
    """The size of such batches, in percent of the size without compression."""
    plain = stored_bytes("none", records_a_batch)
    return 100 * stored_bytes(codec, records_a_batch) / plain


def codecs() -> list[str]:
    """Those to compare. zstd needs a package that a browser's tab doesn't have."""
    return ["none", "gzip", "zstd"] if compression.cramjam else ["none", "gzip"]


def milliseconds(codec: str, records_a_batch: int) -> float:
    """How long this machine takes to make these batches, compression and all: the
    shortest of ten times, since others work on it, too.
    """
    times = []
    for _ in range(10):
        began = time.perf_counter()
        stored_bytes(codec, records_a_batch)
        times.append(time.perf_counter() - began)
    return 1000 * min(times)

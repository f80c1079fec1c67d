"""Lesson 08's experiments and measurements: an address book that is compacted, the
contents of its segments, what a search reads, what a crash leaves, and how fast this
machine's disk is.
"""

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from minikafka.clock import Now
from minikafka.simulation.clock import MIDNIGHT_MS
from minikafka.simulation.cluster import Cluster
from minikafka.simulation.memory_disk import MemoryDisk, MemoryFile
from minikafka.storage.config import LogConfig
from minikafka.storage.file_names import LOG
from minikafka.storage.log import Log
from minikafka.trace import Event, Trace
from minikafka.wire.compression import crc32c as wire_crc32c
from minikafka.wire.primitives import Buffer
from minikafka.wire.records import encode_batch

_MOST_BYTES = 256 << 20  # that the measure of a disk writes
# who moves, in this order
MOVERS = (
    *("alice", "bob", "carol", "alice", "bob", "alice"),
    *("carol", "alice", "dora", "bob", "alice", "carol"),
)
_BEFORE_LUNCH = 3  # moves that search has read
HOUR_S = 3600
DAY_S = 24 * HOUR_S
_BETWEEN_MOVES_S = 18 * HOUR_S  # of bob, while search is away
HOUR_MS = 1000 * HOUR_S
TOPIC = "addresses"

Pair = tuple[str, str | None]


class Record(NamedTuple):
    """A record of exercise 1. horizon_ms: of a tombstone that a pass has kept, the time
    from which on a pass drops it; None before that.
    """

    offset: int
    timestamp_ms: int
    key: str
    value: str | None
    horizon_ms: int | None = None


def crc32c(data: bytes) -> int:
    """Kafka's checksum (CRC-32C, Castagnoli) of these bytes."""
    return wire_crc32c(data)


# -- an address book


def address_book(**configs: Any) -> Cluster:
    """A cluster with the compacted topic addresses: one partition, and these configs,
    written with underscores.
    """
    cluster = Cluster(seed=8)
    named = {name.replace("_", "."): str(value) for name, value in configs.items()}
    policy = {"cleanup.policy": "compact"}
    cluster.create_topic(TOPIC, partitions=1, configs=policy | named)
    return cluster


def write(cluster: Cluster, *pairs: Pair, every_s: float = 0) -> None:
    """The shop writes these customers and addresses, one after the other. An address of
    None is a tombstone.
    """
    shop = cluster.producer(client_id="shop")
    for customer, address in pairs:
        shop.send(TOPIC, key=customer, value=address).get()
        cluster.run(seconds=every_s)


def after_three_days(*, somebody_moves: bool = False, **configs: Any) -> Cluster:
    """Alice's address, and a day later her tombstone. Then three days go by, in which
    nobody else moves, or Bob does, once a day.
    """
    cluster = address_book(**configs)
    write(cluster, ("alice", "12 Elm Street"), ("alice", None), every_s=DAY_S)
    if somebody_moves:
        moves = [("bob", f"{number} Oak Road") for number in (1, 2, 3)]
        write(cluster, *moves, every_s=DAY_S)
    else:
        cluster.run(seconds=3 * DAY_S)
    return cluster


def read_all(cluster: Cluster) -> list[tuple[int, str, str | None]]:
    """(offset, customer, address) of all records that a reader gets from the start."""
    return [
        (record.offset, text(record.key) or "", text(record.value))
        for record in cluster.records(TOPIC, 0)
    ]


def address_of(customer: str, cluster: Cluster) -> str | None:
    """The last address of a customer that is still in the log; a tombstone isn't
    one.
    """
    found = [address for _, name, address in read_all(cluster) if name == customer]
    return next((address for address in reversed(found) if address is not None), None)


def text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode()


def show(cluster: Cluster) -> None:
    """Prints the log, a segment a line."""
    log = _log_of(cluster)
    records = read_all(cluster)
    starts = [segment.base_offset for segment in log.segments]
    ends = [*starts[1:], log.log_end_offset]
    for start, end in zip(starts, ends, strict=True):
        inside = [record for record in records if start <= record[0] < end]
        told = ", ".join(f"{offset} {key}={value}" for offset, key, value in inside)
        kind = "active" if start == starts[-1] else "closed"
        print(f"{start:>4} to {end:<4} {kind}   {told or 'no record'}")


def _log_of(cluster: Cluster) -> Log:
    replica = cluster.brokers[1].broker.replicas.find_or_create(TOPIC, 0)
    assert replica is not None
    return replica.log


# -- when it is cleaned


class Cost(NamedTuple):
    """The cost of two days of moves: passes of the cleaner, how many bytes they
    rewrote, and the largest size of the log.
    """

    passes: int
    rewritten_bytes: int
    largest_bytes: int


def two_days_of_moves(ratio: float) -> Cost:
    """100 customers. Each hour sixty of them move, and a segment is an hour."""
    cluster = address_book(segment_ms=HOUR_MS, min_cleanable_dirty_ratio=ratio)
    shop = cluster.producer(client_id="shop")
    random = Random(8)
    largest_bytes = 0
    for _ in range(48):
        for _ in range(60):
            customer = f"customer {random.randrange(100)}"
            shop.send(TOPIC, key=customer, value="a new address")
        cluster.run(seconds=HOUR_S + 1)
        largest_bytes = max(largest_bytes, _log_of(cluster).size_bytes)
    passes = [event.detail for event in cluster.trace if is_compaction(event)]
    rewritten_bytes = sum(detail["size_bytes_after"] for detail in passes)
    return Cost(len(passes), rewritten_bytes, largest_bytes)


def is_compaction(event: Event) -> bool:
    return event.kind == "SegmentsCompacted"


# -- a reader that keeps a table


class Search:
    """A program that reads addresses and keeps a table of them, as a search does."""

    def __init__(self, cluster: Cluster, name: str = "search") -> None:
        self.cluster = cluster
        self.table: dict[str, str] = {}
        self._consumer = cluster.consumer(
            TOPIC, auto_offset_reset="earliest", client_id=name
        )

    def read(self) -> list[int]:
        """Read on, up to the end: the offsets that came. A tombstone takes a customer
        out of the table.
        """
        offsets = []
        while found := self._consumer.poll(timeout_ms=1000):
            for records in found.values():
                for record in records:
                    offsets.append(record.offset)
                    customer, address = text(record.key) or "", text(record.value)
                    if address is None:
                        self.table.pop(customer, None)
                    else:
                        self.table[customer] = address
        return offsets


def reads_on(event: Event) -> bool:
    """Whether search is back from lunch, and is answered."""
    is_poll = event.kind == "RecordsPolled" and event.node == "search"
    is_first = is_poll and event.detail["position"] <= _BEFORE_LUNCH
    return event.kind == "FetchRefused" or (is_poll and not is_first)


def what_came(trace: Sequence[Event]) -> int | None:
    """The number of the option that is true of this answer; None before it."""
    answer = next(filter(reads_on, trace), None)
    if answer is None:
        return None
    if answer.kind == "FetchRefused":
        return 1
    appended = [event for event in trace if event.kind == "RecordsAppended"]
    first, *_ = answer.detail["records"][0]
    is_at_the_end = first == appended[-1].detail["last_offset"]
    return 2 if is_at_the_end else 3


def search_that_was_away(days: float, **configs: Any) -> tuple[Search, Search]:
    """search reads, and then stops for this many days, in which alice is deleted and
    bob moves every 18 hours. Returns search when it has read on, and a new reader that
    begins then.
    """
    hourly = {"segment_ms": HOUR_MS, "min_cleanable_dirty_ratio": 0.1}
    cluster = address_book(**hourly | configs)
    write(cluster, ("alice", "12 Elm Street"), ("bob", "1 Oak Road"), every_s=60)
    search = Search(cluster)
    search.read()
    write(cluster, ("alice", None), every_s=_BETWEEN_MOVES_S)
    steps = round(days * DAY_S / _BETWEEN_MOVES_S)
    moves = [("bob", f"{number} Oak Road") for number in range(2, steps + 1)]
    write(cluster, *moves, every_s=_BETWEEN_MOVES_S)
    search.read()
    new = Search(cluster, "new")
    new.read()
    return search, new


def pass_that_drops(offset: int, trace: Sequence[Event]) -> int | None:
    """The number, from 1, of the cleaner's pass that drops a record; None if it is
    still there.
    """
    passes = 0
    for event in trace:
        if event.kind == "CompactionStarted":
            passes += 1
        elif event.kind == "SegmentCopied":
            gone = [each for each, _ in event.detail["gone_offsets"]]
            if offset in gone:
                return passes
    return None


def second_pass_begins(event: Event) -> bool:
    """The cleaner begins a pass, and a part of the log is clean already."""
    return event.kind == "CompactionStarted" and event.detail["first_dirty_offset"] > 0


def pass_that_drops_alice(trace: Sequence[Event]) -> int | None:
    """The number of the option: alice's tombstone, offset 2, goes in the second, the
    third or the fourth pass; None if it is still there.
    """
    return {2: 1, 3: 2, 4: 3}.get(pass_that_drops(2, trace) or 0)


# -- what a search reads


class CountingFile(MemoryFile):
    """Counts what is read of it."""

    read_bytes = 0

    def pread(self, size: int, at: int) -> bytes:
        found = super().pread(size, at)
        self.read_bytes += len(found)
        return found


class CountingDisk(MemoryDisk):
    """A disk in memory whose files count what is read of them."""

    def open(self, path: str, create: bool = True) -> MemoryFile:
        if create and not self.exists(path):
            folder, name = self._place(path)
            folder[name] = CountingFile(self)
        return super().open(path, create)

    def read_bytes(self, ending: str) -> int:
        """The bytes read from all files with this ending."""
        return sum(
            file.read_bytes
            for path, file in self.files().items()
            if path.endswith(ending) and isinstance(file, CountingFile)
        )


class OneDay:
    """A day's orders in one segment: one every five seconds, each in a batch of its
    own, on a disk that counts.
    """

    every_s = 5

    def __init__(self, index_interval_bytes: int = 4096) -> None:
        self._disk = CountingDisk()
        config = LogConfig(index_interval_bytes=index_interval_bytes)
        self._log = Log(self._disk, "orders-0", config, Trace("broker 1"), "orders", 0)
        for number in range(DAY_S // self.every_s):
            at_ms = MIDNIGHT_MS + 1000 * self.every_s * number
            value = f"order {number}, a book and what else there is to say".encode()
            batch = encode_batch([(at_ms, b"alice", value, [])])
            self._log.append(bytearray(batch), 0, Now(at_ms, at_ms))
        self._log.flush()

    @property
    def orders(self) -> int:
        return self._log.log_end_offset

    @property
    def size_bytes(self) -> int:
        """The size of the log, without its indexes."""
        return self._log.size_bytes

    @property
    def index_bytes(self) -> tuple[int, int]:
        """How large .index and .timeindex are."""
        active = self._log.active
        return active.index.size_bytes, active.time_index.size_bytes

    def find_offset(self, offset: int) -> tuple[int, int]:
        """Read the record at this offset: (bytes of the log, bytes of indexes) that
        were read for it.
        """
        return self._counted(
            lambda: self._log.read(offset, 1, self._log.log_end_offset)
        )

    def find_time(self, hours: int, minutes: int) -> tuple[int, int]:
        """Look for the first record of this time of the day: as find_offset."""
        at_ms = MIDNIGHT_MS + 60_000 * (60 * hours + minutes)
        return self._counted(lambda: self._log.offset_for_timestamp(at_ms))

    def _counted(self, search: Callable[[], Any]) -> tuple[int, int]:
        log_before = self._disk.read_bytes(LOG)
        index_before = self._disk.read_bytes("index")
        search()
        return (
            self._disk.read_bytes(LOG) - log_before,
            self._disk.read_bytes("index") - index_before,
        )


# -- what a crash leaves


def torn_log(seed: int) -> tuple[bytes, int]:
    """A log file of a few batches, cut in the middle of the last one: its bytes, and
    how many of them are whole batches.
    """
    random = Random(seed)
    data = log_file(random, batches=random.randint(2, 4))
    last = log_file(random, batches=1)
    torn = last[: random.randrange(1, len(last))]
    return data + torn, len(data)


def log_file(random: Random, batches: int) -> bytes:
    """A segment's bytes: this many batches of one to four records."""
    data = bytearray()
    for _ in range(batches):
        records: list[tuple[int, bytes, bytes, list[Any]]] = [
            (MIDNIGHT_MS + number, b"alice", random.randbytes(random.randrange(40)), [])
            for number in range(random.randint(1, 4))
        ]
        data += encode_batch(records)
    return bytes(data)


def after_a_crash(*, power: bool) -> tuple[int, int]:
    """A broker acknowledges 1,000 orders, then it is killed or loses power, and is
    started again. Returns (how many it had acknowledged, how many are there).
    """
    cluster = Cluster(seed=3)
    cluster.create_topic("orders", partitions=1)
    shop = cluster.producer(client_id="shop", acks="all", linger_ms=0)
    sent = [shop.send("orders", value=f"order {number}") for number in range(1000)]
    cluster.run(seconds=5)
    acknowledged = sum(1 for future in sent if future.is_done)
    cluster.crash(1, power=power)
    cluster.restart(1)
    cluster.run(seconds=10)
    return acknowledged, len(cluster.records("orders", 0))


# -- this machine's disk


def kilobytes_a_second(
    batch_bytes: Sequence[int], *, sync: bool, seconds: float = 0.3
) -> list[float]:
    """How fast this machine appends batches of these sizes to a file. sync: each batch
    is on the disk (fsync) before the next one comes.
    """
    return [_appended(size, sync, seconds) for size in batch_bytes]


def _appended(size: int, sync: bool, seconds: float) -> float:
    batch: Buffer = bytes(size)
    with (
        tempfile.TemporaryDirectory(prefix="minikafka-disk-") as folder,
        (Path(folder) / "log").open("ab", buffering=0) as file,
    ):
        began = time.perf_counter()
        written = 0
        while time.perf_counter() - began < seconds and written < _MOST_BYTES:
            file.write(batch)
            written += size
            if sync:
                os.fsync(file.fileno())
        return written / (time.perf_counter() - began) / 1000

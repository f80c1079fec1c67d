"""Which partition a record goes to: the Java client's rules.

With a key: murmur2(key) with the sign bit masked, modulo the number of partitions. Without a key: uniform sticky
(KIP-794, since 3.3): stay with one partition until batch_size bytes went there, or twice that if the last batch is not
full, then choose again at random. (Sticky, KIP-480, since 2.4, chose again with every batch.) What the
Java client adds and we leave out: it prefers partitions whose brokers answer faster
(partitioner.adaptive.partitioning.enable).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol


class Choice(NamedTuple):
    """The partition, why in plain words, and the murmur2 hash where one decided."""

    partition: int
    how: str
    hash: int | None = None


class Partitions(NamedTuple):
    """What a partitioner knows of a topic: all partitions in order, and those whose leader is known.

    The two methods are those of kafka-python's ClusterMetadata that its partitioners use.
    """

    topic: str
    all: list[int]
    available: list[int]

    def partitions_for_topic(self, topic: str) -> set[int]:
        return set(self.all)

    def available_partitions_for_topic(self, topic: str) -> set[int]:
        return set(self.available)

    def topics(self) -> set[str]:
        return {self.topic}


class Partitioner(Protocol):
    """choose() picks; appended() is told what went where, so that sticky partitioners know when to move on."""

    def choose(
        self, key: bytes | None, value: bytes | None, partitions: Partitions, original: tuple[Any, Any]
    ) -> Choice: ...

    def appended(
        self, topic: str, partition: int, size_bytes: int, batch_full: bool, partitions: Partitions
    ) -> None: ...


def murmur2(data: bytes) -> int:
    """MurmurHash2 as in org.apache.kafka.common.utils.Utils, as an unsigned 32-bit number."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    length = len(data)
    h = 0x9747B28C ^ length
    whole = length & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = h * m & mask ^ k
    if length != whole:
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return h ^ h >> 15


def to_positive(number: int) -> int:
    """Utils.toPositive: mask the sign bit. Not abs(), which would map some keys elsewhere."""
    return number & 0x7FFFFFFF


class DefaultPartitioner:
    """Keyed records by murmur2, the others uniform sticky (KIP-794). ignore_keys=True is partitioner.ignore.keys.

    random: a function that returns a float in [0, 1); batch_size: bytes after which a keyless stream moves on.
    """

    def __init__(self, random: Callable[[], float], batch_size: int = 16384, ignore_keys: bool = False) -> None:
        self._random = random
        self._batch_size = batch_size
        self._ignore_keys = ignore_keys
        self._sticky: dict[str, tuple[int, int]] = {}  # topic -> partition, bytes that went there

    def choose(
        self, key: bytes | None, value: bytes | None, partitions: Partitions, original: tuple[Any, Any]
    ) -> Choice:
        if key is not None and not self._ignore_keys:
            hashed = murmur2(key)
            count = len(partitions.all)
            return Choice(to_positive(hashed) % count, f"murmur2(key) % {count}", hashed)
        partition, _ = self._sticky.get(partitions.topic, (-1, 0))
        if partition in partitions.all:
            return Choice(partition, "no key: stays with this partition until batch.size bytes went there")
        partition = self._pick(partitions)
        self._sticky[partitions.topic] = (partition, 0)
        return Choice(partition, "no key: a partition at random, until batch.size bytes went there")

    def appended(self, topic: str, partition: int, size_bytes: int, batch_full: bool, partitions: Partitions) -> None:
        sticky, sent = self._sticky.get(topic, (-1, 0))
        if sticky != partition:
            return
        sent += size_bytes
        # A half-filled batch is not left behind, unless it keeps us for twice the size
        # (BuiltInPartitioner.updatePartitionInfo).
        if (sent >= self._batch_size and batch_full) or sent >= 2 * self._batch_size:
            self._sticky[topic] = (self._pick(partitions), 0)
        else:
            self._sticky[topic] = (partition, sent)

    def _pick(self, partitions: Partitions) -> int:
        pool = partitions.available or partitions.all
        return pool[int(self._random() * len(pool))]


class RoundRobinPartitioner:
    """One record here, the next one there, whatever the key (the Java client's RoundRobinPartitioner)."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def choose(
        self, key: bytes | None, value: bytes | None, partitions: Partitions, original: tuple[Any, Any]
    ) -> Choice:
        turn = self._next.get(partitions.topic, 0)
        self._next[partitions.topic] = turn + 1
        pool = partitions.available or partitions.all
        return Choice(pool[turn % len(pool)], "round-robin: each partition in turn")

    def appended(self, topic: str, partition: int, size_bytes: int, batch_full: bool, partitions: Partitions) -> None:
        pass


class CustomPartitioner:
    """Somebody's own rule: a function of (key, all_partitions, available), or an object like kafka-python's."""

    def __init__(self, rule: Any) -> None:
        self._rule = rule
        self.name = getattr(rule, "__name__", type(rule).__name__)

    def choose(
        self, key: bytes | None, value: bytes | None, partitions: Partitions, original: tuple[Any, Any]
    ) -> Choice:
        if hasattr(self._rule, "partition"):
            topic = partitions.topic
            partition = self._rule.partition(topic, original[0], key, original[1], value, partitions)
        else:
            partition = self._rule(key, list(partitions.all), list(partitions.available))
        if isinstance(partition, bool) or not isinstance(partition, int) or partition not in partitions.all:
            span = _span(partitions.all)
            raise ValueError(
                f"the partitioner {self.name} returned {partition!r}; {partitions.topic} has partitions {span}"
            )
        return Choice(partition, f"chosen by {self.name}")

    def appended(self, topic: str, partition: int, size_bytes: int, batch_full: bool, partitions: Partitions) -> None:
        pass


def partitioner(given: Any, random: Callable[[], float], batch_size: int) -> Partitioner:
    """The partitioner for a producer's `partitioner=`: None, "round_robin", a function, or an object."""
    if given is None or given == "default":
        return DefaultPartitioner(random, batch_size)
    if given == "round_robin":
        return RoundRobinPartitioner()
    if hasattr(given, "choose"):
        return given
    if callable(given) or (hasattr(given, "partition") and not isinstance(given, str)):
        return CustomPartitioner(given)
    raise ValueError(f'partitioner={given!r}: give "default", "round_robin", or a function of (key, all, available)')


def _span(partitions: Sequence[int]) -> str:
    return str(partitions[0]) if len(partitions) == 1 else f"{partitions[0]} to {partitions[-1]}"

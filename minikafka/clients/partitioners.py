"""Which partition a record goes to: the Java client's rules.

With a key: murmur2(key) with the sign bit masked, modulo the number of partitions.
Without a key: uniform sticky (KIP-794, since 3.3): stay with one partition until
batch_size bytes went there and no batch with room waits there, or until twice that,
then choose again at random. (Sticky, KIP-480, since 2.4, chose again with every batch.)
Left out: the Java client prefers partitions whose brokers answer faster
(partitioner.adaptive.partitioning.enable).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from minikafka.trace import Reason

STICKS = Reason(
    "sticky", "no key: stays with this partition until batch.size bytes went there"
)
BEGINS_TO_STICK = Reason("sticky", "no key: picked at random")


class Choice(NamedTuple):
    """The chosen partition, the rule that chose it, and the murmur2 hash if that
    decided. rule: the name of a learner's own rule, if that decided. sent_bytes: with a
    sticky partition, the bytes that went there before.
    """

    partition: int
    why: Reason
    hash: int | None = None
    rule: str | None = None
    sent_bytes: int | None = None


class Partitions(NamedTuple):
    """What a partitioner knows about a topic: all partitions, those with a leader, and
    whether a partition's last batch takes more records.
    """

    topic: str
    all: list[int]
    available: list[int]
    is_filling: Callable[[int], bool]


class Unplaced(NamedTuple):
    """A record that has no partition yet. original: its key and value as the program
    gave them, before serialization.
    """

    key: bytes | None = None
    value: bytes | None = None
    original: tuple[Any, Any] = (None, None)


class Partitioner:
    """Chooses the partitions of one producer's records."""

    def choose(self, record: Unplaced, partitions: Partitions) -> Choice:
        raise NotImplementedError

    def no_room(
        self, choice: Choice, record: Unplaced, partitions: Partitions
    ) -> Choice:
        """The record doesn't fit into the last batch of the chosen partition, which is
        closed now. Returns where it goes instead.
        """
        return choice

    def appended(self, partition: int, size_bytes: int, partitions: Partitions) -> None:
        """A record was added to the partition."""


def murmur2(data: bytes) -> int:
    """MurmurHash2 as in org.apache.kafka.common.utils.Utils, as an unsigned 32-bit
    number.
    """
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
    """Utils.toPositive: mask the sign bit. Not abs(), which would map some keys
    elsewhere.
    """
    return number & 0x7FFFFFFF


class DefaultPartitioner(Partitioner):
    """Keyed records by murmur2, the others uniform sticky (KIP-794). ignore_keys=True
    is partitioner.ignore.keys.

    random: a function that returns a float in [0, 1); batch_size: bytes after which a
    keyless stream moves on.
    """

    def __init__(
        self,
        random: Callable[[], float],
        batch_size: int = 16384,
        ignore_keys: bool = False,
    ) -> None:
        self._random = random
        self._batch_size = max(batch_size, 1)
        self._ignore_keys = ignore_keys
        # topic -> partition, bytes that have gone there
        self._sticky: dict[str, tuple[int, int]] = {}

    def choose(self, record: Unplaced, partitions: Partitions) -> Choice:
        if record.key is not None and not self._ignore_keys:
            hashed = murmur2(record.key)
            count = len(partitions.all)
            return Choice(
                to_positive(hashed) % count,
                Reason("murmur2", f"murmur2(key) % {count}"),
                hashed,
            )
        # the batch there may have been sent meanwhile
        partition = self._move_on(partitions)
        if partition in partitions.all:
            _, sent = self._sticky[partitions.topic]
            return Choice(partition, STICKS, sent_bytes=sent)
        return Choice(self._stick(partitions), BEGINS_TO_STICK, sent_bytes=0)

    def no_room(
        self, choice: Choice, record: Unplaced, partitions: Partitions
    ) -> Choice:
        # because RecordAccumulator, too, asks again before it makes a batch
        return self.choose(record, partitions)

    def appended(self, partition: int, size_bytes: int, partitions: Partitions) -> None:
        sticky, sent = self._sticky.get(partitions.topic, (-1, 0))
        if sticky == partition:
            self._sticky[partitions.topic] = (partition, sent + size_bytes)
            self._move_on(partitions)

    def _move_on(self, partitions: Partitions) -> int:
        """A half-filled batch is not left behind, unless it has kept us for twice the
        size (RecordAccumulator).
        """
        partition, sent = self._sticky.get(partitions.topic, (-1, 0))
        most = self._batch_size * (2 if partitions.is_filling(partition) else 1)
        return self._stick(partitions) if sent >= most else partition

    def _stick(self, partitions: Partitions) -> int:
        pool = partitions.available or partitions.all
        picked = pool[int(self._random() * len(pool))]
        self._sticky[partitions.topic] = (picked, 0)
        return picked


class RoundRobinPartitioner(Partitioner):
    """One record to each partition in turn, whatever the key (the Java client's
    RoundRobinPartitioner).
    """

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def choose(self, record: Unplaced, partitions: Partitions) -> Choice:
        turn = self._next.get(partitions.topic, 0)
        self._next[partitions.topic] = turn + 1
        pool = partitions.available or partitions.all
        return Choice(
            pool[turn % len(pool)],
            Reason("round_robin", "round-robin: each partition in turn"),
        )

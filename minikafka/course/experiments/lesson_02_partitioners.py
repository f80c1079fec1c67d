"""Rules by which other clients than Java's choose the partition of a record, for
`producer(partitioner=...)`.
"""

import zlib
from collections.abc import Sequence
from typing import Any


def crc32(key: bytes, all_partitions: Sequence[int], available: Sequence[int]) -> int:
    """librdkafka's default for a record with a key
    (`partitioner=consistent_random`).
    """
    return all_partitions[zlib.crc32(key) % len(all_partitions)]


# for producer(**LIBRDKAFKA): where keyed records differ
LIBRDKAFKA: dict[str, Any] = {"partitioner": crc32}

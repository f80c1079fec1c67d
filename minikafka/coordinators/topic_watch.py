"""Notices that the topics of a consumer group changed: one was created, deleted, or got more partitions (KIP-848)."""

from __future__ import annotations

import hashlib
from collections.abc import Collection

from minikafka.cluster.metadata import Image


class TopicWatch:
    """Compares topics with how they were when their hash was made last, so that a heartbeat looks at the topics of one
    member only, and makes no hash.
    """

    def __init__(self, image: Image) -> None:
        self._image = image
        self._hash: int | None = None
        self._seen: dict[str, tuple[bytes, int] | None] = {}

    def is_unchanged(self, topics: Collection[str], metadata_hash: int) -> bool:
        """Whether these topics are as they were when a group's stored hash was made. False if that isn't known."""
        return self._hash == metadata_hash and all(
            topic in self._seen and self._seen[topic] == self._facts(topic) for topic in topics
        )

    def make_hash(self, topics: Collection[str]) -> int:
        """Of the ids and numbers of partitions of those topics that exist; 0 if none does.

        Stored with the group epoch (KIP-1101), as a signed 64-bit number. Apache Kafka's hash is another (XXH3): the
        first heartbeat after a group moved between the two makes one group epoch more than needed.
        """
        self._seen = {topic: self._facts(topic) for topic in topics}
        facts = sorted(f"{known[0].hex()}:{known[1]}" for known in self._seen.values() if known is not None)
        digest = hashlib.blake2b(" ".join(facts).encode(), digest_size=8).digest()
        self._hash = int.from_bytes(digest, "big", signed=True) if facts else 0
        return self._hash

    def _facts(self, topic: str) -> tuple[bytes, int] | None:
        found = self._image.topics.get(topic)
        return None if found is None else (found.topic_id, len(found.partitions))

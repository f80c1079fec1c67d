"""Notices that the topics of a consumer group changed: one was created, deleted, or got more partitions (KIP-848)."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import NamedTuple

from minikafka.cluster.metadata import Image


class SeenTopics(NamedTuple):
    """Topics as they were when their hash was made: a heartbeat then looks at the topics of one member only, and makes
    no hash.
    """

    hash: int | None = None
    facts: Mapping[str, tuple[bytes, int] | None] = {}

    def are_unchanged(
        self, topics: Collection[str], all_topics: set[str] | None, metadata_hash: int, image: Image
    ) -> bool:
        """Whether these topics are as they were when a group's stored hash was made. False if that isn't known.
        all_topics: of the group, where they are not what its members named.
        """
        known = self.hash == metadata_hash and all_topics in (None, self.facts.keys())
        return known and all(topic in self.facts and self.facts[topic] == _facts(topic, image) for topic in topics)


def look_at(topics: Collection[str], image: Image) -> SeenTopics:
    """Their hash is of the ids and numbers of partitions of those that exist; 0 if none does.

    Stored with the group epoch (KIP-1101), as a signed 64-bit number. Apache Kafka's hash is another (XXH3): the first
    heartbeat after a group moved between the two makes one group epoch more than needed.
    """
    seen = {topic: _facts(topic, image) for topic in topics}
    facts = sorted(f"{known[0].hex()}:{known[1]}" for known in seen.values() if known is not None)
    digest = hashlib.blake2b(" ".join(facts).encode(), digest_size=8).digest()
    return SeenTopics(int.from_bytes(digest, "big", signed=True) if facts else 0, seen)


def _facts(topic: str, image: Image) -> tuple[bytes, int] | None:
    found = image.topics.get(topic)
    return None if found is None else (found.topic_id, len(found.partitions))

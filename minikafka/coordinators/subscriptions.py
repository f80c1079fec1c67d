"""The topics that the members of a consumer group subscribe to (KIP-848): by name, and
by a regular expression, which stands for all topics that match it at the moment. The
coordinator does the matching (expressions.py), so clients don't need to.

A hash over the group's topics shows when a topic was created, deleted, or got more
partitions.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from minikafka.cluster.metadata import Image
from minikafka.coordinators.consumer_group_state import ConsumerGroupState
from minikafka.coordinators.consumer_member import ConsumerMember

# the topics that an expression matches now
Matching = Callable[[str | None], Collection[str]]


def by_name(member: ConsumerMember, matching: Matching) -> ConsumerMember:
    """The member as if it had named all topics that it subscribes to at the moment."""
    if not member.subscribed_topic_regex:
        return member
    names = {
        *member.subscribed_topic_names,
        *matching(member.subscribed_topic_regex),
    }
    return replace(member, subscribed_topic_names=tuple(sorted(names)))


def subscribed_topics(
    state: ConsumerGroupState,
    matching: Matching,
    without: Iterable[ConsumerMember] = (),
) -> set[str]:
    """The topics of a whole group, as far as members other than `without` subscribe to
    them.
    """
    gone: Counter[str] = Counter()
    patterns_gone: Counter[str] = Counter()
    for member in without:
        gone.update(member.subscribed_topic_names)
        patterns_gone[member.subscribed_topic_regex or ""] += 1
    topics = set()
    for topic, count in state.subscribers.items():
        if count > gone[topic]:
            topics.add(topic)
    for pattern, count in state.patterns.items():
        if count > patterns_gone[pattern]:
            topics.update(matching(pattern))
    return topics


class SeenTopics(NamedTuple):
    """Topics as they were when their hash was made: a heartbeat then looks only at one
    member's topics, and needs no hash. names: all topics that existed.
    """

    hash: int | None = None
    facts: Mapping[str, tuple[bytes, int] | None] = {}
    names: frozenset[str] | None = None

    def are_unchanged(
        self,
        topics: Collection[str],
        all_topics: set[str] | None,
        metadata_hash: int,
        image: Image,
    ) -> bool:
        """Whether these topics are still as they were when a group's stored hash was
        made. False if that isn't known. all_topics: those of the group, if they differ
        from the topics that its members named.
        """
        if self.hash != metadata_hash:
            return False
        if all_topics is not None and all_topics != self.facts.keys():
            return False
        return all(self._is_as_seen(topic, image) for topic in topics)

    def _is_as_seen(self, topic: str, image: Image) -> bool:
        return topic in self.facts and self.facts[topic] == _facts(topic, image)


def look_at(topics: Collection[str], image: Image) -> SeenTopics:
    """Topics with a hash over the ids and partition counts of those that exist; 0 if
    none does.

    It is stored with the group epoch (KIP-1101), as a signed 64-bit number. Apache
    Kafka's hash is a different one (XXH3): after a group has moved between the two, its
    first heartbeat makes one group epoch more than necessary.
    """
    seen = {topic: _facts(topic, image) for topic in topics}
    facts = []
    for known in seen.values():
        if known is not None:
            topic_id, partitions = known
            facts.append(f"{topic_id.hex()}:{partitions}")
    if not facts:
        return SeenTopics(0, seen, image.all_topic_names)
    text = " ".join(sorted(facts))
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    number = int.from_bytes(digest, "big", signed=True)
    return SeenTopics(number, seen, image.all_topic_names)


def _facts(topic: str, image: Image) -> tuple[bytes, int] | None:
    """A topic's id and number of partitions; None if it doesn't exist."""
    found = image.topics.get(topic)
    if found is None:
        return None
    return found.topic_id, len(found.partitions)

"""What the members of a consumer group subscribe to (KIP-848): topics by name, and by a
regular expression, which means whatever topics it matches at the moment. The
coordinator looks (expressions.py), and clients need not.

That a topic was created, deleted, or got more partitions is noticed by a hash over the
topics of the group.
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
    """The member as if it had named all topics that it subscribes to now."""
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
    """The topics of a whole group, as far as others than these members subscribe to
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
    """Topics as they were when their hash was made: a heartbeat then looks at the
    topics of one member only, and makes no hash. names: of all topics that there were.
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
        """Whether these topics are as they were when a group's stored hash was made.
        False if that isn't known. all_topics: of the group, where they are not what its
        members named.
        """
        if self.hash != metadata_hash:
            return False
        if all_topics is not None and all_topics != self.facts.keys():
            return False
        return all(self._is_as_seen(topic, image) for topic in topics)

    def _is_as_seen(self, topic: str, image: Image) -> bool:
        return topic in self.facts and self.facts[topic] == _facts(topic, image)


def look_at(topics: Collection[str], image: Image) -> SeenTopics:
    """Their hash is of the ids and numbers of partitions of those that exist; 0 if none
    does.

    Stored with the group epoch (KIP-1101), as a signed 64-bit number. Apache Kafka's
    hash is another (XXH3): the first heartbeat after a group moved between the two
    makes one group epoch more than needed.
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
    """Its id, and how many partitions it has; None if it doesn't exist."""
    found = image.topics.get(topic)
    if found is None:
        return None
    return found.topic_id, len(found.partitions)

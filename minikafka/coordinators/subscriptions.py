"""What the members of a consumer group subscribe to (KIP-848): topics by name, and by a
regular expression, which means whatever topics it matches at the moment. The
coordinator looks, and clients need not.

The expressions are RE2's, as in Apache Kafka: without backtracking, so that a match
takes no longer than the name is long, whatever a client asks for.

That a topic was created, deleted, or got more partitions is noticed by a hash over the
topics of the group.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from minikafka.cluster.metadata import Image
from minikafka.coordinators.consumer_group_state import ConsumerGroupState
from minikafka.coordinators.consumer_member import ConsumerMember
from minikafka.wire.errors import Error, KafkaError

MOST_REMEMBERED = 200  # expressions
MOST_BYTES = 1 << 18  # of memory, of one expression; Apache Kafka takes larger ones


def compiled_once(pattern: str) -> Any:
    """Of an expression that is needed once. Errors: INVALID_REGULAR_EXPRESSION."""
    try:
        import re2  # with the first expression: a broker starts without these megabytes
    except ImportError:
        why = (
            "subscriptions by regular expression need the package google-re2: pip"
            " install google-re2"
        )
        raise KafkaError(Error.INVALID_REGULAR_EXPRESSION, why) from None
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MOST_BYTES
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        why = (
            f"SubscribedTopicRegex `{pattern}` is not a valid regular expression:"
            f" {error.args[0].decode()}."
        )
        raise KafkaError(Error.INVALID_REGULAR_EXPRESSION, why) from None


@lru_cache(MOST_REMEMBERED)
def compiled(pattern: str) -> Any:
    """The same, remembered."""
    return compiled_once(pattern)


def matching(pattern: str | None, image: Image) -> tuple[str, ...]:
    """The topics whose whole name matches now. One that was stored, and can't be read
    here, matches nothing.
    """
    if not pattern:
        return ()
    return matching_names(pattern, image.all_topic_names)


@lru_cache(MOST_REMEMBERED)
def matching_names(pattern: str, names: frozenset[str]) -> tuple[str, ...]:
    """Those that the expression matches as a whole, remembered: names stay the same
    until a topic comes or goes.
    """
    try:
        matches = compiled(pattern).fullmatch
    except KafkaError:
        return ()
    return tuple(sorted(filter(matches, names)))


def by_name(member: ConsumerMember, image: Image) -> ConsumerMember:
    """The member as if it had named all topics that it subscribes to now."""
    if not member.subscribed_topic_regex:
        return member
    names = {
        *member.subscribed_topic_names,
        *matching(member.subscribed_topic_regex, image),
    }
    return replace(member, subscribed_topic_names=tuple(sorted(names)))


def subscribed_topics(
    state: ConsumerGroupState, image: Image, without: Iterable[ConsumerMember] = ()
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
            topics.update(matching(pattern, image))
    return topics


class SeenTopics(NamedTuple):
    """Topics as they were when their hash was made: a heartbeat then looks at the
    topics of one member only, and makes no hash.
    """

    hash: int | None = None
    facts: Mapping[str, tuple[bytes, int] | None] = {}

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
        return SeenTopics(0, seen)
    text = " ".join(sorted(facts))
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return SeenTopics(int.from_bytes(digest, "big", signed=True), seen)


def _facts(topic: str, image: Image) -> tuple[bytes, int] | None:
    """Its id, and how many partitions it has; None if it doesn't exist."""
    found = image.topics.get(topic)
    if found is None:
        return None
    return found.topic_id, len(found.partitions)

"""Who is shown, where a trace holds more than a picture can."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from minikafka.trace import Event


def busiest_topic(trace: Sequence[Event]) -> str:
    topics = [event.detail["topic"] for event in trace if event.detail.get("topic")]
    own = Counter(topic for topic in topics if not topic.startswith("__"))
    return max(own, key=lambda topic: (own[topic], topic)) if own else ""


def busiest_partitions(mine: Sequence[Event], most: int) -> list[int]:
    used = Counter(event.detail["partition"] for event in mine if isinstance(event.detail.get("partition"), int))
    count = max(
        [0, *(event.detail["partitions"] for event in mine if event.kind in ("TopicCreated", "PartitionsCreated"))]
    )
    everyone = sorted(set(range(count)) | set(used))
    if len(everyone) > most:
        everyone = sorted(sorted(everyone, key=lambda partition: (-used[partition], partition))[:most])
    return everyone


def busiest_group(trace: Sequence[Event], topic: str) -> str:
    """The group that commits most in the topic; where nobody does, the one that most is told of."""
    commits = [event for event in trace if event.kind == "OffsetCommitted" and event.detail["topic"] == topic]
    named = Counter(event.detail["group"] for event in commits or trace if event.detail.get("group"))
    return next((name for name, _ in named.most_common(1)), "")


def groups_of_members(trace: Sequence[Event]) -> dict[str, str]:
    """Client -> its group, as far as clients speak of one. (A broker speaks of many.)"""
    speak = ("MemberStateChanged", "PartitionsAssigned", "CommitSent")
    return {event.node: event.detail["group"] for event in trace if event.kind in speak}

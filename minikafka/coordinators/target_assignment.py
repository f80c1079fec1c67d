"""What the members of a consumer group are to have: asked of an assignor of the coordinator's (KIP-848).

The target is a wish: members reach it one by one (reconciliation.py). It is made anew when the group epoch has grown:
a member came, left or subscribed otherwise, or a subscribed topic grew, appeared or disappeared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from minikafka.cluster.metadata import Image
from minikafka.coordinators.assignors import Member
from minikafka.coordinators.consumer_member import ConsumerMember, TopicPartition
from minikafka.coordinators.server_assignors import SERVER_ASSIGNORS

Target = frozenset[TopicPartition]


def assign(
    name: str, members: Mapping[str, ConsumerMember], target: Mapping[str, Target], image: Image
) -> dict[str, Target]:
    """The new target of every member. name: the assignor. target: the one until now, for assignors that keep it."""
    subscriptions = {
        member_id: Member(
            tuple(topic for topic in members[member_id].subscribed_topic_names if topic in image.topics),
            tuple(_by_name(target.get(member_id, ()), image)),
            instance_id=members[member_id].instance_id,
        )
        for member_id in sorted(members)  # not in the order of their records, which compaction changes
    }
    topics = sorted({topic for member in subscriptions.values() for topic in member.topics})
    partitions = {topic: len(image.topics[topic].partitions) for topic in topics}
    assigned = SERVER_ASSIGNORS[name](subscriptions, partitions)
    return {
        member_id: frozenset((image.topics[topic].topic_id, number) for topic, number in assigned.get(member_id, ()))
        for member_id in subscriptions
    }


def assignor_names(configured: str) -> list[str]:
    """The names in group.consumer.assignors."""
    return [name.strip() for name in configured.split(",")]


def preferred_assignor(members: Iterable[ConsumerMember], names: Sequence[str]) -> str:
    """The one most members ask for; without a request, or of equals, the first of the configured ones."""
    votes = Counter(member.server_assignor for member in members)
    return max(names, key=lambda name: votes[name])


def _by_name(target: Iterable[TopicPartition], image: Image) -> list[tuple[str, int]]:
    return sorted((image.topic_names[topic_id], number) for topic_id, number in target if topic_id in image.topic_names)

"""The target of a streams group (KIP-1071), and the topics that it is made for.

A heartbeat checks whether the topology's topics are still the same, which needs no
hash, and works out what follows for the topology only if they aren't.

A few kB can name many subtopologies that all read one topic with many partitions. So
the amount to be assigned is counted first, and a target that is too large is refused
before it costs anything.
"""

from collections.abc import Mapping
from typing import NamedTuple

from minikafka.cluster.metadata import Image
from minikafka.coordinators import group_rules
from minikafka.coordinators.streams_assignor import (
    MemberSpec,
    SubtopologySpec,
    assign_sticky,
)
from minikafka.coordinators.streams_member import StreamsMember
from minikafka.coordinators.streams_tasks import Reported, Tasks
from minikafka.coordinators.streams_topology import Configured, Topology, configure
from minikafka.coordinators.subscriptions import SeenTopics, look_at

NOT_VALIDATED = -1


class Looked(NamedTuple):
    """A group's topics when they were last looked at, and what follows for the
    topology; None if nobody has looked yet.
    """

    seen: SeenTopics = SeenTopics()
    configured: Configured | None = None

    @property
    def validated_epoch(self) -> int:
        """The epoch of the topology if its topics are right."""
        configured = self.configured
        is_ready = configured is not None and configured.is_ready
        return configured.epoch if configured and is_ready else NOT_VALIDATED


def look_again(
    last: Looked, topology: Topology, metadata_hash: int, image: Image
) -> Looked:
    """Look at the topics again. Returns `last` if they didn't change. metadata_hash:
    the group's. Errors: STREAMS_INVALID_TOPOLOGY.
    """
    topics = topology.required_topics
    is_known = last.configured is not None
    if is_known and last.seen.are_unchanged(topics, None, metadata_hash, image):
        return last
    return Looked(look_at(topics, image), configure(topology, image))


def check_size(configured: Configured, standby_replicas: int) -> None:
    """Check that all tasks together don't read too many partitions, and that there
    aren't too many standby tasks. Errors: UNKNOWN_SERVER_ERROR.
    """
    count = 0
    for name, subtopology in configured.subtopologies.items():
        for_each_task = len(set(subtopology.inputs))
        if subtopology.changelogs:
            for_each_task += standby_replicas
        count += configured.tasks[name] * for_each_task
    group_rules.check_size(count, "partitions that tasks read, and standby tasks")


def new_target(
    members: Mapping[str, StreamsMember],
    reported: Mapping[str, Reported],
    configured: Configured,
    standby_replicas: int,
) -> dict[str, Tasks]:
    """The new target of every member: no tasks while the topics are not ready. A task
    stays where it is as far as it can. Errors: UNKNOWN_SERVER_ERROR, as in Apache
    Kafka, if the target would be too large.
    """
    if configured.is_ready:
        check_size(configured, standby_replicas)
    specs = {}
    for member_id, member in members.items():
        specs[member_id] = MemberSpec(
            member.process_id,
            frozenset(member.tasks.active),
            member.tasks.standby,
            reported.get(member_id, Reported()).offsets,
        )
    topology = {}
    if configured.is_ready:
        for name, subtopology in sorted(configured.subtopologies.items()):
            is_stateful = bool(subtopology.changelogs)
            topology[name] = SubtopologySpec(configured.tasks[name], is_stateful)
    return assign_sticky(specs, topology, standby_replicas)

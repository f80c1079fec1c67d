"""StreamsGroupHeartbeat and StreamsGroupDescribe (KIP-1071): what can be checked or
built from a request or a member alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from minikafka.cluster.controller import check_topic_name
from minikafka.cluster.metadata import INTERNAL_TOPICS, Image
from minikafka.coordinators import group_rules
from minikafka.coordinators.group_rules import (
    JOIN_EPOCH,
    LEAVE_STATIC_EPOCH,
    UNCHANGED_TIMEOUT_MS,
    refuse,
    refuse_blank,
)
from minikafka.coordinators.streams_group_state import StreamsGroupState
from minikafka.coordinators.streams_member import (
    StreamsMember,
    endpoint_of,
    listed_endpoint,
    listed_tags,
    tags_of,
)
from minikafka.coordinators.streams_tasks import (
    KINDS,
    Reported,
    Task,
    Tasks,
    flat,
    listed,
)
from minikafka.coordinators.streams_topology import Configured, Status, Topology
from minikafka.wire.errors import MOST_MESSAGE, Error, KafkaError
from minikafka.wire.schema import Message, nested

ASSIGNOR = "sticky"  # the only one there is


def check_topics(topology: Message) -> None:
    """Check whether topics may be part of a topology. Errors:
    STREAMS_INVALID_TOPOLOGY.
    """
    names: dict[str, None] = {}
    for each in topology.subtopologies:
        names.update(dict.fromkeys(each.source_topics))
        names.update(dict.fromkeys(each.repartition_sink_topics))
        for topic in (*each.repartition_source_topics, *each.state_changelog_topics):
            names[topic.name] = None
    internal = [name for name in names if name in INTERNAL_TOPICS]
    if internal:
        why = (
            f"Use of Kafka internal topics {','.join(internal)} in a Kafka Streams"
            " topology is prohibited."
        )
        raise KafkaError(Error.STREAMS_INVALID_TOPOLOGY, why)
    invalid = [name for name in names if not _is_valid(name)]
    if invalid:
        why = f"Topic names {','.join(invalid)} are not valid topic names."
        raise KafkaError(Error.STREAMS_INVALID_TOPOLOGY, why)


def _is_valid(name: str) -> bool:
    try:
        check_topic_name(name)
    except KafkaError:
        return False
    return True


def check_request(body: Message) -> None:
    """Check whether a heartbeat makes sense, with Kafka's error messages. Errors:
    INVALID_REQUEST, STREAMS_INVALID_TOPOLOGY.
    """
    _check_supported(body)
    refuse_blank(body.member_id, "MemberId")
    refuse_blank(body.group_id, "GroupId")
    refuse_blank(body.instance_id, "InstanceId")
    refuse_blank(body.rack_id, "RackId")
    epoch = body.member_epoch
    if epoch == JOIN_EPOCH:
        _check_first_request(body)
    elif epoch == LEAVE_STATIC_EPOCH:
        refuse(body.instance_id is None, "InstanceId can't be null.")
    elif epoch < LEAVE_STATIC_EPOCH:
        why = f"MemberEpoch is {epoch}, but must be greater than or equal to -2."
        refuse(True, why)
    are_null = {getattr(body, kind) is None for kind in KINDS}
    why = "If one task-type is non-null, all must be non-null."
    refuse(len(are_null) > 1, why)
    comes_late = epoch != JOIN_EPOCH and body.topology is not None
    refuse(comes_late, "Topology can only be provided when (re-)joining.")


def _check_supported(body: Message) -> None:
    """Refuse fields that the protocol has, but Kafka 4.4 doesn't support yet."""
    if body.topology is None:
        return
    for subtopology in body.topology.subtopologies:
        why = "Regular expressions for source topics are not supported yet."
        refuse(bool(subtopology.source_topic_regex), why)


def _check_first_request(body: Message) -> None:
    """Check that a member that joins sends all it must send."""
    no_timeout = body.rebalance_timeout_ms == UNCHANGED_TIMEOUT_MS
    refuse(no_timeout, "RebalanceTimeoutMs must be provided in first request.")
    for kind, name in zip(
        KINDS, ("ActiveTasks", "StandbyTasks", "WarmupTasks"), strict=True
    ):
        owned = getattr(body, kind)
        refuse(owned is None or bool(owned), f"{name} must be empty when (re-)joining.")
    no_topology = body.topology is None
    refuse(no_topology, "Topology must be non-null when (re-)joining.")
    for subtopology in body.topology.subtopologies:
        for topic in subtopology.state_changelog_topics:
            if topic.partitions != 0:
                why = (
                    f"Changelog topic {topic.name} must have an undefined partition"
                    f" count, but it is set to {topic.partitions}."
                )
                raise KafkaError(Error.STREAMS_INVALID_TOPOLOGY, why)


def check_epoch(member: StreamsMember, body: Message) -> None:
    """Check the member epoch, which every request must show. The previous epoch is also
    accepted from a member that owns nothing beyond its assignment: the answer with the
    new epoch may have been lost. Errors: FENCED_MEMBER_EPOCH.
    """
    received, current = body.member_epoch, member.member_epoch
    if received in (JOIN_EPOCH, current):
        return
    is_previous = received == member.previous_member_epoch and received < current
    if is_previous and _owns_no_other(member, body):
        return
    raise group_rules.fenced("streams", received, current)


def _owns_no_other(member: StreamsMember, body: Message) -> bool:
    """Whether everything that a member says it has is assigned to it. A member that
    doesn't say may have anything.
    """
    if body.active_tasks is None:
        return False
    held = member.tasks
    if not flat(body.active_tasks) <= held.active.keys():
        return False
    if not flat(body.standby_tasks) <= held.standby:
        return False
    return flat(body.warmup_tasks) <= held.warmup


def check_owned(owned: Tasks | None, configured: Configured) -> None:
    """Check that these tasks exist. Errors: INVALID_REQUEST."""
    if owned is None:
        return
    for tasks in (owned.active, owned.standby, owned.warmup):
        for subtopology, number in sorted(tasks):
            count = configured.tasks.get(subtopology)
            if count is None:
                refuse(
                    True, f"Subtopology {subtopology} does not exist in the topology."
                )
            elif not 0 <= number < count:
                why = (
                    f"Task {number} for subtopology {subtopology} is invalid. Number of"
                    f" tasks for this subtopology: {count}"
                )
                refuse(True, why)


def check_commit(
    member: StreamsMember,
    body: Message,
    version: int | None,
    topology: Topology | None,
) -> None:
    """Check whether a member's OffsetCommit is accepted. With an epoch older than its
    own it is accepted for tasks that the member had at that epoch already and still
    has. version: of OffsetCommit. Errors: STALE_MEMBER_EPOCH, UNSUPPORTED_VERSION.
    """
    epoch = member.member_epoch
    if not group_rules.is_of_older_epoch("streams", body, version, epoch):
        return
    received = body.generation_id_or_member_epoch
    for topic in body.topics:
        reader = topology.readers.get(topic.name) if topology else None
        if reader is None:
            raise group_rules.stale(f"Topic {topic.name} is not in the topology.")
        for partition in topic.partitions:
            number = partition.partition_index
            name = f"{reader}-{number}"
            assigned_at = _assigned_at(member, (reader, number))
            group_rules.check_assigned_at("Task", name, assigned_at, received)


def _assigned_at(member: StreamsMember, task: Task) -> int | None:
    """The epoch at which the member got an active task that it holds."""
    epoch = member.tasks.active.get(task)
    if epoch is None:
        epoch = member.pending.active.get(task)
    return epoch


def updated(
    member: StreamsMember, body: Message, client: tuple[str, str]
) -> StreamsMember:
    """The member, updated from a request; a field that is null, or a timeout of -1,
    didn't change. client: id and host.
    """
    client_id, client_host = client
    changes: dict[str, Any] = {"client_id": client_id, "client_host": client_host}
    if body.instance_id is not None:
        changes["instance_id"] = body.instance_id
    if body.rack_id is not None:
        changes["rack_id"] = body.rack_id
    if body.rebalance_timeout_ms != UNCHANGED_TIMEOUT_MS:
        changes["rebalance_timeout_ms"] = body.rebalance_timeout_ms
    if body.topology is not None:
        changes["topology_epoch"] = body.topology.epoch
    if body.process_id is not None:
        changes["process_id"] = body.process_id
    if body.user_endpoint is not None or body.member_epoch == JOIN_EPOCH:
        changes["user_endpoint"] = endpoint_of(body.user_endpoint)
    if body.client_tags is not None:
        changes["client_tags"] = tags_of(body.client_tags)
    return replace(member, **changes)


def matters(was: StreamsMember, member: StreamsMember) -> bool:
    """Whether a member has changed so that tasks must be assigned again. A static
    member's new process may have another address.
    """
    if member.instance_id is None:
        return member != was
    names = ("topology_epoch", "rack_id", "client_tags", "process_id")
    return any(getattr(was, name) != getattr(member, name) for name in names)


def said(status: Status, detail: str) -> dict[str, Any]:
    """A Status of StreamsGroupHeartbeat. It quotes what clients sent, and must fit into
    an answer.
    """
    return {"status_code": status, "status_detail": detail[:MOST_MESSAGE]}


def problems(configured: Configured, shutdown_by: str | None) -> list[dict[str, Any]]:
    """The reasons why the application can't run. shutdown_by: the member that requested
    its shutdown.
    """
    found = []
    problem = configured.problem
    if problem is not None:
        found.append(said(problem.status, problem.detail))
    if shutdown_by is not None:
        detail = (
            f"Streams group member {shutdown_by} encountered a fatal error and"
            " requested a shutdown for the entire application."
        )
        found.append(said(Status.SHUTDOWN_APPLICATION, detail))
    return found


def endpoint_partitions(
    members: Iterable[StreamsMember], configured: Configured, image: Image
) -> list[dict[str, Any]]:
    """Which partitions are read at which endpoint, for members that have one."""
    found = []
    for member in members:
        if member.user_endpoint is None:
            continue
        active = _partitions_of(member.tasks.active, configured, image)
        standby = _partitions_of(member.tasks.standby, configured, image)
        entry = {
            "user_endpoint": listed_endpoint(member.user_endpoint),
            "active_partitions": active,
            "standby_partitions": standby,
        }
        found.append(entry)
    return found


def _partitions_of(
    tasks: Iterable[Task], configured: Configured, image: Image
) -> list[dict[str, Any]]:
    """The partitions that tasks read, by topic: in a topic with few partitions there
    are none for the last tasks.
    """
    read = []
    for subtopology, number in sorted(tasks):
        known = configured.subtopologies.get(subtopology)
        for topic in sorted(set(known.inputs)) if known else ():
            found = image.topics.get(topic)
            if found is not None and number < len(found.partitions):
                read.append((topic, number))
    return nested(read, "topic")


def described(
    group_id: str,
    state: StreamsGroupState,
    configured: Configured | None,
    reported: Mapping[str, Reported],
) -> dict[str, Any]:
    """A DescribedGroup of StreamsGroupDescribe. The topology is shown with what is
    known about its topics, or as its first member described it. reported: by member id.
    """
    topology = None
    if state.topology is not None:
        topology = state.topology.described()
    if configured is not None and configured.is_ready:
        topology = configured.described()
    members = []
    for member_id in sorted(state.members):
        target = state.target.get(member_id, Tasks())
        row = _described_member(state.members[member_id], target)
        members.append(row | reported.get(member_id, Reported()).listed())
    own = {"topology": topology, "assignor_name": ASSIGNOR}
    return state.described(group_id, members) | own


def _described_member(member: StreamsMember, target: Tasks) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "member_epoch": member.member_epoch,
        "instance_id": member.instance_id,
        "rack_id": member.rack_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "topology_epoch": member.topology_epoch,
        "process_id": member.process_id,
        "user_endpoint": listed_endpoint(member.user_endpoint),
        "client_tags": listed_tags(member.client_tags),
        "assignment": member.tasks.listed(),
        "target_assignment": listed(target),
    }

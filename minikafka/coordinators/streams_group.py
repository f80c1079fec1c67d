"""A streams group (KIP-1071): the broker assigns the tasks of a Streams application to
its threads, as it assigns partitions to the members of a consumer group (KIP-848,
consumer_group.py).

The protocol is the same, except that it assigns tasks. A member uses a single request,
StreamsGroupHeartbeat, to join, stay, report and leave; group epoch, assignment epoch
and member epoch carry it. The differences:

    topology       the first member says what the application reads and writes; the group keeps it, and a member that
                   comes with another one is refused (streams_topology.py)
    topics         while source topics are missing, or not partitioned as they must be, nobody gets a task and the
                   answers say why; internal topics that are missing are created by the broker that got the heartbeat
    tasks          are active, standby or warm-up ones; a task moves once its last owner gave it up
                   (streams_assignor.py, streams_reconciliation.py)
    first members  of an empty group wait for others: the first target is made after an initial delay

A heartbeat takes these steps, each with its own records:

    member         its metadata, if it changed                    group epoch + 1
    topology       of the first member                            group epoch + 1
    topics         looked at, if they changed                     group epoch + 1
    target         the assignor deals out all tasks again         assignment epoch = group epoch
    reconciliation this one member goes on as far as it can       member epoch = assignment epoch

`heartbeat` and `tick` decide; the state changes in `apply` alone
(streams_group_state.py). Soft state, which a new coordinator does without: when
sessions end and by when tasks must be given up, the topics as they were when they were
looked at, whether a member requested the application's shutdown, how often the
addresses for queries changed, how far members say that they have tasks' states.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from minikafka.clock import Now, soonest
from minikafka.cluster.metadata import Image
from minikafka.cluster.timers import Deadlines
from minikafka.cluster.waiting import Answer
from minikafka.coordinators import group_rules
from minikafka.coordinators import streams_group_messages as messages
from minikafka.coordinators.group_rules import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
)
from minikafka.coordinators.modern_group import ReconcilingGroup
from minikafka.coordinators.runtime import Configs, CoordinatorRecord
from minikafka.coordinators.streams_group_state import StreamsGroupState
from minikafka.coordinators.streams_member import StreamsMember, target_record
from minikafka.coordinators.streams_reconciliation import Goal, reconcile
from minikafka.coordinators.streams_target import Looked, look_again, new_target
from minikafka.coordinators.streams_tasks import (
    NOTHING_HELD,
    Reported,
    Tasks,
    said_to_own,
)
from minikafka.coordinators.streams_topology import (
    Configured,
    Status,
    Topology,
    topology_of,
)
from minikafka.trace import Reason, Trace
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

INITIAL_DELAY = ""  # used where a member id would be
STANDBY_REPLICAS = "num.standby.replicas"
# defaults of streams.task.offset.interval.ms and streams.acceptable.recovery.lag, which
# Apache Kafka keeps to itself as yet
TASK_OFFSET_INTERVAL_MS, ACCEPTABLE_RECOVERY_LAG = 60_000, 10_000


@dataclass(slots=True)
class Draft:
    """The outcome of a request, or of a deadline. events: for the trace. looked: the
    state of the topology's topics. heard: the member that is alive. moved: whether its
    assignment changed. shutdown_by: the member that requests the application's
    shutdown. endpoint_epoch: how often addresses changed. starts_delay, ends_delay: of
    the first target. replaces: the static member whose new process has joined.
    """

    records: list[CoordinatorRecord] = field(default_factory=list)
    answer: Answer | None = None
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    looked: Looked | None = None
    heard: str = ""
    moved: bool = False
    shutdown_by: str | None = None
    endpoint_epoch: int = 0
    starts_delay: bool = False
    ends_delay: bool = False
    replaces: str = ""
    reported: Reported | None = None


class StreamsGroup(ReconcilingGroup[StreamsMember]):
    """One group."""

    type = "streams"
    own_records = ("TargetAssignmentMetadata", "Metadata", "Topology")
    state: StreamsGroupState

    def __init__(
        self, group_id: str, config: Configs, image: Image, trace: Trace
    ) -> None:
        super().__init__(group_id, config, image)
        self.state = StreamsGroupState()
        self._trace = trace
        # of the first target of a group that was empty
        self._delay: Deadlines[str] = Deadlines()
        self._looked = Looked()
        self._shutdown_by: str | None = None
        self._endpoint_epoch = 0
        self._reported: dict[str, Reported] = {}  # by member id

    # -- requests and deadlines: decide

    def heartbeat(self, body: Message, client: tuple[str, str], now: Now) -> Draft:
        """StreamsGroupHeartbeat, after messages.check_request has checked it by itself.
        client: id and host. Errors: UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH,
        GROUP_MAX_SIZE_REACHED, INVALID_REQUEST, STREAMS_INVALID_TOPOLOGY,
        UNKNOWN_SERVER_ERROR if there would be too much to assign.
        """
        if body.member_epoch in (LEAVE_EPOCH, LEAVE_STATIC_EPOCH):
            return self._leave(body)
        is_joining = body.member_epoch == JOIN_EPOCH
        draft = Draft(heard=body.member_id, endpoint_epoch=self._endpoint_epoch)
        was = self._joining(body, draft) if is_joining else self._sender(body)
        messages.check_epoch(was, body)
        member = messages.updated(was, body, client)
        if member != was:
            draft.records.append(member.metadata_record(self.group_id))
        owned = said_to_own(body)
        status: list[dict[str, Any]] = []
        topology = self._topology(body, draft)
        draft.looked = self._look_at_topics(topology, member, status)
        configured = draft.looked.configured
        assert configured is not None, "it was just looked at"
        if configured.is_ready:
            messages.check_owned(owned, configured)
        if body.task_offsets is not None or body.task_end_offsets is not None:
            last = self._reported.get(body.member_id, Reported())
            draft.reported = last.updated(body)
        has_changed = messages.matters(was, member)
        group_epoch = self._next_group_epoch(draft.looked, has_changed, draft)
        self._note_arrival(member, draft)
        epoch, target = self._next_target(
            member, group_epoch, configured, now, draft, status
        )
        goal = Goal(epoch, target, self.state.runs, self.state.copies)
        after = reconcile(member, goal, owned)
        if after != member:
            draft.records.append(after.current_assignment_record(self.group_id))
            draft.moved = True
        if body.shutdown_application:
            draft.shutdown_by = body.member_id
        shutdown_by = self._shutdown_by or draft.shutdown_by
        status += messages.problems(configured, shutdown_by)
        recovery = {
            "task_offset_interval_ms": TASK_OFFSET_INTERVAL_MS,
            "acceptable_recovery_lag": ACCEPTABLE_RECOVERY_LAG,
        }
        draft.answer = self._answer(after) | recovery | {"status": status}
        # not a part of the protocol: it is for the broker that answers
        draft.answer["missing"] = configured.missing
        has_moved = after.tasks != was.tasks
        if is_joining or has_moved:
            draft.answer |= after.tasks.listed()
        has_endpoint = after.user_endpoint is not None
        if after.user_endpoint != was.user_endpoint or (has_moved and has_endpoint):
            draft.endpoint_epoch += 1
        self._tell_endpoints(body, after, configured, draft)
        if self.state.topology is None:
            self._forget_soft(draft)
        return draft

    def tick(self, now: Now) -> Draft:
        """Fence members whose session or rebalance timeout is over, and make the first
        target when its delay is over.
        """
        why = self._overdue("tasks", now)
        draft = self._fence(why) if why else Draft()
        if self._delay.is_overdue(INITIAL_DELAY, now.monotonic_ms):
            draft.ends_delay = True
            if not why:
                self._first_target(now, draft)
        draft.endpoint_epoch = self._endpoint_epoch
        return draft

    def next_deadline(self) -> int | None:
        return soonest(super().next_deadline(), self._delay.next())

    # -- records

    def apply(self, name: str, key: Message, value: Message | None) -> None:
        """Apply one of this group's records, live or in a replay."""
        self.state.apply(name, key, value)
        member_id = getattr(key, "member_id", "")
        member = self.state.members.get(member_id)
        self._timers.follow(member_id, member)
        if member is None:
            self._reported.pop(member_id, None)

    def committed(self, draft: Draft, now: Now) -> None:
        """The records of a draft have been applied."""
        self._looked = draft.looked or self._looked
        self._endpoint_epoch = draft.endpoint_epoch
        self._shutdown_by = self._shutdown_by or draft.shutdown_by
        if not self.state.members:
            self._shutdown_by = None
        if draft.reported is not None:
            self._reported[draft.heard] = draft.reported
        if draft.ends_delay:
            self._delay.set(INITIAL_DELAY, None)
        if draft.starts_delay and self._delay.at(INITIAL_DELAY) is None:
            delay_ms = self._configured("streams.initial.rebalance.delay.ms")
            self._delay.set(INITIAL_DELAY, now.monotonic_ms + delay_ms)
        self._heard_from(draft, now)
        for kind, detail in draft.events:
            self._trace.emit(kind, group=self.group_id, **detail)

    # -- questions from other parts

    def _check_commit_of(
        self, member: StreamsMember, request: Message, version: int | None
    ) -> None:
        messages.check_commit(member, request, version, self.state.topology)

    def subscribes_to(self, topic: str) -> bool:
        topology = self.state.topology
        if not self.state.members or topology is None:
            return False
        return topic in topology.readers

    def describe(self) -> dict[str, Any]:
        configured = self._looked.configured
        return messages.described(self.group_id, self.state, configured, self._reported)

    # -- the steps of a heartbeat

    def _joining(self, body: Message, draft: Draft) -> StreamsMember:
        """A new member, one that joins again, or a new process of a static member.
        Errors: GROUP_MAX_SIZE_REACHED, UNRELEASED_INSTANCE_ID.
        """
        members = self.state.members
        owner = self.state.static_members.get(body.instance_id)
        if owner is not None:
            return self._replaced(members[owner], body, draft)
        most = self._config["group.streams.max.size"]
        group_rules.check_room(self.type, most, members, body.member_id)
        return members.get(body.member_id) or StreamsMember(body.member_id)

    def _replaced(
        self, member: StreamsMember, body: Message, draft: Draft
    ) -> StreamsMember:
        """A new process of a static member: it takes over the tasks of the one that
        left, under its own member id.
        """
        group_rules.check_released(member.member_id, member.member_epoch, body)
        new = replace(
            member,
            member_id=body.member_id,
            member_epoch=JOIN_EPOCH,
            previous_member_epoch=JOIN_EPOCH,
        )
        target = self.state.target.get(member.member_id, Tasks())
        draft.replaces = member.member_id
        draft.records += [
            *member.tombstones(self.group_id),
            new.metadata_record(self.group_id),
            target_record(self.group_id, new.member_id, target),
            new.current_assignment_record(self.group_id),
        ]
        return new

    def _sender(self, body: Message) -> StreamsMember:
        """The member that sent a heartbeat. Errors: UNKNOWN_MEMBER_ID,
        FENCED_INSTANCE_ID.
        """
        if body.instance_id is None:
            return self._member(body.member_id)
        owner = self.state.static_members.get(body.instance_id)
        group_rules.check_instance(owner, body)
        return self.state.members[body.member_id]

    def _look_at_topics(
        self, topology: Topology, member: StreamsMember, status: list[dict[str, Any]]
    ) -> Looked:
        state = self.state
        is_known = state.topology is not None
        is_stale = is_known and member.topology_epoch < topology.epoch
        if is_stale:
            detail = (
                f"The member's topology epoch {member.topology_epoch} is behind the"
                f" group's topology epoch {topology.epoch}."
            )
            status.append(messages.said(Status.STALE_TOPOLOGY, detail))
        last = self._looked if is_known else Looked()
        return look_again(last, topology, state.metadata_hash, self._image)

    def _topology(self, body: Message, draft: Draft) -> Topology:
        """The group's topology, with this member. Errors: INVALID_REQUEST if the member
        has a different topology, unless that is an older one.
        """
        known = self.state.topology
        if body.topology is None:
            if known is None:
                raise KafkaError(Error.UNKNOWN_SERVER_ERROR)
            return known
        topology = topology_of(body.topology)
        if known is None:
            draft.records.append(self._record("Topology", body.topology.to_dict()))
            return topology
        if known.epoch <= topology.epoch and known != topology:
            why = "Topology updates are not supported yet."
            raise KafkaError(Error.INVALID_REQUEST, why)
        return known

    def _next_group_epoch(
        self, looked: Looked, member_changed: bool, draft: Draft
    ) -> int:
        """The group epoch after this heartbeat: one higher if there is something new to
        assign.
        """
        state = self.state
        metadata_hash = looked.seen.hash or 0
        validated_epoch = looked.validated_epoch
        configs = self._assignment_configs()
        hash_changed = metadata_hash != state.metadata_hash
        validity_changed = validated_epoch != state.validated_topology_epoch
        config_changed = configs != state.assignment_configs
        topics_changed = hash_changed or validity_changed
        if not (member_changed or topics_changed or config_changed):
            return state.group_epoch
        group_epoch = state.group_epoch + 1
        record = self._epoch_record(
            group_epoch, metadata_hash, validated_epoch, configs
        )
        draft.records.append(record)
        why = Reason("topics", "topics of the topology or the configuration changed")
        if member_changed:
            why = Reason("subscription", "a member came, or has changed")
        self._note_rebalance(group_epoch, why, draft)
        return group_epoch

    def _next_target(
        self,
        member: StreamsMember,
        group_epoch: int,
        configured: Configured,
        now: Now,
        draft: Draft,
        status: list[dict[str, Any]],
    ) -> tuple[int, Tasks]:
        """The target's epoch, and this member's part of the target. The target is made
        again if the group epoch has grown and nothing delays it.
        """
        state = self.state
        delay_ms = self._configured("streams.initial.rebalance.delay.ms")
        draft.starts_delay = not state.members and delay_ms > 0
        if draft.starts_delay or self._delay.at(INITIAL_DELAY) is not None:
            detail = "Assignment delayed due to the configured initial rebalance delay."
            status.append(messages.said(Status.ASSIGNMENT_DELAYED, detail))
            return state.assignment_epoch, Tasks()
        last = state.target.get(draft.replaces or member.member_id, Tasks())
        if group_epoch <= state.assignment_epoch:
            return state.assignment_epoch, last
        if not self._may_assign(now):
            detail = "Assignment delayed due to the configured assignment interval."
            status.append(messages.said(Status.ASSIGNMENT_DELAYED, detail))
            return state.assignment_epoch, last
        members = dict(state.members)
        members.pop(draft.replaces, None)
        members[member.member_id] = member
        target = self._assign(members, configured, group_epoch, now, draft)
        return group_epoch, target[member.member_id]

    def _first_target(self, now: Now, draft: Draft) -> None:
        """The delay is over. If nobody has looked at the group's topics since it was
        made, it waits for the next heartbeat; it does so too if its target is too
        large, so that its members are told.
        """
        state = self.state
        has_grown = state.group_epoch > state.assignment_epoch
        configured = self._looked.configured
        if state.members and has_grown and configured and self._may_assign(now):
            with suppress(KafkaError):
                self._assign(state.members, configured, state.group_epoch, now, draft)

    def _assign(
        self,
        members: dict[str, StreamsMember],
        configured: Configured,
        epoch: int,
        now: Now,
        draft: Draft,
    ) -> dict[str, Tasks]:
        """A new target for all members, without tasks while the topics are not ready.
        Errors: those of new_target.
        """
        reported = dict(self._reported)
        if draft.reported is not None:
            reported[draft.heard] = draft.reported
        target = new_target(members, reported, configured, self._standby_replicas)
        for member_id, tasks in target.items():
            if self.state.target.get(member_id) != tasks:
                record = target_record(self.group_id, member_id, tasks)
                draft.records.append(record)
        draft.records.append(self._target_epoch_record(epoch, now))
        return target

    # -- the answer

    def _tell_endpoints(
        self, body: Message, member: StreamsMember, configured: Configured, draft: Draft
    ) -> None:
        """Tell the member which process to ask for which state, if that changed since
        the member was last told.
        """
        assert draft.answer is not None
        if draft.endpoint_epoch != body.endpoint_information_epoch:
            others = dict(self.state.members)
            others.pop(member.member_id, None)
            others.pop(draft.replaces, None)
            members = [*others.values(), member]
            endpoints = messages.endpoint_partitions(members, configured, self._image)
            draft.answer["partitions_by_user_endpoint"] = endpoints
        draft.answer["endpoint_information_epoch"] = draft.endpoint_epoch

    def _forget_soft(self, draft: Draft) -> None:
        """The heartbeat that creates a group leaves no soft state except its member's
        session and the delay, as in Apache Kafka: the next heartbeat looks at the
        topics again.
        """
        assert draft.answer is not None
        draft.answer["endpoint_information_epoch"] = 0
        draft.endpoint_epoch = 0
        draft.looked = None
        draft.shutdown_by = None
        draft.reported = None

    # -- leaving

    def _leave(self, body: Message) -> Draft:
        member = self._sender(body)
        answer = {
            "member_id": body.member_id,
            "member_epoch": body.member_epoch,
            "status": [],
            "missing": (),
        }
        if body.instance_id is not None and body.member_epoch == LEAVE_STATIC_EPOCH:
            away = replace(
                member,
                member_epoch=LEAVE_STATIC_EPOCH,
                tasks=member.tasks.from_the_start(),
                pending=NOTHING_HELD,
            )
            record = away.current_assignment_record(self.group_id)
            return Draft([record], answer, endpoint_epoch=self._endpoint_epoch)
        why = Reason("goodbye", "it said goodbye")
        draft = self._fence({member.member_id: why}, answer)
        draft.endpoint_epoch = self._endpoint_epoch
        if body.shutdown_application:
            draft.shutdown_by = body.member_id
        return draft

    def _fence(self, why: dict[str, Reason], answer: Answer | None = None) -> Draft:
        """Remove members; their tasks are free at once. why: by member id."""
        state = self.state
        draft = Draft(answer=answer)
        for member_id, reason in why.items():
            member = state.members[member_id]
            draft.records += member.tombstones(self.group_id)
            if self._trace:
                left = {"member": member_id, "client": member.client_id, "why": reason}
                draft.events.append(("MemberLeft", left))
        group_epoch = state.group_epoch + 1
        record = self._epoch_record(
            group_epoch,
            state.metadata_hash,
            state.validated_topology_epoch,
            state.assignment_configs,
        )
        draft.records.append(record)
        draft.records += self._emptied(group_epoch, len(why))
        leavers = ", ".join(state.members[member_id].client_id for member_id in why)
        they_left = Reason("member_leaves", f"{leavers} left")
        self._note_rebalance(group_epoch, they_left, draft)
        return draft

    # -- helpers

    def _epoch_record(
        self,
        epoch: int,
        metadata_hash: int,
        validated_topology_epoch: int,
        assignment_configs: Mapping[str, str],
    ) -> CoordinatorRecord:
        """The record of a new group epoch, and of what it is based on."""
        configs = []
        for key, text in sorted(assignment_configs.items()):
            configs.append({"key": key, "value": text})
        value = {
            "epoch": epoch,
            "metadata_hash": metadata_hash,
            "validated_topology_epoch": validated_topology_epoch,
            "last_assignment_configs": configs,
        }
        return self._record("Metadata", value)

    @property
    def _standby_replicas(self) -> int:
        return self._configured(f"streams.{STANDBY_REPLICAS}")

    def _assignment_configs(self) -> dict[str, str]:
        """The assignor's configs, as they are stored with the group epoch."""
        return {STANDBY_REPLICAS: str(self._standby_replicas)}

    def _note_arrival(self, member: StreamsMember, draft: Draft) -> None:
        if self._trace and member.member_id not in self.state.members:
            joined = {
                "member": member.member_id,
                "client": member.client_id,
                "instance": member.instance_id,
                "why": Reason("new", "it joins"),
            }
            draft.events.append(("MemberJoined", joined))

    def _note_rebalance(self, group_epoch: int, why: Reason, draft: Draft) -> None:
        if self._trace:
            detail = {"generation": group_epoch, "why": why}
            draft.events.append(("RebalanceStarted", detail))

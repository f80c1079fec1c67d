"""A consumer group of the protocol of KIP-848: the coordinator assigns, and nobody
stops for it.

A member sends one kind of request, ConsumerGroupHeartbeat. It says that the member is
alive, what it wants (if that changed) and what it has (if that changed); the answer
says what it may have. Three epochs carry the whole protocol:

    group epoch        grows when the target must be recomputed: a member came, left or subscribed otherwise, or a
                       subscribed topic changed
    assignment epoch   the group epoch that the target assignment was made for
    member epoch       the assignment epoch that this member has reached, and its pass: with another one it is fenced

A heartbeat takes up to three steps, each with its own records:

    subscription       the member's metadata, if it changed          group epoch + 1
    target             the assignor divides all partitions again     assignment epoch = group epoch
    reconciliation     this one member goes on as far as it can      member epoch = assignment epoch, once it has
                       (reconciliation.py)                           given up what others are to have

So a rebalance consists only of heartbeats. A member whose partitions don't change reads
on. A member that must give up partitions is told so, finishes and commits, and says in
a later heartbeat that it no longer has them. From then on they are free, and their next
owner gets them with its next heartbeat. Until then it waits for them without holding up
anybody.

    member A (0 1 2 3)               coordinator                    member B
      |                                | <---- heartbeat, epoch 0 ----|  group epoch 3, target A: 0 1, B: 2 3
      |                                |--- epoch 3, nothing yet ---->|  2 and 3 are A's
      |-- heartbeat, epoch 2 --------> |                              |
      |<-- epoch 2, keep 0 1 ----------|                              |
      |-- epoch 2, I have 0 1 -------->|                              |  A gave up 2 and 3
      |<-- epoch 3 --------------------| <---- heartbeat, epoch 3 ----|
      |                                |--- epoch 3, you have 2 3 --->|

A member is fenced if it is silent for longer than the session timeout, or takes longer
than its rebalance timeout to give up partitions. An answer may get lost: then the
member sends its previous epoch again, which is accepted as long as it owns nothing that
it isn't assigned. A static member (group.instance.id, KIP-345) that leaves with epoch
-2 keeps its partitions until its session is over; a new process with its instance id
takes them over, without a rebalance.

`heartbeat` and `tick` decide; the state changes in `apply` alone
(consumer_group_state.py). Soft state, which a new coordinator does without: when
sessions end, and by when partitions must be given up.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from minikafka.clock import Now
from minikafka.cluster.metadata import Image
from minikafka.cluster.waiting import Answer
from minikafka.coordinators import consumer_group_messages as messages
from minikafka.coordinators import consumer_member, expressions, group_rules
from minikafka.coordinators.consumer_group_state import (
    THE_GROUP,
    ConsumerGroupState,
    Events,
)
from minikafka.coordinators.consumer_member import ConsumerMember, by_topic
from minikafka.coordinators.expressions import Expressions
from minikafka.coordinators.group_rules import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
)
from minikafka.coordinators.modern_group import ReconcilingGroup
from minikafka.coordinators.reconciliation import Goal, reconcile
from minikafka.coordinators.runtime import Configs, CoordinatorRecord
from minikafka.coordinators.server_assignors import (
    Target,
    assign,
    assignor_names,
    preferred_assignor,
)
from minikafka.coordinators.subscriptions import (
    SeenTopics,
    by_name,
    look_at,
    subscribed_topics,
)
from minikafka.trace import Reason, Trace
from minikafka.wire.schema import Message


class Step(NamedTuple):
    """The members and partitions that one heartbeat concerns. was: the member before
    it, under its current id. replaces: the id that its instance had until now. owned:
    the partitions that it says it has; None if it doesn't say.
    """

    was: ConsumerMember
    member: ConsumerMember
    replaces: str | None
    owned: frozenset[consumer_member.TopicPartition] | None


@dataclass(slots=True)
class Draft:
    """The outcome of a request, or of a deadline. why: the reasons, for the trace, by
    member id and THE_GROUP. assignor: the one that made a new target. seen: the
    subscribed topics, if they were looked at. heard: the member that is alive. moved:
    whether its assignment changed.
    """

    records: list[CoordinatorRecord] = field(default_factory=list)
    answer: Answer | None = None
    why: dict[str, Reason] = field(default_factory=dict)
    assignor: str = ""
    seen: SeenTopics | None = None
    heard: str = ""
    moved: bool = False


class ConsumerGroup(ReconcilingGroup[ConsumerMember]):
    """One group. matched: the topics that expressions match. live: whether it was made
    by a request and not by a replay.
    """

    type = "consumer"
    own_records = ("TargetAssignmentMetadata", "PartitionMetadata", "Metadata")
    state: ConsumerGroupState

    def __init__(
        self,
        group_id: str,
        config: Configs,
        image: Image,
        matched: Expressions,
        trace: Trace,
        live: bool,
    ) -> None:
        super().__init__(group_id, config, image)
        self.state = ConsumerGroupState()
        self._matched = matched
        self._events = Events(group_id, image, trace, live)
        self._seen = SeenTopics()
        self._assignors = assignor_names(config["group.consumer.assignors"])

    # -- requests and deadlines: decide

    def heartbeat(
        self, body: Message, client_id: str, client_host: str, now: Now
    ) -> Draft:
        """ConsumerGroupHeartbeat, after messages.check_request has checked it by
        itself. Errors: UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, FENCED_INSTANCE_ID,
        UNRELEASED_INSTANCE_ID, GROUP_MAX_SIZE_REACHED, INVALID_REGULAR_EXPRESSION,
        COORDINATOR_LOAD_IN_PROGRESS.
        """
        if body.member_epoch in (LEAVE_EPOCH, LEAVE_STATIC_EPOCH):
            return self._leave(body)
        most = self._config["group.consumer.max.size"]
        if body.instance_id not in self.state.static_members:
            group_rules.check_room(self.type, most, self.state.members, body.member_id)
        draft = Draft(heard=body.member_id)
        step = self._step(body, client_id, client_host, draft)
        was = step.was
        self._find_topics(step.member.subscribed_topic_regex)
        if step.member != was:
            draft.records.append(step.member.metadata_record(self.group_id))
        subscription_changed = step.member.subscription != was.subscription
        group_epoch = self._next_group_epoch(step, subscription_changed, draft)
        target_epoch, target = self._next_target(step, group_epoch, now, draft)
        member = self._reconciled(step, target_epoch, target, subscription_changed)
        if member != step.member:
            draft.records.append(member.current_assignment_record(self.group_id))
            draft.moved = True
        has_changed = member.assigned_partitions != was.assigned_partitions
        with_assignment = messages.is_full(body) or has_changed
        given = None
        if with_assignment:
            given = {"topic_partitions": by_topic(member.assigned_partitions)}
        draft.answer = self._answer(member) | {"assignment": given}
        return draft

    def tick(self, now: Now) -> Draft:
        """Fence members whose session or rebalance timeout is over."""
        why = self._overdue("partitions", now)
        return self._fence(why) if why else Draft()

    # -- records

    def apply(self, name: str, key: Message, value: Message | None) -> None:
        """Apply one of this group's records, live or in a replay."""
        member_id = getattr(key, "member_id", "")
        was = self.state.members.get(member_id)
        self.state.apply(name, key, value)
        self._events.applied(self.state, name, key, value, was)
        self._timers.follow(member_id, self.state.members.get(member_id))

    def loaded(self, now: Now) -> None:
        self._events.live = True
        super().loaded(now)

    def committed(self, draft: Draft, now: Now) -> None:
        """The records of a draft have been applied."""
        self._seen = draft.seen or self._seen
        self._heard_from(draft, now)
        self._events.emit(draft.why, draft.assignor)

    # -- questions from other parts

    def _check_commit_of(
        self, member: ConsumerMember, request: Message, version: int | None
    ) -> None:
        messages.check_commit(member, request, version, self._image)

    def subscribes_to(self, topic: str) -> bool:
        return topic in subscribed_topics(self.state, self._matched.matching)

    def describe(self) -> dict[str, Any]:
        assignor = preferred_assignor(self.state.members.values(), self._assignors)
        return messages.described(self.group_id, self.state, assignor, self._image)

    # -- the steps of a heartbeat

    def _step(
        self, body: Message, client_id: str, client_host: str, draft: Draft
    ) -> Step:
        """The sender of a heartbeat: a known member, a new one, or a new process of a
        static member.
        """
        owned = None
        if body.topic_partitions is not None:
            owned = frozenset(consumer_member.flat(body.topic_partitions))
        member_id = body.member_id
        replaces = None
        if body.member_epoch != JOIN_EPOCH:
            was = self._sender(body)
            messages.check_epoch(was, body.member_epoch, owned)
        elif body.instance_id in self.state.static_members:
            replaces = self.state.static_members[body.instance_id]
            was = self._replaced(self.state.members[replaces], body, draft)
        else:
            was = self.state.members.get(member_id) or ConsumerMember(member_id)
            draft.why[member_id] = Reason("new", "it joins")
        member = messages.updated(was, body, client_id, client_host)
        return Step(was=was, member=member, replaces=replaces, owned=owned)

    def _replaced(
        self, member: ConsumerMember, body: Message, draft: Draft
    ) -> ConsumerMember:
        """A new process of a static member: it takes over the partitions of the one
        that left, under its own member id.
        """
        group_rules.check_released(member.member_id, member.member_epoch, body)
        new = replace(
            member,
            member_id=body.member_id,
            member_epoch=JOIN_EPOCH,
            previous_member_epoch=JOIN_EPOCH,
        )
        target = self.state.target.get(member.member_id, ())
        draft.records += [
            *member.tombstones(self.group_id),
            new.metadata_record(self.group_id),
            consumer_member.target_record(self.group_id, new.member_id, target),
            new.current_assignment_record(self.group_id),
        ]
        static = f"static member {body.instance_id}"
        code = "static_member_replaced"
        former_why = f"a new process of {static} takes its place"
        draft.why[member.member_id] = Reason(code, former_why)
        new_why = f"it takes the place of {static}"
        draft.why[new.member_id] = Reason(code, new_why)
        return new

    def _next_group_epoch(
        self, step: Step, subscription_changed: bool, draft: Draft
    ) -> int:
        """The group epoch after this heartbeat: one higher if there is something new to
        assign.
        """
        topics = by_name(step.member, self._matched.matching).subscribed_topic_names
        group_epoch = self.state.group_epoch
        prefers_other = self._prefers_other_assignor(step)
        is_certain = subscription_changed or prefers_other
        if not is_certain and self._topics_are_unchanged(topics, draft):
            return group_epoch
        others = subscribed_topics(self.state, self._matched.matching, [step.was])
        draft.seen = look_at({*others, *topics}, self._image)
        topics_changed = draft.seen.hash != self.state.metadata_hash
        if is_certain or topics_changed:
            group_epoch += 1
            draft.records.append(self._group_epoch_record(group_epoch, draft.seen))
            if subscription_changed:
                names = ", ".join(topics) or "nothing"
                sentence = f"{step.member.client_id} subscribes to {names}"
                why = Reason("subscription", sentence)
            elif prefers_other:
                sentence = f"with {step.member.client_id} most prefer another assignor"
                why = Reason("subscription", sentence)
            else:
                why = Reason("topics", "subscribed topics changed")
            draft.why[THE_GROUP] = why
        if self.state.has_partition_metadata:
            draft.records.append(self._record("PartitionMetadata", None))
        return group_epoch

    def _prefers_other_assignor(self, step: Step) -> bool:
        """Whether the assignor that most members prefer changes with this member."""
        is_known = step.was.member_id in self.state.members or step.replaces is not None
        if is_known and step.member.server_assignor == step.was.server_assignor:
            return False
        members = dict(self.state.members)
        before = preferred_assignor(members.values(), self._assignors)
        members.pop(step.replaces or "", None)
        members[step.member.member_id] = step.member
        return preferred_assignor(members.values(), self._assignors) != before

    def _find_topics(self, pattern: str | None) -> None:
        """Find the topics that the group's expressions match, and those that a member's
        expression matches.
        """
        patterns = self.state.patterns
        expressions.check_room(pattern, patterns)
        if pattern or patterns:
            asked = dict.fromkeys([*patterns, pattern] if pattern else patterns)
            self._matched.find(asked, self._image.all_topic_names)

    def _topics_are_unchanged(self, topics: Collection[str], draft: Draft) -> bool:
        """Whether the topics of a member are still what they were at this group
        epoch.
        """
        all_topics = None
        names = self._image.all_topic_names
        if self.state.patterns and self._seen.names is not names:
            all_topics = subscribed_topics(self.state, self._matched.matching)
        known_hash = self.state.metadata_hash
        if not self._seen.are_unchanged(topics, all_topics, known_hash, self._image):
            return False
        if all_topics is not None:
            draft.seen = self._seen._replace(names=names)
        return True

    def _next_target(
        self, step: Step, group_epoch: int, now: Now, draft: Draft
    ) -> tuple[int, Target]:
        """The target's epoch, and this member's part of the target. The target is made
        again if the group epoch has grown, but at most once per
        group.consumer.assignment.interval.ms, so that many members that come at once
        need only one (KIP-1263).
        """
        state = self.state
        member_id = step.member.member_id
        if group_epoch <= state.assignment_epoch or not self._may_assign(now):
            known_as = step.replaces or member_id
            return state.assignment_epoch, state.target.get(known_as, frozenset())
        members = {}
        for each_id, member in state.members.items():
            members[each_id] = by_name(member, self._matched.matching)
        before = dict(state.target)
        if step.replaces is not None:
            members.pop(step.replaces)
            before[member_id] = before.pop(step.replaces, frozenset())
        members[member_id] = by_name(step.member, self._matched.matching)
        assignor = preferred_assignor(members.values(), self._assignors)
        target = assign(assignor, members, before, self._image)
        for each_id, partitions in target.items():
            if state.target.get(each_id) != partitions:
                record = consumer_member.target_record(
                    self.group_id, each_id, partitions
                )
                draft.records.append(record)
        draft.records.append(self._target_epoch_record(group_epoch, now))
        draft.assignor = assignor
        return group_epoch, target[member_id]

    def _reconciled(
        self, step: Step, epoch: int, target: Target, subscription_changed: bool
    ) -> ConsumerMember:
        if not subscription_changed and step.member.is_reconciled_to(epoch):
            return step.member
        topics = self._image.topics
        names = by_name(step.member, self._matched.matching).subscribed_topic_names
        topic_ids = {topics[name].topic_id for name in names if name in topics}
        is_owned = self.state.owners.__contains__
        goal = Goal(epoch, target, topic_ids, is_owned)
        return reconcile(step.member, goal, step.owned, subscription_changed)

    # -- leaving

    def _leave(self, body: Message) -> Draft:
        member = self._sender(body)
        answer = {"member_id": body.member_id, "member_epoch": body.member_epoch}
        if body.instance_id is not None and body.member_epoch == LEAVE_STATIC_EPOCH:
            away = replace(
                member,
                member_epoch=LEAVE_STATIC_EPOCH,
                assigned_partitions=dict.fromkeys(member.assigned_partitions, 0),
                partitions_pending_revocation={},
            )
            return Draft([away.current_assignment_record(self.group_id)], answer)
        why = Reason("goodbye", "it said goodbye")
        return self._fence({member.member_id: why}, answer)

    def _fence(self, why: dict[str, Reason], answer: Answer | None = None) -> Draft:
        """Remove members; their partitions are free at once. why: by member id."""
        members = [self.state.members[member_id] for member_id in why]
        leavers = ", ".join(member.client_id for member in members)
        whys = dict(why)
        whys[THE_GROUP] = Reason("member_leaves", f"{leavers} left")
        topics = subscribed_topics(self.state, self._matched.matching, members)
        seen = look_at(topics, self._image)
        draft = Draft(answer=answer, why=whys)
        if not self.state.patterns:  # otherwise some topics may not have been found yet
            draft.seen = seen
        for member in members:
            draft.records += member.tombstones(self.group_id)
        group_epoch = self.state.group_epoch + 1
        draft.records.append(self._group_epoch_record(group_epoch, seen))
        draft.records += self._emptied(group_epoch, len(members))
        return draft

    # -- helpers

    def _sender(self, body: Message) -> ConsumerMember:
        """The member that sent a heartbeat. Errors: UNKNOWN_MEMBER_ID,
        FENCED_INSTANCE_ID.
        """
        if body.instance_id is None:
            return self._member(body.member_id)
        return self._own_instance(body)

    def _own_instance(self, body: Message) -> ConsumerMember:
        """The static member that sent a request. Errors: FENCED_INSTANCE_ID if another
        process has its instance id by now.
        """
        member_id = self.state.static_members.get(body.instance_id)
        group_rules.check_instance(member_id, body)
        return self.state.members[body.member_id]

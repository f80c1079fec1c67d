"""A share group (KIP-932): its members read the same partitions, and each record goes
to one of them.

A member sends one kind of request, ShareGroupHeartbeat, and three epochs carry the
protocol, as in a consumer group (consumer_group.py). It is simpler, because nobody has
to give anything up:

    subscription   the member's metadata, if it changed           group epoch + 1
    target         the assignor shares the partitions again       assignment epoch = group epoch
    the member     has its part of the target                     member epoch = assignment epoch

A partition is assigned only once its state exists: that is created in a share
coordinator's log before anybody reads (share_coordinator.py). So a member that joins
gets nothing at first, and its partitions with a later heartbeat.

    member           group coordinator             share coordinator
      |-- epoch 0 ------> |                              |   group epoch 2, target: nothing
      |<-- epoch 2 -------|-- InitializeShareGroupState >|
      |                   |<-----------------------------|   the state of 0 1 2 is there
      |-- epoch 2 ------> |                              |   group epoch 3, target: 0 1 2
      |<-- epoch 3, 0 1 2-|                              |

`heartbeat` and `tick` decide; the state changes in `apply` alone
(share_group_state.py). Soft state: when sessions end, and when the creation of a state
was requested.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from minikafka.clock import Now
from minikafka.cluster.metadata import Image
from minikafka.cluster.waiting import Answer
from minikafka.coordinators import group_rules, share_assignor
from minikafka.coordinators.consumer_member import (
    TopicPartition,
    by_topic,
    by_topic_name,
)
from minikafka.coordinators.group_rules import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    refuse,
    refuse_blank,
)
from minikafka.coordinators.modern_group import ModernGroup
from minikafka.coordinators.runtime import Configs, CoordinatorRecord
from minikafka.coordinators.share_group_state import (
    ByTopicId,
    Kept,
    ShareGroupState,
    ShareMember,
    TopicState,
    with_partitions,
)
from minikafka.coordinators.subscriptions import SeenTopics, look_at
from minikafka.trace import Reason, Trace
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

LEFT = Reason("goodbye", "it said goodbye")


class Leaver(NamedTuple):
    """A member that was removed, and the reason."""

    member: ShareMember
    why: Reason


@dataclass(slots=True)
class ShareDraft:
    """The outcome of a heartbeat, or of a deadline. seen: the subscribed topics, if
    they were looked at. heard: the member that is alive. joined: whether it is new.
    initialize: the partitions whose state is to be created, at group epoch `epoch`.
    known: the topics of which partitions had a state, or were to get one: a partition
    that is added to one of them is read from its beginning.
    """

    records: list[CoordinatorRecord] = field(default_factory=list)
    answer: Answer | None = None
    seen: SeenTopics | None = None
    heard: str = ""
    joined: str = ""
    left: list[Leaver] = field(default_factory=list)
    epoch: int = 0
    initialize: dict[bytes, TopicState] = field(default_factory=dict)
    known: frozenset[bytes] = frozenset()


class ShareGroup(ModernGroup[ShareMember]):
    """One group."""

    type = "share"
    own_records = ("TargetAssignmentMetadata", "StatePartitionMetadata", "Metadata")
    state: ShareGroupState

    def __init__(
        self, group_id: str, config: Configs, image: Image, trace: Trace
    ) -> None:
        super().__init__(group_id, config, image)
        self.state = ShareGroupState()
        self._trace = trace
        self._seen = SeenTopics()
        # when the states of a topic's partitions were requested, monotonic ms
        self._asked_ms: dict[bytes, int] = {}

    # -- requests and deadlines: decide

    def heartbeat(
        self, body: Message, client_id: str, client_host: str, now: Now
    ) -> ShareDraft:
        """ShareGroupHeartbeat, after check_heartbeat has checked it by itself. Errors:
        UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, GROUP_MAX_SIZE_REACHED.
        """
        if body.member_epoch == LEAVE_EPOCH:
            return self._leave(body)
        most = self._config["group.share.max.size"]
        group_rules.check_room(self.type, most, self.state.members, body.member_id)
        was = self._sender(body)
        member = _updated(was, body, client_id, client_host)
        draft = ShareDraft(heard=body.member_id)
        if body.member_id not in self.state.members:
            draft.joined = body.member_id
        if member != was or draft.joined:
            draft.records.append(member.metadata_record(self.group_id))
        topics = self._topics(was, member)
        draft.epoch, is_bumped = self._next_epoch(was, member, topics, draft)
        target_epoch, target = self._next_target(member, draft, now)
        settled = self._reconciled(member, target_epoch, target, is_bumped)
        if settled != member:
            draft.records.append(settled.assignment_record(self.group_id))
        self._initialize(topics, draft, now)
        is_joining = body.member_epoch == JOIN_EPOCH
        says_all = body.subscribed_topic_names is not None
        has_changed = settled.assigned != was.assigned
        with_assignment = is_joining or says_all or has_changed
        given = None
        if with_assignment:
            given = {"topic_partitions": by_topic(settled.assigned)}
        draft.answer = self._answer(settled) | {"assignment": given}
        return draft

    def tick(self, now: Now) -> ShareDraft:
        """Remove a member whose session is over, the longest silent first. One per
        tick: the next tick is due at once.
        """
        silent = self._timers.silent(self._session_timeout_ms, now)
        for member_id, why in silent.items():
            return self._without(self.state.members[member_id], why)
        return ShareDraft()

    # -- records

    def apply(self, name: str, key: Message, value: Message | None) -> None:
        """Apply one of this group's records, live or in a replay."""
        self.state.apply(name, key, value)
        member_id = getattr(key, "member_id", "")
        if member_id not in self.state.members:
            self._timers.forget(member_id)

    def loaded(self, now: Now) -> None:
        """The replay is over: every member gets a full session. States that are being
        created may have been requested just now.
        """
        for member_id in self.state.members:
            self._heard(member_id, now)
        self._asked_ms = dict.fromkeys(self.kept.initializing, now.monotonic_ms)

    def committed(self, draft: ShareDraft, now: Now) -> None:
        """The records of a draft have been applied."""
        self._seen = draft.seen or self._seen
        if draft.heard in self.state.members:
            self._heard(draft.heard, now)
        for topic_id in draft.initialize:
            self._asked_ms[topic_id] = now.monotonic_ms
        if self._trace:
            self._tell(draft)

    def _tell(self, draft: ShareDraft) -> None:
        """Tell the trace which members came and left."""
        if draft.joined:
            member = self.state.members[draft.joined]
            self._trace.emit(
                "MemberJoined",
                group=self.group_id,
                member=member.member_id,
                client=member.client_id,
                instance=None,
                why=Reason("new", "it joins"),
            )
        for member, why in draft.left:
            self._trace.emit(
                "MemberLeft",
                group=self.group_id,
                member=member.member_id,
                client=member.client_id,
                why=why,
            )

    # -- questions from other parts

    @property
    def kept(self) -> Kept:
        """The partitions whose state exists, or is being created or deleted."""
        return self.state.kept or Kept()

    @property
    def has_state(self) -> bool:
        """Whether the state of some partition may still exist."""
        kept = self.kept
        if kept.initializing or kept.initialized:
            return True
        return any(each in self._image.topic_names for each in kept.deleting)

    def describe(self) -> dict[str, Any]:
        """A DescribedGroup of ShareGroupDescribe."""
        members = []
        for _, member in sorted(self.state.members.items()):
            members.append(self._described(member))
        described = self.state.described(self.group_id, members)
        return described | {"assignor_name": share_assignor.NAME}

    def refuse_offsets(self) -> KafkaError:
        """The error for requests about committed offsets: a share group has none."""
        why = f"Group {self.group_id} is not a consumer group."
        return KafkaError(Error.GROUP_ID_NOT_FOUND, why)

    def check_commit(self, *_: object) -> None:
        """Refuse an OffsetCommit. Errors: GROUP_ID_NOT_FOUND."""
        raise self.refuse_offsets()

    def check_fetch(self, *_: object) -> None:
        """Anybody may ask, and is told that there are no offsets."""

    def check_forget(self) -> None:
        """Refuse to delete offsets: there are none. Errors: GROUP_ID_NOT_FOUND."""
        raise self.refuse_offsets()

    def subscribes_to(self, topic: str) -> bool:
        return topic in self.state.subscribers

    # -- the steps of a heartbeat

    def _sender(self, body: Message) -> ShareMember:
        """The member that sent a heartbeat; it must show its member epoch. Errors:
        UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, GROUP_MAX_SIZE_REACHED.
        """
        member_id, received = body.member_id, body.member_epoch
        if received == JOIN_EPOCH:
            return self.state.members.get(member_id) or ShareMember(member_id)
        member = self._member(member_id)
        current = member.member_epoch
        previous = member.previous_member_epoch
        if received > current:
            raise group_rules.fenced(self.type, received, current)
        if received < current and received != previous:
            why = (
                f"The share group member has a smaller member epoch ({received}) than"
                f" the one known by the group coordinator ({current}), and it does not"
                f" match the previous member epoch ({previous}). The member must"
                " abandon all its partitions and rejoin."
            )
            raise KafkaError(Error.FENCED_MEMBER_EPOCH, why)
        return member

    def _topics(self, was: ShareMember, member: ShareMember | None) -> list[str]:
        """The topics that the group subscribes to, with this member as it is now."""
        counted = Counter(self.state.subscribers)
        if was.member_id in self.state.members:
            counted.subtract(was.subscribed_topic_names)
        if member is not None:
            counted.update(member.subscribed_topic_names)
        return [topic for topic, count in counted.items() if count > 0]

    def _next_epoch(
        self,
        was: ShareMember,
        member: ShareMember,
        topics: list[str],
        draft: ShareDraft,
    ) -> tuple[int, bool]:
        """The group epoch after this heartbeat, and whether it has grown."""
        state = self.state
        is_bumped = was.subscribed_topic_names != member.subscribed_topic_names
        if state.assignment_epoch >= state.group_epoch:
            is_bumped = is_bumped or self._has_new_partitions
        known_hash = state.metadata_hash
        are_unchanged = self._seen.are_unchanged(topics, None, known_hash, self._image)
        if not is_bumped and are_unchanged:
            return state.group_epoch, False
        draft.seen = look_at(topics, self._image)
        if not is_bumped and draft.seen.hash == state.metadata_hash:
            return state.group_epoch, False
        epoch = state.group_epoch + 1
        draft.records.append(self._group_epoch_record(epoch, draft.seen))
        return epoch, True

    @property
    def _has_new_partitions(self) -> bool:
        """Whether there are partitions whose state exists and that nobody reads."""
        if not self.state.members:
            return False
        read: dict[bytes, set[int]] = {}
        for target in self.state.target.values():
            for topic_id, number in target:
                read.setdefault(topic_id, set()).add(number)
        for topic_id, topic in self.kept.initialized.items():
            if topic.name not in self.state.subscribers:
                continue
            if read.get(topic_id, set()) != topic.partitions:
                return True
        return False

    def _next_target(
        self, member: ShareMember, draft: ShareDraft, now: Now
    ) -> tuple[int, frozenset[TopicPartition]]:
        """The target's epoch, and this member's part of the target."""
        state = self.state
        if draft.epoch <= state.assignment_epoch or not self._may_assign(now):
            last = state.target.get(member.member_id, frozenset())
            return state.assignment_epoch, last
        members = {**state.members, member.member_id: member}
        ids_of = {}  # cached, because many members name the same topics
        for each in members.values():
            names = each.subscribed_topic_names
            if names not in ids_of:
                ids_of[names] = self._ids(names)
        assignable = self._assignable(ids_of.values())
        subscriptions = {}
        for member_id, each in members.items():
            subscriptions[member_id] = ids_of[each.subscribed_topic_names]
        target = share_assignor.assign(subscriptions, state.target, assignable)
        for member_id, partitions in target.items():
            if state.target.get(member_id) != partitions:
                key = {"group_id": self.group_id, "member_id": member_id}
                value = {"topic_partitions": by_topic(partitions)}
                name = "ShareGroupTargetAssignmentMember"
                draft.records.append(CoordinatorRecord(name, key, value))
        draft.records.append(self._target_epoch_record(draft.epoch, now))
        return draft.epoch, target[member.member_id]

    def _assignable(
        self, subscriptions: Iterable[frozenset[bytes]]
    ) -> dict[bytes, Iterable[int]]:
        """The partitions whose state exists, of topics that some member
        subscribes to.
        """
        wanted: set[bytes] = set().union(*subscriptions)
        assignable: dict[bytes, Iterable[int]] = {}
        for topic_id, (_, partitions) in self.kept.initialized.items():
            if topic_id in wanted:
                assignable[topic_id] = partitions
        return assignable

    def _reconciled(
        self,
        member: ShareMember,
        epoch: int,
        target: frozenset[TopicPartition],
        is_bumped: bool,
    ) -> ShareMember:
        """The member with its whole target, as far as it still wants the topics."""
        if epoch == member.member_epoch and not is_bumped:
            return member
        wanted = self._ids(member.subscribed_topic_names)
        assigned = frozenset(
            (topic_id, number) for topic_id, number in target if topic_id in wanted
        )
        if epoch == member.member_epoch:
            return replace(member, assigned=assigned)
        return replace(
            member,
            member_epoch=epoch,
            previous_member_epoch=member.member_epoch,
            assigned=assigned,
        )

    def _initialize(self, topics: list[str], draft: ShareDraft, now: Now) -> None:
        """Ask for the states of partitions that have none yet; ask again if that hasn't
        worked for long.
        """
        interval_ms = self._config["group.share.initialize.retry.interval.ms"]
        retry_ms = max(interval_ms, self._config["offsets.commit.timeout.ms"])
        known: dict[bytes, TopicState] = dict(self.kept.initialized)
        for topic_id, state in self.kept.initializing.items():
            asked_ms = self._asked_ms.get(topic_id, 0)
            if now.monotonic_ms - asked_ms < retry_ms:
                known = with_partitions(known, {topic_id: state})
        for name in topics:
            topic = self._image.topics.get(name)
            if topic is None:
                continue
            missing = frozenset(topic.partitions)
            if topic.topic_id in known:
                missing -= known[topic.topic_id].partitions
            if missing:
                draft.initialize[topic.topic_id] = TopicState(name, missing)
        if draft.initialize:
            draft.known = frozenset({*self.kept.initialized, *self.kept.initializing})
            draft.records.append(self.asking_for(draft.initialize))

    def asking_for(self, topics: ByTopicId) -> CoordinatorRecord:
        """The record that says that the states of these partitions are being created,
        and are no longer being deleted.
        """
        initializing = with_partitions(self.kept.initializing, topics)
        deleting = dict(self.kept.deleting)
        for topic_id in initializing:
            deleting.pop(topic_id, None)
        after = replace(self.kept, initializing=initializing, deleting=deleting)
        return after.record(self.group_id)

    # -- leaving

    def _leave(self, body: Message) -> ShareDraft:
        draft = self._without(self._member(body.member_id), LEFT)
        draft.answer = {"member_id": body.member_id, "member_epoch": body.member_epoch}
        return draft

    def _without(self, member: ShareMember, why: Reason) -> ShareDraft:
        """Remove a member, with a reason for the trace."""
        seen = look_at(self._topics(member, None), self._image)
        draft = ShareDraft(seen=seen, left=[Leaver(member, why)])
        draft.records += member.tombstones(self.group_id)
        epoch = self.state.group_epoch + 1
        draft.records.append(self._group_epoch_record(epoch, seen))
        draft.records += self._emptied(epoch, 1)
        return draft

    # -- helpers

    def _heard(self, member_id: str, now: Now) -> None:
        self._timers.renew(member_id, self._session_timeout_ms, now)

    def _ids(self, names: Iterable[str]) -> frozenset[bytes]:
        topics = self._image.topics
        return frozenset(topics[name].topic_id for name in names if name in topics)

    def _described(self, member: ShareMember) -> dict[str, Any]:
        assigned = by_topic_name(member.assigned, self._image)
        return {
            "member_id": member.member_id,
            "rack_id": member.rack_id,
            "member_epoch": member.member_epoch,
            "client_id": member.client_id,
            "client_host": member.client_host,
            "subscribed_topic_names": list(member.subscribed_topic_names),
            "assignment": {"topic_partitions": assigned},
        }


def check_heartbeat(body: Message) -> None:
    """Check whether a heartbeat makes sense, with Kafka's error messages. Errors:
    INVALID_REQUEST.
    """
    refuse(not 1 <= len(body.member_id) <= 36, "Invalid member id in the request.")
    refuse_blank(body.member_id, "MemberId")
    refuse_blank(body.group_id, "GroupId")
    refuse_blank(body.rack_id, "RackId")
    if body.member_epoch == JOIN_EPOCH:
        nothing = not body.subscribed_topic_names
        refuse(nothing, "SubscribedTopicNames must be set in first request.")
    refuse(body.member_epoch < LEAVE_EPOCH, "MemberEpoch is invalid.")


def _updated(
    member: ShareMember, body: Message, client_id: str, client_host: str
) -> ShareMember:
    """The member, updated from a request; fields that are null didn't change."""
    changes: dict[str, Any] = {"client_id": client_id, "client_host": client_host}
    if body.rack_id is not None:
        changes["rack_id"] = body.rack_id
    if body.subscribed_topic_names is not None:
        names = sorted(set(body.subscribed_topic_names))
        changes["subscribed_topic_names"] = tuple(names)
    return replace(member, **changes)

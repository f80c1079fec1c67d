"""The group coordinator: how requests about groups are decided, over the groups and
offsets of one partition.

One `Groups` is the state of one partition of `__consumer_offsets` (runtime.py says how
it is loaded and written). A group is classic, or of the consumer protocol (KIP-848),
the streams protocol (KIP-1071) or the share protocol (KIP-932). An empty group may
change its kind; a group with members refuses the other kinds' members, so that they
never mix silently. Apache Kafka 4 can also convert a running group while it is rolled
over to the new protocol; this one cannot.

Each request has a method here that decides (runtime.py). The decisions within a group
are in classic_group.py, consumer_group.py and streams_group.py; requests about its
offsets are in offset_requests.py.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from minikafka.clock import Now, soonest
from minikafka.cluster.metadata import Image
from minikafka.cluster.timers import Deadlines
from minikafka.cluster.waiting import Answer, Wait
from minikafka.coordinators.classic_effects import ClassicEffect
from minikafka.coordinators.classic_group import ClassicGroup, Leaving
from minikafka.coordinators.consumer_group import ConsumerGroup
from minikafka.coordinators.expressions import Expressions
from minikafka.coordinators.group_effects import (
    Drafted,
    GroupDeleted,
    GroupMade,
    OffsetsCommitted,
    OffsetsLookedAt,
)
from minikafka.coordinators.group_rules import JOIN_EPOCH
from minikafka.coordinators.offset_requests import OffsetRequests
from minikafka.coordinators.offsets import Offsets, forgotten
from minikafka.coordinators.runtime import (
    Configs,
    CoordinatorRecord,
    Decision,
    Effect,
)
from minikafka.coordinators.share_group import ShareGroup
from minikafka.coordinators.share_groups import Initialize, ShareRequests
from minikafka.coordinators.streams_group import StreamsGroup
from minikafka.trace import Trace
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

Group = ClassicGroup | ConsumerGroup | StreamsGroup | ShareGroup


@dataclass(eq=False, repr=False)
class Groups(OffsetRequests):
    """The groups and committed offsets of one partition.

    config: the broker's, by Kafka's names. new_member_id(prefix): a unique id.
    initialize: has the state of share partitions made. matched: the topics that
    expressions match. share: decides the requests of share groups.
    """

    _partition: int
    _config: Configs
    _image: Image
    _new_member_id: Callable[[str], str]
    _trace: Trace
    _initialize: Initialize
    _matched: Expressions
    groups: dict[str, Group] = field(default_factory=dict)
    offsets: Offsets = field(default_factory=Offsets)
    _live: bool = False
    # when to look for a group's expired offsets next
    _looks: Deadlines[str] = field(default_factory=Deadlines)

    def __post_init__(self) -> None:
        self.share = ShareRequests(
            self.groups, self._config, self._image, self._trace, self._initialize
        )

    # -- called by the runtime

    def apply(
        self, name: str, key: Message, value: Message | None, offset: int
    ) -> None:
        """Apply one committed record, live or in a replay."""
        if name == "OffsetCommit":
            if value is not None:
                self._make_for_offsets(key.group)
            self.offsets.apply(key, value)
        elif name == "GroupMetadata":
            self._apply_classic(key.group, value)
        elif name.startswith("ShareGroup"):
            if self.share.apply(name, key, value):
                self._remove(key.group_id)
        else:
            self._apply_modern(name, key, value)

    def _make_for_offsets(self, group_id: str) -> None:
        """Make the group of an offset. A group of consumers that assign partitions by
        hand has no other record.
        """
        if group_id not in self.groups:
            self.groups[group_id] = self._new_classic(group_id)

    def _apply_classic(self, group_id: str, value: Message | None) -> None:
        group = self.groups.get(group_id)
        if value is None:
            if isinstance(group, ClassicGroup):
                self._remove(group_id)
            return
        if not isinstance(group, ClassicGroup):
            group = self._new_classic(group_id)
            self.groups[group_id] = group
        group.apply(value)

    def _apply_modern(self, name: str, key: Message, value: Message | None) -> None:
        """Apply a record of a group that isn't classic."""
        group_id = key.group_id
        kind = StreamsGroup if name.startswith("Streams") else ConsumerGroup
        group = self.groups.get(group_id)
        if not isinstance(group, kind):
            if value is None:
                return
            group = self._new_modern(kind, group_id)
            self.groups[group_id] = group
        is_of_whole_group = name in ("ConsumerGroupMetadata", "StreamsGroupMetadata")
        if is_of_whole_group and value is None:
            self._remove(group_id)
        else:
            group.apply(name, key, value)

    def _remove(self, group_id: str) -> None:
        del self.groups[group_id]
        self._looks.set(group_id, None)

    def apply_pending(
        self, producer_id: int, name: str, key: Message, value: Message | None
    ) -> None:
        """Keep an offset as pending: it is committed if the producer's
        transaction is.
        """
        if name == "OffsetCommit":
            self._make_for_offsets(key.group)
            self.offsets.apply(key, value, producer_id)

    def end_transaction(self, producer_id: int, committed: bool) -> None:
        """The transaction has ended: the offsets in it are committed, or dropped."""
        is_listened_to = self._live and self._trace
        for each in self.offsets.end_transaction(producer_id, committed):
            if is_listened_to:
                topic, partition = each.place
                self._trace.emit(
                    "PendingOffsetCommitted",
                    group=each.group,
                    topic=topic,
                    partition=partition,
                    offset=each.committed.offset,
                    producer_id=producer_id,
                )

    def loaded(self, now: Now) -> Iterable[str]:
        """The replay is over: tell all groups. Returns their ids."""
        self._live = True
        for group_id, group in self.groups.items():
            group.loaded(now)
            self._look_later(group_id, now)
        if self._trace and self.groups:
            self._groups_loaded()
        return list(self.groups)

    def _groups_loaded(self) -> None:
        """Tell the trace which groups there are, and their members."""
        members = {}
        for group_id, group in self.groups.items():
            members[group_id] = group.member_ids
        self._trace.emit(
            "GroupLoaded",
            partition=self._partition,
            groups=list(self.groups),
            members=members,
        )

    def tick(self, key: str, now: Now) -> Decision:
        """The deadline of a group has come: check sessions and rebalances, and from
        time to time look for expired offsets.
        """
        group = self.groups.get(key)
        if group is None:
            return Decision()
        due_ms = group.next_deadline()
        if due_ms is not None and due_ms <= now.monotonic_ms:
            return self._time_passed(group, now)
        if self._looks.is_overdue(key, now.monotonic_ms):
            return self.expired(key, group, now)
        return Decision()

    def _time_passed(self, group: Group, now: Now) -> Decision:
        """The decision of a group whose deadline has come."""
        if isinstance(group, ClassicGroup):
            return group.tick()
        if isinstance(group, ShareGroup):
            return self.share.decided(group.tick(now))
        return self._decided(group.tick(now))

    def carry_out(self, key: str, effect: Effect, now: Now) -> Decision | None:
        """Carry out the effect of a decision. Returns another decision if there is more
        to write.
        """
        group = self.groups.get(key)
        match effect:
            case ClassicEffect():
                assert isinstance(group, ClassicGroup)
                return group.carry_out(effect, now)
            case GroupMade():
                self._look_later_if_new(key, now)
                return self._join_it(effect, now)
            case Drafted(draft):
                self._look_later_if_new(key, now)
                if isinstance(group, ShareGroup):
                    self.share.committed(group, draft, now)
                elif isinstance(group, ConsumerGroup | StreamsGroup):
                    group.committed(draft, now)
            case OffsetsCommitted(member_id, kind, events):
                self._look_later_if_new(key, now)
                if isinstance(group, ClassicGroup):
                    group.heard(member_id, now)
                for detail in events:
                    self._trace.emit(kind, **detail)
            case OffsetsLookedAt(expired, is_deleted):
                if expired and self._trace:
                    self._trace.emit("OffsetsExpired", group=key, partitions=expired)
                if is_deleted:
                    self._tell_deleted(key)
                else:
                    self._look_later(key, now)
            case GroupDeleted():
                self._tell_deleted(key)
        return None

    def give_up(self, key: str, failed: Effect, error: KafkaError, now: Now) -> None:
        """The records can't be written. Only classic groups tell the members
        that wait.
        """
        group = self.groups[key]
        assert isinstance(group, ClassicGroup)
        assert isinstance(failed, ClassicEffect)
        group.give_up(failed, error, now)

    def next_deadline(self, key: str) -> int | None:
        """When tick is due next for a group, or when its offsets are to be looked at;
        monotonic ms.
        """
        group = self.groups.get(key)
        if group is None:
            return None
        return soonest(group.next_deadline(), self._looks.at(key))

    # -- classic groups

    def join(
        self,
        wait: Wait,
        request: Message,
        client: tuple[str, str],
        version: int,
        now: Now,
    ) -> Decision:
        """JoinGroup. The first member makes the group, and joins it once that is
        committed.
        """
        lowest = self._config["group.min.session.timeout.ms"]
        highest = self._config["group.max.session.timeout.ms"]
        if not lowest <= request.session_timeout_ms <= highest:
            raise KafkaError(Error.INVALID_SESSION_TIMEOUT)
        group = self.groups.get(request.group_id)
        if isinstance(group, ClassicGroup):
            return group.join(wait, request, client, version, now)
        if group is not None and group.state_name != "Empty":
            raise KafkaError(Error.INCONSISTENT_GROUP_PROTOCOL)
        if request.member_id != "":
            raise KafkaError(Error.UNKNOWN_MEMBER_ID)
        empty = self._new_classic(request.group_id).empty_record(0, now)
        records = [*_tombstones(group), empty]
        made = GroupMade(wait=wait, request=request, client=client, version=version)
        return Decision(records, effect=made)

    def _join_it(self, made: GroupMade, now: Now) -> Decision | None:
        """The first member joins the group that was made for it."""
        if made.wait.is_done:  # making the group took too long
            return None
        return self.join(made.wait, made.request, made.client, made.version, now)

    def sync(self, wait: Wait, request: Message, now: Now) -> Decision:
        """SyncGroup. Errors: UNKNOWN_MEMBER_ID if there is no such classic group."""
        group = self._classic(request.group_id)
        return group.sync(wait, request, now)

    def heartbeat(self, request: Message) -> Decision:
        """Heartbeat. Errors: UNKNOWN_MEMBER_ID if there is no such classic group."""
        group = self._classic(request.group_id)
        return group.heartbeat(request)

    def leave(self, request: Message, version: int) -> Decision:
        """LeaveGroup: one member before version 3, then any number."""
        group = self._classic(request.group_id)
        if version >= 3:
            leaving = []
            for each in request.members:
                who = Leaving(each.member_id, each.group_instance_id, each.reason)
                leaving.append(who)
            return group.leave(leaving)
        decision = group.leave([Leaving(request.member_id)])
        assert decision.answer is not None
        (result,) = decision.answer["members"]
        return decision._replace(answer={"error_code": result["error_code"]})

    # -- consumer groups (KIP-848)

    def consumer_heartbeat(
        self, request: Message, client: tuple[str, str], now: Now
    ) -> Decision:
        """ConsumerGroupHeartbeat; one with epoch 0 may create the group."""
        group = self.groups.get(request.group_id)
        if isinstance(group, ConsumerGroup):
            return self._decided(group.heartbeat(request, *client, now))
        is_joining = request.member_epoch == JOIN_EPOCH
        if not is_joining or isinstance(group, StreamsGroup):
            why = f"Group {request.group_id} is not a consumer group."
            raise KafkaError(Error.GROUP_ID_NOT_FOUND, why)
        if group is not None and group.state_name != "Empty":
            why = (
                f"Cannot upgrade classic group {request.group_id} to consumer group"
                " because online upgrade is disabled."
            )
            raise KafkaError(Error.GROUP_ID_NOT_FOUND, why)
        new = self._new_consumer(request.group_id)
        draft = new.heartbeat(request, *client, now)
        return self._decided(draft, _tombstones(group))

    # -- streams groups (KIP-1071)

    def streams_heartbeat(
        self, request: Message, client: tuple[str, str], now: Now
    ) -> Decision:
        """StreamsGroupHeartbeat; one with epoch 0 may create the group."""
        group_id = request.group_id
        group = self.groups.get(group_id)
        if isinstance(group, StreamsGroup):
            return self._decided(group.heartbeat(request, client, now))
        is_joining = request.member_epoch == JOIN_EPOCH
        if group is None and not is_joining:
            what = "Streams group" if request.member_epoch > 0 else "Group"
            raise KafkaError(Error.GROUP_ID_NOT_FOUND, f"{what} {group_id} not found.")
        is_empty = isinstance(group, ClassicGroup) and group.state_name == "Empty"
        may_be_made = group is None or is_empty
        if not is_joining or not may_be_made:
            why = f"Group {group_id} is not a streams group."
            raise KafkaError(Error.GROUP_ID_NOT_FOUND, why)
        draft = self._new_streams(group_id).heartbeat(request, client, now)
        return self._decided(draft, _tombstones(group))

    def _decided(
        self, draft: Any, before: Sequence[CoordinatorRecord] = ()
    ) -> Decision:
        """The decision from a group's draft. before: the tombstones of a group of
        another kind that had the same name.
        """
        records = [*before, *draft.records]
        return Decision(records, draft.answer, Drafted(draft))

    # -- whole groups

    def describe(self, group_id: str, kind: type[Group]) -> Answer:
        """DescribeGroups for a classic group, ConsumerGroupDescribe (KIP-848) and
        StreamsGroupDescribe (KIP-1071) for the other kinds. Errors: GROUP_ID_NOT_FOUND.
        """
        group = self.groups.get(group_id)
        if not isinstance(group, kind):
            why = "not found" if group is None else f"is not a {kind.type} group"
            raise KafkaError(Error.GROUP_ID_NOT_FOUND, f"Group {group_id} {why}.")
        return group.describe()

    def delete(self, group_id: str, state_has_gone: bool = False) -> Decision:
        """DeleteGroups for one group, with its offsets. In a share group the state of
        its partitions is deleted first (share_groups.py). Errors: NON_EMPTY_GROUP,
        GROUP_ID_NOT_FOUND.
        """
        group = self._existing(group_id)
        if group.state_name != "Empty":
            raise KafkaError(Error.NON_EMPTY_GROUP)
        if isinstance(group, ShareGroup) and group.has_state and not state_has_gone:
            return self.share.begin_deletion(group)
        records = []
        for topic, number in self.offsets.places(group_id):
            records.append(forgotten(group_id, topic, number))
        records += group.tombstones()
        answer = {"error_code": Error.NONE}
        return Decision(records, answer, GroupDeleted())

    # -- helpers

    def _classic(self, group_id: str) -> ClassicGroup:
        """The classic group. Errors: UNKNOWN_MEMBER_ID, because nobody is a classic
        member of another kind of group.
        """
        group = self.groups.get(group_id)
        if not isinstance(group, ClassicGroup):
            raise KafkaError(Error.UNKNOWN_MEMBER_ID)
        return group

    def _new_classic(self, group_id: str) -> ClassicGroup:
        """A new, empty group that isn't in the log yet."""
        delay_ms = self._config["group.initial.rebalance.delay.ms"]
        size = self._config["group.max.size"]
        return ClassicGroup(group_id, delay_ms, size, self._new_member_id, self._trace)

    def _new_modern(self, kind: type, group_id: str) -> ConsumerGroup | StreamsGroup:
        if kind is StreamsGroup:
            return self._new_streams(group_id)
        return self._new_consumer(group_id)

    def _new_consumer(self, group_id: str) -> ConsumerGroup:
        return ConsumerGroup(
            group_id,
            self._config,
            self._image,
            self._matched,
            self._trace,
            self._live,
        )

    def _new_streams(self, group_id: str) -> StreamsGroup:
        return StreamsGroup(group_id, self._config, self._image, self._trace)

    def _look_later(self, group_id: str, now: Now) -> None:
        """Set when the group's offsets are to be looked at next."""
        if isinstance(self.groups.get(group_id), ShareGroup):
            return  # it has no offsets here, and stays until it is deleted
        interval_ms = self._config["offsets.retention.check.interval.ms"]
        self._looks.set(group_id, now.monotonic_ms + interval_ms)

    def _look_later_if_new(self, group_id: str, now: Now) -> None:
        is_looked_at = self._looks.at(group_id) is not None
        if group_id in self.groups and not is_looked_at:
            self._look_later(group_id, now)

    def _tell_deleted(self, group_id: str) -> None:
        """Tell the trace that an administrator deleted the group, or that nothing was
        left of it.
        """
        if self._trace:
            self._trace.emit("GroupDeleted", group=group_id)


def _tombstones(group: Group | None) -> list[CoordinatorRecord]:
    """The records that remove an empty group, so that one of another kind may have its
    name.
    """
    return [] if group is None else group.tombstones()

"""The group coordinator: what a group's requests mean, over the groups and offsets of
one partition.

One `Groups` is the state of one partition of `__consumer_offsets` (runtime.py says how
it is loaded and written). A group is classic or of the consumer protocol (KIP-848); an
empty one may change its kind, a living one refuses the other kind's members, so that
the two never mix silently. Apache Kafka 4 can also convert a living group while it is
rolled over to the new protocol; this one cannot.

Each request has a method here that decides (runtime.py). What a group itself decides
stands in classic_group.py and consumer_group.py; what its offsets are, in offsets.py.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from minikafka.clock import Now, soonest
from minikafka.cluster.metadata import Image
from minikafka.cluster.waiting import Answer, Deadlines, Wait
from minikafka.coordinators.classic_group import ClassicGroup
from minikafka.coordinators.classic_state import CONSUMER, empty_group_metadata
from minikafka.coordinators.consumer_group import ConsumerGroup, Draft
from minikafka.coordinators.offsets import (
    NOTHING,
    Committed,
    Offsets,
    fetched,
    forgotten,
    offset_commit,
)
from minikafka.coordinators.runtime import Configs, CoordinatorRecord, Decision
from minikafka.trace import Trace
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message, nested

Group = ClassicGroup | ConsumerGroup


@dataclass(eq=False, repr=False)
class Groups:
    """The groups and committed offsets of one partition.

    config: the broker's, by Kafka's names. new_member_id(prefix): a unique id.
    """

    _partition: int
    _config: Configs
    _image: Image
    _new_member_id: Callable[[str], str]
    _trace: Trace
    groups: dict[str, Group] = field(default_factory=dict)
    offsets: Offsets = field(default_factory=Offsets)
    _live: bool = False
    # when to look for a group's expired offsets
    _looks: Deadlines[str] = field(default_factory=Deadlines)

    # -- what the runtime asks

    def apply(self, name: str, key: Message, value: Message | None) -> None:
        """One committed record, live or in a replay."""
        group_id = (
            key.group if name in ("OffsetCommit", "GroupMetadata") else key.group_id
        )
        group = self.groups.get(group_id)
        if name == "OffsetCommit":
            # of consumers that assign partitions by hand: it has no record
            if value is not None and group is None:
                self.groups[group_id] = self._new_classic(group_id)
            self.offsets.apply(key, value)
        elif name == "GroupMetadata" and value is not None:
            if not isinstance(group, ClassicGroup):
                group = self.groups[group_id] = self._new_classic(group_id)
            if not self._live:  # live, its decision changes it
                group.restore(value)
        elif value is None and name in ("GroupMetadata", "ConsumerGroupMetadata"):
            if isinstance(
                group, ClassicGroup if name == "GroupMetadata" else ConsumerGroup
            ):
                del self.groups[group_id]
                self._looks.set(group_id, None)
        elif value is not None or isinstance(group, ConsumerGroup):
            if not isinstance(group, ConsumerGroup):
                group = self.groups[group_id] = self._new_consumer(group_id)
            group.apply(name, key, value)

    def apply_pending(
        self, producer_id: int, name: str, key: Message, value: Message | None
    ) -> None:
        """An offset that counts if the producer's transaction is committed."""
        if name == "OffsetCommit":
            if key.group not in self.groups:
                self.groups[key.group] = self._new_classic(key.group)
            self.offsets.apply(key, value, producer_id)

    def end_transaction(self, producer_id: int, committed: bool) -> None:
        for group, (topic, partition), each in self.offsets.end_transaction(
            producer_id, committed
        ):
            if self._live and self._trace:
                commit: dict[str, Any] = {
                    "group": group,
                    "topic": topic,
                    "partition": partition,
                    "offset": each.offset,
                }
                self._trace.emit(
                    "PendingOffsetCommitted", **commit, producer_id=producer_id
                )

    def loaded(self, now: Now) -> Iterable[str]:
        """The replay is over."""
        self._live = True
        for group_id, group in self.groups.items():
            group.loaded(now)
            self._look_later(group_id, now)
        if self._trace and self.groups:
            members = {
                group_id: group.member_ids for group_id, group in self.groups.items()
            }
            self._trace.emit(
                "GroupLoaded",
                partition=self._partition,
                groups=list(self.groups),
                members=members,
            )
        return list(self.groups)

    def tick(self, key: str, now: Now) -> Decision:
        """Sessions and rebalances; now and then, offsets that expired."""
        group = self.groups.get(key)
        if group is None:
            return Decision()
        due_ms = group.next_deadline()
        if due_ms is not None and due_ms <= now.monotonic_ms:
            return (
                group.tick()
                if isinstance(group, ClassicGroup)
                else self._decided(key, group.tick(now))
            )
        return (
            self._expired(key, group, now)
            if self._looks.is_overdue(key, now.monotonic_ms)
            else Decision()
        )

    def next_deadline(self, key: str) -> int | None:
        group = self.groups.get(key)
        return (
            None
            if group is None
            else soonest(group.next_deadline(), self._looks.at(key))
        )

    # -- classic groups

    def join(
        self,
        wait: Wait,
        request: Message,
        client: tuple[str, str],
        version: int,
        now: Now,
    ) -> Decision:
        """JoinGroup. The first one makes the group, and joins it when that is
        committed.
        """
        lowest, highest = (
            self._config["group.min.session.timeout.ms"],
            self._config["group.max.session.timeout.ms"],
        )
        if not lowest <= request.session_timeout_ms <= highest:
            raise KafkaError(Error.INVALID_SESSION_TIMEOUT)
        group = self.groups.get(request.group_id)
        if isinstance(group, ClassicGroup):
            return group.join(wait, request, client, version, now)
        if group is not None and group.state_name != "Empty":
            raise KafkaError(Error.INCONSISTENT_GROUP_PROTOCOL)
        if request.member_id != "":
            raise KafkaError(Error.UNKNOWN_MEMBER_ID)
        empty = empty_group_metadata(self._new_classic(request.group_id), 0, now)

        def join_it(now: Now) -> Decision | None:
            self._look_later_if_new(request.group_id, now)
            was_refused = wait.is_done  # it took too long to make the group
            return (
                None if was_refused else self.join(wait, request, client, version, now)
            )

        return Decision([*(group.tombstones() if group else ()), empty], None, join_it)

    def sync(self, wait: Wait, request: Message, now: Now) -> Decision:
        return self._classic(request.group_id).sync(wait, request, now)

    def heartbeat(self, request: Message) -> Decision:
        return self._classic(request.group_id).heartbeat(request)

    def leave(self, request: Message, version: int) -> Decision:
        """LeaveGroup: one member before version 3, then many."""
        group = self._classic(request.group_id)
        if version >= 3:
            return group.leave(
                [
                    (each.member_id, each.group_instance_id, each.reason)
                    for each in request.members
                ]
            )
        decision = group.leave([(request.member_id, None, None)])
        assert decision.answer is not None
        return decision._replace(
            answer={"error_code": decision.answer["members"][0]["error_code"]}
        )

    # -- consumer groups (KIP-848)

    def consumer_heartbeat(
        self, request: Message, client: tuple[str, str], now: Now
    ) -> Decision:
        """ConsumerGroupHeartbeat; one with epoch 0 makes the group."""
        group = self.groups.get(request.group_id)
        if isinstance(group, ConsumerGroup):
            return self._decided(
                request.group_id, group.heartbeat(request, *client, now)
            )
        if request.member_epoch != 0:
            raise KafkaError(
                Error.GROUP_ID_NOT_FOUND,
                f"Group {request.group_id} is not a consumer group.",
            )
        if group is not None and group.state_name != "Empty":
            why = f"Cannot upgrade classic group {request.group_id} to consumer group"
            raise KafkaError(
                Error.GROUP_ID_NOT_FOUND, f"{why} because online upgrade is disabled."
            )
        draft = self._new_consumer(request.group_id).heartbeat(request, *client, now)
        return self._decided(
            request.group_id, draft, group.tombstones() if group else ()
        )

    def _decided(
        self, group_id: str, draft: Draft, before: Sequence[CoordinatorRecord] = ()
    ) -> Decision:
        def change(now: Now) -> None:
            self._look_later_if_new(group_id, now)
            group = self.groups.get(group_id)
            if isinstance(group, ConsumerGroup):
                group.committed(draft, now)

        return Decision([*before, *draft.records], draft.answer, change)

    # -- offsets

    def commit(
        self,
        request: Message,
        version: int,
        now: Now,
        producer: tuple[int, int] | None = None,
    ) -> Decision:
        """OffsetCommit. Of a member; or, with a generation below 0, of somebody who
        assigns partitions by hand. Or TxnOffsetCommit of a producer: id, epoch.
        """
        group = self.groups.get(request.group_id)
        if group is not None:
            group.check_commit(request, version, producer is not None)
        elif request.generation_id_or_member_epoch >= 0:
            raise KafkaError(
                Error.GROUP_ID_NOT_FOUND if version >= 9 else Error.ILLEGAL_GENERATION
            )
        limit = self._config["offset.metadata.max.bytes"]
        records, results, told = [], [], []
        for topic in request.topics:
            known = self._image.topics.get(topic.name)
            topic_id = known.topic_id if known else bytes(16)
            for partition in topic.partitions:
                too_long = len(partition.committed_metadata or "") > limit
                error = Error.OFFSET_METADATA_TOO_LARGE if too_long else Error.NONE
                results.append(
                    (
                        topic.name,
                        {
                            "partition_index": partition.partition_index,
                            "error_code": error,
                        },
                    )
                )
                if not too_long:
                    records.append(
                        offset_commit(
                            request, topic.name, topic_id, partition, now.wall_ms
                        )
                    )
                    if self._trace:
                        by: dict[str, Any] = (
                            {"producer_id": producer[0]} if producer else {}
                        )
                        told.append(
                            self._commit_event(request, topic.name, partition) | by
                        )

        def change(now: Now) -> None:
            self._look_later_if_new(request.group_id, now)
            if isinstance(group, ClassicGroup):
                group.heard(request.member_id, now)
            for detail in told:
                self._trace.emit(
                    "OffsetPending" if producer else "OffsetCommitted", **detail
                )

        return Decision(records, {"topics": nested(results)}, change, producer=producer)

    def fetch(
        self,
        request: Message,
        member_id: str | None,
        member_epoch: int,
        require_stable: bool,
    ) -> Answer:
        """OffsetFetch of one group. topics null: all. An offset that was never
        committed reads as -1. require_stable: one that a transaction may change is an
        error (KIP-447).
        """

        def found(topic: str, number: int) -> dict[str, Any]:
            unstable = require_stable and self.offsets.is_pending(
                request.group_id, topic, number
            )
            committed = self.offsets.get(request.group_id, topic, number)
            return fetched(
                number,
                committed,
                Error.UNSTABLE_OFFSET_COMMIT if unstable else Error.NONE,
            )

        group = self.groups.get(request.group_id)
        if isinstance(group, ConsumerGroup):
            group.check_fetch(member_id, member_epoch)
        if request.topics is None:
            parts = self.offsets.of(request.group_id)
            return {
                "topics": nested(
                    (topic, found(topic, number)) for topic, number, _ in parts
                )
            }
        by_topic = {
            topic.name: [found(topic.name, n) for n in topic.partition_indexes]
            for topic in request.topics
        }
        return {
            "topics": [
                {"name": topic, "partitions": each} for topic, each in by_topic.items()
            ]
        }

    def delete_offsets(self, request: Message) -> Decision:
        """OffsetDelete (KIP-496): forget offsets of topics that nobody in the group
        reads. Errors: NON_EMPTY_GROUP for members that are no consumers: what they read
        isn't known.
        """
        group, known = (
            self._existing(request.group_id),
            set(self.offsets.places(request.group_id)),
        )
        if group.state_name != "Empty" and group.protocol_type != CONSUMER:
            raise KafkaError(Error.NON_EMPTY_GROUP)
        records, results = [], []
        for topic in request.topics:
            read = group.subscribes_to(topic.name)
            error = Error.GROUP_SUBSCRIBED_TO_TOPIC if read else Error.NONE
            for partition in topic.partitions:
                results.append(
                    (
                        topic.name,
                        {
                            "partition_index": partition.partition_index,
                            "error_code": error,
                        },
                    )
                )
                if not read and (topic.name, partition.partition_index) in known:
                    records.append(
                        forgotten(
                            request.group_id, topic.name, partition.partition_index
                        )
                    )
        return Decision(records, {"topics": nested(results)})

    # -- groups as a whole

    def describe(self, group_id: str, kind: type[Group]) -> Answer:
        """DescribeGroups of a classic group, ConsumerGroupDescribe (KIP-848) of the
        other kind. Errors: GROUP_ID_NOT_FOUND.
        """
        group = self.groups.get(group_id)
        if not isinstance(group, kind):
            why = "not found" if group is None else f"is not a {kind.type} group"
            raise KafkaError(Error.GROUP_ID_NOT_FOUND, f"Group {group_id} {why}.")
        return group.describe()

    def delete(self, group_id: str) -> Decision:
        """DeleteGroups of one group, with its offsets. Errors: NON_EMPTY_GROUP,
        GROUP_ID_NOT_FOUND.
        """
        group = self._existing(group_id)
        if group.state_name != "Empty":
            raise KafkaError(Error.NON_EMPTY_GROUP)
        offsets = [
            forgotten(group_id, topic, number)
            for topic, number in self.offsets.places(group_id)
        ]
        told = partial(self._tell_deleted, group_id)
        return Decision(
            [*offsets, *group.tombstones()], {"error_code": Error.NONE}, told
        )

    def forget_topic(self, group_id: str, topic: str) -> Decision:
        """The topic is gone: so are the offsets that a group committed for it."""
        places = self.offsets.places(group_id)
        return Decision(
            [
                forgotten(group_id, name, number)
                for name, number in places
                if name == topic
            ],
            {},
        )

    # -- inside

    def _existing(self, group_id: str) -> Group:
        if group_id not in self.groups:
            raise KafkaError(Error.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return self.groups[group_id]

    def _classic(self, group_id: str) -> ClassicGroup:
        group = self.groups.get(group_id)
        if not isinstance(group, ClassicGroup):
            raise KafkaError(Error.UNKNOWN_MEMBER_ID)
        return group

    def _new_classic(self, group_id: str) -> ClassicGroup:
        delay_ms, size = (
            self._config["group.initial.rebalance.delay.ms"],
            self._config["group.max.size"],
        )
        return ClassicGroup(group_id, delay_ms, size, self._new_member_id, self._trace)

    def _new_consumer(self, group_id: str) -> ConsumerGroup:
        return ConsumerGroup(
            group_id, self._config, self._image, self._trace, self._live
        )

    def _look_later(self, group_id: str, now: Now) -> None:
        self._looks.set(
            group_id,
            now.monotonic_ms + self._config["offsets.retention.check.interval.ms"],
        )

    def _look_later_if_new(self, group_id: str, now: Now) -> None:
        if group_id in self.groups and self._looks.at(group_id) is None:
            self._look_later(group_id, now)

    def _expired(self, group_id: str, group: Group, now: Now) -> Decision:
        """Tombstones of offsets that nobody came back for (offsets.retention.minutes),
        and of a group that is left with nothing.
        """
        committed = list(self.offsets.of(group_id))
        old = [
            (topic, number)
            for topic, number, each in committed
            if self._is_old(group, topic, each, now.wall_ms)
        ]
        old = [place for place in old if not self.offsets.is_pending(group_id, *place)]
        records = [forgotten(group_id, topic, number) for topic, number in old]
        goes = (
            group.state_name == "Empty"
            and not self.offsets.has_pending(group_id)
            and len(old) == len(committed)
        )

        def change(now: Now) -> None:
            if old and self._trace:
                names = [f"{topic}-{number}" for topic, number in old]
                self._trace.emit("OffsetsExpired", group=group_id, partitions=names)
            if goes:
                self._tell_deleted(group_id, now)
            else:
                self._look_later(group_id, now)

        return Decision([*records, *(group.tombstones() if goes else ())], {}, change)

    def _is_old(
        self, group: Group, topic: str, committed: Committed, wall_ms: int
    ) -> bool:
        if group.subscribes_to(topic):
            return False
        if committed.expires_ms != NOTHING:
            return committed.expires_ms <= wall_ms
        since_ms = group.offsets_age_from(committed.commit_ms)
        return (
            since_ms is not None
            and since_ms + self._config["offsets.retention.minutes"] * 60_000 <= wall_ms
        )

    def _tell_deleted(self, group_id: str, _: Now) -> None:
        if self._trace:
            self._trace.emit("GroupDeleted", group=group_id)

    def _commit_event(
        self, request: Message, topic: str, partition: Message
    ) -> dict[str, Any]:
        before = self.offsets.get(request.group_id, topic, partition.partition_index)
        return {
            "group": request.group_id,
            "member": request.member_id,
            "generation": request.generation_id_or_member_epoch,
            "topic": topic,
            "partition": partition.partition_index,
            "offset": partition.committed_offset,
            "was": before.offset if before else None,
        }


def partition_for(key: str, partitions: int) -> int:
    """Which partition of the internal topic holds a group: Java's String.hashCode, made
    positive, modulo.
    """
    value = 0
    units = key.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    signed = value - (1 << 32) if value >= 1 << 31 else value
    return 0 if signed == -(1 << 31) else abs(signed) % partitions

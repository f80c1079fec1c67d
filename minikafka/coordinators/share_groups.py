"""How requests about share groups are decided, over the groups of one partition of
`__consumer_offsets` (KIP-932); groups.py has those of the other kinds.

The states of share partitions are stored elsewhere (share_states.py). So a request that
concerns them takes two steps: first the group records which states are to be created or
deleted, and afterwards that this was done. If a coordinator fails in between, the group
can simply be asked again.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from minikafka.clock import Now
from minikafka.cluster.metadata import Image
from minikafka.coordinators.group_effects import Drafted
from minikafka.coordinators.group_rules import JOIN_EPOCH, LEAVE_EPOCH
from minikafka.coordinators.runtime import Configs, Decision
from minikafka.coordinators.share_group import ShareDraft, ShareGroup
from minikafka.coordinators.share_group_state import (
    ByTopicId,
    Kept,
    TopicState,
    with_partitions,
    without_partitions,
)
from minikafka.coordinators.share_states import ShareKey
from minikafka.trace import Trace
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

NO_TOPIC_ID = bytes(16)

# initialize(group, state epoch, topics, which of them were known)
Initialize = Callable[[str, int, ByTopicId, frozenset[bytes]], None]


@dataclass(eq=False, repr=False)
class ShareRequests:
    """groups: all groups of the partition, of any kind. initialize: has states created,
    which may take a while.
    """

    _groups: dict[str, Any]
    _config: Configs
    _image: Image
    _trace: Trace
    _initialize: Initialize

    # -- records

    def apply(self, name: str, key: Message, value: Message | None) -> bool:
        """Apply one record of a share group. Returns whether the group is gone now."""
        group_id: str = key.group_id
        group = self._groups.get(group_id)
        if not isinstance(group, ShareGroup):
            if value is None:
                return False
            group = self._new(group_id)
            self._groups[group_id] = group
        if value is None and name == "ShareGroupMetadata":
            return True
        group.apply(name, key, value)
        return False

    # -- members

    def heartbeat(
        self, request: Message, client: tuple[str, str], now: Now
    ) -> Decision:
        """ShareGroupHeartbeat; one with epoch 0 may create the group. Errors:
        GROUP_ID_NOT_FOUND, and those of the group.
        """
        group_id = request.group_id
        group = self._groups.get(group_id)
        if group is None and request.member_epoch == JOIN_EPOCH:
            group = self._new(group_id)
        elif group is None and request.member_epoch != LEAVE_EPOCH:
            why = f"Share group {group_id} not found."
            raise KafkaError(Error.GROUP_ID_NOT_FOUND, why)
        else:
            group = self.group(group_id)
        return self.decided(group.heartbeat(request, *client, now))

    def decided(self, draft: ShareDraft) -> Decision:
        """The decision from a group's draft."""
        return Decision(draft.records, draft.answer, Drafted(draft))

    def committed(self, group: ShareGroup, draft: ShareDraft, now: Now) -> None:
        """The records of a draft have been applied."""
        group.committed(draft, now)
        if draft.initialize:
            topics, known = draft.initialize, draft.known
            self._initialize(group.group_id, draft.epoch, topics, known)

    def initialized(self, group_id: str, topics: ByTopicId) -> Decision:
        """The states of these partitions exist: they may be assigned."""
        group = self._groups.get(group_id)
        if not isinstance(group, ShareGroup):
            return Decision()
        kept = group.kept
        after = replace(
            kept,
            initializing=without_partitions(kept.initializing, topics),
            initialized=with_partitions(kept.initialized, topics),
        )
        return Decision([after.record(group_id)])

    def not_initialized(self, group_id: str, topics: ByTopicId) -> Decision:
        """The states of these partitions could not be created: they will be asked for
        again.
        """
        group = self._groups.get(group_id)
        if not isinstance(group, ShareGroup) or not group.kept.initializing:
            return Decision()
        initializing = without_partitions(group.kept.initializing, topics)
        after = replace(group.kept, initializing=initializing)
        return Decision([after.record(group_id)])

    # -- offsets

    def alter_offsets(self, request: Message) -> Decision:
        """AlterShareGroupOffsets, first step. The answer has the result for each
        partition, and says which states must be reset, to which offset and at which
        epoch. Errors: NON_EMPTY_GROUP.
        """
        group = self._groups.get(request.group_id)
        if group is None:
            group = self._new(request.group_id)
        elif not isinstance(group, ShareGroup):
            raise _not_share(request.group_id)
        if group.state.members:
            raise KafkaError(Error.NON_EMPTY_GROUP)
        responses = []
        initialize: dict[ShareKey, int] = {}
        topics: dict[bytes, TopicState] = {}
        for asked in request.topics:
            name = asked.topic_name
            topic = self._image.topics.get(name)
            known = topic.partitions if topic else {}
            topic_id = topic.topic_id if topic else NO_TOPIC_ID
            partitions = []
            altered = set()
            for each in asked.partitions:
                number = each.partition_index
                is_known = number in known
                partitions.append(_altered(number, is_known))
                if is_known:
                    altered.add(number)
                    key = ShareKey(request.group_id, topic_id, number)
                    initialize[key] = each.start_offset
            response = {
                "topic_name": name,
                "topic_id": topic_id,
                "partitions": partitions,
            }
            responses.append(response)
            if altered:
                topics[topic_id] = TopicState(name, frozenset(altered))
        records = [group.asking_for(topics)] if topics else []
        answer = {
            "responses": responses,
            "initialize": initialize,
            "epoch": group.state.group_epoch,
        }
        return Decision(records, answer)

    def delete_offsets(self, request: Message) -> Decision:
        """DeleteShareGroupOffsets, first step. The answer says which topics' states
        must be deleted, and what is wrong with the others. Errors: GROUP_ID_NOT_FOUND,
        NON_EMPTY_GROUP.
        """
        group = self.group(request.group_id)
        if group.state.members:
            raise KafkaError(Error.NON_EMPTY_GROUP)
        if group.state.kept is None:
            return Decision(answer={"errors": [], "delete": {}})
        initialized = dict(group.kept.initialized)
        deleting = dict(group.kept.deleting)
        delete: dict[bytes, TopicState] = {}
        errors = []
        for asked in request.topics:
            name = asked.topic_name
            topic = self._image.topics.get(name)
            if topic is None:
                errors.append(_nothing_to_delete(name, is_known=False))
            elif topic.topic_id in initialized:
                delete[topic.topic_id] = initialized.pop(topic.topic_id)
                deleting[topic.topic_id] = name
            elif topic.topic_id in deleting:
                partitions = frozenset(topic.partitions)
                delete[topic.topic_id] = TopicState(name, partitions)
            else:
                errors.append(_nothing_to_delete(name, is_known=True))
        after = replace(group.kept, initialized=initialized, deleting=deleting)
        answer = {"errors": errors, "delete": delete}
        return Decision([after.record(request.group_id)], answer)

    def offsets_deleted(self, group_id: str, topic_ids: Iterable[bytes]) -> Decision:
        """The states of these topics have been deleted."""
        group = self._groups.get(group_id)
        if not isinstance(group, ShareGroup) or group.state.kept is None:
            return Decision()
        deleting = dict(group.kept.deleting)
        for topic_id in topic_ids:
            deleting.pop(topic_id, None)
        after = replace(group.kept, deleting=deleting)
        return Decision([after.record(group_id)], answer={})

    def initialized_topics(self, group_id: str) -> ByTopicId:
        """The partitions whose state exists."""
        group = self._groups.get(group_id)
        if not isinstance(group, ShareGroup):
            return {}
        return group.kept.initialized

    # -- whole groups

    def begin_deletion(self, group: ShareGroup) -> Decision:
        """DeleteGroups for one group, first step. The answer says which states must be
        deleted before the group.
        """
        kept = group.kept
        topics = with_partitions(kept.initialized, kept.initializing)
        for topic_id in kept.deleting:
            name = self._image.topic_names.get(topic_id)
            if name is not None:
                numbers = frozenset(self._image.topics[name].partitions)
                whole = {topic_id: TopicState(name, numbers)}
                topics = with_partitions(topics, whole)
        after = Kept(deleting={topic_id: topics[topic_id].name for topic_id in topics})
        answer = {"keys": keys_of(group.group_id, topics)}
        return Decision([after.record(group.group_id)], answer)

    def with_state(self) -> list[str]:
        """The groups that keep states of partitions."""
        found = []
        for group_id, group in self._groups.items():
            if isinstance(group, ShareGroup) and group.kept.topic_ids:
                found.append(group_id)
        return found

    def forget_topics(self, group_id: str) -> Decision:
        """Delete what is left of topics that were deleted."""
        group = self._groups.get(group_id)
        if not isinstance(group, ShareGroup):
            return Decision()
        gone = group.kept.topic_ids - self._image.topic_names.keys()
        if not gone:
            return Decision()
        return Decision([group.kept.without_topics(gone).record(group_id)])

    def group(self, group_id: str) -> ShareGroup:
        """The share group. Errors: GROUP_ID_NOT_FOUND."""
        group = self._groups.get(group_id)
        if group is None:
            why = f"Group {group_id} not found."
            raise KafkaError(Error.GROUP_ID_NOT_FOUND, why)
        if not isinstance(group, ShareGroup):
            raise _not_share(group_id)
        return group

    def _new(self, group_id: str) -> ShareGroup:
        return ShareGroup(group_id, self._config, self._image, self._trace)


def keys_of(group_id: str, topics: Mapping[bytes, TopicState]) -> list[ShareKey]:
    """The share partitions of a group."""
    keys = []
    for topic_id in sorted(topics):
        for number in sorted(topics[topic_id].partitions):
            keys.append(ShareKey(group_id, topic_id, number))
    return keys


def _not_share(group_id: str) -> KafkaError:
    why = f"Group {group_id} is not a share group."
    return KafkaError(Error.GROUP_ID_NOT_FOUND, why)


def _altered(number: int, is_known: bool) -> dict[str, Any]:
    error = Error.NONE
    message = None
    if not is_known:
        error = Error.UNKNOWN_TOPIC_OR_PARTITION
        message = error.message
    return {
        "partition_index": number,
        "error_code": error,
        "error_message": message,
    }


def _nothing_to_delete(topic: str, is_known: bool) -> dict[str, Any]:
    error = Error.UNKNOWN_TOPIC_OR_PARTITION
    why = error.message
    if is_known:
        why = "There is no offset information to delete."
    return {"topic_name": topic, "error_code": error, "error_message": why}

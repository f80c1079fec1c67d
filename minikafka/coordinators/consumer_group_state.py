"""What the records of a consumer group say (KIP-848): members, epochs, the target, who owns which partition.

Nothing here decides. Records come in, one at a time, live or in a replay, and the state after them is the same; where
compaction removed some on the way, the state at the end still is.
"""

from __future__ import annotations

from collections import Counter

from minikafka.coordinators.consumer_member import ConsumerMember, MemberState, TopicPartition, flat
from minikafka.wire.schema import Message

FIRST_EPOCH = 1  # of a group without records
NO_ASSIGNMENT_EPOCH = -1


class ConsumerGroupState:
    """`apply` is the only way to change it.

    group_epoch grows whenever the target must be made anew; assignment_epoch is the one the target was made for, at
    assignment_timestamp_ms (wall clock). metadata_hash: of the subscribed topics at that group epoch.
    The other attributes follow from members, kept up to date so that a heartbeat need not look at all members:
    static_members by instance id; owners of partitions; subscribers of topics by name, and of patterns; how many stable
    members at which epoch.
    """

    def __init__(self) -> None:
        self.group_epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        self.assignment_timestamp_ms = 0
        self.target: dict[str, frozenset[TopicPartition]] = {}
        self.members: dict[str, ConsumerMember] = {}
        self.static_members: dict[str, str] = {}
        self.owners: dict[TopicPartition, str] = {}
        self.subscribers: Counter[str] = Counter()
        self.patterns: Counter[str] = Counter()
        self.has_partition_metadata = False
        self._stable_at: Counter[int] = Counter()

    @property
    def name(self) -> str:
        """The group's state in Kafka's words."""
        if not self.members:
            return "Empty"
        if self.group_epoch > self.assignment_epoch:
            return "Assigning"
        return "Stable" if self._stable_at[self.assignment_epoch] == len(self.members) else "Reconciling"

    def apply(self, name: str, key: Message, value: Message | None) -> None:
        """Take in a record of this group. What Apache Kafka found by a regular expression, it stores; here it is found
        anew.
        """
        match name:
            case "ConsumerGroupMetadata":
                self.group_epoch = FIRST_EPOCH if value is None else value.epoch
                self.metadata_hash = 0 if value is None else value.metadata_hash
            case "ConsumerGroupPartitionMetadata":
                self.has_partition_metadata = value is not None  # of Kafka 4.0 and before; metadata_hash replaced it
            case "ConsumerGroupTargetAssignmentMetadata":
                self.assignment_epoch = NO_ASSIGNMENT_EPOCH if value is None else value.assignment_epoch
                self.assignment_timestamp_ms = 0 if value is None else value.assignment_timestamp
            case "ConsumerGroupTargetAssignmentMember" if value is not None:
                self.target[key.member_id] = frozenset(flat(value.topic_partitions))
            case "ConsumerGroupTargetAssignmentMember":
                self.target.pop(key.member_id, None)
            case "ConsumerGroupMemberMetadata":
                was = self._take_out(key.member_id)
                if value is not None:
                    self._put(was.with_metadata(value))
            case "ConsumerGroupCurrentMemberAssignment" if value is not None or key.member_id in self.members:
                was = self._take_out(key.member_id)
                self._put(was.without_assignment() if value is None else was.with_current_assignment(value))

    def _put(self, member: ConsumerMember) -> None:
        """A member, and everything that follows from members."""
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        self.subscribers.update(member.subscribed_topic_names)
        if member.subscribed_topic_regex:
            self.patterns[member.subscribed_topic_regex] += 1
        self.owners.update(dict.fromkeys(member.assigned_partitions, member.member_id))
        self.owners.update(dict.fromkeys(member.partitions_pending_revocation, member.member_id))
        if member.state is MemberState.STABLE:
            self._stable_at[member.member_epoch] += 1

    def _take_out(self, member_id: str) -> ConsumerMember:
        """The member, which is here no longer; a new one, if it wasn't."""
        member = self.members.pop(member_id, None)
        if member is None:
            return ConsumerMember(member_id)
        if member.instance_id is not None and self.static_members.get(member.instance_id) == member.member_id:
            del self.static_members[member.instance_id]
        for topic in member.subscribed_topic_names:
            self.subscribers[topic] -= 1
            if not self.subscribers[topic]:
                del self.subscribers[topic]
        self.patterns -= Counter([member.subscribed_topic_regex] if member.subscribed_topic_regex else [])
        for partition in (*member.assigned_partitions, *member.partitions_pending_revocation):
            if self.owners.get(partition) == member.member_id:
                del self.owners[partition]
        if member.state is MemberState.STABLE:
            self._stable_at[member.member_epoch] -= 1
            if not self._stable_at[member.member_epoch]:
                del self._stable_at[member.member_epoch]
        return member

"""What the members of a classic group agree on.

An agreement of all members is one record, GroupMetadata: generation, leader, protocol,
members with their assignments. That is the hard state of a group. The answers that
follow from an agreement are here, too; classic_rebalance.py says how the members reach
one.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from minikafka.clock import Now
from minikafka.cluster.waiting import Answer
from minikafka.coordinators.classic_state import CONSUMER, ClassicMember, Members
from minikafka.coordinators.runtime import CoordinatorRecord
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.messages import decode_data
from minikafka.wire.primitives import DecodeError
from minikafka.wire.schema import Message

VERSION_BYTES = 2  # the int16 at the beginning of a subscription


@dataclass(eq=False, repr=False)
class Agreement:
    """members: as they described themselves. assignments: what the leader assigned to
    each of them. topics: the topics subscribed to, None if they can't be known.
    empty_since_ms: wall clock.
    """

    group_id: str
    _: KW_ONLY
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    members: Members = field(default_factory=Members)
    assignments: Mapping[str, bytes] = field(default_factory=dict)
    topics: set[str] | None = None
    empty_since_ms: int | None = None

    @property
    def member_ids(self) -> list[str]:
        return list(self.members)

    # -- records

    def record(
        self, members: Members, assignments: Mapping[str, bytes], now: Now
    ) -> CoordinatorRecord:
        """The GroupMetadata of this generation: leader, protocol, and each member with
        its subscription and assignment.
        """
        described = []
        for member in members.values():
            fields = _who(member)
            fields["rebalance_timeout"] = member.rebalance_timeout_ms
            fields["session_timeout"] = member.session_timeout_ms
            fields["subscription"] = member.protocols[self.protocol or ""]
            fields["assignment"] = assignments.get(member.member_id, b"")
            described.append(fields)
        value = {
            "protocol_type": self.protocol_type or "",
            "current_state_timestamp": now.wall_ms,
            "generation": self.generation,
            "protocol": self.protocol,
            "leader": members.leader,
            "members": described,
        }
        return CoordinatorRecord("GroupMetadata", {"group": self.group_id}, value)

    def empty_record(self, generation: int, now: Now) -> CoordinatorRecord:
        """The GroupMetadata of a generation without members."""
        value = {
            "protocol_type": self.protocol_type or "",
            "current_state_timestamp": now.wall_ms,
            "generation": generation,
            "protocol": None,
            "leader": None,
            "members": [],
        }
        return CoordinatorRecord("GroupMetadata", {"group": self.group_id}, value)

    def tombstones(self) -> list[CoordinatorRecord]:
        """The records that delete the group from the log."""
        return [CoordinatorRecord("GroupMetadata", {"group": self.group_id}, None)]

    def restore(self, value: Message) -> None:
        """Set the agreement to what a GroupMetadata record says."""
        self.generation = value.generation
        self.protocol = value.protocol
        self.protocol_type = value.protocol_type or None
        self.members = _restored(value)
        self.assignments = {
            each.member_id: bytes(each.assignment) for each in value.members
        }
        since_ms = value.current_state_timestamp
        self.empty_since_ms = since_ms if since_ms >= 0 else None
        self.topics = self.subscribed_topics()

    def follow(self, agreed: "Agreement") -> None:
        """Set the agreement to another one. Members that are known already keep their
        full description.
        """
        self.generation = agreed.generation
        self.protocol = agreed.protocol
        self.protocol_type = agreed.protocol_type
        self.members = agreed.members.described_by(self.members, agreed.protocol)
        self.assignments = agreed.assignments
        self.empty_since_ms = agreed.empty_since_ms
        self.topics = agreed.topics

    # -- checks

    def check_generation(self, request: Message) -> ClassicMember:
        """The member that sent the request. Errors: UNKNOWN_MEMBER_ID,
        FENCED_INSTANCE_ID, ILLEGAL_GENERATION for another generation.
        """
        member = self.members.check(request.member_id, request.group_instance_id)
        if request.generation_id != self.generation:
            raise KafkaError(Error.ILLEGAL_GENERATION)
        return member

    def check_protocol(self, request: Message) -> None:
        """Errors: INCONSISTENT_GROUP_PROTOCOL if the member names another protocol than
        the group agreed on.
        """
        for named, agreed in (
            (request.protocol_type, self.protocol_type),
            (request.protocol_name, self.protocol),
        ):
            if named is not None and agreed is not None and named != agreed:
                raise KafkaError(Error.INCONSISTENT_GROUP_PROTOCOL)

    # -- answers

    def join_answer(self, member_id: str, members: Members) -> Answer:
        """The answer to a JoinGroup. The leader also gets the metadata of all members,
        which it needs to assign.
        """
        everybody = []
        if member_id == members.leader:
            for each in members.values():
                metadata = {
                    "member_id": each.member_id,
                    "group_instance_id": each.instance_id,
                    "metadata": each.protocols[self.protocol or ""],
                }
                everybody.append(metadata)
        return {
            "generation_id": self.generation,
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocol,
            "leader": members.leader or "",
            "member_id": member_id,
            "members": everybody,
        }

    def sync_answer(self, member_id: str, assignments: Mapping[str, bytes]) -> Answer:
        """The answer to a SyncGroup. A member that the leader forgot gets an empty
        assignment.
        """
        return {
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocol,
            "assignment": assignments.get(member_id, b""),
        }

    def describe_as(self, state: str, is_stable: bool) -> Answer:
        """The group as DescribeGroups shows it: protocol and subscriptions only while
        they are agreed on.
        """
        protocol = self.protocol or ""
        members = []
        for member in self.members.values():
            metadata = member.protocols[protocol] if is_stable else b""
            fields = _who(member)
            fields["member_metadata"] = metadata
            fields["member_assignment"] = self.assignments.get(member.member_id, b"")
            members.append(fields)
        return {
            "group_id": self.group_id,
            "group_state": state,
            "protocol_type": self.protocol_type or "",
            "protocol_data": protocol if is_stable else "",
            "members": members,
        }

    # -- who reads what

    def subscribes_to(self, topic: str) -> bool:
        """Whether members read a topic. If their subscriptions can't be read they
        might, so the answer is yes.
        """
        if self.topics is None:
            return self.protocol_type == CONSUMER
        return topic in self.topics

    def subscribed_topics(self) -> set[str] | None:
        """The topics that all members together subscribe to; None if a subscription
        can't be read, or if the members aren't consumers.
        """
        if self.protocol_type != CONSUMER:
            return None
        topics: set[str] = set()
        for member in self.members.values():
            metadata = member.protocols[self.protocol or ""]
            try:
                topics.update(_topics_in(metadata))
            except DecodeError:
                return None
        return topics

    def assignments_with(self, former_id: str, member_id: str) -> dict[str, bytes]:
        """The assignments after a static member got another id (KIP-345)."""
        assignments = {}
        for each, assignment in self.assignments.items():
            new_id = member_id if each == former_id else each
            assignments[new_id] = assignment
        return assignments


def _topics_in(subscription: bytes) -> list[str]:
    """The topics in a subscription. Every version of a ConsumerProtocolSubscription
    begins with the fields of version 0, so the coordinator reads that, whatever version
    the member names. Raises DecodeError.
    """
    if len(subscription) < VERSION_BYTES:
        raise DecodeError("a subscription without a version")
    fields = subscription[VERSION_BYTES:]
    found: list[str] = decode_data("ConsumerProtocolSubscription", 0, fields).topics
    return found


def _who(member: ClassicMember) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "group_instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
    }


def _restored(value: Message) -> Members:
    """The members that a GroupMetadata record describes."""
    members = Members()
    for each in value.members:
        rebalance_timeout_ms = each.rebalance_timeout
        if rebalance_timeout_ms == -1:  # written by an old Kafka
            rebalance_timeout_ms = each.session_timeout
        member = ClassicMember(
            member_id=each.member_id,
            instance_id=each.group_instance_id,
            client_id=each.client_id,
            client_host=each.client_host,
            rebalance_timeout_ms=rebalance_timeout_ms,
            session_timeout_ms=each.session_timeout,
            protocols={value.protocol: bytes(each.subscription)},
        )
        members.put(member)
    members.leader = value.leader
    return members

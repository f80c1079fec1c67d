"""What a classic group looks like from outside: its one record, its description, its assignment in the trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from minikafka.clock import Now
from minikafka.coordinators.classic_members import CONSUMER, ClassicMember, Members
from minikafka.coordinators.classic_states import STABLE
from minikafka.coordinators.runtime import CoordinatorRecord
from minikafka.trace import Trace
from minikafka.wire.messages import decode_versioned
from minikafka.wire.primitives import DecodeError
from minikafka.wire.schema import Message

if TYPE_CHECKING:
    from minikafka.coordinators.classic_group import ClassicGroup


def _who(member: ClassicMember) -> dict[str, Any]:
    who = {"member_id": member.member_id, "group_instance_id": member.instance_id}
    return who | {"client_id": member.client_id, "client_host": member.client_host}


def group_metadata(
    group: ClassicGroup, members: Members, shares: Mapping[str, bytes], now: Now
) -> CoordinatorRecord:
    """GroupMetadata of this generation: leader, protocol, and each member with its subscription and share."""
    told = [
        {
            **_who(member),
            "rebalance_timeout": member.rebalance_timeout_ms,
            "session_timeout": member.session_timeout_ms,
            "subscription": member.protocols[group.protocol or ""],
            "assignment": shares.get(member.member_id, b""),
        }
        for member in members.values()
    ]
    agreed = {"generation": group.generation, "protocol": group.protocol, "leader": members.leader}
    return _record(group, now, **agreed, members=told)


def empty_group_metadata(group: ClassicGroup, generation: int, now: Now) -> CoordinatorRecord:
    """GroupMetadata of a generation without members."""
    return _record(group, now, generation=generation, protocol=None, leader=None, members=[])


def _record(group: ClassicGroup, now: Now, **fields: Any) -> CoordinatorRecord:
    value = {"protocol_type": group.protocol_type or "", "current_state_timestamp": now.wall_ms, **fields}
    return CoordinatorRecord("GroupMetadata", {"group": group.group_id}, value)


def restored(value: Message) -> Members:
    """The members that a GroupMetadata record tells of."""
    members = Members()
    for each in value.members:
        rebalance_timeout_ms = each.session_timeout if each.rebalance_timeout == -1 else each.rebalance_timeout
        members.put(
            ClassicMember(
                each.member_id, each.group_instance_id, each.client_id, each.client_host, rebalance_timeout_ms,
                each.session_timeout, {value.protocol: bytes(each.subscription)},
            )
        )  # fmt: skip
    members.leader = value.leader
    return members


def describe(group: ClassicGroup) -> dict[str, Any]:
    """As DescribeGroups shows it: protocol and subscriptions only while they are agreed on."""
    stable = group.state == STABLE
    members = [
        {
            **_who(member),
            "member_metadata": member.protocols[group.protocol or ""] if stable else b"",
            "member_assignment": group.shares.get(member.member_id, b""),
        }
        for member in group.members.values()
    ]
    return {
        "group_id": group.group_id,
        "group_state": group.state,
        "protocol_type": group.protocol_type or "",
        "protocol_data": (group.protocol or "") if stable else "",
        "members": members,
    }


def tell_assignment(trace: Trace, group: ClassicGroup) -> None:
    """The trace event of an assignment; only here is one decoded."""
    trace.emit(
        "AssignmentMade",
        group=group.group_id,
        generation=group.generation,
        by=group.members.leader,
        assignor=group.protocol,
        assignment={each: partitions_of(group, group.shares.get(each, b"")) for each in group.members},
    )


def partitions_of(group: ClassicGroup, share: bytes) -> list[list[Any]]:
    """[topic, partition] of a consumer's share; nothing where it can't be read."""
    if group.protocol_type != CONSUMER or not share:
        return []
    try:
        assignment = decode_versioned("ConsumerProtocolAssignment", share)
    except DecodeError:
        return []
    return [[each.topic, number] for each in assignment.assigned_partitions for number in each.partitions]

"""What the requests of a classic group's members mean: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, OffsetCommit.

Each function is a `decide` (runtime.py) on one group: it returns the records to append and the answer; None where the
request must wait, and is answered by the rebalance (classic_group.py). Refusals are KafkaErrors.
"""

from __future__ import annotations

from collections.abc import Sequence

from minikafka.clock import Now
from minikafka.cluster.waiting import Wait
from minikafka.coordinators.classic_group import ClassicGroup
from minikafka.coordinators.classic_members import Member
from minikafka.coordinators.classic_records import group_metadata
from minikafka.coordinators.classic_states import COMPLETING, EMPTY, PREPARING, STABLE
from minikafka.coordinators.runtime import Decision
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000  # how long a new member may wait for its first answer (KAFKA-7610)


def join(
    group: ClassicGroup, wait: Wait, request: Message, client: tuple[str, str], version: int, now: Now
) -> Decision:
    """JoinGroup. client: (client id, host). From version 4 on a new member is given its id, and asked to come again
    with it (KIP-394).
    """
    member_id, instance_id = request.member_id, request.group_instance_id
    if not accepts(group, member_id):
        group.members.remove(member_id)
        raise KafkaError(Error.GROUP_MAX_SIZE_REACHED)
    if not supports(group, request):
        raise KafkaError(Error.INCONSISTENT_GROUP_PROTOCOL)
    if member_id == "" and instance_id is not None and group.members.static_member_id(instance_id) is not None:
        return replace(group, wait, request, version, now)
    if member_id == "" and instance_id is None and version >= 4:
        return hand_out_id(group, client[0], request.session_timeout_ms, now)
    if member_id in group.members.pending and instance_id is not None:
        raise KafkaError(Error.UNKNOWN_SERVER_ERROR, "A member id was handed out to a dynamic member, not to a static.")
    if member_id == "" or member_id in group.members.pending:
        return add(group, wait, request, client, now)
    return join_again(group, wait, group.members.check(member_id, instance_id), request, now)


def accepts(group: ClassicGroup, member_id: str) -> bool:
    """Whether there is room (group.max.size). During a rebalance those count who have joined it."""
    if group.state == PREPARING:
        waiting = sum(member.joining is not None for member in group.members.values())
        already = member_id in group.members and group.members[member_id].joining is not None
        return already or waiting < group.max_size
    return group.state == EMPTY or member_id in group.members or len(group.members) < group.max_size


def supports(group: ClassicGroup, request: Message) -> bool:
    """Whether the member could agree with the others on a protocol."""
    names = [each.name for each in request.protocols]
    if group.state == EMPTY:
        return bool(request.protocol_type and names)
    return request.protocol_type == group.protocol_type and group.members.support(names)


def hand_out_id(group: ClassicGroup, client_id: str, session_timeout_ms: int, now: Now) -> Decision:
    """A member that dies between its two requests is not waited for longer than a session."""
    member_id = group.new_member_id(client_id)
    group.members.pending[member_id] = now.monotonic_ms + session_timeout_ms
    group.arm(group.members.pending[member_id])
    return (), {"error_code": Error.MEMBER_ID_REQUIRED, "member_id": member_id}


def add(group: ClassicGroup, wait: Wait, request: Message, client: tuple[str, str], now: Now) -> Decision:
    """A new member."""
    member = Member(
        request.member_id or group.new_member_id(request.group_instance_id or client[0]),
        request.group_instance_id,
        *client,
        request.rebalance_timeout_ms,
        request.session_timeout_ms,
        protocols(request),
        expires_ms=now.monotonic_ms + NEW_MEMBER_JOIN_TIMEOUT_MS,
        joining=wait,
        is_new=True,
    )
    if not group.members:
        group.protocol_type = request.protocol_type
    group.add(member, request.reason or "it is new")
    rejoin(group, f"{member.client_id} joins", now)
    return group.taken(), None


def replace(group: ClassicGroup, wait: Wait, request: Message, version: int, now: Now) -> Decision:
    """A static member came back as a new process (KIP-345). While the group is stable and still agrees on the same
    protocol it simply goes on with the same share, and nobody else notices.
    """
    leader, instance_id = group.members.leader, request.group_instance_id
    former_id = group.members.static_member_id(instance_id) or ""
    member = group.members.replace(instance_id, group.new_member_id(instance_id))
    group.tell_replaced(former_id, member)
    update(member, request)
    group.renew(member, now)
    if group.state == STABLE and group.members.elect_protocol() == group.protocol:
        answer = group.joined(member)
        if version >= 9:
            answer["skip_assignment"] = member.member_id == group.members.leader  # KIP-814
        else:  # a leader can't be told not to assign: it isn't told that it leads
            answer |= {"leader": leader or "", "members": []}
        shares = {each.member_id: each.assignment for each in group.members.values()}
        return [group_metadata(group, shares, now)], answer
    member.joining = wait
    rejoin(group, f"static member {instance_id} is back", now)
    return group.taken(), None


def join_again(group: ClassicGroup, wait: Wait, member: Member, request: Message, now: Now) -> Decision:
    """A member of before. If it says nothing new, and needn't lead, it missed the answer: here it is again."""
    unchanged = member.protocols == protocols(request)
    leads = member.member_id == group.members.leader
    if unchanged and (group.state == COMPLETING or (group.state == STABLE and not leads)):
        return (), group.joined(member)
    if group.state == EMPTY:
        raise KafkaError(Error.UNKNOWN_MEMBER_ID)
    member.answer_join({"error_code": Error.UNKNOWN_MEMBER_ID, "member_id": member.member_id})  # a connection ago
    update(member, request)
    member.joining = wait
    who = f"{member.client_id}, {'which leads' if leads and unchanged else 'whose subscription changed'},"
    rejoin(group, f"{who} joins again", now)
    return group.taken(), None


def rejoin(group: ClassicGroup, why: str, now: Now) -> None:
    """A member waits behind the barrier; if there is none yet, it goes up."""
    if group.state == PREPARING:
        group.complete_if_all_joined(now)
    else:
        group.prepare("member_joins", why, now)


def protocols(request: Message) -> dict[str, bytes]:
    return {each.name: bytes(each.metadata) for each in request.protocols}


def update(member: Member, request: Message) -> None:
    member.protocols = protocols(request)
    member.rebalance_timeout_ms = request.rebalance_timeout_ms
    member.session_timeout_ms = request.session_timeout_ms


def sync(group: ClassicGroup, wait: Wait, request: Message, now: Now) -> Decision:
    """SyncGroup. The leader brings the assignment; the others wait until it is committed."""
    member = group.members.check(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise KafkaError(Error.ILLEGAL_GENERATION)
    for asked, ours in ((request.protocol_type, group.protocol_type), (request.protocol_name, group.protocol)):
        if asked is not None and ours is not None and asked != ours:
            raise KafkaError(Error.INCONSISTENT_GROUP_PROTOCOL)
    if group.state == PREPARING:
        raise KafkaError(Error.REBALANCE_IN_PROGRESS)
    group.members.unsynced.pop(member.member_id, None)
    if group.state == STABLE:
        return (), group.share(member)
    member.answer_sync({"error_code": Error.UNKNOWN_MEMBER_ID})  # a connection ago
    member.syncing = wait
    if member.member_id != group.members.leader:
        return (), None
    for each in group.members.values():
        if each.syncing is not None:  # no session was counted while it waited; from here on it is
            group.renew(each, now)
    shares = {each.member_id: bytes(each.assignment) for each in request.assignments}
    return [group_metadata(group, shares, now)], None  # apply() hands the shares out


def heartbeat(group: ClassicGroup, request: Message, now: Now) -> Decision:
    """Heartbeat: the member lives, and learns whether it must join again."""
    member = group.members.check(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise KafkaError(Error.ILLEGAL_GENERATION)
    group.renew(member, now)
    if group.state == PREPARING:
        raise KafkaError(Error.REBALANCE_IN_PROGRESS)
    return (), {"error_code": Error.NONE}


def leave(group: ClassicGroup, leaving: Sequence[tuple[str, str | None, str | None]], now: Now) -> Decision:
    """LeaveGroup of (member id, instance id, reason) each; a static member may be named by its instance id alone."""
    results = []
    left = []
    for member_id, instance_id, reason in leaving:
        result = {"member_id": member_id, "group_instance_id": instance_id, "error_code": Error.NONE}
        results.append(result)
        try:
            if member_id in group.members.pending:
                group.members.remove(member_id)
                left.append(member_id)
            else:
                named = group.members.static_member_id(instance_id) if member_id == "" else member_id
                member = group.members.check(named or "", instance_id)
                group.remove(member, f"it left: {reason}" if reason else "it said goodbye")
                left.append(member.client_id)
        except KafkaError as error:
            result["error_code"] = error.error
    if left:
        group.after_removal("member_leaves", f"{', '.join(left)} left", now)
    return group.taken(), {"members": results, "error_code": Error.NONE}


def check_commit(group: ClassicGroup, member_id: str, generation: int, instance_id: str | None, now: Now) -> None:
    """Whether a commit counts. generation below 0: of somebody who is no member (an admin tool, a consumer that assigns
    partitions by hand), which only an empty group accepts. Errors: UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION,
    FENCED_INSTANCE_ID, REBALANCE_IN_PROGRESS.
    """
    if generation < 0 and group.state == EMPTY:
        return
    if generation < 0 and member_id == "" and instance_id is None:
        raise KafkaError(Error.UNKNOWN_MEMBER_ID)
    member = group.members.check(member_id, instance_id)
    if generation != group.generation:
        raise KafkaError(Error.ILLEGAL_GENERATION)
    if group.state == COMPLETING:
        raise KafkaError(Error.REBALANCE_IN_PROGRESS)
    group.renew(member, now)

"""The rules that groups of the consumer, the streams and the share protocol have in
common (KIP-848, KIP-1071, KIP-932), with Kafka's error messages.

A member's epoch is its pass: the member is told one with each step, and shows it with
each request. The coordinator makes a target for a group epoch, and keeps it for a
while. The three kinds of groups differ in what a member has (partitions, tasks, or
partitions that others have, too) and in what they still accept from an older epoch:
each kind says that itself. A classic group has generations instead, and doesn't use any
of this.
"""

from collections import Counter
from collections.abc import Collection
from typing import TypeVar

from minikafka.clock import Now
from minikafka.cluster.metadata import GROUP_RESOURCE, Image
from minikafka.coordinators.runtime import Configs
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

# member epochs with a special meaning in a heartbeat
JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH = 0, -1, -2

FIRST_EPOCH = 1  # the group epoch of a group without records
NO_ASSIGNMENT_EPOCH = -1  # while there is no target
FIRST_COMMIT_VERSION = 9  # of OffsetCommit: the first version with a member epoch

Key = TypeVar("Key")


def configured(group_id: str, name: str, image: Image, config: Configs) -> int:
    """A config of a group; by default the broker's config for all groups."""
    own = image.config(GROUP_RESOURCE, group_id).get(name)
    return int(own or config[f"group.{name}"])


def may_assign(interval_ms: int, last_ms: int, now: Now) -> bool:
    """Whether the last target, made at last_ms, is old enough for a new one: members
    that come together share one target (KIP-1263).
    """
    if last_ms == 0 or interval_ms == 0:
        return True
    return now.wall_ms >= last_ms + interval_ms


def take_one(counter: Counter[Key], key: Key) -> None:
    """Count a key down by one, and remove it at zero."""
    counter[key] -= 1
    if not counter[key]:
        del counter[key]


# -- limits on the work

# as much as one request may cost; in Apache Kafka the record would be too large then,
# or soon after
MOST_TO_ASSIGN = 40_000


def check_size(count: int, what: str) -> None:
    """Refuse a target that is too large before it is computed: a request of a few kB
    can ask for one that doesn't fit into any record. Apache Kafka computes it first,
    then refuses it with the same error. count: how much would have to be assigned.
    Errors: UNKNOWN_SERVER_ERROR.
    """
    if count > MOST_TO_ASSIGN:
        why = (
            f"The target assignment is too large: {count} {what}, more than"
            f" {MOST_TO_ASSIGN}."
        )
        raise KafkaError(Error.UNKNOWN_SERVER_ERROR, why)


# -- checks of a request by itself

UNCHANGED_TIMEOUT_MS = -1  # a rebalance timeout that the member has told before


def refuse_blank(text: str | None, name: str) -> None:
    """Refuse a request if a text in it is blank. name: of the field, in Kafka's error
    message. Errors: INVALID_REQUEST.
    """
    refuse(text is not None and text.strip() == "", f"{name} can't be empty.")


def refuse(is_wrong: bool, why: str) -> None:
    """Refuse a request if something is wrong with it. Errors: INVALID_REQUEST."""
    if is_wrong:
        raise KafkaError(Error.INVALID_REQUEST, why)


# -- checks of a member


def unknown_member(member_id: str, group_id: str) -> KafkaError:
    why = f"Member {member_id} is not a member of group {group_id}."
    return KafkaError(Error.UNKNOWN_MEMBER_ID, why)


def fenced(kind: str, received: int, current: int) -> KafkaError:
    """The error for a heartbeat that shows another epoch than the member has. kind: of
    the group.
    """
    size = "greater" if received > current else "smaller"
    why = (
        f"The {kind} group member has a {size} member epoch ({received}) than the one"
        f" known by the group coordinator ({current}). The member must abandon all its"
        " partitions and rejoin."
    )
    return KafkaError(Error.FENCED_MEMBER_EPOCH, why)


def check_released(member_id: str, member_epoch: int, body: Message) -> None:
    """Check that a static member is away, before another process takes its place.
    member_id, member_epoch: of the member. body: the new one's heartbeat. Errors:
    UNRELEASED_INSTANCE_ID.
    """
    if member_epoch != LEAVE_STATIC_EPOCH:
        why = (
            f"Static member {body.member_id} with instance id {body.instance_id} cannot"
            f" join the group because the instance id is owned by {member_id} member."
        )
        raise KafkaError(Error.UNRELEASED_INSTANCE_ID, why)


def check_instance(member_id: str | None, body: Message) -> None:
    """Check that a static member's heartbeat comes from the process that has the
    instance id by now. member_id: that process's. Errors: UNKNOWN_MEMBER_ID,
    FENCED_INSTANCE_ID.
    """
    if member_id is None:
        why = f"Instance id {body.instance_id} is unknown."
        raise KafkaError(Error.UNKNOWN_MEMBER_ID, why)
    if member_id != body.member_id:
        why = (
            f"Static member {body.member_id} with instance id {body.instance_id} was"
            f" fenced by member {member_id}."
        )
        raise KafkaError(Error.FENCED_INSTANCE_ID, why)


def check_room(kind: str, most: int, members: Collection[str], member_id: str) -> None:
    """Check whether there is room for a member, if it is new. Errors:
    GROUP_MAX_SIZE_REACHED.
    """
    if len(members) >= most and member_id not in members:
        raise full(kind, most)


def full(kind: str, most: int) -> KafkaError:
    why = f"The {kind} group has reached its maximum capacity of {most} members."
    return KafkaError(Error.GROUP_MAX_SIZE_REACHED, why)


# -- checks of commits and fetches of offsets


def needs_no_member(request: Message, transactional: bool, is_empty: bool) -> bool:
    """Whether an OffsetCommit is accepted from a client that isn't a member: from an
    administrator, or from a consumer that assigns its partitions itself, while the
    group is empty; from a producer that names no member, always (KIP-447).
    """
    if request.generation_id_or_member_epoch >= 0:
        return False
    names_nobody = not request.member_id and request.group_instance_id is None
    return is_empty or (transactional and names_nobody)


def is_of_older_epoch(
    kind: str, request: Message, version: int | None, member_epoch: int
) -> bool:
    """Whether a member's OffsetCommit shows an epoch older than its own, and so needs a
    closer look (check_assigned_at). version: of OffsetCommit; None for a
    TxnOffsetCommit. Errors: UNSUPPORTED_VERSION, and STALE_MEMBER_EPOCH for an epoch
    that is still to come.
    """
    if version is not None and version < FIRST_COMMIT_VERSION:
        why = (
            f"OffsetCommit version 9 or above must be used by members using the {kind}"
            " group protocol"
        )
        raise KafkaError(Error.UNSUPPORTED_VERSION, why)
    received = request.generation_id_or_member_epoch
    if received > member_epoch:
        raise stale(
            f"Received member epoch {received} is newer than current member epoch"
            f" {member_epoch}."
        )
    return bool(received < member_epoch)


def check_assigned_at(
    what: str, name: str, assigned_at: int | None, received: int
) -> None:
    """Check whether a commit with an older epoch is for something that the member had
    at that epoch already and still has (KIP-1251). what: Partition or Task.
    assigned_at: the epoch at which the member got it; None if it doesn't have it.
    Errors: STALE_MEMBER_EPOCH.
    """
    if assigned_at is None:
        raise stale(f"{what} {name} is not assigned or pending revocation for member.")
    if received < assigned_at:
        raise stale(
            f"Received member epoch {received} is older than assignment epoch"
            f" {assigned_at} for {what.lower()} {name}."
        )


def check_fetch(received: int, expected: int) -> None:
    """Check whether a member with this epoch may ask for committed offsets. Errors:
    STALE_MEMBER_EPOCH.
    """
    if received != expected:
        raise stale(
            f"The received member epoch {received} does not match the expected member"
            f" epoch {expected}."
        )


def stale(why: str) -> KafkaError:
    return KafkaError(Error.STALE_MEMBER_EPOCH, why)

"""What holds of groups of the consumer, the streams and the share protocol alike
(KIP-848, KIP-1071, KIP-932), in Kafka's words.

A member's epoch is its pass: it is told one with each step, and shows it with each
request. The coordinator makes a target for a group epoch, and keeps it for a while. The
three kinds of groups differ in what a member has (partitions, tasks, partitions that
others have, too) and in what of an older epoch they still accept: that, each says
itself. A classic group has generations instead, and knows nothing of this.
"""

from collections import Counter
from collections.abc import Container, Sized
from typing import Protocol, TypeVar

from minikafka.clock import Now
from minikafka.cluster.metadata import GROUP_RESOURCE, Image
from minikafka.coordinators.runtime import Configs
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

# member epochs of a heartbeat that mean something else
JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH = 0, -1, -2

FIRST_EPOCH = 1  # the group epoch of a group without records
NO_ASSIGNMENT_EPOCH = -1  # there is no target
FIRST_COMMIT_VERSION = 9  # of OffsetCommit: with a member epoch

Key = TypeVar("Key")


class Members(Sized, Container[str], Protocol):
    """Those of a group, by member id."""


def configured(group_id: str, name: str, image: Image, config: Configs) -> int:
    """A config of a group, else what the broker says for all groups."""
    own = image.config(GROUP_RESOURCE, group_id).get(name)
    return int(own or config[f"group.{name}"])


def may_assign(interval_ms: int, last_ms: int, now: Now) -> bool:
    """Whether the last target, made at last_ms, is old enough for a new one: members
    that come together share one (KIP-1263).
    """
    if last_ms == 0 or interval_ms == 0:
        return True
    return now.wall_ms >= last_ms + interval_ms


def take_one(counter: Counter[Key], key: Key) -> None:
    """One less of it; what there is none of is not counted any more."""
    counter[key] -= 1
    if not counter[key]:
        del counter[key]


# -- how much there is to do

# as much as one request may cost; in Apache Kafka a record gets too large then, or soon
MOST_TO_ASSIGN = 40_000


def check_size(count: int, what: str) -> None:
    """Refuse a target that is too large before it is made: a few kB can ask for one that
    no record holds. Apache Kafka makes it first, then refuses it with the same error.
    count: how much is to be assigned. Errors: UNKNOWN_SERVER_ERROR.
    """
    if count > MOST_TO_ASSIGN:
        why = (
            f"The target assignment is too large: {count} {what}, more than"
            f" {MOST_TO_ASSIGN}."
        )
        raise KafkaError(Error.UNKNOWN_SERVER_ERROR, why)


# -- who a member is


def unknown_member(member_id: str, group_id: str) -> KafkaError:
    why = f"Member {member_id} is not a member of group {group_id}."
    return KafkaError(Error.UNKNOWN_MEMBER_ID, why)


def fenced(kind: str, received: int, current: int) -> KafkaError:
    """A heartbeat shows another epoch than the member has. kind: of the group."""
    size = "greater" if received > current else "smaller"
    why = (
        f"The {kind} group member has a {size} member epoch ({received}) than the one"
        f" known by the group coordinator ({current}). The member must abandon all its"
        " partitions and rejoin."
    )
    return KafkaError(Error.FENCED_MEMBER_EPOCH, why)


def check_room(kind: str, most: int, members: Members, member_id: str) -> None:
    """Whether there is room for a member, if it is new. Errors:
    GROUP_MAX_SIZE_REACHED.
    """
    if len(members) >= most and member_id not in members:
        raise full(kind, most)


def full(kind: str, most: int) -> KafkaError:
    why = f"The {kind} group has reached its maximum capacity of {most} members."
    return KafkaError(Error.GROUP_MAX_SIZE_REACHED, why)


# -- what it may ask of committed offsets


def needs_no_member(request: Message, transactional: bool, is_empty: bool) -> bool:
    """Whether an OffsetCommit is accepted of somebody who is no member: an
    administrator, or a consumer that assigns its partitions itself, while the group is
    empty; and a producer that names no member, always (KIP-447).
    """
    if request.generation_id_or_member_epoch >= 0:
        return False
    names_nobody = not request.member_id and request.group_instance_id is None
    return is_empty or (transactional and names_nobody)


def is_of_older_epoch(
    kind: str, request: Message, version: int | None, member_epoch: int
) -> bool:
    """Whether an OffsetCommit of a member is of an epoch before its own, and so has to
    be looked at more closely (check_assigned_at). version: of OffsetCommit; None: it is
    a TxnOffsetCommit. Errors: UNSUPPORTED_VERSION, and STALE_MEMBER_EPOCH for one of an
    epoch to come.
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
    """Whether a commit of an older epoch is of something that the member had at that
    epoch already and still has (KIP-1251). what: Partition, Task. assigned_at: the
    epoch at which it got it; None: it doesn't have it. Errors: STALE_MEMBER_EPOCH.
    """
    if assigned_at is None:
        raise stale(f"{what} {name} is not assigned or pending revocation for member.")
    if received < assigned_at:
        raise stale(
            f"Received member epoch {received} is older than assignment epoch"
            f" {assigned_at} for {what.lower()} {name}."
        )


def check_fetch(received: int, expected: int) -> None:
    """Whether a member of this epoch may ask for committed offsets. Errors:
    STALE_MEMBER_EPOCH.
    """
    if received != expected:
        raise stale(
            f"The received member epoch {received} does not match the expected member"
            f" epoch {expected}."
        )


def stale(why: str) -> KafkaError:
    return KafkaError(Error.STALE_MEMBER_EPOCH, why)

"""What is decided about groups and offsets in addition to the records (runtime.py):
effects as data. Groups.carry_out says what each means; those of a classic group are in
classic_effects.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from minikafka.cluster.waiting import Wait
from minikafka.coordinators.runtime import Effect
from minikafka.wire.schema import Message


@dataclass(frozen=True, slots=True)
class GroupMade(Effect):
    """A classic group was made for its first member, which may join it now."""

    wait: Wait
    request: Message
    client: tuple[str, str]
    version: int


@dataclass(frozen=True, slots=True)
class Drafted(Effect):
    """The draft of a consumer, streams or share group has been applied to its state."""

    draft: Any


@dataclass(frozen=True, slots=True)
class OffsetsCommitted(Effect):
    """A member's offsets, or those of a client that isn't a member (""), were
    committed. events: the details of an event of that kind for each offset, if somebody
    listens.
    """

    member_id: str
    kind: str
    events: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class OffsetsLookedAt(Effect):
    """The offsets of these partitions have expired. is_deleted: whether the group was
    deleted as well.
    """

    expired: Sequence[str]
    is_deleted: bool


@dataclass(frozen=True, slots=True)
class GroupDeleted(Effect):
    """An administrator deleted the group."""

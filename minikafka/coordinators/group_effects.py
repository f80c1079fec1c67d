"""What is decided over groups and offsets besides the records (runtime.py): effects as
data. Groups.carry_out says what each means; those of a classic group are in
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
    """A classic group is there for the first member, which may join it now."""

    wait: Wait
    request: Message
    client: tuple[str, str]
    version: int


@dataclass(frozen=True, slots=True)
class Drafted(Effect):
    """What a group of any kind but the classic one decided, a draft of that kind, is in
    its state.
    """

    draft: Any


@dataclass(frozen=True, slots=True)
class OffsetsCommitted(Effect):
    """Of a member, or of nobody (""). events: a detail for each offset, if somebody
    listens, of that kind.
    """

    member_id: str
    kind: str
    events: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class OffsetsLookedAt(Effect):
    """Those of the partitions named have expired. is_deleted: and the group with
    them.
    """

    expired: Sequence[str]
    is_deleted: bool


@dataclass(frozen=True, slots=True)
class GroupDeleted(Effect):
    """An administrator wanted it."""

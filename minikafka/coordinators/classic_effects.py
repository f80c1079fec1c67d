"""What a classic group decides in addition to its record (runtime.py): effects as data.

All but the last three come without a record: which members are there and which ones
wait is soft state. ClassicGroup.carry_out says what each effect means.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from minikafka.cluster.waiting import Wait
from minikafka.coordinators.classic_state import ClassicMember
from minikafka.coordinators.runtime import Effect
from minikafka.trace import Reason


class ClassicEffect(Effect):
    """An effect on one classic group."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Heard(ClassicEffect):
    """A member has shown that it is alive."""

    member_id: str


@dataclass(frozen=True, slots=True)
class IdPromised(ClassicEffect):
    """A new member was given its id, and will send another JoinGroup with it
    (KIP-394).
    """

    member_id: str
    session_timeout_ms: int


@dataclass(frozen=True, slots=True)
class RoomRefused(ClassicEffect):
    """The group is full. The id that was refused is forgotten."""

    member_id: str


@dataclass(frozen=True, slots=True)
class MemberCame(ClassicEffect):
    """A new member waits for the next generation. reason: in its own words."""

    wait: Wait
    member: ClassicMember
    protocol_type: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class StaticMemberCame(ClassicEffect):
    """A static member came back as another process, and all members must join again."""

    wait: Wait
    former_id: str
    member: ClassicMember


@dataclass(frozen=True, slots=True)
class JoinedAgain(ClassicEffect):
    """A known member, with its new description, waits for the next generation."""

    wait: Wait
    member: ClassicMember
    why: str


@dataclass(frozen=True, slots=True)
class Synced(ClassicEffect):
    """A member got its assignment."""

    member_id: str


@dataclass(frozen=True, slots=True)
class WaitsToSync(ClassicEffect):
    """A member waits for the leader's assignment."""

    wait: Wait
    member_id: str


@dataclass(frozen=True, slots=True)
class Left(ClassicEffect):
    """Members leave of their own accord. why: by member id."""

    why: Mapping[str, Reason]


@dataclass(frozen=True, slots=True)
class TimePassed(ClassicEffect):
    """A deadline of the group has come."""


@dataclass(frozen=True, slots=True)
class StaticMemberReplaced(ClassicEffect):
    """According to the record, a static member is another process now."""

    former_id: str
    member: ClassicMember


@dataclass(frozen=True, slots=True)
class Assigned(ClassicEffect):
    """According to the record, all members have the leader's assignment."""


@dataclass(frozen=True, slots=True)
class BecameEmpty(ClassicEffect):
    """According to the record, no members are left. generation, at_ms: those of the
    record.
    """

    generation: int
    at_ms: int

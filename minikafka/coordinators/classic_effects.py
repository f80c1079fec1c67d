"""What a classic group decides besides its record (runtime.py): effects as data.

All but the last three come without a record: who is there and who waits is soft.
ClassicGroup.carry_out says what each means.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from minikafka.cluster.waiting import Wait
from minikafka.coordinators.classic_state import ClassicMember
from minikafka.coordinators.runtime import Effect
from minikafka.trace import Reason


class ClassicEffect(Effect):
    """On one classic group."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Heard(ClassicEffect):
    """A member is alive."""

    member_id: str


@dataclass(frozen=True, slots=True)
class IdPromised(ClassicEffect):
    """A new member was given its id, and comes again with it (KIP-394)."""

    member_id: str
    session_timeout_ms: int


@dataclass(frozen=True, slots=True)
class RoomRefused(ClassicEffect):
    """There is no room for a member; whoever it was, it is forgotten."""

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
    """A static member came back as another process, and all must join again."""

    wait: Wait
    former_id: str
    member: ClassicMember


@dataclass(frozen=True, slots=True)
class JoinedAgain(ClassicEffect):
    """A member of before, as it describes itself now, waits for the next generation."""

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
    """Members go by themselves. why: by member id."""

    why: Mapping[str, Reason]


@dataclass(frozen=True, slots=True)
class TimePassed(ClassicEffect):
    """A deadline has come."""


@dataclass(frozen=True, slots=True)
class StaticMemberReplaced(ClassicEffect):
    """By its record a static member is another process now."""

    former_id: str
    member: ClassicMember


@dataclass(frozen=True, slots=True)
class Assigned(ClassicEffect):
    """By its record everybody has what the leader assigned."""


@dataclass(frozen=True, slots=True)
class BecameEmpty(ClassicEffect):
    """By its record nobody is left. generation, at_ms: as there."""

    generation: int
    at_ms: int

"""What a classic group decides besides its record (runtime.py): changes as data.

All but the last three come without a record: who is there and who waits is soft.
ClassicGroup.carry_out says what each means.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from minikafka.cluster.waiting import Wait
from minikafka.coordinators.classic_state import ClassicMember
from minikafka.coordinators.runtime import Change
from minikafka.trace import Reason


class ClassicChange(Change):
    """A change of one classic group."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Heard(ClassicChange):
    """A member is alive."""

    member_id: str


@dataclass(frozen=True, slots=True)
class IdPromised(ClassicChange):
    """A new member was given its id, and comes again with it (KIP-394)."""

    member_id: str
    session_timeout_ms: int


@dataclass(frozen=True, slots=True)
class RoomRefused(ClassicChange):
    """There is no room for a member; whoever it was, it is forgotten."""

    member_id: str


@dataclass(frozen=True, slots=True)
class MemberCame(ClassicChange):
    """A new member waits for the next generation. reason: in its own words."""

    wait: Wait
    member: ClassicMember
    protocol_type: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class StaticMemberCame(ClassicChange):
    """A static member came back as another process, and all must join again."""

    wait: Wait
    former_id: str
    member: ClassicMember


@dataclass(frozen=True, slots=True)
class JoinedAgain(ClassicChange):
    """A member of before, as it describes itself now, waits for the next generation."""

    wait: Wait
    member: ClassicMember
    why: str


@dataclass(frozen=True, slots=True)
class Synced(ClassicChange):
    """A member got its assignment."""

    member_id: str


@dataclass(frozen=True, slots=True)
class WaitsToSync(ClassicChange):
    """A member waits for the leader's assignment."""

    wait: Wait
    member_id: str


@dataclass(frozen=True, slots=True)
class Left(ClassicChange):
    """Members go by themselves. why: by member id."""

    why: Mapping[str, Reason]


@dataclass(frozen=True, slots=True)
class TimePassed(ClassicChange):
    """A deadline has come."""


@dataclass(frozen=True, slots=True)
class StaticMemberReplaced(ClassicChange):
    """By its record a static member is another process now."""

    former_id: str
    member: ClassicMember


@dataclass(frozen=True, slots=True)
class Assigned(ClassicChange):
    """By its record everybody has what the leader assigned."""


@dataclass(frozen=True, slots=True)
class BecameEmpty(ClassicChange):
    """By its record nobody is left. generation, at_ms: as there."""

    generation: int
    at_ms: int

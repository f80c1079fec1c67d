"""The states of a classic group, and its members.

The code follows the table of states, and the lesson's diagram is drawn from it. Names
are Apache Kafka's (ClassicGroupState). From every other state a group also goes to Dead
when its coordinator loses the partition; another broker then goes on from what the log
says.

A member names the assignors ("protocols") it knows, in order of preference, each with
its own metadata: the topics it subscribes to, the partitions it owns. The coordinator
never looks inside; it only counts. The group uses a protocol that every member knows,
and each member votes for the first of those on its own list.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from minikafka.cluster.states import table
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

# the protocol type of consumers; Connect workers have a different one
CONSUMER = "consumer"

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = (
    "Empty",
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "Dead",
)


class Event(StrEnum):
    """The events that move a group from one state to another. The trace gives them as
    the reason for the move.
    """

    MEMBER_JOINS = "member_joins"
    MEMBER_LEAVES = "member_leaves"
    ALL_JOINED = "all_joined"
    NOBODY_JOINED = "nobody_joined"
    LEADER_ASSIGNED = "leader_assigned"
    ASSIGNMENT_LOST = "assignment_lost"
    SESSION_TIMEOUT = "session_timeout"
    REBALANCE_TIMEOUT = "rebalance_timeout"
    SYNC_TIMEOUT = "sync_timeout"
    DELETED = "deleted"


TRANSITIONS = table("""
    Empty                member_joins       PreparingRebalance   the first member opens a rebalance
    Empty                deleted            Dead                 nobody came back and no offset is left
    PreparingRebalance   all_joined         CompletingRebalance  everyone is in, the leader must assign
    PreparingRebalance   rebalance_timeout  CompletingRebalance  dynamic members who did not join again are out
    PreparingRebalance   nobody_joined      Empty                the last member is gone, offsets stay until they expire
    CompletingRebalance  leader_assigned    Stable               every member gets its partitions
    CompletingRebalance  member_joins       PreparingRebalance   the assignment would be stale: start over
    CompletingRebalance  member_leaves      PreparingRebalance   its share must go to others
    CompletingRebalance  session_timeout    PreparingRebalance   a silent member is out
    CompletingRebalance  sync_timeout       PreparingRebalance   a member never asked for its share and is out
    CompletingRebalance  assignment_lost    PreparingRebalance   what the leader assigned could not be written
    Stable               member_joins       PreparingRebalance   a new member, or one that wants something else
    Stable               member_leaves      PreparingRebalance   its partitions need new owners
    Stable               session_timeout    PreparingRebalance   a silent member is out, its partitions move
    Stable               sync_timeout       PreparingRebalance   a member never asked for its share and is out
""")


@dataclass(frozen=True, slots=True)
class ClassicMember:
    """A member's description of itself. protocols: assignor -> the member's
    metadata.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int = 0
    session_timeout_ms: int = 0
    protocols: Mapping[str, bytes] = field(default_factory=dict)

    def joining_with(self, request: Message) -> "ClassicMember":
        """The member, updated from its JoinGroup."""
        return replace(
            self,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocols={each.name: bytes(each.metadata) for each in request.protocols},
        )


@dataclass(slots=True)
class Members(Mapping[str, ClassicMember]):
    """Members by id, in the order in which they came. leader: the id of the member that
    assigns, or None.
    """

    leader: str | None = None
    _by_id: dict[str, ClassicMember] = field(default_factory=dict)
    _static: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, member_id: str) -> ClassicMember:
        return self._by_id[member_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_id)

    def __len__(self) -> int:
        return len(self._by_id)

    def put(self, member: ClassicMember) -> None:
        """Add a member, or update it. The first member becomes the leader."""
        if member.instance_id is not None:
            known_as = self._static.setdefault(member.instance_id, member.member_id)
            assert known_as == member.member_id, (
                "a static member that comes back is replaced"
            )
        self._by_id[member.member_id] = member
        if self.leader is None:
            self.leader = member.member_id

    def remove(self, member_id: str) -> None:
        """Remove a member. If it was the leader, the member that came first after it
        takes over.
        """
        member = self._by_id.pop(member_id, None)
        if member is not None and member.instance_id is not None:
            del self._static[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self._by_id), None)

    def replaced(self, former_id: str, member: ClassicMember) -> "Members":
        """These members after a static one came back with a new id (KIP-345); if it was
        the leader, it still is.
        """
        assert member.instance_id is not None
        by_id = dict(self._by_id)
        by_id.pop(former_id, None)
        by_id[member.member_id] = member
        static = dict(self._static)
        static[member.instance_id] = member.member_id
        leader = member.member_id if self.leader == former_id else self.leader
        return Members(leader, by_id, static)

    def described_by(self, known: "Members", protocol: str | None) -> "Members":
        """These members, which were read from a record. For each member the record
        keeps only the metadata of the protocol that was agreed on. A member that is
        known, with the same metadata for that protocol, keeps all the protocols that it
        named.
        """
        described = Members()
        for member in self.values():
            before = known.get(member.member_id)
            if before is not None and protocol is not None:
                said = before.protocols.get(protocol)
                if said == member.protocols[protocol]:
                    member = replace(member, protocols=before.protocols)
            described.put(member)
        described.leader = self.leader
        return described

    def static_member_id(self, instance_id: str | None) -> str | None:
        if instance_id is None:
            return None
        return self._static.get(instance_id)

    def check(self, member_id: str, instance_id: str | None) -> ClassicMember:
        """The member. Errors: UNKNOWN_MEMBER_ID; FENCED_INSTANCE_ID if another process
        took over its instance id.
        """
        if instance_id is not None:
            current = self._static.get(instance_id)
            if current is None:
                raise KafkaError(Error.UNKNOWN_MEMBER_ID)
            if current != member_id:
                raise KafkaError(Error.FENCED_INSTANCE_ID)
        if member_id not in self._by_id:
            raise KafkaError(Error.UNKNOWN_MEMBER_ID)
        return self._by_id[member_id]

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest timeout of any member: that is how long the others wait."""
        members = self._by_id.values()
        return max((each.rebalance_timeout_ms for each in members), default=0)

    def elect_leader(self, joined: Container[str]) -> bool:
        """Keep the leader if it joined, otherwise take the first member that did. False
        if nobody joined.
        """
        if self.leader in joined:
            return True
        for member_id in self._by_id:
            if member_id in joined:
                self.leader = member_id
                return True
        return False

    def support(self, protocols: Iterable[str]) -> bool:
        """Whether every member knows one of these protocols."""
        if not self._by_id:
            return bool(list(protocols))
        return not self._common().isdisjoint(protocols)

    def elect_protocol(self) -> str:
        """The common protocol with the most votes; among equals the one that got its
        first vote earlier.
        """
        common = self._common()
        votes: Counter[str] = Counter()
        for member in self._by_id.values():
            favourite = next(name for name in member.protocols if name in common)
            votes[favourite] += 1
        (winner, _), *_ = votes.most_common(1)
        return winner

    def _common(self) -> set[str]:
        """The protocols that every member knows."""
        if not self._by_id:
            return set()
        first, *others = self._by_id.values()
        common = set(first.protocols)
        for member in others:
            common &= member.protocols.keys()
        return common

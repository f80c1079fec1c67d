"""What a classic group is made of: its states, its members, and the one record that
keeps them.

The table of states is what the code follows, and what the lesson's diagram is drawn
from. Names are Apache Kafka's (ClassicGroupState). From every state but Dead a group
also goes to Dead when its coordinator loses the partition; another broker then goes on
with what the log says.

A member names the assignors ("protocols") it knows, in the order it likes them, each
with its own metadata: the topics it subscribes to, the partitions it owns. The
coordinator never looks inside; it only counts. The group uses a protocol that every
member knows, and each member votes for the first of those on its own list.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from minikafka.clock import Now
from minikafka.coordinators.runtime import CoordinatorRecord
from minikafka.trace import Trace
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.messages import decode_versioned
from minikafka.wire.primitives import DecodeError
from minikafka.wire.schema import Message

if TYPE_CHECKING:
    from minikafka.coordinators.classic_group import ClassicGroup

CONSUMER = "consumer"  # the protocol type of consumers; Connect workers have another

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = (
    "Empty",
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "Dead",
)


class Transition(NamedTuple):
    """One row of the table."""

    state: str
    event: str
    next_state: str
    meaning: str


def table(text: str) -> dict[tuple[str, str], Transition]:
    """Rows of `state event next-state meaning`, by state and event."""
    rows = [Transition(*line.split(None, 3)) for line in text.strip().splitlines()]
    return {(row.state, row.event): row for row in rows}


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
    """What a member said of itself. protocols: assignor -> the member's metadata."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int = 0
    session_timeout_ms: int = 0
    protocols: Mapping[str, bytes] = field(default_factory=dict)

    def joining_with(self, request: Message) -> "ClassicMember":
        """The member as it describes itself in a JoinGroup."""
        return replace(
            self,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocols={each.name: bytes(each.metadata) for each in request.protocols},
        )


@dataclass(slots=True)
class Members(Mapping[str, ClassicMember]):
    """Members by id, in the order they came. leader: the id of the one who assigns, or
    None.
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
        """A new member, or a member that says something new of itself. The first one
        leads.
        """
        if member.instance_id is not None:
            known_as = self._static.setdefault(member.instance_id, member.member_id)
            assert known_as == member.member_id, (
                "a static member that comes back is replaced"
            )
        self._by_id[member.member_id] = member
        if self.leader is None:
            self.leader = member.member_id

    def remove(self, member_id: str) -> None:
        """If the leader goes, the one who came first after it leads."""
        member = self._by_id.pop(member_id, None)
        if member is not None and member.instance_id is not None:
            del self._static[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self._by_id), None)

    def replaced(self, former_id: str, member: ClassicMember) -> "Members":
        """These members, after a static one came back under a new id (KIP-345): it also
        leads if it did before.
        """
        others = {
            member_id: each
            for member_id, each in self._by_id.items()
            if member_id != former_id
        }
        assert member.instance_id is not None
        return Members(
            member.member_id if self.leader == former_id else self.leader,
            {**others, member.member_id: member},
            {**self._static, member.instance_id: member.member_id},
        )

    def static_member_id(self, instance_id: str | None) -> str | None:
        return None if instance_id is None else self._static.get(instance_id)

    def check(self, member_id: str, instance_id: str | None) -> ClassicMember:
        """The member, if it is one. Errors: UNKNOWN_MEMBER_ID; FENCED_INSTANCE_ID if
        another process took over.
        """
        if instance_id is not None:
            current = self._static.get(instance_id)
            if current is not None and current != member_id:
                raise KafkaError(Error.FENCED_INSTANCE_ID)
        if member_id not in self._by_id or (
            instance_id is not None and instance_id not in self._static
        ):
            raise KafkaError(Error.UNKNOWN_MEMBER_ID)
        return self._by_id[member_id]

    @property
    def rebalance_timeout_ms(self) -> int:
        """The slowest member's: so long the others wait."""
        return max(
            (member.rebalance_timeout_ms for member in self._by_id.values()), default=0
        )

    def elect_leader(self, joined: Container[str]) -> bool:
        """Keep the leader if it joined, else take the first who did. False if nobody
        joined.
        """
        if self.leader not in joined:
            first = next(
                (member_id for member_id in self._by_id if member_id in joined), None
            )
            if first is None:
                return False
            self.leader = first
        return True

    def support(self, protocols: Iterable[str]) -> bool:
        """Whether one of these protocols is known to every member."""
        return (
            not self._common().isdisjoint(protocols)
            if self._by_id
            else bool(list(protocols))
        )

    def elect_protocol(self) -> str:
        """The common protocol with the most votes; the one that got its first vote
        earlier among equals.
        """
        common = self._common()
        votes = Counter(
            next(name for name in member.protocols if name in common)
            for member in self._by_id.values()
        )
        return votes.most_common(1)[0][0]

    def _common(self) -> set[str]:
        known = [member.protocols.keys() for member in self._by_id.values()]
        return set(known[0]).intersection(*known[1:]) if known else set()


def subscribed_topics(
    members: Mapping[str, ClassicMember], protocol: str
) -> set[str] | None:
    """The topics of all members' subscriptions; None if one cannot be read."""
    topics: set[str] = set()
    for member in members.values():
        try:
            subscription = decode_versioned(
                "ConsumerProtocolSubscription", member.protocols[protocol]
            )
        except DecodeError:
            return None
        topics.update(subscription.topics)
    return topics


def _who(member: ClassicMember) -> dict[str, Any]:
    who = {"member_id": member.member_id, "group_instance_id": member.instance_id}
    return who | {"client_id": member.client_id, "client_host": member.client_host}


def group_metadata(
    group: "ClassicGroup", members: Members, shares: Mapping[str, bytes], now: Now
) -> CoordinatorRecord:
    """GroupMetadata of this generation: leader, protocol, and each member with its
    subscription and share.
    """
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
    agreed = {
        "generation": group.generation,
        "protocol": group.protocol,
        "leader": members.leader,
    }
    return _record(group, now, **agreed, members=told)


def empty_group_metadata(
    group: "ClassicGroup", generation: int, now: Now
) -> CoordinatorRecord:
    """GroupMetadata of a generation without members."""
    return _record(
        group, now, generation=generation, protocol=None, leader=None, members=[]
    )


def _record(group: "ClassicGroup", now: Now, **fields: Any) -> CoordinatorRecord:
    value = {
        "protocol_type": group.protocol_type or "",
        "current_state_timestamp": now.wall_ms,
        **fields,
    }
    return CoordinatorRecord("GroupMetadata", {"group": group.group_id}, value)


def restored(value: Message) -> Members:
    """The members that a GroupMetadata record tells of."""
    members = Members()
    for each in value.members:
        rebalance_timeout_ms = (
            each.session_timeout
            if each.rebalance_timeout == -1
            else each.rebalance_timeout
        )
        members.put(
            ClassicMember(
                each.member_id,
                each.group_instance_id,
                each.client_id,
                each.client_host,
                rebalance_timeout_ms,
                each.session_timeout,
                {value.protocol: bytes(each.subscription)},
            )
        )
    members.leader = value.leader
    return members


def describe(group: "ClassicGroup") -> dict[str, Any]:
    """As DescribeGroups shows it: protocol and subscriptions only while they are agreed
    on.
    """
    stable = group.state == STABLE
    members = [
        {
            **_who(member),
            "member_metadata": (
                member.protocols[group.protocol or ""] if stable else b""
            ),
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


def tell_assignment(trace: Trace, group: "ClassicGroup") -> None:
    """The trace event of an assignment; only here is one decoded."""
    trace.emit(
        "AssignmentMade",
        group=group.group_id,
        generation=group.generation,
        by=group.members.leader,
        assignor=group.protocol,
        assignment={
            each: partitions_of(group, group.shares.get(each, b""))
            for each in group.members
        },
    )


def partitions_of(group: "ClassicGroup", share: bytes) -> list[list[Any]]:
    """[topic, partition] of a consumer's share; nothing where it can't be read."""
    if group.protocol_type != CONSUMER or not share:
        return []
    try:
        assignment = decode_versioned("ConsumerProtocolAssignment", share)
    except DecodeError:
        return []
    return [
        [each.topic, number]
        for each in assignment.assigned_partitions
        for number in each.partitions
    ]

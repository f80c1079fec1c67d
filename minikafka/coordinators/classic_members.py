"""The members of a classic group, and which protocol they can agree on.

A member names the assignors ("protocols") it knows, in the order it likes them, each with its own metadata: the topics
it subscribes to, the partitions it owns. The coordinator never looks inside; it only counts. The group uses a
protocol that every member knows, and each member votes for the first of those on its own list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.messages import decode_versioned
from minikafka.wire.primitives import DecodeError
from minikafka.wire.schema import Message

CONSUMER = "consumer"  # the protocol type of consumers; Connect workers have another


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

    def joining_with(self, request: Message) -> ClassicMember:
        """The member as it describes itself in a JoinGroup."""
        return replace(
            self,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocols={each.name: bytes(each.metadata) for each in request.protocols},
        )


@dataclass(slots=True)
class Members(Mapping[str, ClassicMember]):
    """Members by id, in the order they came. leader: the id of the one who assigns, or None."""

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
        """A new member, or a member that says something new of itself. The first one leads."""
        if member.instance_id is not None:
            known_as = self._static.setdefault(member.instance_id, member.member_id)
            assert known_as == member.member_id, "a static member that comes back is replaced"
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

    def replaced(self, former_id: str, member: ClassicMember) -> Members:
        """These members, after a static one came back under a new id (KIP-345): it also leads if it did before."""
        others = {member_id: each for member_id, each in self._by_id.items() if member_id != former_id}
        assert member.instance_id is not None
        return Members(
            member.member_id if self.leader == former_id else self.leader,
            {**others, member.member_id: member},
            {**self._static, member.instance_id: member.member_id},
        )

    def static_member_id(self, instance_id: str | None) -> str | None:
        return None if instance_id is None else self._static.get(instance_id)

    def check(self, member_id: str, instance_id: str | None) -> ClassicMember:
        """The member, if it is one. Errors: UNKNOWN_MEMBER_ID; FENCED_INSTANCE_ID if another process took over."""
        if instance_id is not None:
            current = self._static.get(instance_id)
            if current is not None and current != member_id:
                raise KafkaError(Error.FENCED_INSTANCE_ID)
        if member_id not in self._by_id or (instance_id is not None and instance_id not in self._static):
            raise KafkaError(Error.UNKNOWN_MEMBER_ID)
        return self._by_id[member_id]

    @property
    def rebalance_timeout_ms(self) -> int:
        """The slowest member's: so long the others wait."""
        return max((member.rebalance_timeout_ms for member in self._by_id.values()), default=0)

    def elect_leader(self, joined: Container[str]) -> bool:
        """Keep the leader if it joined, else take the first who did. False if nobody joined."""
        if self.leader not in joined:
            first = next((member_id for member_id in self._by_id if member_id in joined), None)
            if first is None:
                return False
            self.leader = first
        return True

    def support(self, protocols: Iterable[str]) -> bool:
        """Whether one of these protocols is known to every member."""
        common = self._common()
        return any(name in common for name in protocols) if self._by_id else bool(list(protocols))

    def elect_protocol(self) -> str:
        """The common protocol with the most votes; the one that got its first vote earlier among equals."""
        common = self._common()
        votes = Counter(next(name for name in member.protocols if name in common) for member in self._by_id.values())
        return votes.most_common(1)[0][0]

    def _common(self) -> set[str]:
        known = [member.protocols.keys() for member in self._by_id.values()]
        return set(known[0]).intersection(*known[1:]) if known else set()


def subscribed_topics(members: Mapping[str, ClassicMember], protocol: str) -> set[str] | None:
    """The topics of all members' subscriptions; None if one cannot be read."""
    topics: set[str] = set()
    for member in members.values():
        try:
            subscription = decode_versioned("ConsumerProtocolSubscription", member.protocols[protocol])
        except DecodeError:
            return None
        topics.update(subscription.topics)
    return topics

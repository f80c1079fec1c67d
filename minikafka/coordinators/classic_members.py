"""The members of a classic group, and which protocol they can agree on.

A member names the assignors ("protocols") it knows, in the order it likes them, each with its own metadata: the topics
it subscribes to, the partitions it owns. The coordinator never looks inside; it only counts. The group uses a
protocol that every member knows, and each member votes for the first of those on its own list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from minikafka.cluster.waiting import Wait
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.messages import decode_versioned
from minikafka.wire.primitives import DecodeError

CONSUMER = "consumer"  # the protocol type of consumers; Connect workers have another


@dataclass(slots=True, eq=False)
class Member:
    """One member as the coordinator knows it.

    protocols: assignor -> the member's metadata. expires_ms: when its session ends (monotonic). joining, syncing: its
    parked JoinGroup and SyncGroup. is_new: it never got an answer to a JoinGroup, so its session may end while it
    waits.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: dict[str, bytes]
    assignment: bytes = b""
    expires_ms: int = 0
    joining: Wait | None = None
    syncing: Wait | None = None
    is_new: bool = False

    @property
    def is_static(self) -> bool:
        return self.instance_id is not None

    @property
    def waits(self) -> bool:
        """Whether the coordinator holds a request of its: then it can't send heartbeats, and needn't."""
        held = (request for request in (self.joining, self.syncing) if request is not None)
        return not self.is_new and any(not request.is_done for request in held)

    def answer_join(self, answer: dict[str, Any]) -> None:
        if self.joining is not None:
            self.joining.finish(answer)
            self.joining = None

    def answer_sync(self, answer: dict[str, Any]) -> None:
        if self.syncing is not None:
            self.syncing.finish(answer)
            self.syncing = None


@dataclass(slots=True)
class Members(Mapping[str, Member]):
    """Members by id, in the order they came. leader: the id of the one who assigns, or None.

    pending: ids handed out with MEMBER_ID_REQUIRED and not used yet (KIP-394), with the ms when they lapse.
    unsynced: members that know the new generation and have not asked for their share.
    """

    leader: str | None = None
    pending: dict[str, int] = field(default_factory=dict)
    unsynced: dict[str, None] = field(default_factory=dict)
    _by_id: dict[str, Member] = field(default_factory=dict)
    _static: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, member_id: str) -> Member:
        return self._by_id[member_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_id)

    def __len__(self) -> int:
        return len(self._by_id)

    def add(self, member: Member) -> None:
        """The first one leads."""
        if member.instance_id is not None:
            assert member.instance_id not in self._static, "a static member that comes back is replaced"
            self._static[member.instance_id] = member.member_id
        self._by_id[member.member_id] = member
        self.pending.pop(member.member_id, None)
        if self.leader is None:
            self.leader = member.member_id

    def remove(self, member_id: str) -> None:
        """If the leader goes, the one who came first after it leads."""
        self.pending.pop(member_id, None)
        self.unsynced.pop(member_id, None)
        member = self._by_id.pop(member_id, None)
        if member is not None and member.instance_id is not None:
            del self._static[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self._by_id), None)

    def replace(self, instance_id: str, new_id: str) -> Member:
        """A static member came back (KIP-345): it takes over everything under a new id, and its former self is
        fenced.
        """
        old_id = self._static[instance_id]
        member = self._by_id.pop(old_id)
        fenced = {"error_code": Error.FENCED_INSTANCE_ID, "member_id": old_id}
        member.answer_join(fenced)
        member.answer_sync({"error_code": Error.FENCED_INSTANCE_ID})
        self.unsynced.pop(old_id, None)
        member.member_id = new_id
        self._by_id[new_id] = member
        self._static[instance_id] = new_id
        if self.leader == old_id:
            self.leader = new_id
        return member

    def static_member_id(self, instance_id: str | None) -> str | None:
        return None if instance_id is None else self._static.get(instance_id)

    def check(self, member_id: str, instance_id: str | None) -> Member:
        """The member, if it is one. Errors: UNKNOWN_MEMBER_ID; FENCED_INSTANCE_ID if another process took over."""
        if instance_id is not None:
            current = self._static.get(instance_id)
            if current is not None and current != member_id:
                raise KafkaError(Error.FENCED_INSTANCE_ID)
        if member_id not in self._by_id or (instance_id is not None and instance_id not in self._static):
            raise KafkaError(Error.UNKNOWN_MEMBER_ID)
        return self._by_id[member_id]

    @property
    def all_joined(self) -> bool:
        """Whether every member asked to join, those who were only given an id included."""
        return not self.pending and all(member.joining is not None for member in self._by_id.values())

    @property
    def rebalance_timeout_ms(self) -> int:
        """The slowest member's: so long the others wait."""
        return max((member.rebalance_timeout_ms for member in self._by_id.values()), default=0)

    def elect_joined_leader(self) -> bool:
        """Keep the leader if it joined, else take the first who did. False if nobody joined."""
        if self.leader is not None and self._by_id[self.leader].joining is None:
            joined = [member.member_id for member in self._by_id.values() if member.joining is not None]
            if not joined:
                return False
            self.leader = joined[0]
        return self.leader is not None

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


def subscribed_topics(members: Mapping[str, Member], protocol: str) -> set[str] | None:
    """The topics of all members' subscriptions; None if one cannot be read."""
    topics: set[str] = set()
    for member in members.values():
        try:
            subscription = decode_versioned("ConsumerProtocolSubscription", member.protocols[protocol])
        except DecodeError:
            return None
        topics.update(subscription.topics)
    return topics

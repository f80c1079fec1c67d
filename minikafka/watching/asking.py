"""A look at a cluster by the APIs that any client may use. It asks in versions that
Apache Kafka has had since 4.0, and reads no records.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from minikafka.testing.client import Client
from minikafka.trace import printable
from minikafka.watching.seen import (
    INTERNAL,
    UNKNOWN,
    Group,
    Member,
    Part,
    Place,
    Seen,
)
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.messages import decode_versioned
from minikafka.wire.primitives import DecodeError
from minikafka.wire.schema import Message

CLIENT_ID = "minikafka-watch"
PATIENCE_S = 3.0
LATEST = -1
QUORUM = {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}
# what is answered where a cluster, or a broker of it, is busy with itself
PASSES = {
    Error.LEADER_NOT_AVAILABLE,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.NOT_COORDINATOR,
}
# what breaks where the other side is gone, or speaks no Kafka
NO_ANSWER = (OSError, DecodeError, KafkaError, LookupError, ValueError, struct.error)


def client_of(bootstrap: Callable[[], list[str]]) -> Client:
    """bootstrap(): host:port of the brokers that may know the cluster."""
    return Client(bootstrap, client_id=CLIENT_ID, patience_s=PATIENCE_S)


class Looking:
    """One look."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._errors: list[str] = []
        self._silent: set[str] = set()  # addresses; no second question waits for them
        told = client.ask("Metadata", {"topics": None})
        self.brokers = {
            each.node_id: f"{each.host}:{each.port}" for each in told.brokers
        }
        self._topics = [
            topic for topic in told.topics if not topic.name.startswith(INTERNAL)
        ]

    def seen(self, at_s: float) -> Seen:
        """Errors: NO_ANSWER."""
        parts = self._parts()
        groups = self._groups()
        return Seen(
            at_s=at_s,
            brokers=self.brokers,
            controller=self._controller(),
            parts=parts,
            groups={each.name: each for each in groups},
            errors=tuple(dict.fromkeys(self._errors)),
        )

    def _controller(self) -> int:
        try:
            [told] = self._client.ask("DescribeQuorum", {"topics": [QUORUM]}).topics
        except NO_ANSWER:
            return UNKNOWN
        found: int = told.partitions[0].leader_id
        return found

    # -- topics

    def _parts(self) -> dict[Place, Part]:
        parts: dict[Place, Part] = {}
        for topic in self._topics:
            if topic.error_code:
                self._refused(f"topic {printable(topic.name)}", topic.error_code)
            for part in topic.partitions:
                parts[Place(printable(topic.name), part.partition_index)] = Part(
                    part.leader_id,
                    tuple(part.replica_nodes),
                    tuple(part.isr_nodes),
                )
        for place, end in self._ends(parts):
            parts[place] = parts[place]._replace(end=end)
        return parts

    def _ends(self, parts: dict[Place, Part]) -> Iterator[tuple[Place, int]]:
        """Of the partitions whose leader answers."""
        for broker, address in self.brokers.items():
            led = [place for place, part in parts.items() if part.leader == broker]
            body = {"replica_id": -1, "isolation_level": 1, "topics": [*asked(led)]}
            told = self._asked("ListOffsets", body, address) if led else None
            for topic in [] if told is None else told.topics:
                for part in topic.partitions:
                    if not part.error_code:
                        yield Place(topic.name, part.partition_index), part.offset

    # -- groups

    def _groups(self) -> Iterator[Group]:
        """As their coordinators tell."""
        everything: dict[str, Any] = {"states_filter": [], "types_filter": []}
        for address in self.brokers.values():
            told = self._asked("ListGroups", everything, address)
            for listed in [] if told is None else told.groups:
                if listed.protocol_type in ("", "consumer", "share", "streams"):
                    yield self._group(listed, address)

    def _group(self, listed: Message, coordinator: str) -> Group:
        name, kind = listed.group_id, listed.group_type.lower()
        found = Group(printable(name), kind, listed.group_state)
        described = DESCRIBES.get(kind)
        if described is not None:
            api, body = described(name)
            told = self._asked(api, body, coordinator)
            for each in [] if told is None else told.groups:
                if not each.error_code:
                    members = tuple(map(MEMBERS[kind], each.members))
                    found = found._replace(state=each.group_state, members=members)
        if kind == "share":
            return found
        body = {"group_id": name, "topics": None, "require_stable": False}
        told = self._asked("OffsetFetch", body, coordinator)
        return found._replace(committed={} if told is None else dict(committed(told)))

    # -- the brokers that are asked

    def _asked(self, api: str, body: dict[str, Any], address: str) -> Message | None:
        """None: it doesn't answer, or refuses."""
        if address in self._silent:
            return None
        try:
            told = self._client.ask(api, body, address)
        except NO_ANSWER as error:
            self._silent.add(address)
            self._errors.append(f"{address} doesn't answer {api}: {error}.")
            return None
        code = getattr(told, "error_code", 0)
        if code:
            self._refused(f"{address}, asked for {api}", code)
            return None
        return told

    def _refused(self, what: str, code: int) -> None:
        if code not in PASSES:
            self._errors.append(f"{what}: {Error(code).name}.")


def asked(places: Iterable[Place]) -> Iterator[dict[str, Any]]:
    """The topics of a ListOffsets request."""
    numbers: dict[str, list[int]] = {}
    for topic, number in places:
        numbers.setdefault(topic, []).append(number)
    for topic, of_topic in numbers.items():
        latest = [
            {"partition_index": each, "current_leader_epoch": -1, "timestamp": LATEST}
            for each in of_topic
        ]
        yield {"name": topic, "partitions": latest}


def committed(told: Message) -> Iterator[tuple[Place, int]]:
    for topic in told.topics:
        for part in topic.partitions:
            if part.committed_offset >= 0 and not part.error_code:
                place = Place(printable(topic.name), part.partition_index)
                yield place, part.committed_offset


def classic_member(told: Message) -> Member:
    parts: list[Place] = []
    if told.member_assignment:
        try:
            share = decode_versioned(
                "ConsumerProtocolAssignment", told.member_assignment
            )
        except DecodeError:
            pass  # it's the members' business, and may be anything
        else:
            for topic in share.assigned_partitions:
                name = printable(topic.topic)
                parts += [Place(name, number) for number in topic.partitions]
    return member(told, parts)


def modern_member(told: Message) -> Member:
    parts: list[Place] = []
    for topic in told.assignment.topic_partitions:
        name = printable(topic.topic_name)
        parts += [Place(name, number) for number in topic.partitions]
    return member(told, parts)


def member(told: Message, parts: list[Place]) -> Member:
    return Member(
        printable(told.member_id),
        printable(told.client_id),
        printable(told.client_host).removeprefix("/"),
        tuple(sorted(parts)),
    )


def by_ids(api: str) -> Any:
    """What asks for one group."""
    key = "groups" if api == "DescribeGroups" else "group_ids"

    def described(name: str) -> tuple[str, dict[str, Any]]:
        return api, {key: [name], "include_authorized_operations": False}

    return described


DESCRIBES = {
    "classic": by_ids("DescribeGroups"),
    "consumer": by_ids("ConsumerGroupDescribe"),
    "share": by_ids("ShareGroupDescribe"),
}
MEMBERS = {
    "classic": classic_member,
    "consumer": modern_member,
    "share": modern_member,
}

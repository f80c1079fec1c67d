"""What the members of a classic group tell each other through the coordinator, which
only passes the bytes on.

When it joins, each member says what it reads and what it had
(ConsumerProtocolSubscription); the leader runs an assignor over all of these, and each
member gets its own part (ConsumerProtocolAssignment). The assignor may be a learner's
own function. Any member may be the leader; in Kafka it is the first one that joined. It
needs metadata of all the group's topics, because the others may read topics that it
doesn't read itself.

The partitions that a member had are in fields of its Subscription, and for the sticky
assignors in user data (KIP-54, KIP-429, KIP-792).
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from minikafka.clients.membership import Membership
from minikafka.clients.structs import TopicPartition
from minikafka.coordinators.assignors import (
    ASSIGNORS,
    Assignment,
    Member,
    NamedAssignor,
    Partition,
)
from minikafka.wire.errors import Error
from minikafka.wire.messages import decode_versioned, encode_versioned
from minikafka.wire.schema import Message, nested

SUBSCRIPTION_VERSION, ASSIGNMENT_VERSION = 3, 3


def chosen_assignors(strategy: Any) -> list[NamedAssignor]:
    """The assignors in partition_assignment_strategy, given by name or as functions,
    the preferred one first.
    """
    is_one = isinstance(strategy, NamedAssignor)
    if is_one or not isinstance(strategy, (list, tuple)):
        return [_assignor(strategy)]
    if not strategy:
        names = ", ".join(ASSIGNORS)
        why = f"partition_assignment_strategy is empty: give one of {names}"
        raise ValueError(why)
    return [_assignor(each) for each in strategy]


def _assignor(given: Any) -> NamedAssignor:
    if isinstance(given, NamedAssignor):
        return given
    if isinstance(given, str):
        if given not in ASSIGNORS:
            names = ", ".join(ASSIGNORS)
            why = (
                f"there is no assignor {given!r}: give one of {names},"
                " or your own function"
            )
            raise ValueError(why)
        return ASSIGNORS[given]
    if callable(given):
        own_name = getattr(given, "name", None) or getattr(given, "__name__", None)
        name = str(own_name or type(given).__name__)
        cooperative = bool(getattr(given, "cooperative", False))
        return NamedAssignor(name, given, cooperative)
    raise TypeError(
        f"{given!r} is no assignor: give a name, or a function assign(members,"
        " partitions)"
    )


def encode_subscription(
    assignor: NamedAssignor,
    topics: Sequence[str],
    owned: Iterable[TopicPartition],
    generation: int,
    had: tuple[Sequence[TopicPartition], int],
) -> bytes:
    """owned, generation: the partitions the member has now. had: its last assignment,
    and the generation of that.

    A learner's own function is told the last assignment in the same way as the sticky
    assignors.
    """
    body = {
        "topics": sorted(topics),
        "user_data": subscription_user_data(_kind(assignor), *had),
        "owned_partitions": nested(owned, "topic"),
        "generation_id": generation,
    }
    return encode_versioned("ConsumerProtocolSubscription", SUBSCRIPTION_VERSION, body)


def _kind(assignor: NamedAssignor) -> str:
    """The built-in assignor that encodes past assignments in the same way."""
    if assignor.name in ASSIGNORS:
        return assignor.name
    return "cooperative-sticky" if assignor.cooperative else "sticky"


def decode_members(
    assignor: NamedAssignor, members: Iterable[Message]
) -> dict[str, Member]:
    """The members in a JoinGroup's answer, as the assignor sees them."""
    found = {}
    for each in members:
        said = decode_versioned("ConsumerProtocolSubscription", each.metadata)
        owned = partitions_of(said.owned_partitions)
        found[each.member_id] = member_from_subscription(
            _kind(assignor),
            said.topics,
            said.user_data,
            owned,
            said.generation_id,
            each.group_instance_id,
        )
    return found


def subscription_user_data(
    name: str, owned: Iterable[Partition], generation: int
) -> bytes | None:
    """The user_data of a member's Subscription for the assignor of that name; None if
    it needs none.

    owned, generation: the member's last assignment and the generation it was made in;
    -1 if it never had one. sticky is eager: by the time its members join they have
    revoked everything, so what they had goes here (StickyAssignorUserData v1).
    cooperative-sticky has owned_partitions for that, and puts its generation here.
    """
    if name == "cooperative-sticky":
        return struct.pack(">i", generation)
    if name != "sticky" or generation < 0:
        return None
    topics = nested(owned, "topic")
    data = struct.pack(">i", len(topics))
    for topic in topics:
        text = topic["topic"].encode()
        numbers = topic["partitions"]
        data += struct.pack(f">h{len(text)}s", len(text), text)
        data += struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)
    return data + struct.pack(">i", generation)


def member_from_subscription(
    name: str,
    topics: Iterable[str],
    user_data: bytes | None,
    owned: Iterable[Partition] = (),
    generation: int = -1,
    instance_id: str | None = None,
) -> Member:
    """What the leader learns about a member from the fields of its Subscription, read
    as Java's assignor of that name reads them.

    owned, generation: owned_partitions and generation_id, which older versions of
    Subscription lack. User data that makes no sense counts as missing: the member is
    then like a new one.
    """
    if name == "sticky":
        owned, generation = read_sticky_user_data(user_data or b"")
    elif name == "cooperative-sticky" and generation < 0 and user_data:
        if len(user_data) == 4:
            (generation,) = struct.unpack(">i", user_data)
        else:  # librdkafka writes sticky's user data here too
            _, generation = read_sticky_user_data(user_data)
    return Member(tuple(topics), tuple(owned), generation, instance_id)


def read_sticky_user_data(data: bytes) -> tuple[tuple[Partition, ...], int]:
    """(owned partitions, generation) from StickyAssignorUserData. Version 0 has no
    generation: -1.
    """
    # kafka-python 3 puts the version in front; in Java's form that is 65,536 topics
    if data.startswith(b"\0\1"):
        data = data[2:]
    owned: list[Partition] = []
    try:
        (topics,) = struct.unpack_from(">i", data)
        at = 4
        for _ in range(topics):
            (length,) = struct.unpack_from(">h", data, at)
            text, count = struct.unpack_from(f">{length}si", data, at + 2)
            at += 2 + length + 4
            topic = text.decode()
            for number in struct.unpack_from(f">{count}i", data, at):
                owned.append((topic, number))
            at += 4 * count
    except (struct.error, UnicodeDecodeError):
        return (), -1
    generation = -1
    if len(data) >= at + 4:
        (generation,) = struct.unpack_from(">i", data, at)
    return tuple(owned), generation


def encode_assignment(partitions: Iterable[tuple[str, int]]) -> bytes:
    body = {"assigned_partitions": nested(partitions, "topic")}
    return encode_versioned("ConsumerProtocolAssignment", ASSIGNMENT_VERSION, body)


def decode_assignment(data: Any) -> list[TopicPartition]:
    """A member's assignment. To a member without one, a coordinator sends no bytes at
    all.
    """
    if not len(data):
        return []
    decoded = decode_versioned("ConsumerProtocolAssignment", data)
    return partitions_of(decoded.assigned_partitions)


def partitions_of(topics: Iterable[Message]) -> list[TopicPartition]:
    found = []
    for topic in topics:
        for number in topic.partitions:
            found.append(TopicPartition(topic.topic, number))
    return found


class Leader:
    """The leader's work in one generation. joined: the answer to JoinGroup, with all
    members' subscriptions.
    """

    def __init__(
        self, member: Membership, assignor: NamedAssignor, joined: Message
    ) -> None:
        self.assignor = assignor
        self._member = member
        self._metadata = member.client.metadata
        self._generation = joined.generation_id
        # KIP-814: for a leader that came back this is done already
        self._must_assign = not joined.skip_assignment
        self._members = decode_members(assignor, joined.members)
        topics: set[str] = set()
        for each in self._members.values():
            topics.update(each.topics)
        self._topics = sorted(topics)
        # how many partitions each topic had when they were assigned
        self._counted: dict[str, int] = {}

    def knows_the_topics(self) -> bool:
        """Whether metadata of all these topics was requested. The assignor leaves out
        those that don't exist.
        """
        missing = [topic for topic in self._topics if not self._metadata.want(topic)]
        errors = self._metadata.errors
        return all(errors.get(topic, Error.NONE) is not Error.NONE for topic in missing)

    def assign(self) -> Assignment:
        """Run the assignor. It may be a learner's function and raise anything."""
        self._counted = self._count()
        if not self._must_assign:
            return {}
        name = self.assignor.name
        partitions = {topic: count for topic, count in self._counted.items() if count}
        assignment = run(self.assignor, self._members, partitions)
        wrong = problems(self.assignor, self._members, partitions, assignment)
        for each in wrong:
            self._member.subscription.remarks.append(f"{name}: {each}")
        shown = {}
        for member, assigned in assignment.items():
            shown[member] = [list(each) for each in assigned]
        self._member.emit(
            "AssignorRan",
            generation=self._generation,
            assignor=name,
            assignment=shown,
            problems=wrong,
        )
        return assignment

    def is_outdated(self) -> bool:
        """Whether the number of partitions has changed since the assignment."""
        return self._count() != self._counted

    def _count(self) -> dict[str, int]:
        counted = {}
        for topic in self._topics:
            counted[topic] = len(self._metadata.partitions(topic) or ())
        return counted


def run(
    assignor: NamedAssignor, members: dict[str, Member], partitions: dict[str, int]
) -> Assignment:
    """The assignor's result. Errors: TypeError in plain words if it isn't an assignment
    at all.
    """
    result = assignor.assign(members, partitions)
    if not isinstance(result, Mapping):
        raise TypeError(
            f"the assignor {assignor.name} must return {{member id: [(topic,"
            f" partition), ...]}}, not {result!r}"
        )
    assignment: Assignment = {}
    for member, given in result.items():
        try:
            assignment[member] = [(topic, int(number)) for topic, number in given]
        except (TypeError, ValueError):
            why = (
                f"the assignor {assignor.name} must give {member} a list of (topic,"
                f" partition), not {given!r}"
            )
            raise TypeError(why) from None
    return assignment


def problems(
    assignor: NamedAssignor,
    members: Mapping[str, Member],
    partitions: Mapping[str, int],
    assignment: Mapping[str, Sequence[tuple[str, int]]],
) -> list[str]:
    """The faults of an assignment, as sentences. assignor: the one that made it.

    Kafka doesn't check these: a partition assigned to two members is read twice, one
    assigned to nobody isn't read. It is fine if a cooperative assignor keeps a
    partition back while its old owner still reads it.
    """
    found = []
    for member in assignment:
        if member not in members:
            found.append(f"{member} is no member of the group")
    owner: dict[tuple[str, int], str] = {}
    for member, assigned in assignment.items():
        for partition in assigned:
            topic, number = partition
            name = f"{topic}-{number}"
            if partition in owner:
                found.append(f"{name} goes to two: {owner[partition]} and {member}")
            owner[partition] = member
            if number not in range(partitions.get(topic, 0)):
                found.append(f"{name} does not exist, and goes to {member}")
            elif member in members and topic not in members[member].topics:
                found.append(f"{name} goes to {member}, which does not read {topic}")
    wanted: dict[str, None] = {}
    held: set[tuple[str, int]] = set()
    for each in members.values():
        wanted.update(dict.fromkeys(each.topics))
        if assignor.cooperative:
            held.update(each.owned)
    for topic in wanted:
        for number in range(partitions.get(topic, 0)):
            if (topic, number) not in owner and (topic, number) not in held:
                found.append(f"{topic}-{number} goes to nobody")
    return found

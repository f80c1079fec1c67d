"""What the members of a classic group tell each other through the coordinator, which
only carries the bytes.

On joining, each member says what it reads and what it had
(ConsumerProtocolSubscription); the leader runs an assignor over all of these, and each
member is told its share (ConsumerProtocolAssignment). The assignor may be a learner's
own function. Any member may be the leader; in Kafka it is the first one that joined. It
learns of all the group's topics, since the others may read some that it doesn't read
itself.

What a member had stands in fields of its Subscription, and for the sticky assignors in
user data (KIP-54, KIP-429, KIP-792).
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from minikafka.clients.membership import Membership

SUBSCRIPTION_VERSION, ASSIGNMENT_VERSION = 3, 3


def chosen_assignors(strategy: Any) -> list[NamedAssignor]:
    """The assignors that partition_assignment_strategy gives by name or as functions,
    the preferred one first.
    """
    several = isinstance(strategy, (list, tuple)) and not isinstance(
        strategy, NamedAssignor
    )
    found = [_assignor(each) for each in (strategy if several else [strategy])]
    if not found:
        raise ValueError(
            "partition_assignment_strategy is empty: give one of "
            + ", ".join(ASSIGNORS)
        )
    return found


def _assignor(given: Any) -> NamedAssignor:
    if isinstance(given, NamedAssignor):
        return given
    if isinstance(given, str):
        if given not in ASSIGNORS:
            why = (
                f"there is no assignor {given!r}: give one of {', '.join(ASSIGNORS)},"
                " or your own function"
            )
            raise ValueError(why)
        return ASSIGNORS[given]
    if callable(given):
        name = str(
            getattr(given, "name", None)
            or getattr(given, "__name__", None)
            or type(given).__name__
        )
        return NamedAssignor(name, given, bool(getattr(given, "cooperative", False)))
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
    """owned, generation: what the member has now. had: its last assignment, and of
    which generation that was.

    An own function learns of the last assignment as the sticky assignors do.
    """
    body = {
        "topics": sorted(topics),
        "user_data": subscription_user_data(_kind(assignor), *had),
        "owned_partitions": nested(owned, "topic"),
        "generation_id": generation,
    }
    return encode_versioned("ConsumerProtocolSubscription", SUBSCRIPTION_VERSION, body)


def _kind(assignor: NamedAssignor) -> str:
    """The built-in assignor that tells of past assignments in the same way."""
    if assignor.name in ASSIGNORS:
        return assignor.name
    return "cooperative-sticky" if assignor.cooperative else "sticky"


def decode_members(
    assignor: NamedAssignor, members: Iterable[Message]
) -> dict[str, Member]:
    """The members of a JoinGroup's answer, as the assignor sees them."""
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
    """The user_data of a member's Subscription for the assignor of that name; None: it
    needs none.

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
        text, numbers = topic["topic"].encode(), topic["partitions"]
        data += struct.pack(
            f">h{len(text)}si{len(numbers)}i", len(text), text, len(numbers), *numbers
        )
    return data + struct.pack(">i", generation)


def member_from_subscription(
    name: str,
    topics: Iterable[str],
    user_data: bytes | None,
    owned: Iterable[Partition] = (),
    generation: int = -1,
    instance_id: str | None = None,
) -> Member:
    """What the leader learns of a member, by the fields of its Subscription, as Java's
    assignor of that name does.

    owned, generation: owned_partitions and generation_id, which older versions of
    Subscription lack. User data that makes no sense is taken for none: the member then
    counts as new.
    """
    if name == "sticky":
        owned, generation = read_sticky_user_data(user_data or b"")
    elif name == "cooperative-sticky" and generation < 0 and user_data:
        # librdkafka writes sticky's user data here too
        is_short = len(user_data) == 4
        generation = (
            struct.unpack(">i", user_data)[0]
            if is_short
            else read_sticky_user_data(user_data)[1]
        )
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
            owned += [
                (text.decode(), number)
                for number in struct.unpack_from(f">{count}i", data, at)
            ]
            at += 4 * count
    except (struct.error, UnicodeDecodeError):
        return (), -1
    generation = struct.unpack_from(">i", data, at)[0] if len(data) >= at + 4 else -1
    return tuple(owned), generation


def encode_assignment(partitions: Iterable[tuple[str, int]]) -> bytes:
    body = {"assigned_partitions": nested(partitions, "topic")}
    return encode_versioned("ConsumerProtocolAssignment", ASSIGNMENT_VERSION, body)


def decode_assignment(data: Any) -> list[TopicPartition]:
    """A member's share. A coordinator sends no bytes at all to a member without one."""
    if not len(data):
        return []
    return partitions_of(
        decode_versioned("ConsumerProtocolAssignment", data).assigned_partitions
    )


def partitions_of(topics: Iterable[Message]) -> list[TopicPartition]:
    return [
        TopicPartition(each.topic, number)
        for each in topics
        for number in each.partitions
    ]


class Leader:
    """The leader's work in one generation. joined: the answer to JoinGroup, with what
    all members have said.
    """

    def __init__(
        self, member: "Membership", assignor: NamedAssignor, joined: Message
    ) -> None:
        self.assignor = assignor
        self._member = member
        self._metadata = member.consumer.metadata
        self._generation = joined.generation_id
        # KIP-814: a leader that came back finds it done
        self._must_assign = not joined.skip_assignment
        self._members = decode_members(assignor, joined.members)
        self._topics = sorted(
            {topic for each in self._members.values() for topic in each.topics}
        )
        self._counted: dict[str, int] = {}  # each topic's partitions at the assignment

    def knows_the_topics(self) -> bool:
        """Whether the cluster was asked for all of them. The assignor goes without
        those that don't exist.
        """
        missing = [topic for topic in self._topics if not self._metadata.want(topic)]
        return all(
            self._metadata.errors.get(topic, Error.NONE) is not Error.NONE
            for topic in missing
        )

    def assign(self) -> Assignment:
        """Run the assignor. It may be anyone's function and raise anything."""
        self._counted = self._count()
        if not self._must_assign:
            return {}
        partitions = {topic: count for topic, count in self._counted.items() if count}
        assignment = run(self.assignor, self._members, partitions)
        wrong = problems(self.assignor, self._members, partitions, assignment)
        self._member.consumer.remarks += [
            f"{self.assignor.name}: {each}" for each in wrong
        ]
        self._member.emit(
            "AssignorRan",
            generation=self._generation,
            assignor=self.assignor.name,
            assignment={
                member: [list(each) for each in share]
                for member, share in assignment.items()
            },
            problems=wrong,
        )
        return assignment

    def is_outdated(self) -> bool:
        """Whether there are other partitions now than at the assignment."""
        return self._count() != self._counted

    def _count(self) -> dict[str, int]:
        return {
            topic: len(self._metadata.partitions(topic) or ()) for topic in self._topics
        }


def run(
    assignor: NamedAssignor, members: dict[str, Member], partitions: dict[str, int]
) -> Assignment:
    """The assignor's result; TypeError in plain words if it is no assignment at all."""
    result = assignor.assign(members, partitions)
    if not isinstance(result, Mapping):
        raise TypeError(
            f"the assignor {assignor.name} must return {{member id: [(topic,"
            f" partition), ...]}}, not {result!r}"
        )
    assignment: Assignment = {}
    for member, share in result.items():
        try:
            assignment[member] = [(topic, int(number)) for topic, number in share]
        except (TypeError, ValueError):
            why = (
                f"the assignor {assignor.name} must give {member} a list of (topic,"
                f" partition), not {share!r}"
            )
            raise TypeError(why) from None
    return assignment


def problems(
    assignor: NamedAssignor,
    members: Mapping[str, Member],
    partitions: Mapping[str, int],
    assignment: Mapping[str, Sequence[tuple[str, int]]],
) -> list[str]:
    """What is wrong with an assignment, in sentences. assignor: whose it is.

    Kafka doesn't check: a partition that two members are given is read twice, one that
    goes to nobody is not read. A partition that a cooperative assignor keeps back while
    its old owner still reads it is in order.
    """
    found = [
        f"{member} is no member of the group"
        for member in assignment
        if member not in members
    ]
    owner: dict[tuple[str, int], str] = {}
    for member, share in assignment.items():
        for partition in share:
            name = "{}-{}".format(*partition)
            if partition in owner:
                found.append(f"{name} goes to two: {owner[partition]} and {member}")
            owner[partition] = member
            if partition[1] not in range(partitions.get(partition[0], 0)):
                found.append(f"{name} does not exist, and goes to {member}")
            elif member in members and partition[0] not in members[member].topics:
                found.append(
                    f"{name} goes to {member}, which does not read {partition[0]}"
                )
    wanted = dict.fromkeys(
        topic for member in members.values() for topic in member.topics
    )
    held = (
        {partition for member in members.values() for partition in member.owned}
        if assignor.cooperative
        else set()
    )
    for topic in wanted:
        for number in range(partitions.get(topic, 0)):
            if (topic, number) not in owner and (topic, number) not in held:
                found.append(f"{topic}-{number} goes to nobody")
    return found

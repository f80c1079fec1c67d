"""Around an assignor (coordinators/assignors.py): what is wrong with its result, and what a member tells the leader
about its past, besides the fields of its Subscription (KIP-54, KIP-429, KIP-792).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence

from minikafka.coordinators.assignors import Member, NamedAssignor, Partition


def problems(
    assignor: NamedAssignor,
    members: Mapping[str, Member],
    partitions: Mapping[str, int],
    assignment: Mapping[str, Sequence[tuple[str, int]]],
) -> list[str]:
    """What is wrong with an assignment, in sentences. assignor: whose it is.

    Kafka doesn't check: a partition that two members are given is read twice, one that goes to nobody is not read.
    A partition that a cooperative assignor keeps back while its old owner still reads it is in order.
    """
    found = [f"{member} is no member of the group" for member in assignment if member not in members]
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
                found.append(f"{name} goes to {member}, which does not read {partition[0]}")
    wanted = dict.fromkeys(topic for member in members.values() for topic in member.topics)
    held = {partition for member in members.values() for partition in member.owned} if assignor.cooperative else set()
    for topic in wanted:
        for number in range(partitions.get(topic, 0)):
            if (topic, number) not in owner and (topic, number) not in held:
                found.append(f"{topic}-{number} goes to nobody")
    return found


def subscription_user_data(name: str, owned: Iterable[Partition], generation: int) -> bytes | None:
    """The user_data of a member's Subscription for the assignor of that name; None: it needs none.

    owned, generation: the member's last assignment and the generation it was made in; -1 if it never had one.
    sticky is eager: by the time its members join they have revoked everything, so what they had goes here
    (StickyAssignorUserData v1). cooperative-sticky has owned_partitions for that, and puts its generation here.
    """
    if name == "cooperative-sticky":
        return struct.pack(">i", generation)
    if name != "sticky" or generation < 0:
        return None
    topics: dict[str, list[int]] = {}
    for topic, number in owned:
        topics.setdefault(topic, []).append(number)
    data = struct.pack(">i", len(topics))
    for topic, numbers in topics.items():
        text = topic.encode()
        data += struct.pack(f">h{len(text)}si{len(numbers)}i", len(text), text, len(numbers), *numbers)
    return data + struct.pack(">i", generation)


def member_from_subscription(
    name: str,
    topics: Iterable[str],
    user_data: bytes | None,
    owned: Iterable[Partition] = (),
    generation: int = -1,
    instance_id: str | None = None,
) -> Member:
    """What the leader learns of a member, by the fields of its Subscription, as Java's assignor of that name does.

    owned, generation: owned_partitions and generation_id, which older versions of Subscription lack. User data that
    makes no sense is taken for none: the member then counts as new.
    """
    if name == "sticky":
        owned, generation = read_sticky_user_data(user_data or b"")
    elif name == "cooperative-sticky" and generation < 0 and user_data:
        # librdkafka writes sticky's user data here too
        is_short = len(user_data) == 4
        generation = struct.unpack(">i", user_data)[0] if is_short else read_sticky_user_data(user_data)[1]
    return Member(tuple(topics), tuple(owned), generation, instance_id)


def read_sticky_user_data(data: bytes) -> tuple[tuple[Partition, ...], int]:
    """(owned partitions, generation) from StickyAssignorUserData. Version 0 has no generation: -1."""
    if data.startswith(b"\0\1"):  # kafka-python 3 puts the version in front; in Java's form that is 65,536 topics
        data = data[2:]
    owned: list[Partition] = []
    try:
        (topics,) = struct.unpack_from(">i", data)
        at = 4
        for _ in range(topics):
            (length,) = struct.unpack_from(">h", data, at)
            text, count = struct.unpack_from(f">{length}si", data, at + 2)
            at += 2 + length + 4
            owned += [(text.decode(), number) for number in struct.unpack_from(f">{count}i", data, at)]
            at += 4 * count
    except (struct.error, UnicodeDecodeError):
        return (), -1
    generation = struct.unpack_from(">i", data, at)[0] if len(data) >= at + 4 else -1
    return tuple(owned), generation

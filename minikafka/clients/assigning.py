"""What the members of a classic group tell each other through the coordinator, which only carries the bytes.

On joining, each member says what it reads and what it had (ConsumerProtocolSubscription); the leader runs an assignor
over all of these, and each member is told its share (ConsumerProtocolAssignment). The assignor may be a learner's own
function.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from minikafka.clients.assignors import member_from_subscription, subscription_user_data
from minikafka.clients.structs import TopicPartition
from minikafka.coordinators.assignors import ASSIGNORS, Member, NamedAssignor
from minikafka.wire.messages import decode_versioned, encode_versioned
from minikafka.wire.schema import Message
from minikafka.wire.topics import nested

SUBSCRIPTION_VERSION, ASSIGNMENT_VERSION = 3, 3
BUILT_IN = set(ASSIGNORS)


def chosen_assignors(strategy: Any) -> list[NamedAssignor]:
    """The assignors that partition_assignment_strategy gives by name or as functions, the preferred one first."""
    several = isinstance(strategy, (list, tuple)) and not isinstance(strategy, NamedAssignor)
    found = [_assignor(each) for each in (strategy if several else [strategy])]
    if not found:
        raise ValueError("partition_assignment_strategy is empty: give one of " + ", ".join(ASSIGNORS))
    return found


def _assignor(given: Any) -> NamedAssignor:
    if isinstance(given, NamedAssignor):
        return given
    if isinstance(given, str):
        if given not in ASSIGNORS:
            raise ValueError(
                f"there is no assignor {given!r}: give one of {', '.join(ASSIGNORS)}, or your own function"
            )
        return ASSIGNORS[given]
    if callable(given):
        name = str(getattr(given, "name", None) or getattr(given, "__name__", None) or type(given).__name__)
        return NamedAssignor(name, given, bool(getattr(given, "cooperative", False)))
    raise TypeError(f"{given!r} is no assignor: give a name, or a function assign(members, partitions)")


def cooperative(assignors: Sequence[NamedAssignor]) -> bool:
    """Whether members keep their partitions while they rebalance: all assignors must allow it (KIP-429)."""
    return all(each.cooperative for each in assignors)


def encode_subscription(
    assignor: NamedAssignor,
    topics: Sequence[str],
    owned: Iterable[TopicPartition],
    generation: int,
    had: tuple[Sequence[TopicPartition], int],
) -> bytes:
    """owned, generation: what the member has now. had: its last assignment, and of which generation that was.

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
    if assignor.name in BUILT_IN:
        return assignor.name
    return "cooperative-sticky" if assignor.cooperative else "sticky"


def decode_members(assignor: NamedAssignor, members: Iterable[Message]) -> dict[str, Member]:
    """The members of a JoinGroup's answer, as the assignor sees them."""
    found = {}
    for each in members:
        said = decode_versioned("ConsumerProtocolSubscription", each.metadata)
        user_data = None if said.user_data is None else bytes(said.user_data)
        found[each.member_id] = member_from_subscription(
            _kind(assignor),
            said.topics,
            user_data,
            partitions_of(said.owned_partitions),
            said.generation_id,
            each.group_instance_id,
        )
    return found


def encode_assignment(partitions: Iterable[tuple[str, int]]) -> bytes:
    body = {"assigned_partitions": nested(partitions, "topic")}
    return encode_versioned("ConsumerProtocolAssignment", ASSIGNMENT_VERSION, body)


def decode_assignment(data: Any) -> list[TopicPartition]:
    """A member's share. A coordinator sends no bytes at all to a member without one."""
    if not len(data):
        return []
    return partitions_of(decode_versioned("ConsumerProtocolAssignment", data).assigned_partitions)


def partitions_of(topics: Iterable[Message]) -> list[TopicPartition]:
    return [TopicPartition(each.topic, number) for each in topics for number in each.partitions]


def run(
    assignor: NamedAssignor, members: dict[str, Member], partitions: dict[str, int]
) -> dict[str, list[tuple[str, int]]]:
    """The assignor's result; TypeError in plain words if it is no assignment at all."""
    result = assignor.assign(members, partitions)
    if not isinstance(result, Mapping):
        raise TypeError(
            f"the assignor {assignor.name} must return {{member id: [(topic, partition), ...]}}, not {result!r}"
        )
    assignment: dict[str, list[tuple[str, int]]] = {}
    for member, share in result.items():
        try:
            assignment[member] = [(topic, int(number)) for topic, number in share]
        except (TypeError, ValueError):
            raise TypeError(
                f"the assignor {assignor.name} must give {member} a list of (topic, partition), not {share!r}"
            ) from None
    return assignment

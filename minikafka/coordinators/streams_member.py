"""A member of a streams group (KIP-1071) as the coordinator knows it, and its records.

A member is one thread of a Streams application. Threads that share a process, and so
its state directory, have the same process id. As for a consumer, two records make a
member: StreamsGroupMemberMetadata, its description of itself, and
StreamsGroupCurrentMemberAssignment, its current state. A third,
StreamsGroupTargetAssignmentMember, has the tasks that it will have in the end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, ClassVar, NamedTuple, Self

from minikafka.coordinators.group_rules import LEAVE_EPOCH, LEAVE_STATIC_EPOCH
from minikafka.coordinators.modern_member import ReconcilingMember
from minikafka.coordinators.runtime import CoordinatorRecord
from minikafka.coordinators.streams_tasks import (
    NOTHING_HELD,
    HeldTasks,
    Tasks,
    held_of_record,
    listed,
)
from minikafka.wire.schema import Message

PENDING = "_pending_revocation"

# The fields of the metadata record that describe a member, besides its endpoint and its
# tags.
SAID = (
    "instance_id",
    "rack_id",
    "client_id",
    "client_host",
    "rebalance_timeout_ms",
    "topology_epoch",
    "process_id",
)


class MemberState(IntEnum):
    """How far a member is on its way to the target; numbered as in the record."""

    STABLE = 1  # it has everything that it should have at its epoch
    UNREVOKED_TASKS = 2  # it must give tasks back, and hasn't said yet that it did
    UNRELEASED_TASKS = 3  # it waits for tasks that others haven't given back yet
    UNKNOWN = 127  # written by a newer Kafka


class Endpoint(NamedTuple):
    """Where a process answers queries about its state."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class StreamsMember(ReconcilingMember):
    """topology_epoch: of the topology that it has. tasks: those it may run. pending:
    those it was told to give back, which it holds until it says that it doesn't have
    them any more.
    """

    kind: ClassVar[str] = "StreamsGroup"

    topology_epoch: int = -1
    process_id: str = ""
    user_endpoint: Endpoint | None = None
    client_tags: Mapping[str, str] = field(default_factory=dict)
    previous_member_epoch: int = 0
    state: MemberState = MemberState.STABLE
    tasks: HeldTasks = NOTHING_HELD
    pending: HeldTasks = NOTHING_HELD

    def is_reconciled_to(self, epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.member_epoch == epoch

    @property
    def must_revoke(self) -> bool:
        """Whether the others wait for it to revoke tasks. A static member that is away
        has until the end of its session to come back.
        """
        is_away = self.member_epoch == LEAVE_STATIC_EPOCH
        return self.state is MemberState.UNREVOKED_TASKS and not is_away

    def with_metadata(self, value: Message) -> Self:
        """The member with the content of its StreamsGroupMemberMetadata."""
        said = {name: getattr(value, name) for name in SAID}
        return replace(
            self,
            user_endpoint=endpoint_of(value.user_endpoint),
            client_tags=tags_of(value.client_tags),
            **said,
        )

    def with_current_assignment(self, value: Message) -> Self:
        """The member with the content of its StreamsGroupCurrentMemberAssignment."""
        is_known = value.state in MemberState.__members__.values()
        return replace(
            self,
            member_epoch=value.member_epoch,
            previous_member_epoch=value.previous_member_epoch,
            state=MemberState(value.state) if is_known else MemberState.UNKNOWN,
            tasks=held_of_record(value),
            pending=held_of_record(value, PENDING),
        )

    def without_assignment(self) -> Self:
        """The member after a tombstone of its StreamsGroupCurrentMemberAssignment."""
        return replace(
            self,
            member_epoch=LEAVE_EPOCH,
            previous_member_epoch=LEAVE_EPOCH,
            tasks=NOTHING_HELD,
            pending=NOTHING_HELD,
        )

    def metadata_record(self, group_id: str) -> CoordinatorRecord:
        value = {name: getattr(self, name) for name in SAID}
        value["user_endpoint"] = listed_endpoint(self.user_endpoint)
        value["client_tags"] = listed_tags(self.client_tags)
        return self.record("MemberMetadata", group_id, value)

    def current_assignment_record(self, group_id: str) -> CoordinatorRecord:
        value = {
            "member_epoch": self.member_epoch,
            "previous_member_epoch": self.previous_member_epoch,
            "state": self.state,
            **self.tasks.listed_with_epochs(),
        }
        for kind, rows in self.pending.listed_with_epochs().items():
            value[f"{kind}{PENDING}"] = rows
        return self.record("CurrentMemberAssignment", group_id, value)


def target_record(group_id: str, member_id: str, tasks: Tasks) -> CoordinatorRecord:
    """The record of a member's target assignment."""
    key = {"group_id": group_id, "member_id": member_id}
    return CoordinatorRecord("StreamsGroupTargetAssignmentMember", key, listed(tasks))


def endpoint_of(said: Message | None) -> Endpoint | None:
    return None if said is None else Endpoint(said.host, said.port)


def tags_of(said: list[Message]) -> dict[str, str]:
    return {tag.key: tag.value for tag in said}


def listed_endpoint(endpoint: Endpoint | None) -> dict[str, Any] | None:
    """The endpoint as answers and records have it."""
    return None if endpoint is None else endpoint._asdict()


def listed_tags(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """The tags as answers and records list them."""
    return [{"key": key, "value": value} for key, value in sorted(tags.items())]

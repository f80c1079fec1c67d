"""Tasks: the units of work that a streams group divides among its members (KIP-1071).

A topology consists of subtopologies, which share no state. Each has as many tasks as
its widest input topic has partitions: task 2 of a subtopology reads partition 2 of all
its inputs. A member has three kinds of tasks: active ones, which process; standby ones,
which keep a copy of the state of a task that is active elsewhere; warm-up ones, which
build such a copy to become active (Kafka 4.4 has the field, and assigns none).
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message, nested

Task = tuple[str, int]  # subtopology, partition
TaskSet = frozenset[Task]
NO_TASKS: TaskSet = frozenset()
KINDS = ("active_tasks", "standby_tasks", "warmup_tasks")


@dataclass(frozen=True, slots=True)
class Tasks:
    """A member's tasks by kind, from its target or as it says that it owns them."""

    active: TaskSet = NO_TASKS
    standby: TaskSet = NO_TASKS
    warmup: TaskSet = NO_TASKS

    def has_any(self, others: "HeldTasks") -> bool:
        """Whether any of these is among the others as the same kind."""
        runs = self.active & others.active.keys()
        copies = self.standby & others.standby
        warms_up = self.warmup & others.warmup
        return bool(runs or copies or warms_up)


@dataclass(frozen=True, slots=True)
class HeldTasks:
    """Tasks that the coordinator gave a member. active: with the member epoch at which
    each was assigned, so that a commit by a former owner can be told from a late one by
    this owner.
    """

    active: Mapping[Task, int] = field(default_factory=dict)
    standby: TaskSet = NO_TASKS
    warmup: TaskSet = NO_TASKS

    def __bool__(self) -> bool:
        return bool(self.active or self.standby or self.warmup)

    def from_the_start(self) -> "HeldTasks":
        """The same tasks, as if they had been assigned at epoch 0."""
        return replace(self, active=dict.fromkeys(self.active, 0))

    def listed(self) -> dict[str, Any]:
        """The tasks as answers list them."""
        return _by_kind(self.active, self.standby, self.warmup)

    def listed_with_epochs(self) -> dict[str, Any]:
        """The tasks as records list them, with the epoch at which each active one was
        assigned.
        """
        listed = self.listed()
        for row in listed["active_tasks"]:
            subtopology = row["subtopology_id"]
            epochs = [self.active[subtopology, number] for number in row["partitions"]]
            row["assignment_epochs"] = epochs
        return listed


NOTHING_HELD = HeldTasks()


def listed(tasks: Tasks) -> dict[str, Any]:
    """A target, as answers and records list it."""
    return _by_kind(tasks.active, tasks.standby, tasks.warmup)


def _by_kind(*tasks: Collection[Task]) -> dict[str, Any]:
    rows = {}
    for kind, each in zip(KINDS, tasks, strict=True):
        rows[kind] = by_subtopology(each)
    return rows


def by_subtopology(tasks: Collection[Task]) -> list[dict[str, Any]]:
    """Tasks as answers and records list them, in order."""
    return nested(sorted(tasks), "subtopology_id")


def flat(rows: Iterable[Message]) -> TaskSet:
    """The tasks in such a list."""
    tasks = set()
    for row in rows:
        for number in row.partitions:
            tasks.add((row.subtopology_id, number))
    return frozenset(tasks)


class Reported(NamedTuple):
    """How far a member says that it has the states of tasks, and where their changelogs
    end: sums over the changelogs of a task.
    """

    offsets: Mapping[Task, int] = MappingProxyType({})
    end_offsets: Mapping[Task, int] = MappingProxyType({})

    def updated(self, body: Message) -> "Reported":
        """With what a heartbeat says; null has not changed. Errors: INVALID_REQUEST."""
        offsets, ends = body.task_offsets, body.task_end_offsets
        return Reported(
            self.offsets if offsets is None else _offsets(offsets),
            self.end_offsets if ends is None else _offsets(ends),
        )

    def listed(self) -> dict[str, Any]:
        """As StreamsGroupDescribe lists them."""
        return {
            "task_offsets": _listed_offsets(self.offsets),
            "task_end_offsets": _listed_offsets(self.end_offsets),
        }


def _offsets(rows: Iterable[Message]) -> dict[Task, int]:
    found: dict[Task, int] = {}
    for row in rows:
        task = row.subtopology_id, row.partition
        if task in found:
            why = (
                "Task offsets contain a duplicate entry for subtopology"
                f" {row.subtopology_id} and partition {row.partition}."
            )
            raise KafkaError(Error.INVALID_REQUEST, why)
        found[task] = row.offset
    return found


def _listed_offsets(offsets: Mapping[Task, int]) -> list[dict[str, Any]]:
    return [
        {"subtopology_id": subtopology, "partition": number, "offset": offset}
        for (subtopology, number), offset in sorted(offsets.items())
    ]


def said_to_own(body: Message) -> Tasks | None:
    """The tasks that a member says it has, from its heartbeat; None if it
    doesn't say.
    """
    if body.active_tasks is None:
        return None
    return of_record(body)


def of_record(value: Message) -> Tasks:
    """The target in a StreamsGroupTargetAssignmentMember."""
    return Tasks(
        active=flat(value.active_tasks),
        standby=flat(value.standby_tasks),
        warmup=flat(value.warmup_tasks),
    )


def held_of_record(value: Message, suffix: str = "") -> HeldTasks:
    """The tasks in a StreamsGroupCurrentMemberAssignment. Before Kafka 4.3 it had no
    assignment epochs: then the member's own epoch is used.
    """
    active = {}
    for row in getattr(value, f"active_tasks{suffix}"):
        epochs = row.assignment_epochs
        if epochs is None or len(epochs) != len(row.partitions):
            epochs = [value.member_epoch] * len(row.partitions)
        for number, epoch in zip(row.partitions, epochs, strict=True):
            active[row.subtopology_id, number] = epoch
    return HeldTasks(
        active=active,
        standby=flat(getattr(value, f"standby_tasks{suffix}")),
        warmup=flat(getattr(value, f"warmup_tasks{suffix}")),
    )

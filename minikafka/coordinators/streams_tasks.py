"""Tasks: what a streams group divides among its members (KIP-1071).

A topology consists of subtopologies, which share no state. Each has as many tasks as
its widest input topic has partitions: task 2 of a subtopology reads partition 2 of all
its inputs. A member has three kinds of tasks: active ones, which process; standby ones,
which keep a copy of the state of a task that is active elsewhere; warm-up ones, which
build such a copy to become active (Kafka 4.3 has the field, and assigns none).
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from minikafka.wire.schema import Message, nested

Task = tuple[str, int]  # subtopology, partition
TaskSet = frozenset[Task]
NO_TASKS: TaskSet = frozenset()
KINDS = ("active_tasks", "standby_tasks", "warmup_tasks")


@dataclass(frozen=True, slots=True)
class Tasks:
    """Tasks of one member by kind, as its target or as it says that it owns them."""

    active: TaskSet = NO_TASKS
    standby: TaskSet = NO_TASKS
    warmup: TaskSet = NO_TASKS

    def has_any(self, others: "HeldTasks") -> bool:
        """Whether some of these are among the others, each as the same kind."""
        return bool(
            self.active & others.active.keys()
            or self.standby & others.standby
            or self.warmup & others.warmup
        )


@dataclass(frozen=True, slots=True)
class HeldTasks:
    """Tasks that the coordinator gave a member. active: with the member epoch at which
    each was assigned, so that a commit of a former owner is told from a late one of
    this owner.
    """

    active: Mapping[Task, int] = field(default_factory=dict)
    standby: TaskSet = NO_TASKS
    warmup: TaskSet = NO_TASKS

    def __bool__(self) -> bool:
        return bool(self.active or self.standby or self.warmup)

    def listed(self) -> dict[str, Any]:
        """As answers list them."""
        tasks = (self.active, self.standby, self.warmup)
        return _by_kind(by_subtopology(each) for each in tasks)

    def listed_with_epochs(self) -> dict[str, Any]:
        """As records list them."""
        listed = self.listed()
        for row in listed["active_tasks"]:
            subtopology = row["subtopology_id"]
            epochs = [self.active[subtopology, number] for number in row["partitions"]]
            row["assignment_epochs"] = epochs
        return listed


NOTHING_HELD = HeldTasks()


def listed(tasks: Tasks) -> dict[str, Any]:
    """A target, as answers and records list it."""
    return _by_kind(
        by_subtopology(each) for each in (tasks.active, tasks.standby, tasks.warmup)
    )


def _by_kind(rows: Iterable[list[dict[str, Any]]]) -> dict[str, Any]:
    return dict(zip(KINDS, rows, strict=True))


def by_subtopology(tasks: Collection[Task]) -> list[dict[str, Any]]:
    """Tasks as answers and records list them, in order."""
    return nested(sorted(tasks), "subtopology_id")


def flat(rows: Iterable[Message]) -> TaskSet:
    """The other way round."""
    return frozenset(
        (row.subtopology_id, number) for row in rows for number in row.partitions
    )


def said_to_own(body: Message) -> Tasks | None:
    """What a heartbeat says that its member has; None if it doesn't say."""
    if body.active_tasks is None:
        return None
    return Tasks(*(flat(getattr(body, kind)) for kind in KINDS))


def of_record(value: Message) -> Tasks:
    """The target in a StreamsGroupTargetAssignmentMember."""
    return Tasks(*(flat(getattr(value, kind)) for kind in KINDS))


def held_of_record(value: Message, suffix: str = "") -> HeldTasks:
    """The tasks in a StreamsGroupCurrentMemberAssignment. Before Kafka 4.3 it had no
    assignment epochs: the member's own stands in.
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

"""One member's next step from the tasks that it has towards those that it is to have
(KIP-1071). The steps are those of a consumer (reconciliation.py); what differs is what
a task may not meet.

An active task waits until nobody else runs it, and until no copy of its state is left
in its own process, where the two would share a directory. A standby or a warm-up task
waits only for what its own process has of the same task. (Apache Kafka:
streams.CurrentAssignmentBuilder.)
"""

from collections.abc import Callable, Container, Iterable, Mapping
from typing import NamedTuple

from minikafka.coordinators.streams_member import MemberState, StreamsMember
from minikafka.coordinators.streams_tasks import (
    NOTHING_HELD,
    HeldTasks,
    Task,
    Tasks,
    TaskSet,
)
from minikafka.wire.errors import Error, KafkaError


class Goal(NamedTuple):
    """Where a member is to go. tasks: its target assignment, made for group epoch
    `epoch`. runs: the processes that have active tasks, this one included. copies:
    which process has which task as a standby or a warm-up task.
    """

    epoch: int
    tasks: Tasks
    runs: Mapping[Task, str]
    copies: Container[tuple[Task, str]]


class Difference(NamedTuple):
    """Of one kind of tasks: those it has and is to keep, those it has to give up, those
    it gets now, and whether there are more that it has to wait for.
    """

    kept: TaskSet
    surplus: TaskSet
    free: TaskSet
    waits: bool


def reconcile(member: StreamsMember, goal: Goal, owned: Tasks | None) -> StreamsMember:
    """The member after this heartbeat; the same if it can't move. owned: what it says
    it has; None if it didn't say. Errors: FENCED_MEMBER_EPOCH if its state is of a
    newer Kafka and it has tasks.
    """
    match member.state:
        case MemberState.STABLE:
            if member.member_epoch == goal.epoch:
                return member
            return _next_step(member, goal, owned, member.member_epoch)
        case MemberState.UNREVOKED_TASKS:
            if owned is None or owned.has_any(member.pending):
                return member
            return _next_step(member, goal, owned, member.member_epoch + 1)
        case MemberState.UNRELEASED_TASKS:
            return _next_step(member, goal, owned, member.member_epoch)
        case MemberState.UNKNOWN:
            if owned != Tasks():
                why = (
                    "The streams group member is in a unknown state. The member must"
                    " abandon all its tasks and rejoin."
                )
                raise KafkaError(Error.FENCED_MEMBER_EPOCH, why)
            return _next_step(member, goal, owned, goal.epoch)


def _next_step(
    member: StreamsMember, goal: Goal, owned: Tasks | None, epoch: int
) -> StreamsMember:
    """epoch: the member's, as long as it has something to give up."""
    process_id = member.process_id

    def is_run_or_copied(task: Task) -> bool:
        return task in goal.runs or (task, process_id) in goal.copies

    def is_in_this_process(task: Task) -> bool:
        is_run = goal.runs.get(task) == process_id
        return is_run or (task, process_id) in goal.copies

    has, target = member.tasks, goal.tasks
    active = _difference(has.active, target.active, is_run_or_copied)
    standby = _difference(has.standby, target.standby, is_in_this_process)
    warmup = _difference(has.warmup, target.warmup, is_in_this_process)
    kept_active = {task: has.active[task] for task in active.kept}
    surplus = HeldTasks(
        active={task: has.active[task] for task in active.surplus},
        standby=standby.surplus,
        warmup=warmup.surplus,
    )
    if surplus and (owned is None or owned.has_any(surplus)):
        kept = HeldTasks(kept_active, standby.kept, warmup.kept)
        return member.at_epoch(
            epoch, state=MemberState.UNREVOKED_TASKS, tasks=kept, pending=surplus
        )
    waits = active.waits or standby.waits or warmup.waits
    return member.at_epoch(
        goal.epoch,
        state=MemberState.UNRELEASED_TASKS if waits else MemberState.STABLE,
        tasks=HeldTasks(
            active=kept_active | dict.fromkeys(active.free, goal.epoch),
            standby=standby.kept | standby.free,
            warmup=warmup.kept | warmup.free,
        ),
        pending=NOTHING_HELD,
    )


def _difference(
    has: Iterable[Task], target: TaskSet, must_wait: Callable[[Task], bool]
) -> Difference:
    current = frozenset(has)
    wanted = target - current
    unreleased = frozenset(task for task in wanted if must_wait(task))
    return Difference(
        kept=current & target,
        surplus=current - target,
        free=wanted - unreleased,
        waits=bool(unreleased),
    )

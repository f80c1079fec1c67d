"""A member's next step from the tasks that it has to its target (KIP-1071). The steps
are those of a consumer (reconciliation.py); the difference is which copies of a task
exclude each other.

An active task waits until nobody else runs it, and until no other member of its own
process has a copy of its state, where the two would share a directory. A standby or a
warm-up task waits only for others of the same task in its own process. A task that
stays with its member and only becomes a copy, or a copy that becomes active, needn't be
given up first. (Apache Kafka: streams.CurrentAssignmentBuilder.)
"""

from collections.abc import Callable, Iterable, Mapping
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
    """A member's destination. tasks: its target assignment, made for group epoch
    `epoch`. runs: the process of each active task, including this member's. copies:
    how many members of a process have a task as a standby or a warm-up task.
    """

    epoch: int
    tasks: Tasks
    runs: Mapping[Task, str]
    copies: Mapping[tuple[Task, str], int]


class Difference(NamedTuple):
    """For one kind of tasks: those that the member keeps, those it has to give up,
    those it gets now, and whether there are more that it has to wait for.
    """

    kept: TaskSet
    surplus: TaskSet
    free: TaskSet
    waits: bool


def reconcile(member: StreamsMember, goal: Goal, owned: Tasks | None) -> StreamsMember:
    """The member after this heartbeat; unchanged if it can't take a step. owned: the
    tasks it says it has; None if it doesn't say. Errors: FENCED_MEMBER_EPOCH if its
    state was written by a newer Kafka and it has tasks.
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
    """epoch: stays the member's own as long as it has something to give up."""
    process_id = member.process_id
    has, target = member.tasks, goal.tasks

    def is_copied_by_others(task: Task) -> bool:
        own = (task in has.standby) + (task in has.warmup)
        return goal.copies.get((task, process_id), 0) > own

    def is_elsewhere(task: Task) -> bool:
        return task in goal.runs or is_copied_by_others(task)

    def is_in_this_process(task: Task) -> bool:
        is_run = goal.runs.get(task) == process_id and task not in has.active
        return is_run or (task, process_id) in goal.copies

    active = _difference(has.active, target.active, is_elsewhere)
    standby = _difference(has.standby, target.standby, is_in_this_process)
    warmup = _difference(has.warmup, target.warmup, is_in_this_process)
    # what it runs becomes a copy at once; a copy that is to run stays one until then
    demoted = standby.free & has.active.keys()
    promoted = has.standby & target.active
    standby = standby._replace(
        kept=standby.kept | demoted | promoted,
        surplus=standby.surplus - promoted,
        free=standby.free - demoted,
    )
    kept_active: dict[Task, int] = {}
    surplus_active: dict[Task, int] = {}
    for task, assigned_at in has.active.items():
        kind = kept_active if task in active.kept else surplus_active
        kind[task] = assigned_at
    surplus = HeldTasks(surplus_active, standby.surplus, warmup.surplus)
    if surplus and (owned is None or owned.has_any(surplus)):
        kept = HeldTasks(kept_active, standby.kept, warmup.kept)
        return member.at_epoch(
            epoch, state=MemberState.UNREVOKED_TASKS, tasks=kept, pending=surplus
        )
    state = MemberState.STABLE
    if active.waits or standby.waits or warmup.waits:
        state = MemberState.UNRELEASED_TASKS
    new = dict.fromkeys(active.free, goal.epoch)
    tasks = HeldTasks(
        active=kept_active | new,
        standby=(standby.kept | standby.free) - (promoted & active.free),
        warmup=warmup.kept | warmup.free,
    )
    return member.at_epoch(goal.epoch, state=state, tasks=tasks, pending=NOTHING_HELD)


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

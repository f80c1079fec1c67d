"""The assignor of streams groups (KIP-1071), `sticky`: which member runs which task,
and which members keep copies of its state.

Moving a task means copying its state, so a task stays where it is as long as that
member has room for it; otherwise it goes to a member with a standby copy, or to one
that says that it has the state on its disk, or else to the process with the least load.
Tasks that no member ever had are dealt out in order, so that neighbours of a
subtopology meet in one member. A standby task never shares a process with another copy
of the same state: both would be lost together.

The result is that of Java's StickyTaskAssignor. If two processes or two members have
the same load, Java's hash map decides there, and the order of ids here.
"""

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

from minikafka.coordinators.streams_tasks import NO_TASKS, Task, Tasks, TaskSet

BY_PARTITION = itemgetter(1, 0)


class MemberSpec(NamedTuple):
    """A member as the assignor sees it. active, standby: the tasks that it has.
    offsets: how far it says that the state on its disk goes, by task.
    """

    process_id: str
    active: TaskSet = NO_TASKS
    standby: TaskSet = NO_TASKS
    offsets: Mapping[Task, int] = MappingProxyType({})


class SubtopologySpec(NamedTuple):
    """A subtopology as the assignor sees it. is_stateful: its tasks have state, of
    which there can be copies.
    """

    tasks: int
    is_stateful: bool


@dataclass(slots=True)
class _Process:
    """A process while it is given tasks. counts: how many each of its members has.
    total: for all of them. tasks: those of which any of its members has a copy.
    lightest_first: a heap of its members; a member's count there may be out of date,
    and then too low.
    """

    counts: dict[str, int] = field(default_factory=dict)
    total: int = 0
    tasks: set[Task] = field(default_factory=set)
    lightest_first: list[tuple[int, int, str]] = field(default_factory=list)

    @property
    def load(self) -> float:
        return self.total / len(self.counts)

    def least_loaded(self) -> str:
        """The member with the fewest tasks; among equals the one that came first."""
        queue = self.lightest_first
        while True:
            count, order, member_id = queue[0]
            if self.counts[member_id] == count:
                return member_id
            heapq.heapreplace(queue, (self.counts[member_id], order, member_id))


class _InQueue(NamedTuple):
    """A process in a heap: the one with the least load comes first, among equals the
    one that was added first.
    """

    load: float
    order: int
    process: _Process

    def now(self) -> "_InQueue":
        """The same process with its current load."""
        return _InQueue(self.process.load, self.order, self.process)


class _Quota:
    """How many tasks a member may have if all are to have as equally many as possible:
    once a member has reached its quota, the others share the rest.
    """

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks = tasks
        self._members = members
        self.each = self._rounded_up()

    def _rounded_up(self) -> int:
        if not self._members:
            return 0
        return -(-self._tasks // self._members)

    def counted(self, count: int) -> None:
        """A member has `count` tasks now."""
        if count == self.each:
            self._members -= 1
            self._tasks -= count
            self.each = self._rounded_up()


def assign_sticky(
    members: Mapping[str, MemberSpec],
    topology: Mapping[str, SubtopologySpec],
    standby_replicas: int,
) -> dict[str, Tasks]:
    """The new target of every member."""
    assignment = _Assignment(members, topology, standby_replicas)
    if members:
        assignment.assign_active()
        assignment.assign_standby()
    return assignment.result()


class _Assignment:
    """One run of the assignor."""

    def __init__(
        self,
        members: Mapping[str, MemberSpec],
        topology: Mapping[str, SubtopologySpec],
        standby_replicas: int,
    ) -> None:
        self._replicas = standby_replicas
        self._all: list[Task] = []
        self._stateful: list[Task] = []
        for name, subtopology in topology.items():
            tasks = [(name, number) for number in range(subtopology.tasks)]
            self._all += tasks
            if subtopology.is_stateful:
                self._stateful += tasks
        standby = len(self._stateful) * standby_replicas
        self._active_quota = _Quota(len(self._all), len(members))
        self._quota = _Quota(len(self._all) + standby, len(members))
        self._processes: dict[str, _Process] = {}
        self._process_of: dict[str, _Process] = {}
        self._was_active: dict[Task, str] = {}
        # the members that have a standby task, then those whose disk has its state; the
        # most state comes first
        self._have_state: dict[Task, list[str]] = {}
        self._active: dict[str, set[Task]] = {}
        self._standby: dict[str, set[Task]] = {}
        for member_id in sorted(members):
            self._add(member_id, members[member_id])
        for task, member_ids in self._have_state.items():
            member_ids.sort(key=lambda each: _state_of(task, members[each]))

    def _add(self, member_id: str, spec: MemberSpec) -> None:
        process = self._processes.setdefault(spec.process_id, _Process())
        process.lightest_first.append((0, len(process.counts), member_id))
        process.counts[member_id] = 0
        self._process_of[member_id] = process
        self._active[member_id] = set()
        self._standby[member_id] = set()
        for task in spec.active:
            self._was_active[task] = member_id
        for task in spec.standby | spec.offsets.keys():
            self._have_state.setdefault(task, []).append(member_id)

    def result(self) -> dict[str, Tasks]:
        found = {}
        for member_id, active in self._active.items():
            standby = frozenset(self._standby[member_id])
            found[member_id] = Tasks(frozenset(active), standby)
        return found

    def assign_active(self) -> None:
        """Give each active task to the member that had it, else to one with a copy of
        its state, else to the one with the least load.
        """
        left = []
        for task in sorted(self._all, key=BY_PARTITION):
            member_id = self._was_active.get(task)
            if member_id is None or not self._has_room(member_id):
                left.append(task)
            else:
                self._give_active(member_id, task)
        never_had = []
        for task in left:
            member_id = self._least_loaded(self._have_state.get(task, ()))
            if member_id is None or not self._has_room(member_id):
                never_had.append(task)
            else:
                self._give_active(member_id, task)
        queue = self._by_load()
        for task in sorted(never_had):
            first = queue[0]
            self._give_active(first.process.least_loaded(), task)
            heapq.heapreplace(queue, first.now())

    def _has_room(self, member_id: str) -> bool:
        """Whether a member has room for another active task."""
        return self._count(member_id) < self._active_quota.each

    def _give_active(self, member_id: str, task: Task) -> None:
        self._active[member_id].add(task)
        count = self._give(member_id, task)
        self._active_quota.counted(count)
        self._quota.counted(count)

    def _give_standby(self, member_id: str, task: Task) -> None:
        self._standby[member_id].add(task)
        self._quota.counted(self._give(member_id, task))

    def _give(self, member_id: str, task: Task) -> int:
        process = self._process_of[member_id]
        process.tasks.add(task)
        process.total += 1
        process.counts[member_id] += 1
        return process.counts[member_id]

    def _count(self, member_id: str) -> int:
        return self._process_of[member_id].counts[member_id]

    def _by_load(self) -> list[_InQueue]:
        """All processes, as a heap."""
        queue = []
        for order, process in enumerate(self._processes.values()):
            queue.append(_InQueue(process.load, order, process))
        heapq.heapify(queue)
        return queue

    def _least_loaded(
        self, member_ids: Iterable[str], task: Task | None = None
    ) -> str | None:
        """The member with the least load, in a process without the task. As in Java, a
        member replaces the one before only if it is less loaded itself and its process
        is too.
        """
        found: str | None = None
        for member_id in member_ids:
            process = self._process_of[member_id]
            if task in process.tasks:
                continue
            if found is None or self._is_less_loaded(member_id, found):
                found = member_id
        return found

    def _is_less_loaded(self, member_id: str, other: str) -> bool:
        """Whether both a member and its process are."""
        process, of_other = self._process_of[member_id], self._process_of[other]
        return process.load < of_other.load and (
            process.counts[member_id] < of_other.counts[other]
        )

    def assign_standby(self) -> None:
        """Give standby tasks to members that have the state, else to the processes with
        the least load.
        """
        missing: dict[Task, int] = {}  # copies that no member has
        for task in sorted(self._stateful, key=BY_PARTITION, reverse=True):
            for given in range(self._replicas):
                member_id = self._had_it(task)
                if member_id is None:
                    missing[task] = self._replicas - given
                    break
                self._give_standby(member_id, task)
        queue = self._by_load()
        for task in sorted(missing, reverse=True):
            for _ in range(missing[task]):
                if not self._give_to_least_loaded(queue, task):
                    break  # there are fewer processes than copies to make

    def _had_it(self, task: Task) -> str | None:
        """A member that has the state of a task, and has room for it."""
        was_active = self._was_active.get(task)
        if was_active is not None and self._may_copy(was_active, task):
            return was_active
        found = self._least_loaded(self._have_state.get(task, ()), task)
        if found is not None and self._count(found) < self._quota.each:
            return found
        return None

    def _may_copy(self, member_id: str, task: Task) -> bool:
        has_room = self._count(member_id) < self._quota.each
        return has_room and task not in self._process_of[member_id].tasks

    def _give_to_least_loaded(self, queue: list[_InQueue], task: Task) -> bool:
        """Give a task to the process with the least load that has no copy. Returns
        whether there was one.
        """
        taken_out = []
        was_given = False
        while queue and not was_given:
            first = heapq.heappop(queue)
            if task not in first.process.tasks:
                was_given = True
                self._give_standby(first.process.least_loaded(), task)
                first = first.now()
            taken_out.append(first)
        for entry in taken_out:
            heapq.heappush(queue, entry)
        return was_given


def _state_of(task: Task, spec: MemberSpec) -> tuple[bool, int]:
    """Less for a member with a standby task, and for one that has more of its state."""
    return task not in spec.standby, -spec.offsets.get(task, 0)

"""A task that joins orders with a table of customers, killed at any of its calls or
moved to another process, for the check of lesson 21.

There is no cluster: a task hands out its partition from the committed offsets on, and
what is sent counts from its commit on. Two processes take turns; each keeps what the
program's global variables hold, until it is killed.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from minikafka.course.judging.guard import plain
from minikafka.course.judging.killed_programs import processes

CALLS = ("send", "commit")
OUTPUTS = ("joined", "changelog")
PROCESSES = ("first", "second")


class Record(NamedTuple):
    """One of customers (value: a city, or None) or of orders (value: cents)."""

    topic: str
    partition: int
    key: str
    value: Any


class End(NamedTuple):
    """How a life ends: before or after its n-th call of a name. moved: the process goes
    on, and may get the task again.
    """

    when: str
    name: str
    nth: int
    moved: bool = False


class Life(NamedTuple):
    """These records come, and a process runs its tasks with them. end: of the first
    task that reaches it; None: it works all off.
    """

    records: tuple[Record, ...]
    process: str = PROCESSES[0]
    end: End | None = None


class Over(BaseException):
    """The life has ended: what the program does afterwards has no effect."""


class Misused(Exception):
    """A call that no task has; its text says which it has."""


class Partition:
    """The state that outlives tasks: records that came, the committed offset, records
    that were sent.
    """

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.committed = 0
        self.sent: dict[str, list[tuple[Any, Any]]] = {name: [] for name in OUTPUTS}


class Task:
    """One life of a task, as the program gets it."""

    def __init__(self, partition: Partition, end: End | None) -> None:
        self._partition, self._end = partition, end
        self._position = partition.committed
        self._pending: list[tuple[str, Any, Any]] = []
        self._count: Counter[str] = Counter()
        self._asked = self.over = False

    def __iter__(self) -> Iterator[SimpleNamespace]:
        return self

    def __next__(self) -> SimpleNamespace:
        self._alive()
        if self._position == len(self._partition.records):
            raise StopIteration
        record = self._partition.records[self._position]
        self._position += 1
        return SimpleNamespace(topic=record.topic, key=record.key, value=record.value)

    def changelog(self) -> list[SimpleNamespace]:
        """The records in the changelog, oldest first."""
        self._alive()
        if self._asked:
            raise Misused("task.changelog() may be asked once in a life")
        self._asked = True
        held = self._partition.sent["changelog"]
        return [SimpleNamespace(key=key, value=value) for key, value in held]

    def send(self, topic: str, key: Any, value: Any) -> None:
        """Sends a record; it counts from the next commit on."""
        if topic not in OUTPUTS:
            raise Misused(f'send({topic!r}, ...): send to "joined" or "changelog"')
        self._around("send", lambda: self._pending.append((topic, key, value)))

    def commit(self) -> None:
        """From here on it counts, together with the offsets."""
        self._around("commit", self._commits)

    def _commits(self) -> None:
        for topic, key, value in self._pending:
            self._partition.sent[topic].append((key, plain(value)))
        self._pending.clear()
        self._partition.committed = self._position

    def _alive(self) -> None:
        if self.over:
            raise Over

    def _around(self, name: str, effect: Callable[[], None]) -> None:
        self._alive()
        self._count[name] += 1
        self._ends_here("before", name)
        effect()
        self._ends_here("after", name)

    def _ends_here(self, when: str, name: str) -> None:
        if self._end and self._end[:3] == (when, name, self._count[name]):
            self.over = True
            raise Over


def joined(answer: Any, lives: Sequence[Life]) -> dict[int, Partition]:
    """The partitions after the learner's program has had these lives, and one more that
    processes everything.
    """
    born = processes(answer.__wrapped__, answer.guard)
    running = {name: born() for name in PROCESSES}
    partitions: dict[int, Partition] = {}
    for life in (*lives, Life((), lives[-1].process)):
        for record in life.records:
            found = partitions.setdefault(record.partition, Partition())
            found.records.append(record)
        for _, partition in sorted(partitions.items()):
            task = Task(partition, life.end)
            try:
                running[life.process](task)
            except Over:
                pass
            if task.over:
                if life.end and not life.end.moved:
                    running[life.process] = born()
                break
    return partitions


def should_be(records: Sequence[Record]) -> list[tuple[str, Any]]:
    """The right result of joining one partition's records."""
    cities: dict[str, str] = {}
    found: list[tuple[str, Any]] = []
    for topic, _, key, value in records:
        if topic == "orders":
            if key in cities:
                found.append((key, [value, cities[key]]))
        elif value is None:
            cities.pop(key, None)
        else:
            cities[key] = value
    return found

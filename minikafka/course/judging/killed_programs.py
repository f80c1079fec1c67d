"""A program that is killed again and again: what it has done in the end, for the checks
of delivery.

    found = run(pay, ["o-0", "o-1"], [Moment("after", "add", 1)])
    found.twice, found.never, found.committed

A life ends before or after an effect or a commit, or by an effect that fails; then the
program is started again, with a memory as fresh as a new process has. To be killed just
after a call and just before the next one is the same.
"""

import copy
import functools
import types
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from minikafka import Cluster
from minikafka.course.judging.guard import Guard

FAILS = {"in": 1, "from": 4}  # how many adds, one after the other
QUIET_SECONDS, MOST_SECONDS = 2, 20
EFFECTS = {"add": "add", "commit": "commit", "commit_async": "commit"}
CONSEQUENCES = ("EffectWritten", "OffsetCommitted", "RecordsPolled")
CONTAINERS = (list, dict, set, deque, types.SimpleNamespace)
MEMBER = {
    "group_id": "billing",
    "client_id": "billing",
    "group_instance_id": "billing",  # a static member has its partition back at once
    "auto_offset_reset": "earliest",
    "enable_auto_commit": False,
    "heartbeat_interval_ms": 10_000,
}


class Moment(NamedTuple):
    """A moment in one life of a program: "before" or "after" its n-th call of this
    name, counted from 1.

    "in": an add that fails: it raises, and writes nothing. "from": this add and the next
    ones of this life fail, four in all. name "call" counts all blocking calls.
    """

    when: str
    name: str
    nth: int

    def __str__(self) -> str:
        if self.when == "in":
            return f"add {self.nth} fails"
        if self.when == "from":
            return f"adds {self.nth} to {self.nth + FAILS['from'] - 1} fail"
        return f"killed {self.when} {self.name} {self.nth}"


class PaymentsDown(Exception):
    """Raised by an add that fails."""


def around_each_effect(count: int) -> list[Moment]:
    """Before and after each of this many adds, and of as many commits."""
    moments = []
    for name in ("add", "commit"):
        for nth in range(1, count + 1):
            moments += [Moment("before", name, nth), Moment("after", name, nth)]
    return moments


def run(
    program: Callable[..., Any],
    orders: Sequence[str],
    moments: Iterable[Moment] = (),
    topic: str = "orders",
    guard: Guard | None = None,
) -> "Outcome":
    """The program pays the orders on a cluster; each moment ends a life, and it is
    started again.

    moments: one a life; one that is never reached ends nothing. guard: the program is a
    learner's.
    """
    configs = {"group.initial.rebalance.delay.ms": 0, "offsets.topic.num.partitions": 1}
    cluster = Cluster(seed=4, configs=configs)
    cluster.create_topic(topic, partitions=1)
    shop = cluster.producer(client_id="shop", enable_idempotence=False)
    for order in orders:
        shop.send(topic, key=order, value=value_of(order))
    shop.flush()
    consumer = cluster.consumer(topic, **MEMBER)
    payments = cluster.table("payments")
    process = as_a_process(program, guard)
    life = Life()

    def watched(consumer: Any, payments: Any) -> Any:
        return process(WatchedConsumer(consumer, life), WatchedTable(payments, life))

    watched.__name__ = program.__name__
    life.program = running = cluster.start(watched, consumer, payments)
    lives: list[list[str]] = []
    for moment in (*moments, None):
        life.begins(moment)
        try:
            until_quiet(cluster, running, orders)
        except (Exception, SystemExit):
            if not life.failed:
                raise
        lives.append(list(running.calls))
        # a program that ends because an add failed may do so without an error
        gave_up = life.failed and running.state == "ended"
        if gave_up or running.state in ("crashed", "failed"):
            cluster.restart(running)
    return Outcome(cluster, orders, running, lives, life.asked)


def value_of(order: str) -> str:
    """Each order has a value of its own."""
    return f"{20 + int(order[2:])} euros"


def until_quiet(cluster: Cluster, running: Any, orders: Sequence[str]) -> None:
    """Until the program has ended, or nothing of consequence happens any more."""
    seen = 0
    for _ in range(MOST_SECONDS // QUIET_SECONDS):
        cluster.run(seconds=QUIET_SECONDS)
        if not running.alive:
            return
        before, seen = seen, sum(event.kind in CONSEQUENCES for event in cluster.trace)
        if written(cluster.trace) != set(orders):
            continue
        if seen == before or committed(cluster.trace) == len(orders):
            return


def written(trace: Any) -> set[str]:
    """The orders that have a row."""
    effects = [event for event in trace if event.kind == "EffectWritten"]
    return {event.detail["key"] for event in effects}


def committed(trace: Any) -> int | None:
    """The offset that was committed last."""
    for event in reversed(trace):
        if event.kind == "OffsetCommitted":
            return int(event.detail["offset"])
    return None


class Life:
    """The calls of the program since its life began, and the moment that ends it.
    failed: whether a call did. asked: the requests to a client, in all lives.
    """

    program: Any

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def begins(self, moment: Moment | None) -> None:
        self.moment = moment
        self.count: Counter[str] = Counter()
        self.failed = False
        if moment is not None and moment.name == "call":
            self.program.crash_at_call = moment.nth

    def before(self, name: str) -> None:
        """It enters a call: kills it there, or lets the call fail."""
        self.count[name] += 1
        if self.moment is None:
            return
        when, what, nth = self.moment
        if (when, what, nth) == ("before", name, self.count[name]):
            self.ends_at_its_next_call()
        elif what == name and 0 <= self.count[name] - nth < FAILS.get(when, 0):
            self.failed = True
            raise PaymentsDown("payments is down for a moment, and nothing was written")

    def after(self, name: str) -> None:
        if self.moment == ("after", name, self.count[name]):
            self.ends_at_its_next_call()

    def ends_at_its_next_call(self) -> None:
        self.program.crash_at_call = len(self.program.calls) + 1


class Watched:
    """A client that tells the life of its calls that have an effect."""

    def __init__(self, client: Any, life: Life) -> None:
        self._client, self._life = client, life

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if name not in EFFECTS:
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            self._life.before(EFFECTS[name])
            result = found(*args, **kwargs)
            self._life.after(EFFECTS[name])
            return result

        return call


class WatchedConsumer(Watched):
    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return next(self._client)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        self._client.__exit__(*error)


class WatchedTable(Watched):
    def __iter__(self) -> Any:
        for key in self._client:
            self._life.asked.append(key)
            yield key

    def __contains__(self, key: Any) -> bool:
        self._life.asked.append(key)
        return key in self._client

    def __len__(self) -> int:
        return len(self._client)


class Outcome:
    """The result of a run. lives: the calls of each life by name. written: (order,
    value), in order of writing. asked: the requests to the table.
    """

    def __init__(
        self,
        cluster: Cluster,
        orders: Sequence[str],
        running: Any,
        lives: list[list[str]],
        asked: list[Any],
    ) -> None:
        self.asked = asked
        self.orders = list(dict.fromkeys(orders))
        self.end = len(orders)
        self.ended = running.state == "ended"
        self.lives = lives
        self.trace, self.seed = cluster.trace, cluster.seed
        effects = [
            event.detail for event in self.trace if event.kind == "EffectWritten"
        ]
        self.written = [effect["key"] for effect in effects]
        self.values = {effect["key"]: effect["value"] for effect in effects}
        self.committed = committed(self.trace)
        cluster.close()

    @property
    def never(self) -> list[str]:
        return [order for order in self.orders if order not in self.written]

    @property
    def twice(self) -> list[str]:
        return [order for order, times in Counter(self.written).items() if times > 1]

    def picture(self) -> Any:
        from minikafka.theatre import picture

        return picture("commit", self.trace, seed=self.seed, table="payments")


def as_a_process(
    program: Callable[..., Any], guard: Guard | None
) -> Callable[..., Any]:
    """The program with a memory of its own: what it and its helpers keep outside their
    functions is as at first in every new life.
    """
    born = processes(program, guard)

    @functools.wraps(program)
    def process(*clients: Any) -> Any:
        return born()(*clients)

    return process


def processes(
    program: Callable[..., Any], guard: Guard | None
) -> Callable[[], Callable[..., Any]]:
    """Makes processes of this program: in each its memory is as at first, and stays
    from call to call.
    """
    if not isinstance(program, types.FunctionType):
        return lambda: guard.program(program) if guard else program
    functions, named, outside = _reached(program)
    first = _copied(([_Kept.of(each) for each in functions], outside))

    def born() -> Callable[..., Any]:
        kept, values = _copied(first)
        memory = {**program.__globals__, **values}
        anew = [
            each.again(function, memory)
            for each, function in zip(kept, functions, strict=True)
        ]
        for name, function in named.items():
            memory[name] = anew[functions.index(function)]
        return guard.program(anew[0]) if guard else anew[0]

    return born


class _Kept(NamedTuple):
    """The state that a function keeps from call to call."""

    defaults: tuple[Any, ...] | None
    by_keyword: dict[str, Any] | None
    closed_over: list[Any] | None
    attributes: dict[str, Any]

    @classmethod
    def of(cls, function: types.FunctionType) -> "_Kept":
        closed_over = None
        if function.__closure__ is not None:
            closed_over = [cell.cell_contents for cell in function.__closure__]
        attributes = vars(function)
        return cls(
            function.__defaults__, function.__kwdefaults__, closed_over, attributes
        )

    def again(
        self, function: types.FunctionType, memory: dict[str, Any]
    ) -> types.FunctionType:
        """The function with these things, and with that memory for its global names."""
        closure = None
        if self.closed_over is not None:
            closure = tuple(map(types.CellType, self.closed_over))
        made = types.FunctionType(
            function.__code__, memory, function.__name__, self.defaults, closure
        )
        made.__kwdefaults__ = self.by_keyword
        vars(made).update(self.attributes)
        return made


def _reached(
    program: types.FunctionType,
) -> tuple[list[types.FunctionType], dict[str, types.FunctionType], dict[str, Any]]:
    """The program and the functions that it may call; these by name; and what they name
    that holds something.
    """
    functions, named, outside = [program], {}, {}
    for function in functions:  # grows meanwhile
        for name in names_in(function.__code__):
            found = program.__globals__.get(name)
            if isinstance(found, types.FunctionType):
                if found.__globals__ is not program.__globals__:
                    continue
                named[name] = found
                if found not in functions:
                    functions.append(found)
            elif isinstance(found, CONTAINERS) or _is_of(program, found):
                outside[name] = found
    return functions, named, outside


def _is_of(program: types.FunctionType, value: Any) -> bool:
    """Is it an object of the learner's own class?"""
    return type(value).__module__ == program.__module__


def names_in(code: types.CodeType) -> set[str]:
    """The names that code uses; those of functions within it, too."""
    inside = [each for each in code.co_consts if isinstance(each, types.CodeType)]
    return set(code.co_names).union(*map(names_in, inside))


def _copied(kept: Any) -> Any:
    """A copy of all that can be copied, in which what was one thing stays one."""
    try:
        return copy.deepcopy(kept)
    except Exception:  # something of the learner's that can't be: it stays what it is
        return kept


def ended_by(moments: Sequence[Moment], lives: Sequence[Sequence[str]]) -> list[str]:
    """How each life ended, in words, and the calls before it."""
    lines = []
    for number, moment in enumerate(moments[: len(lives) - 1]):
        calls = lives[number]
        before = calls if moment.when in FAILS else calls[:-1]
        shown = " ".join(before[-4:])
        end = f"killed before {calls[-1]}" if moment.name == "call" else moment
        earlier = "... " if len(before) > 4 else ""
        line = f"life {number + 1}: {earlier}{shown} | {end}"
        lines.append(line.replace(":  |", ": |"))
    return lines

"""A stand-in for Spark around a StatefulProcessor, for checks: micro-batches, state,
event-time timers, a watermark.

`run(Processor, batches, delay_ms)` does what `transformWithStateInPandas(Processor(),
..., timeMode="EventTime")` does, in milliseconds and without a JVM.
tests/spark/test_state.py compares the two on the same rows.
"""

import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minikafka.course.judging.checks import WrongKind, short
from minikafka.course.judging.memory import Memory

ROWS_IN_A_FRAME = 2

Key = tuple[Any, ...]
Row = tuple[Any, ...]


class Timer(NamedTuple):
    """When it goes off, by the watermark, and for which key."""

    expiry_ms: int
    key: Key


def _no_values() -> dict[str, dict[Key, Any]]:
    """State variables begin empty."""
    return defaultdict(dict)


@dataclass
class Store:
    """What survives a micro-batch. values: state variable -> key -> its value."""

    values: dict[str, dict[Key, Any]] = field(default_factory=_no_values)
    timers: set[Timer] = field(default_factory=set)

    def left(self) -> dict[str, dict[Key, Any]]:
        """The state variables that still hold something."""
        left = {}
        for name, by_key in self.values.items():
            if by_key:
                left[name] = by_key
        return left

    def reached(self, watermark_ms: int) -> list[Timer]:
        """The timers that go off with this watermark, in their order."""
        return sorted(timer for timer in self.timers if timer.expiry_ms <= watermark_ms)


class Handle:
    """What a processor's init gets. key: whose turn it is."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.key: Key = ()

    def getValueState(
        self, name: str, schema: Any, ttlDurationMs: int | None = None
    ) -> "_Value":
        return _Value(self, self._variable(name, ttlDurationMs))

    def getListState(
        self, name: str, schema: Any, ttlDurationMs: int | None = None
    ) -> "_List":
        return _List(self, self._variable(name, ttlDurationMs))

    def getMapState(
        self, name: str, key: Any, value: Any, ttlDurationMs: int | None = None
    ) -> "_Map":
        return _Map(self, self._variable(name, ttlDurationMs))

    def _variable(self, name: str, ttl: int | None) -> dict[Key, Any]:
        if ttl is not None:
            raise ValueError(
                "a TTL goes with timeMode ProcessingTime, and this is EventTime"
            )
        return self._store.values[name]

    def registerTimer(self, expiryTimestampMs: int) -> None:
        self._store.timers.add(Timer(int(expiryTimestampMs), self.key))

    def deleteTimer(self, expiryTimestampMs: int) -> None:
        self._store.timers.discard(Timer(int(expiryTimestampMs), self.key))

    def listTimers(self) -> Iterator[int]:
        mine = [timer for timer in self._store.timers if timer.key == self.key]
        return iter(sorted(timer.expiry_ms for timer in mine))

    def deleteIfExists(self, name: str) -> None:
        self._store.values.pop(name, None)


class _State:
    """One state variable: each key sees its own."""

    def __init__(self, handle: Handle, values: dict[Key, Any]) -> None:
        self._handle = handle
        self._values = values

    def exists(self) -> bool:
        return self._handle.key in self._values

    def clear(self) -> None:
        self._values.pop(self._handle.key, None)


class _Value(_State):
    def get(self) -> Row | None:
        return self._values.get(self._handle.key)

    def update(self, value: Row) -> None:
        self._values[self._handle.key] = _row(value)


class _List(_State):
    def get(self) -> Iterator[Row]:
        return iter(list(self._values.get(self._handle.key, ())))

    def put(self, values: Sequence[Row]) -> None:
        self._values[self._handle.key] = [_row(value) for value in values]
        if not values:
            self.clear()

    def appendValue(self, value: Row) -> None:
        self._values.setdefault(self._handle.key, []).append(_row(value))

    def appendList(self, values: Sequence[Row]) -> None:
        for value in values:
            self.appendValue(value)


class _Map(_State):
    def _mine(self) -> dict[Row, Row]:
        return self._values.get(self._handle.key, {})

    def getValue(self, key: Row) -> Row | None:
        return self._mine().get(_row(key))

    def containsKey(self, key: Row) -> bool:
        return _row(key) in self._mine()

    def updateValue(self, key: Row, value: Row) -> None:
        self._values.setdefault(self._handle.key, {})[_row(key)] = _row(value)

    def iterator(self) -> Iterator[tuple[Row, Row]]:
        return iter(list(self._mine().items()))

    def keys(self) -> Iterator[Row]:
        return iter(list(self._mine()))

    def values(self) -> Iterator[Row]:
        return iter(list(self._mine().values()))

    def removeKey(self, key: Row) -> None:
        self._mine().pop(_row(key), None)
        if not self._mine():
            self.clear()


def _row(value: Any) -> Row:
    if not isinstance(value, tuple | list):
        raise TypeError(
            f"a value of a state is a tuple, ({value!r},), and this is {value!r}"
        )
    return tuple(map(_plain, value))


def _plain(value: Any) -> Any:
    """numpy's numbers are numbers."""
    return value.item() if hasattr(value, "item") else value


@dataclass(frozen=True)
class Times:
    """Spark's TimerValues, for a micro-batch with this watermark."""

    watermark_ms: int

    def getCurrentWatermarkInMs(self) -> int:
        return self.watermark_ms

    def getCurrentProcessingTimeInMs(self) -> int:
        return -1


@dataclass(frozen=True)
class Expired:
    """Spark's ExpiredTimerInfo."""

    expiry_ms: int

    def getExpiryTimeInMs(self) -> int:
        return self.expiry_ms


Batch = Sequence[tuple[str, int]]  # (user_id, event time in ms)


def run(
    processor: Callable[[], Any], batches: Sequence[Batch], delay_ms: int
) -> tuple[list[list[Any]], Store]:
    """(for each batch what the processor gave in it, the store in the end).

    After a batch the watermark moves to the latest event time less the delay, and a
    micro-batch without rows follows: in that one the timers go off that the watermark
    has reached, and what it gives counts as its batch's.
    """
    store = Store()
    watermark_ms = 0
    given = []
    memory = Memory(inspect.unwrap(processor))
    for batch in batches:
        in_time = [row for row in batch if row[1] > watermark_ms]
        memory.put_back()
        found = micro_batch(processor(), store, in_time, watermark_ms)
        latest_ms = max((at_ms for _, at_ms in batch), default=0)
        reached_ms = latest_ms - delay_ms
        if reached_ms > watermark_ms:
            watermark_ms = reached_ms
            memory.put_back()
            found += micro_batch(processor(), store, [], watermark_ms)
        given.append(found)
    memory.put_back()
    return given, store


def micro_batch(
    processor: Any, store: Store, rows: Batch, watermark_ms: int
) -> list[Any]:
    """One micro-batch: a processor of its own, all keys with rows, then the timers that
    the watermark has reached. A key's rows come in as many DataFrames as Spark likes.
    """
    handle = Handle(store)
    times = Times(watermark_ms)
    found: list[Any] = []
    processor.init(handle)
    by_key: dict[Key, list[int]] = defaultdict(list)
    for user, at_ms in rows:
        by_key[(user,)].append(at_ms)
    for key in sorted(by_key):
        handle.key = key
        frames = _frames(key, by_key[key])
        found += _yielded(processor.handleInputRows(key, frames, times))
    for timer in store.reached(watermark_ms):
        handle.key = timer.key
        expired = Expired(timer.expiry_ms)
        found += _yielded(processor.handleExpiredTimer(timer.key, times, expired))
        store.timers.discard(timer)
    processor.close()
    return found


def _frames(key: Key, times: Sequence[int]) -> Iterator[Any]:
    """The rows of a key, some in one DataFrame, then some in another. times: in ms."""
    from pandas import DataFrame

    [user] = key
    for begin in range(0, len(times), ROWS_IN_A_FRAME):
        some = times[begin : begin + ROWS_IN_A_FRAME]
        columns = {"user_id": [user] * len(some), "event_time_ms": some}
        yield DataFrame(columns)


def _yielded(given: Any) -> list[Any]:
    if not isinstance(given, list | Iterator):
        raise WrongKind(f"it returned {short(given)}, and should yield DataFrames.")
    return list(given)

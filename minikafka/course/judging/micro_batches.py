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
from typing import Any

from minikafka.course.judging.checks import WrongKind, short
from minikafka.course.judging.memory import Memory

ROWS_IN_A_FRAME = 2

Key = tuple[Any, ...]
Row = tuple[Any, ...]


@dataclass
class Store:
    """What survives a micro-batch. values: state variable -> key -> its value. timers:
    (expiry in ms, key).
    """

    values: dict[str, dict[Key, Any]] = field(default_factory=lambda: defaultdict(dict))
    timers: set[tuple[int, Key]] = field(default_factory=set)

    def left(self) -> dict[str, dict[Key, Any]]:
        """The state variables that still hold something."""
        return {name: keys for name, keys in self.values.items() if keys}


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
        self._store.timers.add((int(expiryTimestampMs), self.key))

    def deleteTimer(self, expiryTimestampMs: int) -> None:
        self._store.timers.discard((int(expiryTimestampMs), self.key))

    def listTimers(self) -> Iterator[int]:
        return iter(sorted(at for at, key in self._store.timers if key == self.key))

    def deleteIfExists(self, name: str) -> None:
        self._store.values.pop(name, None)


class _State:
    """One state variable: each key sees its own."""

    def __init__(self, handle: Handle, values: dict[Key, Any]) -> None:
        self._handle, self._values = handle, values

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
    # numpy's numbers are numbers
    return tuple(each.item() if hasattr(each, "item") else each for each in value)


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
    store, watermark, given = Store(), 0, []
    memory = Memory(inspect.unwrap(processor))
    for batch in batches:
        in_time = [row for row in batch if row[1] > watermark]
        memory.put_back()
        found = micro_batch(processor(), store, in_time, watermark)
        latest = max((at for _, at in batch), default=0) - delay_ms
        if latest > watermark:
            watermark = latest
            memory.put_back()
            found += micro_batch(processor(), store, [], watermark)
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
    found: list[Any] = []
    processor.init(handle)
    by_key: dict[Key, list[int]] = defaultdict(list)
    for user, at in rows:
        by_key[(user,)].append(at)
    for key in sorted(by_key):
        handle.key = key
        frames = _frames(key, by_key[key])
        found += _yielded(processor.handleInputRows(key, frames, Times(watermark_ms)))
    expired = [timer for timer in store.timers if timer[0] <= watermark_ms]
    for at, key in sorted(expired):
        handle.key = key
        info = Expired(at)
        found += _yielded(processor.handleExpiredTimer(key, Times(watermark_ms), info))
        store.timers.discard((at, key))
    processor.close()
    return found


def _frames(key: Key, times: Sequence[int]) -> Iterator[Any]:
    """The rows of a key, some in one DataFrame, then some in another."""
    from pandas import DataFrame

    for begin in range(0, len(times), ROWS_IN_A_FRAME):
        some = times[begin : begin + ROWS_IN_A_FRAME]
        yield DataFrame({"user_id": [key[0]] * len(some), "event_time_ms": some})


def _yielded(given: Any) -> list[Any]:
    if not isinstance(given, list | Iterator):
        raise WrongKind(f"it returned {short(given)}, and should yield DataFrames.")
    return list(given)

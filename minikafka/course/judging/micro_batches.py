"""A stand-in for Spark around a StatefulProcessor, for checks: micro-batches, state,
event-time timers, a watermark.

`run(Processor, batches, delay_ms)` does what `transformWithState(Processor(), ...,
timeMode="EventTime")` does, in milliseconds and without a JVM.
tests/spark/test_state.py compares the two on the same rows. It is stricter than
PySpark's own TwsTester, which keeps one processor for all micro-batches, gives
handleExpiredTimer its arguments by place, and looks at no schema.
"""

import inspect
import operator
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minikafka.course.judging.checks import WrongKind, short
from minikafka.course.judging.memory import Memory
from minikafka.theatre.text import counted

Key = tuple[Any, ...]
Row = tuple[Any, ...]


class Timer(NamedTuple):
    """When a timer goes off, by the watermark, and for which key."""

    expiry_ms: int
    key: Key


def _no_values() -> dict[str, dict[Key, Any]]:
    """State variables begin empty."""
    return defaultdict(dict)


@dataclass
class Store:
    """The state that survives a micro-batch. values: state variable -> key ->
    its value.
    """

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
    """The handle that a processor's init gets. key: the current one, after init."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.key: Key = ()
        self.is_initialized = False

    def getValueState(
        self, stateName: str, schema: Any, ttlDurationMs: int | None = None
    ) -> "_Value":
        values = self._variable(stateName, ttlDurationMs)
        return _Value(self, stateName, values, schema)

    def getListState(
        self, stateName: str, schema: Any, ttlDurationMs: int | None = None
    ) -> "_List":
        values = self._variable(stateName, ttlDurationMs)
        return _List(self, stateName, values, schema)

    def getMapState(
        self,
        stateName: str,
        userKeySchema: Any,
        valueSchema: Any,
        ttlDurationMs: int | None = None,
    ) -> "_Map":
        values = self._variable(stateName, ttlDurationMs)
        return _Map(self, stateName, values, valueSchema, userKeySchema)

    def _variable(self, name: str, ttl: int | None) -> dict[Key, Any]:
        if self.is_initialized:
            raise RuntimeError(f"Spark gives a state variable, {name}, in init alone")
        if ttl is not None:
            raise ValueError(
                "a TTL goes with timeMode ProcessingTime, and this is EventTime"
            )
        return self._store.values[name]

    def registerTimer(self, expiryTimestampMs: int) -> None:
        self._store.timers.add(self._timer(expiryTimestampMs))

    def deleteTimer(self, expiryTimestampMs: int) -> None:
        self._store.timers.discard(self._timer(expiryTimestampMs))

    def _timer(self, expiry_ms: int) -> Timer:
        if not self.is_initialized:
            raise RuntimeError("in init no key has its turn, so there are no timers")
        return Timer(operator.index(expiry_ms), self.key)

    def listTimers(self) -> Iterator[int]:
        mine = [timer for timer in self._store.timers if timer.key == self.key]
        return iter(sorted(timer.expiry_ms for timer in mine))

    def deleteIfExists(self, stateName: str) -> None:
        self._store.values.pop(stateName, None)


class _State:
    """One state variable: each key sees its own."""

    def __init__(
        self, handle: Handle, name: str, values: dict[Key, Any], schema: Any
    ) -> None:
        self._handle = handle
        self._name = name
        self._values = values
        self._types = _types(schema)

    def exists(self) -> bool:
        return self._handle.key in self._values

    def clear(self) -> None:
        self._values.pop(self._handle.key, None)


class _Value(_State):
    def get(self) -> Row | None:
        return self._values.get(self._handle.key)

    def update(self, newValue: Row) -> None:
        self._values[self._handle.key] = _row(newValue, self._types)


class _List(_State):
    def get(self) -> Iterator[Row]:
        return iter(list(self._values.get(self._handle.key, ())))

    def put(self, newState: Iterable[Row]) -> None:
        self._values[self._handle.key] = self._rows(newState)

    def appendValue(self, newState: Row) -> None:
        self.appendList([newState])

    def appendList(self, newState: Iterable[Row]) -> None:
        self._values.setdefault(self._handle.key, []).extend(self._rows(newState))

    def _rows(self, values: Iterable[Row]) -> list[Row]:
        rows = [_row(value, self._types) for value in values]
        if not rows:
            raise ValueError(
                "[ILLEGAL_STATE_STORE_VALUE.EMPTY_LIST_VALUE] Spark writes no empty"
                f" list into {self._name}: clear() it"
            )
        return rows


class _Map(_State):
    def __init__(
        self,
        handle: Handle,
        name: str,
        values: dict[Key, Any],
        schema: Any,
        key_schema: Any,
    ) -> None:
        super().__init__(handle, name, values, schema)
        self._key_types = _types(key_schema)

    def _mine(self) -> dict[Row, Row]:
        return self._values.get(self._handle.key, {})

    def getValue(self, key: Row) -> Row | None:
        return self._mine().get(_row(key, self._key_types))

    def containsKey(self, key: Row) -> bool:
        return _row(key, self._key_types) in self._mine()

    def updateValue(self, key: Row, value: Row) -> None:
        mine = self._values.setdefault(self._handle.key, {})
        mine[_row(key, self._key_types)] = _row(value, self._types)

    def iterator(self) -> Iterator[tuple[Row, Row]]:
        return iter(list(self._mine().items()))

    def keys(self) -> Iterator[Row]:
        return iter(list(self._mine()))

    def values(self) -> Iterator[Row]:
        return iter(list(self._mine().values()))

    def removeKey(self, key: Row) -> None:
        self._mine().pop(_row(key, self._key_types), None)
        if not self._mine():
            self.clear()


WHOLE = ("long", "bigint", "int", "integer")


def _types(schema: Any) -> list[str]:
    """The columns' types: of "ms long, n int" long and int. A schema may be an object
    of pyspark.sql.types, too.
    """
    if not isinstance(schema, str):
        return [each.dataType.simpleString() for each in schema.fields]
    columns = re.split(r",(?![^<(]*[>)])", schema)
    return [re.split(r"[\s:]+", each.strip(), maxsplit=1)[-1] for each in columns]


def _row(value: Any, types: Sequence[str]) -> Row:
    if not isinstance(value, tuple | list):
        raise TypeError(
            f"a value of a state is a tuple, ({value!r},), and this is {value!r}"
        )
    if len(value) != len(types):
        raise ValueError(
            "[STRUCT_ARRAY_LENGTH_MISMATCH] the schema has"
            f" {counted(len(types), 'column')}, and {value!r} has {len(value)}"
        )
    return tuple(map(_kept, value, types))


def _kept(value: Any, kind: str) -> Any:
    """numpy's numbers are numbers."""
    value = value.item() if hasattr(value, "item") else value
    if kind.lower() in WHOLE and not isinstance(value, int | None):
        raise TypeError(f"{value!r} is no {kind}, and Spark would keep null for it")
    return value


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
    the watermark has reached.
    """
    handle = Handle(store)
    times = Times(watermark_ms)
    found: list[Any] = []
    processor.init(handle)
    handle.is_initialized = True
    by_key: dict[Key, list[int]] = defaultdict(list)
    for user, at_ms in rows:
        by_key[(user,)].append(at_ms)
    for key in sorted(by_key):
        handle.key = key
        clicks = _rows(key, by_key[key])
        found += _yielded(processor.handleInputRows(key, clicks, times))
    for timer in store.reached(watermark_ms):
        handle.key = timer.key
        expired = Expired(timer.expiry_ms)
        # by name, as Spark does
        given = processor.handleExpiredTimer(
            key=timer.key, timerValues=times, expiredTimerInfo=expired
        )
        found += _yielded(given)
        store.timers.discard(timer)
    processor.close()
    return found


def _rows(key: Key, times: Sequence[int]) -> Iterator[Any]:
    """The rows of a key, to be read once. times: in ms."""
    from pyspark.sql import Row

    [user] = key
    return iter([Row(user_id=user, event_time_ms=at_ms) for at_ms in times])


def _yielded(given: Any) -> list[Any]:
    if not isinstance(given, list | tuple | Iterator):
        raise WrongKind(f"it returned {short(given)}, and should yield Rows.")
    return list(given)

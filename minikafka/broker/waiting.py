"""Parked requests: a request that cannot be answered yet, found again by what it waits for.

A handler returns a Wait instead of an answer. The broker tries it at once; if nothing comes, it is parked under its
keys and tried again when one of them moves, or for the last time at its deadline. Nothing looks at all parked
requests to find one.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

MOST_KEYS = 200_000  # of all parked requests: each takes some hundred bytes


class Wait(NamedTuple):
    """attempt(now, expired): the answer's fields, or None to go on waiting; when expired is true it must answer.

    keys: what may change the answer, such as ("partition", "orders", 0). deadline_ms: monotonic. missing_bytes: how
    many bytes must arrive under the keys before another attempt makes sense.
    """

    keys: Sequence[Hashable]
    deadline_ms: int
    attempt: Callable[[Any, bool], dict[str, Any] | None]
    missing_bytes: int = 0


@dataclass(slots=True, eq=False)
class Parked:
    """A Wait with the request that it belongs to (opaque here). keys: the Wait's, each once."""

    wait: Wait
    keys: Sequence[Hashable]
    connection: Hashable
    request: Any
    missing_bytes: int
    waiting: bool = True


class Waiting:
    """All parked requests of a node, by connection (at most one each), by key and by deadline."""

    def __init__(self) -> None:
        self._by_connection: dict[Hashable, Parked] = {}
        self._by_key: dict[Hashable, dict[Hashable, Parked]] = {}
        self._deadlines: list[tuple[int, int, Parked]] = []
        self._number = 0
        self._keys = 0

    def __len__(self) -> int:
        return len(self._by_connection)

    def has_room(self, wait: Wait) -> bool:
        """Whether all parked requests together still wait for few enough keys. One that waits for a single key always
        may: a connection has one request here.
        """
        return len(wait.keys) <= 1 or self._keys + len(wait.keys) <= MOST_KEYS

    def park(self, wait: Wait, connection: Hashable, request: Any) -> None:
        """Keep a connection's request until a key moves or the deadline comes."""
        assert connection not in self._by_connection, "one request of a connection at a time"
        parked = Parked(wait, tuple(dict.fromkeys(wait.keys)), connection, request, wait.missing_bytes)
        self._by_connection[connection] = parked
        self._keys += len(parked.keys)
        for key in parked.keys:
            self._by_key.setdefault(key, {})[connection] = parked
        self._number += 1
        heapq.heappush(self._deadlines, (wait.deadline_ms, self._number, parked))

    def moved(self, key: Hashable, size_bytes: int) -> list[Parked]:
        """Something arrived under a key: those parked requests that are worth an attempt now."""
        ready = []
        for parked in self._by_key.get(key, {}).values():
            parked.missing_bytes -= size_bytes
            if parked.missing_bytes <= 0:
                ready.append(parked)
        return ready

    def expired(self, now_ms: int) -> Iterator[Parked]:
        """Those whose deadline has come."""
        while (deadline := self.next_deadline()) is not None and deadline <= now_ms:
            yield heapq.heappop(self._deadlines)[2]

    def next_deadline(self) -> int | None:
        """Monotonic ms of the earliest deadline."""
        while self._deadlines and not self._deadlines[0][2].waiting:
            heapq.heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None

    def everything(self) -> list[Parked]:
        """All of them, for a node that stops."""
        return list(self._by_connection.values())

    def drop(self, connection: Hashable) -> None:
        """The connection is gone, and what it waited for with it."""
        parked = self._by_connection.get(connection)
        if parked is not None:
            self.remove(parked)

    def remove(self, parked: Parked) -> None:
        """The request was answered."""
        parked.waiting = False
        del self._by_connection[parked.connection]
        self._keys -= len(parked.keys)
        for key in parked.keys:
            under_key = self._by_key[key]
            del under_key[parked.connection]
            if not under_key:
                del self._by_key[key]
        if len(self._deadlines) > 64 + 2 * len(self._by_connection):  # answered long before their deadlines
            self._deadlines = [entry for entry in self._deadlines if entry[2].waiting]
            heapq.heapify(self._deadlines)

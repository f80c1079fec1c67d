"""Requests to other nodes that gather: one at a time is on its way to each node, and the next one takes along what has
come meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from minikafka.broker.calls import Broker
from minikafka.clock import Now
from minikafka.wire.schema import Message

Part = TypeVar("Part")


class Gathering(Generic[Part]):
    """lane, api, version: of the requests. body(parts): one request. take(parts, reply or None, now): how it ended."""

    def __init__(
        self,
        broker: Broker,
        lane: str,
        api: str,
        version: int,
        body: Callable[[list[Part]], Mapping[str, Any]],
        take: Callable[[list[Part], Message | None, Now], None],
    ) -> None:
        self._broker = broker
        self._lane, self._api, self._version = lane, api, version
        self._body, self._take = body, take
        self._queues: dict[int, list[Part]] = {}
        self._asked: set[int] = set()
        self._later: list[tuple[int, Callable[[Now], None]]] = []  # monotonic ms

    def add(self, node: int, part: Part) -> None:
        """Ask a node, now or with the next request."""
        self._queues.setdefault(node, []).append(part)
        self._ask(node)

    def later(self, at_ms: int, do: Callable[[Now], None]) -> None:
        """Try something again at a time, monotonic ms."""
        self._later.append((at_ms, do))

    def tick(self, now: Now) -> None:
        """What was to be tried again by now."""
        due = [do for at_ms, do in self._later if at_ms <= now.monotonic_ms]
        self._later = [each for each in self._later if each[0] > now.monotonic_ms]
        for do in due:
            do(now)

    def next_deadline(self) -> int | None:
        """Monotonic ms."""
        return min((at_ms for at_ms, _ in self._later), default=None)

    def _ask(self, node: int) -> None:
        if node in self._asked or not self._queues.get(node):
            return
        self._asked.add(node)
        parts = self._queues.pop(node)

        def answered(reply: Message | None, now: Now) -> None:
            self._asked.discard(node)
            self._take(parts, reply, now)
            self._ask(node)

        self._broker.ask(node, self._lane, self._api, self._version, self._body(parts), answered)

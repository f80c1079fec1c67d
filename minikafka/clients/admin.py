"""The admin client: one request, one answer, from a given broker or any (in KRaft each passes changes on)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from minikafka.clients.connection import Client, Now
from minikafka.clients.future import Future
from minikafka.clients.metadata import Address
from minikafka.trace import Trace
from minikafka.wire.schema import Message


class Call(NamedTuple):
    """node: the id of the broker to ask; None: any."""

    future: Future
    api: str
    body: dict[str, Any]
    node: int | None


class Admin(Client):
    """Requests whose connection is lost are sent again, until the shell gives them up."""

    def __init__(self, name: str, bootstrap: Sequence[Address], trace: Trace) -> None:
        super().__init__(name, bootstrap, trace, client_id=name)
        self._open: list[Call] = []

    def call(self, api: str, body: dict[str, Any], now: Now, node: int | None = None) -> Future:
        """The future's value is the response as it came, its error codes not looked at."""
        self._enter(now)
        future = Future()
        self._open.append(Call(future, api, body, node))
        self._do_what_is_due(now)
        return future

    def give_up(self, future: Future) -> None:
        """Nobody waits for this answer any more."""
        self._open = [call for call in self._open if call.future is not future]

    def busy(self) -> bool:
        return bool(self._open)

    def work(self, now: Now) -> None:
        waiting, self._open = self._open, []
        for call in waiting:
            node = self.any_node() if call.node is None else self.ready(call.node)
            if node is None:
                self._open.append(call)
            else:
                self.request(node, call.api, call.body, partial(self._answered, call))

    def next_work(self) -> list[int | None]:
        return [self.next_chance()] if any(call.node is None for call in self._open) else []

    def _answered(self, call: Call, response: Message | None) -> None:
        if response is None:
            self._open.append(call)
        else:
            call.future.succeed(response)

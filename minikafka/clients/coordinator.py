"""The way to a group's coordinator: which broker it is (FindCoordinator), and a connection of its own to it.

A connection of its own, as in the Java client: a JoinGroup waits at the broker until the whole group has joined, and
answers on one connection keep their order, so on a shared one every fetch would wait behind it.

The coordinator moves with the leadership of a partition of `__consumer_offsets`. Whoever is told NOT_COORDINATOR, or
loses the connection, calls lost(), and the next ready() asks for it again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minikafka.clients.connection import Client, Node
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

GROUP = 0  # FindCoordinator's key type

# The coordinator is elsewhere, or nowhere yet: it must be asked for again.
MOVED = (Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE)


class Coordinator:
    """One group's, as one client sees it."""

    def __init__(self, client: Client, group_id: str) -> None:
        self.group_id = group_id
        self.error: KafkaError | None = None  # a refusal that asking again does not mend
        self._client = client
        self._node: Node | None = None
        self._asking = False
        self._retry_at = 0

    def ready(self) -> Node | None:
        """The coordinator, if it can be sent to; else takes the next step towards it and returns None.

        Call it again after any event of the client, and at next_chance().
        """
        if self._node is None:
            self._ask()
            return None
        return self._client.ready_node(self._node)

    def next_chance(self) -> int | None:
        """When ready() may get further by itself, in ms; None while an answer or a connection is on its way."""
        if self._node is None:
            chance = None if self._asking else self._client.next_chance()
            return None if chance is None else max(chance, self._retry_at)
        if self._node.ready or self._node.connection is not None:
            return None
        return self._node.retry_at

    def lost(self) -> None:
        """It is not there any more. Its connection is given up with what was sent on it."""
        node, self._node = self._node, None
        self._retry_at = self._client.now_ms + self._client.retry_backoff_ms
        if node is not None:
            self._client.hang_up(node)

    def request(
        self, api: str, body: dict[str, Any], answer: Callable[[Message], None], *,
        failed: Callable[[], None], timeout_ms: int | None = None,
    ) -> None:  # fmt: skip
        """Send a request to the coordinator, which must be ready(). failed: no answer will come; look for it again."""
        node = self._node
        assert node is not None and node.ready, "asked ready() first"

        def answered(response: Message | None) -> None:
            if response is not None:
                answer(response)
                return
            if self._node is node:
                self.lost()
            failed()

        self._client.request(node, api, body, answered, timeout_ms)

    def _ask(self) -> None:
        if self._asking or self._client.now_ms < self._retry_at:
            return
        node = self._client.any_node()
        if node is None:
            return
        self._asking = True
        body = {"key_type": GROUP, "coordinator_keys": [self.group_id]}
        self._client.request(node, "FindCoordinator", body, self._found)

    def _found(self, response: Message | None) -> None:
        self._asking = False
        self._retry_at = self._client.now_ms + self._client.retry_backoff_ms
        if response is None:
            return
        found = response.coordinators[0]
        error = Error(found.error_code)
        if error is Error.NONE:
            self._node = Node(found.node_id, (found.host, found.port))
        elif not error.retriable:
            self.error = KafkaError(error, found.error_message or error.message)

"""`serve --metrics`: GET /metrics, for Prometheus. A scrape is one request and one
answer.

What is told is in broker/metrics.py. It is put together metric by metric, and between
two of them clients have their turn, so that many partitions hold up nobody for long.
"""

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from minikafka.broker.broker import Broker
from minikafka.broker.counters import Counters
from minikafka.broker.metrics import Measured, exposition
from minikafka.broker.peers import CONTROLLER_LISTENER
from minikafka.server.http import Answer, Asked, Page
from minikafka.server.log import log

if TYPE_CHECKING:
    import socket

PATH = "/metrics"
MOST_AT_ONCE = 8  # scrapes; others are turned away
TEXT = "text/plain; version=0.0.4; charset=utf-8"


NOT_FOUND = Answer("404 Not Found", f"metrics are at {PATH}\n")
NO_SUCH_METHOD = Answer("405 Method Not Allowed", "only GET\n", more="Allow: GET\r\n")
FAILED = Answer("500 Internal Server Error", "the metrics could not be read\n")


class MetricsPage:
    """The metrics of one node, at an address of their own."""

    def __init__(self, broker: Broker) -> None:
        assert broker.counters is not None, "what is told was counted"
        self._node = Measured(
            node_id=broker.node_id,
            replicas=broker.replicas.replicas,
            image=broker.image,
            quorum=broker.quorum,
            groups=broker.groups,
            counters=broker.counters,
        )
        self._page = Page(self._answer, MOST_AT_ONCE)

    async def serve(self, listener: "socket.socket") -> None:
        """Answer until cancelled."""
        await self._page.serve(listener)

    async def _answer(self, asked: Asked) -> Answer:
        if asked.target.partition("?")[0] != PATH:
            return NOT_FOUND
        if asked.method != "GET":
            return NO_SUCH_METHOD
        parts = []
        try:
            for part in exposition(self._node):
                parts.append(part)
                await asyncio.sleep(0)
        except Exception as error:
            log(
                f"a scrape met a bug of minikafka's; please report it: {error!r}", error
            )
            return FAILED
        return Answer("200 OK", "".join(parts), TEXT)


class RequestTimes:
    """Listens in on the connections, and takes the time of each request: from when its
    last byte was there, until its answer goes to the socket.
    """

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        # of each request without an answer: how it begins, and when it came
        self._unanswered: dict[Any, deque[tuple[bytes, float]]] = {}

    def connected(self, connection: Any) -> None:
        self._unanswered[connection] = deque()

    def asked(self, connection: Any, frame: bytearray) -> None:
        """A request came."""
        came = bytes(frame[:4]), time.perf_counter()
        self._unanswered[connection].append(came)

    def answered(self, connection: Any, frame: Sequence[Any] | None) -> None:
        """The oldest request is finished."""
        head, came_at = self._unanswered[connection].popleft()
        ms = 1000 * (time.perf_counter() - came_at)
        is_from_a_node = connection.listener == CONTROLLER_LISTENER
        self._counters.answered(head, is_from_a_node, ms)

    def left(self, connection: Any) -> None:
        del self._unanswered[connection]

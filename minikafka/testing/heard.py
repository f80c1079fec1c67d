"""What brokers have heard from clients, and what came of it, for the report of a test
that fails.

Requests and trace events are kept as they are; telling.py makes lines of them, and
playing.py a page, only if somebody wants to see them.
"""

import itertools
from collections import deque
from collections.abc import Callable

from minikafka.testing.answers import Names
from minikafka.testing.asked import Asked
from minikafka.trace import Event

MOST_KEPT = 500
MOST_EVENTS = 5_000


class Heard:
    """What the brokers of a cluster have heard since `begin`, and what happened in
    them. str(): the story in about twenty lines. now_ms(): the brokers' time.

    listening: the listeners of the brokers' traces. It is empty except between `begin`
    and `end`, so that no events are built for nobody.
    """

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self.listening: list[Callable[[Event], None]] = []
        self._now_ms = now_ms
        self._forget(0)

    def _forget(self, began_ms: int) -> None:
        self.began_ms = began_ms
        self._numbers = itertools.count()
        self._asked: deque[Asked] = deque(maxlen=MOST_KEPT)
        self._events: deque[tuple[int, Event]] = deque(maxlen=MOST_EVENTS)

    def begin(self) -> None:
        """Forget what was heard until now, and listen."""
        self._forget(self._now_ms())
        self.listening[:] = [self._happened]

    def end(self) -> None:
        """Listen no longer; what was heard is still there."""
        self.listening.clear()

    def add(
        self, frame: bytearray, connection: str, broker: str, names: Names
    ) -> Asked:
        """A request came."""
        number = next(self._numbers)
        new = Asked(number, self._now_ms(), frame, connection, broker, names)
        self._asked.append(new)
        return new

    def _happened(self, event: Event) -> None:
        self._events.append((next(self._numbers), event))

    def asked(self) -> list[Asked]:
        """The latest requests, in order."""
        return [*self._asked.copy()]

    def events(self) -> list[tuple[int, Event]]:
        """The latest events, in order, and the number of each among all that was
        heard.
        """
        return [*self._events.copy()]

    def __str__(self) -> str:
        # few want to see it
        from minikafka.testing.telling import told

        return "\n".join(told(self.asked(), self.events(), self.began_ms))

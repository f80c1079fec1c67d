"""An event loop whose time may be moved, and sockets don't notice.

While its time is being moved, the loop never sleeps: where it would wait for its next
timer, it jumps there. So the timers fire in order, and what brokers say to each other
when one fires is heard before the next: nobody is taken for dead because an hour has
passed. The clocks of clients, in other threads and processes, don't move.
"""

import asyncio
import selectors
import time
from collections.abc import Callable

from minikafka.clock import Now

NS = 1_000_000_000


class MovedTime:
    """How far the time of a loop is ahead of the machine's, and where it is to be."""

    def __init__(self) -> None:
        self.ahead_ns = 0
        self.left_ns = 0  # still to be moved
        self._when_there: list[Callable[[], object]] = []

    @property
    def is_moving(self) -> bool:
        return bool(self._when_there)

    def now(self) -> Now:
        ahead_ns = self.ahead_ns
        return Now(
            (time.monotonic_ns() + ahead_ns) // 1_000_000,
            (time.time_ns() + ahead_ns) // 1_000_000,
        )

    def seconds(self) -> float:
        """The same for the loop's timers."""
        return (time.monotonic_ns() + self.ahead_ns) / NS

    def move(self, ns: int, when_there: Callable[[], object]) -> None:
        """when_there(): called once the time has been moved, and everything that was
        due by then is done.
        """
        self.left_ns += ns
        self._when_there.append(when_there)

    def idle(self, timeout: float | None) -> None:
        """Nothing is left to do now. timeout: seconds until the next timer; None: there
        is none.
        """
        if self.left_ns:
            hop_ns = self.left_ns
            if timeout is not None:
                hop_ns = min(hop_ns, int(timeout * NS) + 1)
            self.left_ns -= hop_ns
            self.ahead_ns += hop_ns
            return
        waiting, self._when_there = self._when_there, []
        for tell in waiting:
            tell()


class Selector(selectors.DefaultSelector):
    """Doesn't wait while the time is moved."""

    def __init__(self, moved: MovedTime) -> None:
        super().__init__()
        self._moved = moved

    def select(
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        if not self._moved.is_moving:
            return super().select(timeout)
        events = super().select(0)
        if not events and timeout != 0:
            self._moved.idle(timeout)
        return events


class MovingLoop(asyncio.SelectorEventLoop):
    """asyncio's loop, on this time."""

    def __init__(self) -> None:
        self.moved = MovedTime()
        super().__init__(Selector(self.moved))

    def time(self) -> float:
        return self.moved.seconds()

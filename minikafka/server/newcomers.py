"""Connections to a listener with a lock whose client hasn't proved yet who it is, by a
TLS handshake, a login, or both.

Anybody who reaches the port can open one, so they are limited in number and in time.
When there are too many, the one that has waited longest is closed, because a client
with the right credentials needs only a moment.
"""

import asyncio
from typing import Protocol

from minikafka.server.log import log

MOST = 512
PATIENCE_SECONDS = 30.0  # until a client has shown who it is
LOOK_SECONDS = 1.0
# strangers may come a thousand times within this time, and are reported once
ONCE_SECONDS = 1.0


class Stranger(Protocol):
    """A connection, as far as it is looked at here. str() is the client's address."""

    def __hash__(self) -> int: ...

    def abort(self) -> None:
        """Close it at once."""


class Newcomers:
    """Those of one server. most: at a time."""

    def __init__(self, most: int) -> None:
        self._most = max(1, min(most, MOST))
        self._loop = asyncio.get_running_loop()
        # since when they are here, first come first
        self._since: dict[Stranger, float] = {}
        self._looking: asyncio.TimerHandle | None = None
        self._telling: asyncio.TimerHandle | None = None
        self._untold = 0

    def __len__(self) -> int:
        return len(self._since)

    def add(self, connection: Stranger) -> None:
        """Somebody has connected."""
        if len(self._since) >= self._most:
            self._give_up(
                next(iter(self._since)), "had to make room for others that log in"
            )
        self._since[connection] = self._loop.time()
        if self._looking is None:
            self._looking = self._loop.call_later(LOOK_SECONDS, self._look)

    def discard(self, connection: Stranger) -> None:
        """It has shown who it is, or it is gone."""
        self._since.pop(connection, None)

    def close(self) -> None:
        """The server stops."""
        for timer in (self._looking, self._telling):
            if timer is not None:
                timer.cancel()

    def tell(self, connection: Stranger, why: str) -> None:
        """Report that it was closed, once a second at most."""
        if self._telling is not None:
            self._untold += 1
            return
        log(f"closed the connection of {connection}, which {why}.")
        self._telling = self._loop.call_later(ONCE_SECONDS, self._tell_the_rest)

    def _tell_the_rest(self) -> None:
        self._telling = None
        untold, self._untold = self._untold, 0
        if untold:
            log(
                f"closed {untold} more connection(s) to a listener with a lock, for such"
                " reasons."
            )

    def _look(self) -> None:
        """Close those that have taken too long."""
        self._looking = None
        overdue = self._loop.time() - PATIENCE_SECONDS
        while self._since:
            oldest, since = next(iter(self._since.items()))
            if since > overdue:
                self._looking = self._loop.call_later(LOOK_SECONDS, self._look)
                return
            self._give_up(
                oldest,
                f"has not shown within {PATIENCE_SECONDS:.0f} s who its client is",
            )

    def _give_up(self, connection: Stranger, why: str) -> None:
        self.discard(connection)
        self.tell(connection, why)
        connection.abort()

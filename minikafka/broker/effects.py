"""A node's effects on the outside world: data, left in its outbox in order. Its turn
(turn.py) takes them from there: a client's connection hears how its request ended
(Reply, Done, Close), and the shell does the rest. Everything that an effect depends on
has been written before.
"""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

Connection = Hashable
Frame = Sequence[Any]  # bytes-like objects, for one writelines; without the 4-byte size


class Reply(NamedTuple):
    """Send this answer to a connection."""

    connection: Connection
    frame: Frame
    # the connection is closed then, and why, as in Close
    last: str | None = None


class Admitted(NamedTuple):
    """The client of a connection has logged in."""

    connection: Connection


class Done(NamedTuple):
    """The request is finished and has no answer (acks=0)."""

    connection: Connection


class Close(NamedTuple):
    """Close the connection. why: one plain line for the log."""

    connection: Connection
    why: str


class Request(NamedTuple):
    """Send this to another node, on the connection of this lane. It ends in one
    receive_reply or request_failed.
    """

    node: int
    lane: str
    correlation_id: int
    frame: Frame


class HangUp(NamedTuple):
    """Close the connection of this lane: the other side has been silent for too long.
    Its requests have failed.
    """

    node: int
    lane: str


class Notice(NamedTuple):
    """Tell this to the person who looks after the node."""

    line: str  # one plain sentence that names what it is about
    # what was caught, if something was; its traceback is for those who asked for more
    error: Exception | None = None


class Reconfigured(NamedTuple):
    """Configs of this broker were set while it runs, if only to what they were: files
    that they name are read again.
    """


Effect = Reply | Admitted | Done | Close | Request | HangUp | Notice | Reconfigured

"""The picture at the top of lesson 24: till 7's order as somebody on the wire hears it,
and the three locks in front of the topic.
"""

import re
from typing import NamedTuple

from minikafka.course.experiments.lesson_12_runs import AT_MS
from minikafka.course.experiments.lesson_24_wire import CLIENT_ID, KEY, TOPIC, VALUE
from minikafka.theatre.drawing import WIDE, Drawing, Look, Point
from minikafka.theatre.svg import svg
from minikafka.wire.messages import encode_request
from minikafka.wire.records import encode_batch

VERSION = 8  # of Produce
WORD = re.compile(rb"[ -~]{5,}")  # what a listener can read: five letters or more
LOCKS = (
    ("TLS", "who is the broker?"),
    ("SASL", "who is the client?"),
    ("ACL", "may it do that?"),
)

_CELL = 28  # how tall a byte is
_TOP = 30  # of the bytes
_LOCK, _HEIGHT = 170, 56  # of a lock's box


class Grid(NamedTuple):
    """in_a_row: bytes. pitch: from byte to byte."""

    in_a_row: int
    pitch: float

    def place(self, at: int) -> Point:
        """Where a byte is drawn: its upper left corner."""
        row, column = divmod(at, self.in_a_row)
        return Point(column * self.pitch, _TOP + row * (_CELL + 4))


GRID, SMALL = Grid(48, 19), Grid(24, 14.75)  # on a phone


def order_on_the_wire() -> bytes:
    """The request that carries till 7's order, without its size."""
    batch = encode_batch([(AT_MS, KEY.encode(), VALUE.encode(), [])])
    topic = {"name": TOPIC, "partition_data": [{"index": 0, "records": batch}]}
    body = {"acks": -1, "timeout_ms": 30_000, "topic_data": [topic]}
    return b"".join(encode_request("Produce", VERSION, 4, CLIENT_ID, body))


def three_locks(width: int = WIDE) -> str:
    """SVG: what can be read of an order without a lock. Which lock stops whom is the
    lesson's to say.
    """
    heard = order_on_the_wire()
    words = [found.group().decode().strip() for found in WORD.finditer(heard)]
    body = Drawing(width)
    grid = SMALL if body.phone else GRID
    body.text("listener", 0, 14, "what somebody on the wire hears", bold=True, size=14)
    _bytes(body, heard, grid)
    below = grid.place(len(heard) - 1).y + _CELL + 34
    if body.phone:
        _locks_below(body, below)
    else:
        _locks(body, below)
    said = "Till 7 sends an order. Who can read it, and which lock would stop them?"
    return svg(
        body,
        title="doors and keys",
        scenario="one till, one order, no lock yet",
        sentence=said,
        corner=f"{len(heard)} bytes",
        time="on the wire",
        alt=f"{said} In the bytes one can read {', '.join(words)}.",
    )


def _bytes(body: Drawing, heard: bytes, grid: Grid) -> None:
    """Each byte as the letter that it would be, or a dot; what can be read stands
    out.
    """
    readable: set[int] = set()
    for found in WORD.finditer(heard):
        begin, end = found.span()
        readable.update(range(begin, end))
        _word(body, begin, end, grid)
    for at, byte in enumerate(heard):
        x, y = grid.place(at)
        middle = x + grid.pitch / 2
        key = f"byte/{at}"
        if at in readable:
            look: Look = {"size": 16, "mono": True, "bold": True, "anchor": "middle"}
            body.text(key, middle, y + 20, chr(byte), "paper", **look)
        else:
            body.circle(key, middle, y + _CELL / 2, 2.5, "rule")


def _word(body: Drawing, begin: int, end: int, grid: Grid) -> None:
    """The ground of bytes that can be read, in each row that they reach."""
    in_a_row = grid.in_a_row
    for row in range(begin // in_a_row, (end - 1) // in_a_row + 1):
        first = max(begin, row * in_a_row)
        past = min(end, (row + 1) * in_a_row)
        x, y = grid.place(first)
        width = (past - first) * grid.pitch
        body.rect(f"word/{first}", x, y, width, _CELL, "trouble", r=5)


def _locks(body: Drawing, y: float) -> None:
    """The till, the locks on its way, and the topic."""
    end = _box(body, "till", 0, y, 110, "till 7")
    for name, asks in LOCKS:
        begin = end + 46
        body.arrow(f"to/{name}", end + 8, y + 28, begin - 8, y + 28)
        _lock(body.part(f"lock/{name}", begin, y), name, asks)
        end = begin + _LOCK
    body.arrow("to/topic", end + 8, y + 28, end + 38, y + 28)
    _box(body, "topic", end + 46, y, WIDE - end - 46, TOPIC)


def _locks_below(body: Drawing, y: float) -> None:
    """The same, one below the other."""
    x, middle = (body.width - _LOCK) / 2, body.width / 2
    _box(body, "till", x, y, _LOCK, "till 7")
    for name, asks in LOCKS:
        body.arrow(f"to/{name}", middle, y + _HEIGHT + 4, middle, y + _HEIGHT + 20)
        y += _HEIGHT + 24
        _lock(body.part(f"lock/{name}", x, y), name, asks)
    body.arrow("to/topic", middle, y + _HEIGHT + 4, middle, y + _HEIGHT + 20)
    _box(body, "topic", x, y + _HEIGHT + 24, _LOCK, TOPIC)


def _lock(lock: Drawing, name: str, asks: str) -> None:
    lock.rect("box", 0, 0, _LOCK, _HEIGHT, "wash", "rule", r=8)
    bow = "M0,0 v-5 a7,7 0 0 1 14,0 v5"
    lock.path("bow", 16, 26, bow, "none", "ink", width=2.5)
    lock.rect("body", 12, 26, 22, 17, "ink", r=3)
    lock.text("name", 46, 24, name, bold=True, size=15)
    lock.note("asks", 46, 43, asks, size=12.5)


def _box(
    body: Drawing, key: str, x: float, y: float, width: float, words: str
) -> float:
    """A place with its name; returns its right side."""
    body.boxed(key, x, y, width, _HEIGHT, words, "cell", line="rule", r=8)
    return x + width

"""The wire between producer and broker: what travels on it, and the place where the
connection broke.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from minikafka.theatre.drawing import Box, Drawing

PILL, CUT = 30, 0.45  # width of a message on the wire, and where that breaks
ANSWERED = ("written", "known", "refused")


class Message(NamedTuple):
    """A message on its way. state: of the request, or the part of it that got lost."""

    row: int
    batch: int
    state: str


class Wire(NamedTuple):
    """From x to the broker's door; cut: where it breaks."""

    x: float
    cut: float
    door: float


def draw_wire(
    d: Drawing,
    space: dict[str, Any],
    box: Box,
    messages: Sequence[Message],
    pitch: float,
    lever: str,
) -> None:
    """box: of all rows, below the columns' names; pitch: of a row. lever: whose link is
    cut and healed by hand, in a live picture.
    """
    wire = Wire(box.x, box.x + box.w * CUT, box.right)
    by_hand = "parted" in space
    d.line(
        "wire/door",
        x=wire.door,
        y=box.y,
        x2=wire.door,
        y2=box.bottom - 6,
        line="rule",
        width=3,
    )
    for row, _, state in messages:
        y = box.y + row * pitch + 12
        _row(d, key=f"wire/{row}", wire=wire, y=y, state=state)
    for row, number, state in messages:
        y = box.y + row * pitch + 12
        # A break is drawn after the messages on their way; a cut by hand holds them
        # back.
        past = space["cut"] and not by_hand and state == "on its way"
        _message(
            d, key=f"wire/{number}/message", wire=wire, y=y - 9, state=state, past=past
        )
    if space["cut"]:
        _cut(d, wire.cut, box)
    if lever:
        d.wire("wire/lever", wire.cut, box.bottom, lever, by_hand)


def _row(d: Drawing, key: str, wire: Wire, y: float, state: str) -> None:
    """Dashed behind the cut for a request that is lost, before it for an answer."""
    near = "2 4" if state == "answer lost" else None
    far = "2 4" if state == "lost" else None
    d.line(key, x=wire.x + 1, y=y, x2=wire.cut, y2=y, line="rule", width=2, dash=near)
    d.line(
        key + "/far",
        x=wire.cut,
        y=y,
        x2=wire.door - 2,
        y2=y,
        line="rule",
        width=2,
        dash=far,
    )


def _message(
    d: Drawing, key: str, wire: Wire, y: float, state: str, *, past: bool
) -> None:
    """A request on its way to the broker, or the answer on its way back; lost, it gets
    as far as the cut. past: it is beyond that already.
    """
    is_answer = state in (*ANSWERED, "answer lost")
    is_lost = "lost" in state
    if is_lost:
        x = wire.cut + 8 if is_answer else wire.cut - 8 - PILL
    elif is_answer:
        x = wire.door - PILL - 4
    else:
        x = wire.cut + 8 if past else wire.x + 4
    words = "ok" if is_answer else "→"
    if state == "refused":
        words = "no"
    fill = "good" if is_answer else "chip"
    line = "rule"
    ink = "ink"
    if is_lost or state == "refused":
        fill = "paper"
        line = "trouble"
        ink = "trouble"
    d.boxed(
        key,
        x=x,
        y=y,
        w=PILL,
        h=18,
        word=words,
        fill=fill,
        ink=ink,
        line=line,
        width=1.5,
        dash="3 3" if is_lost else None,
        fade=0.7 if is_lost else None,
    )


def _cut(d: Drawing, x: float, box: Box) -> None:
    teeth = "l4,4 l-8,8 l4,4" * (int(box.h) // 16)
    d.path(
        "wire/cut",
        x=x,
        y=box.y - 3,
        d=f"M0,0 {teeth}",
        line="trouble",
        width=2.5,
        tip="the connection is lost",
    )
    y = box.y - 10
    d.text("wire/cut/name", x, y, "cut", fill="trouble", bold=True, anchor="middle")

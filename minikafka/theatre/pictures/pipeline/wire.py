"""The wire between producer and broker: what travels on it, and the place where the
connection broke.
"""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, part
from minikafka.theatre.drawing import Box, Drawing, Look
from minikafka.theatre.pictures.pipeline.rows import HEAD, ROW, in_flight
from minikafka.theatre.play import Cast, Space

PILL, CUT = 30, 0.45  # width of a message on the wire, and where that breaks
LEAST, WANTED = 72, 110  # widths
ANSWERED = ("written", "known", "refused", "answer lost")


class Message(NamedTuple):
    """A message on its way. state: of the request, or the part of it that got lost."""

    row: int
    batch: int
    state: str


def wire_box(cast: Cast, rows: int) -> Item:
    """Beside what is in flight; it ends at the broker's door."""

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        space = scene["space"]
        place = places["wire"]
        x, top, cut = place.x, place.y + HEAD, place.x + place.w * CUT
        d.upright("wire/door", place.right, top, place.bottom - 6, "rule", width=3)
        messages = _messages(space, rows)
        for row, _, state in messages:
            y = top + row * ROW + 12
            # behind the cut for a request that is lost, before it for an answer
            near = "2 4" if state == "answer lost" else None
            far = "2 4" if state == "lost" else None
            look: Look = {"line": "rule", "width": 2}
            d.level(f"wire/{row}", x + 1, cut, y, dash=near, **look)
            d.level(f"wire/{row}/far", cut, place.right - 2, y, dash=far, **look)
        for message in messages:
            # What travels is past the cut already when the connection breaks; a cut
            # by hand holds it back.
            is_past = space["cut"] and "parted" not in space
            _message(d, message, place, cut, is_past)
        if space["cut"]:
            _cut(d, cut, top, place)
        if "live" in cast:
            who = cast["producer"]
            d.wire("wire/lever", cut, place.bottom, who, "parted" in space)

    return part(
        "wire", draw, high=HEAD + ROW * rows, least=LEAST, wanted=WANTED, grow=0.2
    )


def _messages(space: Space, rows: int) -> Sequence[Message]:
    """One in each row; one that waited too long is shown as stuck."""
    there = in_flight(space)[:rows]
    messages = [
        Message(number, row.batch["batch"], row.state)
        for number, row in enumerate(there)
    ]
    for row, batch, state in space["stuck"] if len(there) < rows else ():
        free = min(max(row, len(messages)), rows - 1)
        messages.append(Message(free, batch["batch"], state))
    return messages


def _message(
    d: Drawing, message: Message, wire: Box, cut: float, is_past: bool
) -> None:
    """A request on its way to the broker, or the answer on its way back; lost, it gets
    as far as the cut.
    """
    state = message.state
    is_answer, is_lost = state in ANSWERED, "lost" in state
    words, look = "→", Look(fill="chip", line="rule")
    x = cut + 8 if is_past else wire.x + 4
    if is_answer:
        words, look = "ok", Look(fill="good", line="rule")
        x = wire.right - PILL - 4
    if state == "refused":
        words = "no"
    if is_lost or state == "refused":
        look = {"fill": "paper", "line": "trouble", "ink": "trouble"}
    if is_lost:
        x = cut + 8 if is_answer else cut - 8 - PILL
        look["dash"] = "3 3"
    y = wire.y + HEAD + message.row * ROW + 3
    key = f"wire/{message.batch}/message"
    d.boxed(key, x, y, PILL, 18, words, width=1.5, **look)


def _cut(d: Drawing, x: float, top: float, wire: Box) -> None:
    form = "M0,0 " + "l4,4 l-8,8 l4,4" * (int(wire.bottom - top) // 16)
    look: Look = {"line": "trouble", "width": 2.5, "tip": "the connection is lost"}
    d.path("wire/cut", x=x, y=top - 3, d=form, **look)
    name: Look = {"bold": True, "anchor": "middle"}
    d.text("wire/cut/name", x, wire.y + 14, "cut", "trouble", **name)

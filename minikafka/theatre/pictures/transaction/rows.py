"""Partitions with transactions as rows: a record by what became of its transaction, and
the gate at the last stable offset. What all pictures of transactions share.

A record has the colour of its producer: an outline while its transaction is open,
filled when that is committed, crossed out when it is aborted. It keeps its place in the
log whatever happens, and looks the same where a reader was handed it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from minikafka.theatre.actors import actor_colour, ink_on_actor
from minikafka.theatre.axis import Scene
from minikafka.theatre.drawing import Box, Drawing, fit, fitting, has_room, widest
from minikafka.theatre.drawing import Look as Attributes
from minikafka.theatre.pictures.transaction.log import MARKERS, Record

LEAST_PITCH = 44  # from one record to the next, however short what they say
ABOVE = 18  # from a row's upper edge to its records: room for a gate's words
SHUT, OPENED = 8, 3  # width of a gate
MOST_WORDS = 400  # width of the longest value that anybody reads


class Sizes(NamedTuple):
    """Of a whole play. most_read: records that one reader has in the end, one at
    least. widest_value: of a record, in units.
    """

    most_read: int
    widest_value: float

    @classmethod
    def of(cls, scenes: Sequence[Scene]) -> "Sizes":
        values = [""]
        most_read = 1
        for scene in scenes:
            for log in scene["space"]["logs"]:
                values += [Record(*each).text for each in log["records"]]
            for _, found in scene["space"]["readers"]:
                most_read = max(most_read, len(found))
        longest = max(values, key=len)
        return cls(most_read, widest(longest, 13.5, mono=True, bold=True))


class Columns(NamedTuple):
    """The places of a log's records. first: the first offset that has one. y: of their
    upper edge.
    """

    left: float
    first: int
    pitch: float
    y: float
    height: float

    @classmethod
    def of(
        cls,
        d: Drawing,
        *,
        left: float,
        most: int,
        end: int,
        wanted: float,
        y: float,
        height: float,
    ) -> "Columns":
        """most: records of the longest log ever. end: this one's end offset. wanted:
        from one to the next, where there is room.
        """
        room = d.width - left
        pitch = min(max(room / (most + 1), LEAST_PITCH), wanted)
        count = int(room // pitch) - 1
        return cls(left, max(end - count, 0), pitch, y, height)

    def box(self, offset: int) -> Box:
        x = self.left + (offset - self.first) * self.pitch
        return Box(x=x, y=self.y, w=self.pitch - 6, h=self.height)


def draw_record(
    d: Drawing,
    key: str,
    box: Box,
    record: Record,
    actor: int | None,
    *,
    part: str,
    **more: Any,
) -> None:
    """actor: the number of its producer, where that is shown. part: in which partition
    it is.
    """
    state = record.state
    text = fit(record.text, MOST_WORDS, 13.5, mono=True, bold=True)
    if d.phone:
        text = _in_short(record.text, box.w - 8)
    if state in MARKERS:
        letter = record.text[:1]
        room = box.w - 8
        text = fitting([text, letter], room, 13.5, mono=True, bold=True)
    paint = look_of(state, actor)._asdict()
    d.cell(
        key,
        **box._asdict(),
        text=text,
        room=box.w - 8,
        width=2,
        of=record.number,
        same=f"{part}/{record.offset}",
        tip=f"offset {record.offset} of {part}: {state or 'of no transaction'}",
        **paint,
        **more,
    )
    if state == "aborted":
        begin = (box.x + 3, box.bottom - 3)
        end = (box.right - 3, box.y + 3)
        d.line(f"{key}/cross", *begin, *end, line="trouble", width=2)


def _in_short(text: str, room: float) -> str:
    """The whole, or a word that tells it from others: a number, or the first."""
    words = text.split() or [text]
    numbers = [word for word in words if word.isdecimal()]
    short = [*numbers, *words][0]
    return fitting([text, short], room, 13.5, mono=True, bold=True) or short


def draw_ground(d: Drawing, key: str, columns: Columns, stable: int, end: int) -> None:
    """Draw the ground behind a closed gate. stable: the last stable offset."""
    begins = columns.box(max(stable, columns.first)).x
    width = columns.box(end).x - begins
    if width <= 0:
        return
    d.rect(
        f"{key}/behind",
        x=begins - 3,
        y=columns.y - 5,
        w=width,
        h=columns.height + 10,
        fill="hatch",
        r=4,
        fade=0.55,
    )


def draw_gate(
    d: Drawing, key: str, columns: Columns, stable: int, *, is_shut: bool
) -> None:
    """At the last stable offset; shut while a transaction is open behind it."""
    if stable < columns.first:
        return
    x = columns.box(stable).x - 3
    top = columns.y - ABOVE
    wide = SHUT if is_shut else OPENED
    height = ABOVE + columns.height + 8
    left = x - wide / 2
    d.rect(f"{key}/gate", x=left, y=top, w=wide, h=height, fill="ink", r=2)
    words = f"last stable offset {stable}"
    if is_shut:
        words = f"shut: {words}"
    look: Attributes = {"size": 12, "bold": True}
    place = x + 8
    if not has_room(words, d.width - place, 12, bold=True):
        place = x - 8
        look["anchor"] = "end"
    d.text(f"{key}/stable", place, top + 10, words, **look)


class Look(NamedTuple):
    """The look of a record."""

    fill: str
    line: str
    ink: str = "ink"
    dash: str | None = None


def look_of(state: str, actor: int | None) -> Look:
    """The look of a record, by the fate of its transaction."""
    colour = "quiet" if actor is None else actor_colour(actor)
    if state == "COMMIT":
        return Look("good", "ink")
    if state == "open":
        return Look("paper", colour, dash="4 3")
    if state not in ("", "committed"):
        return Look("paper", "trouble", "trouble")
    if actor is None:
        return Look("cell", "quiet")
    return Look(colour, colour, ink_on_actor(actor))

"""Partitions with transactions as rows: a record by what became of its transaction, and
the gate at the last stable offset; and what readers were handed. What all pictures of
transactions share.

A record has the colour of its producer: an outline while its transaction is open,
filled when that is committed, crossed out when it is aborted. It keeps its place in the
log whatever happens, and looks the same where a reader was handed it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from minikafka.theatre.actors import actor_colour, ink_on_actor
from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, part
from minikafka.theatre.drawing import (
    Box,
    Drawing,
    Point,
    fit,
    fitting,
    has_room,
    widest,
)
from minikafka.theatre.drawing import Look as Attributes
from minikafka.theatre.pictures.transaction.log import MARKERS, Record
from minikafka.theatre.play import Cast, Space
from minikafka.theatre.text import key_part

PITCH, LEAST_PITCH = 84, 44  # from one record to the next, however short what they say
# height above the records, for a gate's words; of the records; of what is below them
ABOVE, CELL, BELOW = 16, 30, 19
READ = 26  # height of records that were handed over
APART = 12  # from a caption to its records, with a gate between them
SHUT, OPENED = 8, 3  # width of a gate
MOST_WORDS = 400  # width of the longest value that anybody reads
WAITS = 64  # width of the words behind what a reader was handed


class Columns(NamedTuple):
    """The places of a log's records. first: the first offset that has one. y: of their
    upper edge. right: where the page ends.
    """

    left: float
    first: int
    pitch: float
    y: float
    right: float

    def box(self, offset: int) -> Box:
        x = self.left + (offset - self.first) * self.pitch
        return Box(x=x, y=self.y, w=self.pitch - 6, h=CELL)


@dataclass
class Rows:
    """Of one play. producers: in the order of their colours; their boxes are called
    "producer 0". left: where records begin, behind the captions. waits: of a space, the
    places of what a reader waits for: log and offset. is_answer: gates and what waits
    behind them aren't there while a question is open.
    """

    cast: Cast
    scenes: Sequence[Scene]
    producers: Sequence[str]
    left: float
    waits: Callable[[Space, int], Sequence[Sequence[int]]]
    is_answer: bool = False

    def __post_init__(self) -> None:
        values = [""]
        self.most_read = 1
        for scene in self.scenes:
            for log in scene["space"]["logs"]:
                values += [Record(*each).text for each in log["records"]]
            for _, found in scene["space"]["readers"]:
                self.most_read = max(self.most_read, len(found))
        self.wanted = 20 + max(
            widest(each, 13.5, mono=True, bold=True) for each in values
        )

    def actor(self, record: Record) -> int | None:
        """The number of its producer, where that is shown."""
        if record.producer not in self.producers:
            return None
        return list(self.producers).index(record.producer)

    # -- logs

    def logs(self) -> list[Item]:
        """A box for each partition."""
        return [self._log(number) for number in range(len(self.cast["parts"]))]

    def _log(self, number: int) -> Item:
        name = self.cast["parts"][number]

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            log = scene["space"]["logs"][number]
            columns = self._columns(places[f"log {name}"], log)
            self._draw(d, places, name, log, columns)

        return part(f"log {name}", draw, high=ABOVE + CELL + BELOW)

    def _columns(self, place: Box, log: Mapping[str, Any]) -> Columns:
        """As many as fit, up to the log's end and the place after it."""
        room = place.right - self.left
        pitch = max(room / (self.cast["most"] + 1), LEAST_PITCH)
        pitch = min(pitch, max(PITCH, self.wanted))
        count = int(room / pitch + 0.1) - 1
        first = max(log["end"] - count, 0)
        return Columns(self.left, first, pitch, place.y + ABOVE, place.right)

    def _draw(
        self,
        d: Drawing,
        places: Places,
        name: str,
        log: Mapping[str, Any],
        columns: Columns,
    ) -> None:
        """A record comes from its producer, a marker from above."""
        key = f"log/{key_part(name)}"
        joined = log.get("joined", "")
        end, stable = log["end"], log["last_stable_offset"]
        gate = not (self.is_answer and d.asks)
        is_shut = gate and log["is_held"]
        caption(d, key, name, self.left, columns.y + (10 if joined else 19))
        if joined:
            x = self.left - APART - widest(joined, 12, bold=True) - 10
            fill = "said" if joined == "joined" else "good"
            d.chip(f"{key}/joined", x, columns.y + 16, joined, fill=fill)
        if is_shut:
            _ground(d, key, columns, stable, end)
        for record in (Record(*each) for each in log["records"]):
            if record.offset < columns.first:
                continue
            home = places.get(f"producer {self.actor(record)}")
            comes = Point(home.x, home.y) if home else Point(columns.left, 0)
            self._record(
                d,
                f"record/{key_part(name)}/{record.offset}",
                columns.box(record.offset),
                record,
                name,
                comes,
                below=str(record.offset),
            )
        d.slot(f"{key}/next", *columns.box(end), end)
        if gate:
            _gate(d, key, columns, stable, is_shut=is_shut)

    # -- readers

    def handed(self, side: int) -> Item:
        """The records that a reader was given, in order, and the places of those it
        waits for.
        """

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            space = scene["space"]
            reader, found = space["readers"][side]
            later = space.get("later", {}).get(reader)
            hidden = self.is_answer and d.asks
            waiting = [] if hidden else self.waits(space, side)
            place = places[f"handed {side}"]
            key = f"reader/{side}"
            pitch = max((place.w - WAITS) / self.most_read, LEAST_PITCH)
            pitch = min(pitch, max(PITCH, self.wanted))
            count = max(int((place.w - WAITS) / pitch + 0.1), 1)
            first = max(len(found) + len(waiting) - count, 0)
            box = Box(place.x, place.y, pitch - 6, READ)
            for number, (log, *each) in enumerate(found[first:], first):
                record = Record(*each)
                name = self.cast["parts"][log]
                columns = self._columns(places[f"log {name}"], space["logs"][log])
                comes = columns.box(record.offset)
                origin = Point(max(comes.x, columns.left), comes.y)
                self._record(d, f"{key}/{number}", box, record, name, origin)
                box = box._replace(x=box.x + pitch)
            for log, offset in waiting[-count:]:
                name = self.cast["parts"][log]
                _wait(d, f"{key}/waits/{log}/{offset}", box, name, offset)
                box = box._replace(x=box.x + pitch)
            beside = (box.x + 2, place.y + 18)
            look: Attributes = {"size": 12, "bold": True}
            if waiting:
                d.text(f"{key}/wait", *beside, waits_words(waiting), **look)
            elif later:
                said = f"{later} apart: each partition opened on its own"
                if has_room(said, place.right - beside[0], 13.5, bold=True):
                    d.text(f"{key}/later", *beside, said, size=13.5, bold=True)

        return part(
            f"handed {side}", draw, high=READ, least=LEAST_PITCH + WAITS, grow=1
        )

    def _record(
        self,
        d: Drawing,
        key: str,
        box: Box,
        record: Record,
        name: str,
        comes: Point,
        **more: Any,
    ) -> None:
        """name: of its partition."""
        state = record.state
        text = _in_short(record, box.w - 6)
        is_tight = not has_room(text, box.w - 14, 13.5, mono=True, bold=True)
        d.cell(
            key,
            **box._asdict(),
            text=text,
            size=12 if is_tight else 13.5,
            room=box.w - 6,
            width=2,
            of=record.number,
            same=f"{name}/{record.offset}",
            tip=f"offset {record.offset} of {name}: {state or 'of no transaction'}",
            from_x=comes.x,
            from_y=comes.y,
            **look_of(state, self.actor(record))._asdict(),
            **more,
        )
        if state == "aborted":
            begin = (box.x + 3, box.bottom - 3)
            end = (box.right - 3, box.y + 3)
            d.line(f"{key}/cross", *begin, *end, line="trouble", width=2)


def caption(
    d: Drawing, key: str, words: str, left: float, y: float, plain: bool = False
) -> None:
    """The name of a row, before where it begins."""
    right = left - APART
    if plain:
        d.note(f"{key}/name", right, y, words, "end", size=12, room=right)
    else:
        d.text(f"{key}/name", right, y, words, bold=True, anchor="end", room=right)


def waits_words(waits: Sequence[Any]) -> str:
    """How many records a reader waits for."""
    return "1 waits" if len(waits) == 1 else f"{len(waits)} wait"


def _in_short(record: Record, room: float) -> str:
    """The whole, or a word that tells it from others: a number, or the first; of a
    marker its letter.
    """
    text = fit(record.text, MOST_WORDS, 13.5, mono=True, bold=True)
    words = text.split() or [text]
    numbers = [word for word in words if word.isdecimal()]
    short = text[:1] if record.state in MARKERS else [*numbers, *words][0]
    return fitting([text, short], room, 13.5, mono=True, bold=True) or short


def _wait(d: Drawing, key: str, box: Box, name: str, offset: int) -> None:
    """The place of a record that is there, and that a reader has not been handed."""
    tip = f"offset {offset} of {name}: not handed over yet"
    look: Attributes = {"dash": "3 3", "same": f"{name}/{offset}", "tip": tip}
    d.rect(key, *box, fill="hatch", line="quiet", r=5, fade=0.55, **look)


def _ground(d: Drawing, key: str, columns: Columns, stable: int, end: int) -> None:
    """Draw the ground behind a closed gate. stable: the last stable offset."""
    begins = columns.box(max(stable, columns.first)).x
    width = columns.box(end).x - begins
    if width > 0:
        box = Box(begins - 3, columns.y - 5, width, CELL + 10)
        d.rect(f"{key}/behind", *box, fill="hatch", r=4, fade=0.55)


def _gate(
    d: Drawing, key: str, columns: Columns, stable: int, *, is_shut: bool
) -> None:
    """At the last stable offset; shut while a transaction is open behind it."""
    if stable < columns.first:
        return
    x = columns.box(stable).x - 3
    top = columns.y - ABOVE
    wide = SHUT if is_shut else OPENED
    box = Box(x - wide / 2, top, wide, ABOVE + CELL + 8)
    d.rect(f"{key}/gate", *box, fill="ink", r=2)
    words = (
        f"shut: last stable offset {stable}"
        if is_shut
        else f"last stable offset {stable}"
    )
    is_left = not has_room(words, columns.right - x - 8, 12, bold=True)
    look: Attributes = {
        "size": 12,
        "bold": True,
        "anchor": "end" if is_left else "start",
    }
    d.text(f"{key}/stable", x - 8 if is_left else x + 8, top + 10, words, **look)


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

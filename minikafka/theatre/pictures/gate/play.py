"""An open transaction as a gate on the log: all records behind it, of any producer,
wait until the transaction ends. Beside each other are a reader of all records and one
of committed ones, with the records that they were given.

A record has the colour of its writer, an outline while its transaction is open. Below,
as lengths: how long a transaction was open, and how long others' records waited.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from minikafka.theatre.actors import actor_colour
from minikafka.theatre.bars import Bars, Lane, lane
from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    Box,
    Drawing,
    Look,
    Part,
    text_width,
    widest,
)
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.gate.story import GateStory
from minikafka.theatre.pictures.transaction.log import Record
from minikafka.theatre.pictures.transaction.rows import (
    ABOVE,
    LEAST_PITCH,
    Columns,
    Sizes,
    draw_gate,
    draw_ground,
    draw_record,
)
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import dotted

# heights: of the writers, a partition, its records, a reader, what it was handed
HEAD, PART, CELL, CARD, READ = 40, 80, 32, 62, 26
LINE = 18  # on a phone: a second line of writers, and of readers
LEFT, LEFT_NARROW, LEFT_PHONE = 128, 118, 136  # where records begin
PITCH, GAP = 104, 10
MOST_WRITERS, MOST_WAITS = 3, 2


class Paint(NamedTuple):
    """The colours of a chip."""

    fill: str
    ink: str


OPEN = Paint("said", "ink")
COMMITTED = Paint("good", "ink")
ABORTED = Paint("trouble", "paper")


class GatePlay(Play):
    story = GateStory
    ms_a_second = 1000
    legend = "Outline: its transaction is open. Crossed out: aborted."
    rule = (
        "The gate stands at the last stable offset: readers of committed records get"
        " what is before it."
    )

    def scenario(self, scene: Scene) -> str:
        words = []
        for writer in _writers(scene["space"]):
            if writer.is_open:
                words.append(f"{writer.name} has a transaction open")
        return dotted(*words) or "no transaction is open"

    def summary(self, space: Space) -> str:
        said = []
        for part, log in zip(self.cast["parts"], space["logs"], strict=True):
            held = _values(log["records"])
            said.append(f"{part} holds {held}")
        for name, found in space["readers"]:
            records = [each for _, *each in found]
            had = _values(records)
            said.append(f"{name} has {had}")
        return "; ".join(said)

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.bars = Bars(scenes)
        sizes = Sizes.of(scenes)
        self.most_read = sizes.most_read
        self.widest = sizes.widest_value + 16

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d = drawing
        scene = scenes[-1]
        space = scene["space"]
        now = scene["at"]
        more = _second_line(d)
        self._writers(d, space)
        top = HEAD + more
        places = []
        for place, log in enumerate(space["logs"]):
            columns = self._columns(d, log, top)
            self._part(d, place, log, columns)
            places.append(columns)
            top += PART
        if self.cast["levels"]:
            self._readers(
                d,
                space["readers"],
                top + 4,
                places,
            )
            top += CARD + more + 10
        lanes = self._lanes(space, now, d.asks)
        self.bars.draw(d, top, lanes, now)

    def _actor(self, writer: str) -> int | None:
        """Its number among the writers; None where it isn't shown."""
        writers = self.cast["writers"]
        if writer not in writers:
            return None
        number: int = writers.index(writer)
        return number

    def _pitch(self, d: Drawing) -> float:
        """From one writer to the next."""
        writers = len(self.cast["writers"])
        shown = min(writers, MOST_WRITERS)
        return d.width / max(shown, 2)

    def _writers(self, d: Drawing, space: Space) -> None:
        """Draw the producers, and what has happened to them."""
        pitch = self._pitch(d)
        shown = _writers(space)[:MOST_WRITERS]
        for number, writer in enumerate(shown):
            part = d.part(f"writer/{number}", number * pitch, 0)
            _writer(part, number, writer, pitch)

    # -- the logs

    def _columns(self, d: Drawing, log: Mapping[str, Any], y: float) -> Columns:
        left = LEFT
        if d.phone:
            left = LEFT_PHONE
        elif d.narrow:
            left = LEFT_NARROW
        return Columns.of(
            d,
            left=left,
            most=self.cast["most"],
            end=log["end"],
            wanted=max(PITCH, self.widest),
            y=y + ABOVE,
            height=CELL,
        )

    def _part(
        self, d: Drawing, place: int, log: Mapping[str, Any], columns: Columns
    ) -> None:
        """A record comes from its writer."""
        left = columns.left
        part = self.cast["parts"][place]
        key = f"log/{place}"
        end = log["end"]
        stable = log["last_stable_offset"]
        is_shut = log["is_held"] and not d.asks
        look: Look = {
            "bold": True,
            "anchor": "end",
            "room": left - 14,
        }
        d.text(
            f"{key}/name",
            left - 12,
            columns.y + 21,
            part,
            **look,
        )
        if is_shut:
            draw_ground(d, key, columns, stable, end)
        for each in log["records"]:
            record = Record(*each)
            offset = record.offset
            if offset < columns.first:
                continue
            actor = self._actor(record.producer)
            from_x = None
            if actor is not None:
                from_x = actor * self._pitch(d)
            draw_record(
                d,
                f"record/{place}/{offset}",
                columns.box(offset),
                record,
                actor,
                part=part,
                below=str(offset),
                from_x=from_x,
                from_y=0.0,
            )
        d.slot(f"{key}/next", *columns.box(end), end)
        if not d.asks:
            draw_gate(d, key, columns, stable, is_shut=is_shut)

    # -- the readers

    def _readers(
        self,
        d: Drawing,
        readers: Sequence[Any],
        y: float,
        places: Sequence[Columns],
    ) -> None:
        wide = (d.width - GAP) / 2
        more = _second_line(d)
        for side, (name, found) in enumerate(readers):
            box = Box(x=side * (wide + GAP), y=y, w=wide, h=CARD + more)
            level = self.cast["levels"][name]
            key = f"reader/{side}"
            d.rect(
                key,
                *box,
                fill="wash",
                line="rule",
                r=8,
            )
            left = box.x + 10
            base = y + 18
            room = wide - 30 - widest(level, 12)
            if d.phone:
                room = wide - 18
                d.note(
                    f"{key}/level",
                    left,
                    base + 16,
                    level,
                    size=12,
                )
            else:
                d.note(
                    f"{key}/level",
                    box.right - 8,
                    base,
                    level,
                    "end",
                    size=12,
                )
            d.text(
                f"{key}/name",
                left,
                base,
                name,
                bold=True,
                room=room,
            )
            self._handed(d, key, box, found, places)

    def _handed(
        self,
        d: Drawing,
        key: str,
        box: Box,
        found: Sequence[Any],
        places: Sequence[Columns],
    ) -> None:
        """Draw the records that a reader was given, in order; new ones come from the
        log.
        """
        room = box.w - 16
        pitch = min(max(room / self.most_read, LEAST_PITCH), self.widest)
        fits = int(room / pitch + 0.1)
        first = max(len(found) - fits, 0)
        y = box.bottom - READ - 8
        x = box.x + 8
        for place, *each in found[first:]:
            record = Record(*each)
            offset = record.offset
            columns = places[place]
            comes = columns.box(offset)
            cell = Box(
                x=x,
                y=y,
                w=pitch - 5,
                h=READ,
            )
            draw_record(
                d,
                f"{key}/{place}/{offset}",
                cell,
                record,
                self._actor(record.producer),
                part=self.cast["parts"][place],
                from_x=max(comes.x, columns.left),
                from_y=comes.y,
            )
            x += pitch

    # -- how long

    def _lanes(self, space: Space, now: int, asks: bool) -> list[Lane]:
        lanes = []
        open_spans = {writer.name: writer.spans for writer in _writers(space)}
        shown = self.cast["writers"][:MOST_WRITERS]
        for number, name in enumerate(shown):
            if name not in self.cast["transactional"]:
                continue
            spans = open_spans.get(name, [])
            colour = actor_colour(number)
            lanes.append(lane(f"{name}: open", spans, colour, now))

        waited = {}
        for place, offset, *span in space["waits"]:
            waited[place, offset] = span
        for place, offset, text in self.cast["waited"][:MOST_WAITS]:
            spans = []
            if (place, offset) in waited and not asks:
                spans.append(waited[place, offset])
            lanes.append(lane(f"{text}: waits", spans, "trouble", now))
        return lanes


class Writer(NamedTuple):
    """A producer as the story describes it. ended: how its last transaction ended.
    told: how many of its records were acknowledged.
    """

    name: str
    is_open: bool
    ended: str
    told: int
    spans: list[list[Any]]


def _writers(space: Space) -> list[Writer]:
    return [Writer(*each) for each in space["writers"]]


def _writer(part: Part, number: int, writer: Writer, pitch: float) -> None:
    """Its name, and a chip that says what has become of its records. pitch: to the
    next one.
    """
    name = writer.name
    part.disc(
        "disc",
        x=12,
        y=15,
        r=11,
        letter=name[:1].upper(),
        number=number,
        size=13,
    )
    word, paint = _became(writer)
    fill, ink = paint
    room = pitch - 40
    if word and not part.phone:
        room -= widest(word, 12, bold=True) + 20
    part.text(
        "name",
        30,
        20,
        name,
        bold=True,
        room=room,
    )
    if not word:
        return
    taken = text_width(name, 13, bold=True) / LEAST_STRETCH
    left = 38 + min(taken, room)
    if part.phone:
        left = 30
    part.chip(
        "chip",
        x=left,
        y=6 + 1.2 * _second_line(part),
        text=word,
        fill=fill,
        ink=ink,
    )


def _values(records: Sequence[Sequence[Any]]) -> str:
    """The values of records, one after the other."""
    texts = [Record(*each).text for each in records]
    return ", ".join(texts) or "nothing"


def _second_line(d: Drawing) -> float:
    """The height of a line below a name; on wider pages there is room beside it."""
    return LINE if d.phone else 0


def _became(writer: Writer) -> tuple[str, Paint]:
    """The words on a producer's chip."""
    if writer.is_open:
        return "transaction open", OPEN
    if writer.ended == "aborted":
        return writer.ended, ABORTED
    if writer.ended:
        return writer.ended, COMMITTED
    words = f"{writer.told} acknowledged" if writer.told else ""
    return words, COMMITTED

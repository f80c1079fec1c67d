"""An open transaction as a gate on the log: what is behind it waits, whoever wrote it,
until the transaction ends. Beside each other a reader of all records and one of
committed ones, with what they were handed.

A record has the colour of its writer, an outline while its transaction is open. Below,
as lengths: how long a transaction was open, and how long others' records waited.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from minikafka.theatre.bars import Bars, Lane, lane
from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    Box,
    Drawing,
    Look,
    actor_colour,
    text_width,
    widest,
)
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.gate_story import GateStory
from minikafka.theatre.pictures.transaction_log import Record
from minikafka.theatre.pictures.transaction_rows import (
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
OPEN, COMMITTED, ABORTED = ("said", "ink"), ("good", "ink"), ("trouble", "paper")


class GatePlay(Play):
    story = GateStory
    ms_a_second = 1000
    foot = (
        "Outline: its transaction is open. Crossed out: aborted. The gate stands at the"
        " last stable offset: readers of committed records get what is before it."
    )

    def scenario(self, scene: Scene) -> str:
        words = [
            f"{name} has a transaction open"
            for name, is_open, *_ in scene["space"]["writers"]
            if is_open
        ]
        return dotted(*words) or "no transaction is open"

    def summary(self, space: Space) -> str:
        said = []
        for part, log in zip(self.cast["parts"], space["logs"], strict=True):
            values = [Record(*each).text for each in log["records"]]
            said.append(f"{part} holds {', '.join(values) or 'nothing'}")
        for name, found in space["readers"]:
            values = [Record(*each).text for _, *each in found]
            said.append(f"{name} has {', '.join(values) or 'nothing'}")
        return "; ".join(said)

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.bars = Bars(scenes)
        sizes = Sizes.of(scenes)
        self.most_read = sizes.most_read
        self.widest = sizes.widest_value + 16

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d = drawing
        space = scenes[-1]["space"]
        self._writers(d, space)
        top = HEAD + _second_line(d)
        places = []
        for place, log in enumerate(space["logs"]):
            columns = self._columns(d, log, top)
            self._part(d, place, log, columns)
            places.append(columns)
            top += PART
        if self.cast["levels"]:
            self._readers(d, space["readers"], top + 4, places)
            top += CARD + _second_line(d) + 10
        lanes = self._lanes(space, scenes[-1]["at"], d.asks)
        self.bars.draw(d, top, lanes, scenes[-1]["at"])

    def _actor(self, writer: str) -> int | None:
        writers = self.cast["writers"]
        return writers.index(writer) if writer in writers else None

    def _pitch(self, d: Drawing) -> float:
        """From one writer to the next."""
        return d.width / max(len(self.cast["writers"][:MOST_WRITERS]), 2)

    def _writers(self, d: Drawing, space: Space) -> None:
        """Who writes, and what has become of it."""
        pitch = self._pitch(d)
        for number, writer in enumerate(space["writers"][:MOST_WRITERS]):
            name, is_open, ended, told, _ = writer
            part = d.part(f"writer/{number}", number * pitch, 0)
            letter = name[:1].upper()
            part.disc(
                "disc",
                x=12,
                y=15,
                r=11,
                letter=letter,
                number=number,
                size=13,
            )
            word, (fill, ink) = _became(is_open, ended, told)
            wide = widest(word, 12, bold=True) + 10 if word else 0
            room = pitch - 50 - wide
            if d.phone:
                room = pitch - 40
            part.text(
                "name",
                30,
                20,
                name,
                bold=True,
                room=room,
            )
            taken = text_width(name, 13, bold=True) / LEAST_STRETCH
            if word:
                left = 38 + min(taken, room)
                if d.phone:
                    left = 30
                part.chip(
                    "chip",
                    x=left,
                    y=6 + 1.2 * _second_line(d),
                    text=word,
                    fill=fill,
                    ink=ink,
                )

    # -- the logs

    def _columns(self, d: Drawing, log: Mapping[str, Any], y: float) -> Columns:
        left = LEFT_NARROW if d.narrow else LEFT
        if d.phone:
            left = LEFT_PHONE
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
        look: Look = {"bold": True, "anchor": "end", "room": left - 14}
        d.text(f"{key}/name", left - 12, columns.y + 21, part, **look)
        is_shut = log["is_held"] and not d.asks
        if is_shut:
            draw_ground(d, key, columns, stable, end)
        for each in log["records"]:
            record = Record(*each)
            if record.offset >= columns.first:
                actor = self._actor(record.producer)
                from_x = None if actor is None else actor * self._pitch(d)
                draw_record(
                    d,
                    f"record/{place}/{record.offset}",
                    columns.box(record.offset),
                    record,
                    actor,
                    part=part,
                    below=str(record.offset),
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
            room = wide - 30 - widest(level, 12)
            if d.phone:
                room = wide - 18
                d.note(f"{key}/level", box.x + 10, y + 34, level, size=12)
            else:
                right = box.right - 8
                d.note(f"{key}/level", right, y + 18, level, "end", size=12)
            d.text(
                f"{key}/name",
                box.x + 10,
                y + 18,
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
        """What a reader was handed, in its order; new ones come from the log."""
        room = box.w - 16
        pitch = min(max(room / self.most_read, LEAST_PITCH), self.widest)
        fits = int(room / pitch + 0.1)
        first = max(len(found) - fits, 0)
        y = box.bottom - READ - 8
        cell = Box(x=box.x + 8, y=y, w=pitch - 5, h=READ)
        for place, *each in found[first:]:
            record = Record(*each)
            comes = places[place].box(record.offset)
            draw_record(
                d,
                f"{key}/{place}/{record.offset}",
                cell,
                record,
                self._actor(record.producer),
                part=self.cast["parts"][place],
                from_x=max(comes.x, places[place].left),
                from_y=comes.y,
            )
            cell = cell._replace(x=cell.x + pitch)

    # -- how long

    def _lanes(self, space: Space, now: int, asks: bool) -> list[Lane]:
        lanes = []
        there = {name: spans for name, *_, spans in space["writers"]}
        for number, name in enumerate(self.cast["writers"][:MOST_WRITERS]):
            spans = there.get(name, ())
            if name in self.cast["transactional"]:
                colour = actor_colour(number)
                lanes.append(lane(f"{name}: open", spans, colour, now))
        waited = {(place, offset): span for place, offset, *span in space["waits"]}
        for place, offset, text in self.cast["waited"][:MOST_WAITS]:
            span = waited.get((place, offset))
            spans = [span] if span and not asks else []
            lanes.append(lane(f"{text}: waits", spans, "trouble", now))
        return lanes


def _second_line(d: Drawing) -> float:
    """What a line below a name takes; beside it there is room on wider pages."""
    return LINE if d.phone else 0


def _became(is_open: bool, ended: str, told: int) -> tuple[str, tuple[str, str]]:
    """What a writer's chip says, with its fill and ink."""
    if is_open:
        return "transaction open", OPEN
    if ended == "aborted":
        return ended, ABORTED
    if ended:
        return ended, COMMITTED
    return (f"{told} acknowledged" if told else ""), COMMITTED

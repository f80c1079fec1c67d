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
    fit,
    text_width,
    widest,
)
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.gate_story import GateStory
from minikafka.theatre.pictures.transaction import Sizes, look_of
from minikafka.theatre.pictures.transaction_log import Record
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import dotted

# heights: of the writers, a partition, its records, a reader, what it was handed
HEAD, PART, CELL, CARD, READ = 40, 80, 32, 62, 26
LEFT, LEFT_NARROW = 128, 118  # where records begin
PITCH, LEAST_PITCH, GAP = 104, 44, 10
MOST_WRITERS, MOST_WAITS = 3, 2
ABOVE = 18  # from a partition's upper edge to its records
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
        top = HEAD
        for place, log in enumerate(space["logs"]):
            self._part(d, place, log, top)
            top += PART
        if self.cast["levels"]:
            self._readers(d, space["readers"], top + 4)
            top += CARD + 10
        lanes = self._lanes(space, scenes[-1]["at"], d.asks)
        self.bars.draw(d, top, lanes, scenes[-1]["at"])

    def _actor(self, writer: str) -> int | None:
        writers = self.cast["writers"]
        return writers.index(writer) if writer in writers else None

    def _writers(self, d: Drawing, space: Space) -> None:
        """Who writes, and what has become of it."""
        pitch = d.width / max(len(self.cast["writers"][:MOST_WRITERS]), 2)
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
                part.chip(
                    "chip",
                    x=left,
                    y=6,
                    text=word,
                    fill=fill,
                    ink=ink,
                )

    # -- the logs

    def _box(self, d: Drawing, log: Mapping[str, Any], offset: int, y: float) -> Box:
        """The place of a record; those that have none are left of the page."""
        left = LEFT_NARROW if d.narrow else LEFT
        room = d.width - left
        wanted = max(PITCH, self.widest)
        pitch = min(max(room / (self.cast["most"] + 1), LEAST_PITCH), wanted)
        count = int(room // pitch) - 1
        first = max(log["end"] - count, 0)
        x = left + (offset - first) * pitch
        return Box(x=x, y=y + ABOVE, w=pitch - 6, h=CELL)

    def _part(self, d: Drawing, place: int, log: Mapping[str, Any], y: float) -> None:
        left = LEFT_NARROW if d.narrow else LEFT
        part = self.cast["parts"][place]
        key = f"log/{place}"
        look: Look = {
            "bold": True,
            "anchor": "end",
            "room": left - 14,
        }
        d.text(
            f"{key}/name",
            left - 12,
            y + ABOVE + 21,
            part,
            **look,
        )
        end = self._box(d, log, log["end"], y)
        is_shut = log["is_held"] and not d.asks
        if is_shut:
            self._behind(
                d,
                key,
                log,
                y,
                end,
            )
        for each in log["records"]:
            record = Record(*each)
            box = self._box(d, log, record.offset, y)
            if box.x >= left:
                look = {
                    "below": str(record.offset),
                    "from_y": 0.0,
                }
                self._record(
                    d,
                    f"record/{place}/{record.offset}",
                    box,
                    record,
                    look,
                )
        d.slot(f"{key}/next", *end, log["end"])
        self._gate(
            d,
            key,
            log,
            y,
            is_shut,
        )

    def _behind(
        self, d: Drawing, key: str, log: Mapping[str, Any], y: float, end: Box
    ) -> None:
        """The ground behind a gate."""
        gate = self._box(d, log, log["last_stable_offset"], y)
        width = end.x - gate.x
        if width > 0:
            d.rect(
                f"{key}/behind",
                x=gate.x - 3,
                y=y + ABOVE - 5,
                w=width,
                h=CELL + 10,
                fill="hatch",
                r=4,
                fade=0.55,
            )

    def _gate(
        self, d: Drawing, key: str, log: Mapping[str, Any], y: float, is_shut: bool
    ) -> None:
        """At the last stable offset: shut while a transaction is open behind it."""
        offset = log["last_stable_offset"]
        box = self._box(d, log, offset, y)
        x = box.x - 3
        if x < (LEFT_NARROW if d.narrow else LEFT) - 4 or d.asks:
            return
        words = f"last stable offset {offset}"
        if is_shut:
            words = f"shut: {words}"
        thick = 8 if is_shut else 3
        d.rect(
            f"{key}/gate",
            x=x - thick / 2,
            y=y,
            w=thick,
            h=ABOVE + CELL + 8,
            fill="ink",
            r=2,
        )
        wide = widest(words, 12, bold=True)
        is_late = x + 8 + wide > d.width
        place = x - 8 if is_late else x + 8
        look: Look = {
            "bold": True,
            "anchor": "end" if is_late else "start",
        }
        d.text(
            f"{key}/stable",
            place,
            y + 10,
            words,
            size=12,
            **look,
        )

    def _record(
        self, d: Drawing, key: str, box: Box, record: Record, more: Look
    ) -> None:
        """A record by what became of its transaction."""
        text = record.text
        room = (box.w - 8) * LEAST_STRETCH
        is_marker = record.state in ("COMMIT", "ABORT")
        if is_marker and text_width(text, 13.5, mono=True, bold=True) > room:
            text = text[:1]
        shown = fit(
            text,
            room,
            13.5,
            mono=True,
            bold=True,
        )
        look: Look = look_of(record.state, self._actor(record.producer))._asdict()
        tip = f"offset {record.offset}: {record.state or 'of no transaction'}"
        d.cell(
            key,
            x=box.x,
            y=box.y,
            w=box.w,
            h=box.h,
            text=shown,
            width=2,
            of=record.number,
            tip=tip,
            **look,
            **more,
        )
        if record.state == "aborted":
            begin, end = (box.x + 3, box.bottom - 3), (box.right - 3, box.y + 3)
            d.line(
                f"{key}/cross",
                *begin,
                *end,
                line="trouble",
                width=2,
            )

    # -- the readers

    def _readers(self, d: Drawing, readers: Sequence[Any], y: float) -> None:
        wide = (d.width - GAP) / 2
        for side, (name, found) in enumerate(readers):
            box = Box(x=side * (wide + GAP), y=y, w=wide, h=CARD)
            level = self.cast["levels"][name]
            key = f"reader/{side}"
            d.rect(
                key,
                *box,
                fill="wash",
                line="rule",
                r=8,
            )
            d.note(
                f"{key}/level",
                box.right - 8,
                y + 18,
                level,
                "end",
                size=12,
            )
            room = wide - 30 - widest(level, 12)
            d.text(
                f"{key}/name",
                box.x + 10,
                y + 18,
                name,
                bold=True,
                room=room,
            )
            self._handed(d, key, box, found)

    def _handed(self, d: Drawing, key: str, box: Box, found: Sequence[Any]) -> None:
        """What a reader was handed, in its order; new ones come from the log."""
        room = box.w - 16
        pitch = min(max(room / self.most_read, LEAST_PITCH), self.widest)
        first = max(len(found) - int(room // pitch), 0)
        cell = Box(x=box.x + 8, y=box.y + 28, w=pitch - 5, h=READ)
        for place, *each in found[first:]:
            record = Record(*each)
            look: Look = {"from_y": HEAD + place * PART + ABOVE}
            self._record(
                d,
                f"{key}/{place}/{record.offset}",
                cell,
                record,
                look,
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


def _became(is_open: bool, ended: str, told: int) -> tuple[str, tuple[str, str]]:
    """What a writer's chip says, with its fill and ink."""
    if is_open:
        return "transaction open", OPEN
    if ended == "aborted":
        return ended, ABORTED
    if ended:
        return ended, COMMITTED
    return (f"{told} acknowledged" if told else ""), COMMITTED

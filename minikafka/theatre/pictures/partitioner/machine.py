"""The left part of the partitioner's picture: the shop's hand, from which a record
comes, and the machine that computes the number of its partition.
"""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.theatre.actors import actor_colour, actor_number
from minikafka.theatre.drawing import (
    Box,
    Drawing,
    Look,
    Part,
    fit,
    fitting,
    has_room,
    text_width,
    widest,
    wrap,
)
from minikafka.theatre.pictures.partitioner.records import POSITIVE, Gauge
from minikafka.theatre.play import Space
from minikafka.theatre.text import dotted

# a record outside of a log, as in the pictures of sinks
SQUARE = 30
# where words begin in the machine, and the base of the first one that is computed
LEFT, FIRST_LINE = 12, 50
LINE, LINE_NARROW = 25, 20  # from one line to the next
# the machine: beside the hand, and below it on a narrow page
BESIDE = Box(x=58, y=26, w=286, h=118)
BELOW_Y, BELOW_H = 38, 104
SMALL, LARGE = 13, 16  # sizes of what is computed, and of what comes out


class Line(NamedTuple):
    """A line of the computation in the machine, and its result."""

    words: str
    result: str


class Machine:
    """producers: in the order of their colours."""

    def __init__(self, d: Drawing, space: Space, producers: Sequence[str]) -> None:
        self.d = d
        self.space = space
        self.now = space["now"]
        self.producers = producers
        self.box = BESIDE
        if d.narrow:
            self.box = Box(x=0, y=BELOW_Y, w=d.width, h=BELOW_H)
        self.pitch = LINE_NARROW if d.narrow else LINE

    @property
    def hand(self) -> Box:
        """The place of a record before it goes in: the machine is between this place
        and the partitions.
        """
        y = self.box.y + (self.box.h - SQUARE) / 2
        if self.d.narrow:
            y = 0
        return Box(
            x=0,
            y=y,
            w=SQUARE,
            h=SQUARE,
        )

    @property
    def part(self) -> Part:
        """The drawing's part inside the machine."""
        return self.d.part("machine", self.box.x, self.box.y)

    def draw(self) -> None:
        names = ["the producer's partitioner"]
        colour = "quiet"
        if self.now:
            producer = self.now["producer"]
            names = [f"{producer}'s partitioner", producer]
            colour = actor_colour(actor_number(producer, self.producers))
        self.d.rect(
            "machine",
            *self.box,
            fill="wash",
            line=colour,
            r=8,
            width=2,
        )
        self._goes_in()
        room = self.box.w - 2 * LEFT
        room_of_name = room
        if self.now:
            room_of_name -= self._kind(self.now["kind"])
            self._computation(self.now, room)
        else:
            self._divisors(room)
        name = fitting(names, room_of_name, SMALL, bold=True)
        self.part.text(
            "name",
            LEFT,
            23,
            name or names[-1],
            bold=True,
            room=room_of_name,
        )

    # -- what goes in

    def _goes_in(self) -> None:
        """The empty hand, and what was in it."""
        d = self.d
        x, y = 0, 15
        if d.narrow:
            x, y = SQUARE + 10, 20
        if not self.now:
            if self.space["divisors"]:
                was, count = self.space["divisors"]
                words = f"partitions: {was} → {count}"
                d.text("in/grows", x, y, words, bold=True, size=LARGE)
            return

        key = self.now["key"]
        value = self.now["value"] or ""
        words = dotted("no key" if key is None else f"key {key}", value)
        room = self.box.right - x
        d.text("in/key", x, y, words, bold=True, room=room)
        tip = f"a record of {self.now['producer']}: {words}"
        d.cell(
            "in/hand",
            *self.hand,
            fill="none",
            line="quiet",
            dash="2 3",
            tip=tip,
        )
        if not d.narrow:
            middle = self.hand.y + SQUARE / 2
            d.arrow(
                "in/arrow",
                x=self.hand.right + 3,
                y=middle,
                x2=self.box.x - 4,
                y2=middle,
            )

    # -- what is in the machine

    def _kind(self, kind: str) -> float:
        """The rule that chose, in the machine's corner; returns the room that it
        takes.
        """
        words = fit(kind, 110, 12, bold=True)
        wide = widest(words, 12, bold=True) + 14
        self.part.boxed(
            "kind",
            x=self.box.w - LEFT - wide,
            y=9,
            w=wide,
            h=19,
            word=words,
            fill="chip",
        )
        return wide + 8

    def _base(self, line: int) -> float:
        """The baseline of a line's words, counted from 0."""
        return FIRST_LINE + line * self.pitch

    def _computation(self, now: Space, room: float) -> None:
        """Draw the computation and its result."""
        if now["gauge"]:
            self._gauge(now, room)
            return
        lines = _hashed(now) if now["reason"] == "murmur2" else _ruled(now, room)
        *computed, result = lines
        for number, line in enumerate(computed):
            self._line(str(number), self._base(number), room, line)
        last = len(computed)
        self._result(str(last), self._base(last), room, result)

    def _gauge(self, now: Space, room: float) -> None:
        """How far it is until the producer takes another partition."""
        gauge = Gauge(*now["gauge"])
        words = f"{gauge.sent:,} of {gauge.most:,} bytes"
        if has_room(f"{words} (batch.size)", room, 13):
            words += " (batch.size)"
        machine = self.part
        machine.note("gauge/words", LEFT, self._base(0), words, room=room)
        bar = Box(
            x=LEFT,
            y=self._base(1) - 7,
            w=room,
            h=9,
        )
        machine.rect("gauge", *bar, fill="paper", line="quiet", r=3)
        full = min(gauge.sent / gauge.most, 1)
        filled = bar._replace(w=max(full * room, 3))
        machine.rect("gauge/sent", *filled, fill="ink", r=3)
        line = Line("partition", str(now["partition"]))
        self._result("2", self._base(2), room, line)

    def _divisors(self, room: float) -> None:
        """No record is in the machine: what changed in it, with one key that moves."""
        machine = self.part
        if not self.space["divisors"]:
            machine.note("waits", LEFT, FIRST_LINE, "waits for the first record")
            return

        was, count = self.space["divisors"]
        words = f"hash % {was} → % {count}"
        machine.text("divisor", LEFT, 52, words, bold=True, mono=True, size=18)
        if not self.space["example"]:
            return
        key, hashed = self.space["example"]
        y = 77
        for number, divisor in enumerate((was, count)):
            remainder = f"% {divisor} = {hashed % divisor}"
            line = Line(f"{key} {hashed}", remainder)
            self._result(f"example/{number}", y, room, line, size=SMALL)
            y += 18 if self.d.narrow else 21

    def _line(self, key: str, y: float, room: float, line: Line) -> None:
        """Its words, and what they come to at the end."""
        if not line.result:
            self.part.note(key, LEFT, y, line.words, room=room)
            return
        self._pair(key, y, room, line, size=SMALL, bold=False)

    def _result(
        self, key: str, y: float, room: float, line: Line, size: int = LARGE
    ) -> None:
        """Draw the result, so that it is noticed."""
        self._pair(key, y, room, line, size=size, bold=True)

    def _pair(
        self, key: str, y: float, room: float, line: Line, *, size: int, bold: bool
    ) -> None:
        taken = text_width(line.result, SMALL, mono=True, bold=bold) + 10
        machine = self.part
        machine.note(
            key,
            LEFT,
            y,
            line.words,
            mono=True,
            room=room - taken,
        )
        look: Look = {"mono": True, "bold": bold, "size": size, "anchor": "end"}
        machine.text(f"{key}/result", LEFT + room, y, line.result, **look)


def _hashed(now: Space) -> list[Line]:
    """The default rule, step by step."""
    positive = now["hash"] & POSITIVE
    return [
        Line("murmur2(key)", str(now["hash"])),
        Line("without sign bit", str(positive)),
        Line(f"% {now['partitions']} partitions", str(now["partition"])),
    ]


def _ruled(now: Space, room: float) -> list[Line]:
    """In words, on two lines at most, how another rule chose."""
    *_, why = now["why"].split(": ", 1)
    first, *rest = wrap(why, room * 0.8, 12.5)
    lines = [Line(first, "")]
    if rest:
        lines.append(Line(" ".join(rest), ""))
    return [*lines, Line("partition", str(now["partition"]))]

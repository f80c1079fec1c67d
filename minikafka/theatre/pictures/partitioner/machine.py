"""The left part of the partitioner's picture: the shop's hand, from which a record
comes, and the machine that computes the number of its partition.
"""

from typing import NamedTuple

from minikafka.theatre.actors import actor_colour, actor_number
from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, column, part, row
from minikafka.theatre.drawing import (
    Box,
    Drawing,
    Look,
    fit,
    fitting,
    has_room,
    text_width,
    widest,
    wrap,
)
from minikafka.theatre.pictures.partitioner.records import POSITIVE, Gauge, Key, Sent
from minikafka.theatre.play import Cast, Space
from minikafka.theatre.text import capital, dotted

# a record outside of a log, as in the pictures of sinks; with the arrow beside it
SQUARE, WITH_ARROW = 36, 66
ABOVE, HIGH, LEAST, WANTED = 26, 118, 270, 286  # what goes in; the machine
# where words begin in the machine; bases of what is computed first, and of the result
LEFT, FIRST_LINE, RESULT = 12, 52, 102
LINE = 22  # from one line to the next
SMALL, MIDDLE, LARGE = 13, 16, 26  # sizes: of words, of numbers, of what comes out


class Line(NamedTuple):
    """A line of the computation in the machine, and its result."""

    words: str
    result: str


def machine_box(cast: Cast) -> Item:
    """A record goes from the hand through the machine, which has its producer's
    colour.
    """

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        now = scene["space"]["now"]
        colour = "quiet"
        if now:
            colour = actor_colour(actor_number(now["producer"], cast["producers"]))
        d.rect("machine/box", *places["machine"], "wash", colour, r=8, width=2)
        Machine(d, scene["space"], places["machine"]).draw()

    hand = part("hand", _hand, high=HIGH, least=WITH_ARROW)
    machine = part("machine", draw, high=HIGH, least=LEAST, wanted=WANTED, grow=0.1)
    goes_in = part("in", _goes_in, high=ABOVE)
    apart = part("apart", _apart, high=0)
    return column(goes_in, row(hand, machine, breaks=False), apart)


def hand(places: Places) -> Box:
    """The place of a record before it goes in."""
    x, y, _, high = places["hand"]
    return Box(x, y + (high - SQUARE) / 2, SQUARE, SQUARE)


def _hand(d: Drawing, places: Places, scene: Scene) -> None:
    """Empty once its record has gone in."""
    now = scene["space"]["now"]
    if now:
        place = hand(places)
        tip = f"a record of {now['producer']}: {_record(now)}"
        look: Look = {"fill": "none", "line": "quiet", "dash": "2 3"}
        if now["way"] is None:
            look = {"line": "ink", "text": letter(now["key"], now["value"])}
        d.cell("in/hand", *place, **look, tip=tip)
        y, end = place.y + SQUARE / 2, places["machine"].x - 4
        d.arrow("in/arrow", place.right + 3, y, end, y)


def _goes_in(d: Drawing, places: Places, scene: Scene) -> None:
    """What was in the hand, or that the topic has grown."""
    x, y, wide, _ = places["in"]
    space = scene["space"]
    if space["now"]:
        words = _record(space["now"])
        d.text("in/key", x, y + 15, words, bold=True, room=wide)
    elif space["divisors"]:
        was, count = space["divisors"]
        words = f"partitions: {was} → {count}"
        d.text("in/grows", x, y + 15, words, bold=True, size=MIDDLE)


def _apart(d: Drawing, places: Places, scene: Scene) -> None:
    """Where there is room, the records of a key whose partition has changed: nothing
    keeps their order.
    """
    if d.narrow or not scene["space"]["apart"]:
        return
    key, records = scene["space"]["apart"]
    x, y, room, _ = places["apart"]
    look: Look = {"bold": True, "room": room}
    d.text("apart/key", x, y + 36, f"key {key} is in two partitions", **look)
    values = []
    for line, (partition, told) in enumerate(records):
        sent = Sent(*told)
        values.append(f"“{sent.value}”" if sent.value else "a record")
        place = Box(x, y + 46 + 32 * line, 48, 26)
        d.cell(f"apart/part/{line}", *place, f"P{partition}", fill="wash", line="rule")
        place = place._replace(
            x=x + 54, w=min(widest(values[-1], 13.5) + 12, room - 54)
        )
        dash = "3 3" if sent.offset is None else None
        same = f"record/{sent.number}"
        d.cell(f"apart/{line}", *place, sent.value or "", dash=dash, same=same)
    first, then = values
    words = f"{capital(then)} may be read before {first}."
    d.note("apart/why", x, y + 126, words, room=room)


def letter(key: Key, value: str | None) -> str:
    """What a record's square says."""
    return value[0] if key is not None and value and value.isalpha() else ""


def _record(now: Space) -> str:
    key = now["key"]
    return dotted("no key" if key is None else f"key {key}", now["value"] or "")


class Machine:
    """What is computed at a step."""

    def __init__(self, d: Drawing, space: Space, box: Box) -> None:
        self.space = space
        self.now = space["now"]
        self.wide = box.w
        self.room = box.w - 2 * LEFT
        self.part = d.part("machine", box.x, box.y)

    def draw(self) -> None:
        names = ["the producer's partitioner"]
        room = self.room
        if self.now:
            producer = self.now["producer"]
            names = [f"{producer}'s partitioner", producer]
        hashed = self.now and self.now["reason"] == "murmur2"
        if self.now and (self.now["way"] is not None or hashed):
            room -= 0 if hashed else self._kind(self.now["kind"])
            self._computation(self.now)
        elif self.space["divisors"]:
            self._divisors()
        else:
            self.part.note("waits", LEFT, FIRST_LINE, "waits for the first record")
        name = fitting(names, room, SMALL, bold=True) or names[-1]
        self.part.text("name", LEFT, 23, name, bold=True, room=room)

    def _kind(self, kind: str) -> float:
        """The rule that chose, in the machine's corner; returns the room that it
        takes.
        """
        words = fit(kind, 110, 12, bold=True)
        wide = widest(words, 12, bold=True) + 14
        x = self.wide - LEFT - wide
        self.part.boxed("kind", x, 9, wide, 19, words, "chip")
        return wide + 8

    def _computation(self, now: Space) -> None:
        """Draw the computation and its result."""
        if now["gauge"]:
            self._gauge(now)
            return
        hashed = now["reason"] == "murmur2"
        *lines, last = _hashed(now) if hashed else _ruled(now, self.room)
        y = FIRST_LINE - LINE
        for number, line in enumerate(lines):
            y += LINE
            if line.result:
                self._pair(number, y, line, MIDDLE)
            else:
                self.part.note(str(number), LEFT, y, line.words, room=self.room)
        if now["way"] is None:
            last = last._replace(result="?")
        elif hashed and 10 % now["partitions"] == 0:  # the last digit decides
            end = LEFT + self.room
            left = end - text_width("0", MIDDLE, mono=True)
            self.part.level("digit", left, end, y + 5, "ink", width=2)
        self._result(*last)

    def _result(self, words: str, result: str) -> None:
        """The partition, which is noticed."""
        self._pair("end", RESULT, Line(words, result), LARGE, bold=True)

    def _gauge(self, now: Space) -> None:
        """How far it is until the producer takes another partition."""
        gauge = Gauge(*now["gauge"])
        room, machine = self.room, self.part
        words = f"{gauge.sent:,} of {gauge.most:,} bytes"
        if has_room(f"{words} (batch.size)", room, 13):
            words += " (batch.size)"
        machine.note("gauge/words", LEFT, FIRST_LINE, words, room=room)
        bar = Box(LEFT, FIRST_LINE + 12, room, 9)
        machine.rect("gauge", *bar, fill="paper", line="quiet", r=3)
        full = min(gauge.sent / gauge.most, 1)
        filled = bar._replace(w=max(full * room, 3))
        machine.rect("gauge/sent", *filled, fill="ink", r=3)
        self._result("partition", str(now["partition"]))

    def _divisors(self) -> None:
        """No record is in the machine: what changed in it, with one key that moves."""
        machine = self.part
        was, count = self.space["divisors"]
        words = f"hash % {was} → % {count}"
        machine.text("divisor", LEFT, 52, words, bold=True, mono=True, size=18)
        if not self.space["example"]:
            return
        key, hashed = self.space["example"]
        for number, divisor in enumerate((was, count)):
            line = Line(f"{key} {hashed}", f"% {divisor} = {hashed % divisor}")
            y = 77 + 20 * number
            self._pair(f"example/{number}", y, line, SMALL, bold=True)

    def _pair(
        self, key: object, y: float, line: Line, size: int, bold: bool = False
    ) -> None:
        """Words, and what they come to at the end."""
        look: Look = {"size": size, "mono": True, "bold": bold}
        room = self.room - text_width(line.result, **look) - 10
        self.part.note(f"{key}", LEFT, y, line.words, mono=True, room=room)
        x = LEFT + self.room
        self.part.text(f"{key}/result", x, y, line.result, anchor="end", **look)


def _hashed(now: Space) -> list[Line]:
    """The default rule, step by step."""
    lines = [Line("murmur2(key)", str(now["hash"]))]
    positive = now["hash"] & POSITIVE
    if positive != now["hash"]:
        lines.append(Line("without sign bit", str(positive)))
    return [*lines, Line(f"% {now['partitions']} partitions", str(now["partition"]))]


def _ruled(now: Space, room: float) -> list[Line]:
    """In words, on two lines at most, how another rule chose."""
    *_, why = now["why"].split(": ", 1)
    first, *rest = wrap(why, room * 0.8, 12.5)
    lines = [Line(first, "")]
    if rest:
        lines.append(Line(" ".join(rest), ""))
    return [*lines, Line("partition", str(now["partition"]))]

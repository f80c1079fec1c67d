"""The partitioner's machine: a record's key goes in, the number of a partition comes
out.

With a key: murmur2(key), without its sign bit, modulo the number of partitions (the
Java client's rule). Without a key: sticky, round-robin, or somebody's own function.
When the number of partitions changes, the divisor changes, and keys move: every key
then has a thread from its place before to its place after. Options: topic. Without it:
the topic that was used most.
"""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.theatre.casting import letters
from minikafka.theatre.drawing import (
    Box,
    Drawing,
    Look,
    Place,
    Point,
    actor_colour,
    actor_number,
    fit,
    has_room,
    text_width,
    widest,
    wrap,
)
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.partitioner_story import (
    HASH,
    POSITIVE,
    PartitionerStory,
    partitions,
)
from minikafka.theatre.pictures.partitioner_ways import (
    AFTER,
    BEFORE,
    MOST_BINS,
    Column,
    Ends,
    movers,
    pitch_for,
    threads,
)
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import dotted

LEFT = 12  # where words begin in the machine
OWN_LINE = 18  # height of the line over the captions of a phone's two columns


class Line(NamedTuple):
    """What is computed in the machine, and what comes out."""

    words: str
    result: str


class PartitionerPlay(Play):
    """A machine, and the columns into which it sorts."""

    story = PartitionerStory
    foot = (
        "Kafka keeps order within a partition. A key keeps its partition only while the"
        " number of partitions stays."
    )

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.letters = letters(self.cast["keys"])
        ways = [way for scene in scenes for way in scene["space"]["ways"]]
        self.pitch = pitch_for(ways)

    def scenario(self, scene: Scene) -> str:
        now = scene["space"]["now"]
        count = scene["space"]["partition_count"]
        parts = [partitions(count)]
        if now and now["partitions"] != count:
            parts.append(f"{now['producer']} still knows {now['partitions']} of them")
        if count > MOST_BINS:
            parts.append(f"the first {MOST_BINS} are drawn")
        drawn = len(self.cast["keys"])
        others = self.cast["others"]
        if others:
            of_all = f"{drawn} of {drawn + others} keys"
            parts.append(f"{of_all} are drawn, the others counted")
        return dotted(*parts)

    def summary(self, space: Space) -> str:
        held = [_held(bin_["keys"]) for bin_ in space["bins"]]
        parts = [f"partition {number}: {keys}" for number, keys in enumerate(held)]
        return "; ".join(parts) or "nothing yet"

    # -- draw

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d = drawing
        space = scenes[-1]["space"]
        now = space["now"]
        ways = space["ways"]
        door = self._machine(d, space)
        left, top = (0.0, 116 + OWN_LINE * d.phone) if d.narrow else (326.0, 0)
        place = Box(x=left, y=top + 26.0, w=d.width - left, h=0)
        ends = self._columns(d, space, place, door)
        if len(ways) == 2:
            threads(d, ways=ways, ends=ends, new=now["key"] if now else None)
        self._captions(d, space, left, top + 15)

    def _columns(self, d: Drawing, space: Space, place: Box, door: Point) -> list[Ends]:
        """One for each way."""
        now = space["now"]
        ways = space["ways"]

        ends = []
        for side, way in enumerate(ways):
            takes_this_way = now is not None and now["way"] == way["number"]
            column = Column(
                d,
                way,
                side,
                place,
                both=len(ways) == 2,
                pitch=self.pitch,
                now=now if takes_this_way else None,
                door=door,
                movers=movers(ways),
                letters=self.letters,
            )
            ends.append(column.draw())
        return ends

    def _captions(self, d: Drawing, space: Space, left: float, y: float) -> None:
        """Over each column its rule; between two, how many keys differ."""
        ways = space["ways"]
        both = len(ways) == 2
        grows = both and ways[0]["rule"] == ways[1]["rule"]
        names: list[str] = []
        if both:
            names = ["before", "after"] if grows else [way["who"] for way in ways]
        look: Look = {"size": 12.5, "room": d.width - left}
        if both:
            look["room"] = BEFORE
        ink = "ink" if grows else "quiet"
        for side, way in enumerate(ways):
            words = f"{names[side]}: {_rule_of(way)}" if both else _rule_of(way)
            x, anchor = (d.width, "end") if side else (left, "start")
            key = f"caption/{way['number']}"
            d.text(key, x, y, words, ink, **look, anchor=anchor)

        differ, alike = space["differ"]
        if alike:
            verb = "move" if grows else "differ"
            middle = (left + BEFORE + d.width - AFTER) / 2
            size = 16 if d.narrow else 18
            large: Look = {"bold": True, "size": size, "anchor": "middle"}
            words = f"{differ} of {alike} {verb}"
            above = OWN_LINE if d.phone else 0
            d.text("said/differ", middle, y + 1 - above, words, **large)

    # -- the machine

    def _machine(self, d: Drawing, space: Space) -> Point:
        """Draws what goes in and what is computed; returns the point where the record
        leaves.
        """
        now = space["now"]
        box = Box(x=0.0, y=92, w=286.0, h=118)
        if d.narrow:
            box = Box(x=134.0, y=2, w=d.width - 134, h=104)
        name = "the producer's partitioner"
        colour = "quiet"
        if now:
            _goes_in(d, now, box)
            producer = now["producer"]
            name = f"{producer}'s partitioner"
            colour = actor_colour(actor_number(producer, self.cast["producers"]))
        elif space["divisors"]:
            _grows(d, *space["divisors"])

        d.rect("machine", *box, "wash", colour, r=8, width=2)
        machine = d.part("machine", box.x, box.y)

        room = box.w - 24
        if now:
            kind_room = _kind(machine, now["kind"], box.w)
            _computation(machine, now, room)
            room -= kind_room
        else:
            _divisors(machine, space, room)

        machine.text("name", LEFT, 23, name, bold=True, room=room)
        if d.narrow:
            return Point(box.right - 40, box.bottom)
        return Point(box.right, box.y + 44)


def _held(keys: Sequence[tuple[str | None, int]]) -> str:
    """What a partition holds, in words."""
    words = [f"{key or 'no key'} ×{count}" for key, count in keys]
    if len(words) > 6:
        words = [*words[:5], f"{len(words) - 5} more keys"]
    return ", ".join(words) or "empty"


def _rule_of(way: Space) -> str:
    """What a column's caption says of it."""
    if all(key is None for key, _ in way["keys"]):
        return partitions(way["count"])
    if way["rule"] == HASH:
        return f"hash % {way['count']}"
    return str(way["rule"])


def _grows(d: Drawing, was: int, count: int) -> None:
    """Nothing goes in: the number of partitions changes."""
    d.note("in/caption", 0, 15, "partitions")
    words = f"{was} → {count}"
    d.text("in/grows", 0, 49, words, bold=True, mono=True, size=20)


def _goes_in(d: Drawing, now: Space, machine: Box) -> None:
    """A record, and an arrow from it to the machine."""
    width = 108.0 if d.narrow else 150.0
    d.note("in/caption", 0, 15, "a record goes in")
    key = now["key"]
    value = now["value"] or ""
    words = "no key" if key is None else key
    fits = fit(words, width - 14, 13.5, mono=True, bold=True)
    look: Look = {"line": "ink", "width": 2, "tip": f"key {key}"}
    d.cell("in/key", x=0, y=24, w=width, h=42, text=fits, more=value, **look)

    if d.narrow:
        d.arrow("in/arrow", x=width + 2, y=45, x2=machine.x - 4, y2=45)
    else:
        d.arrow("in/arrow", x=width / 2, y=68, x2=width / 2, y2=machine.y - 3)


def _kind(machine: Drawing, kind: str, width: float) -> float:
    """The rule that chose, in the machine's corner; returns the room that it takes."""
    words = fit(kind, 110, 12, bold=True)
    wide = widest(words, 12, bold=True) + 14
    x = width - 12 - wide
    machine.boxed("kind", x=x, y=9, w=wide, h=19, word=words, fill="chip")
    return wide + 8


def _computation(machine: Drawing, now: Space, room: float) -> None:
    """The lines in the machine: what is computed, and what comes out."""
    if now["gauge"]:
        _gauge(machine, now, room)
        return
    lines = _hashed(now) if now["reason"] == "murmur2" else _ruled(now, room)
    pitch = 22 if machine.narrow else 25
    last = len(lines) - 1
    for number, line in enumerate(lines):
        place = LEFT, 50 + number * pitch, room
        is_last = number == last
        size = 16 if is_last else 13
        _line(machine, f"{number}", place, line, is_last, size)


def _gauge(machine: Drawing, now: Space, room: float) -> None:
    """How far it is until the producer takes another partition."""
    sent, most = now["gauge"]
    pitch = 22 if machine.narrow else 25
    words = f"{sent:,} of {most:,} bytes"
    if has_room(f"{words} (batch.size)", room, 13):
        words += " (batch.size)"
    machine.note("gauge/words", LEFT, 50, words, room=room)
    full = min(sent / most, 1) * room
    y = 43 + pitch
    machine.rect("gauge", x=LEFT, y=y, w=room, h=9, fill="paper", line="quiet", r=3)
    machine.rect("gauge/sent", x=LEFT, y=y, w=max(full, 3), h=9, fill="ink", r=3)
    place = LEFT, 50 + 2 * pitch, room
    _line(machine, "2", place, Line("partition", str(now["partition"])), True, 16)


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


def _divisors(machine: Drawing, space: Space, room: float) -> None:
    """No record is in the machine: what changed in it, with one key that moves."""
    if not space["divisors"]:
        machine.note("waits", LEFT, 50, "waits for the first record")
        return

    was, count = space["divisors"]
    words = f"hash % {was} → % {count}"
    machine.text("divisor", LEFT, 52, words, bold=True, mono=True, size=18)
    if not space["example"]:
        return
    key, hashed = space["example"]
    pitch = 18 if machine.narrow else 21
    for number, divisor in enumerate((was, count)):
        place = LEFT, 77 + number * pitch, room
        line = Line(f"{key} {hashed}", f"% {divisor} = {hashed % divisor}")
        _line(machine, f"example/{number}", place, line, True, 13)


def _line(
    machine: Drawing, key: str, place: Place, line: Line, bold: bool, size: int
) -> None:
    """A line of the machine: its words, and the result at the end."""
    x, y, room = place
    words, result = line
    if not result:
        machine.note(key, x, y, words, room=room)
        return

    beside = text_width(result, 13, mono=True, bold=bold) + 10
    machine.note(key, x, y, words, mono=True, room=room - beside)
    look: Look = {"mono": True, "bold": bold, "size": size, "anchor": "end"}
    machine.text(f"{key}/result", x + room, y, result, **look)

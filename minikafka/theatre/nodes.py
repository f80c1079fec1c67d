"""Brokers' cards, and their copies of one log: what the pictures of replication share.

A record has the colour of the broker that led when it was written, so one sees where
logs differ. It is filled where the log's owner knows that it is committed, and an
outline where it doesn't yet.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from minikafka.theatre.actors import actor_colour, ink_on_actor
from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    Box,
    Drawing,
    Look,
    fit,
    fitting,
    has_room,
    widest,
)
from minikafka.theatre.text import counted
from minikafka.trace import Event

BESIDE = 212  # width of a card that has its chip beside its name
ASIDE = 9  # from a card to what is between it and its log
# heights on a card: of its name, a line of words, a chip with a line of its own, levers
NAME, LINE, CHIP, LEVER = 30, 18, 22, 36
# by the node's state
LEVERS = {
    "": ("kill", "freeze"),
    "cut off": ("kill", "freeze"),
    "fenced": ("kill", "freeze"),
    "frozen": ("thaw", "kill"),
    "crashed": ("restart",),
}


class Links:
    """Which of these brokers can reach each other, according to the cuts in the
    trace.
    """

    def __init__(self, brokers: Collection[str]) -> None:
        self.brokers = brokers
        self.cut: set[frozenset[str]] = set()

    def follow(self, event: Event) -> bool:
        """A cut, or its end; whether it is between two of these."""
        ends = frozenset((event.detail["one"], event.detail["other"]))
        if event.kind == "LinkCut":
            self.cut.add(ends)
        else:
            self.cut.discard(ends)
        return ends <= set(self.brokers)

    def apart(self, one: str, other: str) -> bool:
        """Whether there is a cut between two nodes."""
        return frozenset((one, other)) in self.cut

    def parted(self, broker: str) -> list[str]:
        """The brokers that it can't reach, among those that reach any other."""
        found = []
        for other in self.brokers:
            hears_somebody = self.life(other, "") == ""
            if hears_somebody and self.apart(broker, other):
                found.append(other)
        return found

    def life(self, broker: str, life: str) -> str:
        """The life of a broker as it is shown: one that reaches no other is cut off."""
        if life:
            return life
        others = [other for other in self.brokers if other != broker]
        cut = [other for other in others if self.apart(broker, other)]
        hears_nobody = bool(others) and cut == others
        return "cut off" if hears_nobody else ""


class Chip(NamedTuple):
    """A word on a broker's card, with its fill and its ink; "" for no chip."""

    word: str = ""
    fill: str = ""
    ink: str = ""


def name_of(broker: int) -> str:
    return f"broker {broker}"


def card_high(lines: int, levers: bool) -> Callable[[float], float]:
    """The height of a card from its width. lines: of words below its name. levers: it
    has room for some.
    """
    high = NAME + LINE * lines + 3 + (LEVER if levers else 0)
    return lambda width: high + (0 if width >= BESIDE else CHIP)


class Card:
    """A broker's card in its place. live: it has levers."""

    def __init__(self, d: Drawing, broker: int, place: Box, live: bool) -> None:
        self.d = d
        self.broker = broker
        self.place = place
        self.live = live
        self.name = name_of(broker)
        self.key = f"node/{broker}"
        # where the first line of words begins
        self.top = NAME + (0 if place.w >= BESIDE else CHIP)
        self.part = d.part(self.key, place.x, place.y)

    def draw(self, life: str, chip: Chip, leads: bool) -> None:
        """Draw what every card has: whose it is, whether it lives and leads, its chip,
        and the levers that its state allows.
        """
        look: Look = {"fill": "paper", "line": "rule", "r": 8, "width": 1.5}
        if leads:
            look |= {"fill": "said", "line": colour(self.broker), "width": 2.5}
        if life:
            look |= {"fill": "paper", "line": "trouble"}
        self.d.rect(self.key, *self.place, **look, dash=_dash(life))
        draw_disc(self.part, self.broker, 19, 18, life)
        self.part.text("name", 36, 23, self.name, bold=True)
        if chip.word:
            is_beside = self.place.w >= BESIDE
            x = self.place.w - widest(chip.word, 12, bold=True) - 16
            x, y = (x, 8) if is_beside else (8, 8 + CHIP)
            self.part.chip("chip", x, y, *chip)
        if self.live:
            self._levers(life)

    def role(self, life: str, words: str, leads: bool) -> None:
        """What the broker does, as it believes; one that is cut off keeps the role that
        it had.
        """
        if life:
            words = f"{life}, {words}" if life == "cut off" else life
        ink = "trouble" if life else "ink" if leads else "quiet"
        self.say("words", words, ink, line=0, bold=leads and not life)

    def asks(self, other: Box, of: int, words: str) -> None:
        """An arrow beside the cards to the card of the broker that is asked."""
        x = self.place.right + ASIDE
        is_above = other.y < self.place.y
        begin, end = (self.place.y + 26, other.y + 38)
        if not is_above:
            begin, end = (self.place.y + 38, other.y + 26)
        look: Look = {"line": "ink", "width": 2, "of": of, "tip": words}
        self.d.arrow(f"{self.key}/asks", x, begin, x, end, **look)

    def say(
        self, key: str, words: str, ink: str = "quiet", *, line: int, bold: bool = False
    ) -> None:
        """A line of words on the card, cut to fit."""
        room = (self.place.w - 16) * LEAST_STRETCH
        fits = fit(words, room, 12.5, bold=bold)
        y = self.top + LINE * line + 12
        self.part.text(key, 10, y, fits, ink, size=12.5, bold=bold)

    def link(self, other: str, x: float, y: float, *, cut: bool) -> None:
        """The lever on the link to one other broker."""
        if self.live:
            self.part.wire("link", x, y, self.name, cut, other)

    def _levers(self, life: str) -> None:
        """Draw the levers that the broker's state allows."""
        x = 8.0
        y = self.place.h - 32
        look: Look = {"line": "rule", "r": 14, "bold": False}
        for word in LEVERS.get(life, ()):
            act = f"{word} {self.name}"
            box = Box(x=x, y=y, w=widest(word, 12) + 12, h=28)
            tip = f"{act} now"
            self.part.boxed(
                f"lever/{word}", *box, word, "wash", **look, act=act, tip=tip
            )
            x += box.w + 5
        self.part.wire("wire", self.place.w - 14, y + 14, self.name, life == "cut off")


def draw_disc(part: Drawing, broker: int, x: float, y: float, life: str) -> None:
    """A broker's number on its colour."""
    part.disc(
        "disc",
        x=x,
        y=y,
        r=11,
        letter=str(broker)[:2],
        number=broker - 1,
        size=13,
        dash=_dash(life),
        fade=0.6 if life == "crashed" else None,
    )


def _dash(life: str) -> str | None:
    """The dashes with which a broker that is away is drawn."""
    return "5 4" if life else None


class Columns:
    """Which offsets have a column, the same in every row. place: of the rows' records.
    most: records of the longest log ever; end: of now. least, widest: of a column.
    counts: where not all have one, the first says how many have none.
    """

    def __init__(
        self,
        place: Box,
        most: int,
        end: int,
        least: float,
        widest: float,
        *,
        counts: bool = True,
    ) -> None:
        self.left = place.x
        self.pitch = min(max(place.w / (most + 1), least), widest)
        count = int(place.w / self.pitch + 1e-6) - 1
        self.first = 0  # the first offset that has a column
        self.shift = 0  # columns before it: one that counts what is left out
        if end > count:
            self.shift = int(counts)
            self.first = end - count + self.shift

    def __call__(self, offset: int) -> float:
        """The x of a record; those left out are in the first column."""
        column = max(offset - self.first + self.shift, 0)
        return self.left + column * self.pitch


class Copied(NamedTuple):
    """A record in one broker's copy of a log. text, more: a short and a longer word
    for it. number: of the event that brought it.
    """

    offset: int
    epoch: int
    text: str
    more: str
    tip: str
    number: int

    @property
    def same(self) -> str:
        """The name that a record shares with itself in the other copies."""
        return f"{self.offset}/{self.epoch}"

    @property
    def place(self) -> str:
        """The place of the record in words."""
        return f"offset {self.offset}, epoch {self.epoch}"


@dataclass(frozen=True)
class DrawnLog:
    """One broker's copy of a log. log: broker, end, high_watermark, records as [offset,
    epoch, text, more, tip, number]; cut: those that were dropped last. leaders: epoch ->
    number of the broker that led. y, cell: the upper edge of its records, and their
    height. bare: with neither offsets nor epochs around them.
    """

    d: Drawing
    columns: Columns
    log: Mapping[str, Any]
    leaders: Mapping[str, int]
    y: float
    cell: float
    bare: bool = False

    def draw(self, now: int, **comes_from: float | None) -> None:
        """comes_from: from_x and from_y of the records that the event now brought."""
        self.left_out()
        shown = self.shown()
        for record in shown:
            self.record(record, comes_from if record.number == now else {})
        if not self.bare:
            self.epochs(shown)
        for record in map(Copied._make, self.log["cut"]):
            if record.offset >= self.columns.first:
                self.cut(record)
        self.next_place()
        self.high_watermark()

    @property
    def broker(self) -> int:
        broker: int = self.log["broker"]
        return broker

    @property
    def key(self) -> str:
        return f"node/{self.broker}"

    @property
    def dropped(self) -> list[int]:
        """The offsets of the records that were cut."""
        return [offset for offset, *_ in self.log["cut"]]

    def shown(self) -> list[Copied]:
        """The records that have a column."""
        first = self.columns.first
        end = self.log["end"]
        records = map(Copied._make, self.log["records"])
        return [record for record in records if first <= record.offset < end]

    def cell_at(self, offset: int) -> Box:
        """The box of a record's cell."""
        columns = self.columns
        return Box(x=columns(offset), y=self.y, w=columns.pitch - 5, h=self.cell)

    def left_out(self) -> None:
        """Before the first column: how many records have none; without one for that,
        where none of a shorter log has one.
        """
        columns = self.columns
        end = self.log["end"]
        if not columns.shift and end >= columns.first:
            return
        box = self.cell_at(0)
        count = min(columns.first, end)
        x, y = columns.left + box.w / 2, box.y + box.h / 2
        tip = f"{counted(count, 'record')} not drawn"
        self.d.left_out(f"{self.key}/left-out", x, y, count, tip=tip)

    def record(self, record: Copied, flies: Mapping[str, Any]) -> None:
        """flies: where a new one comes from."""
        leader = self.leaders.get(str(record.epoch), 1)
        led = colour(leader)
        look: Look = {"fill": "paper", "line": led, "ink": "ink", "width": 2.5}
        knows = "not known to count yet"
        is_committed = record.offset < self.log["high_watermark"]
        if is_committed:
            look |= {"fill": led, "ink": ink_on_actor(leader - 1)}
            knows = "it counts"
        look |= {"of": record.number, "same": record.same}
        look["tip"] = f"{record.place}: {record.tip}; {knows}"
        look |= flies
        key = f"record/{self.broker}/{record.same}"
        box = self.cell_at(record.offset)
        self.d.cell(key, *box, *self.words(record), **look)

    def words(self, record: Copied) -> tuple[str, str, str]:
        """In its cell, and under it."""
        width = self.columns.pitch - 5
        is_tall = self.cell >= 40
        text, more = _fitting(record.text, record.more, width=width, tall=is_tall)
        return text, more, "" if self.bare else str(record.offset)

    def cut(self, record: Copied) -> None:
        """One that was dropped, struck through; later an empty place above another."""
        key = f"cut/{self.broker}/{record.offset}"
        box = self.cell_at(record.offset)
        text, more, below = self.words(record)
        if record.offset < self.log["end"]:
            box, below = box._replace(y=box.y - 20, h=18), ""
        else:
            ends = box.x + 3, box.bottom - 3, box.right - 3, box.y + 3
            self.d.line(f"{key}/line", *ends, line="trouble", width=2)
        look: Look = {"fill": "none", "line": "trouble", "ink": "trouble", "width": 2}
        look |= {"dash": "3 3", "same": record.same}
        look["tip"] = f"{record.place}, cut: {record.tip}"
        self.d.cell(key, *box, text, more, below, **look)

    def next_place(self) -> None:
        """The empty place at the end, where no record was cut from there."""
        end = self.log["end"]
        if end < self.columns.first or end in self.dropped:
            return
        below = not self.bare
        self.d.slot(f"{self.key}/next", *self.cell_at(end), end, below=below)

    def high_watermark(self) -> None:
        """A line before the first record that is not known to be committed."""
        offset = self.log["high_watermark"]
        if offset < self.columns.first:
            return
        box = self.cell_at(offset)
        line: Look = {"line": "ink", "width": 2.5}
        ends = box.x - 2.5, box.y - 5, box.bottom + 5
        self.d.upright(f"{self.key}/high-watermark", *ends, **line)

    def epochs(self, shown: Sequence[Copied]) -> None:
        """In which epoch they were written, over the records up to one that was cut."""
        epochs = [record.epoch for record in shown]
        begun = -1
        for number, record in enumerate(shown):
            if record.epoch == begun:
                continue
            begun = record.epoch
            offset = record.offset
            ends = [each for each in self.dropped if each >= offset]
            until = min([*ends, offset + epochs[number:].count(begun)])
            room = (until - offset) * self.columns.pitch - 4
            words = fitting([f"epoch {begun}", f"e{begun}"], room, 12)
            if words:
                leader = self.leaders.get(str(begun), "?")
                x, y = self.columns(offset) + 1, self.y - 6
                tip = f"broker {leader} led in epoch {begun}"
                self.d.note(f"{self.key}/epoch/{begun}", x, y, words, size=12, tip=tip)


def _fitting(text: str, more: str, *, width: float, tall: bool) -> tuple[str, str]:
    """The words in a record's cell: a short one and a longer one, below each other in a
    tall cell; otherwise one of them, if there isn't room for both.
    """
    if tall:
        room = width * LEAST_STRETCH - 4
        return fit(text, room, 13.5, mono=True, bold=True), more
    if has_room(f"{text} {more}", width - 6, 13.5):
        return text, more
    is_for_the_longer = width > 40 and bool(more)
    if is_for_the_longer:
        return "", more
    return text, ""


def colour(broker: int) -> str:
    """The broker's colour, the same in every picture."""
    return actor_colour(broker - 1)


def node_id(node: str) -> int:
    """The number in a broker's name: 3 for "broker 3", 0 if there is none."""
    number = node.rpartition(" ")[2]
    return int(number) if number.isdigit() else 0


def epoch_at(epochs: Sequence[Sequence[int]], offset: int) -> int:
    """epochs: [leader epoch, first offset], in order."""
    begun = [epoch for epoch, first in epochs if first <= offset]
    return max(begun, default=-1)


def listed(brokers: Sequence[int]) -> str:
    """Brokers by id, as an ISR is told."""
    return " ".join(map(str, sorted(brokers))) or "empty"

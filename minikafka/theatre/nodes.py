"""Brokers as cards below each other, each with its copy of one log beside it: what the
pictures of replication share.

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

MOST_WITH_LANES = 3  # brokers; more of them leave no room below
CARD, CARD_NARROW, GUTTER = 236, 150, 22  # widths: of a card; between it and the log
BESIDE = 212  # and of a card that has its chip beside its name
# heights of a row above and below its records
HEAD, FOOT = 17, 26
# and on a card: of its name, a line of words, a chip with a line of its own, levers
NAME, LINE, CHIP, LEVER = 30, 18, 22, 28
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


def card_high(lines: int, live: bool) -> Callable[[float], float]:
    """The height of a card from its width. lines: of words below its name. live: it
    has levers.
    """
    high = NAME + LINE * lines + (LEVER if live else 0)
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
        y = self.place.h - 24
        look: Look = {"line": "rule", "r": 10, "bold": False}
        for word in LEVERS.get(life, ()):
            act = f"{word} {self.name}"
            box = Box(x=x, y=y, w=widest(word, 12) + 12, h=20)
            tip = f"{act} now"
            self.part.boxed(
                f"lever/{word}", *box, word, "wash", **look, act=act, tip=tip
            )
            x += box.w + 5
        self.part.wire("wire", self.place.w - 14, y + 10, self.name, life == "cut off")


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


class Row:
    """The place of one broker: card and log. live: its card has levers."""

    def __init__(
        self, d: Drawing, broker: int, y: float, cell: float, live: bool
    ) -> None:
        self.d = d
        self.broker = broker
        self.live = live
        self.name = name_of(broker)
        self.key = f"node/{broker}"
        self.y = y
        self.cell = cell
        self.cells_y = y + HEAD
        levers = LEVER if live else 0
        below = CHIP if d.narrow else 0
        self.height = HEAD + cell + FOOT + levers + below
        self.width = CARD_NARROW if d.narrow else CARD
        place = Box(0, y, self.width, self.height - 9)
        self.drawn = Card(d, broker, place, live)

    @property
    def gutter(self) -> float:
        """The middle between the card and the log."""
        return self.width + GUTTER / 2 - 2

    def card(
        self, life: str, words: str, chip: tuple[str, str, str], leads: bool
    ) -> None:
        """words: what it is now. chip: its words, fill and ink."""
        self.drawn.draw(life, Chip._make(chip), leads)
        ink = "ink" if leads else "quiet"
        if life:
            ink = "trouble"
        is_at_work = leads and not life
        self.drawn.say("words", _living(life, words), ink, line=0, bold=is_at_work)

    def link(self, other: "Row", cut: bool) -> None:
        """The lever on the link to one other broker."""
        self.drawn.link(other.name, self.gutter, 12, cut=cut)

    def asks(self, other: "Row", of: int, words: str, *, trouble: bool = False) -> None:
        """Draw an arrow in the gutter to the broker that is asked."""
        begin = self.y + 36
        end = other.y + 30
        if other.y < self.y:
            begin = self.y + 30
            end = other.y + 36
        self.d.arrow(
            f"{self.key}/asks",
            x=self.gutter,
            y=begin,
            x2=self.gutter,
            y2=end,
            line="trouble" if trouble else "ink",
            width=2,
            of=of,
            tip=words,
        )


def _dash(life: str) -> str | None:
    """The dashes with which a broker that is away is drawn."""
    return "5 4" if life else None


def _living(life: str, words: str) -> str:
    """A broker's role in words: one that is cut off keeps the role it had."""
    if life == "cut off":
        return f"{life}, {words}"
    return life or words


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
        count = int(place.w // self.pitch) - 1
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


def draw_log(
    d: Drawing,
    columns: Columns,
    log: Mapping[str, Any],
    leaders: Mapping[str, int],
    *,
    y: float,
    cell: float,
    now: int,
    bare: bool = False,
    **comes_from: float | None,
) -> None:
    """log: broker, end, high_watermark, records as [offset, epoch, text, more, tip,
    number]; cut: those that were just dropped. leaders: epoch -> number of the broker
    that led. y, cell: the upper edge of its records, and their height. bare: with
    neither offsets nor epochs around them. comes_from: from_x and from_y of new ones.
    """
    copy = _Copy(d, columns, log, leaders, y, cell, bare)
    copy.left_out()
    shown = copy.shown()

    for record in shown:
        is_new = record.number == now
        copy.record(record, comes_from if is_new else {})

    if not bare:
        copy.epochs(shown)
    for record in map(Copied._make, log["cut"]):
        if record.offset >= columns.first:
            copy.cut(record)

    copy.next_place()
    copy.high_watermark()


@dataclass(frozen=True)
class _Copy:
    """One broker's copy of a log, as draw_log() has it."""

    d: Drawing
    columns: Columns
    log: Mapping[str, Any]
    leaders: Mapping[str, int]
    y: float
    cell: float
    bare: bool

    @property
    def broker(self) -> int:
        broker: int = self.log["broker"]
        return broker

    @property
    def key(self) -> str:
        return f"node/{self.broker}"

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
        self.d.left_out(
            f"{self.key}/left-out",
            x=columns.left + box.w / 2,
            y=box.y + box.h / 2,
            count=count,
            tip=f"{counted(count, 'record')} not drawn",
        )

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
        """One that was just dropped, struck through."""
        d = self.d
        key = f"cut/{self.broker}/{record.offset}"
        box = self.cell_at(record.offset)
        d.cell(
            key,
            *box,
            *self.words(record),
            width=2,
            fill="none",
            line="trouble",
            ink="trouble",
            dash="3 3",
            tip=f"{record.place}, cut: {record.tip}",
            same=record.same,
        )
        d.line(
            f"{key}/line",
            x=box.x + 3,
            y=box.bottom - 3,
            x2=box.right - 3,
            y2=box.y + 3,
            line="trouble",
            width=2,
        )

    def next_place(self) -> None:
        """The empty place at the end, where no record was cut from there."""
        end = self.log["end"]
        cut = [record.offset for record in map(Copied._make, self.log["cut"])]
        if end < self.columns.first or end in cut:
            return
        below = not self.bare
        self.d.slot(f"{self.key}/next", *self.cell_at(end), end, below=below)

    def high_watermark(self) -> None:
        """A line before the first record that is not known to be committed."""
        offset = self.log["high_watermark"]
        if offset < self.columns.first:
            return
        box = self.cell_at(offset)
        self.d.upright(
            f"{self.key}/high-watermark",
            x=box.x - 2.5,
            top=box.y - 5,
            bottom=box.bottom + 5,
            line="ink",
            width=2.5,
        )

    def epochs(self, shown: Sequence[Copied]) -> None:
        """Over the records in which leader epoch they were written."""
        epochs = [record.epoch for record in shown]
        begun = -1
        for number, record in enumerate(shown):
            if record.epoch == begun:
                continue
            begun = record.epoch
            run = epochs[number:].count(begun)
            room = run * self.columns.pitch - 4
            words = fitting([f"epoch {begun}", f"e{begun}"], room, 12)
            if words:
                self._epoch(record, words)

    def _epoch(self, record: Copied, words: str) -> None:
        """The name of an epoch over its first record."""
        epoch = record.epoch
        leader = self.leaders.get(str(epoch), "?")
        self.d.text(
            f"{self.key}/epoch/{epoch}",
            self.columns(record.offset) + 1,
            self.y - 6,
            words,
            "quiet",
            size=12,
            tip=f"broker {leader} led in epoch {epoch}",
        )


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


def rows_of(
    d: Drawing, brokers: Sequence[int], top: float, cell: float, live: bool
) -> tuple[dict[int, Row], float]:
    """The rows of these brokers below each other, and where they end."""
    rows: dict[int, Row] = {}
    for broker in brokers:
        rows[broker] = Row(d, broker, top, cell, live)
        top += rows[broker].height
    return rows, top


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

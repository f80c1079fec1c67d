"""Brokers as cards below each other, each with its copy of one log beside it: what the
pictures of replication share.

A record has the colour of the broker that led when it was written, so one sees where
logs differ. It is filled where the log's owner knows that it is committed, and an
outline where it doesn't yet.
"""

from collections.abc import Collection, Mapping, Sequence
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
# heights of a row above and below its records, and of a card's levers
HEAD, FOOT, LEVER = 17, 26, 24
CHIP = 22  # and of a narrow card's chip, which has a line of its own
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

    word: str
    fill: str
    ink: str


class Row:
    """The place of one broker: card and log. live: its card has levers."""

    def __init__(
        self, d: Drawing, broker: int, y: float, cell: float, live: bool
    ) -> None:
        self.d = d
        self.broker = broker
        self.live = live
        self.name = f"broker {broker}"
        self.key = f"node/{broker}"
        self.y = y
        self.cell = cell
        self.cells_y = y + HEAD
        levers = LEVER if live else 0
        # where a card's second line begins
        self.below = CHIP if d.narrow else 0
        self.height = HEAD + cell + FOOT + levers + self.below
        self.width = CARD_NARROW if d.narrow else CARD
        self.part = d.part(self.key, 0, y)

    @property
    def gutter(self) -> float:
        """The middle between the card and the log."""
        return self.width + GUTTER / 2 - 2

    def card(
        self,
        life: str,
        words: str,
        chip: tuple[str, str, str],
        leads: bool,
        *,
        knows: str = "",
        trouble: bool = False,
    ) -> None:
        """words: what it is now. chip: its words, fill and ink. knows: a second line,
        which may be trouble.
        """
        self._edge(life, leads)
        self._disc(life)
        self._chip(Chip._make(chip))
        self.part.text("name", 36, 23, self.name, bold=True)

        ink = "ink" if leads else "quiet"
        if life:
            ink = "trouble"
        y = 42 + self.below
        is_at_work = leads and not life
        self._words("words", y, _living(life, words), ink, bold=is_at_work)
        if knows:
            ink = "trouble" if trouble else "quiet"
            self._words("knows", y + 18, knows, ink)
        if self.live:
            self._levers(life)
            is_cut = life == "cut off"
            self.part.wire("wire", self.gutter, self.height - 24, self.name, is_cut)

    def _edge(self, life: str, leads: bool) -> None:
        """Draw the outline of the broker's card, which shows whether it lives
        and leads.
        """
        look: Look = {"fill": "paper", "line": "rule", "r": 8, "width": 1.5}
        if leads:
            look |= {"fill": "said", "line": colour(self.broker), "width": 2.5}
        if life:
            look |= {"fill": "paper", "line": "trouble"}
        box = Box(x=0, y=self.y, w=self.width, h=self.height - 9)
        self.d.rect(self.key, *box, **look, dash=_dash(life))

    def _disc(self, life: str) -> None:
        """The broker's number on its colour."""
        self.part.disc(
            "disc",
            x=19,
            y=18,
            r=11,
            letter=str(self.broker)[:2],
            number=self.broker - 1,
            size=13,
            dash=_dash(life),
            fade=0.6 if life == "crashed" else None,
        )

    def _chip(self, chip: Chip) -> None:
        """Beside the broker's name, or below it on a narrow card."""
        if not chip.word:
            return
        x: float = 8
        y = 8 + CHIP
        if not self.below:
            x = self.width - widest(chip.word, 12, bold=True) - 16
            y = 8
        self.part.chip("chip", x, y, *chip)

    def _words(
        self, name: str, y: float, words: str, ink: str, bold: bool = False
    ) -> None:
        """Draw a line of text on the card, cut to fit."""
        room = (self.width - 16) * LEAST_STRETCH
        fits = fit(words, room, 12.5, bold=bold)
        self.part.text(name, 10, y, fits, ink, size=12.5, bold=bold)

    def link(self, other: "Row", cut: bool) -> None:
        """The lever on the link to one other broker."""
        if self.live:
            self.part.wire("link", self.gutter, 12, self.name, cut, other.name)

    def _levers(self, life: str) -> None:
        """Draw the levers that the broker's state allows."""
        x = 8.0
        y = self.height - 33
        look: Look = {"line": "rule", "r": 10, "bold": False}

        for word in LEVERS.get(life, ()):
            key = f"lever/{word}"
            act = f"{word} {self.name}"
            tip = f"{act} now"
            box = Box(x=x, y=y, w=widest(word, 12) + 12, h=20)
            self.part.boxed(key, *box, word, "wash", **look, act=act, tip=tip)
            x += box.w + 5

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
    """Which offsets have a column, the same in every row. most: records of the longest
    log ever; end: of now. right: what must stay free beside them. least, widest: of a
    column. counts: where not all have one, the first says how many have none.
    """

    def __init__(
        self,
        d: Drawing,
        most: int,
        end: int,
        right: float,
        least: float,
        widest: float,
        *,
        counts: bool = True,
    ) -> None:
        card = CARD_NARROW if d.narrow else CARD
        self.left = card + GUTTER
        room = d.width - right - self.left
        self.pitch = min(max(room / (most + 1), least), widest)
        count = int(room // self.pitch) - 1
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
    row: Row,
    columns: Columns,
    log: Mapping[str, Any],
    leaders: Mapping[str, int],
    *,
    now: int,
    from_y: float | None = None,
    from_x: float | None = None,
) -> None:
    """log: end, high_watermark, records as [offset, epoch, text, more, tip, number];
    cut: those that were just dropped. leaders: epoch -> number of the broker that led.
    from_y, from_x: where new records come from.
    """
    copy = _Copy(row, columns, log, leaders)
    copy.left_out()
    shown = copy.shown()

    comes_from: Look = {"from_x": from_x, "from_y": from_y}
    for record in shown:
        is_new = record.number == now
        copy.record(record, comes_from if is_new else {})

    copy.epochs(shown)
    for record in map(Copied._make, log["cut"]):
        if record.offset >= columns.first:
            copy.cut(record)

    copy.next_place()
    copy.high_watermark()


@dataclass(frozen=True)
class _Copy:
    """One broker's copy of a log, as draw_log() has it."""

    row: Row
    columns: Columns
    log: Mapping[str, Any]
    leaders: Mapping[str, int]

    def shown(self) -> list[Copied]:
        """The records that have a column."""
        first = self.columns.first
        end = self.log["end"]
        records = map(Copied._make, self.log["records"])
        return [record for record in records if first <= record.offset < end]

    def cell_at(self, offset: int) -> Box:
        """The box of a record's cell."""
        row = self.row
        columns = self.columns
        return Box(x=columns(offset), y=row.cells_y, w=columns.pitch - 5, h=row.cell)

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
        self.row.d.left_out(
            f"{self.row.key}/left-out",
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
        key = f"record/{self.row.broker}/{record.same}"
        box = self.cell_at(record.offset)
        self.row.d.cell(key, *box, *self.words(record), **look)

    def words(self, record: Copied) -> tuple[str, str, str]:
        """In its cell, and under it."""
        width = self.columns.pitch - 5
        is_tall = self.row.cell >= 40
        text, more = _fitting(record.text, record.more, width=width, tall=is_tall)
        return text, more, str(record.offset)

    def cut(self, record: Copied) -> None:
        """One that was just dropped, struck through."""
        d = self.row.d
        key = f"cut/{self.row.broker}/{record.offset}"
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
        self.row.d.slot(f"{self.row.key}/next", *self.cell_at(end), end)

    def high_watermark(self) -> None:
        """A line before the first record that is not known to be committed."""
        offset = self.log["high_watermark"]
        if offset < self.columns.first:
            return
        box = self.cell_at(offset)
        self.row.d.upright(
            f"{self.row.key}/high-watermark",
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
        row = self.row
        epoch = record.epoch
        leader = self.leaders.get(str(epoch), "?")
        row.d.text(
            f"{row.key}/epoch/{epoch}",
            self.columns(record.offset) + 1,
            row.y + 11,
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

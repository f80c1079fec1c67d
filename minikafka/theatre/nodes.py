"""Brokers as cards below each other, each with its copy of one log beside it: what the
pictures of replication share.

A record has the colour of the broker that led when it was written, so one sees where
logs differ. It is filled where the log's owner knows that it counts, and an outline
where it doesn't yet.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from minikafka.theatre.drawing import (
    COLOURS,
    LEAST_STRETCH,
    Drawing,
    actor_colour,
    fit,
    has_room,
    text_width,
)
from minikafka.theatre.text import counted
from minikafka.trace import Event

MOST_WITH_LANES = 3  # brokers; more of them leave no room below
CARD, CARD_NARROW, GUTTER = 216, 150, 22  # widths: of a card; between it and the log
# heights of a row above and below its records, and of a card's levers
HEAD, FOOT, LEVER = 17, 26, 24
# by what became of the node
LEVERS = {
    "": ("kill", "freeze"),
    "cut off": ("kill", "freeze"),
    "fenced": ("kill", "freeze"),
    "frozen": ("thaw", "kill"),
    "crashed": ("restart",),
}


class Links:
    """Which of these brokers hear each other, as cuts are told."""

    def __init__(self, brokers: Collection[str]) -> None:
        self.brokers, self.cut = brokers, set[frozenset[str]]()

    def follow(self, event: Event) -> bool:
        """A cut, or its end; whether it is between two of these."""
        ends = frozenset((event.detail["one"], event.detail["other"]))
        (self.cut.add if event.kind == "LinkCut" else self.cut.discard)(ends)
        return ends <= set(self.brokers)

    def apart(self, one: str, other: str) -> bool:
        return frozenset((one, other)) in self.cut

    def life(self, broker: str, life: str) -> str:
        """What is shown of a broker's life: who hears no other one is cut off."""
        others = [
            frozenset((broker, other)) for other in self.brokers if other != broker
        ]
        return life or "cut off" * (bool(others) and self.cut.issuperset(others))


class Row:
    """The place of one broker: card and log. live: its card has levers."""

    def __init__(
        self, d: Drawing, broker: int, y: float, cell: float, live: bool
    ) -> None:
        self.d, self.broker, self.live = d, broker, live
        self.name, self.key = f"broker {broker}", f"node/{broker}"
        self.y, self.cell, self.cells_y = y, cell, y + HEAD
        self.height = HEAD + cell + FOOT + LEVER * live
        self.width = CARD_NARROW if d.narrow else CARD

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
        d, key, away = self.d, self.key, bool(life)
        look = {
            "dash": "5 4" if away else None,
            "fade": 0.6 if life == "crashed" else None,
        }
        line = "trouble" if away else colour(self.broker) if leads else "rule"
        d.rect(
            key,
            0,
            self.y,
            self.width,
            self.height - 9,
            "said" if leads and not away else "paper",
            line,
            r=8,
            width=2.5 if leads else 1.5,
            dash=look["dash"],
        )
        d.disc(
            key + "/disc",
            19,
            self.y + 18,
            11,
            str(self.broker)[:2],
            self.broker - 1,
            13,
            **look,
        )
        room = self.width - 44.0
        if chip[0]:
            wide = text_width(chip[0], 12, bold=True) / LEAST_STRETCH + 10
            d.chip(key + "/chip", self.width - wide - 6, self.y + 8, *chip)
            room -= wide + 4
        if has_room(self.name, room, 13, bold=True):
            d.text(key + "/name", 36, self.y + 23, self.name, bold=True)
        said = (
            life
            if life not in ("", "cut off")
            else f"{life}, {words}"
            if life
            else words
        )
        ink = "trouble" if away else "ink" if leads else "quiet"
        d.text(
            key + "/words",
            10,
            self.y + 42,
            fit(said, (self.width - 16) * LEAST_STRETCH, 12.5),
            ink,
            size=12.5,
            bold=leads and not away,
        )
        if knows:
            d.text(
                key + "/knows",
                10,
                self.y + 60,
                fit(knows, (self.width - 16) * LEAST_STRETCH, 12.5),
                "trouble" if trouble else "quiet",
                size=12.5,
            )
        if self.live:
            self._levers(life)
            x, y = self.width + GUTTER / 2 - 2, self.y + self.height - 24
            d.wire(key + "/wire", x, y, self.name, life == "cut off")

    def link(self, other: "Row", cut: bool) -> None:
        """The lever on the link to one other broker."""
        if self.live:
            self.d.wire(
                self.key + "/link",
                self.width + GUTTER / 2 - 2,
                self.y + 12,
                self.name,
                cut,
                other.name,
            )

    def _levers(self, life: str) -> None:
        x = 8.0
        for word in LEVERS.get(life, ()):
            act, w = f"{word} {self.name}", text_width(word, 12) / LEAST_STRETCH + 12
            self.d.boxed(
                f"{self.key}/lever/{word}",
                x,
                self.y + self.height - 33,
                w,
                20,
                word,
                "wash",
                line="rule",
                r=10,
                bold=False,
                act=act,
                tip=f"{act} now",
            )
            x += w + 5

    def asks(self, other: "Row", of: int, words: str, *, trouble: bool = False) -> None:
        """An arrow in the gutter to the one who is asked."""
        x = self.width + GUTTER / 2 - 2
        ends = (
            (self.y + 30, other.y + 36)
            if other.y < self.y
            else (self.y + 36, other.y + 30)
        )
        self.d.arrow(
            f"{self.key}/asks",
            x,
            ends[0],
            x,
            ends[1],
            "trouble" if trouble else "ink",
            width=2,
            of=of,
            tip=words,
        )


class Columns:
    """Which offsets have a column, the same in every row. most: records of the longest
    log ever; end: of now. right: what must stay free beside them. least, widest: of a
    column.
    """

    def __init__(
        self, d: Drawing, most: int, end: int, right: float, least: float, widest: float
    ) -> None:
        self.left = (CARD_NARROW if d.narrow else CARD) + GUTTER
        room = d.width - right - self.left
        self.pitch = min(max(room / (most + 1), least), widest)
        count = int(room // self.pitch) - 1
        self.first = 0 if end <= count else end - count + 1
        self.shift = 1 if self.first else 0  # the first column counts what is left out

    def __call__(self, offset: int) -> float:
        """x of a record; those left out stand in the first column."""
        return self.left + max(offset - self.first + self.shift, 0) * self.pitch


def draw_log(
    row: Row,
    columns: Columns,
    log: Mapping[str, Any],
    leaders: Mapping[str, int],
    *,
    now: int,
    from_y: float | None = None,
) -> None:
    """log: end, high_watermark, records as [offset, epoch, text, more, tip, number];
    cut: those that were just dropped. leaders: epoch -> number of the broker that led.
    from_y: where new records come from.
    """
    d, y, w = row.d, row.cells_y, columns.pitch - 5
    if columns.first:
        out = min(columns.first, log["end"])
        d.text(
            f"{row.key}/left-out",
            columns.left + w / 2,
            y + row.cell / 2 - 1,
            str(out),
            "quiet",
            size=12,
            anchor="middle",
            tip=f"{counted(out, 'record')} not drawn",
        )
        d.text(
            f"{row.key}/left-out/more",
            columns.left + w / 2,
            y + row.cell / 2 + 13,
            "more",
            "quiet",
            size=12,
            anchor="middle",
        )
    words = partial(_fitting, width=w, tall=row.cell >= 40)
    shown = [
        record for record in log["records"] if columns.first <= record[0] < log["end"]
    ]
    for offset, epoch, text, more, tip, number in shown:
        leader = leaders.get(str(epoch), 1)
        counts = offset < log["high_watermark"]
        look: dict[str, Any] = {
            "fill": colour(leader),
            "ink": f"on{(leader - 1) % COLOURS + 1}",
        }
        if not counts:
            look = {"fill": "paper", "ink": "ink"}
        knows = "it counts" if counts else "not known to count yet"
        look |= {"from_y": from_y} if from_y is not None and number == now else {}
        said = *words(text, more), str(offset)
        d.cell(
            f"record/{row.broker}/{offset}/{epoch}",
            columns(offset),
            y,
            w,
            row.cell,
            *said,
            line=colour(leader),
            width=2.5,
            of=number,
            same=f"{offset}/{epoch}",
            tip=f"offset {offset}, epoch {epoch}: {tip}; {knows}",
            **look,
        )
    _epochs(row, columns, shown, leaders)
    for offset, epoch, text, more, tip, _ in log["cut"]:
        if offset >= columns.first:
            look = {"fill": "none", "line": "trouble", "ink": "trouble", "dash": "3 3"}
            said = *words(text, more), str(offset)
            d.cell(
                f"cut/{row.broker}/{offset}",
                columns(offset),
                y,
                w,
                row.cell,
                *said,
                width=2,
                **look,
                tip=f"offset {offset}, epoch {epoch}, cut: {tip}",
                same=f"{offset}/{epoch}",
            )
            d.line(
                f"cut/{row.broker}/{offset}/line",
                columns(offset) + 3,
                y + row.cell - 3,
                columns(offset) + w - 3,
                y + 3,
                "trouble",
                width=2,
            )
    if log["end"] >= columns.first and not any(
        each[0] == log["end"] for each in log["cut"]
    ):
        d.slot(f"{row.key}/next", columns(log["end"]), y, w, row.cell, log["end"])
    if columns.first <= log["high_watermark"]:
        x = columns(log["high_watermark"]) - 2.5
        d.line(
            f"{row.key}/high-watermark", x, y - 5, x, y + row.cell + 5, "ink", width=2.5
        )


def _fitting(text: str, more: str, *, width: float, tall: bool) -> tuple[str, str]:
    """What a record's cell says: a short word and a longer one, below each other in a
    tall cell; else one of them, where there is no room for both.
    """
    if tall:
        return fit(text, width * LEAST_STRETCH - 4, 13.5, mono=True, bold=True), more
    if has_room(f"{text} {more}", width - 6, 13.5):
        return text, more
    return ("", more) if width > 40 and more else (text, "")


def _epochs(
    row: Row,
    columns: Columns,
    shown: Sequence[Sequence[Any]],
    leaders: Mapping[str, int],
) -> None:
    """Over the records in which leader epoch they were written."""
    begun = -1
    for number, (offset, epoch, *_) in enumerate(shown):
        if epoch != begun:
            begun, run = epoch, sum(1 for each in shown[number:] if each[1] == epoch)
            words = next(
                (
                    each
                    for each in (f"epoch {epoch}", f"e{epoch}")
                    if has_room(each, run * columns.pitch - 4, 12)
                ),
                "",
            )
            if words:
                row.d.text(
                    f"{row.key}/epoch/{epoch}",
                    columns(offset) + 1,
                    row.y + 11,
                    words,
                    "quiet",
                    size=12,
                    tip=f"broker {leaders.get(str(epoch), '?')} led in epoch {epoch}",
                )


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
    """The same in every picture."""
    return actor_colour(broker - 1)


def node_id(node: str) -> int:
    """3 of "broker 3"."""
    number = node.rsplit(" ", 1)[-1]
    return int(number) if number.isdigit() else 0


def epoch_at(epochs: Sequence[Sequence[int]], offset: int) -> int:
    """epochs: [leader epoch, first offset], in order."""
    return max((epoch for epoch, first in epochs if first <= offset), default=-1)


def listed(brokers: Sequence[int]) -> str:
    """Brokers by id, as an ISR is told."""
    return " ".join(map(str, sorted(brokers))) or "empty"

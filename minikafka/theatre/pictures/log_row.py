"""A partition of the log's picture: its records come from producers, and records lost
to readers are marked under it.
"""

from collections.abc import Iterable
from typing import NamedTuple

from minikafka.theatre.columns import Column
from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    Drawing,
    Look,
    Point,
    fitting,
    text_width,
)
from minikafka.theatre.pictures.journey_story import Compared, Kept, Lost
from minikafka.theatre.play import Cast
from minikafka.theatre.row import Record, Row

MOST = 4  # producers are drawn
# from one producer to the next, on a narrow page and on a wide one
APART_NARROW, APART = 132, 50
TWO_WORDS = 40  # height of a record that has room for them
# the position of a reader that began at the end, if it had begun at the start
EARLIEST = ("“earliest” would begin here", "“earliest”: here", "earliest")


class Span(NamedTuple):
    """From the first offset up to another one."""

    first: int
    up_to: int


class JourneyRow(Row):
    """A partition whose records come from producers. cast: of the whole play; home_y:
    of the first producer. passed: the position of a reader that began at the end, if it
    had begun at the start.
    """

    cast: Cast
    home_y: float
    passed: int | None = None

    def columns_with(self, offsets: Iterable[int]) -> list[Column]:
        """Records that are kept longer than they should be have a place, too."""
        kept = self.partition["kept"]
        old = range(kept[0], kept[1]) if kept else ()
        return super().columns_with([*offsets, *old])

    def written_now(self) -> list[Record]:
        """By the event that is shown."""
        records = [Record(*record) for record in self.partition["records"]]
        return [record for record in records if record.number == self.now]

    def look(self, record: Record) -> Look:
        """It flies in from its producer, and shows its key or its age."""
        producer = min(record.producer, MOST - 1)
        home = producer_at(self.d, producer, self.home_y)
        look: Look = {"from_x": home.x, "from_y": home.y}
        if record.days is not None:
            look |= self._aged(record.letter, record.days)
        elif self.cast["one_key"]:
            look["text"] = ""
            look["more"] = self._value(record)
        for span in self._lost():
            if span.first <= record.offset < span.up_to:
                look["line"] = "trouble"
                look["width"] = 2
        for compared in self._compared():
            if compared.is_found and compared.offset == record.offset:
                look["line"] = "ink"
                look["width"] = 2
        return look

    def _value(self, record: Record) -> str:
        """The record's value if there is room for it in its cell, otherwise ""."""
        if record.value is None:
            return ""
        needed = text_width(record.value, 12.5)
        if needed > room_in(self.cell):
            return ""
        return record.value

    def _aged(self, letter: str, days: int) -> dict[str, str]:
        """A record says how old it is, beside its letter or instead of it."""
        age = f"{days}d" if self.d.narrow else str(days)
        has_two_words = not self.cast["one_key"] and self.style.cell >= TWO_WORDS
        if letter and has_two_words:
            return {"text": letter, "more": age}
        return {"text": age, "more": ""}

    def _lost(self) -> list[Lost]:
        """The records that somebody never gets."""
        return [Lost(*span) for span in self.partition["lost"]]

    def _compared(self) -> list[Compared]:
        """The records that a search by time has looked at."""
        return [Compared(*each) for each in self.partition["compared"]]

    def draw(self) -> None:
        """The row, and brackets under what is lost, or is older than it should be."""
        super().draw()
        if self.passed is not None:
            self._other_place(self.passed)
        y = self.cells_foot + (26 if self.style.header else 20)
        kept = self.partition["kept"]
        if kept:
            self._old(Kept(*kept), y)
        self._say_compared(y)
        free = float("inf")
        for span in reversed(self._lost()):
            is_under_another = span.up_to > free  # of another reader
            if not is_under_another:
                free = span.first
                self._lose(span, y)

    def _other_place(self, offset: int) -> None:
        """Mark the position of a reader that begins at the earliest record, if there is
        room.
        """
        x = self.left_of(offset) - 2.5
        ends = [label.left for _, label in self.call_outs()]
        room = min([self.right, *ends]) - x - 18
        words = fitting(EARLIEST, room, 12)
        if not words:
            return
        top = self.cells_foot + 2
        foot = self.cells_foot + self.style.words - 6
        self.d.upright(
            "passed",
            x=x,
            top=top,
            bottom=foot,
            line="gone",
            dash="3 3",
        )
        self.d.path(
            "passed/head",
            x=x,
            y=foot - 4,
            d="M0,0 l-6,10 h12 z",
            line="gone",
        )
        self.d.text(
            "passed/name",
            x + 9,
            foot + 6,
            words,
            "gone",
            size=12,
        )

    def _say_compared(self, y: float) -> None:
        """Under each of those, what came of it."""
        for compared in self._compared():
            than = "≥" if compared.is_found else "<"
            self.d.text(
                f"compared/{self.key}/{compared.offset}",
                self.left_of(compared.offset) + self.cell / 2,
                y + 14,
                f"{than} {compared.asked}",
                "ink" if compared.is_found else "quiet",
                bold=compared.is_found,
                anchor="middle",
                size=12,
            )

    def _old(self, kept: Kept, y: float) -> None:
        """Under records older than retention allows."""
        self._bracket(
            f"kept/{self.key}",
            Span(kept.first, kept.up_to),
            f"older than {kept.limit}, still there",
            y,
            colour="ink",
        )

    def _lose(self, span: Lost, y: float) -> None:
        """Under records that are lost, with their number."""
        self._bracket(
            f"lost/{self.key}/{span.first}",
            Span(span.first, span.up_to),
            f"{span.records} {span.why}",
            y,
            colour="trouble",
        )

    def _bracket(self, key: str, span: Span, words: str, y: float, colour: str) -> None:
        """Under some records, with words in its middle."""
        left = self.left_of(span.first)
        right = self.left_of(span.up_to) - 5
        bracket = self.d.part(key, 0, y)
        look: Look = {
            "line": colour,
            "width": 2,
        }
        self.d.level(key, left=left, right=right, y=y, **look)
        bracket.upright("from", x=left, top=-4, bottom=0, **look)
        bracket.upright("to", x=right, top=-4, bottom=0, **look)

        half = text_width(words, 13, bold=True) / LEAST_STRETCH / 2
        middle = max((left + right) / 2, self.x + half)
        middle = min(middle, self.right - half)
        look = {
            "bold": True,
            "anchor": "middle",
            "halo": "paper",
        }
        bracket.text("count", middle, 14, words, colour, **look)


def room_in(cell: float) -> float:
    """For words, in a record that is so wide."""
    return cell * 0.82 - 8


def producer_at(d: Drawing, number: int, y: float) -> Point:
    """The place of a producer. y: of the first one, on a wide page."""
    if d.narrow:
        return Point(number * APART_NARROW, 1)
    return Point(0, y + number * APART)

"""The upper part of the lag's picture: written and committed records, summed over all
partitions, as two lines, and the readers in the gap between them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from minikafka.theatre.drawing import Box, Drawing, Part, widest
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.lag.partition import BESIDE, Field
from minikafka.theatre.pictures.lag.pile import Pile, legend
from minikafka.theatre.pictures.lag.sums import Sums, Told, Value, apart, bends, sums

LINES = {
    "end": "log end offset",
    "committed": "committed offset",
    "start": "log start offset",
}
ROW = 18  # from one line of brackets to the next


class Span(NamedTuple):
    """While somebody caught up, and how that is told. is_alone: there is room for words
    beside it, where it is too short for them.
    """

    begin: int
    end: int
    words: str
    is_alone: bool = True


@dataclass(frozen=True)
class Chart:
    """In its place. of_lag: the lag is the line. rows: of brackets below. pile: of
    any partition.
    """

    d: Drawing
    field: Field
    of_lag: bool
    rows: int
    pile: Pile

    def draw(self, scenes: Sequence[Scene], moments: Sequence[Told]) -> None:
        """All but its grid and brackets. scenes, and what each adds up to: up to the
        cursor.
        """
        for number, (now, then) in enumerate(pairwise(moments)):
            has_members = bool(scenes[number]["space"]["members"])
            self._shade(f"lag/all/{number}", now, then, has_members)
        if self.of_lag:
            lags = [Value(at, each.lag) for at, each in moments]
            self._line("lines/lag", lags, "ink", width=2)
        else:
            self._lines(moments)
        self._names(scenes[-1])
        self._headings()

    def brackets(self, spans: Sequence[Span]) -> None:
        """Below the chart; over the cursor, which would strike their words through."""
        for number, span in enumerate(spans):
            row = number if self.rows > 1 else 0
            self._span(f"caught/{number}", span, row)

    # -- the lines, and what is between them

    def _shade(self, key: str, now: Told, then: Told, has_members: bool) -> None:
        """Shade the time for which the group had these readers."""
        field = self.field
        before = now.sums
        after = then.sums
        if self.of_lag:
            high = (before.lag + after.lag) / 2
            low = 0.0
        else:
            high = (before.end + after.end) / 2
            low = (before.done + after.done) / 2

        left = field.x(now.at)
        right = field.x(then.at)
        top = field.y(high)
        bottom = field.y(low)
        box = Box(
            x=left,
            y=top,
            w=right - left,
            h=bottom - top,
        )
        if box.w <= 0 or box.h <= 0.5:
            return
        if before.unread:
            self.d.rect(key, *box, fill="hatch", fade=0.5)
            return
        fill = "chip" if has_members else "wash"
        wider = box._replace(w=box.w + 0.5)
        self.d.rect(key, *wider, fill=fill)

    def _lines(self, moments: Sequence[Told]) -> None:
        """Draw the lines of written and committed records; and the log's start, once it
        moves.
        """
        now = moments[-1].sums
        if now.start:
            starts = [Value(at, each.start) for at, each in moments]
            self._line(
                "lines/start",
                starts,
                "trouble" if now.lost else "quiet",
                width=1.5,
                dash="3 3",
            )
        committed = [Value(at, each.committed) for at, each in moments]
        self._line("lines/committed", committed, "ink", width=2)
        ends = [Value(at, each.end) for at, each in moments]
        self._line("lines/end", ends, "ink", width=2)

    def _line(self, key: str, values: Sequence[Value], ink: str, **look: Any) -> None:
        """A line through values, bend by bend."""
        field = self.field
        for number, part in enumerate(bends(values)):
            self.d.line(
                f"{key}/{number}",
                x=field.x(part.at),
                y=field.y(part.value),
                x2=field.x(part.until),
                y2=field.y(part.then),
                line=ink,
                **look,
            )

    # -- at the lines' ends

    def _names(self, scene: Scene) -> None:
        """Their names and values, and the lag between them."""
        now = sums(scene)
        field = self.field
        high = now.end
        low = now.done
        if self.of_lag:
            high = now.lag
            low = 0
        self.d.upright(
            "name/gap",
            x=field.right + 7,
            top=field.y(high),
            bottom=field.y(low),
            line="ink",
            width=3,
        )
        for name, y in self._heights(now).items():
            if name == "lag":
                self._lag(now.lag, y)
            else:
                self._name(name, y, now)

    def _heights(self, now: Sums) -> Mapping[str, float]:
        """Where each name is: near its line's end, and readable."""
        field = self.field
        values: dict[str, float] = {
            "end": now.end,
            "lag": now.end - now.lag / 2,
            "committed": now.committed,
        }
        if self.of_lag:
            values = dict.fromkeys(values, now.lag)
        elif now.start > 0:
            values["start"] = now.start
        wanted = [field.y(value) for value in values.values()]
        heights = apart(
            wanted,
            least=17,
            top=field.top + 2,
            bottom=field.bottom - 6,
        )
        return dict(zip(values, heights, strict=True))

    @property
    def _left(self) -> float:
        """The x at which the names beside the chart begin."""
        return self.field.right + BESIDE

    def _lag(self, lag: int, y: float) -> None:
        x = self._left
        self.d.text(
            "name/lag",
            x,
            y + 5,
            f"lag {lag:,}",
            bold=True,
            size=15,
            room=self.d.width - x,
        )

    def _name(self, name: str, y: float, now: Sums) -> None:
        """A line's, and its value."""
        d = self.d
        words = LINES[name]
        if d.narrow:
            words = words.removesuffix(" offset")
        value = f"{getattr(now, name):,}"
        if name == "committed" and now.nothing:
            value = "none"
        x = self._left
        base = y + 4
        d.note(
            f"name/{name}",
            x,
            base,
            words,
            size=12,
            room=d.width - x - 44,  # without the value
        )
        d.number(
            f"name/{name}/value",
            d.width,
            base,
            value,
            "ink",
            bold=False,
        )

    # -- below

    def _headings(self) -> None:
        """Draw the headings above the ends of the partitions' lanes."""
        y = self.field.bottom + ROW * self.rows
        if self.d.narrow and self.rows > 1:
            y += ROW  # words of brackets end here
        self.d.note("name/of", self._left, y, "lag", bold=True)
        legend(self.d, self.pile, y)

    def _span(self, key: str, span: Span, row: int) -> None:
        """A bracket over its time, and words on it, or beside it where it is short."""
        field = self.field
        y = field.bottom + 13 + ROW * row
        left = field.x(span.begin)
        right = field.x(span.end)
        if right - left < 12:
            return
        bracket = self.d.part(key, 0, y)
        self.d.level(
            key,
            left=left,
            right=right,
            y=y,
            line="ink",
            width=2,
        )
        for number, x in enumerate((left, right)):
            bracket.upright(
                str(number),
                x=x,
                top=-5,
                bottom=5,
                line="ink",
                width=2,
            )
        is_too_short = widest(span.words, 13, bold=True) > right - left - 20
        if span.is_alone or not is_too_short:
            self._words_of(bracket, span.words, left, right)

    def _words_of(self, bracket: Part, words: str, left: float, right: float) -> None:
        """On paper, so that nothing strikes them through."""
        field = self.field
        if widest(words, 13, bold=True) > field.right - field.left:
            words = words.removeprefix("caught up ").replace(": lag ", ": ")
        half = widest(words, 13, bold=True) / 2 + 4
        middle = self._middle(left, right, half)
        bracket.rect(
            "paper",
            x=middle - half,
            y=-8,
            w=2 * half,
            h=16,
            fill="paper",
        )
        bracket.text(
            "words",
            middle,
            5,
            words,
            size=13,
            bold=True,
            anchor="middle",
        )

    def _middle(self, left: float, right: float, half: float) -> float:
        """The x for the words of a bracket: on it, right of it, or left of it. half:
        half their width.
        """
        middle = right + half + 4
        if right - left > 2 * half + 12:
            middle = (left + right) / 2
        # a row of its own has the room beside the chart, too
        most = self.field.right if self.rows == 1 else self.d.width
        if middle + half > most:
            middle = left - half - 4
        return max(middle, self.field.left + half)

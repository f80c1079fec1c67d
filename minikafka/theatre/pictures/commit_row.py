"""The commit point's log: its records with their fates below, the flag of the committed
offset, and what a crash would do to the records behind or before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    Box,
    Drawing,
    Look,
    Place,
    Point,
    fitting,
    text_width,
)
from minikafka.theatre.play import Space
from minikafka.theatre.row import (
    LEFT_OF_ANCHOR,
    Boundary,
    Reader,
    Record,
    Row,
    Style,
)

HEAD = 51  # above the records: the flag, and what a crash would do
BOX = 20  # height of a record's effect
FLAG = 18  # height of the flag
LEAST_FOR_LOST = 40  # from one record to the next, so that the word has room
EXPIRED = "deleted, committed"  # takes as much room as what is said
# records that went wrong and are drawn in a log that is longer than the page
MOST_WRONG = 4


class CommitRow(Row):
    """A partition with the group's committed offset, and a row of effects right under
    the records. home: where its records come from.
    """

    def __init__(
        self,
        d: Drawing,
        space: Space,
        place: Place,
        pitch: float,
        now: int,
        readers: Sequence[Reader],
        style: Style,
        home: Point,
    ) -> None:
        self.committed: int | None = space["committed"]
        self.expired: int | None = space["expired"]
        self.flag: int | None = space["flag"]
        self.home = home
        super().__init__(d, space["log"], place, pitch, now, readers, style)
        self.cells_y = self.y + HEAD
        self.values = style.cell > 30
        self.effects_y = self.cells_y + style.cell + 24
        wrong = sorted(map(int, [*space["skipped"], *twice(space)]))
        places = [reader.next for reader in readers]
        if self.expired is not None:
            places.append(self.expired)
        self.columns = self.columns_with([*places, *wrong[-MOST_WRONG:]])

    def effect_at(self, column: int) -> Box:
        """The place under a record."""
        return Box(
            x=self.x_of(column),
            y=self.effects_y,
            w=self.pitch - 5,
            h=BOX,
        )

    def place_of(self, offset: int) -> Point:
        """The place of a record, whether it exists or not."""
        return Point(self.left_of(offset), self.cells_y)

    def look(self, record: Record) -> Look:
        """A new one comes from who wrote it."""
        if record.number != self.now:
            return {}
        return {"from_x": self.home.x, "from_y": self.home.y}

    def _segments(self) -> None:
        """Files are no story of this picture."""

    def boundaries(self) -> list[Boundary]:
        """The end's label is below the empty place, because the committed offset is the
        subject here.
        """
        shown = []
        for mark in super().boundaries():
            if mark.offset > 0 and mark.name != "log end offset":
                shown.append(mark)
        if self.committed is not None:
            shown.insert(0, Boundary("committed", self.committed))
        if self.expired is not None:
            shown.insert(0, Boundary(EXPIRED, self.expired))
        return shown

    def _boundaries(self) -> None:
        """The line of the committed offset goes down through the effects; the flag that
        a reader has sent is its name.
        """
        super()._boundaries()
        self._expired()
        key = f"boundary/{self.key}/committed"
        line = self.d.shapes.get(key)
        if line is None:
            return
        line |= {"y2": self.effects_y + BOX + 3, "width": 3}
        name = self.d.shapes.pop(f"{key}/name")
        words = name["text"]
        most = text_width(words, 12.5, bold=True) / LEAST_STRETCH
        left_of_it = most * LEFT_OF_ANCHOR[name.get("anchor", "start")]
        width = most + 14
        left = name["x"] - left_of_it - 7
        place = Box(
            x=min(left, self.d.width - width),
            y=name["y"] - 13,
            w=width,
            h=FLAG,
        )
        draw_flag(self.d, self.flag, words, place)

    def _expired(self) -> None:
        """Where a commit stood that is deleted: its trace."""
        key = f"boundary/{self.key}/{EXPIRED}"
        line = self.d.shapes.pop(key, None)
        if line is None:
            return
        name = self.d.shapes.pop(f"{key}/name")
        foot = self.effects_y + BOX + 3
        faint: Look = {"line": "gone", "width": 2, "dash": "5 3"}
        self.d.add("expired", **line | faint | {"y2": foot})
        words = f"committed {self.expired}, deleted"
        self.d.add("expired/name", **name | {"fill": "gone", "text": words})

    def span(self, name: str, ends: Sequence[int], words: Sequence[str]) -> None:
        """Shade records and effects between two offsets. words: its name, and a shorter
        one where room is scarce.
        """
        left = self.left_of(ends[0]) - 4
        right = self.left_of(ends[1]) - 2
        top = self.cells_y - 20
        tab_y = top + 17  # where the tab with the name ends
        bottom = self.effects_y + BOX + 4
        key = f"span/{name}"

        goes_right = name == "again"
        room = self.d.width - left if goes_right else right
        most = room - 8 / LEAST_STRETCH
        text = fitting(words, most, 12.5, bold=True) or words[-1]
        needed = (text_width(text, 12.5, bold=True) + 8) / LEAST_STRETCH
        width = max(needed, right - left)

        if goes_right:
            x = min(left, self.d.width - width)
            at = x + 7
            anchor = "start"
        else:
            x = max(right - width, 0)
            at = right - 7
            anchor = "end"

        if width <= right - left:  # a wider one would be the tab of its neighbours, too
            tab = Box(x=x, y=top, w=width, h=18)
            self.d.rect(f"{key}/tab", *tab, "said", "saidline", r=4)
        shade = Box(x=left, y=tab_y, w=right - left, h=bottom - tab_y)
        self.d.rect(key, *shade, "said", "saidline")
        look: Look = {
            "size": 12.5,
            "bold": True,
            "anchor": anchor,
        }
        self.d.text(f"{key}/name", at, top + 13, text, **look)


def draw_flag(d: Drawing, number: int | None, words: str, place: Box) -> None:
    """Draw a commit as a flag, the same in flight as where it is stored. number: of the
    event that sent it.
    """
    look: Look = {
        "fill": "ink",
        "ink": "paper",
        "r": 4,
        "of": number,
    }
    d.boxed(f"commit/{number}", *place, words, **look)


@dataclass(frozen=True)
class Effect:
    """The effect of a record, drawn below it. home: where the effect comes from, if not
    from the record itself.
    """

    d: Drawing
    row: CommitRow
    box: Box
    offset: int
    space: Space
    home: Point | None

    @property
    def key(self) -> str:
        """The key of the shape that shows the record's fate."""
        return f"effect/{self.offset}"

    @property
    def is_wide(self) -> bool:
        """Whether there is room for words."""
        return self.row.pitch > 65

    def draw(self) -> None:
        """Draw the current state, and below it a second one if the record was done
        again.
        """
        numbers = self.space["effects"].get(str(self.offset), [])
        lost_by = self.space["skipped"].get(str(self.offset))
        if lost_by is not None:
            self._lost(lost_by)
        elif numbers:
            self._done(numbers[0])
        else:
            self._nothing_yet()
        if len(numbers) > 1:
            self._again(numbers)

    def _lost(self, number: int) -> None:
        """Nobody will read it any more."""
        look: Look = {
            "fill": "paper",
            "line": "trouble",
            "ink": "trouble",
            "r": 5,
            "width": 2,
            "dash": "3 3",
            "of": number,
            "tip": f"record {self.offset} is lost",
        }
        words = "lost" if self.row.pitch >= LEAST_FOR_LOST else "✗"
        self.d.boxed(self.key, *self.box, words, **look)

    def _done(self, number: int) -> None:
        """It comes out of a reader's memory into its place."""
        look: Look = {
            "fill": "good",
            "of": number,
            "same": self._same,
            "tip": f"record {self.offset}: done",
        }
        look |= self._comes_from(number)
        self.d.cell(f"{self.key}/1", *self.box, "✓", **look)

    def _nothing_yet(self) -> None:
        """Draw the empty place of an effect that isn't there yet."""
        look: Look = {
            "line": "rule",
            "r": 5,
            "dash": "3 3",
            "tip": f"record {self.offset}: nothing yet",
        }
        self.d.rect(self.key, *self.box, **look)

    def _again(self, numbers: Sequence[int]) -> None:
        """Draw how often the effect was repeated, below it."""
        times = len(numbers)
        words = "again" if times == 2 and self.is_wide else f"{times}×"
        box = self.box._replace(y=self.box.bottom + 2)
        look: Look = {
            "fill": "paper",
            "line": "trouble",
            "ink": "trouble",
            "width": 2,
            "of": numbers[-1],
            "same": self._same,
            "tip": f"record {self.offset}: {times} times",
        }
        look |= self._comes_from(numbers[-1])
        self.d.cell(f"{self.key}/2", *box, words, **look)

    @property
    def _same(self) -> str:
        return f"{self.row.key}/{self.offset}"

    def _comes_from(self, number: int) -> Look:
        """The event that is shown brings it."""
        if number != self.row.now:
            return {}
        if self.home is None:
            return {"from_y": self.row.cells_y}
        return {"from_x": self.home.x, "from_y": self.home.y}


def twice(space: Space) -> list[str]:
    """The offsets whose effect is there more than once."""
    return [offset for offset, numbers in space["effects"].items() if len(numbers) > 1]

"""The commit point's log: its records with their fates below, the flag of the committed
offset, and what a crash would do to the records behind or before it.
"""

from collections.abc import Callable, Sequence

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places
from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    Box,
    Drawing,
    Look,
    Point,
    fitting,
    text_width,
    widest,
)
from minikafka.theatre.play import Cast, Space
from minikafka.theatre.row import (
    LEFT_OF_ANCHOR,
    OFFSETS,
    Boundary,
    Label,
    Reader,
    Record,
    Row,
    RowBox,
    pitch_for,
)
from minikafka.theatre.text import dotted

FLAG = 18  # height of the flag
LEAST_FOR_LOST = 42  # so that the word has room
LEAST_FOR_AGAIN = 66
EXPIRED = "deleted, committed"  # takes as much room as what is said
# records that went wrong and are drawn in a log that is longer than the page
MOST_WRONG = 4
HOME = "producer"  # the box that records come from


class CommitLog:
    """The log, measured over all scenes. home: of the effects that a reader writes, by
    its name.
    """

    def __init__(
        self,
        cast: Cast,
        scenes: Sequence[Scene],
        home: Callable[[Places, Space], Point | None],
    ) -> None:
        self.colours = cast["readers"]
        self.most = cast["most"]
        self.home = home
        logs = [scene["space"]["log"] for scene in scenes]
        keys = [Record(*each).key or "" for log in logs for each in log["records"]]
        longest = max(map(len, keys), default=0)
        # of a record that is named by its key
        self.wide = 1.25 * text_width("k" * longest, 13.5, mono=True) + 5
        self.again = any(twice(scene["space"]) for scene in scenes)
        self.box = RowBox("log", scenes, self._row, self.most)

    def item(self) -> Item:
        """The rows, and what is said above and below them."""
        return self.box.item(self._draw, self.wide)

    def _row(self, d: Drawing, place: Box, scene: Scene) -> "CommitRow":
        """The log of a scene, with the names that records have here."""
        space = scene["space"]
        pitch = pitch_for(place.w, self.most, LEAST_FOR_LOST)
        named = []
        for each in space["log"]["records"]:
            record = Record(*each)
            named.append(record._replace(letter=_name(record, pitch >= self.wide)))
        readers = [
            _reader(reader, self.colours[reader["name"]]) for reader in placed(space)
        ]
        shown = space | {"log": space["log"] | {"records": named}}
        return CommitRow(d, shown, place, pitch, scene["number"], readers, self.again)

    def _draw(self, d: Drawing, places: Places, row: "CommitRow") -> None:
        """Spans behind the records, then these, their fates, and what is said of
        them.
        """
        row.home = Point(places[HOME].x + 8, places[HOME].y + 2)
        for name, ends in row.space["spans"].items():
            if ends:
                row.span(name, ends, _named(name, row.space, d.asks))
        row.draw()
        row.effects(self.home(places, row.space))

    def draw_captions(self, d: Drawing, places: Places, scene: Scene) -> None:
        """The rows' names, in front of them."""
        row = self.box.at(d, places, scene)
        assert row is not None, "the commit point always has a log"
        space = scene["space"]
        place = places["captions"]
        look: Look = {"bold": True, "anchor": "end", "room": place.w}
        log_y = row.cells_y + row.tall / 2 + 5
        effects_y = row.effects_y + row.high_effect / 2 + 5
        d.text("row/log", place.right, log_y, "the log", **look)
        if space["log"]["log_end_offset"]:
            d.note("row/offset", place.right, row.effects_y - 8, "offset", "end")
        words = space["table"] or "read"
        d.text("row/table", place.right, effects_y, words, **look)


class CommitRow(Row):
    """A partition with the group's committed offset, and a row of effects right under
    the records. home: where its records come from.
    """

    tab = 19
    home: Point

    def __init__(
        self,
        d: Drawing,
        space: Space,
        place: Box,
        pitch: float,
        now: int,
        readers: Sequence[Reader],
        again: bool,
    ) -> None:
        self.space = space
        self.committed: int | None = space["committed"]
        self.expired: int | None = space["expired"]
        super().__init__(d, space["log"], place, pitch, now, readers)
        self.left = 0  # under the rows' names
        self.high_effect = round(self.tall * 0.68)
        self.words = OFFSETS + self.high_effect * (2 if again else 1) + 18
        self.values = False
        self.effects_y = self.cells_foot + OFFSETS
        self.foot = self.effects_y + self.high_effect + 3
        wrong = sorted(map(int, [*space["skipped"], *twice(space)]))
        places = [reader.next for reader in readers]
        if self.expired is not None:
            places.append(self.expired)
        self.columns = self.columns_with([*places, *wrong[-MOST_WRONG:]])

    def look(self, record: Record) -> Look:
        """A new one comes from who wrote it."""
        is_new = record.number == self.now
        return {"from_x": self.home.x, "from_y": self.home.y} if is_new else {}

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

    def _labels_of(self, mark: Boundary) -> list[Label]:
        """The line nearest to the records comes first."""
        return sorted(super()._labels_of(mark), key=lambda label: label.level)

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
        line |= {"y2": self.foot, "width": 3}
        name = self.d.shapes.pop(f"{key}/name")
        words = name["text"]
        most = text_width(words, 12.5, bold=True) / LEAST_STRETCH
        left_of_it = most * LEFT_OF_ANCHOR[name.get("anchor", "start")]
        width = most + 14
        x = min(name["x"] - left_of_it - 7, self.d.width - width)
        place = Box(x, name["y"] - 13, width, FLAG)
        draw_flag(self.d, self.space["flag"], words, place)

    def _expired(self) -> None:
        """Where a commit stood that is deleted: its trace."""
        key = f"boundary/{self.key}/{EXPIRED}"
        line = self.d.shapes.pop(key, None)
        if line is None:
            return
        name = self.d.shapes.pop(f"{key}/name")
        faint: Look = {"line": "gone", "width": 2, "dash": "5 3", "y2": self.foot}
        self.d.add("expired", **line | faint)
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
        key = f"span/{name}"
        goes_right = name == "again"
        room = self.d.width - left if goes_right else right
        text = fitting(words, room - 10, 12.5, bold=True) or words[-1]
        needed = widest(text, 12.5, bold=True) + 10
        if needed <= right - left:  # a wider one would be its neighbours' tab, too
            tab = Box(left, top, right - left, 18)
            self.d.rect(f"{key}/tab", *tab, "said", "saidline", r=4)
        shade = Box(left, tab_y, right - left, self.foot + 1 - tab_y)
        self.d.rect(key, *shade, "said", "saidline")
        at, anchor = right - 7, "end"
        if goes_right and left + needed <= self.d.width:
            at, anchor = left + 7, "start"
        elif goes_right:
            at = self.d.width - 2
        look: Look = {"size": 12.5, "bold": True, "anchor": anchor}
        self.d.text(f"{key}/name", at, top + 13, text, **look)

    # -- what came of the records

    def effects(self, home: Point | None) -> None:
        """The fate of each record, below it. home: where a new effect comes from, if
        not from the record itself.
        """
        came: Look = {"from_y": self.cells_y}
        if home is not None:
            came = {"from_x": home.x, "from_y": home.y}
        for number, column in enumerate(self.columns):
            if column.up_to - column.first == 1:
                x = self.x_of(number)
                place = Box(x, self.effects_y, self.cell, self.high_effect)
                self._effect(column.first, place, came)

    def _effect(self, offset: int, place: Box, came: Look) -> None:
        """Lost, done, or the empty place of what isn't there yet; below it how often it
        was done again. came: from where, at the event that brings it.
        """
        key = f"effect/{offset}"
        numbers = self.space["effects"].get(str(offset), [])
        lost_by = self.space["skipped"].get(str(offset))
        same = f"{self.key}/{offset}"
        wrong: Look = {"fill": "paper", "line": "trouble", "ink": "trouble", "width": 2}
        if lost_by is not None:
            look = wrong | {"r": 5, "dash": "3 3", "of": lost_by}
            words = "lost" if self.pitch >= LEAST_FOR_LOST else "✗"
            tip = f"record {offset} is lost"
            self.d.boxed(key, *place, words, **look, tip=tip)
        elif numbers:
            look = {"fill": "good", "of": numbers[0], "same": same, "size": self.size}
            look |= came if numbers[0] == self.now else {}
            tip = f"record {offset}: done"
            self.d.cell(f"{key}/1", *place, "✓", **look, tip=tip)
        else:
            tip = f"record {offset}: nothing yet"
            self.d.rect(key, *place, line="rule", r=5, dash="3 3", tip=tip)

        times = len(numbers)
        if times > 1:
            is_wide = self.pitch >= LEAST_FOR_AGAIN
            words = "again" if times == 2 and is_wide else f"{times}×"
            look = wrong | {"of": numbers[-1], "same": same}
            look |= came if numbers[-1] == self.now else {}
            below = place._replace(y=place.bottom + 2)
            tip = f"record {offset}: {times} times"
            self.d.cell(f"{key}/2", *below, words, **look, tip=tip)


def draw_flag(d: Drawing, number: int | None, words: str, place: Box) -> None:
    """Draw a commit as a flag, the same in flight as where it is stored. number: of the
    event that sent it.
    """
    look: Look = {"fill": "ink", "ink": "paper", "r": 4, "of": number}
    d.boxed(f"commit/{number}", *place, words, **look)


def placed(space: Space) -> list[Space]:
    """The readers that have a position."""
    return [reader for reader in space["readers"] if reader["next"] is not None]


def twice(space: Space) -> list[str]:
    """The offsets whose effect is there more than once."""
    return [offset for offset, numbers in space["effects"].items() if len(numbers) > 1]


def _named(name: str, space: Space, asks: bool) -> tuple[str, ...]:
    """The name of a shaded span: its present meaning while a prediction still asks
    about its future.
    """
    comes_again = space["comes_again"]
    if name == "lost":
        if asks or comes_again:
            return f"committed, not in {space['table']}", "not done"
        return "would be lost if it stopped", "would be lost"
    if asks:
        return "read, not committed", "not committed"
    if comes_again:
        return "comes again", "again"
    first, up_to = space["spans"]["again"]
    if any(first <= offset < up_to for offset in space["again"]):
        return "repeated, not yet committed", "repeated"
    return "would be repeated if it stopped", "would be repeated", "would repeat"


def _name(record: Record, whole: bool) -> str:
    """A record by its key, where the key says more than the offset."""
    name = record.key if whole and record.key else record.letter
    return "" if name == str(record.offset) else name


def _reader(reader: Space, colour: str) -> Reader:
    """A reader as the row of records draws it."""
    state = reader["state"]
    return Reader(
        name=reader["name"],
        next=reader["next"],
        ways=(dotted(f"next {reader['next']}", state), state),
        colour=colour,
        trouble=state == "crashed",
        away=bool(state),
    )

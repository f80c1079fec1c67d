"""The commit point's log: its records with their fates below, the flag of the committed
offset, and what a crash would do to the records behind or before it.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, part
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
    CALL_OUT,
    LEFT_OF_ANCHOR,
    Boundary,
    Label,
    Reader,
    Record,
    Row,
    Style,
)
from minikafka.theatre.text import dotted

LINE = 16  # height of a line of labels above the records
OFFSETS = 24  # height of the numbers below the records
HEAD = 19 + 2 * LINE  # from the upper line of labels to the records
FLAG = 18  # height of the flag
PITCH = 110  # from one record to the next, at most
LEAST_FOR_ALL = 28  # as long as it allows for all records
LEAST_PITCH = 42  # where they are too many
LEAST_FOR_LOST = 40  # so that the word has room
LEAST_FOR_AGAIN = 66
EXPIRED = "deleted, committed"  # takes as much room as what is said
# records that went wrong and are drawn in a log that is longer than the page
MOST_WRONG = 4
HOME = "producer"  # the box that records come from


class Room(NamedTuple):
    """The height that a log needs at any step, and what of HEAD it never uses."""

    high: float
    unused: float


class LogBox:
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
        self.places = cast["most"] + 1.1  # with the next record's
        self.home = home
        logs = [scene["space"]["log"] for scene in scenes]
        keys = [Record(*each).key or "" for log in logs for each in log["records"]]
        longest = max(map(len, keys), default=0)
        # of a record that is named by its key
        self.wide = 1.25 * text_width("k" * longest, 13.5, mono=True) + 5
        self.again = any(twice(scene["space"]) for scene in scenes)

        @cache
        def room(width: float) -> Room:
            place = Box(0, 0, width, 0)
            rows = [self._row(Drawing(int(width)), place, scene) for scene in scenes]
            levels = [label.level for row in rows for _, label in row.labels()]
            unused = 0 if max(levels, default=0) else LINE
            return Room(max(row.high for row in rows) - unused, unused)

        self.room = room

    def box(self) -> Item:
        """The rows, and what is said above and below them."""

        def high(width: float) -> float:
            return self.room(width).high

        least = 5 * LEAST_PITCH
        wanted = max(self.wide, LEAST_PITCH) * self.places
        return part("log", self._draw, high=high, least=least, wanted=wanted, grow=1)

    def _row(self, d: Drawing, place: Box, scene: Scene) -> "CommitRow":
        """The log of a scene, with the names that records have here."""
        space = scene["space"]
        pitch = self._pitch(place.w)
        named = []
        for each in space["log"]["records"]:
            record = Record(*each)
            named.append(record._replace(letter=_name(record, pitch >= self.wide)))
        readers = [
            _reader(reader, self.colours[reader["name"]]) for reader in placed(space)
        ]
        shown = space | {"log": space["log"] | {"records": named}}
        return CommitRow(d, shown, place, pitch, scene["number"], readers, self.again)

    def _pitch(self, width: float) -> float:
        """From one record to the next: so that there is room for all, if they can be
        seen then.
        """
        for_all = min(width / self.places, PITCH)
        return for_all if for_all >= LEAST_FOR_ALL else LEAST_PITCH

    def _set(self, d: Drawing, places: Places, scene: Scene) -> "CommitRow":
        """The log at its place, under the labels that it has at any step."""
        place = places["log"]
        unused = self.room(place.w).unused
        return self._row(d, place._replace(y=place.y - unused), scene)

    def _draw(self, d: Drawing, places: Places, scene: Scene) -> None:
        """Spans behind the records, then these, their fates, and what is said of
        them.
        """
        space = scene["space"]
        row = self._set(d, places, scene)
        row.home = Point(places[HOME].x + 8, places[HOME].y + 2)
        for name, ends in space["spans"].items():
            if ends:
                row.span(name, ends, _named(name, space, d.asks))
        row.draw()
        row.effects(self.home(places, space))

    def draw_captions(self, d: Drawing, places: Places, scene: Scene) -> None:
        """The rows' names, in front of them."""
        row = self._set(d, places, scene)
        space = scene["space"]
        place = places["captions"]
        look: Look = {"bold": True, "anchor": "end", "room": place.w}
        log_y = row.cells_y + row.style.cell / 2 + 5
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
        # the wider, the higher, as far as it looks like a record
        cell = round(min(max(0.38 * pitch, 30), 42))
        self.high_effect = round(cell * 0.68)
        self.size = cell * 0.2 + 7.5  # of letters
        below = OFFSETS + self.high_effect * (2 if again else 1) + 18
        style = Style(header=True, cell=cell, words=below)
        self.space = space
        self.committed: int | None = space["committed"]
        self.expired: int | None = space["expired"]
        x, y, width, _ = place
        super().__init__(d, space["log"], (x, y, width), pitch, now, readers, style)
        self.left = 0  # under the rows' names
        self.cells_y = self.y + HEAD
        self.values = False
        self.effects_y = self.cells_y + style.cell + OFFSETS
        self.foot = self.effects_y + self.high_effect + 3
        wrong = sorted(map(int, [*space["skipped"], *twice(space)]))
        places = [reader.next for reader in readers]
        if self.expired is not None:
            places.append(self.expired)
        self.columns = self.columns_with([*places, *wrong[-MOST_WRONG:]])

    @property
    def high(self) -> float:
        """The height of all that is drawn."""
        labels = CALL_OUT * (max(self.lines, 1) - 1)
        return HEAD + self.style.cell + self.style.words + 8 + labels

    def look(self, record: Record) -> Look:
        """A new one comes from who wrote it."""
        look: Look = {"size": self.size}
        if record.number == self.now:
            look |= {"from_x": self.home.x, "from_y": self.home.y}
        return look

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
        words=dotted(f"next {reader['next']}", state),
        colour=colour,
        trouble=state == "crashed",
        away=bool(state),
    )

"""The trays of the log's picture: what each reader saw so far, in its order, and what
is lost to it.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from minikafka.theatre.actors import actor_number
from minikafka.theatre.drawing import LAYOUTS, Box, Drawing, Look, Part, fit, text_width
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.journey_story import Seen
from minikafka.theatre.play import Cast, Space
from minikafka.theatre.row import Row
from minikafka.theatre.text import key_part

MOST = 4  # trays are drawn
# a record in a tray, what is between two, what a tray says above them
CHIP, GAP, HEAD = 28, 4, 28
ROOM = 206  # height that trays may take beside a low log
LEAST = 28  # width of a record
# records that the reader never gets
LOST: Look = {
    "fill": "none",
    "line": "trouble",
    "ink": "trouble",
    "dash": "3 3",
}
LEAST_OF_MANY = 104  # width of a shape for several records


class Slots(NamedTuple):
    """How many records fit side by side, and how many of these places a loss or a long
    poll takes.
    """

    across: int
    of_many: int


class Placed(NamedTuple):
    """The place of something: its first slot, and how many it takes."""

    item: Seen
    slot: int
    span: int


class Trays:
    """The whole play decides how much room they take. by_offset: layouts in which the
    log has no room for values; so a record is an offset in the trays, too.
    """

    def __init__(
        self,
        cast: Cast,
        scenes: Sequence[Scene],
        by_offset: Collection[int],
    ) -> None:
        self.names = list(cast["readers"])
        self.colours: dict[str, str] = {}
        for name in self.names[:MOST]:
            self.colours[name] = cast["readers"][name]
        self.several = len(cast["chosen"]) > 1
        self.one_key = cast["one_key"]
        self.is_long = cast["in_days"] or cast["most"] > 8
        self.by_offset = by_offset
        self.widest = dict.fromkeys(LAYOUTS, LEAST)
        self.fullest: dict[str, list[Seen]] = {name: [] for name in self.colours}
        for scene in scenes:
            for reader in scene["space"]["readers"]:
                self._measure(reader["name"], _saw(reader))

    def _measure(self, name: str, saw: list[Seen]) -> None:
        """How wide a record is, and how many a tray holds at most."""
        for item in saw:
            if item.records > 1 or item.is_lost:
                continue
            for layout, widest in self.widest.items():
                needed = _width_of(*self._words(item, layout))
                self.widest[layout] = max(widest, needed)
        fullest = self.fullest.get(name)
        if fullest is not None and len(saw) > len(fullest):
            self.fullest[name] = saw

    def _words(self, item: Seen, layout: int) -> tuple[str, str]:
        """In bold, and beside it."""
        offset = item.offset
        if item.records > 1:
            last = offset + item.records - 1
            return f"{offset}–{last}", ""
        is_short = self.is_long or layout in self.by_offset
        by_offset = is_short and not self.several
        if item.value is not None and not by_offset:
            letter = item.letter or ""
            if self.one_key:
                letter = ""
            return letter, item.value
        if self.several:
            return f"P{item.partition}:{offset}", ""
        return str(offset), ""

    def width(self, d: Drawing) -> int:
        """The width of each tray."""
        if d.narrow:
            return d.width
        if self.several:
            return 180
        if self.is_long:
            return 150
        return 160

    def height(self, d: Drawing, room: float) -> int:
        """The height of all trays. room: the height that the log's rows need."""
        height = 0
        for lines in self._lines(d, room).values():
            height += _height(lines)
        return height

    def _slots(self, d: Drawing) -> Slots:
        """As many slots as fit beside each other."""
        inside = self.width(d) - 8
        pitch = min(self.widest[d.width], inside) + GAP
        count = max(int(inside // pitch), 1)
        longest = max(map(len, self.fullest.values()), default=0)
        # a few, one below the other, show their order best
        if self.several and longest <= 5:
            count = 1
        width_of_one = inside // count

        needed = -(-LEAST_OF_MANY // width_of_one)
        return Slots(across=count, of_many=min(count, needed))

    def _lines(self, d: Drawing, room: float) -> dict[str, int]:
        """How many lines of records each tray has: one, and more in turn where they are
        needed and there is room.
        """
        slots = self._slots(d)
        needed = {}
        for name, items in self.fullest.items():
            placed = in_slots(items, slots)
            needed[name] = _lines_of(placed, slots)

        lines = dict.fromkeys(self.colours, 1)

        most_lines = 3 if d.narrow else 6
        most_height = max(room, ROOM)
        for line in range(2, most_lines + 1):
            for name in lines:
                height = sum(map(_height, lines.values()))
                with_one_more = height + CHIP + GAP
                has_room = with_one_more <= most_height
                if has_room and needed[name] >= line:
                    lines[name] = line
        return lines

    def draw(
        self,
        d: Drawing,
        readers: Sequence[Space],
        rows: Sequence[Row],
        top: float,
        room: float,
    ) -> None:
        """rows: of the log, where the records come from."""
        width = self.width(d)
        seen = {reader["name"]: reader for reader in readers}
        for name, lines in self._lines(d, room).items():
            height = _height(lines)
            box = Box(
                x=d.width - width,
                y=top,
                w=width,
                h=height - 8,
            )
            reader = seen.get(name)
            if reader is not None:
                self._tray(d, reader, box, lines, rows)
            top += height

    def _tray(
        self,
        d: Drawing,
        reader: Space,
        box: Box,
        lines: int,
        rows: Sequence[Row],
    ) -> None:
        """One reader's, with the latest that has room."""
        name = reader["name"]
        tray = d.part(f"tray/{key_part(name)}", box.x, box.y)
        now = rows[0].now if rows else -1
        saw = _saw(reader)
        is_busy = any(item.number == now for item in saw)
        slots = self._slots(d)
        latest = last_lines(saw, slots, lines)
        self._frame(tray, reader, box, is_busy, _count(reader, latest))
        if not saw:
            tray.note("nothing", 17, HEAD + 14, "nothing yet", size=12)
        pitch = (box.w - 8) / slots.across
        by_key = {row.key: row for row in rows}

        colour = self.colours[name]
        for placed in latest:
            item = placed.item
            line, column = divmod(placed.slot, slots.across)
            chip = Box(
                x=6 + column * pitch,
                y=HEAD + line * (CHIP + GAP),
                w=pitch * placed.span - GAP,
                h=CHIP,
            )
            way: Look = {
                "of": item.number,
                "same": item.same,
            }
            is_new = item.number == now
            row = by_key.get(str(item.partition))
            if row and is_new and not item.is_lost:
                middle = chip.y + CHIP / 2
                self._way(tray, row, middle, colour, way)
                way["from_x"] = row.left_of(item.offset)
                way["from_y"] = row.cells_y
            self._chip(tray, chip, item, colour, is_new, way)

    def _frame(
        self, tray: Part, reader: Space, box: Box, is_busy: bool, count: str
    ) -> None:
        """The tray itself, with its reader's name. count: how much that has read."""
        name = reader["name"]
        colour = self.colours[name]
        look: Look = {
            "line": colour if is_busy else "rule",
            "r": 8,
            "width": 2 if is_busy else None,
            "dash": "4 3" if reader["state"] else None,
            "tip": f"what {name} has read so far, in the order in which it read",
        }
        tray.whole.rect(tray.key, *box, fill="wash", **look)
        tray.disc(
            "disc",
            x=15,
            y=14,
            r=9,
            letter=name[:1].upper(),
            number=actor_number(name, self.names),
            size=12,
        )
        room = box.w - 48 - text_width(count, 12)
        tray.text(
            "name",
            29,
            18,
            name,
            bold=True,
            room=room,
        )
        tray.note(
            "count",
            box.w - 8,
            18,
            count,
            "end",
            size=12,
        )

    def _way(self, tray: Part, row: Row, y: float, colour: str, way: Look) -> None:
        """An arrow from one of several logs to the first record that is read now."""
        d = tray.whole
        if self.several and not d.narrow and "way/read" not in d.shapes:
            d.arrow(
                "way/read",
                x=row.right + 8,
                y=row.cells_y + 15,
                x2=tray.x - 4,
                y2=tray.y + y,
                line=colour,
                width=2,
                **way,
            )

    def _chip(
        self,
        tray: Part,
        box: Box,
        item: Seen,
        colour: str,
        is_new: bool,
        way: Look,
    ) -> None:
        """A record in a tray, or several, or what is lost."""
        key = item.same
        while f"{tray.key}/{key}" in tray.shapes:  # read again
            key += f"/{item.number}"
        look: Look
        if item.is_lost:
            text = ""
            more = f"{item.records} {item.value}"
            look = dict(LOST)
        else:
            text, more = self._words(item, tray.width)
            look = {
                "fill": "paper",
                "line": colour,
                "width": 2 if is_new else None,
                "ink": "ink",
            }

        gap = 6 if text else 0
        more = fit(more, box.w - _width_of(text, "") - gap, 12.5)
        look["text"] = text or None
        look["more"] = more or None
        tray.add(
            key,
            "cell",
            **box._asdict(),
            r=4,
            **look,
            **way,
        )


def _saw(reader: Space) -> list[Seen]:
    """The records that a reader was given, in order."""
    return [Seen(*told) for told in reader["saw"]]


def _count(reader: Space, latest: Sequence[Placed]) -> str:
    """How many records a reader has read, and how many of them have room."""
    seen = reader["seen"]
    shown = sum(each.item.records for each in latest if not each.item.is_lost)
    return f"{seen} read" if shown == seen else f"last {shown} of {seen} read"


def _width_of(text: str, more: str) -> int:
    """The width of a record in a tray."""
    width = text_width(text, 13.5, mono=True) + text_width(more, 12.5)
    if text and more:
        width += 6
    return width + 12


def _height(lines: int) -> int:
    """The height of a tray with this many lines of records."""
    return HEAD + lines * (CHIP + GAP) + 10


def _lines_of(placed: Sequence[Placed], slots: Slots) -> int:
    """How many lines something takes."""
    return len({each.slot // slots.across for each in placed})


def in_slots(items: Sequence[Seen], slots: Slots) -> list[Placed]:
    """In order; none is broken over two lines."""
    placed = []
    slot = 0
    for item in items:
        is_one = item.records == 1 and not item.is_lost
        span = 1 if is_one else slots.of_many
        column = slot % slots.across
        if column + span > slots.across:
            slot += slots.across - column
        placed.append(Placed(item, slot, span))
        slot += span
    return placed


def last_lines(items: Sequence[Seen], slots: Slots, lines: int) -> list[Placed]:
    """The latest of them that fit into this many lines."""
    placed = in_slots(items, slots)
    while placed and placed[-1].slot >= slots.across * lines:
        items = items[1:]
        placed = in_slots(items, slots)
    return placed

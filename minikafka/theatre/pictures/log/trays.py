"""The trays of the log's picture: what each reader saw so far, in its order, and what
is lost to it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.theatre.actors import actor_number
from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, column, part, row
from minikafka.theatre.drawing import (
    Box,
    Drawing,
    Look,
    Part,
    Shape,
    fit,
    text_width,
    widest,
)
from minikafka.theatre.pictures.log.journey import Seen
from minikafka.theatre.play import Cast, Space
from minikafka.theatre.text import key_part

MOST = 4  # trays are drawn
# a record in a tray, what is between two, what a tray says above them
CHIP, GAP, HEAD = 28, 4, 28
FOOT = 2  # under the last line of records
PAD = 6
LEAST = 30  # width of a record
# records that the reader never gets
LOST: Look = {"fill": "none", "line": "trouble", "ink": "trouble", "dash": "3 3"}
LEAST_OF_MANY = 104  # width of a shape for several records
WIDE, WIDEST = 180, 340  # of a tray, at least
FEW = 5  # records that are below each other beside logs, which shows their order best


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


def trays_box(cast: Cast, scenes: Sequence[Scene]) -> Item:
    """Beside several logs below each other; under a single one beside each other."""
    names = list(cast["readers"])[:MOST]
    trays = [Tray(name, cast, scenes, len(names)).item() for name in names]
    if len(cast["chosen"]) > 1:
        return column(*trays, gap=8)
    return row(*trays, gap=10, line_gap=8)


class Tray:
    """One reader's, measured over all scenes. trays: how many there are."""

    def __init__(
        self, name: str, cast: Cast, scenes: Sequence[Scene], trays: int
    ) -> None:
        self.name = name
        self.colour = cast["readers"][name]
        self.number = actor_number(name, list(cast["readers"]))
        self.several = len(cast["chosen"]) > 1
        self.one_key = cast["one_key"]
        self.most_lines = FEW if self.several else max(MOST - trays, 1)
        saw = [
            _saw(reader)
            for scene in scenes
            for reader in scene["space"]["readers"]
            if reader["name"] == name
        ]
        self.fullest = max(saw, key=len, default=[])
        singles = [item for item in self.fullest if _is_one(item)]
        widths = [_width_of(*self._words(item)) for item in singles]
        self.widest = max([LEAST, *widths])

    def item(self) -> Item:
        count = sum(item.records for item in self.fullest)
        head = f"last {count} of {count} read"
        wide = 44 + widest(self.name, 13, bold=True) + widest(head, 12)
        # beside several logs, these grow first
        least, grow = (WIDE, 0.2) if self.several else (min(wide, WIDEST), 1)
        key = f"tray {self.name}"
        return part(key, self._draw, high=self._high, least=least, grow=grow)

    def _high(self, width: float) -> float:
        slots = self._slots(width)
        lines = {each.slot // slots.across for each in in_slots(self.fullest, slots)}
        count = min(max(len(lines), 1), self.most_lines)
        return HEAD + count * (CHIP + GAP) + FOOT

    def _slots(self, width: float) -> Slots:
        """As many as fit beside each other."""
        inside = width - 2 * PAD + GAP
        across = max(int(inside // (self.widest + GAP)), 1)
        if self.several and len(self.fullest) <= FEW and width < WIDEST:
            across = 1
        needed = -(-LEAST_OF_MANY // int(inside // across))
        return Slots(across=across, of_many=min(across, needed))

    def _words(self, item: Seen) -> tuple[str, str]:
        """In bold, and beside it."""
        offset = item.offset
        if item.records > 1:
            return f"{offset}–{offset + item.records - 1}", ""
        if not self.several:
            return str(offset), ""
        if item.value is None:
            return f"P{item.partition}:{offset}", ""
        return "" if self.one_key else item.letter or "", item.value

    def _draw(self, d: Drawing, places: Places, scene: Scene) -> None:
        """With the latest that have room."""
        for reader in scene["space"]["readers"]:
            if reader["name"] == self.name:
                place = places[f"tray {self.name}"]
                self._tray(d, reader, place, scene["number"])

    def _tray(self, d: Drawing, reader: Space, place: Box, now: int) -> None:
        tray = d.part(f"tray/{key_part(self.name)}", place.x, place.y)
        saw = _saw(reader)
        slots = self._slots(place.w)
        lines = int((place.h - HEAD) // (CHIP + GAP))
        latest = last_lines(saw, slots, lines)
        is_busy = any(item.number == now for item in saw)
        self._frame(tray, reader, place, is_busy, _count(reader, latest))
        if not saw:
            tray.note("nothing", 17, HEAD + 18, "nothing yet", size=12)
        pitch = (place.w - 2 * PAD + GAP) / slots.across
        for item, slot, span in latest:
            line, across = divmod(slot, slots.across)
            x, y = PAD + across * pitch, HEAD + line * (CHIP + GAP)
            box = Box(x, y, pitch * span - GAP, CHIP)
            self._chip(tray, box, item, item.number == now)

    def _frame(
        self, tray: Part, reader: Space, box: Box, is_busy: bool, count: str
    ) -> None:
        """The tray itself, with its reader's name. count: how much that has read."""
        name = reader["name"]
        look: Look = {
            "line": self.colour if is_busy else "rule",
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
            number=self.number,
            size=12,
        )
        room = box.w - 48 - text_width(count, 12)
        tray.text("name", 29, 18, name, bold=True, room=room)
        tray.note("count", box.w - 8, 18, count, "end", size=12)
        if "reset" in reader:
            words = f"reset: {reader['reset']}"
            x = box.w - 24 - widest(count, 12) - widest(words, 12, bold=True)
            tray.chip("reset", x, 4, words, "trouble", "paper")

    def _chip(self, tray: Part, box: Box, item: Seen, is_new: bool) -> None:
        """A record in a tray, or several, or what is lost. A new one comes from its
        place in the log, and where several logs are beside the trays, an arrow does.
        """
        key = item.same
        while f"{tray.key}/{key}" in tray.shapes:  # read again
            key += f"/{item.number}"
        look: Look = {"fill": "paper", "line": self.colour, "ink": "ink"}
        text, more = self._words(item)
        if item.is_lost:
            text, more = "", f"{item.records} {item.value}"
            look = dict(LOST)
        elif is_new:
            look["width"] = 2
        look |= {"of": item.number, "same": item.same}
        record = tray.shapes.get(f"record/{item.same}")
        if record and is_new and not item.is_lost:
            look |= {"from_x": record["x"], "from_y": record["y"]}
            self._arrow(tray, record, tray.y + box.y + box.h / 2, item)
        more = fit(more, box.w - _width_of(text, "") - (6 if text else 0), 12.5)
        words: Look = {"text": text or None, "more": more or None}
        tray.add(key, "cell", **box._asdict(), r=4, **words, **look)

    def _arrow(self, tray: Part, record: Shape, y: float, item: Seen) -> None:
        """From the first record that is read now."""
        x = record["x"] + record["w"] + 4
        if self.several and x < tray.x and "way/read" not in tray.shapes:
            way: Look = {"of": item.number, "same": item.same, "width": 2}
            begins = record["y"] + record["h"] / 2
            tray.whole.arrow("way/read", x, begins, tray.x - 4, y, self.colour, **way)


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


def _is_one(item: Seen) -> bool:
    """Whether it is a record that the reader has."""
    return item.records == 1 and not item.is_lost


def in_slots(items: Sequence[Seen], slots: Slots) -> list[Placed]:
    """In order; none is broken over two lines."""
    placed = []
    slot = 0
    for item in items:
        span = 1 if _is_one(item) else slots.of_many
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

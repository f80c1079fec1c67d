"""Tables of keys: their last offsets, as the cleaner notes them in its map, and their
values, as a reader has them.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, part, row
from minikafka.theatre.drawing import Box, Drawing, Look, fitting, widest
from minikafka.theatre.play import Cast
from minikafka.theatre.row import Record
from minikafka.theatre.text import capital, key_part

MAPPING, COPYING = 1, 2  # the halves of a pass
TITLE = 22  # height of a title
CHIP, GAP = 28, 8
MOST_LINES = 2
LEAST = 300  # width of a table
READS = ("RecordsPolled", "RecordsFetched")
TITLES = {
    "map": ("1  the map: the last offset of each key", "1  the map"),
    "copy": ("2  the copy: {file}.cleaned", "2  the copy"),
}
Had = dict[str, Record]  # by letters: the latest record of each key


class Entry(NamedTuple):
    """What a table has of a key, and how it looks."""

    key: str
    letter: str
    words: str
    look: Look

    @property
    def wide(self) -> float:
        return widest(f"{self.letter} {self.words}", 13.5, mono=True) + 16


class Spot(NamedTuple):
    """A place for an entry in a line of a table."""

    x: float
    line: int


def _spots(entries: Sequence[Entry], begin: float, width: float) -> list[Spot]:
    """The places of as many as have room. begin: of the first one."""
    found = []
    x, line = begin, 0
    for entry in entries:
        if x and x + entry.wide > width:
            x, line = 0.0, line + 1
        found.append(Spot(x, line))
        x += entry.wide + GAP
    return [spot for spot in found if spot.line < MOST_LINES]


class Table:
    """Entries in as many lines as they take at any step. begin: of the first one in its
    line. top: height of what is above them.
    """

    def __init__(
        self,
        key: str,
        scenes: Sequence[Scene],
        entries: Callable[[Scene], Sequence[Entry]],
        begin: float = 0,
        top: float = 0,
    ) -> None:
        self.key = key
        self.entries = entries
        self.begin = begin
        self.top = top

        @cache
        def high(width: float) -> float:
            placed = [_spots(entries(scene), begin, width) for scene in scenes]
            lines = [spot.line for each in placed for spot in each]
            return top + (CHIP + GAP) * (1 + max(lines, default=0)) - GAP

        self.high = high

    def draw(self, d: Drawing, place: Box, scene: Scene) -> None:
        shown = self.entries(scene)
        found = _spots(shown, self.begin, place.w)
        if len(found) < len(shown):  # where the last one would be
            spot = found.pop()
            x, y = place.x + spot.x, self._y(place, spot) + 19
            d.note(f"{self.key}/more", x, y, f"+ {len(shown) - len(found)} more")
        for entry, spot in zip(shown, found, strict=False):
            x, y = place.x + spot.x + 1, self._y(place, spot)
            words: Look = {"text": entry.letter, "more": entry.words}
            d.cell(entry.key, x, y, entry.wide, CHIP, **words, **entry.look)

    def _y(self, place: Box, spot: Spot) -> float:
        return place.y + self.top + spot.line * (CHIP + GAP)


def map_box(cast: Cast, scenes: Sequence[Scene]) -> Item:
    """The map, while the cleaner is at work."""
    partition = cast["chosen"][0]

    def entries(scene: Scene) -> list[Entry]:
        space = scene["space"]
        found = []
        for letter, offset in space["noted"] if space["half"] >= MAPPING else ():
            look: Look = {
                "fill": "chip",
                "tip": f"the last offset of key {letter} is {offset}",
                "same": f"{partition}/{offset}",
            }
            found.append(Entry(f"map/{letter}", letter, f"→ {offset}", look))
        return found

    table = Table("map", scenes, entries, top=TITLE)

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        if scene["space"]["half"]:
            draw_title(d, "map", places["map"], scene["space"]["half"] >= MAPPING)
            table.draw(d, places["map"], scene)

    return part("map", draw, high=table.high, least=LEAST, grow=3)


def draw_title(d: Drawing, key: str, place: Box, is_on: bool, file: str = "") -> None:
    """The title of the map or the copy."""
    long, short = TITLES[key]
    whole = long.format(file=file)
    # bold digits may be wider than they are taken for
    room = 0.92 * place.w
    words = fitting([whole] if is_on else [], room, 13, bold=True) or short
    ink = "ink" if is_on else "gone"
    d.text(f"{key}/title", place.x + 2, place.y + 15, words, ink, bold=is_on)


def readers_box(cast: Cast, scenes: Sequence[Scene]) -> Item:
    """What each reader has, if it keeps the last value of each key."""
    had = dict(zip((scene["step"] for scene in scenes), _had(scenes), strict=True))

    def box(name: str) -> Item:
        key = f"has/{key_part(name)}"
        words = f"{capital(name)} has"
        begin = min(widest(words, bold=True) + 12, LEAST / 2)

        def entries(scene: Scene) -> list[Entry]:
            mine = had[scene["step"]].get(name, {})
            return [*_entries(name, mine, _latest(scene), cast)]

        table = Table(key, scenes, entries, begin)

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            if had[scene["step"]].get(name):
                place = places[key]
                room = begin - GAP
                d.text(key, place.x + 2, place.y + 19, words, bold=True, room=room)
                table.draw(d, place, scene)

        return part(key, draw, high=table.high, least=LEAST, grow=1)

    has_markers = any(scene["space"]["markers"] for scene in scenes)
    # a reader may leave out records of a transaction that isn't committed
    names = () if has_markers else cast["readers"]
    return row(*map(box, names), gap=16, line_gap=6)


def _entries(name: str, mine: Had, latest: Had, cast: Cast) -> Iterable[Entry]:
    """A value that isn't the last of its key is dashed."""
    partition = cast["chosen"][0]
    for letter, record in sorted(mine.items()):
        value = record.value or ""
        is_last = latest.get(letter) == record
        look: Look = {
            "fill": "paper",
            "line": cast["readers"][name],
            "width": 2,
            "dash": None if is_last else "4 3",
            "same": f"{partition}/{record.offset}",
            "tip": f"{name} has {value} of key {record.key}, from offset"
            f" {record.offset}{'' if is_last else ': not its last value'}",
        }
        # it is lit with its record
        key = f"record/{partition}/{record.offset}/{key_part(name)}"
        yield Entry(key, letter, value, look)


def _latest(scene: Scene) -> Had:
    """The last record of each key that the log had."""
    logs = scene["space"]["partitions"]
    return {each[1]: Record(*each) for log in logs for each in log["records"]}


def _had(scenes: Sequence[Scene]) -> Iterable[dict[str, Had]]:
    """Step by step what each reader has: a tombstone deletes its key."""
    had: dict[str, Had] = {}
    places: dict[str, int] = {}
    for scene in scenes:
        space = scene["space"]
        gone = set(space["gone"])
        logs = space["partitions"]
        records = [Record(*each) for log in logs for each in log["records"]]
        for reader in space["readers"]:
            name = reader["name"]
            position = max(reader["next"].values(), default=0)
            before = places.get(name, 0)
            places[name] = position
            mine = dict(had.get(name, {}))
            for record in records if scene["kind"] in READS else ():
                if before <= record.offset < position and record.offset not in gone:
                    mine[record.letter] = record
                    if record.value is None:
                        del mine[record.letter]
            had[name] = mine
        yield dict(had)

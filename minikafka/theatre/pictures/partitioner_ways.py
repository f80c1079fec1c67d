"""The right part of the partitioner's picture: the ways of keys. A column for each way
has the partitions, the keys in each, and their records; threads join the places of a
key in two columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from minikafka.theatre.drawing import Box, Drawing, Look, Point, text_width
from minikafka.theatre.pictures.partitioner_story import Key, chip, part
from minikafka.theatre.play import Space
from minikafka.theatre.text import counted

MOST_BINS = 8
# A column, from its outer edge to its threads: a partition's label, the chip of a key,
# three records.
LABEL, CHIP, ROOM, GAP = 48, 104, 284, 6
BEFORE, AFTER = LABEL + CHIP + 38, LABEL + CHIP + 39

Ends = dict[Key, Point]  # where each key's thread ends


class Group(NamedTuple):
    """A partition with the keys that are drawn in it, and the records of each. hidden:
    keys that are counted only.
    """

    partition: int
    keys: list[tuple[Key, int]]
    hidden: int

    @property
    def rows(self) -> int:
        """How many lines it takes; an empty one takes one."""
        return max(len(self.keys), 1)


def groups(way: Space) -> list[Group]:
    """The partitions of a way."""
    hidden = dict(way["hidden"])
    found = []
    for partition in range(min(way["count"], MOST_BINS)):
        keys = []
        for key, places in way["keys"]:
            for place, records in places:
                if place == partition:
                    keys.append((key, records))
        found.append(Group(partition, keys, hidden.get(partition, 0)))
    return found


def pitch_for(ways: Sequence[Space]) -> int:
    """From one key to the next, so that each of these ways has room."""
    pitches = [34]
    for way in ways:
        rows = sum(group.rows for group in groups(way))
        if rows > 4:
            pitches.append(24)
        gaps = GAP * min(way["count"], MOST_BINS)
        pitches.append((ROOM - gaps) / rows)
    return int(max(15, min(pitches)))


@dataclass(frozen=True)
class Column:
    """One way. side: 0 is the left one, 1 the right one of two. door: where a record
    leaves the machine. now: the record that takes this way. movers: keys that stand
    out. letters: for keys that have no room.
    """

    d: Drawing
    way: Space
    side: int
    box: Box
    both: bool
    pitch: int
    now: Space | None
    door: Point
    movers: Sequence[Key]
    letters: Mapping[Key, str]

    @property
    def height(self) -> float:
        """Of a key."""
        return self.pitch - 3

    @property
    def label_x(self) -> float:
        """Of the partitions, at the outer edge."""
        if self.side:
            return self.box.right - LABEL
        return self.box.x

    @property
    def chip_x(self) -> float:
        """Of the keys."""
        if self.side:
            return self.box.right - AFTER + 4
        return self.box.x + LABEL + 6

    def draw(self) -> Ends:
        """Returns where each key's thread ends."""
        ends: Ends = {}
        y = self.box.y
        for group in groups(self.way):
            self._label(group, y)
            if not group.keys:
                self._empty(group, y)
            key_y = y
            for key, records in group.keys:
                ends[key] = self._key(group, key, records, key_y)
                key_y += self.pitch
            y += group.rows * self.pitch + GAP
        return ends

    def _is_hit(self, group: Group) -> bool:
        """Whether the record at hand goes to this partition."""
        return self.now is not None and self.now["partition"] == group.partition

    def _label(self, group: Group, y: float) -> None:
        """The partition, as high as its keys."""
        written = sum(records for _, records in group.keys)
        many = counted(written, "record")
        tip = f"partition {group.partition}: {many} of these keys"

        more = ""
        if group.hidden:
            more = f"+{group.hidden}"
            tip += f", and {counted(group.hidden, 'key')} more"

        look: Look = {"fill": "wash", "line": "rule"}
        if self._is_hit(group):
            look |= {"line": "ink", "width": 2}
        key = f"part/{self.way['number']}/{group.partition}"
        height = group.rows * self.pitch - 3
        box = Box(x=self.label_x, y=y, w=LABEL, h=height)
        self.d.cell(key, *box, f"P{group.partition}", more, **look, tip=tip)

    def _empty(self, group: Group, y: float) -> None:
        """That no key is here."""
        key = f"part/{self.way['number']}/{group.partition}/none"
        words = "" if group.hidden else "empty"
        base = y + self.height / 2 + 4.5
        self.d.text(key, self.chip_x + 4, base, words, "gone", size=12)

    def _key(self, group: Group, key: Key, records: int, y: float) -> Point:
        """A key's chip and its records; returns where its thread ends."""
        number = self.way["number"]
        partition = group.partition
        is_new = self._is_hit(group) and self.now is not None and self.now["key"] == key

        line = "rule"
        width = 1.0
        if is_new:
            line = "ink"
            width = 2.0
        elif key in self.movers:
            line = "ink"
            width = 1.5

        whose = "no key" if key is None else f"key {key}"
        self.d.cell(
            f"{chip(number, key)}/{partition}",
            *(self.chip_x, y, CHIP, self.height),
            self._name(key),
            fill="cell" if records else "paper",
            line=line,
            width=width,
            tip=f"{counted(records, 'record')} with {whose}",
            from_x=self.door.x - 40,
            from_y=self.door.y,
        )
        row = f"row/{number}/{partition}/{part(key)}"
        middle = y + self.height / 2
        end = self._records(row, self.chip_x + CHIP + 5, middle, records)
        return Point(self.chip_x - 4 if self.side else end, middle)

    def _name(self, key: Key) -> str:
        """A key, or its beginning and its letters where it is too long."""
        words = "no key" if key is None else key
        if text_width(words, 13.5, mono=True) <= CHIP - 8:
            return words
        return f"{words[:4]}…{self.letters[key]}"

    def _records(self, key: str, x: float, middle: float, records: int) -> float:
        """A box each, as far as there is room; returns where they end."""
        width = 6 if self.both else 12
        pitch = width + 3
        most = 3 if self.both else int((self.d.width - x - 80) // pitch)
        drawn = records if records <= most else 0

        for number in range(drawn):
            box = Box(x=x + number * pitch, y=middle - 5, w=width, h=10)
            flies: Look = {"from_x": self.door.x, "from_y": self.door.y}
            self.d.rect(f"{key}/{number}", *box, "quiet", r=1.5, **flies)

        end = x + drawn * pitch
        if records > 3:
            words = f"×{records}" if self.both else counted(records, "record")
            at = end if self.both else end + 4
            look: Look = {"size": 12, "mono": self.both}
            self.d.text(key, at, middle + 4.5, words, "quiet", **look)
            end += text_width(words, 12, mono=self.both)
        return end + 3


def threads(d: Drawing, ways: Sequence[Space], ends: Sequence[Ends], new: Key) -> None:
    """From where a key went before to where it goes after. Those that move stand out;
    new: the key of the record at hand, too.
    """
    before, after = map(_alone, ways)
    moving = movers(ways)
    staying = [key for key in before if key in after and key not in moving]
    drawn_before, drawn_after = ends

    for key in [*staying, *moving]:
        if key not in drawn_before or key not in drawn_after:
            continue
        begin = drawn_before[key]
        end = drawn_after[key]
        name, ink = ("move", "ink") if key in moving else ("stay", "rule")
        width = 4.0 if key == new else 2.2
        # it grows from the place before, with the key
        grows: Look = {"from_x": begin.x, "from_y": begin.y}
        d.line(f"{name}/{part(key)}", *end, *begin, ink, width=width, **grows)


def movers(ways: Sequence[Space]) -> list[Key]:
    """The keys that two ways send to two partitions."""
    if len(ways) < 2:
        return []
    before, after = map(_alone, ways)
    return [key for key in before if key in after and before[key] != after[key]]


def _alone(way: Space) -> dict[Key, int]:
    """The keys that go to one partition only."""
    return {
        key: places[0][0]
        for key, places in way["keys"]
        if key is not None and len(places) == 1
    }

"""The right part of the partitioner's picture: the ways of keys. A column for each way
has the partitions, the keys in each, and their records as squares; threads join the
places of a key in two columns.
"""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, column, part
from minikafka.theatre.casting import letters
from minikafka.theatre.drawing import (
    Box,
    Drawing,
    Look,
    Point,
    has_room,
    text_width,
    widest,
)
from minikafka.theatre.pictures.partitioner.machine import RESULT, SQUARE, hand, letter
from minikafka.theatre.pictures.partitioner.records import (
    HASH,
    POSITIVE,
    Key,
    Sent,
    chip,
    in_key,
)
from minikafka.theatre.pictures.partitioner.says import partitions
from minikafka.theatre.play import Cast, Space
from minikafka.theatre.text import counted

MOST_BINS = 8
THREADS, WANTED = 50, 520  # widths: of what is between two columns at least; of all
# of all rows; between partitions; between records
ROOM, GAP, APART = 284, 6, 4
LEAST = 15  # height: from one key to the next
LEAST_WIDE = 320
AISLE = 40  # beside the partitions, for an arrow
A_FEW = 3  # records: more are counted in words, too
SUM, CAPTION = 25, 22  # heights: of how many differ, of the captions

Ends = dict[Key, Point]  # where each key's thread ends


class Widths(NamedTuple):
    """A column, from its outer edge to its threads: a partition's label, the chip of a
    key, its records.
    """

    label: float = 48
    chip: float = 92
    records: float = 48

    @property
    def all(self) -> float:
        return self.label + 6 + self.chip + 5 + self.records

    @classmethod
    def of_two(cls, room: float) -> "Widths":
        """Narrower where both have less room."""
        share = min((room - THREADS) / 2 / cls().all, 1)
        return cls(*(share * width for width in cls()))


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
    count = min(way["count"], MOST_BINS)
    found = [
        Group(partition, [], hidden.get(partition, 0)) for partition in range(count)
    ]
    for key, places in way["keys"]:
        for partition, records in places:
            if partition < count:
                found[partition].keys.append((key, records))
    return found


def ways_box(cast: Cast, scenes: Sequence[Scene]) -> Item:
    """How many keys differ, over the columns of two ways; their rules; the columns."""
    spaces = [scene["space"] for scene in scenes]
    every = [way for space in spaces for way in ways_of(space)]
    pitch = _pitch_for(every)
    heights = [sum(_high(group, pitch) for group in groups(way)) for way in every]
    names = letters(cast["keys"])

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        space = scene["space"]
        now, ways = space["now"], ways_of(space)
        ends = []
        for side, way in enumerate(ways):
            takes_this_way = now is not None and now["way"] == way["number"]
            column = Column(d, ways, side, _place(d, places, ways), pitch)
            column.now = now if takes_this_way else None
            column.places = places
            column.letters = names
            ends.append(column.draw())
        if len(ways) == 2:
            _threads(d, ways, ends, now["key"] if now else None)

    differs = any(len(space["ways"]) == 2 and space["differ"][1] for space in spaces)
    return column(
        part("sum", _sum, high=SUM if differs else 0),
        part("captions", _captions, high=CAPTION),
        part(
            "ways",
            draw,
            high=max(heights, default=0),
            least=LEAST_WIDE,
            wanted=WANTED,
            grow=1,
        ),
    )


def _place(d: Drawing, places: Places, ways: Sequence[Space]) -> Box:
    """Of the columns; one alone leaves room for the arrow from the machine above."""
    aisle = AISLE if d.narrow and len(ways) == 1 else 0
    return places["ways"]._replace(w=places["ways"].w - aisle)


def ways_of(space: Space) -> list[Space]:
    """The ways of keys; before the first record empty partitions."""
    count = space["partition_count"]
    empty = {"number": 0, "rule": "", "count": count, "who": ""}
    empty |= {"keys": [], "records": [], "hidden": []}
    return space["ways"] or ([empty] if count else [])


def _pitch_for(ways: Sequence[Space]) -> int:
    """From one key to the next, so that each of these ways has room."""
    pitches = [SQUARE + 4.0]
    for way in ways:
        drawn = groups(way)
        rows = sum(group.rows for group in drawn)
        pitches.append((ROOM - GAP * len(drawn)) / rows)
    return max(LEAST, int(min(pitches)))


def _high(group: Group, pitch: float) -> float:
    """The height of a partition, and what is below it."""
    return group.rows * pitch + GAP


# -- over the columns


def _sum(d: Drawing, places: Places, scene: Scene) -> None:
    """How many keys have the same place, and how many have another."""
    space = scene["space"]
    differ, alike = space["differ"]
    if len(space["ways"]) == 2 and alike:
        x, y, wide, _ = places["sum"]
        same = alike - differ
        stay, move = ("stay", "move") if _grows(space["ways"]) else ("agree", "differ")
        words = f"{same} {stay}{'s' * (same == 1)}, {differ} {move}"
        words += "s" * (differ == 1)
        look: Look = {"bold": True, "size": 18, "anchor": "middle"}
        d.text("said/differ", x + wide / 2, y + 17, words, **look)


def _captions(d: Drawing, places: Places, scene: Scene) -> None:
    """Over each column its rule."""
    x, y, wide, _ = places["captions"]
    ways = ways_of(scene["space"])
    names = [way["who"] for way in ways]
    ink = "quiet"
    if len(ways) == 2 and _grows(ways):
        names = ["before", "after"]
        ink = "ink"
    for side, (name, way) in enumerate(zip(names, ways, strict=True)):
        words, room = _rule_of(way), wide
        if len(ways) == 2:
            words, room = f"{name}: {words}", wide / 2 - 6
        look: Look = {"size": 12.5, "anchor": "end" if side else "start"}
        at = x + wide if side else x
        d.text(f"caption/{way['number']}", at, y + 15, words, ink, room=room, **look)
    now = scene["space"]["now"]
    if len(ways) == 1 and now and now["way"] is not None and now["hash"] is not None:
        right = _place(d, places, ways).right - 8
        words = "hashes that go there"
        d.note("caption/hashes", right, y + 15, words, anchor="end")


def _grows(ways: Sequence[Space]) -> bool:
    """Whether one rule had another number of partitions before."""
    before, after = ways
    return bool(before["rule"] == after["rule"])


def _rule_of(way: Space) -> str:
    """The rule in a column's caption."""
    if all(key is None for key, _ in way["keys"]):
        return partitions(way["count"])
    if way["rule"] == HASH:
        return f"hash % {way['count']}"
    return str(way["rule"])


# -- the columns


class Column:
    """One of these ways. side: 0 is the left one, 1 the right one of two. now: the
    record that takes this way. letters: for keys that have no room.
    """

    now: Space | None
    places: Places
    letters: dict[Key, str]

    def __init__(
        self, d: Drawing, ways: Sequence[Space], side: int, box: Box, pitch: int
    ) -> None:
        self.d = d
        self.way = ways[side]
        self.side = side
        self.box = box
        self.pitch = pitch
        self.both = len(ways) == 2
        self.widths = Widths.of_two(box.w) if self.both else Widths()
        self.movers, self.stayers = movers(ways), stayers(ways)  # they stand out
        self.number = int(self.way["number"])

    @property
    def height(self) -> float:
        """The height of a key's row."""
        return self.pitch - 3

    @property
    def square(self) -> float:
        """The size of a record's square."""
        return min(SQUARE, self.height)

    @property
    def label_x(self) -> float:
        """The x of the partitions' labels, at the outer edge."""
        if self.side:
            return self.box.right - self.widths.label
        return self.box.x

    @property
    def chip_x(self) -> float:
        """The x at which the keys' chips begin."""
        if self.side:
            return self.box.right - self.widths.all + 3
        return self.box.x + self.widths.label + 6

    @property
    def is_keyless(self) -> bool:
        """No record has a key, so a chip would say nothing."""
        return not self.both and all(key is None for key, _ in self.way["keys"])

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
            if not self.both and self.now and self.now["reason"] == "murmur2":
                left = max((ends[key].x for key, _ in group.keys), default=self.chip_x)
                self._hashes(group, y, left, self.now)
            y += _high(group, self.pitch)
        return ends

    def _arrow(self, y: float) -> None:
        """From what the machine has computed to the partition."""
        machine = self.places["machine"]
        look: Look = {"line": "ink", "width": 2}
        if self.d.narrow:
            x = machine.right - 24
            self.d.upright("machine/down", x, machine.bottom + 1, y, **look)
            self.d.arrow("machine/goes", x, y, self.box.right + 5, y, **look)
        else:
            x, above = machine.right + 2, machine.y + RESULT - 9
            self.d.arrow("machine/goes", x, above, self.box.x - 6, y, **look)

    def _hashes(self, group: Group, y: float, left: float, now: Space) -> None:
        """The numbers with this remainder, up to that of the current record."""
        up_to, right = now["hash"] & POSITIVE, self.box.right - 8
        numbers = range(group.partition, up_to + 1, now["partitions"])
        look: Look = {"size": 12.5, "mono": True, "bold": self._is_hit(group)}
        words = ", ".join([*map(str, numbers[:2]), *map("… {}".format, numbers[-1:])])
        if has_room(words, right - left - 8, **look):
            key = f"part/{self.number}/{group.partition}/hashes"
            middle = y + (group.rows * self.pitch - 3) / 2 + 4.5
            self.d.text(key, right, middle, words, anchor="end", **look)

    def _is_hit(self, group: Group) -> bool:
        """Whether the current record goes to this partition."""
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
        is_hit = self._is_hit(group)
        high = group.rows * self.pitch - 3
        look: Look = {"text": f"P{group.partition}", "more": more, "tip": tip}
        look |= {"line": "ink", "width": 2} if is_hit else {"line": "rule"}
        key = f"part/{self.number}/{group.partition}"
        if not self.both:
            self.d.rect(f"{key}/lane", self.box.x, y, self.box.w, high, "wash", r=5)
            if is_hit:
                self._arrow(y + high / 2)
        self.d.cell(key, self.label_x, y, self.widths.label, high, fill="wash", **look)

    def _empty(self, group: Group, y: float) -> None:
        """Draw the note that no key is in this partition."""
        key = f"part/{self.number}/{group.partition}/none"
        words = "" if group.hidden else "empty"
        x, middle = self.chip_x + 4, y + self.height / 2 + 4.5
        self.d.text(key, x, middle, words, "gone", size=12)

    def _key(self, group: Group, key: Key, records: int, y: float) -> Point:
        """A key's chip and its records; returns where its thread ends."""
        left = x = self.chip_x
        if not self.is_keyless:
            self._chip(group, key, records, y)
            x += self.widths.chip + 5
        right = self._records(group, key, records, Point(x, y))
        end = left - 4 if self.side else right + 3
        return Point(end, y + self.height / 2)

    def _chip(self, group: Group, key: Key, records: int, y: float) -> None:
        look: Look = {"line": "rule", "width": 1.0}
        if self._is_hit(group) and self.now and self.now["key"] == key:
            look = {"line": "ink", "width": 2.0}
        elif key in self.movers:
            look = {"line": "ink", "width": 1.5}
        whose = "no key" if key is None else f"key {key}"
        look["tip"] = f"{counted(records, 'record')} with {whose}"
        look["fill"] = "wash" if records else "paper"
        if key in self.stayers:
            look["fill"] = "good"
        shape = f"{chip(self.number, key)}/{group.partition}"
        place = self.chip_x, y, self.widths.chip, self.height
        self.d.cell(shape, *place, self._name(key), **look)

    def _name(self, key: Key) -> str:
        """A key, or its beginning and its letters where it is too long."""
        words = "no key" if key is None else key
        if text_width(words, 13.5, mono=True) <= self.widths.chip - 8:
            return words
        return f"{words[:4]}…{self.letters[key]}"

    # -- records

    def _sent(self, group: Group, key: Key) -> list[Sent]:
        """The latest records of a key in a partition."""
        for owner, partition, records in self.way["records"]:
            if owner == key and partition == group.partition:
                return [Sent(*each) for each in records]
        return []

    def _records(self, group: Group, key: Key, count: int, place: Point) -> float:
        """The latest ones, as many as there is room for, and how many there are where
        that can't be seen; returns where they end.
        """
        words = f"×{count}" if self.both else counted(count, "record")
        taken = widest(words, 12, mono=self.both)
        room = self.widths.records
        is_counted = count > self._fits(room)
        if not self.both:
            room = self.box.right - place.x
            is_counted = count > A_FEW
        fits = self._fits(room - taken if is_counted else room)

        x = place.x
        y = place.y + (self.height - self.square) / 2
        sent = self._sent(group, key)
        first = max(len(sent) - fits, 0)
        for each in sent[first:]:
            self._record(each, group, key, Point(x, y))
            x += self.square + APART
        if is_counted:
            row = f"row/{self.number}/{group.partition}/{in_key(key)}"
            look: Look = {"size": 12, "mono": self.both}
            middle = place.y + self.height / 2 + 4.5
            self.d.text(row, x, middle, words, "quiet", **look)
            x += taken
        return x

    def _fits(self, room: float) -> int:
        """How many records fit into a width."""
        pitch = self.square + APART
        return max(int((room + APART) // pitch), 0)

    def _record(self, sent: Sent, group: Group, key: Key, place: Point) -> None:
        """It comes from the hand; its offset is known when it is written. Only the tip
        says it: beside `% 3` a number would be taken for the partition's.
        """
        whose = "no key" if key is None else f"key {key}"
        where = f"offset {sent.offset} of partition {group.partition}"
        look: Look = {"line": "ink", "of": sent.number, "same": f"record/{sent.number}"}
        if letter(key, sent.value):
            look |= {"text": letter(key, sent.value), "size": 12}
        if sent.offset is None:
            where = "waits in its batch"
            look["dash"] = "3 3"
        look |= {"tip": f"{whose}: {where}"}
        begin = hand(self.places)
        look |= {"from_x": begin.x, "from_y": begin.y}
        self.d.cell(f"record/{sent.number}", *place, self.square, self.square, **look)


def _threads(d: Drawing, ways: Sequence[Space], ends: Sequence[Ends], new: Key) -> None:
    """Draw threads from the partition of a key before to the one after. Keys that move
    stand out; new: the key of the current record does, too.
    """
    drawn_before, drawn_after = ends
    moving = movers(ways)
    for key in [*stayers(ways), *moving]:
        if key not in drawn_before or key not in drawn_after:
            continue
        name, ink = ("move", "ink") if key in moving else ("stay", "actor3")
        begin = drawn_before[key]
        end = drawn_after[key]
        # it grows from the place before, with the key
        d.line(
            f"{name}/{in_key(key)}",
            *end,
            *begin,
            ink,
            width=4.0 if key == new else 2.2,
            from_x=begin.x,
            from_y=begin.y,
        )


def movers(ways: Sequence[Space]) -> list[Key]:
    """The keys that two ways send to two partitions."""
    if len(ways) < 2:
        return []
    before, after = map(_alone, ways)
    return [key for key in before if key in after and before[key] != after[key]]


def stayers(ways: Sequence[Space]) -> list[Key]:
    """The keys that two ways send to one partition."""
    if len(ways) < 2:
        return []
    before, after = map(_alone, ways)
    return [key for key in before if before[key] == after.get(key)]


def _alone(way: Space) -> dict[Key, int]:
    """The keys that go to one partition only."""
    alone = {}
    for key, places in way["keys"]:
        if key is not None and len(places) == 1:
            [(partition, _)] = places
            alone[key] = partition
    return alone

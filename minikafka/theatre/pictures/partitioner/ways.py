"""The right part of the partitioner's picture: the ways of keys. A column for each way
has the partitions, the keys in each, and their records as squares; threads join the
places of a key in two columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from minikafka.theatre.drawing import (
    Box,
    Drawing,
    Point,
    text_width,
    widest,
)
from minikafka.theatre.pictures.partitioner.machine import SQUARE
from minikafka.theatre.pictures.partitioner.records import Key, Sent, chip, part
from minikafka.theatre.play import Space
from minikafka.theatre.text import counted

MOST_BINS = 8
# A column, from its outer edge to its threads: a partition's label, the chip of a key,
# its records.
LABEL, CHIP, RECORDS = 48, 92, 48
BEFORE = LABEL + 6 + CHIP + 5 + RECORDS
AFTER = BEFORE + 1
# of all rows; between partitions; between records
ROOM, GAP, APART = 284, 6, 4
LEAST = 15  # from one key to the next
A_FEW = 3  # records: more are counted in words, too

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
    count = min(way["count"], MOST_BINS)
    found = [
        Group(partition, [], hidden.get(partition, 0)) for partition in range(count)
    ]
    for key, places in way["keys"]:
        for partition, records in places:
            if partition < count:
                found[partition].keys.append((key, records))
    return found


def pitch_for(ways: Sequence[Space]) -> int:
    """From one key to the next, so that each of these ways has room."""
    pitches = [SQUARE + 4.0]
    for way in ways:
        drawn = groups(way)
        rows = sum(group.rows for group in drawn)
        if rows > 4:
            pitches.append(24)
        gaps = GAP * len(drawn)
        pitches.append((ROOM - gaps) / rows)
    least = min(pitches)
    return max(LEAST, int(least))


@dataclass(frozen=True)
class Column:
    """One way. side: 0 is the left one, 1 the right one of two. hand: from where a
    record comes. now: the record that takes this way. movers: keys that stand out.
    letters: for keys that have no room.
    """

    d: Drawing
    way: Space
    side: int
    box: Box
    both: bool
    pitch: int
    now: Space | None
    hand: Box
    movers: Sequence[Key]
    letters: Mapping[Key, str]

    @property
    def number(self) -> int:
        return int(self.way["number"])

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
            return self.box.right - LABEL
        return self.box.x

    @property
    def chip_x(self) -> float:
        """The x at which the keys' chips begin."""
        if self.side:
            return self.box.right - AFTER + 4
        return self.box.x + LABEL + 6

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
            y += group.rows * self.pitch + GAP
        return ends

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
        self.d.cell(
            f"part/{self.number}/{group.partition}",
            x=self.label_x,
            y=y,
            w=LABEL,
            h=group.rows * self.pitch - 3,
            text=f"P{group.partition}",
            more=more,
            fill="wash",
            line="ink" if is_hit else "rule",
            width=2 if is_hit else None,
            tip=tip,
        )

    def _empty(self, group: Group, y: float) -> None:
        """Draw the note that no key is in this partition."""
        self.d.text(
            f"part/{self.number}/{group.partition}/none",
            self.chip_x + 4,
            y + self.height / 2 + 4.5,
            "" if group.hidden else "empty",
            "gone",
            size=12,
        )

    def _key(self, group: Group, key: Key, records: int, y: float) -> Point:
        """A key's chip and its records; returns where its thread ends."""
        left = x = self.chip_x
        if not self.is_keyless:
            self._chip(group, key, records, y)
            x += CHIP + 5
        right = self._records(group, key, records, Point(x, y))
        end = left - 4 if self.side else right + 3
        return Point(end, y + self.height / 2)

    def _chip(self, group: Group, key: Key, records: int, y: float) -> None:
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
            f"{chip(self.number, key)}/{group.partition}",
            x=self.chip_x,
            y=y,
            w=CHIP,
            h=self.height,
            text=self._name(key),
            fill="cell" if records else "paper",
            line=line,
            width=width,
            tip=f"{counted(records, 'record')} with {whose}",
        )

    def _name(self, key: Key) -> str:
        """A key, or its beginning and its letters where it is too long."""
        words = "no key" if key is None else key
        if text_width(words, 13.5, mono=True) <= CHIP - 8:
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
        room = float(RECORDS)
        is_counted = count > self._fits(room)
        if not self.both:
            room = self.d.width - place.x
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
            self.d.text(
                f"row/{self.number}/{group.partition}/{part(key)}",
                x,
                place.y + self.height / 2 + 4.5,
                words,
                "quiet",
                size=12,
                mono=self.both,
            )
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
        if sent.offset is None:
            where = "waits in its batch"
            dash = "3 3"
        else:
            where = f"offset {sent.offset} of partition {group.partition}"
            dash = None
        self.d.cell(
            f"record/{sent.number}",
            x=place.x,
            y=place.y,
            w=self.square,
            h=self.square,
            line="ink",
            dash=dash,
            of=sent.number,
            same=f"record/{sent.number}",
            tip=f"{whose}: {where}",
            from_x=self.hand.x,
            from_y=self.hand.y,
        )


def threads(d: Drawing, ways: Sequence[Space], ends: Sequence[Ends], new: Key) -> None:
    """Draw threads from the partition of a key before to the one after. Keys that move
    stand out; new: the key of the current record does, too.
    """
    before, after = map(_alone, ways)
    drawn_before, drawn_after = ends
    moving = movers(ways)
    staying = [key for key in before if key in after and key not in moving]
    for key in [*staying, *moving]:
        if key not in drawn_before or key not in drawn_after:
            continue
        name, ink = ("move", "ink") if key in moving else ("stay", "rule")
        begin = drawn_before[key]
        end = drawn_after[key]
        # it grows from the place before, with the key
        d.line(
            f"{name}/{part(key)}",
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


def _alone(way: Space) -> dict[Key, int]:
    """The keys that go to one partition only."""
    alone = {}
    for key, places in way["keys"]:
        if key is not None and len(places) == 1:
            [(partition, _)] = places
            alone[key] = partition
    return alone

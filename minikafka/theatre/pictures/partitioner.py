"""The partitioner's machine: a record's key goes in, the number of a partition comes
out.

With a key: murmur2(key), without its sign bit, modulo the number of partitions (the
Java client's rule). Without a key: sticky, round-robin, or somebody's own function.
When the number of partitions changes, the divisor changes, and keys move: every key
then has a thread from its place before to its place after. Options: topic. Without it:
the topic that was used most.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from minikafka.theatre.casting import letters
from minikafka.theatre.drawing import (
    Drawing,
    Place,
    Point,
    actor_colour,
    actor_number,
    fit,
    text_width,
    wrap,
)
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.partitioner_story import (
    HASH,
    POSITIVE,
    PartitionerStory,
    chip,
    part,
    partitions,
)
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import counted, dotted

MOST_BINS = 8
# A column, from its outer edge to its threads: a partition's label, the chip of a key,
# three records.
LABEL, CHIP, ROOM, GAP = 48, 104, 284, 6
BEFORE, AFTER = LABEL + CHIP + 38, LABEL + CHIP + 39


class PartitionerPlay(Play):
    story = PartitionerStory
    foot = (
        "Kafka keeps order within a partition. A key keeps its partition only while the"
        " number of partitions stays."
    )

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.letters = letters(self.cast["keys"])
        ways = [way for scene in scenes for way in scene["space"]["ways"]]
        rows = [sum(rows for _, _, _, rows in _groups(way)) for way in ways]
        room = [
            (ROOM - GAP * min(way["count"], MOST_BINS)) / row
            for way, row in zip(ways, rows, strict=True)
        ]
        self.pitch = int(max(15, min([34 if max(rows, default=1) <= 4 else 24, *room])))

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        now, count, others = space["now"], space["partition_count"], self.cast["others"]
        late = now and now["partitions"] != count
        drawn = len(self.cast["keys"])
        return dotted(
            partitions(count),
            (
                f"{now['producer']} still knows {now['partitions']} of them"
                if late
                else ""
            ),
            f"the first {MOST_BINS} are drawn" if count > MOST_BINS else "",
            (
                f"{drawn} of {drawn + others} keys are drawn, the others counted"
                if others
                else ""
            ),
        )

    def summary(self, space: Space) -> str:
        held = [
            [f"{key or 'no key'} ×{count}" for key, count in each["keys"]]
            for each in space["bins"]
        ]
        short = [
            ", ".join(
                keys if len(keys) <= 6 else [*keys[:5], f"{len(keys) - 5} more keys"]
            )
            for keys in held
        ]
        return (
            "; ".join(
                f"partition {p}: {keys or 'empty'}" for p, keys in enumerate(short)
            )
            or "nothing yet"
        )

    # -- draw

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d, space = drawing, scenes[-1]["space"]
        now = space["now"]
        door = self._machine(d, space)
        left, top = (0.0, 116) if d.narrow else (326.0, 0)
        ways, both = space["ways"], len(space["ways"]) == 2
        movers = _movers(ways)
        ends = [
            self._way(d, way, (left, top, both, side), now, door, movers)
            for side, way in enumerate(ways)
        ]
        if both:
            self._threads(d, space, ends)
        self._captions(d, space, left, top + 15)

    def _captions(self, d: Drawing, space: Space, left: float, y: float) -> None:
        ways, both = space["ways"], len(space["ways"]) == 2
        grows = both and ways[0]["rule"] == ways[1]["rule"]
        for side, way in enumerate(ways):
            words = f"hash % {way['count']}" if way["rule"] == HASH else way["rule"]
            words = (
                words
                if any(key is not None for key, _ in way["keys"])
                else partitions(way["count"])
            )
            words = (
                f"{('before', 'after')[side]}: {words}"
                if grows
                else f"{way['who']}: {words}"
                if both
                else words
            )
            d.text(
                f"caption/{way['number']}",
                (left, d.width)[side],
                y,
                words,
                "ink" if grows else "quiet",
                size=12.5,
                room=BEFORE if both else d.width - left,
                anchor=("start", "end")[side],
            )
        differ, alike = space["differ"]
        if alike:
            d.text(
                "said/differ",
                (left + BEFORE + d.width - AFTER) / 2,
                y + 1,
                f"{differ} of {alike} {'move' if grows else 'differ'}",
                bold=True,
                size=16 if d.narrow else 18,
                anchor="middle",
            )

    def _machine(self, d: Drawing, space: Space) -> Point:
        """Draws what goes in and what is computed; returns the point where the record
        leaves.
        """
        now = space["now"]
        x, y, w, h = (
            (134.0, 2, d.width - 134, 104) if d.narrow else (0.0, 92, 286.0, 118)
        )
        if not now and space["divisors"]:
            d.note("in/caption", 0, 15, "partitions")
            d.text(
                "in/grows",
                0,
                49,
                "{} → {}".format(*space["divisors"]),
                bold=True,
                mono=True,
                size=20,
            )
        if now:
            entry = 108.0 if d.narrow else 150.0
            d.note("in/caption", 0, 15, "a record goes in")
            words = fit(
                "no key" if now["key"] is None else now["key"],
                entry - 14,
                13.5,
                mono=True,
                bold=True,
            )
            d.cell(
                "in/key",
                0,
                24,
                entry,
                42,
                words,
                now["value"] or "",
                line="ink",
                width=2,
                tip=f"key {now['key']}",
            )
            arrow = (
                (entry + 2, 45, x - 4, 45)
                if d.narrow
                else (entry / 2, 68, entry / 2, y - 3)
            )
            d.arrow("in/arrow", *arrow)
        colour = (
            actor_colour(actor_number(now["producer"], self.cast["producers"]))
            if now
            else "quiet"
        )
        d.rect("machine", x, y, w, h, "wash", colour, r=8, width=2)
        room = w - 24
        if now:
            kind = fit(now["kind"], 110, 12, bold=True)
            across = text_width(kind, 12, bold=True) + 18
            d.boxed(
                "machine/kind", x + w - 12 - across, y + 9, across, 19, kind, "chip"
            )
            room -= across + 8
            self._computation(d, now, x + 12, y + 50, w - 24)
        else:
            self._divisors(d, space, x + 12, y, w - 24)
        name = (
            f"{now['producer']}'s partitioner" if now else "the producer's partitioner"
        )
        d.text("machine/name", x + 12, y + 23, name, bold=True, room=room)
        return (x + w, y + 44) if not d.narrow else (x + w - 40, y + h)

    def _computation(
        self, d: Drawing, now: dict[str, Any], x: float, y: float, room: float
    ) -> None:
        """The lines in the machine: what is computed, and what comes out."""
        if now["reason"] == "murmur2":
            positive = now["hash"] & POSITIVE
            lines = [
                ("murmur2(key)", str(now["hash"])),
                ("without sign bit", str(positive)),
            ]
            lines.append((f"% {now['partitions']} partitions", str(now["partition"])))
        else:
            rule = wrap(now["why"].split(": ", 1)[-1], room * 0.8, 12.5)
            rule = [*rule[:1], " ".join(rule[1:])] if len(rule) > 1 else rule
            lines = [
                *((words, "") for words in rule),
                ("partition", str(now["partition"])),
            ]
        for number, (words, result) in enumerate(lines):
            place, last = (
                (
                    x,
                    y + number * (22 if d.narrow else 25),
                    room,
                ),
                number == len(lines) - 1,
            )
            _line(
                d, f"machine/{number}", place, words, result, last, 16 if last else 13
            )

    def _divisors(
        self, d: Drawing, space: Space, x: float, y: float, room: float
    ) -> None:
        """No record is in the machine: what changed in it, with one key that moves."""
        if not space["divisors"]:
            d.note("machine/waits", x, y + 50, "waits for the first record")
            return
        was, count = space["divisors"]
        d.text(
            "machine/divisor",
            x,
            y + 52,
            f"hash % {was} → % {count}",
            bold=True,
            mono=True,
            size=18,
        )
        if space["example"]:
            key, hashed = space["example"]
            for line, divisor in enumerate((was, count)):
                place, result = (
                    (
                        x,
                        y + 77 + line * (18 if d.narrow else 21),
                        room,
                    ),
                    f"% {divisor} = {hashed % divisor}",
                )
                _line(
                    d,
                    f"machine/example/{line}",
                    place,
                    f"{key} {hashed}",
                    result,
                    True,
                    13,
                )

    def _way(
        self,
        d: Drawing,
        way: Space,
        place: tuple[float, float, bool, int],
        now: Space | None,
        door: Point,
        movers: Sequence[str | None],
    ) -> dict[str | None, Point]:
        """One column: partitions, the keys in each, their records. Returns where each
        key's thread ends.
        """
        left, top, both, side = place
        label, box = (
            (left, left + LABEL + 6)
            if side == 0
            else (d.width - LABEL, d.width - AFTER + 4)
        )
        records = box + CHIP + 5
        mine = now if now and now["way"] == way["number"] else None
        h, y, ends = self.pitch - 3, top + 26.0, {}
        for partition, keys, hidden, rows in _groups(way):
            hit = mine is not None and mine["partition"] == partition
            written = sum(count for _, count in keys)
            tip = f"partition {partition}: {counted(written, 'record')} of these keys"
            tip += f", and {counted(hidden, 'key')} more" if hidden else ""
            d.cell(
                f"part/{way['number']}/{partition}",
                label,
                y,
                LABEL,
                rows * self.pitch - 3,
                f"P{partition}",
                f"+{hidden}" if hidden else "",
                fill="wash",
                line="ink" if hit else "rule",
                width=2 if hit else None,
                tip=tip,
            )
            for row, (key, count) in enumerate(keys):
                at = y + row * self.pitch
                new = hit and mine is not None and mine["key"] == key
                line = (
                    (2.0, "ink")
                    if new
                    else (1.5, "ink")
                    if key in movers
                    else (1.0, "rule")
                )
                self._key(
                    d, (way["number"], key, partition), (box, at, h), count, line, door
                )
                name = f"row/{way['number']}/{partition}/{part(key)}"
                end = self._records(d, name, (records, at, h), count, both, door)
                ends[key] = (end if side == 0 else box - 4, at + h / 2)
            if not keys:
                words = "" if hidden else "empty"
                d.text(
                    f"part/{way['number']}/{partition}/none",
                    box + 4,
                    y + h / 2 + 4.5,
                    words,
                    "gone",
                    size=12,
                )
            y += rows * self.pitch + GAP
        return ends

    def _key(
        self,
        d: Drawing,
        who: tuple[int, str | None, int],
        place: Place,
        count: int,
        line: tuple[float, str],
        door: Point,
    ) -> None:
        number, key, partition = who
        x, y, h = place
        tip = (
            f"{counted(count, 'record')} with"
            f" {'no key' if key is None else 'key ' + key}"
        )
        words = "no key" if key is None else key
        if text_width(words, 13.5, mono=True) > CHIP - 8:
            words = f"{words[:4]}…{self.letters[key]}"
        d.cell(
            f"{chip(number, key)}/{partition}",
            x,
            y,
            CHIP,
            h,
            words,
            fill="cell" if count else "paper",
            line=line[1],
            width=line[0],
            tip=tip,
            from_x=door[0] - 40,
            from_y=door[1],
        )

    def _records(
        self, d: Drawing, key: str, place: Place, count: int, both: bool, door: Point
    ) -> float:
        """A box each, as far as there is room; returns where they end."""
        x, y, h = place
        w = 6 if both else 12
        most = 3 if both else int((d.width - x - 80) // (w + 3))
        for number in range(count if count <= most else 0):
            at, (from_x, from_y) = x + number * (w + 3), door
            d.rect(
                f"{key}/{number}",
                at,
                y + h / 2 - 5,
                w,
                10,
                "quiet",
                r=1.5,
                from_x=from_x,
                from_y=from_y,
            )
        across = count * (w + 3) if count <= most else 0
        if count > 3:
            words = f"×{count}" if both else counted(count, "record")
            d.text(
                key,
                x + across + (0 if both else 4),
                y + h / 2 + 4.5,
                words,
                "quiet",
                size=12,
                mono=both,
            )
            across += text_width(words, 12, mono=both)
        return x + across + 3

    def _threads(
        self, d: Drawing, space: Space, ends: Sequence[Mapping[str | None, Point]]
    ) -> None:
        """From where a key went before to where it goes after. Those that move stand
        out.
        """
        now, movers = space["now"], _movers(space["ways"])
        stay = [
            key
            for key in _alone(space["ways"][0])
            if key in _alone(space["ways"][1]) and key not in movers
        ]
        for key in [*stay, *movers]:
            if not all(key in side for side in ends):
                continue
            (x, y), (x2, y2) = (side[key] for side in ends)
            name, ink = ("move", "ink") if key in movers else ("stay", "rule")
            width = 4.0 if now and now["key"] == key else 2.2
            # it grows from the place before, with the key
            d.line(
                f"{name}/{part(key)}",
                x2,
                y2,
                x,
                y,
                ink,
                width=width,
                from_x=x,
                from_y=y,
            )


def _line(
    d: Drawing, key: str, place: Place, words: str, result: str, bold: bool, size: int
) -> None:
    """What is computed in the machine, and what comes out."""
    x, y, room = place
    beside = text_width(result, 13, mono=True, bold=bold) + 10 if result else 0
    d.note(key, x, y, words, mono=bool(result), room=room - beside)
    if result:
        d.text(
            key + "/result",
            x + room,
            y,
            result,
            mono=True,
            bold=bold,
            size=size,
            anchor="end",
        )


def _alone(way: dict[str, Any]) -> dict[str | None, int]:
    """The keys that go to one partition only."""
    return {
        key: places[0][0]
        for key, places in way["keys"]
        if key is not None and len(places) == 1
    }


def _movers(ways: Sequence[dict[str, Any]]) -> list[str | None]:
    if len(ways) < 2:
        return []
    before, after = map(_alone, ways)
    return [key for key in before if key in after and before[key] != after[key]]


def _groups(
    way: dict[str, Any],
) -> list[tuple[int, list[tuple[str | None, int]], int, int]]:
    """(partition, its keys with their records, keys that are counted only, rows that
    they need).
    """
    hidden, found = dict(way["hidden"]), []
    for partition in range(min(way["count"], MOST_BINS)):
        keys = [
            (key, n)
            for key, places in way["keys"]
            for place, n in places
            if place == partition
        ]
        more = hidden.get(partition, 0)
        found.append((partition, keys, more, max(len(keys), 1)))
    return found

"""The log: one partition with its segments, or several small ones, and who reads where.

A reader stands before the record that it will read next. Reading removes nothing;
retention removes whole segments, oldest first. The way of a record: its producer on the
left, its place in the log, and the trays of its readers; on a narrow page the producers
stand above the log and the trays below it. Options: topic, partitions (numbers).
Without them: the topic that was used most, and up to six partitions.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from minikafka.theatre.drawing import (
    NARROW,
    WIDE,
    Drawing,
    Place,
    Point,
    fit,
    text_width,
)
from minikafka.theatre.lanes import Lane, Scene
from minikafka.theatre.pictures.journey_story import JourneyStory
from minikafka.theatre.pictures.log_story import lane_of
from minikafka.theatre.play import Play
from minikafka.theatre.row import (
    LARGE,
    MIDDLE,
    SMALL,
    TALL,
    Reader,
    Row,
    Style,
    lines_needed,
)
from minikafka.theatre.text import counted, dotted, key_part

MOST_WITH_LANES = 4  # partitions; more of them leave no room below
PRODUCERS = 76  # width of a card on a wide page
STRIP = 36  # height of the producers on a narrow one
MOST = 4  # of each are drawn
# a record in a tray, what is between two, what a tray says above them
CHIP, GAP, HEAD = 22, 4, 26
ROOM = 190  # height that trays may take beside a low log
BRACKET = 11  # height of what stands under lost records


class LogPlay(Play):
    story = JourneyStory
    foot = (
        "A reader stands before the record it will read next. "
        "Reading removes nothing; retention removes whole segments, oldest first."
    )

    def scenario(self, scene: Scene) -> str:
        space, shown = scene["space"], len(self.cast["chosen"])
        several = shown > 1 or space["partition_count"] > 1
        return dotted(
            (
                f"{counted(_on_disk(space), 'segment')} on disk"
                if self.cast["rolls"]
                else ""
            ),
            f"{space['partition_count'] or shown} partitions" if several else "",
            (
                f"{shown} of them shown"
                if several and shown < space["partition_count"]
                else ""
            ),
            counted(len(space["readers"]), "reader") if space["readers"] else "",
            *(f"{node} {state}" for node, state in space["down"].items()),
            "" if self.cast["one_key"] else self.cast["legend"],
        )

    def summary(self, space: dict[str, Any]) -> str:
        parts = []
        for log in space["partitions"]:
            start, end = log["log_start_offset"], log["log_end_offset"]
            held = (
                f"offset {start}"
                if end - start == 1
                else f"offsets {start} to {end - 1}"
            )
            parts.append(
                f"partition {log['partition']}: {'empty' if start == end else held}"
            )
        for reader in space["readers"]:
            places = [str(offset) for offset in reader["next"].values()]
            if len(self.cast["chosen"]) > 1:
                places = [
                    f"{offset} in partition {p}" for p, offset in reader["next"].items()
                ]
            state = f" ({reader['state']})" if reader["state"] else ""
            parts.append(f"{reader['name']} reads {', '.join(places)} next{state}")
            spans = [
                span
                for log in space["partitions"]
                for span in log["lost"]
                if span[2] == reader["name"]
            ]
            parts += (
                [f"{sum(up_to - first for first, up_to, _ in spans)} lost to it"]
                if spans
                else []
            )
        return "; ".join(parts) or "nothing yet"

    # -- draw

    # lines of reader labels that a partition needs
    call_outs: dict[int, int] = {WIDE: 0, NARROW: 0}

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.trays = Trays(self.cast, scenes)
        if self.cast["readers"]:
            self.call_outs = lines_needed(self._partitions, scenes)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        scene, several = scenes[-1], len(self.cast["chosen"]) > 1
        space, (top, height) = scene["space"], self._rows_at(drawing)
        rows = self._partitions(drawing, scene)
        self._producers(drawing, scene, rows)
        for row in rows:
            row.draw()
            # what the numbers in and under the records are
            if not several and not drawing.narrow:
                foot, inside = (
                    row.cells_y + row.style.cell,
                    ("days old" if self.cast["in_days"] else ""),
                )
                drawing.note(
                    "caption/inside",
                    row.x - 8,
                    foot - row.style.cell / 2 + 5,
                    inside,
                    "end",
                    size=12,
                )
                drawing.note(
                    "caption/below", row.x - 8, foot + 16, "offset", "end", size=12
                )
            if several:
                _margin(drawing, row.partition, row.x - 42, row.right, row.cells_y)
        room = height * len(self.cast["chosen"])
        below: float = top + room
        self.trays.draw(
            drawing, space["readers"], rows, below + 6 if drawing.narrow else top, room
        )
        trays = self.trays.height(drawing, room)
        below = below + 6 + trays if drawing.narrow else max(below, top + trays)
        if len(self.cast["chosen"]) <= MOST_WITH_LANES:
            dense = several or self.call_outs[drawing.width] > 1
            self.lanes.draw(
                drawing, below - 8 * dense, self._rows(space), scene["step"]
            )

    def _producers(
        self, d: Drawing, scene: Scene, rows: "Sequence[JourneyRow]"
    ) -> None:
        names, now = scene["space"]["producers"], scene["number"]
        writing = [
            (names[r[5]], row)
            for row in rows
            for r in row.partition["records"]
            if r[4] == now
        ]
        if not rows:
            return
        name, into = writing[0] if writing else (None, rows[0])
        for number, each in enumerate(names[:MOST]):
            x, top = producer_at(d, number, into.home_y)
            key, (w, h) = (
                f"producer/{key_part(each)}",
                ((124, 26) if d.narrow else (PRODUCERS, 44)),
            )
            line, width = ("ink", 2) if each == name else ("rule", None)
            d.rect(key, x, top, w, h, "wash", line, r=8, width=width, tip=each)
            d.text(
                key + "/name",
                x + 8,
                top + 18,
                each,
                bold=True,
                room=w - (60 if d.narrow else 16),
                tip=each,
            )
            at, anchor = (x + w - 8, "end") if d.narrow else (x + 8, "start")
            d.note(
                key + "/does",
                at,
                top + (18 if d.narrow else 36),
                "writes",
                anchor,
                size=12,
            )
        if name in names[:MOST] and len(rows) > 1 and not d.narrow:
            y = into.home_y + 22 + 50 * names.index(name)
            d.arrow(
                "way/written", PRODUCERS + 5, y, into.x - 50, into.cells_y + 15, width=2
            )

    def _rows_at(self, d: Drawing) -> tuple[int, int]:
        """Where the first partition begins, and how high each is."""
        return 2 + STRIP * d.narrow, self._style(d).height(self.call_outs[d.width])

    def _pitch(self, d: Drawing) -> float:
        """Units from one record to the next: the widest that leaves room for all."""
        wide, several = (
            self._room(d)[1] / (self.cast["most"] + 1.2),
            len(self.cast["chosen"]) > 1,
        )
        return (
            min(wide, 120 if several else 94) if wide >= 31 else 40 if d.narrow else 47
        )

    def _style(self, d: Drawing) -> Style:
        if len(self.cast["chosen"]) > 1:
            style = MIDDLE if len(self.cast["chosen"]) <= 3 else SMALL
        else:
            style = TALL if self._pitch(d) >= 78 and not self.cast["one_key"] else LARGE
        bracket = BRACKET + (6 if d.narrow or self.call_outs[d.width] <= 1 else 0)
        return (
            replace(style, words=style.words + bracket) if self.cast["loses"] else style
        )

    def _room(self, d: Drawing) -> tuple[int, int]:
        """The left end of the records, and their width."""
        several = len(self.cast["chosen"]) > 1
        left, right = (
            (4, d.width - 6)
            if d.narrow
            else (PRODUCERS + 12, d.width - self.trays.width(d) - 14)
        )
        if several:
            left, right = (46, right - 74) if d.narrow else (left + 72, right - 104)
        return left, right - left

    def _partitions(self, d: Drawing, scene: Scene) -> "list[JourneyRow]":
        (left, room), (top, height), pitch, style = (
            self._room(d),
            self._rows_at(d),
            self._pitch(d),
            self._style(d),
        )
        rows, several = [], len(self.cast["chosen"]) > 1
        for log in scene["space"]["partitions"]:
            readers = [
                _reader(reader, log, self.cast, short=several)
                for reader in scene["space"]["readers"]
                if str(log["partition"]) in reader["next"]
            ]
            y = self.cast["chosen"].index(log["partition"]) * height + top
            row = JourneyRow(
                d, log, (left, y, room), pitch, scene["number"], readers, style
            )
            row.cast, row.home_y = self.cast, row.y
            if several:
                row.right = left + min(room, (self.cast["most"] + 1.2) * pitch) + 66
                row.home_y = top + height * len(self.cast["chosen"]) / 2 - 30
            rows.append(row)
        return rows

    def _rows(self, space: dict[str, Any]) -> list[Lane]:
        written = sum(log["log_end_offset"] for log in space["partitions"])
        rows = [Lane("written", "written", "quiet", counted(written, "record"))]
        seen = {reader["name"]: reader for reader in space["readers"]}
        for name, colour in self.cast["readers"].items():
            reader = seen.get(name, {"refused": {}, "lag": {}})
            number = (
                "out of range"
                if reader["refused"]
                else f"lag {sum(reader['lag'].values())}"
            )
            lane = Lane(lane_of(name), name, colour, number, bool(reader["refused"]))
            rows.append(lane if name in seen else Lane(lane_of(name), ""))
        if "log" in self.lanes.marks:
            on_disk = _on_disk(space)
            rows.append(
                Lane(
                    "log",
                    "log",
                    "ink",
                    counted(on_disk, "segment") if self.cast["rolls"] else "",
                )
            )
        return rows


def _reader(
    reader: dict[str, Any], log: dict[str, Any], cast: dict[str, Any], short: bool
) -> Reader:
    partition = str(log["partition"])
    offset, refused = reader["next"][partition], reader["refused"].get(partition)
    lag = refused or f"lag {reader['lag'][partition]}"
    words = dotted("" if short else f"next {offset}", lag, reader["state"])
    colour, away, name = (
        cast["readers"][reader["name"]],
        bool(reader["state"]),
        reader["name"],
    )
    act = f"seek {name}" if "live" in cast and not away else None
    return Reader(name, offset, words, colour, bool(refused), away, act)


def _on_disk(space: dict[str, Any]) -> int:
    """How many segments are there."""
    return sum(
        1
        for log in space["partitions"]
        for segment in log["segments"]
        if segment[2] != "deleted"
    )


def _margin(
    d: Drawing, log: dict[str, Any], left: float, right: float, y: float
) -> None:
    partition = log["partition"]
    start = f"start {log['log_start_offset']}" if log["log_start_offset"] else ""
    d.text(f"name/{partition}", left, y + 20, f"P{partition}", mono=True, bold=True)
    for key, at, words in (
        ("end", 12, f"end {log['log_end_offset']}"),
        ("start", 28, start),
    ):
        d.note(f"{key}/{partition}", right, y + at, words, "end", mono=True)


class JourneyRow(Row):
    """A partition whose records come from producers. cast: what the whole play holds;
    home_y: of the first producer.
    """

    cast: dict[str, Any]
    home_y: float

    def look(self, record: list[Any]) -> dict[str, Any]:
        offset, letter, _, value, _, producer, days = record
        x, y = producer_at(self.d, min(producer, MOST - 1), self.home_y)
        look: dict[str, Any] = {"from_x": x, "from_y": y}
        if self.cast["one_key"]:
            fits = value is not None and text_width(value, 12.5) <= self.cell * 0.82 - 8
            look |= {"text": "", "more": value if fits else ""}
        if days is not None:
            look |= {"text": "", "more": ""} | (
                {"text": letter} if not self.cast["one_key"] else {}
            )
            age = f"{days}d" if self.d.narrow else str(days)
            look["more" if look["text"] and self.style.cell >= 40 else "text"] = age
        if any(first <= offset < up_to for first, up_to, _ in self.partition["lost"]):
            look |= {"line": "trouble", "width": 2}
        return look

    def draw(self) -> None:
        super().draw()
        y = self.cells_y + self.style.cell + (26 if self.style.header else 20)
        free = 10**9
        for first, up_to, _ in reversed(self.partition["lost"]):
            if up_to > free:  # somebody else's, under these
                continue
            free = first
            x, x2 = self.left_of(first), self.left_of(up_to) - 5
            key, words = f"lost/{self.key}/{first}", f"{up_to - first} lost"
            half = text_width(words, 13, bold=True) / 2
            middle = min(max((x + x2) / 2, self.x + half), self.right - half)
            self.d.line(key, x, y, x2, y, "trouble", width=2)
            for end, at in (("/from", x), ("/to", x2)):
                self.d.line(key + end, at, y - 4, at, y, "trouble", width=2)
            self.d.text(
                key + "/count",
                middle,
                y + 14,
                words,
                "trouble",
                bold=True,
                anchor="middle",
                halo="paper",
            )


def producer_at(d: Drawing, number: int, y: float) -> Point:
    """Where a producer stands. y: of the first one, on a wide page."""
    return (number * 132.0, 1.0) if d.narrow else (0.0, y + number * 50)


class Trays:
    """What each reader saw so far, in its order. The whole play decides how much room
    that takes.
    """

    def __init__(self, cast: dict[str, Any], scenes: Sequence[dict[str, Any]]) -> None:
        self.colours: dict[str, str] = dict(list(cast["readers"].items())[:MOST])
        self.several = len(cast["chosen"]) > 1
        self.one_key, self.short = cast["one_key"], cast["in_days"] or cast["most"] > 8
        items = [
            item
            for scene in scenes
            for reader in scene["space"]["readers"]
            for item in reader["saw"]
        ]
        items = [item for item in items if item[2] is not None and item[5] == 1]
        self.widest = max(
            (self._room(*self._words(item)) for item in items), default=28
        )
        seen = [
            (reader["name"], reader["saw"])
            for scene in scenes
            for reader in scene["space"]["readers"]
        ]
        self.fullest: dict[str, list[Any]] = {
            name: max(
                (saw for whose, saw in seen if whose == name), key=len, default=[]
            )
            for name in self.colours
        }

    def _words(self, item: Sequence[Any]) -> tuple[str, str]:
        partition, offset, letter, value, *_ = item
        if item[5] > 1:
            return f"{offset}–{offset + item[5] - 1}", ""
        if value is None or (self.short and not self.several):
            return (f"P{partition}:{offset}" if self.several else str(offset)), ""
        return ("" if self.one_key else letter), value

    def _room(self, text: str, more: str) -> int:
        return (
            text_width(text, 13.5, mono=True)
            + text_width(more, 12.5)
            + (6 if text and more else 0)
            + 12
        )

    def width(self, d: Drawing) -> int:
        return (
            d.width if d.narrow else 180 if self.several else 150 if self.short else 160
        )

    def height(self, d: Drawing, room: float) -> int:
        """Of all trays. room: what the log's rows take."""
        return sum(_height(lines) for lines in self._lines(d, room).values())

    def _slots(self, d: Drawing) -> tuple[int, int]:
        """How many records stand side by side, and how many of these places a loss or a
        long poll takes.
        """
        # one below the other shows their order best
        few = self.several and max(map(len, self.fullest.values())) <= 5
        slots = (
            1
            if few
            else max(
                int((self.width(d) - 8) // (min(self.widest, self.width(d) - 8) + GAP)),
                1,
            )
        )
        return slots, min(slots, -(-68 // ((self.width(d) - 8) // slots)))

    def _lines(self, d: Drawing, room: float) -> dict[str, int]:
        """How many lines of records each tray has: one, and more in turn where they are
        needed and there is room.
        """
        needed = {
            name: len(
                {
                    at // self._slots(d)[0]
                    for _, at, _ in in_slots(items, *self._slots(d))
                }
            )
            for name, items in self.fullest.items()
        }
        lines = dict.fromkeys(self.colours, 1)
        for line in range(2, 4 if d.narrow else 7):
            for name in lines:
                if needed[name] >= line and sum(
                    map(_height, lines.values())
                ) + CHIP + GAP <= max(room, ROOM):
                    lines[name] = line
        return lines

    def draw(
        self,
        d: Drawing,
        readers: Sequence[dict[str, Any]],
        rows: Sequence[Row],
        top: float,
        room: float,
    ) -> None:
        """rows: of the log, where the records come from."""
        left, lines = d.width - self.width(d), self._lines(d, room)
        seen = {reader["name"]: reader for reader in readers}
        for name in self.colours:
            if name in seen:
                self._tray(d, seen[name], (left, top), lines[name], rows)
            top += _height(lines[name])

    def _tray(
        self,
        d: Drawing,
        reader: dict[str, Any],
        place: Point,
        lines: int,
        rows: Sequence[Row],
    ) -> None:
        (left, top), w, key = place, self.width(d), f"tray/{key_part(reader['name'])}"
        now, by_key, colour = (
            rows[0].now if rows else -1,
            {row.key: row for row in rows},
            self.colours[reader["name"]],
        )
        busy = any(item[4] == now for item in reader["saw"])
        d.rect(
            key,
            left,
            top,
            w,
            _height(lines) - 8,
            "wash",
            colour if busy else "rule",
            r=8,
            width=2 if busy else None,
            dash="4 3" if reader["state"] else None,
            tip=f"what {reader['name']} has read so far, in its order",
        )
        count = f"{reader['seen']} read"
        d.rect(key + "/colour", left + 7, top + 7, 5, 13, colour, r=2)
        d.text(
            key + "/name",
            left + 17,
            top + 18,
            reader["name"],
            bold=True,
            room=w - 34 - text_width(count, 12),
        )
        d.note(key + "/count", left + w - 8, top + 18, count, "end", size=12)
        if not reader["saw"]:
            d.note(key + "/nothing", left + 17, top + HEAD + 14, "nothing yet", size=12)
        slots, of_many = self._slots(d)
        pitch = (w - 8) / slots
        for item, at, span in last_lines(reader["saw"], slots, lines, of_many):
            x, y = (
                left + 6 + at % slots * pitch,
                top + HEAD + at // slots * (CHIP + GAP),
            )
            chip, row = f"{key}/{item[0]}/{item[1]}", by_key.get(str(item[0]))
            while chip in d.shapes:  # read again
                chip += f"/{item[4]}"
            way: dict[str, Any] = {"of": item[4], "same": f"{item[0]}/{item[1]}"}
            if row and item[4] == now and item[2] is not None:
                if self.several and not d.narrow and "way/read" not in d.shapes:
                    d.arrow(
                        "way/read",
                        row.right + 8,
                        row.cells_y + 15,
                        left - 4,
                        y + CHIP / 2,
                        colour,
                        width=2,
                        **way,
                    )
                way |= {"from_x": row.left_of(item[1]), "from_y": row.cells_y}
            self._chip(d, chip, (x, y, pitch * span - GAP), item, item[4] == now, way)

    def _chip(
        self,
        d: Drawing,
        key: str,
        place: Place,
        item: Sequence[Any],
        new: bool,
        way: dict[str, Any],
    ) -> None:
        x, y, w = place
        text, more = ("", f"{item[5]} lost") if item[2] is None else self._words(item)
        look = {"fill": "paper", "line": "ink" if new else "rule", "ink": "ink"}
        if item[2] is None:
            look = {"fill": "none", "line": "trouble", "ink": "trouble", "dash": "3 3"}
        more = fit(more, w - self._room(text, "") - 6 * bool(text), 12.5)
        d.add(
            key,
            "cell",
            x=x,
            y=y,
            w=w,
            h=CHIP,
            r=4,
            text=text or None,
            more=more or None,
            **look,
            **way,
        )


def _height(lines: int) -> int:
    return HEAD + lines * (CHIP + GAP) + 10


def in_slots(
    items: Sequence[Any], slots: int, of_many: int
) -> list[tuple[Any, int, int]]:
    """(item, slot, how many slots) in order; none is broken over two lines. of_many:
    slots of several records.
    """
    placed, at = [], 0
    for item in items:
        span = of_many if item[2] is None or item[5] > 1 else 1
        at += slots - at % slots if at % slots + span > slots else 0
        placed.append((item, at, span))
        at += span
    return placed


def last_lines(
    items: Sequence[Any], slots: int, lines: int, of_many: int
) -> list[tuple[Any, int, int]]:
    """The latest of them that so many lines hold."""
    placed = in_slots(items, slots, of_many)
    return (
        placed
        if not placed or placed[-1][1] < slots * lines
        else last_lines(items[1:], slots, lines, of_many)
    )

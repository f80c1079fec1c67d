"""The way of a record as it is drawn: its producer on the left, its place in the log, and the trays of its readers.

On a narrow page the producers stand above the log and the trays below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minikafka.theatre.drawing import Drawing, fit, text_width
from minikafka.theatre.row import Row
from minikafka.theatre.text import key_part

PRODUCERS = 76  # width of a card on a wide page
STRIP = 36  # height of the producers on a narrow one
MOST = 4  # of each are drawn
CHIP, GAP, HEAD = 22, 4, 26  # a record in a tray, what is between two, what a tray says above them
ROOM = 190  # height that trays may take beside a low log
BRACKET = 11  # height of what stands under lost records


class JourneyRow(Row):
    """A partition whose records come from producers. cast: what the whole play holds; home_y: of the first producer."""

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
            look |= {"text": "", "more": ""} | ({"text": letter} if not self.cast["one_key"] else {})
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
            self.d.text(key + "/count", middle, y + 14, words, "trouble", bold=True, anchor="middle", halo="paper")


def producer_at(d: Drawing, number: int, y: float) -> tuple[float, float]:
    """Where a producer stands. y: of the first one, on a wide page."""
    return (number * 132.0, 1.0) if d.narrow else (0.0, y + number * 50)


def draw_producers(d: Drawing, names: Sequence[str], y: float, writing: str | None) -> None:
    for number, name in enumerate(names[:MOST]):
        x, top = producer_at(d, number, y)
        key, busy = f"producer/{key_part(name)}", name == writing
        w, h = (124, 26) if d.narrow else (PRODUCERS, 44)
        d.rect(key, x, top, w, h, "wash", "ink" if busy else "rule", r=8, width=2 if busy else None, tip=name)
        d.text(key + "/name", x + 8, top + 18, name, bold=True, room=w - (60 if d.narrow else 16), tip=name)
        at, anchor = (x + w - 8, "end") if d.narrow else (x + 8, "start")
        d.text(key + "/does", at, top + (18 if d.narrow else 36), "writes", "quiet", size=12, anchor=anchor)


class Trays:
    """What each reader saw so far, in its order. The whole play decides how much room that takes."""

    def __init__(self, cast: dict[str, Any], scenes: Sequence[dict[str, Any]]) -> None:
        self.colours: dict[str, str] = dict(list(cast["readers"].items())[:MOST])
        self.several = len(cast["chosen"]) > 1
        self.one_key, self.short = cast["one_key"], cast["in_days"] or cast["most"] > 8
        items = [item for scene in scenes for reader in scene["space"]["readers"] for item in reader["saw"]]
        items = [item for item in items if item[2] is not None and item[5] == 1]
        self.widest = max((self._room(*self._words(item)) for item in items), default=28)
        seen = [(reader["name"], reader["saw"]) for scene in scenes for reader in scene["space"]["readers"]]
        self.fullest: dict[str, list[Any]] = {
            name: max((saw for whose, saw in seen if whose == name), key=len, default=[]) for name in self.colours
        }

    def _words(self, item: Sequence[Any]) -> tuple[str, str]:
        partition, offset, letter, value, *_ = item
        if item[5] > 1:
            return f"{offset}–{offset + item[5] - 1}", ""
        if value is None or (self.short and not self.several):
            return (f"P{partition}:{offset}" if self.several else str(offset)), ""
        return ("" if self.one_key else letter), value

    def _room(self, text: str, more: str) -> int:
        return text_width(text, 13.5, mono=True) + text_width(more, 12.5) + (6 if text and more else 0) + 12

    def width(self, d: Drawing) -> int:
        return d.width if d.narrow else 180 if self.several else 150 if self.short else 160

    def height(self, d: Drawing, room: float) -> int:
        """Of all trays. room: what the log's rows take."""
        return sum(_height(lines) for lines in self._lines(d, room).values())

    def _slots(self, d: Drawing) -> tuple[int, int]:
        """How many records stand side by side, and how many of these places a loss or a long poll takes."""
        few = self.several and max(map(len, self.fullest.values())) <= 5  # one below the other shows their order best
        slots = 1 if few else max(int((self.width(d) - 8) // (min(self.widest, self.width(d) - 8) + GAP)), 1)
        return slots, min(slots, -(-68 // ((self.width(d) - 8) // slots)))

    def _lines(self, d: Drawing, room: float) -> dict[str, int]:
        """How many lines of records each tray has: one, and more in turn where they are needed and there is room."""
        needed = {name: len({at // self._slots(d)[0] for _, at, _ in in_slots(items, *self._slots(d))})
                  for name, items in self.fullest.items()}  # fmt: skip
        lines = dict.fromkeys(self.colours, 1)
        for line in range(2, 4 if d.narrow else 7):
            for name in lines:
                if needed[name] >= line and sum(map(_height, lines.values())) + CHIP + GAP <= max(room, ROOM):
                    lines[name] = line
        return lines

    def draw(self, d: Drawing, readers: Sequence[dict[str, Any]], rows: Sequence[Row], top: float, room: float) -> None:
        """rows: of the log, where the records come from."""
        left, lines = d.width - self.width(d), self._lines(d, room)
        seen = {reader["name"]: reader for reader in readers}
        for name in self.colours:
            if name in seen:
                self._tray(d, seen[name], (left, top), lines[name], rows)
            top += _height(lines[name])

    def _tray(self, d: Drawing, reader: dict[str, Any], place: tuple[float, float], lines: int,
              rows: Sequence[Row]) -> None:  # fmt: skip
        (left, top), w, key = place, self.width(d), f"tray/{key_part(reader['name'])}"
        now, by_key, colour = rows[0].now if rows else -1, {row.key: row for row in rows}, self.colours[reader["name"]]
        busy = any(item[4] == now for item in reader["saw"])
        d.rect(
            key, left, top, w, _height(lines) - 8, "wash", colour if busy else "rule", r=8, width=2 if busy else None,
            dash="4 3" if reader["state"] else None, tip=f"what {reader['name']} has read so far, in its order",
        )  # fmt: skip
        count = f"{reader['seen']} read"
        d.rect(key + "/colour", left + 7, top + 7, 5, 13, colour, r=2)
        d.text(key + "/name", left + 17, top + 18, reader["name"], bold=True, room=w - 34 - text_width(count, 12))
        d.note(key + "/count", left + w - 8, top + 18, count, "end", size=12)
        if not reader["saw"]:
            d.note(key + "/nothing", left + 17, top + HEAD + 14, "nothing yet", size=12)
        slots, of_many = self._slots(d)
        pitch = (w - 8) / slots
        for item, at, span in last_lines(reader["saw"], slots, lines, of_many):
            x, y = left + 6 + at % slots * pitch, top + HEAD + at // slots * (CHIP + GAP)
            chip, row = f"{key}/{item[0]}/{item[1]}", by_key.get(str(item[0]))
            while chip in d.shapes:  # read again
                chip += f"/{item[4]}"
            way: dict[str, Any] = {"of": item[4], "same": f"{item[0]}/{item[1]}"}
            if row and item[4] == now and item[2] is not None:
                if self.several and not d.narrow and "way/read" not in d.shapes:
                    d.arrow("way/read", row.right + 8, row.cells_y + 15, left - 4, y + CHIP / 2, colour, width=2, **way)
                way |= {"from_x": row.left_of(item[1]), "from_y": row.cells_y}
            self._chip(d, chip, (x, y, pitch * span - GAP), item, item[4] == now, way)

    def _chip(self, d: Drawing, key: str, place: tuple[float, float, float], item: Sequence[Any], new: bool,
              way: dict[str, Any]) -> None:  # fmt: skip
        x, y, w = place
        text, more = ("", f"{item[5]} lost") if item[2] is None else self._words(item)
        look = {"fill": "paper", "line": "ink" if new else "rule", "ink": "ink"}
        if item[2] is None:
            look = {"fill": "none", "line": "trouble", "ink": "trouble", "dash": "3 3"}
        more = fit(more, w - self._room(text, "") - 6 * bool(text), 12.5)
        d.add(key, "cell", x=x, y=y, w=w, h=CHIP, r=4, text=text or None, more=more or None, **look, **way)


def _height(lines: int) -> int:
    return HEAD + lines * (CHIP + GAP) + 10


def in_slots(items: Sequence[Any], slots: int, of_many: int) -> list[tuple[Any, int, int]]:
    """(item, slot, how many slots) in order; none is broken over two lines. of_many: slots of several records."""
    placed, at = [], 0
    for item in items:
        span = of_many if item[2] is None or item[5] > 1 else 1
        at += slots - at % slots if at % slots + span > slots else 0
        placed.append((item, at, span))
        at += span
    return placed


def last_lines(items: Sequence[Any], slots: int, lines: int, of_many: int) -> list[tuple[Any, int, int]]:
    """The latest of them that so many lines hold."""
    placed = in_slots(items, slots, of_many)
    return placed if not placed or placed[-1][1] < slots * lines else last_lines(items[1:], slots, lines, of_many)

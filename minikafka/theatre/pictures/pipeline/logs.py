"""The records of the pipeline's picture: what the logs hold, and what the program is
told of each that it sent.

Beside the name of each are lamps for what must hold. That each record is there once, and in the
order of sending, is about the logs; that none is lost, and that what the program is
told is true, is about what it sent.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, column, part, row
from minikafka.theatre.drawing import CELL, Box, Drawing, Look, lamp_width, widest
from minikafka.theatre.pictures.pipeline.records import Outcome
from minikafka.theatre.pictures.pipeline.rows import HEAD
from minikafka.theatre.play import Cast, Space
from minikafka.theatre.text import in_words

LEAST = 280  # width of a log
LEAST_PITCH, MOST_PITCH = 36, 54  # from one record to the next
GAP = 5
LARGE_FROM = 38  # width of a record whose letter is large
HIGH, LOW = 34, 25  # height of a record: of one log, and of several
OFFSET = 18  # height of the number under it
MOST_LINES = 2  # of a single log; several have one each
LABEL = 30  # width of a partition's name
BETWEEN = 4  # two lamps
MOST_UNTRUE = 2  # of what the program was told that are always shown
WRONG = {"": "", "again": " · it is there twice", "late": " · overtaken by a later one"}


class Lamp(NamedTuple):
    name: str
    words: str
    is_broken: bool


def lamps_of(space: Space) -> list[Lamp]:
    """What must hold: each record once, in order, none lost."""
    twice, late, lost = (space[name] for name in ("twice", "late", "lost"))
    return [
        Lamp("once", f"{in_words(twice)} twice" if twice else "each once", twice > 0),
        Lamp("order", f"{in_words(late)} overtaken" if late else "in order", late > 0),
        Lamp("lost", f"{in_words(lost)} lost" if lost else "none lost", lost > 0),
    ]


def _of_logs(space: Space) -> list[Lamp]:
    """Once anything is written."""
    has_records = any(log["end"] for log in space["logs"])
    return lamps_of(space)[:2] if has_records else []


def _of_sent(space: Space) -> list[Lamp]:
    """The truth, once anything is told."""
    untrue, lost = space["untrue"], lamps_of(space)[2]
    words = f"{in_words(untrue)} told wrong" if untrue else "told the truth"
    truth = Lamp("truth", words, untrue > 0)
    if space["acknowledged"] or space["failed"]:
        return [truth, lost]
    return [lost] if space["sent"] else []


def _width_of(lamps: Sequence[Lamp]) -> float:
    return sum(lamp_width(lamp.words) + BETWEEN for lamp in lamps)


class Grid(NamedTuple):
    """Records in lines of so many, the last of all in the last line."""

    x: float
    y: float
    pitch: float
    high: float
    across: int
    lines: int

    def first(self, last: int) -> int:
        """The first that has a place."""
        return max(last - self.lines * self.across + 1, 0)

    def box(self, number: int) -> Box:
        """The place of the one with this number from the first one on."""
        line, across = divmod(number, self.across)
        x, y = self.x + across * self.pitch, self.y + line * (self.high + OFFSET)
        return Box(x, y, self.pitch - GAP, self.high)


class Records:
    """Measured over a whole play."""

    def __init__(self, cast: Cast, spaces: Sequence[Space]) -> None:
        self.cast = cast
        self.spaces = spaces
        self.several = len(cast["chosen"]) > 1
        logs = [log for space in spaces for log in space["logs"]]
        self.longest = max((log["end"] for log in logs), default=0)
        sent = [space["sent"] for space in spaces]
        self.most = max([self.longest, *sent]) + 1.1

    def item(self) -> Item:
        """The logs, and under them what the program is told."""
        number, *others = self.cast["chosen"] or [0]
        name = "the log" if others else f"the log of partition {number}"

        def high(width: float) -> float:
            lines = self._grid(Box(0, 0, width, 0)).lines
            rows = len(self.cast["chosen"]) if self.several else lines
            return rows * (self.high + OFFSET) + 6

        return column(
            self._heading("log", name, _of_logs),
            part("logs", self._draw_logs, high=high, least=LEAST, grow=1),
            self._heading("told", "the program is told", _of_sent),
            part("told", self._draw_told, high=self.high + 4),
        )

    def _heading(
        self, key: str, name: str, lamps: Callable[[Space], Sequence[Lamp]]
    ) -> Item:
        """A name and its lamps, below it where they have no room beside it."""

        def draw_name(d: Drawing, places: Places, scene: Scene) -> None:
            x, y, *_ = places[f"name {key}"]
            d.text(f"caption/{key}/name", x, y + 14, name, bold=True)

        def draw_lamps(d: Drawing, places: Places, scene: Scene) -> None:
            x, y, *_ = places[f"lamps {key}"]
            for each, words, is_broken in lamps(scene["space"]):
                x += d.lamp(f"lamp/{each}", x, y, words, is_broken) + BETWEEN

        wide = max(map(_width_of, map(lamps, self.spaces)), default=0)
        called = widest(name, bold=True) + 8
        return row(
            part(f"name {key}", draw_name, high=HEAD, least=called, grow=1),
            part(f"lamps {key}", draw_lamps, high=HEAD, least=wide),
            line_gap=0,
        )

    @property
    def high(self) -> int:
        return LOW if self.several else HIGH

    def _grid(self, place: Box, row: int = 0, most_lines: int = MOST_LINES) -> Grid:
        """row: the place begins so many logs above."""
        indent = LABEL if self.several else 0
        room = place.w - indent
        pitch = min(max(room / self.most, LEAST_PITCH), MOST_PITCH)
        across = int(room // pitch)
        needed = -(-(self.longest + 1) // across)
        lines = 1 if self.several else min(needed, most_lines)
        y = place.y + row * (self.high + OFFSET)
        return Grid(place.x + indent, y, pitch, self.high, across, lines)

    def _draw_logs(self, d: Drawing, places: Places, scene: Scene) -> None:
        place = places["logs"]
        space = scene["space"]
        for number, log in enumerate(space["logs"]):
            grid = self._grid(place, number)
            self._log(d, log, grid, places["wire"].right)
            if self.several:
                key, words = f"log/{log['partition']}/name", f"P{log['partition']}"
                d.text(key, place.x, grid.y + 18, words, mono=True, bold=True)

    def _log(self, d: Drawing, log: Mapping[str, Any], grid: Grid, door: float) -> None:
        key, end = f"log/{log['partition']}", log["end"]
        first = grid.first(end)
        for offset, number, letter, value, state in log["records"]:
            if offset < first:
                continue
            what = "somebody else wrote it" if number is None else f"value {value}"
            look: Look = {
                "line": "trouble" if state else "rule",
                "width": 2 if state else None,
                "tip": f"offset {offset} · {what}{WRONG[state]}",
                "from_x": door,
                "from_y": grid.y,
            }
            box = grid.box(offset - first)
            look |= {"below": str(offset), **_letter(letter, box)}
            d.cell(f"{key}/{offset}", *box, **look)
        d.slot(f"{key}/next", *grid.box(end - first), end)

    def _draw_told(self, d: Drawing, places: Places, scene: Scene) -> None:
        """In the order of sending."""
        grid = self._grid(places["told"], most_lines=1)
        told = [Outcome(*each) for each in scene["space"]["told"]]
        for number, outcome in enumerate(_that_have_room(told, grid.across)):
            self._outcome(d, grid.box(number), outcome, places["flight"])

    def _outcome(self, d: Drawing, box: Box, outcome: Outcome, flight: Box) -> None:
        """A dashed place if it was told nothing yet."""
        look = _letter(outcome.letter, box)
        if not outcome.word:
            look |= {"fill": "none", "ink": "quiet", "dash": "2 3"}
            d.cell(f"future/{outcome.number}", *box, **look)
            return
        is_done = outcome.word == "done"
        look |= {
            "more": "✓" if is_done else "✗",
            "fill": "good" if is_done else "wash",
            "line": "trouble" if outcome.untrue else "rule",
            "ink": "ink" if is_done else "trouble",
            "width": 2 if outcome.untrue else None,
            "tip": f"the program is told: {outcome.word}",
            "from_x": flight.x,
            "from_y": flight.y,
        }
        d.cell(f"told/{outcome.number}", *box, **look)


def _letter(letter: str | None, box: Box) -> Look:
    """Large, where it has room."""
    words = str(letter or "–")
    is_large = len(words) < 3 and box.w >= LARGE_FROM and box.h >= HIGH
    return {"text": words, "size": CELL + 4 if is_large else CELL}


def _that_have_room(told: Sequence[Outcome], most: int) -> list[Outcome]:
    """The latest that are untrue, wherever they are, and the latest of the others."""
    untrue = [each for each in told if each.untrue][-MOST_UNTRUE:]
    others = [each for each in told if each not in untrue]
    return sorted([*untrue, *others[len(untrue) - most :]])

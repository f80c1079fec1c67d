"""Many runs of one story, each a small picture: one setting or action varies from row
to row, another from column to column. A fault shows as a row, a column or a step of
stairs.

A run's records are squares in its tile, with their fates; if its length matters there
is a bar, on one scale for all tiles. course/experiments/sweeps.py emits one event per
run. Rows of one name are a band, and when all its runs are shown, their sum is beside
them. Options: title; across: what the columns are; foot: what the colours say;
in_short: what the whole table says, for the last step.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from minikafka.theatre.drawing import (
    WIDE,
    Box,
    Drawing,
    Look,
    fitting,
    has_room,
    widest,
)
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.runs.story import Run, RunsStory
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import counted, dotted

# heights: of the columns' names, of a tile, of its records; between two tiles
HEAD, TILE, RECORD, GAP = 44, 36, 22, 6
# heights: between two bands; of a band's own line, where there is no room beside it
BETWEEN, BAND = 6, 24
SUMS = 84  # width of the sums beside the bands
PAD = 7  # within a tile
WIDEST = 92  # of a record
MOST_OF_NAMES = 0.3  # of the page's width
BAR = 12  # height
BARS = 0.45  # of a tile's width, where there are any


class Paint(NamedTuple):
    """The colours of a record."""

    fill: str
    line: str
    ink: str = "ink"
    dash: str | None = None


PAINTS = {
    "there": Paint("good", "rule"),
    "twice": Paint("paper", "trouble", "trouble"),
    "late": Paint("said", "saidline"),
    "lost": Paint("paper", "trouble", "trouble", "3 3"),
    "aborted": Paint("paper", "trouble", "trouble"),
    "open": Paint("paper", "quiet", "ink", "4 3"),
}
CROSSED = ("lost", "aborted")


class Band(NamedTuple):
    """Rows of the same name. first, last: their numbers."""

    name: str
    first: int
    last: int


class RunsPlay(Play):
    """A table of small pictures."""

    story = RunsStory
    legend = "Each small picture is a run of its own."

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.bands: list[Band] = []
        self.band_of: list[int] = []
        for row, (name, _) in enumerate(self.cast["rows"]):
            if self.bands and self.bands[-1].name == name:
                self.bands[-1] = self.bands[-1]._replace(last=row)
            else:
                self.bands.append(Band(name, first=row, last=row))
            self.band_of.append(len(self.bands) - 1)
        self.rule = self.cast["foot"]

    def scenario(self, scene: Scene) -> str:
        return dotted(counted(self.cast["of"], "run"), self.summary(scene["space"]))

    def summary(self, space: Space) -> str:
        runs = [Run(*told) for told in space["runs"]]
        wrong = sum(bool(run.wrong) for run in runs)
        return f"{wrong} of {len(runs)} runs went wrong"

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d = drawing
        left = self._left(d)
        runs = [Run(*told) for told in scenes[-1]["space"]["runs"]]
        self._heads(d, left)
        for number, band in enumerate(self.bands):
            self._band(d, number, band, left)
            self._sum(d, number, band, runs)
        for row in range(len(self.cast["rows"])):
            for column in range(len(self.cast["columns"])):
                box = self._tile(d, left, row, column)
                look: Look = {"r": 8, "dash": "3 3"}
                d.rect(f"place/{row}/{column}", *box, "none", "rule", **look)
        for run in runs:
            box = self._tile(d, left, run.row, run.column)
            self._run(d, run, box)

    def _left(self, d: Drawing) -> float:
        """Where the tiles begin: behind the rows' names."""
        names = [0.0]
        for bold, plain in self.cast["rows"]:
            if plain:
                names.append(widest(plain, 12) + 12)
            if not _is_narrow(d):
                names.append(widest(bold, 13, bold=True) + 12)
        return min(max(names), d.width * MOST_OF_NAMES)

    def _tile(self, d: Drawing, left: float, row: int, column: int) -> Box:
        """The place of a run: rows below each other, columns side by side. It is there
        before the run is.
        """
        right = d.width
        above = BETWEEN * self.band_of[row]
        if _is_narrow(d):
            above = BAND * (self.band_of[row] + 1)
        else:
            right -= SUMS
        pitch = (right - left) / len(self.cast["columns"])
        x = left + column * pitch
        y = HEAD + above + row * (TILE + GAP)
        return Box(x=x, y=y, w=pitch - GAP, h=TILE)

    def _heads(self, d: Drawing, left: float) -> None:
        """Above each column its name, and above all what they are."""
        across = self.cast["across"]
        # it may begin left of its column, so that it can be read to its end
        x = max(0, min(left, d.width - widest(across, 12.5)))
        d.note("across", x, 13, across, room=d.width - x)
        for column, name in enumerate(self.cast["columns"]):
            box = self._tile(d, left, 0, column)
            look: Look = {"bold": True, "room": box.w}
            d.text(f"column/{column}", box.x, 34, name, **look)

    def _band(self, d: Drawing, number: int, band: Band, left: float) -> None:
        """The name of its rows, and what else is said of each."""
        is_narrow = _is_narrow(d)
        top = self._tile(d, left, band.first, 0).y
        room = left - 8
        base = top + 23
        if is_narrow:
            room = d.width - SUMS
            base = top - 7
        elif self.cast["rows"][band.first][1]:
            base = top + 16
        look: Look = {"room": room}
        d.text(f"band/{number}", 0, base, band.name, bold=True, **look)
        for row in range(band.first, band.last + 1):
            _, plain = self.cast["rows"][row]
            if not plain:
                continue
            y = self._tile(d, left, row, 0).y + 23
            if row == band.first and not is_narrow:
                y += 8
            look = {"size": 12, "room": left - 8}
            d.note(f"row/{row}/what", 0, y, plain, **look)

    def _sum(self, d: Drawing, number: int, band: Band, runs: Sequence[Run]) -> None:
        """How many of a band's runs went wrong, when the last of them has ended."""
        own = [run for run in runs if band.first <= run.row <= band.last]
        of = (band.last - band.first + 1) * len(self.cast["columns"])
        if len(own) < of:
            return
        wrong = sum(bool(run.wrong) for run in own)
        ink = "trouble" if wrong else "ink"
        words = f"{wrong} of {of}"
        kinds = {run.wrong for run in own if run.wrong}
        kind = fitting(sorted(kinds), SUMS - GAP, 12) if len(kinds) == 1 else ""
        what = kind or "wrong"
        look: Look = {"bold": True, "anchor": "end", "of": own[-1].number}
        top = self._tile(d, 0, band.first, 0).y
        if _is_narrow(d):
            d.text(
                f"sum/{number}",
                x=d.width - GAP,
                y=top - 7,
                text=f"{words} {what}",
                fill=ink,
                **look,
            )
            return
        middle = (top + self._tile(d, 0, band.last, 0).bottom) / 2
        d.text(
            f"sum/{number}",
            x=d.width,
            y=middle + 2,
            text=words,
            fill=ink,
            size=18,
            **look,
        )
        d.note(
            f"sum/{number}/what",
            x=d.width,
            y=middle + 17,
            text=what,
            anchor="end",
            size=12,
        )

    def _run(self, d: Drawing, run: Run, box: Box) -> None:
        """A run that has ended: how long something lasted, where that matters, and its
        records.
        """
        key = f"run/{run.row}/{run.column}"
        look: Look = {"r": 8, "of": run.number}
        line = "rule"
        if run.wrong:
            line = "trouble"
            look["width"] = 2
        d.rect(key, *box, "wash", line, **look)
        part = d.part(key, box.x, box.y)
        room = box.w - 2 * PAD
        x = float(PAD)
        if self.cast["whole_ms"]:
            of_bars = room * BARS
            self._bars(part, run, of_bars - PAD)
            x += of_bars
            room -= of_bars
        pitch = min(room / self.cast["most"], WIDEST)
        shorten = self._shortened(pitch - 5)
        for number, (text, became) in enumerate(run.records):
            place = Box(x=x, y=PAD, w=pitch - 3, h=RECORD)
            tip = f"{text}: {became}"
            _record(part, str(number), place, shorten(text), became, tip)
            x += pitch

    def _shortened(self, room: float) -> Callable[[str], str]:
        """How records are named, all of them alike: as long as all have room."""
        for shorten in (_whole, _word, _letter):
            words = [shorten(text) for text in self.cast["texts"]]
            longest = max(words, key=len, default="")
            if has_room(longest, room, 12, mono=True, bold=True):
                return shorten
        # squares without words are still squares
        return _none

    def _bars(self, part: Drawing, run: Run, room: float) -> None:
        """How long it lasted, on the scale of all, and in words behind it."""
        behind = max(widest(words, 12, bold=True) for words in self.cast["lengths"])
        scale = (room - behind - 5) / self.cast["whole_ms"]
        y = (TILE - BAR) / 2
        for number, (begin_ms, end_ms, words) in enumerate(run.bars):
            key = f"bar/{number}"
            x = PAD + begin_ms * scale
            wide = max((end_ms - begin_ms) * scale, 2)
            look: Look = {"r": 2, "tip": words}
            part.rect(key, x, y, wide, BAR, "hatch", "quiet", **look)
            part.text(
                f"{key}/words",
                x=x + wide + 5,
                y=y + 11,
                text=words,
                size=12,
                bold=True,
            )


def _is_narrow(d: Drawing) -> bool:
    """Whether a band has a line of its own, above its tiles."""
    return d.width < WIDE


def _record(
    part: Drawing, key: str, box: Box, word: str, became: str, tip: str
) -> None:
    """Draw a square with the record's fate."""
    paint = PAINTS[became]
    part.rect(key, *box, paint.fill, paint.line, r=4, dash=paint.dash, tip=tip)
    look: Look = {"size": 12, "mono": True, "bold": True, "anchor": "middle"}
    x = box.x + box.w / 2
    if word:
        part.text(f"{key}/text", x, box.y + 15, word, paint.ink, **look)
    if became in CROSSED:
        begin = (box.x + 2, box.bottom - 2)
        end = (box.right - 2, box.y + 2)
        part.line(f"{key}/cross", *begin, *end, "trouble", width=1.5)


def _whole(text: str) -> str:
    return text


def _word(text: str) -> str:
    word, *_ = text.split(" ")
    return word


def _letter(text: str) -> str:
    return text[:1]


def _none(text: str) -> str:
    return ""

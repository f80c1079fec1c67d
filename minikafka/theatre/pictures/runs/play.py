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
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, Stage, part, space, words
from minikafka.theatre.drawing import Box, Drawing, Look, has_room, widest
from minikafka.theatre.pictures.runs.story import Run, RunsStory
from minikafka.theatre.pictures.tiles import Band, draw_place, draw_run, table, tile
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import counted, dotted

TILE, RECORD, LINE = 36, 22, 20  # heights: of a tile, its records, words
PAD = 7  # within a tile, and behind a sum
LEAST, WIDEST = 18, 92  # width of a record, where heads are beside the tiles
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


class RunsPlay(Play):
    """A table of small pictures."""

    story = RunsStory
    legend = "Each small picture is a run of its own."

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.rule = self.cast["foot"]
        rows = groupby(enumerate(self.cast["rows"]), key=lambda each: each[1][0])
        runs = _runs(scenes[-1]["space"]) if scenes else []
        bands = [self._heads()]
        for number, (name, group) in enumerate(rows):
            own = [row for row, _ in group]
            bands.append(self._band(number, name, own, runs))
        columns = self.cast["columns"]
        wide = 2 * PAD + LEAST * self.cast["most"]
        if self.cast["whole_ms"]:
            wide /= 1 - BARS
        names = [widest(name, bold=True) + 2 * PAD for name in columns]
        least = max([wide, *names]) * len(columns)
        self.boxes = Stage(table(bands, least=least))

    def scenario(self, scene: Scene) -> str:
        return dotted(counted(self.cast["of"], "run"), self.summary(scene["space"]))

    def summary(self, space: Space) -> str:
        runs = [Run(*told) for told in space["runs"]]
        wrong = sum(bool(run.wrong) for run in runs)
        return f"{wrong} of {len(runs)} runs went wrong"

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        self.boxes.draw(drawing, scenes[-1])

    def _heads(self) -> Band:
        """Above each column its name, and above all what they are."""
        across = words("across", self.cast["across"], fill="quiet", size=12.5)
        names = []
        for number, name in enumerate(self.cast["columns"]):
            item = words(f"column/{number}", name, bold=True)
            names.append(replace(item, least=0, wanted=0, grow=1))
        return Band(space(), (), [[across], [*self._named("", "heads"), *names]])

    def _band(
        self, number: int, name: str, rows: Sequence[int], runs: Sequence[Run]
    ) -> Band:
        """Rows of one name, with their tiles."""
        tiles = []
        for row in rows:
            _, plain = self.cast["rows"][row]
            columns = range(len(self.cast["columns"]))
            named = self._named(plain, f"row/{row}/what")
            tiles.append([*named, *(self._tile(row, column) for column in columns)])
        head = words(f"band/{number}", name, high=LINE, bold=True)
        return Band(head, [self._sum(number, rows, runs)], tiles)

    def _named(self, plain: str, key: str) -> list[Item]:
        """What is said of one row, if anything is said of rows."""
        names = [plain for _, plain in self.cast["rows"]]
        wide = max((widest(name, 12) for name in names), default=0)
        look: Look = {"fill": "quiet", "size": 12}
        return (
            [replace(words(key, plain, **look), least=wide, wanted=wide)]
            if wide
            else []
        )

    def _sum(self, number: int, rows: Sequence[int], runs: Sequence[Run]) -> Item:
        """How many of a band's runs went wrong, when the last of them has ended. runs:
        all that are told in the end.
        """
        own = [run for run in runs if run.row in rows]
        wrong = [run.wrong for run in own if run.wrong]
        kind = wrong[0] if len(set(wrong)) == 1 and len(wrong[0]) <= 12 else "wrong"
        said = f"{len(wrong)} of {len(own)} {kind}"
        key = f"sum/{number}"

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            if own and own[-1].number <= scene["number"]:
                look: Look = {"size": 14, "bold": True, "of": own[-1].number}
                x, y, *_ = places[key]
                d.text(key, x, y + 15, said, "trouble" if wrong else "ink", **look)

        return part(key, draw, high=LINE, least=widest(said, 14, bold=True) + PAD)

    def _tile(self, row: int, column: int) -> Item:
        """The place of a run, and the run when it has ended."""
        key = f"{row}/{column}"

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            place = places[key]
            draw_place(d, f"place/{key}", place)
            for run in _runs(scene["space"]):
                if (run.row, run.column) == (row, column):
                    self._run(d, run, f"run/{key}", place)

        return tile(key, draw, TILE)

    def _run(self, d: Drawing, run: Run, key: str, box: Box) -> None:
        """How long something lasted, where that matters, and the records."""
        draw_run(d, key, box, bool(run.wrong), run.number)
        drawn = d.part(key, box.x, box.y)
        room = box.w - 2 * PAD
        x = float(PAD)
        if self.cast["whole_ms"]:
            of_bars = room * BARS
            self._bars(drawn, run, of_bars - PAD)
            x += of_bars
            room -= of_bars
        pitch = min(room / self.cast["most"], WIDEST)
        shorten = self._shortened(pitch - 5)
        for number, (text, became) in enumerate(run.records):
            place = Box(x, PAD, pitch - 3, RECORD)
            tip = f"{text}: {became}"
            _record(drawn, str(number), place, shorten(text), became, tip)
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
        lengths = [widest(words, 12, bold=True) for words in self.cast["lengths"]]
        behind = max(lengths, default=0)
        scale = (room - behind - 5) / self.cast["whole_ms"]
        y = (TILE - BAR) / 2
        for number, (begin_ms, end_ms, said) in enumerate(run.bars):
            key = f"bar/{number}"
            x = PAD + begin_ms * scale
            wide = max((end_ms - begin_ms) * scale, 2)
            look: Look = {"r": 2, "tip": said}
            part.rect(key, x, y, wide, BAR, "hatch", "quiet", **look)
            part.text(
                f"{key}/words",
                x=x + wide + 5,
                y=y + 11,
                text=said,
                size=12,
                bold=True,
            )


def _runs(space: Space) -> list[Run]:
    return [Run(*told) for told in space["runs"]]


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

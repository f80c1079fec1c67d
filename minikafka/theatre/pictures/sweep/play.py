"""A sweep: the same program in many runs, each killed at another call; one small
picture a run, all on one page.

Side by side are the calls of one round, below each other the rounds: a fault at one
call shows as a column. When all runs are shown, there are sums where the eye goes: for
calls below their names, for sinks at the right of their rows.
course/experiments/lesson_04_runs.py emits one event per run; lesson_19_sweep.py has a
sink in each row.
"""

from collections.abc import Sequence
from dataclasses import replace

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, Stage, column, part, words
from minikafka.theatre.drawing import Box, Drawing, Look, fitting, widest
from minikafka.theatre.pictures.sweep.story import SweepStory, wrong_in
from minikafka.theatre.pictures.tiles import Band, draw_place, draw_run, table, tile
from minikafka.theatre.play import Detail, Play, Space
from minikafka.theatre.text import counted, dotted

TILE, LINE = 50, 20  # heights of a run, and of a line of words
LEAST = 108  # width of a tile, where names are beside it


class SweepPlay(Play):
    """A small table of results for each run."""

    story = SweepStory
    legend = (
        "Each small picture is a run of its own: what is in the table at the end, and"
        " where it was killed. ✓: once. –: missing."
    )

    def scenario(self, scene: Scene) -> str:
        return dotted(counted(self.cast["of"], "run"), self.summary(scene["space"]))

    def summary(self, space: Space) -> str:
        wrong = [run for run in space["runs"] if wrong_in(run["written"])]
        return f"{len(wrong)} of {len(space['runs'])} runs went wrong"

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        """A band for each round or each sink. Sums are where a fault shows: below the
        calls, or beside the sinks.
        """
        count = max(len(self.cast["calls"]), 1)
        wrong = []
        if scenes:
            runs = scenes[-1]["space"]["runs"]
            wrong = [bool(wrong_in(run["written"])) for run in runs]
        sinks = self.cast.get("rows")
        heads: list[Item] = []
        for number, call in enumerate(self.cast["calls"]):
            head = [words(f"call/{number}", call, bold=True)]
            if not sinks:
                head.append(self._sum(number, wrong[number::count]))
            heads.append(replace(column(*head), least=0, wanted=0, grow=1))
        what = words("call", "killed" if sinks else "calling", fill="quiet")
        bands = [Band(what, (), [heads])]
        for number in range(-(-self.cast["of"] // count)):
            first = number * count
            name = sinks[number] if sinks else f"at order {number}"
            sums = [self._sum(number, wrong[first : first + count])] if sinks else []
            tiles = [self._tile(each) for each in range(first, first + count)]
            said = words(f"round/{number}", name, high=LINE, bold=bool(sinks))
            bands.append(Band(said, sums, [tiles]))
        names = [widest(call, bold=True) + 8 for call in self.cast["calls"]]
        self.boxes = Stage(table(bands, least=max([LEAST, *names]) * count))

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        self.boxes.draw(drawing, scenes[-1])

    def _sum(self, number: int, wrong: Sequence[bool]) -> Item:
        """How many runs of a call or a sink went wrong, when all have ended."""
        key = f"sum/{number}"
        said = f"{sum(wrong)} of {len(wrong)}"

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            if len(scene["space"]["runs"]) == self.cast["of"]:
                look: Look = {"size": 15, "bold": True, "of": self.cast["of"]}
                x, y, *_ = places[key]
                d.text(key, x, y + 15, said, "trouble" if any(wrong) else "ink", **look)

        return part(key, draw, high=LINE, least=widest(said, 15, bold=True) + 6)

    def _tile(self, number: int) -> Item:
        """The place of a run, and the run when it has ended."""
        key = f"place/{number}"

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            if number < self.cast["of"]:
                draw_place(d, key, places[key])
            for run in scene["space"]["runs"][number : number + 1]:
                things = self.cast.get("things", "order")
                _run(d, run, number + 1, places[key], things)

        return tile(key, draw, TILE)


def _run(d: Drawing, run: Detail, number: int, box: Box, things: str) -> None:
    """number: of the event that told it."""
    key = f"run/{run['run']}"
    wrong = dict(wrong_in(run["written"]))
    draw_run(d, key, box, bool(wrong), number)
    drawn = d.part(key, box.x, box.y)
    name = f"{'call' if things == 'order' else 'run'} {run['run']}"
    drawn.note("call", 8, 15, name, size=12)
    pitch = (box.w - 12) / len(run["written"])
    for order, times in enumerate(run["written"]):
        place = Box(x=6 + order * pitch, y=22, w=pitch - 3, h=22)
        fill, edge, ink = "good", "none", "ink"
        if order in wrong:
            fill, edge, ink = "paper", "trouble", "trouble"
        tip = f"{things} {order}: {times:g} times in the table"
        sign = _sign(times, place.w)
        drawn.boxed(f"{order}", *place, sign, fill, ink, line=edge, r=5, tip=tip)


def _sign(times: float, room: float) -> str:
    """How often something is there."""
    if times == 1:
        return "✓"
    if not times:
        return "–"
    return fitting([f"{times:g}×"], room, 12, bold=True) or f"{times:g}"

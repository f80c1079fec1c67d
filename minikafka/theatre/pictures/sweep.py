"""A sweep: the same program in many runs, each killed at another call; one small
picture a run, all on one page.

Side by side are the calls of one round, below each other the rounds: what goes wrong at
one call goes wrong in a column. It is told by course/experiments/lesson_04_runs.py, one
event a run.
"""

from collections.abc import Sequence
from typing import Any

from minikafka.theatre.drawing import Box, Drawing, Look
from minikafka.theatre.lanes import Scene
from minikafka.theatre.play import Detail, Play, Space, Story, Told
from minikafka.theatre.text import counted, dotted
from minikafka.trace import Event

# heights of the columns' names and of a run; between two; for the rows' names
HEAD, TILE, GAP, MARGIN = 26, 50, 8, 84


class SweepStory(Story):
    """The story of many runs, a scene each."""

    name, title = "sweep", "One program, killed at each of its calls"
    shows = ("calls", "of")

    def __init__(self, trace: Sequence[Event], **options: Any) -> None:
        super().__init__(trace, **options)
        ended = [event for event in trace if event.kind == "RunEnded"]
        self.calls = list(dict.fromkeys(event.detail["call"] for event in ended))
        self.runs: list[Detail] = []
        self.of = len(ended)

    def space(self) -> Space:
        return {"runs": list(self.runs)}

    def _see_RunEnded(self, event: Event, d: Detail) -> Told:
        self.runs.append({"run": d["run"], "written": d["written"]})
        wrong = {number: _trouble(times) for number, times in _wrong(d["written"])}
        sentences = [f"order {number} {words}" for number, words in wrong.items()]
        found = " and ".join(sentences) or "each order is there once"
        first = self.once(next(iter(wrong.values()))) if wrong else None
        return Told(
            f"Killed on entering call {d['run']}, {d['call']}, and started again:"
            f" {found}.",
            chapter=first,
            trouble=bool(wrong),
            light=[f"run/{d['run']}"] if first else (),
        )


class SweepPlay(Play):
    """A small table of results for each run."""

    story = SweepStory
    foot = (
        "Each small picture is a run of its own: its orders in the table at the end,"
        " and where it was killed."
    )

    def scenario(self, scene: Scene) -> str:
        return dotted(counted(self.cast["of"], "run"), self.summary(scene["space"]))

    def summary(self, space: Space) -> str:
        wrong = [run for run in space["runs"] if _wrong(run["written"])]
        return f"{len(wrong)} of {len(space['runs'])} runs went wrong"

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d = drawing
        calls = self.cast["calls"]
        d.note("call", 0, 14, "on entering")

        for column, call in enumerate(calls):
            x = self._tile(d, column).x
            d.text(f"call/{column}", x + 8, 14, call, bold=True)
        for number in range(self.cast["of"]):
            row, column = divmod(number, len(calls))
            box = self._tile(d, number)
            if not column:
                y = box.y + TILE / 2 + 5
                d.note(f"round/{row}", 0, y, f"at order {row}")
            d.rect(f"place/{number}", *box, "none", "rule", r=8, dash="3 3")
        for number, run in enumerate(scenes[-1]["space"]["runs"]):
            _run(d, run, number + 1, self._tile(d, number))

    def _tile(self, d: Drawing, number: int) -> Box:
        """The place of a run: calls side by side, rounds below each other."""
        calls = len(self.cast["calls"])
        pitch = (d.width - MARGIN) / calls
        row, column = divmod(number, calls)
        x = MARGIN + column * pitch
        y = HEAD + row * (TILE + GAP)
        return Box(x, y, pitch - GAP, TILE)


def _run(d: Drawing, run: Detail, number: int, box: Box) -> None:
    """number: of the event that told it."""
    key = f"run/{run['run']}"
    wrong = dict(_wrong(run["written"]))
    line, width = ("trouble", 2) if wrong else ("rule", None)
    d.rect(key, *box, "wash", line, r=8, width=width, of=number)
    tile = d.part(key, box.x, box.y)
    tile.note("call", 8, 15, f"call {run['run']}", size=12)
    pitch = (box.w - 12) / len(run["written"])

    for order, times in enumerate(run["written"]):
        fill, edge, ink = "good", "none", "ink"
        if order in wrong:
            fill, edge, ink = "paper", "trouble", "trouble"
        place = Box(6 + order * pitch, 22, pitch - 3, 22)
        tip = f"order {order}: {times} times in the table"
        look: Look = {"line": edge, "r": 5, "tip": tip}
        tile.boxed(f"{order}", *place, _times(times), fill, ink, **look)


def _times(times: int) -> str:
    """As a sign."""
    if times == 1:
        return "✓"
    return f"{times}×" if times else "–"


def _trouble(times: int) -> str:
    """What is wrong with an order that is there so many times."""
    return "is there twice" if times else "is missing"


def _wrong(written: Sequence[int]) -> list[tuple[int, int]]:
    """The orders that are not there once, and how often they are."""
    return [(order, times) for order, times in enumerate(written) if times != 1]

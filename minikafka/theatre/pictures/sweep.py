"""A sweep: the same program in many runs, each killed at another call; one small
picture a run, all on one page.

Side by side are the calls of one round, below each other the rounds: what goes wrong at
one call goes wrong in a column. It is told by course/experiments/lesson_04_runs.py, one
event a run; lesson_19_sweep.py has a sink in each row.
"""

from collections.abc import Sequence
from typing import Any

from minikafka.theatre.drawing import Box, Drawing, Look
from minikafka.theatre.lanes import Scene
from minikafka.theatre.play import Cast, Detail, Play, Space, Story, Told
from minikafka.theatre.text import capital, counted, dotted
from minikafka.trace import Event

# heights of the columns' names and of a run; between two; for the rows' names
HEAD, TILE, GAP, MARGIN = 26, 50, 8, 84


class SweepStory(Story):
    """The story of many runs, a scene each."""

    name, title = "sweep", "One program, killed at each of its calls"
    shows = ("calls", "of")

    def __init__(
        self, trace: Sequence[Event], *, things: str = "order", **options: Any
    ) -> None:
        """things: what each small picture counts."""
        super().__init__(trace, **options)
        self.things = things
        ended = [event for event in trace if event.kind == "RunEnded"]
        self.calls = list(dict.fromkeys(event.detail["call"] for event in ended))
        # what differs from row to row, where it is no order
        named = [event.detail.get("row", "") for event in ended]
        self.rows = list(dict.fromkeys(filter(None, named)))
        if self.rows:
            self.title = f"One program, {len(self.rows)} sinks, killed at each moment"
        self.runs: list[Detail] = []
        self.of = len(ended)

    def cast(self) -> Cast:
        told = super().cast()
        if self.rows:
            told["rows"] = self.rows
            told["things"] = self.things
        return told

    def clock(self, ms: Sequence[int]) -> list[str]:
        """When a run was killed; of runs with different sinks only which it is."""
        if not self.rows:
            return super().clock(ms)
        return [f"run {number}" for number in range(1, len(ms) + 1)]

    def space(self) -> Space:
        return {"runs": list(self.runs)}

    def _see_RunEnded(self, event: Event, d: Detail) -> Told:
        self.runs.append({"run": d["run"], "written": d["written"]})
        troubles = []
        sentences = []
        for number, times in _wrong(d["written"]):
            words = _trouble(times)
            troubles.append(words)
            sentences.append(f"{self.things} {number} {words}")
        found = " and ".join(sentences) or f"each {self.things} is there once"
        first = self.once(troubles[0]) if troubles else None
        killed = f"Killed on entering call {d['run']}, {d['call']}"
        if self.rows:
            killed = f"{capital(d['row'])}: killed {d['call']}"
        return Told(
            f"{killed}, and started again: {found}.",
            chapter=first,
            trouble=bool(troubles),
            light=[f"run/{d['run']}"] if first else (),
        )


class SweepPlay(Play):
    """A small table of results for each run."""

    story = SweepStory
    foot = (
        "Each small picture is a run of its own: what is in the table at the end, and"
        " where it was killed."
    )

    def scenario(self, scene: Scene) -> str:
        return dotted(counted(self.cast["of"], "run"), self.summary(scene["space"]))

    def summary(self, space: Space) -> str:
        wrong = [run for run in space["runs"] if _wrong(run["written"])]
        return f"{len(wrong)} of {len(space['runs'])} runs went wrong"

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d = drawing
        self._heads(d)
        for number in range(self.cast["of"]):
            self._place(d, number)
        runs = scenes[-1]["space"]["runs"]
        for number, run in enumerate(runs):
            box = self._tile(d, number)
            _run(d, run, number + 1, box, self.cast.get("things", "order"))

    def _heads(self, d: Drawing) -> None:
        """Above each column the call that the program is killed at."""
        d.note("call", 0, 14, "killed" if self.cast.get("rows") else "on entering")
        for column, call in enumerate(self.cast["calls"]):
            x = self._tile(d, column).x
            d.text(f"call/{column}", x + 8, 14, call, bold=True)

    def _place(self, d: Drawing, number: int) -> None:
        """Of a run, before it has ended; a row begins with its name."""
        row, column = divmod(number, len(self.cast["calls"]))
        box = self._tile(d, number)
        if column == 0:
            y = box.y + TILE / 2 + 5
            rows = self.cast.get("rows")
            words = rows[row] if rows else f"at order {row}"
            d.note(f"round/{row}", 0, y, words, room=MARGIN - 6)
        look: Look = {"r": 8, "dash": "3 3"}
        d.rect(f"place/{number}", *box, fill="none", line="rule", **look)

    def _tile(self, d: Drawing, number: int) -> Box:
        """The place of a run: calls side by side, rounds below each other."""
        calls = len(self.cast["calls"])
        pitch = (d.width - MARGIN) / calls
        row, column = divmod(number, calls)
        x = MARGIN + column * pitch
        y = HEAD + row * (TILE + GAP)
        return Box(x=x, y=y, w=pitch - GAP, h=TILE)


def _run(d: Drawing, run: Detail, number: int, box: Box, things: str) -> None:
    """number: of the event that told it."""
    key = f"run/{run['run']}"
    wrong = dict(_wrong(run["written"]))
    line, width = ("trouble", 2) if wrong else ("rule", None)
    d.rect(key, *box, "wash", line, r=8, width=width, of=number)
    tile = d.part(key, box.x, box.y)
    is_call = things == "order"
    name = f"call {run['run']}" if is_call else f"run {run['run']}"
    tile.note("call", 8, 15, name, size=12)
    pitch = (box.w - 12) / len(run["written"])

    for order, times in enumerate(run["written"]):
        fill = "good"
        edge = "none"
        ink = "ink"
        if order in wrong:
            fill = "paper"
            edge = ink = "trouble"
        place = Box(
            x=6 + order * pitch,
            y=22,
            w=pitch - 3,
            h=22,
        )
        tip = f"{things} {order}: {times:g} times in the table"
        look: Look = {
            "line": edge,
            "r": 5,
            "tip": tip,
        }
        tile.boxed(
            f"{order}",
            *place,
            _times(times),
            fill,
            ink,
            **look,
        )


def _times(times: float) -> str:
    """As a sign."""
    if times == 1:
        return "✓"
    return f"{times:g}×" if times else "–"


def _trouble(times: float) -> str:
    """What is wrong with something that is there so many times."""
    if not times:
        return "is missing"
    return "is there twice" if times == 2 else f"is there {times:g} times"


def _wrong(written: Sequence[float]) -> list[tuple[int, float]]:
    """Those that are not there once, and how often they are."""
    wrong = []
    for order, times in enumerate(written):
        if times != 1:
            wrong.append((order, times))
    return wrong

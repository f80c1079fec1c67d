"""A sweep: the same program in many runs, each killed at another call; one small
picture a run, all on one page.

Side by side are the calls of one round, below each other the rounds: a fault at one
call shows as a column. When all runs are shown, there are sums where the eye goes: for
calls below their names, for sinks at the right of their rows.
course/experiments/lesson_04_runs.py emits one event per run; lesson_19_sweep.py has a
sink in each row.
"""

from collections.abc import Sequence

from minikafka.theatre.drawing import Box, Drawing, Look, fitting
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.sweep.story import SweepStory, trouble, wrong_in
from minikafka.theatre.play import Detail, Play, Space
from minikafka.theatre.text import counted, dotted

# heights of the columns' names and of a run; between two; for the rows' names
HEAD, TILE, GAP, MARGIN = 26, 50, 8, 84
UNDER = 18  # height of the sums below the columns' names
SUMS = 64  # width of the sums at the right


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

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d = drawing
        self._heads(d)
        for number in range(self.cast["of"]):
            self._place(d, number)
        runs = scenes[-1]["space"]["runs"]
        for number, run in enumerate(runs):
            box = self._tile(d, number)
            _run(d, run, number + 1, box, self.cast.get("things", "order"))
        if len(runs) == self.cast["of"]:
            self._sums(d, [bool(wrong_in(run["written"])) for run in runs])

    def _heads(self, d: Drawing) -> None:
        """Above each column the call that the program is killed at."""
        d.note("call", 0, 14, "killed" if self.cast.get("rows") else "calling")
        for column, call in enumerate(self.cast["calls"]):
            x = self._tile(d, column).x
            d.text(f"call/{column}", x + 8, 14, call, bold=True)

    def _place(self, d: Drawing, number: int) -> None:
        """Draw the place of a run before it has ended; a row begins with its name."""
        row, column = divmod(number, len(self.cast["calls"]))
        box = self._tile(d, number)
        if column == 0:
            y = box.y + TILE / 2 + 5
            rows = self.cast.get("rows")
            words = rows[row] if rows else f"at order {row}"
            d.note(
                f"round/{row}",
                x=0,
                y=y,
                text=words,
                room=MARGIN - 6,
            )
        look: Look = {"r": 8, "dash": "3 3"}
        d.rect(f"place/{number}", *box, fill="none", line="rule", **look)

    def _sums(self, d: Drawing, wrong: Sequence[bool]) -> None:
        """How many went wrong of each call, or of each sink."""
        calls = len(self.cast["calls"])
        rows = self.cast.get("rows")
        look: Look = {"bold": True, "of": len(wrong)}
        if rows:
            for row in range(len(rows)):
                words, ink = _sum(wrong[row * calls : (row + 1) * calls])
                y = self._tile(d, row * calls).y + TILE / 2 + 5
                d.text(
                    f"sum/{row}",
                    x=d.width,
                    y=y,
                    text=words,
                    fill=ink,
                    anchor="end",
                    **look,
                )
            return
        d.note("sum", 0, 34, "wrong")
        for column in range(calls):
            words, ink = _sum(wrong[column::calls])
            x = self._tile(d, column).x + 8
            d.text(
                f"sum/{column}",
                x=x,
                y=34,
                text=words,
                fill=ink,
                size=15,
                **look,
            )

    def _tile(self, d: Drawing, number: int) -> Box:
        """The place of a run: calls side by side, rounds below each other."""
        calls = len(self.cast["calls"])
        right = d.width - SUMS if self.cast.get("rows") else d.width
        pitch = (right - MARGIN) / calls
        row, column = divmod(number, calls)
        x = MARGIN + column * pitch
        head = HEAD if self.cast.get("rows") else HEAD + UNDER
        y = head + row * (TILE + GAP)
        return Box(x=x, y=y, w=pitch - GAP, h=TILE)


def _run(d: Drawing, run: Detail, number: int, box: Box, things: str) -> None:
    """number: of the event that told it."""
    key = f"run/{run['run']}"
    wrong = dict(wrong_in(run["written"]))
    line, width = ("trouble", 2) if wrong else ("rule", None)
    d.rect(key, *box, "wash", line, r=8, width=width, of=number)
    tile = d.part(key, box.x, box.y)
    is_call = things == "order"
    name = f"call {run['run']}" if is_call else f"run {run['run']}"
    tile.note("call", 8, 15, name, size=12)
    if len(wrong) == 1:
        [(order, times)] = wrong.items()
        words = trouble(times)
        said = fitting([f"{things} {order} {words}", words], box.w - 80)
        if said:
            tile.text(
                "wrong",
                x=box.w - 8,
                y=15,
                text=said,
                fill="trouble",
                size=12,
                anchor="end",
            )
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
            _sign(times, place.w),
            fill,
            ink,
            **look,
        )


def _sign(times: float, room: float) -> str:
    """How often something is there."""
    if times == 1:
        return "✓"
    if not times:
        return "–"
    return fitting([f"{times:g}×"], room, 12, bold=True) or f"{times:g}"


def _sum(wrong: Sequence[bool]) -> tuple[str, str]:
    """How many of these runs went wrong, and its colour."""
    ink = "trouble" if any(wrong) else "ink"
    return f"{sum(wrong)} of {len(wrong)}", ink

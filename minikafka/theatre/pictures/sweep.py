"""A sweep: the same program in many runs, each killed at another call; one small
picture a run, all on one page.

Side by side are the calls of one round, below each other the rounds: a fault at one
call shows as a column. When all runs are shown, there are sums where the eye goes: for
calls below their names, for sinks at the right of their rows.
course/experiments/lesson_04_runs.py emits one event per run; lesson_19_sweep.py has a
sink in each row.
"""

from collections.abc import Sequence
from typing import Any

from minikafka.theatre.drawing import Box, Drawing, Look, fitting
from minikafka.theatre.lanes import Scene
from minikafka.theatre.play import Cast, Detail, Play, Space, Story, Told
from minikafka.theatre.text import capital, counted, dotted
from minikafka.trace import Event

# heights of the columns' names and of a run; between two; for the rows' names
HEAD, TILE, GAP, MARGIN = 26, 50, 8, 84
UNDER = 18  # height of the sums below the columns' names
SUMS = 64  # width of the sums at the right


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
        """Runs have no common time: they are counted."""
        return [f"run {number}" for number in range(1, len(ms) + 1)]

    def space(self) -> Space:
        return {"runs": list(self.runs)}

    def ends(self, last: Scene) -> None:
        last["sentence"] = self._of_sinks() if self.rows else self._of_calls()

    def _of_calls(self) -> str:
        """At which calls one may not be killed, and how many runs say so."""
        said = []
        harmless = []
        for column, call in enumerate(self.calls):
            own = self.runs[column :: len(self.calls)]
            bad = [_wrong(run["written"]) for run in own]
            troubles = [wrong[0] for wrong in bad if wrong]
            if not troubles:
                harmless.append(call)
                continue
            _, times = troubles[0]
            before = self.calls[column - 1]
            what = f"one {self.things} {_trouble(times)}"
            runs = f"{len(troubles)} of {len(own)} runs"
            said.append(f"if it's killed between {before} and {call}, {what} in {runs}")
        if harmless:
            calls = " or ".join(harmless)
            said.append(f"if it's killed just as it calls {calls}, nothing goes wrong")
        return f"{capital('; '.join(said))}."

    def _of_sinks(self) -> str:
        """Which sinks one may kill whenever one likes."""
        said = []
        for row, name in enumerate(self.rows):
            begin = row * len(self.calls)
            own = self.runs[begin : begin + len(self.calls)]
            wrong = []
            for call, run in zip(self.calls, own, strict=False):
                if _wrong(run["written"]):
                    wrong.append(call)
            when = f": killed {' or '.join(wrong)}" if wrong else ""
            said.append(f"{name} goes wrong in {len(wrong)} of {len(own)} runs{when}")
        return f"{capital('; '.join(said))}."

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
        # at the end one sees all of them
        is_last = len(self.runs) == self.of
        killed = f"Killed just as it makes call {d['run']} ({d['call']})"
        if self.rows:
            killed = f"{capital(d['row'])}: killed {d['call']}"
        return Told(
            f"{killed}, and started again: {found}.",
            chapter=first,
            trouble=bool(troubles),
            light=[f"run/{d['run']}"] if first and not is_last else (),
        )


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
        if len(runs) == self.cast["of"]:
            self._sums(d, [bool(_wrong(run["written"])) for run in runs])

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
    wrong = dict(_wrong(run["written"]))
    line, width = ("trouble", 2) if wrong else ("rule", None)
    d.rect(key, *box, "wash", line, r=8, width=width, of=number)
    tile = d.part(key, box.x, box.y)
    is_call = things == "order"
    name = f"call {run['run']}" if is_call else f"run {run['run']}"
    tile.note("call", 8, 15, name, size=12)
    if len(wrong) == 1:
        [(order, times)] = wrong.items()
        words = _trouble(times)
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


def _trouble(times: float) -> str:
    """The fault of something that is there this many times."""
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

"""A sweep: the same program in many runs, each killed at another call; one small
picture a run, all on one page.

Side by side are the calls of one round, below each other the rounds: what goes wrong at
one call goes wrong in a column. It is told by course/experiments/lesson_04_runs.py, one
event a run.
"""

from collections.abc import Sequence
from typing import Any

from minikafka.theatre.drawing import Drawing
from minikafka.theatre.lanes import Scene
from minikafka.theatre.play import Detail, Play, Space, Story, Told
from minikafka.theatre.text import counted, dotted
from minikafka.trace import Event

# heights of the columns' names and of a run; between two; for the rows' names
HEAD, TILE, GAP, MARGIN = 26, 50, 8, 84


class SweepStory(Story):
    name, title = "sweep", "One program, killed at each of its calls"
    shows = ("calls", "of")

    def __init__(self, trace: Sequence[Event], **options: Any) -> None:
        super().__init__(trace, **options)
        self.calls = list(
            dict.fromkeys(
                event.detail["call"] for event in trace if event.kind == "RunEnded"
            )
        )
        self.runs: list[Detail] = []
        self.of = sum(event.kind == "RunEnded" for event in trace)

    def space(self) -> Space:
        return {"runs": list(self.runs)}

    def _see_RunEnded(self, event: Event, d: Detail) -> Told:
        self.runs.append({"run": d["run"], "written": d["written"]})
        wrong = [
            f"order {n} is {'there twice' if times else 'missing'}"
            for n, times in _wrong(d["written"])
        ]
        found = " and ".join(wrong) or "each order is there once"
        first = self.once(wrong[0].split(" ", 2)[2]) if wrong else None
        return Told(
            f"Killed on entering call {d['run']}, {d['call']}, and started again:"
            f" {found}.",
            first,
            bool(wrong),
            light=[f"run/{d['run']}"] if first else (),
        )


class SweepPlay(Play):
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
        d, calls = drawing, self.cast["calls"]
        w = (d.width - MARGIN) / len(calls)
        d.note("call", 0, 14, "on entering")
        for column, call in enumerate(calls):
            d.text(f"call/{column}", MARGIN + column * w + 8, 14, call, bold=True)
        for number in range(self.cast["of"]):
            row, column = divmod(number, len(calls))
            x, y = MARGIN + column * w, HEAD + row * (TILE + GAP)
            if not column:
                d.note(f"round/{row}", 0, y + TILE / 2 + 5, f"at order {row}")
            d.rect(
                f"place/{number}", x, y, w - GAP, TILE, "none", "rule", r=8, dash="3 3"
            )
        for number, run in enumerate(scenes[-1]["space"]["runs"]):
            row, column = divmod(number, len(calls))
            self._run(
                d,
                run,
                number + 1,
                (MARGIN + column * w, HEAD + row * (TILE + GAP), w - GAP),
            )

    def _run(
        self, d: Drawing, run: Detail, of: int, place: tuple[float, float, float]
    ) -> None:
        (x, y, w), key, wrong = place, f"run/{run['run']}", dict(_wrong(run["written"]))
        d.rect(
            key,
            x,
            y,
            w,
            TILE,
            "wash",
            "trouble" if wrong else "rule",
            r=8,
            width=2 if wrong else None,
            of=of,
        )
        d.note(key + "/call", x + 8, y + 15, f"call {run['run']}", size=12)
        pitch = (w - 12) / len(run["written"])
        for n, times in enumerate(run["written"]):
            mark = "✓" if times == 1 else f"{times}×" if times else "–"
            look = (
                ("paper", "trouble", "trouble")
                if n in wrong
                else ("good", "none", "ink")
            )
            d.boxed(
                f"{key}/{n}",
                x + 6 + n * pitch,
                y + 22,
                pitch - 3,
                22,
                mark,
                *look[::2],
                line=look[1],
                r=5,
                tip=f"order {n}: {times} times in the table",
            )


def _wrong(written: Sequence[int]) -> list[tuple[int, int]]:
    """The orders that are not there once, and how often they are."""
    return [(n, times) for n, times in enumerate(written) if times != 1]

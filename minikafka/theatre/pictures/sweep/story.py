"""The story of one program that is killed in many runs, at another call in each
(play.py draws it). course/experiments/lesson_04_runs.py emits an event per run;
lesson_19_sweep.py has a sink in each row.
"""

from collections.abc import Sequence
from typing import Any

from minikafka.theatre.lanes import Scene
from minikafka.theatre.play import Cast, Detail, Space, Story, Told
from minikafka.theatre.text import capital
from minikafka.trace import Event


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
        wrong = [run["run"] for run in self.runs if wrong_in(run["written"])]
        if wrong and not self.rows:
            columns = sorted({(run - 1) % len(self.calls) for run in wrong})
            last["light"] = [f"sum/{column}" for column in columns]
            last["light"] += [f"run/{run}" for run in wrong]

    def _of_calls(self) -> str:
        """At which calls one may not be killed, and how many runs say so."""
        said = []
        harmless = []
        for column, call in enumerate(self.calls):
            own = self.runs[column :: len(self.calls)]
            bad = [wrong_in(run["written"]) for run in own]
            troubles = [wrong[0] for wrong in bad if wrong]
            if not troubles:
                harmless.append(call)
                continue
            _, times = troubles[0]
            before = self.calls[column - 1]
            what = f"one {self.things} {trouble(times)}"
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
                if wrong_in(run["written"]):
                    wrong.append(call)
            when = f": killed {' or '.join(wrong)}" if wrong else ""
            said.append(f"{name} goes wrong in {len(wrong)} of {len(own)} runs{when}")
        return f"{capital('; '.join(said))}."

    def _see_RunEnded(self, event: Event, d: Detail) -> Told:
        self.runs.append({"run": d["run"], "written": d["written"]})
        troubles = []
        sentences = []
        for number, times in wrong_in(d["written"]):
            words = trouble(times)
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


def trouble(times: float) -> str:
    """The fault of something that is there this many times."""
    if not times:
        return "is missing"
    return "is there twice" if times == 2 else f"is there {times:g} times"


def wrong_in(written: Sequence[float]) -> list[tuple[int, float]]:
    """Those that are not there once, and how often they are."""
    wrong = []
    for order, times in enumerate(written):
        if times != 1:
            wrong.append((order, times))
    return wrong

"""The story of many runs: each is an event of its own (play.py draws them).
course/experiments/sweeps.py emits them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from minikafka.theatre.lanes import Scene
from minikafka.theatre.play import Detail, Space, Story, Told
from minikafka.trace import Event


class Run(NamedTuple):
    """row, column: their numbers. records: for each its text and its fate. bars: for
    each when it begins and ends, in ms, and words. number: of the event about the run.
    """

    row: int
    column: int
    records: list[list[str]]
    bars: list[list[Any]]
    wrong: str
    number: int


class RunsStory(Story):
    """The story of many runs, a scene each."""

    name = "runs"
    title = "One story, in many runs"
    shows = (
        *("rows", "columns", "across", "foot", "of"),
        *("most", "texts", "whole_ms", "lengths"),
    )

    def __init__(
        self,
        trace: Sequence[Event],
        *,
        title: str = "",
        across: str = "",
        foot: str = "",
        in_short: str = "",
        **options: Any,
    ) -> None:
        super().__init__(trace, **options)
        shown = [event.detail for event in trace if event.kind == "RunCompared"]
        self.title = title or self.title
        self.across = across
        self.foot = foot
        self.in_short = in_short
        self.rows = _in_order(shown, "row")
        self.columns = _in_order(shown, "column")
        self.of = len(shown)
        self.most = 1
        texts: set[str] = set()
        for d in shown:
            self.most = max(self.most, len(d["records"]))
            texts.update(text for text, _ in d["records"])
        self.texts = sorted(texts)
        self.whole_ms = 0
        lengths: set[str] = set()
        for d in shown:
            for _, end_ms, words in d["bars"]:
                self.whole_ms = max(self.whole_ms, end_ms)
                lengths.add(words)
        self.lengths = sorted(lengths)
        self.runs: list[Run] = []

    def clock(self, ms: Sequence[int]) -> list[str]:
        """Runs have no common time: they are counted."""
        return [f"run {number}" for number in range(1, len(ms) + 1)]

    def space(self) -> Space:
        return {"runs": [list(run) for run in self.runs]}

    def _see_RunCompared(self, event: Event, d: Detail) -> Told:
        wrong = d["wrong"]
        row = self.rows.index(d["row"])
        column = self.columns.index(d["column"])
        run = Run(
            row=row,
            column=column,
            records=d["records"],
            bars=d["bars"],
            wrong=wrong,
            number=self.number,
        )
        self.runs.append(run)
        first = self.once(wrong) if wrong else None
        # at the end one sees all of them
        is_last = len(self.runs) == self.of
        light = [f"run/{run.row}/{run.column}"] if first and not is_last else []
        return Told(d["says"], first, trouble=bool(wrong), light=light)

    def ends(self, last: Scene) -> None:
        if self.in_short:
            last["sentence"] = self.in_short


def _in_order(shown: Sequence[Detail], name: str) -> list[Any]:
    """Each value once, in the order in which they come."""
    found: list[Any] = []
    for d in shown:
        if d[name] not in found:
            found.append(d[name])
    return found

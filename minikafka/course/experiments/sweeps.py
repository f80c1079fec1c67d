"""Many runs of one story in one picture, a small one each (pictures/runs.py)."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from minikafka.trace import Event


class Compared(NamedTuple):
    """One run. row: its name, and a second line. records: each as its text, and what
    became of it: there, twice, late, lost, aborted or open. says: what one sees. wrong:
    what went wrong, in a few words. bars: each as when it begins and ends, in ms, and
    words.
    """

    row: tuple[str, str]
    column: str
    records: list[tuple[str, str]]
    says: str
    wrong: str = ""
    bars: list[tuple[int, int, str]] = []


def sweep_of(runs: Iterable[Compared], *, title: str, across: str, foot: str) -> Any:
    """The picture. across: what the columns are. foot: what the colours say."""
    from minikafka.theatre import picture

    events = []
    for number, run in enumerate(runs, 1):
        told = {
            "row": list(run.row),
            "column": run.column,
            "records": [list(each) for each in run.records],
            "says": run.says,
            "wrong": run.wrong,
            "bars": [list(each) for each in run.bars],
        }
        identity, name = ("sweep", number), f"run {number}"
        events.append(Event(identity, number, name, "RunCompared", None, told))
    return picture("runs", events, title=title, across=across, foot=foot)

"""Many runs of one story in one picture, a small one each: runs with the fate of their
records (pictures/runs/), or one program, killed at each of its calls
(pictures/sweep/).
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from minikafka.trace import Event


class Record(NamedTuple):
    """became: there, twice, late, lost, aborted or open."""

    text: str
    became: str


class Bar(NamedTuple):
    """How long something was so, in ms since the bar's beginning of time."""

    begins_ms: int
    ends_ms: int
    words: str


class Compared(NamedTuple):
    """One run. row: its name, and a second line. says: what one sees. wrong: what went
    wrong, in a few words.
    """

    row: tuple[str, str]
    column: str
    records: Sequence[tuple[str, str]]  # as a Record
    says: str
    wrong: str = ""
    bars: Sequence[Bar] = ()


class Killed(NamedTuple):
    """One run of a program that was killed. call: on entering which, by its name.
    written: how often each order is there in the end.
    """

    at_ms: int
    call: str
    written: Sequence[float]


def sweep_of(
    runs: Iterable[Compared], *, title: str, across: str, foot: str, in_short: str
) -> Any:
    """The picture. across: what the columns are. foot: what the colours say. in_short:
    what all of them say together.
    """
    from minikafka.theatre import picture

    events = []
    for number, run in enumerate(runs, 1):
        told = {
            "row": list(run.row),
            "column": run.column,
            "records": [list(record) for record in run.records],
            "says": run.says,
            "wrong": run.wrong,
            "bars": [list(bar) for bar in run.bars],
        }
        events.append(_event(number, at_ms=number, kind="RunCompared", told=told))
    return picture(
        "runs", events, title=title, across=across, foot=foot, in_short=in_short
    )


def went_wrong(runs: Sequence[Compared], name: str) -> str:
    """In how many of the runs in rows of this name: 3 of 6."""
    own = [run for run in runs if run.row[0] == name]
    wrong = sum(bool(run.wrong) for run in own)
    return f"{wrong} of {len(own)}"


def sweep_of_calls(runs: Iterable[Killed], **options: Any) -> Any:
    """The picture: the first was killed at call 1, the second at call 2. options: of
    the picture.
    """
    from minikafka.theatre import picture

    events = []
    for number, run in enumerate(runs, 1):
        told = {
            "run": number,
            "call": run.call,
            "written": list(run.written),
        }
        events.append(_event(number, at_ms=run.at_ms, kind="RunEnded", told=told))
    return picture("sweep", events, **options)


def _event(number: int, *, at_ms: int, kind: str, told: dict[str, Any]) -> Event:
    """The event by which a picture is told about a run."""
    return Event(
        id=("sweep", number),
        at=at_ms,
        node=f"run {number}",
        kind=kind,
        cause=None,
        detail=told,
    )

"""Figure 7: an open transaction is a gate across the partition, and the reader in front
of it waits, or doesn't heed it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.course.publishing.essay_figures.frame import (
    LOST,
    ON,
    WAITS,
    Axis,
    Figure,
    Sheet,
    Stretch,
    of_kind,
    seconds,
)
from minikafka.theatre.drawing import Drawing
from minikafka.trace import Event

READER = "auditor"


class Read(NamedTuple):
    value: str
    at_ms: int


class Facts(NamedTuple):
    """opened: the value that is written in the transaction; behind: the one behind it,
    written at behind_ms. read: by the auditor.
    """

    opened: str
    opened_ms: int
    behind: str
    behind_ms: int
    aborted_ms: int
    read: tuple[Read, ...]

    @property
    def is_heeded(self) -> bool:
        """Whether the auditor stops at the gate."""
        return all(each.value != self.opened for each in self.read)


def read(trace: Sequence[Event]) -> Facts:
    first, second = of_kind(trace, "RecordsAppended")[:2]
    values = [
        Read(value, event.at)
        for event in of_kind(trace, "RecordsPolled")
        if event.node == READER
        for _, _, value in event.detail["records"]
    ]
    return Facts(
        opened=first.detail["records"][0][2],
        opened_ms=first.at,
        behind=second.detail["records"][0][2],
        behind_ms=second.at,
        aborted_ms=of_kind(trace, "MarkerWritten")[0].at,
        read=tuple(values),
    )


def draw(run: Facts, runs: Sequence[Facts], width: int) -> Drawing:
    phone = width < 900
    high, pitch = (28, 56) if phone else (32, 46)
    left = 0 if phone else 128
    top = 212 if phone else 118
    d = Sheet(width, top + 2 * pitch + (12 if phone else 24))
    last_ms = max(each.aborted_ms for each in runs)
    axis = Axis(Stretch(0, last_ms, left, width - 124))
    _log(d, run, left, 22, False)
    _log(d, run, *((0, 128) if phone else (width - 350, 22)), True)
    rows = [top, top + pitch]
    for name, y in zip(("transaction", READER), rows, strict=True):
        d.lane(name, name, axis, y, high)
    x, end = axis.x(run.opened_ms), axis.x(run.aborted_ms)
    texts = f"open for {run.aborted_ms / 1000:.0f} s", "open"
    d.bar("open", x, end, rows[0], high, "hatch", *texts, line=LOST)
    d.say("aborted", end + 8, rows[0] + high / 2, "aborted", LOST, bold=True)
    _auditor(d, run, axis, rows[1], high)
    d.times(
        axis, rows[1] + high + 6, seconds(0, last_ms // 1000, 10 if not phone else 20)
    )
    return d


def _log(d: Sheet, run: Facts, x: float, y: float, is_ended: bool) -> None:
    """The partition, while the gate is closed and when the transaction has ended."""
    wide, high, gate = 100, 40, 10
    text = "when it has ended" if is_ended else "the log while the transaction is open"
    d.say(f"log/{is_ended}", x, y - 12, text, "quiet")
    y += 6
    first, second = x + 26, x + 26 + wide + 8
    if is_ended:
        d.cut("log/after/opened", first, y, wide, high, run.opened)
        third = second + wide + 8
        d.record("log/marker", third, y, wide, high, "abort", "chip", "rule", "quiet")
    else:
        d.record(
            "log/opened", first, y, wide, high, run.opened, "paper", LOST, LOST, width=2
        )
        fill, text = LOST, f"the {READER} gets no further"
        if not run.is_heeded:
            fill, text = "none", f"the {READER} doesn't heed the gate"
        dash = None if run.is_heeded else "3 3"
        d.rect("gate", x + 4, y - 6, gate, high + 12, fill, LOST, r=3, dash=dash)
        d.say(
            "gate/words",
            x + 26,
            y + high + 16,
            text,
            LOST if run.is_heeded else "quiet",
        )
    d.record(f"log/{is_ended}/behind", second, y, wide, high, run.behind)


def _auditor(d: Sheet, run: Facts, axis: Axis, y: float, high: float) -> None:
    """What it reads and when; what it waits for, or believes in vain."""
    end = axis.x(run.aborted_ms)
    middle = y + high / 2
    if run.is_heeded:
        begin = axis.x(run.behind_ms)
        d.bar(
            "waits",
            begin,
            end,
            y,
            high,
            WAITS,
            f"{run.behind} wait",
            "wait",
            ink=ON[WAITS],
        )
        [got] = run.read
        d.say(
            "reads",
            axis.x(got.at_ms) + 8,
            middle,
            f"reads {_short(got.value)}",
            "actor3",
            bold=True,
        )
        return
    begin = axis.x(run.read[0].at_ms)
    texts = f"has read {run.opened}", f"has {_short(run.opened)}"
    d.bar("believes", begin, end, y, high, "paper", *texts, line=LOST)
    d.say("back", end + 8, middle, f"{_short(run.opened)} taken back", LOST, bold=True)


def _short(value: str) -> str:
    """5 for "5 euros"."""
    return value.split(" ")[0]


def words(run: Facts) -> str:
    reads = " and ".join(
        f"{each.value} at {each.at_ms / 1000:.0f} s" for each in run.read
    )
    return (
        f"The transaction is open from 0 s to {run.aborted_ms / 1000:.0f} s, then it is"
        f" aborted. The {READER} reads {reads}"
    )


FIGURE = Figure(read, draw, words)

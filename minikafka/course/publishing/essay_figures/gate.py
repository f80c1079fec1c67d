"""Figure 7: an open transaction is a gate across the partition, and the reader in front
of it waits, or doesn't heed it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.course.publishing.essay_figures.frame import (
    GONE,
    LOST,
    STOPPED,
    WAITING,
    Axis,
    Figure,
    Paint,
    Sheet,
    Stretch,
    of_kind,
    seconds,
)
from minikafka.theatre.drawing import Box, Drawing, Point
from minikafka.trace import Event

READER = "auditor"
RECORD = (100, 40)  # its size


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
    d = Sheet(width)
    high, pitch = (28, 56) if d.phone else (32, 46)
    left, top = (0, 214) if d.phone else (128, 118)
    last_ms = max(each.aborted_ms for each in runs)
    axis = Axis(Stretch(0, last_ms, left, width - 124))
    _open_log(d, run, Point(left, 28))
    _ended_log(d, run, Point(0, 134) if d.phone else Point(width - 350, 28))
    rows = [top, top + pitch]
    for name, y in zip(("transaction", READER), rows, strict=True):
        d.lane(name, name, axis, y, high)
    box = axis.box(run.opened_ms, run.aborted_ms, rows[0], high)
    d.bar("open", box, STOPPED, f"open for {run.aborted_ms / 1000:.0f} s", "open")
    d.say("aborted", box.right + 8, rows[0] + high / 2, "aborted", LOST, bold=True)
    _auditor(d, run, axis, rows[1], high)
    foot = rows[1] + high + 6
    d.times(axis, foot, seconds(0, last_ms // 1000, 20 if d.phone else 10))
    d.high = foot + 26
    return d


def _open_log(d: Sheet, run: Facts, place: Point) -> None:
    """The partition with its gate, which a reader heeds or not."""
    x, y = place
    d.say("log", x, y - 18, "the log while the transaction is open", "quiet")
    box = Box(x + 26, y, *RECORD)
    d.record("log/opened", box, run.opened, GONE, width=2)
    d.record("log/behind", box._replace(x=box.right + 8), run.behind)
    gate = Box(x + 4, y - 6, 10, box.h + 12)
    fill, dash, text, ink = LOST, None, "gets no further", LOST
    if not run.is_heeded:
        fill, dash, text, ink = "none", "3 3", "reads past the gate", "quiet"
    d.rect("gate", *gate, fill, LOST, r=3, dash=dash)
    d.say("gate/words", box.x, box.bottom + 16, f"the {READER} {text}", ink)


def _ended_log(d: Sheet, run: Facts, place: Point) -> None:
    """The partition when the transaction has ended."""
    x, y = place
    d.say("ended", x + 26, y - 18, "when it has ended", "quiet")
    box = Box(x + 26, y, *RECORD)
    d.cut("ended/opened", box, run.opened)
    box = box._replace(x=box.right + 8)
    d.record("ended/behind", box, run.behind)
    box = box._replace(x=box.right + 8)
    d.record("ended/marker", box, "abort", Paint("chip", "rule", "quiet"))


def _auditor(d: Sheet, run: Facts, axis: Axis, y: float, high: float) -> None:
    """What it waits for, or what it has read in vain, until the transaction ends."""
    first = run.read[0]
    begin_ms = run.behind_ms if run.is_heeded else first.at_ms
    box = axis.box(begin_ms, run.aborted_ms, y, high)
    if run.is_heeded:
        d.bar("waits", box, WAITING, f"{run.behind} wait", f"{_short(run.behind)} wait")
        text, ink = f"reads {_short(first.value)}", "actor3"
    else:
        has = " and ".join(each.value for each in run.read)
        shorter = f"has read {run.opened}", f"has {_short(run.opened)}"
        d.bar("believes", box, Paint("paper", LOST), f"has read {has}", *shorter)
        text, ink = f"{_short(run.opened)} taken back", LOST
    d.say("ends", box.right + 8, y + high / 2, text, ink, bold=True)


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

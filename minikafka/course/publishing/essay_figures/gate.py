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
HIGH = 40  # a record
END_MS = 100_000  # of the axis: the longest run, and room for what it ends with


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
    high, pitch = (28, 76) if d.phone else (32, 60)
    left, top = (0, 258) if d.phone else (128, 152)
    axis = Axis(Stretch(0, END_MS, left, width - 2))
    x, wide = (92, (width - 118) / 2) if d.phone else (left, 112)
    _open_log(d, run, x, wide)
    _ended_log(d, run, Point(0, 162) if d.phone else Point(width - 352, 28))
    rows = [top, top + pitch]
    for name, y in zip(("transaction", READER), rows, strict=True):
        d.lane(name, name, axis, y, high)
    box = axis.box(run.opened_ms, run.aborted_ms, rows[0], high)
    lasted = f"{run.aborted_ms / 1000:.0f} s"
    is_told = d.long(f"open for {lasted}") + 12 <= box.w
    d.bar("open", box, STOPPED, f"open for {lasted}" if is_told else "open")
    ends = "aborted" if is_told else f"aborted after {lasted}"
    d.say("aborted", box.right + 8, rows[0] + high / 2, ends, LOST, bold=True)
    _auditor(d, run, axis, rows[1], high)
    foot = rows[1] + high + 8
    d.times(axis, foot, seconds(0, END_MS // 1000, 20 if d.phone else 10))
    d.high = foot + 26
    return d


def _open_log(d: Sheet, run: Facts, x: float, wide: float) -> None:
    """The partition with its gate, and the reader on its way through the log: the gate
    stops it, or stands open for it.
    """
    d.say("log", x, 10, "the log while the transaction is open", "quiet")
    box = Box(x + 16, 28, wide, HIGH)
    behind = box._replace(x=box.right + 8)
    d.record("log/opened", box, run.opened, GONE, width=2)
    d.record("log/behind", behind, run.behind)
    way = box.bottom + 18
    # open, it leaves the way free
    low = way + 10 if run.is_heeded else way - 10
    d.rect("gate", x, box.y, 8, low - box.y, LOST)
    name = d.long(READER, bold=True) + 6
    d.say("reader", x - 24 - name, way, READER, bold=True)
    if run.is_heeded:
        d.say("gate/words", x + 16, way, "gets no further", LOST)
    end = x - 2 if run.is_heeded else behind.right
    d.tip("reader/way", x - 24, way, end, way, "ink")


def _ended_log(d: Sheet, run: Facts, place: Point) -> None:
    """The partition when the transaction has ended."""
    x, y = place
    d.say("ended", x, y - 18, "when it has ended", "quiet")
    wide = (d.width - 2 - x + 8) / 3
    box = Box(x, y, wide - 8, HIGH)
    d.cut("ended/opened", box, run.opened)
    d.record("ended/behind", box._replace(x=x + wide), run.behind)
    marker = box._replace(x=x + 2 * wide)
    d.record("ended/marker", marker, "abort", Paint("chip", "rule", "quiet"))
    if run.is_heeded:
        d.tip("ended/way", x, box.bottom + 18, x + 2 * wide - 8, box.bottom + 18, "ink")


def _auditor(d: Sheet, run: Facts, axis: Axis, y: float, high: float) -> None:
    """What it waits for until the transaction ends, or what it has read in vain."""
    first = run.read[0]
    if not run.is_heeded:
        box = axis.box(first.at_ms, END_MS, y, high)
        has = " and ".join(each.value for each in run.read)
        longer = f"has read {has}, and hears of no abort"
        d.bar("reader/has", box, Paint("paper", LOST), longer, f"has read {has}")
        return
    box = axis.box(run.behind_ms, run.aborted_ms, y, high)
    d.bar("reader/has", box, WAITING, f"{run.behind} wait", "wait")
    ends = f"reads {first.value}"
    d.say("ends", box.right + 8, y + high / 2, ends, "actor3", bold=True)


def words(run: Facts) -> str:
    reads = " and ".join(
        f"{each.value} at {each.at_ms / 1000:.0f} s" for each in run.read
    )
    return (
        f"The transaction is open from 0 s to {run.aborted_ms / 1000:.0f} s, then it is"
        f" aborted. The {READER} reads {reads}"
    )


FIGURE = Figure(read, draw, words)

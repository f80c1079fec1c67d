"""Figure 7: an open transaction is a gate across the partition, and the reader in front
of it waits, or doesn't heed it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.broker.config_table import BROKER_CONFIGS
from minikafka.course.publishing.essay_figures.frame import (
    GONE,
    LOST,
    STOPPED,
    WAITING,
    WAITS,
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

WRITER, READER = "shop", "auditor"
LOOKS_EVERY = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
HIGH = 40  # a record
GATE = Box(0, 0, 8, 78)  # shut
LOOK = 3.5  # the coordinator's
END_MS = 100_000  # of the axis: the longest run, and room for what it ends with


class Read(NamedTuple):
    value: str
    at_ms: int


class Facts(NamedTuple):
    """opened: the value that is written in the transaction; behind: the one behind it,
    written at behind_ms. late_ms: when the transaction has timed out. read: by the
    auditor.
    """

    opened: str
    opened_ms: int
    late_ms: int
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
    [started] = [e for e in of_kind(trace, "ClientStarted") if e.node == WRITER]
    [ongoing] = [
        event
        for event in of_kind(trace, "TransactionStateChanged")
        if event.detail["state"] == "Ongoing"
    ]
    values = [
        Read(value, event.at)
        for event in of_kind(trace, "RecordsPolled")
        if event.node == READER
        for _, _, value in event.detail["records"]
    ]
    return Facts(
        opened=first.detail["records"][0][2],
        opened_ms=first.at,
        late_ms=ongoing.at + started.detail["config"]["transaction_timeout_ms"],
        behind=second.detail["records"][0][2],
        behind_ms=second.at,
        aborted_ms=of_kind(trace, "MarkerWritten")[0].at,
        read=tuple(values),
    )


def draw(run: Facts, runs: Sequence[Facts], width: int) -> Drawing:
    """Above what happens when, and below it the log before and after."""
    d = Sheet(width)
    high = 28
    left, top = (0, 22) if d.phone else (132, 0)
    axis = Axis(Stretch(0, END_MS, left, width - 2))
    low = _transaction(d, run, axis, top, high)
    row = low + (50 if d.phone else 28)
    d.lane(READER, READER, axis, row, high)
    _auditor(d, run, axis, row, high)
    foot = row + high + 8
    d.times(axis, foot, seconds(0, END_MS // 1000, 20 if d.phone else 10))
    logs = foot + (54 if d.phone else 66)
    x = 98 if d.phone else left
    wide = (width - x - 10) / 3 - 8 if d.phone else 112
    _open_log(d, run, Point(x, logs), wide)
    ended = Point(x + 16, logs + 116) if d.phone else Point(x + 326, logs)
    d.high = _ended_log(d, run, ended, wide)
    return d


def _transaction(d: Sheet, run: Facts, axis: Axis, y: float, high: float) -> float:
    """How long it is open, when it has timed out, and below it when the coordinator
    looks, which aborts it then. Returns where that ends.
    """
    looks, low = y + high + 11, y + high + 22
    d.ground("transaction", axis, y, low - y)
    d.name("transaction", "open transaction", y, high)
    text = "coordinator looks"
    if d.phone:
        d.say("looks/name", d.width - 14, y - 11, text, "quiet", anchor="end")
        d.circle("looks/key", d.width - 6, y - 10, LOOK, "quiet")
    else:
        d.say("looks/name", 0, looks, text, "quiet")
    box = axis.box(run.opened_ms, run.aborted_ms, y, high)
    d.bar("open", box, STOPPED)
    late = axis.x(run.late_ms)
    colour = "ink" if run.is_heeded else LOST
    d.say("aborted", box.right + 8, y + high / 2, "aborted", colour, bold=True)
    d.upright("late", late, y, low + 14, "ink", width=1.5)
    d.say("late/words", late + 6, low + 10, "timed out", bold=True)
    for at_ms in range(every := BROKER_CONFIGS[LOOKS_EVERY].default, END_MS, every):
        is_abort = at_ms == run.aborted_ms
        fill, r = (colour, LOOK + 2) if is_abort else ("quiet", LOOK)
        d.circle(f"look/{at_ms}", axis.x(at_ms), looks, r, fill, "wash")
    return low


def _open_log(d: Sheet, run: Facts, place: Point, wide: float) -> None:
    """The partition with its gate, and the reader on its way through the log: the gate
    stops it, or stands open for it.
    """
    x, top = place
    box = Box(x + 16, top + 32, wide, HIGH)
    behind = box._replace(x=box.right + 8)
    d.say("log", 0, top, f"before the abort, until {_abort(run)}", "quiet")
    d.say("log/name", 0, box.y + HIGH / 2, "the log", bold=True)
    if run.is_heeded:
        d.record("log/opened", box, run.opened)
    else:
        d.record("log/opened", box, run.opened, GONE, width=2)
    d.record("log/behind", behind, run.behind)
    way = box.bottom + 18
    middle, hinge, state = x + 4, box.y - 8, "shut"
    if run.is_heeded:
        d.rect("gate", *GATE._replace(x=x, y=hinge), WAITS, r=2)
    else:  # it's up, and leaves the way free
        state = "open"
        rises = 8 if d.phone else 18  # below the words above it
        d.line("gate/up", middle, hinge, middle + 70, hinge - rises, "quiet", width=8)
    d.circle("gate/hinge", middle, hinge, 6, "ink", "paper", width=1.5)
    d.say("gate/name", 0, hinge, f"gate {state}", bold=True)
    reads = "it reads" if d.phone else f"{READER} reads"
    name = d.long(reads, bold=True) + 8
    d.say("reader", 0, way, reads, bold=True)
    if run.is_heeded:
        d.say("gate/words", x + 16, way, "gets no further")
    end = x - 2 if run.is_heeded else behind.right
    d.tip("reader/way", name, way, end, way, "ink")


def _ended_log(d: Sheet, run: Facts, place: Point, wide: float) -> float:
    """The partition when the transaction has ended, and what the auditor counts. Returns
    where that ends.
    """
    box = Box(place.x, place.y + 32, wide, HIGH)
    behind = box._replace(x=box.right + 8)
    way = box.bottom + 18
    if d.phone:
        d.say("ended/name", 0, box.y + HIGH / 2, "the log", bold=True)
        d.say("ended/reader", 0, way, "it counts", bold=True)
    x, y = (0, box.y - 18) if d.phone else (box.x, place.y)
    d.say("ended", x, y, f"after the abort, from {_abort(run)}", "quiet")
    d.cut("ended/opened", box, run.opened, is_lost=not run.is_heeded)
    d.record("ended/behind", behind, run.behind)
    marker = box._replace(x=behind.right + 8)
    d.record("ended/marker", marker, "abort", Paint("chip", "rule", "quiet"))
    counted, kept = sum(_euros(each.value) for each in run.read), _euros(run.behind)
    wrong = f", should be {kept}" if counted != kept else ""
    ink = LOST if wrong else "actor3"
    text = (
        f"{counted} euros{wrong}"
        if d.phone
        else f"{READER} counts {counted} euros{wrong}"
    )
    d.say("ended/counts", box.x, way, text, ink, bold=True)
    return way + 14


def _abort(run: Facts) -> str:
    """When it was."""
    return f"{run.aborted_ms / 1000:.0f} s"


def _euros(value: str) -> int:
    """20 for "20 euros"."""
    return int(value.split()[0])


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
        f"The transaction is open from 0 s on, times out at {run.late_ms / 1000:.0f} s,"
        f" and is aborted at {run.aborted_ms / 1000:.0f} s. The {READER} reads {reads}"
    )


FIGURE = Figure(read, draw, words)

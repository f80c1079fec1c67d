"""Figure 8: two sinks add up the same orders. One of them has a moment between its two
steps; the other one has a single step.
"""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.course.publishing.essay_figures.frame import (
    LOST,
    MARK,
    SECOND,
    STOPPED,
    TWICE,
    Axis,
    Figure,
    Sheet,
    Stretch,
    of_kind,
    seconds,
)
from minikafka.theatre.drawing import Drawing, Look
from minikafka.trace import Event

SINCE_MS = 500
RADIUS = 10  # of a mark
HOW = ("adds and notes", "in one step")  # on a phone in one line
AGAIN = SECOND._replace(line="paper")


class Added(NamedTuple):
    """An order, and when it was committed, if it was."""

    order: int
    at_ms: int
    committed_ms: int | None


class Killed(NamedTuple):
    at_ms: int
    again_ms: int


class Sink(NamedTuple):
    """is_one_step: whether its database keeps the offset, too."""

    name: str
    is_one_step: bool
    added: tuple[Added, ...]
    cents: int
    killed: Killed | None


class Facts(NamedTuple):
    sinks: tuple[Sink, ...]
    end_ms: int


def read(trace: Sequence[Event]) -> Facts:
    names = sorted({e.detail["reader"] for e in of_kind(trace, "EffectWritten")})
    sinks = tuple(_sink(trace, name) for name in reversed(names))
    return Facts(sinks, trace[-1].at)


def _sink(trace: Sequence[Event], name: str) -> Sink:
    added: list[Added] = []
    cents, order, notes = 0, 0, False
    killed = again = None
    for event in trace:
        d = event.detail
        if event.kind == "RecordsPolled" and event.node == name:
            order = d["records"][-1][0]
        elif event.kind == "EffectWritten" and d["reader"] == name:
            cents += int(d["value"].split()[0])
            notes = bool(d["noted"])
            added.append(Added(order, event.at, None))
        elif event.kind == "OffsetCommitted" and d["group"] == name and added:
            added[-1] = added[-1]._replace(committed_ms=event.at)
        elif event.kind == "NodeCrashed" and event.node == name:
            killed = event.at
        elif event.kind == "NodeRestarted" and event.node == name:
            again = event.at
    gone = Killed(killed, again) if killed and again else None
    return Sink(name, notes, tuple(added), cents, gone)


def draw(run: Facts, runs: Sequence[Facts], width: int) -> Drawing:
    d = Sheet(width)
    high, pitch, top = (46, 126, 68) if d.phone else (54, 98, 34)
    left, right = (0, width - 2) if d.phone else (150, width - 110)
    last_ms = max(each.at_ms for r in runs for sink in r.sinks for each in sink.added)
    axis = Axis(Stretch(SINCE_MS, last_ms + 600, left, right))
    if not d.phone:
        d.say("database", width - 2, 14, "in the database", "quiet", anchor="end")
    for number, sink in enumerate(run.sinks):
        _sink_lane(d, sink, axis, top + number * pitch, high)
    foot = top + pitch + high + 6
    d.times(axis, foot, seconds(1, last_ms // 1000, 1))
    d.high = foot + 26
    return d


def _sink_lane(d: Sheet, sink: Sink, axis: Axis, y: float, high: float) -> None:
    """What it does, and the sum in its database."""
    key, middle = sink.name, y + high / 2
    d.rect(f"{key}/ground", axis.left, y, axis.right - axis.left, high, "wash", r=4)
    name: Look = {"bold": True, "large": True}
    row = y - 47 if d.phone else y + 10
    d.say(f"{key}/name", 0, row, key, **name)
    if d.phone:
        _how(d, sink, d.long(key, **name) + 20, row, " ".join(HOW))
    else:
        _how(d, sink, 6, row + 20, *HOW)
    if sink.killed:
        dead = axis.box(*sink.killed, y + 9, high - 18)
        again = [each.at_ms for each in sink.added if each.at_ms > sink.killed.at_ms]
        free = axis.x(min(again)) - RADIUS - 4 - dead.x
        dead = dead._replace(w=min(dead.w, free))  # not under the first mark
        d.bar(f"{key}/dead", dead, STOPPED, "dead")
        d.killed(f"{key}/kill", axis.x(sink.killed.at_ms), y - 13, y + high)
    before: set[int] = set()
    for number, each in enumerate(sink.added):
        paint = MARK
        if each.order in before:
            paint, below = AGAIN, middle + RADIUS + d.small * 0.7
            look: Look = {"anchor": "middle", "bold": True}
            d.say(f"{key}/again", axis.x(each.at_ms), below, "again", TWICE, **look)
        before.add(each.order)
        if not sink.is_one_step:
            _second_step(d, f"{key}/step/{number}", sink, each, axis, middle)
            if each.committed_ms is None:
                usual_ms = sink.added[0].committed_ms or each.at_ms
                x = axis.x(each.at_ms + usual_ms - sink.added[0].at_ms)
                due = f"{key}/step/{number}/due"
                d.upright(due, x, y + 2, y + high - 2, LOST, width=2.5, dash="4 3")
                beside = max(x, axis.x(sink.killed.at_ms) + 10) if sink.killed else x
                d.say(f"{due}/words", beside + 6, y - 11, "no commit", LOST, bold=True)
        x = axis.x(each.at_ms)
        d.mark(
            f"{key}/{number}",
            x,
            middle,
            str(each.order),
            paint,
            r=RADIUS,
        )
    right: Look = {"anchor": "end"}
    ink = TWICE if len(sink.added) > len(before) else "ink"
    x, cents = d.width - 2, "cents"
    # beside the lane, or above it
    low = y - 39 if d.phone else middle + 2
    d.say(f"{key}/cents", x, y - 45 if d.phone else low + 15, cents, "quiet", **right)
    x -= (d.long(cents) + 6) * d.phone
    if d.phone:
        d.say(f"{key}/where", d.width - 2, y - 23, "in the database", "quiet", **right)
    d.text(f"{key}/sum", x, low, str(sink.cents), ink, size=26, bold=True, **right)


def _how(d: Sheet, sink: Sink, x: float, y: float, *lines: str) -> None:
    """What its marks mean. lines: of the sink that has one step."""
    d.circle(f"{sink.name}/how/adds", x, y, 6, MARK.fill)
    if sink.is_one_step:
        for number, line in enumerate(lines):
            row = y + 17 * number
            d.say(f"{sink.name}/how/{number}", x + 12, row, line, "quiet")
        return
    adds = "adds,"
    d.say(f"{sink.name}/how", x + 12, y, adds, "quiet")
    x += 22 + d.long(adds)
    _flag(d, f"{sink.name}/how/commits", x + 8, y + 7, 14)
    d.say(f"{sink.name}/how/then", x + 16, y, "commits", "quiet")


def _second_step(
    d: Sheet, key: str, sink: Sink, added: Added, axis: Axis, y: float
) -> None:
    """The time between its two steps, up to the commit, or until it is killed: above the
    marks, as the next order is often added immediately. On a phone the commit alone.
    """
    end_ms = added.committed_ms or (sink.killed.at_ms if sink.killed else added.at_ms)
    x, end = axis.x(added.at_ms), axis.x(end_ms) - 7
    if not d.phone:
        way = f"M0,0v-5h{max(end - x, 0):g}"
        d.path(key, x, y - RADIUS, way, line=MARK.fill, width=3)
    if added.committed_ms:
        _flag(d, f"{key}/commit", end, y - RADIUS - 3 + 8 * d.phone, 12)


def _flag(d: Sheet, key: str, x: float, y: float, high: float) -> None:
    """A commit: a pole from here upwards."""
    d.rect(key, x - 1.5, y - high, 3, high, MARK.fill)
    d.path(f"{key}/flag", x - 1, y - high, "M0,0l-9,4l9,4z", fill=MARK.fill)


def words(run: Facts) -> str:
    parts = []
    for sink in run.sinks:
        orders = " ".join(str(each.order) for each in sink.added)
        killed = (
            f", is killed at {sink.killed.at_ms / 1000:.2f} s" if sink.killed else ""
        )
        parts.append(f"{sink.name} adds {orders}{killed}: {sink.cents} cents")
    return "; ".join(parts)


FIGURE = Figure(read, draw, words)

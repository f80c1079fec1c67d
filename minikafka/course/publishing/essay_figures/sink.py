"""Figure 8: two sinks add up the same orders. One of them has a moment between its two
steps; the other one has a single step.
"""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.course.publishing.essay_figures.frame import (
    LOST,
    ON,
    TWICE,
    Axis,
    Figure,
    Sheet,
    Stretch,
    of_kind,
    seconds,
)
from minikafka.theatre.drawing import Drawing
from minikafka.trace import Event

SINCE_MS = 500


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
    phone = width < 900
    high, pitch, top = (46, 100, 34) if phone else (50, 110, 36)
    right = width - (66 if phone else 140)
    d = Sheet(width, top + pitch + high + 26)
    last_ms = max(each.at_ms for r in runs for sink in r.sinks for each in sink.added)
    axis = Axis(Stretch(SINCE_MS, last_ms + 600, 0, right))
    for number, sink in enumerate(run.sinks):
        _lane(d, sink, axis, top + number * pitch, high)
    d.times(axis, top + pitch + high + 6, seconds(1, last_ms // 1000, 1))
    return d


def _lane(d: Sheet, sink: Sink, axis: Axis, y: float, high: float) -> None:
    key = sink.name
    d.rect(f"{key}/ground", axis.left, y, axis.right - axis.left, high, "wash", r=4)
    how = "adds and notes in one step" if sink.is_one_step else "adds, then commits"
    d.say(f"{key}/name", 0, y - 14, sink.name, bold=True, large=True)
    d.say(
        f"{key}/how",
        d.long(sink.name, bold=True, large=True) + 14,
        y - 14,
        how,
        "quiet",
    )
    middle = y + high / 2
    if sink.killed:
        x, x2 = axis.x(sink.killed.at_ms), axis.x(sink.killed.again_ms)
        d.bar(f"{key}/dead", x, x2, y + 9, high - 18, "hatch", "dead", line=LOST)
    before: set[int] = set()
    for number, each in enumerate(sink.added):
        x = axis.x(each.at_ms)
        is_twice = each.order in before
        before.add(each.order)
        fill, ink = (TWICE, ON[TWICE]) if is_twice else ("actor3", "on3")
        if not sink.is_one_step:
            end_ms = each.committed_ms
            if end_ms is None and sink.killed:
                end_ms = sink.killed.at_ms
            if end_ms:
                d.rect(
                    f"{key}/step/{number}", x, middle - 4, axis.x(end_ms) - x, 8, fill
                )
            if each.committed_ms:
                d.rect(
                    f"{key}/commit/{number}",
                    axis.x(each.committed_ms) - 1.5,
                    middle - 9,
                    3,
                    18,
                    fill,
                )
        d.disc_of(f"{key}/{number}", x, middle, str(each.order), fill, ink, r=11)
    if sink.killed:
        d.cross(f"{key}/kill", axis.x(sink.killed.at_ms), y + 4, 6)
    is_wrong = len(sink.added) > len(before)
    colour = TWICE if is_wrong else "ink"
    d.text(
        f"{key}/sum",
        d.width - 2,
        middle + 2,
        str(sink.cents),
        colour,
        size=26,
        bold=True,
        anchor="end",
    )
    d.say(f"{key}/cents", d.width - 2, middle + 17, "cents", "quiet", anchor="end")


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

"""Figure 5: the tenth of a second in which a leader dies, who leads next, and what the
three logs hold in the end.
"""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.course.publishing.essay_figures.frame import (
    DONE,
    FIRST,
    GONE,
    LOST,
    MARK,
    STOPPED,
    Axis,
    Figure,
    Paint,
    Sheet,
    Stretch,
    of_kind,
)
from minikafka.course.publishing.essay_figures.logs import (
    CUT_OFF,
    Arrival,
    Copy,
    changes,
    copies,
    number_of,
)
from minikafka.theatre.drawing import Box, Drawing, Look
from minikafka.theatre.text import listed
from minikafka.trace import Event

# what is seen closely, and the moments around the next leader
CLOSE_MS, LATER_MS = (4995, 5110), (15_600, 17_400)
BROKERS = (1, 2, 3)
PREFIX = "order "  # of all values


class Mark(NamedTuple):
    order: str
    at_ms: int
    paint: Paint = MARK


class Facts(NamedTuple):
    """sent, told: by the shop, and to it. arrived: by broker. frozen_ms: broker 2."""

    sent: tuple[Mark, ...]
    told: tuple[Mark, ...]
    arrived: dict[int, tuple[Mark, ...]]
    frozen_ms: tuple[int, int]
    killed_ms: int
    leader: int
    elected_ms: int
    logs: dict[int, Copy]


def read(trace: Sequence[Event]) -> Facts:
    order_of: dict[int, list[str]] = {}
    sent = []
    for event in of_kind(trace, "PartitionChosen"):
        order = _short(event.detail["value"])
        order_of.setdefault(event.detail["batch"], []).append(order)
        sent.append(Mark(order, event.at))
    told = [
        Mark(order, event.at)
        for event in of_kind(trace, "RecordsAcknowledged")
        for order in order_of[event.detail["batch"]]
    ]
    arrived: dict[int, list[Mark]] = {broker: [] for broker in BROKERS}
    for change in changes(trace):
        if isinstance(change, Arrival):
            marks = [Mark(_short(value), change.at_ms) for value in change.values]
            arrived[change.broker] += marks
    elected = of_kind(trace, "LeaderElected")[-1]
    return Facts(
        sent=tuple(sent),
        told=tuple(told),
        arrived={broker: tuple(marks) for broker, marks in arrived.items()},
        frozen_ms=(
            of_kind(trace, "NodeFrozen")[0].at,
            of_kind(trace, "NodeThawed")[0].at,
        ),
        killed_ms=of_kind(trace, "NodeCrashed")[0].at,
        leader=number_of(elected.node),
        elected_ms=elected.at,
        logs=copies(trace),
    )


def _short(value: str) -> str:
    """3 for "order 3"."""
    return value.removeprefix(PREFIX)


def draw(run: Facts, runs: Sequence[Facts], width: int) -> Drawing:
    d = Sheet(width)
    high, pitch = (26, 54) if d.phone else (26, 31)
    left, top = (0.0, 50.0) if d.phone else (128.0, 24.0)
    gap, later = (74, 80) if d.phone else (110, 220)
    middle = width - 2 - later - gap
    axis = Axis(
        Stretch(*CLOSE_MS, left, middle), Stretch(*LATER_MS, middle + gap, width - 2)
    )
    names = ("the shop sends", "it hears “done”", "broker 1", "broker 2", "broker 3")
    rows = [top + number * pitch for number in range(len(names))]
    for name, y in zip(names, rows, strict=True):
        d.ground(name, axis, y, high)
    box = axis.box(CLOSE_MS[0], run.killed_ms, rows[2], high)
    d.bar("led", box, FIRST)
    if not d.phone:
        d.say("led/words", box.x + 10, box.y + high / 2, "leads", FIRST.ink)
    _killed(d, run, axis, rows, high)
    for name, y in zip(names, rows, strict=True):
        d.name(name, name, y, high)
    if d.phone:  # the marks take the bar's room
        x = d.long(names[2], bold=True) + 4
        d.say("led/words", x, rows[2] - 12, "leads", "actor1", bold=True, halo="paper")
    _nobody_leads(d, run, axis, rows[2] + high / 2)
    d.bar("frozen", axis.box(*run.frozen_ms, rows[3], high), STOPPED, "frozen")
    _marks(d, "sent", run.sent, axis, rows[0] + high / 2)
    _told(d, run, axis, rows[1] + high / 2)
    for broker in BROKERS:
        key, y = f"arrived/{broker}", rows[1 + broker] + high / 2
        _marks(d, key, run.arrived[broker], axis, y)
    box = axis.box(run.elected_ms, LATER_MS[1], rows[1 + run.leader], high)
    d.bar("leads", box, FIRST, f"broker {run.leader} leads", "leads")
    ticks = [(ms, f"{ms / 1000:.2f} s") for ms in range(5000, 5101, 50)]
    foot = rows[-1] + high + 6
    d.times(axis, foot, [*ticks, (16_000, "16 s"), (17_000, "17 s")])
    d.high = _logs(d, run, runs, foot + (62 if d.phone else 56))
    return d


def _nobody_leads(d: Sheet, run: Facts, axis: Axis, y: float) -> None:
    """The gap in the axis."""
    close, later = axis.stretches
    lasted = f"{(run.elected_ms - run.killed_ms) / 1000:.1f} s"
    for number, line in enumerate((lasted, "nobody", "leads")):
        look: Look = {"anchor": "middle", "bold": not number, "halo": "paper"}
        x = (close.right + later.left) / 2
        d.say(f"gap/{number}", x, y + 1.25 * d.small * (number - 1), line, **look)


def _killed(
    d: Sheet, run: Facts, axis: Axis, rows: Sequence[float], high: float
) -> None:
    """Broker 1 is dead for the rest of what is seen."""
    x = axis.x(run.killed_ms)
    close, later = axis.stretches
    for key, begin, part in (("dead", x, close), ("dead/later", later.left, later)):
        d.bar(key, Box(begin, rows[2], part.right - begin, high), STOPPED, "dead")
    d.killed("killed", x, 12, rows[2] + high)


def _marks(d: Sheet, key: str, marks: Sequence[Mark], axis: Axis, y: float) -> None:
    """Those of the tenth of a second; a mark never hides the one before."""
    r = 11 if d.phone else 10
    free_from = 0.0
    for each in marks:
        if each.at_ms <= CLOSE_MS[1]:
            x = max(axis.x(each.at_ms), free_from)
            d.mark(f"{key}/{each.order}", x, y, each.order, each.paint, r=r)
            free_from = x + 2 * r + 4


def _told(d: Sheet, run: Facts, axis: Axis, y: float) -> None:
    """What the shop hears: immediately, or from the next leader. It isn't true of
    orders that get lost.
    """
    kept = run.logs[run.leader].kept
    paints = {True: DONE, False: GONE._replace(fill="paper")}
    told = [
        each._replace(paint=paints[f"{PREFIX}{each.order}" in kept])
        for each in run.told
    ]
    _marks(d, "told", told, axis, y)
    gone = [each for each in told if each.paint != paints[True]]
    if gone:
        x = d.shapes[f"told/{gone[-1].order}"]["x"] + 20
        ends = "lost" if d.phone else "told, then lost"
        d.say("told/lost", x, y, ends, LOST, bold=True, halo="wash")
    late = [each for each in run.told if each.at_ms > CLOSE_MS[1]]
    if late:
        first, last = min(late).order, max(late).order
        text = f"✓ {first}" if first == last else f"✓ {first}–{last}"
        x = axis.x(min(each.at_ms for each in late))
        x = min(x, d.width - d.long(text, bold=True))
        d.say("told/late", x, y, text, "actor3", bold=True)


def _logs(d: Sheet, run: Facts, runs: Sequence[Facts], y: float) -> float:
    """What the brokers hold in the end, and what they had and cut. Returns where that
    ends.
    """
    places = max(len(copy.kept) for each in runs for copy in each.logs.values())
    left, wide, high, pitch = (86, 33, 26, 31) if d.phone else (128, 58, 28, 33)
    cut_left = left + places * wide + (52 if d.phone else 64)
    d.say("logs/name", 0, y - 16, "in the end", "quiet")
    cut = [value for copy in run.logs.values() for value in copy.cut]
    if cut:
        is_lost = any(value not in run.logs[run.leader].kept for value in cut)
        text, ink = CUT_OFF[is_lost]
        x = min(cut_left, d.width - d.long(text, bold=is_lost))
        d.say("logs/cut", x, y - 16, text, ink, bold=is_lost)
    for number, broker in enumerate(BROKERS):
        row, copy = y + number * pitch, run.logs[broker]
        d.say(f"logs/{broker}", 0, row + high / 2, f"broker {broker}", bold=True)
        if broker == run.leader:
            x = left + places * wide + (2 if d.phone else 8)
            d.say("logs/leads", x, row + high / 2, "leads", "actor1", bold=True)
        for place in range(places):
            key = f"log/{broker}/{place}"
            box = Box(left + place * wide, row, wide - 5, high)
            if place < len(copy.kept):
                d.record(key, box, _short(copy.kept[place]))
            else:
                d.empty(key, box)
        for place, value in enumerate(copy.cut):
            box = Box(cut_left + place * wide, row, wide - 5, high)
            is_lost = value not in run.logs[run.leader].kept
            d.cut(f"cut/{broker}/{place}", box, _short(value), is_lost=is_lost)
    return y + len(BROKERS) * pitch


def words(run: Facts) -> str:
    killed = f"Broker 1 is killed at {run.killed_ms / 1000:.2f} s"
    parts = [f"{killed}, broker {run.leader} leads next"]
    for broker, copy in run.logs.items():
        cut = f", and cut {listed(copy.cut)}" if copy.cut else ""
        parts.append(f"broker {broker} has {listed(copy.kept)}{cut}")
    return "; ".join(parts)


FIGURE = Figure(read, draw, words)

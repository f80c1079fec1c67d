"""Figure 5: the tenth of a second in which a leader dies, who leads next, and what the
three logs hold in the end.
"""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.course.publishing.essay_figures.frame import (
    LOST,
    Axis,
    Figure,
    Sheet,
    Stretch,
    of_kind,
)
from minikafka.course.publishing.essay_figures.logs import (
    Arrival,
    Copy,
    changes,
    copies,
    number_of,
)
from minikafka.theatre.drawing import Drawing
from minikafka.theatre.text import listed
from minikafka.trace import Event

# what is seen closely, and the moments around the next leader
CLOSE_MS, LATER_MS = (4995, 5110), (15_600, 17_400)
BROKERS = (1, 2, 3)


class Mark(NamedTuple):
    order: str
    at_ms: int


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
    return value.removeprefix("order ")


def draw(run: Facts, runs: Sequence[Facts], width: int) -> Drawing:
    phone = width < 900
    high, pitch = (24, 46) if phone else (26, 34)
    left, top = (0, 40) if phone else (128, 24)
    lanes = 5
    foot = top + lanes * pitch
    d = Sheet(width, foot + (158 if phone else 176))
    middle = left + (width - left) * (0.62)
    gap = 66 if phone else 110
    axis = Axis(
        Stretch(*CLOSE_MS, left, middle), Stretch(*LATER_MS, middle + gap, width - 2)
    )
    names = ("the shop sends", "it hears “done”", "broker 1", "broker 2", "broker 3")
    rows = [top + number * pitch for number in range(lanes)]
    for name, y in zip(names, rows, strict=True):
        d.lane(name, name, axis, y, high)
    _killed(d, run, axis, rows, high)
    _break(d, run, axis, top, rows[-1] + high)
    begin_ms, end_ms = run.frozen_ms
    x, x2 = axis.x(begin_ms), axis.x(end_ms)
    d.bar("frozen", x, x2, rows[3], high, "hatch", "stands still", line=LOST)
    _marks(d, "sent", run.sent, axis, rows[0] + high / 2, ("actor3", "on3"))
    _told(d, run, axis, rows[1] + high / 2)
    for broker in BROKERS:
        y = rows[1 + broker] + high / 2
        _marks(d, f"arrived/{broker}", run.arrived[broker], axis, y, ("actor3", "on3"))
    d.cross("killed/cross", axis.x(run.killed_ms) + 12, rows[2] + high / 2)
    x = axis.x(run.elected_ms)
    y, texts = rows[1 + run.leader], (f"broker {run.leader} leads", "leads")
    d.bar("leads", x, axis.right, y, high, "actor1", *texts, ink="on1")
    ticks = [(ms, f"{ms / 1000:.2f} s") for ms in range(5000, 5101, 50)]
    ticks.append((16_000, "16 s"))
    d.times(axis, rows[-1] + high + 6, ticks)
    _logs(d, run, runs, foot + (38 if phone else 44))
    return d


def _break(d: Sheet, run: Facts, axis: Axis, top: float, bottom: float) -> None:
    """Nobody leads: a gap in the axis."""
    x, x2 = axis.stretches[0].right, axis.stretches[1].left
    lasted = f"{(run.elected_ms - run.killed_ms) / 1000:.1f} s"
    middle = (x + x2) / 2
    for key, side in (("break/1", x + 5), ("break/2", x2 - 5)):
        d.upright(key, side, top, bottom, "rule", dash="3 4")
    y = (top + bottom) / 2
    lines = (lasted, "nobody", "leads")
    for number, line in enumerate(lines):
        d.say(
            f"break/words/{number}",
            middle,
            y + 17 * (number - 1),
            line,
            anchor="middle",
            bold=not number,
        )


def _killed(
    d: Sheet, run: Facts, axis: Axis, rows: Sequence[float], high: float
) -> None:
    """Broker 1 is dead for the rest of what is seen."""
    x = axis.x(run.killed_ms)
    close, later = axis.stretches
    for key, begin, part in (("dead", x, close), ("dead/later", later.left, later)):
        d.rect(key, begin, rows[2], part.right - begin, high, "hatch", LOST, r=4)
    for number, y in enumerate(rows):
        foot = y + high if d.phone or y == rows[-1] else rows[number + 1]
        d.upright(f"killed/{number}", x, y, foot, LOST, width=2)


def _marks(
    d: Sheet,
    key: str,
    marks: Sequence[Mark],
    axis: Axis,
    y: float,
    paint: tuple[str, ...],
) -> None:
    """Those of the tenth of a second; a mark never hides the one before."""
    r = 9 if d.phone else 10
    free_from = 0.0
    for each in marks:
        if each.at_ms <= CLOSE_MS[1]:
            x = max(axis.x(each.at_ms), free_from)
            d.disc_of(f"{key}/{each.order}", x, y, each.order, *paint, r=r)
            free_from = x + 2 * r - 2


def _told(d: Sheet, run: Facts, axis: Axis, y: float) -> None:
    """What the shop hears: immediately, or from the next leader."""
    _marks(d, "told", run.told, axis, y, ("good", "ink", "actor3"))
    late = [each for each in run.told if each.at_ms > CLOSE_MS[1]]
    if late:
        first, last = min(late).order, max(late).order
        text = f"✓ {first}" if first == last else f"✓ {first}–{last}"
        x = axis.x(min(each.at_ms for each in late))
        d.say("told/late", x, y, text, "actor3", bold=True)


def _logs(d: Sheet, run: Facts, runs: Sequence[Facts], y: float) -> None:
    """What the brokers hold in the end, and what they had and cut."""
    places = max(len(copy.kept) for each in runs for copy in each.logs.values())
    phone = d.phone
    left, wide, high, pitch = (76, 34, 26, 34) if phone else (128, 58, 30, 38)
    apart = 24 if phone else 100
    kept = set(run.logs[run.leader].kept)
    d.say("logs/name", 0, y - 16, "in the end", "quiet")
    cut_left = left + places * wide + apart
    d.say("logs/cut", cut_left, y - 16, "cut off", "quiet")
    for number, broker in enumerate(BROKERS):
        row = y + number * pitch
        name = f"broker {broker}"
        d.say(f"logs/{broker}", 0, row + high / 2, name, bold=True)
        if broker == run.leader and not phone:
            x = left + places * wide + 8
            d.say("logs/leads", x, row + high / 2, "leads", "actor1", bold=True)
        for place in range(places):
            key = f"log/{broker}/{place}"
            x = left + place * wide
            if place < len(run.logs[broker].kept):
                order = _short(run.logs[broker].kept[place])
                d.record(key, x, row, wide - 5, high, order)
            else:
                d.rect(key, x, row, wide - 5, high, "none", "rule", r=5, dash="2 4")
        for place, value in enumerate(run.logs[broker].cut):
            key, x, order = (
                f"cut/{broker}/{place}",
                cut_left + place * wide,
                _short(value),
            )
            if value in kept:
                d.record(
                    key,
                    x,
                    row,
                    wide - 5,
                    high,
                    order,
                    "none",
                    "rule",
                    "quiet",
                    dash="4 3",
                )
            else:
                d.cut(key, x, row, wide - 5, high, order)


def words(run: Facts) -> str:
    parts = [
        f"Broker 1 is killed at {run.killed_ms / 1000:.2f} s, broker {run.leader} leads next"
    ]
    for broker, copy in run.logs.items():
        cut = f", and cut {listed(copy.cut)}" if copy.cut else ""
        parts.append(f"broker {broker} has {listed(copy.kept)}{cut}")
    return "; ".join(parts)


FIGURE = Figure(read, draw, words)

"""Figure 6: a leader that is cut off, the one that the others elect, and the logs that
are left when they meet again. Its time begins with the cut.
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
from minikafka.course.publishing.essay_figures.logs import Copy, copies, number_of
from minikafka.theatre.drawing import Drawing, Look
from minikafka.theatre.text import listed
from minikafka.trace import Event

BEFORE_MS = 1500  # of the cut, as far as it is shown
VALUE = "loaded"  # what the producer lonely sends to the old leader
LEAST_WAIT_MS = 100


class Facts(NamedTuple):
    """healed_ms, elected_ms, followed_ms (when the old leader hears of the new one),
    done_ms: since the cut. logs: by broker.
    """

    old: int
    new: int | None
    healed_ms: int
    elected_ms: int | None
    followed_ms: int | None
    done_ms: int
    logs: dict[int, Copy]


def read(trace: Sequence[Event]) -> Facts:
    cut_ms = of_kind(trace, "LinkCut")[0].at
    old = number_of(of_kind(trace, "RecordsAppended")[0].node)
    [batch] = [
        event.detail["batch"]
        for event in of_kind(trace, "PartitionChosen")
        if event.detail["value"] == VALUE
    ]
    [done_ms] = [
        event.at
        for event in of_kind(trace, "RecordsAcknowledged")
        if event.node == "lonely" and event.detail["batch"] == batch
    ]
    elected = of_kind(trace, "LeaderElected")
    followed = [
        event.at - cut_ms
        for event in of_kind(trace, "LeaderFollowed")
        if event.node == f"broker {old}"
    ]
    return Facts(
        old=old,
        new=number_of(elected[0].node) if elected else None,
        healed_ms=of_kind(trace, "LinkHealed")[0].at - cut_ms,
        elected_ms=elected[0].at - cut_ms if elected else None,
        followed_ms=followed[0] if followed else None,
        done_ms=done_ms - cut_ms,
        logs=copies(trace),
    )


def draw(run: Facts, runs: Sequence[Facts], width: int) -> Drawing:
    phone = width < 900
    high, pitch = (26, 52) if phone else (30, 42)
    left, top = (0, 20) if phone else (128, 2)
    # room for the bracket over the second leader
    apart = 32 if phone else 24
    rows = [top, top + pitch, top + 2 * pitch + apart, top + 3 * pitch + apart]
    foot = rows[-1] + high
    d = Sheet(width, foot + (178 if phone else 196))
    end_ms = max(each.done_ms for each in runs)
    axis = Axis(Stretch(-BEFORE_MS, end_ms + 1000, left, width - 2))
    new = next(each.new for each in runs if each.new)
    names = ("network", f"broker {run.old} leads", f"broker {new} leads", f"“{VALUE}”")
    for number, (name, y) in enumerate(zip(names, rows, strict=True)):
        d.lane(f"lane/{number}", name, axis, y, high)
    cut = f"cut for {run.healed_ms / 1000:.0f} s"
    d.bar(
        "cut", axis.x(0), axis.x(run.healed_ms), rows[0], high, "hatch", cut, line=LOST
    )
    old_end = axis.right
    if run.elected_ms is not None and run.followed_ms is not None:
        x, old_end = axis.x(run.elected_ms), axis.x(run.followed_ms)
        d.bar("new", x, axis.right, rows[2], high, "actor5")
        both = f"two leaders, {(run.followed_ms - run.elected_ms) / 1000:.1f} s"
        y = rows[1] + high + (22 if phone else 24)
        d.bracket("both", x, old_end, y, both, LOST)
    d.bar("old", axis.left, old_end, rows[1], high, "actor1")
    _loaded(d, run, axis, rows[3], high)
    d.times(axis, foot + 6, seconds(0, 30, 10))
    _logs(d, run, foot + (52 if phone else 60))
    return d


def _loaded(d: Sheet, run: Facts, axis: Axis, y: float, high: float) -> None:
    """How long its producer waits until it hears that it is done."""
    x, done = axis.x(0), axis.x(run.done_ms)
    text, ink = "✓ done", "actor3"
    if run.done_ms >= LEAST_WAIT_MS:
        d.bar("waits", x, done, y, high, WAITS, "waits", ink=ON[WAITS])
        text = f"✓ done after {run.done_ms / 1000:.1f} s"
    look: Look = {"bold": True}
    if done + d.long(text, bold=True) + 10 > d.width:
        done, ink = done - 16, ON[WAITS]
        look["anchor"] = "end"
    d.say("done", done + 8, y + high / 2, text, ink, **look)


def _logs(d: Sheet, run: Facts, y: float) -> None:
    """The brokers' logs at the end; what one had cut off is behind a gap."""
    left, high, pitch = (32, 28, 34) if d.phone else (128, 32, 40)
    apart = 10 if d.phone else 40
    wide = (d.width - left - apart - 2) / 5
    d.say("logs/name", 0, y - 16, "brokers in the end", "quiet")
    d.say("logs/cut", left + 4 * wide + apart, y - 16, "cut off", "quiet")
    final = run.logs[run.new or run.old].kept
    for number, (broker, copy) in enumerate(run.logs.items()):
        row = y + number * pitch
        name = str(broker) if d.phone else f"broker {broker}"
        d.say(f"logs/{broker}", 0, row + high / 2, name, bold=True)
        for place in range(4):
            key, x = f"log/{broker}/{place}", left + place * wide
            if place < len(copy.kept):
                d.record(key, x, row, wide - 5, high, copy.kept[place])
            else:
                d.rect(key, x, row, wide - 5, high, "none", "rule", r=5, dash="2 4")
        for value in copy.cut:
            x = left + 4 * wide + apart
            if value in final:
                d.record(
                    f"cut/{broker}",
                    x,
                    row,
                    wide - 5,
                    high,
                    value,
                    "none",
                    "rule",
                    "quiet",
                    dash="4 3",
                )
            else:
                d.cut(f"cut/{broker}", x, row, wide - 5, high, value)


def words(run: Facts) -> str:
    parts = [f"The network is cut for {run.healed_ms / 1000:.0f} s"]
    if run.elected_ms is not None and run.followed_ms is not None:
        both = (run.followed_ms - run.elected_ms) / 1000
        parts.append(f"brokers {run.old} and {run.new} both lead for {both:.1f} s")
    for broker, copy in run.logs.items():
        cut = f", and cut {listed(copy.cut)}" if copy.cut else ""
        parts.append(f"broker {broker} has {listed(copy.kept)}{cut}")
    return "; ".join(parts)


FIGURE = Figure(read, draw, words)

"""Figure 6: a leader that is cut off, the one that the others elect, and the logs that
are left when they meet again. Its time begins with the cut.
"""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.course.publishing.essay_figures.frame import (
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
from minikafka.course.publishing.essay_figures.logs import Copy, copies, number_of
from minikafka.theatre.drawing import Box, Drawing
from minikafka.theatre.text import listed
from minikafka.trace import Event

BEFORE_MS = 1500  # of the cut, as far as it is shown
VALUE = "loaded"  # what the producer lonely sends to the old leader
LEAST_WAIT_MS = 100
PLACES = 4  # in a log: all that is sent


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
    d = Sheet(width)
    high, pitch = (26, 52) if d.phone else (30, 42)
    left, top = (0, 20) if d.phone else (128, 2)
    # room for the bracket over the second leader
    apart = 32 if d.phone else 24
    rows = [top, top + pitch, top + 2 * pitch + apart, top + 3 * pitch + apart]
    end_ms = max(each.done_ms for each in runs) + 1000
    axis = Axis(Stretch(-BEFORE_MS, end_ms, left, width - 2))
    new = next(each.new for each in runs if each.new)
    names = ("network", f"broker {run.old} leads", f"broker {new} leads", f"“{VALUE}”")
    for number, (name, y) in enumerate(zip(names, rows, strict=True)):
        d.lane(f"lane/{number}", name, axis, y, high)
    lasted = f"{run.healed_ms / 1000:.0f} s"
    cut = axis.box(0, run.healed_ms, rows[0], high)
    d.bar("cut", cut, STOPPED, f"cut for {lasted}", lasted)
    old_ms = end_ms
    if run.elected_ms is not None and run.followed_ms is not None:
        old_ms = run.followed_ms
        new_bar = axis.box(run.elected_ms, end_ms, rows[2], high)
        d.bar("new", new_bar, Paint("actor5"))
        both = f"two leaders, {(old_ms - run.elected_ms) / 1000:.1f} s"
        y = rows[1] + high + (22 if d.phone else 24)
        d.bracket("both", new_bar.x, axis.x(old_ms), y, both, LOST)
    d.bar("old", axis.box(-BEFORE_MS, old_ms, rows[1], high), Paint("actor1"))
    _loaded(d, run, axis, rows[3], high)
    foot = rows[-1] + high + 6
    d.times(axis, foot, seconds(0, 30, 10))
    d.high = _logs(d, run, foot + 58)
    return d


def _loaded(d: Sheet, run: Facts, axis: Axis, y: float, high: float) -> None:
    """How long its producer waits until it hears that it is done, true or not."""
    is_lost = VALUE not in run.logs[run.new or run.old].kept
    ink = LOST if is_lost else "actor3"
    box = axis.box(0, run.done_ms, y, high)
    waited = f"{run.done_ms / 1000:.1f} s"
    text = "✓ done"
    if run.done_ms >= LEAST_WAIT_MS:
        text = f"✓ done after {waited}"
        if box.right + 8 + d.long(text, bold=True) > d.width:
            d.bar("waits", box, WAITING, f"waits, ✓ done after {waited}")
            return
        d.bar("waits", box, WAITING, "waits")
    d.say("done", box.right + 8, y + high / 2, text, ink, bold=True)


def _logs(d: Sheet, run: Facts, y: float) -> float:
    """The brokers' logs at the end; what one had cut off is behind a gap. Returns where
    that ends.
    """
    left, high, pitch = (32, 28, 34) if d.phone else (128, 32, 40)
    apart = 10 if d.phone else 40
    wide = (d.width - left - apart - 2) / (PLACES + 1)
    cut_left = left + PLACES * wide + apart
    large = not d.phone
    d.say("logs/name", 0, y - 16, "brokers in the end", "quiet")
    d.say("logs/cut", cut_left, y - 16, "cut off", "quiet")
    final = run.logs[run.new or run.old].kept
    for number, (broker, copy) in enumerate(run.logs.items()):
        row = y + number * pitch
        name = str(broker) if d.phone else f"broker {broker}"
        d.say(f"logs/{broker}", 0, row + high / 2, name, bold=True)
        for place in range(PLACES):
            key = f"log/{broker}/{place}"
            box = Box(left + place * wide, row, wide - 5, high)
            if place < len(copy.kept):
                d.record(key, box, copy.kept[place], large=large)
            else:
                d.empty(key, box)
        for value in copy.cut:
            box = Box(cut_left, row, wide - 5, high)
            is_lost = value not in final
            d.cut(f"cut/{broker}", box, value, is_lost=is_lost, large=large)
    return y + len(run.logs) * pitch


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

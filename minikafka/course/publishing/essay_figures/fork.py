"""Figure 6: a leader that is cut off, the one that the others elect, and the logs that
are left when they meet again. Its time begins with the cut.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from minikafka.course.publishing.essay_figures.frame import (
    FIRST,
    LOST,
    OTHER,
    STOPPED,
    WAITING,
    Axis,
    Figure,
    Sheet,
    Stretch,
    of_kind,
    seconds,
)
from minikafka.course.publishing.essay_figures.logs import (
    CUT_OFF,
    Copy,
    copies,
    number_of,
)
from minikafka.theatre.drawing import Box, Drawing
from minikafka.theatre.text import listed
from minikafka.trace import Event

BEFORE_MS = 1500  # of the cut, as far as it is shown
# who writes what after the cut: lonely reaches the old leader only, web the others
WRITERS = {"lonely": "loaded", "web": "paid"}
NAMES, PHONES_NAMES = 160, 86  # the width of the lanes' names
LEAST_WAIT_MS = 100
PLACES = 4  # in a log: all that is sent


class Taken(NamedTuple):
    """A leader has it in its log."""

    broker: int
    at_ms: int


class Write(NamedTuple):
    """A value that is written after the cut; done_ms: when its producer hears so."""

    value: str
    sent_ms: int
    taken: tuple[Taken, ...]
    done_ms: int


class Facts(NamedTuple):
    """healed_ms, elected_ms, old_ms (when the old leader hears of the new one), and all
    that is in writes: since the cut. logs: by broker.
    """

    old: int
    new: int | None
    healed_ms: int
    elected_ms: int | None
    old_ms: int | None
    writes: tuple[Write, ...]
    logs: dict[int, Copy]

    @property
    def both_ms(self) -> int:
        return (self.old_ms or 0) - (self.elected_ms or 0)


def read(trace: Sequence[Event]) -> Facts:
    cut_ms = of_kind(trace, "LinkCut")[0].at
    old = number_of(of_kind(trace, "RecordsAppended")[0].node)
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
        old_ms=followed[0] if followed else None,
        writes=tuple(_write_of(trace, *each, cut_ms) for each in WRITERS.items()),
        logs=copies(trace),
    )


def _write_of(trace: Sequence[Event], who: str, value: str, cut_ms: int) -> Write:
    [chosen] = [
        event
        for event in of_kind(trace, "PartitionChosen")
        if event.detail["value"] == value
    ]
    [done_ms] = [
        event.at
        for event in of_kind(trace, "RecordsAcknowledged")
        if event.node == who and event.detail["batch"] == chosen.detail["batch"]
    ]
    taken = tuple(
        Taken(number_of(event.node), event.at - cut_ms)
        for event in of_kind(trace, "RecordsAppended")
        if any(value == each for _, _, each, _ in event.detail["records"])
    )
    return Write(value, chosen.at - cut_ms, taken, done_ms - cut_ms)


def draw(run: Facts, runs: Sequence[Facts], width: int) -> Drawing:
    d = Sheet(width)
    high, pitch, top = (26, 38, 34) if d.phone else (26, 33, 34)
    left = PHONES_NAMES if d.phone else NAMES
    # the network between its two sides: a leader each, and who writes to it
    lonely, first, network, other, web = (top + number * pitch for number in range(5))
    end_ms = max(each.done_ms for r in runs for each in r.writes) + 1000
    axis = Axis(Stretch(-BEFORE_MS, end_ms, left, width - 2))
    new = next(each.new for each in runs if each.new)
    names = {first: f"broker {run.old}", network: "network", other: f"broker {new}"}
    names |= dict(zip((lonely, web), WRITERS, strict=True))
    for y in names:
        d.ground(f"lane/{y:g}", axis, y, high)
    bars = {run.old: axis.box(-BEFORE_MS, run.old_ms or end_ms, first, high)}
    if run.new and run.elected_ms is not None:
        bars[run.new] = axis.box(run.elected_ms, end_ms, other, high)
        d.bar("new", bars[run.new], OTHER)
    d.bar("old", bars[run.old], FIRST)
    if run.new:
        _both_lead(d, run, bars, top)
    lasted = f"cut for {run.healed_ms / 1000:.0f} s"
    cut = axis.box(0, run.healed_ms, network, high)
    d.bar("cut", cut, STOPPED, lasted)
    if "cut/plate" not in d.shapes:
        d.say("cut/words", cut.right + 8, network + high / 2, lasted, halo="wash")
    edges = [bars[run.new].x, bars[run.old].right] if run.new else []
    for each in run.writes:
        edges += [axis.x(taken.at_ms) for taken in each.taken]
    for broker, box in bars.items():
        ink = "on1" if broker == run.old else "actor1"
        _within(d, f"leads/{broker}", box, edges, "leads", ink)
    for each, y in zip(run.writes, (lonely, web), strict=True):
        _write(d, run, each, axis, Box(left, y, 0, high))
        _taken(d, each, axis, bars, y + high / 2)
    for y, name in names.items():
        d.say(f"lane/{y:g}/name", 0, y + high / 2, name, bold=True)
        if name in WRITERS and not d.phone:
            x = max(d.long(each, bold=True) for each in WRITERS) + 8
            writes = f"writes “{WRITERS[name]}”"
            d.say(f"lane/{y:g}/writes", x, y + high / 2, writes)
    foot = web + high + 6
    d.times(axis, foot, seconds(0, 30, 10))
    d.high = _logs(d, run, foot + 54)
    return d


def _both_lead(d: Sheet, run: Facts, bars: dict[int, Box], top: float) -> None:
    """The time in which both say that they lead: over their bars, its name above."""
    old, new = bars[run.old], bars[run.new or 0]
    d.rect(
        "both/band",
        new.x,
        old.y,
        old.right - new.x,
        new.bottom - old.y,
        "ink",
        fade=0.12,
    )
    y = top - 12
    for side, x in (("left", new.x), ("right", old.right)):
        d.upright(f"both/{side}", x, y, new.bottom, "quiet", dash="2 3")
    text = f"two leaders, {run.both_ms / 1000:.1f} s"
    d.bracket("both", new.x, old.right, y, text, "ink")


def _within(
    d: Sheet, key: str, bar: Box, edges: Sequence[float], text: str, ink: str
) -> None:
    """Words in a bar, in the middle of its widest part between these lines."""
    inner = [x for x in sorted(edges) if bar.x < x < bar.right]
    parts = pairwise([bar.x, *inner, bar.right])
    left, right = max(parts, key=lambda part: part[1] - part[0])
    d.say(key, (left + right) / 2, bar.y + bar.h / 2, text, ink, anchor="middle")


def _taken(d: Sheet, write: Write, axis: Axis, bars: dict[int, Box], y: float) -> None:
    """The leaders that took it."""
    for number, taken in enumerate(write.taken):
        key, x = f"write/{write.value}/taken/{number}", axis.x(taken.at_ms)
        bar = bars[taken.broker]
        end = bar.bottom - 8 if bar.y < y else bar.y + 8
        d.upright(key, x, end, y, "ink", width=1.5)
        d.circle(f"{key}/end", x, end, 3.5, "ink", "paper")
        if number:  # it is sent again
            d.circle(f"{key}/begin", x, y, 6, "ink", "paper", width=1.5)


def _write(d: Sheet, run: Facts, write: Write, axis: Axis, row: Box) -> None:
    """When it is sent, and when its producer hears that it is done, true or not."""
    key, middle = f"write/{write.value}", row.y + row.h / 2
    is_lost = write.value not in run.logs[run.new or run.old].kept
    ink = LOST if is_lost else "actor3"
    box = axis.box(write.sent_ms, write.done_ms, row.y, row.h)
    waited_ms = write.done_ms - write.sent_ms
    # on a phone, the lane's name doesn't say what is written
    x, text = box.x + 14, f"{write.value} ✓" if d.phone else "✓ done"
    if is_lost:
        text = "told, then lost"
    if waited_ms >= LEAST_WAIT_MS:
        lasted = f"{waited_ms / 1000:.1f} s"
        x, waits = box.right + 12, lasted if d.phone else f"waits {lasted}"
        if d.long(waits) + 12 > box.w:
            text, waits = f"{text} after {lasted}", ""
        elif x + d.long(text, bold=True) > d.width:
            text, waits = "", f"{waits}, {text}"
        d.bar(f"{key}/waits", box, WAITING)
        _within(d, f"{key}/waits/words", box, (), waits, WAITING.ink)
    if text:
        d.say(f"{key}/done", x, middle, text, ink, bold=True, halo="wash")
    d.circle(f"{key}/sent", axis.x(write.sent_ms), middle, 6, "ink", "paper", width=1.5)


def _logs(d: Sheet, run: Facts, y: float) -> float:
    """The brokers' logs at the end, and what one had cut off: behind a gap, on a phone
    below them. Returns where that ends.
    """
    left, high, pitch = (PHONES_NAMES, 28, 34) if d.phone else (NAMES, 28, 33)
    columns, apart = (PLACES, 0) if d.phone else (PLACES + 1, 64)
    wide = (d.width - left - apart + 3) / columns
    large = not d.phone
    d.say("logs/name", 0, y - 16, "in the end", "quiet")
    for number, (broker, copy) in enumerate(run.logs.items()):
        row = y + number * pitch
        name = f"broker {broker}"
        d.say(f"logs/{broker}", 0, row + high / 2, name, bold=True)
        if broker == (run.new or run.old) and not d.phone:
            x = left + PLACES * wide + 8
            d.say("logs/leads", x, row + high / 2, "leads", "actor1", bold=True)
        for place in range(PLACES):
            key = f"log/{broker}/{place}"
            box = Box(left + place * wide, row, wide - 5, high)
            if place < len(copy.kept):
                d.record(key, box, copy.kept[place], large=large)
            else:
                d.empty(key, box)
        if d.phone:
            its = Box(left, y + len(run.logs) * pitch + 8, wide - 5, high)
        else:
            its = Box(left + PLACES * wide + apart, row, wide - 5, high)
        _cut(d, run, broker, its, y - 16)
    return y + len(run.logs) * pitch + (8 + pitch) * d.phone


def _cut(d: Sheet, run: Facts, broker: int, box: Box, head: float) -> None:
    """What a broker cut off. head: the row of its heading, on a wide page."""
    final = run.logs[run.new or run.old].kept
    for value in run.logs[broker].cut:
        is_lost = value not in final
        d.cut(f"cut/{broker}", box, value, is_lost=is_lost, large=not d.phone)
        text, ink = CUT_OFF[is_lost]
        if d.phone:
            middle = box.y + box.h / 2
            d.say("logs/cut/by", 0, middle, f"broker {broker}", bold=True)
            d.say("logs/cut", box.right + 10, middle, text, ink, bold=is_lost)
        else:
            d.say("logs/cut", box.x, head, text, ink, bold=is_lost)


def words(run: Facts) -> str:
    parts = [f"The network is cut for {run.healed_ms / 1000:.0f} s"]
    if run.new:
        both = f"both lead for {run.both_ms / 1000:.1f} s"
        parts.append(f"brokers {run.old} and {run.new} {both}")
    for each in run.writes:
        leaders = listed([f"broker {taken.broker}" for taken in each.taken])
        parts.append(f"{leaders} took “{each.value}”")
    for broker, copy in run.logs.items():
        cut = f", and cut {listed(copy.cut)}" if copy.cut else ""
        parts.append(f"broker {broker} has {listed(copy.kept)}{cut}")
    return "; ".join(parts)


FIGURE = Figure(read, draw, words)

"""Numbers computed from the scenes of the lag's picture: sums over all partitions, the
bends of a line, and how fast records are written and processed.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from minikafka.theatre.lanes import Scene


class Value(NamedTuple):
    """A value, and the moment from which it holds."""

    at: int
    value: int


class Sums(NamedTuple):
    """The sums over all partitions, at a moment."""

    end: int
    start: int
    committed: int
    done: int  # committed, or gone
    lost: int
    nothing: bool  # is committed
    unread: bool  # most of what waits

    @property
    def lag(self) -> int:
        """The records that wait in all partitions."""
        return self.end - self.done


class Told(NamedTuple):
    """The sums that held at a moment."""

    at: int
    sums: Sums


def added_up(scenes: Sequence[Scene]) -> list[Told]:
    """The sums at each scene."""
    return [Told(scene["at"], sums(scene)) for scene in scenes]


def sums(scene: Scene) -> Sums:
    """Adds up what a scene says of its partitions."""
    space = scene["space"]
    end = start = committed = lag = unread = 0
    nothing = True
    for partition in space["partitions"]:
        waits, _ = partition["lags"]
        offset = partition["committed"]
        if offset is None:
            offset = partition["start"]
        else:
            nothing = False
        end += partition["end"]
        start += partition["start"]
        committed += offset
        lag += waits
        if partition["unread"]:
            unread += waits
    return Sums(
        end=end,
        start=start,
        committed=committed,
        done=end - lag,
        lost=space["lost"],
        nothing=nothing,
        unread=2 * unread > lag,
    )


class Stroke(NamedTuple):
    """A straight part of a line: from a moment and its value until another."""

    at: int
    value: int
    until: int
    then: int


def bends(points: Sequence[Value]) -> list[Stroke]:
    """A line's parts. What is level is one."""
    found: list[Stroke] = []
    for now, then in pairwise(points):
        if now == then:
            continue
        begin = now.at
        is_level = now.value == then.value
        if is_level and found and found[-1].value == now.value:
            begin = found.pop().at
        stroke = Stroke(begin, now.value, then.at, then.value)
        found.append(stroke)
    return found


class Rates(NamedTuple):
    """Rates of change, in records per ms."""

    written: float
    done: float
    lost: float

    @property
    def stand_still(self) -> bool:
        """Whether as much is done as is written: the lag is the same then."""
        larger = max(self.written, self.done)
        return abs(self.written - self.done) <= larger * 0.04


def rates(scenes: Sequence[Scene], told: Sequence[Told], whole_ms: int) -> Rates | None:
    """The rates in the latest quarter, but only since the readers last changed and
    records came. told: the sums of these scenes.

    None where that is too short to say.
    """
    now, sums_now = told[-1]
    since_readers_changed = len(_since_readers_changed(scenes))
    since = _since_records_came(told[-since_readers_changed:])
    is_too_short = now - since[0].at < whole_ms / 25
    if is_too_short or not sums_now.end:
        return None
    quarter = now - whole_ms / 4
    written = [Value(at, each.end) for at, each in since]
    done = [Value(at, each.done) for at, each in since]
    lost = [Value(at, each.lost) for at, each in since]
    return Rates(
        written=_rate(written, quarter),
        done=_rate(done, quarter),
        lost=_rate(lost, quarter),
    )


def _since_readers_changed(scenes: Sequence[Scene]) -> Sequence[Scene]:
    """The scenes at the end in which the same read as now, and as fast."""
    readers = _readers(scenes[-1])
    begin = len(scenes) - 1
    while begin and _readers(scenes[begin - 1]) == readers:
        begin -= 1
    return scenes[begin:]


def _readers(scene: Scene) -> Sequence[Any]:
    """The reader of each partition, and its pace. A reader that has caught up reads
    only new records.
    """
    space = scene["space"]
    owners = [partition["owner"] for partition in space["partitions"]]
    processing_ms = space.get("processing_ms")
    return space["members"], owners, processing_ms, space["caught_up"]


def _since_records_came(told: Sequence[Told]) -> Sequence[Told]:
    """From the last scene before the first record on."""
    ends = [each.end for _, each in told]
    if ends[-1] <= ends[0]:
        return told
    begin = max(ends.count(ends[0]) - 1, 0)
    return told[begin:]


def _rate(points: Sequence[Value], since: float) -> float:
    """From one change to another: records come, and are committed, a few at a time."""
    changes = [points[0]]
    for before, after in pairwise(points):
        if before.value != after.value:
            changes.append(after)

    first = changes[0]
    last = changes[-1]
    for change in changes:
        if change.at <= since:
            first = change
    if last.at <= max(first.at, since):
        return 0.0
    return (last.value - first.value) / (last.at - first.at)


def apart(ys: Sequence[float], least: float, top: float, bottom: float) -> list[float]:
    """Near their places, in their order, but so far from each other that they can be
    read.
    """
    found: list[float] = []
    lowest = top
    for y in ys:
        found.append(max(y, lowest))
        lowest = found[-1] + least

    highest = bottom
    for number in reversed(range(len(found))):
        found[number] = min(found[number], highest)
        highest = found[number] - least
    return found

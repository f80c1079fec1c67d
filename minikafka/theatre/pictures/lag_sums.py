"""What the picture of the lag computes from its scenes: sums over all partitions, the
bends of a line, and how fast records are written and done with.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from minikafka.theatre.lanes import Scene

Value = tuple[int, int]  # a moment, and what holds from it on


class Sums(NamedTuple):
    """Of all partitions. done: committed, or gone. nothing: is committed. unread: most
    of what waits.
    """

    end: int
    start: int
    committed: int
    done: int
    lost: int
    nothing: bool
    unread: bool

    @property
    def lag(self) -> int:
        """What waits in all partitions."""
        return self.end - self.done


def sums(scene: Scene) -> Sums:
    """Adds up what a scene says of its partitions."""
    partitions = scene["space"]["partitions"]
    ends = [each["end"] for each in partitions]
    starts = [each["start"] for each in partitions]
    lags = [each["lags"][0] for each in partitions]
    offsets = [each["committed"] for each in partitions]
    committed = [
        start if offset is None else offset
        for start, offset in zip(starts, offsets, strict=True)
    ]
    unread = sum(each["lags"][0] for each in partitions if each["unread"])
    return Sums(
        end=sum(ends),
        start=sum(starts),
        committed=sum(committed),
        done=sum(ends) - sum(lags),
        lost=scene["space"]["lost"],
        nothing=all(offset is None for offset in offsets),
        unread=2 * unread > sum(lags),
    )


Told = tuple[int, Sums]  # a moment, and what held then


class Stroke(NamedTuple):
    """A straight part of a line: from a moment and its value until another."""

    at: int
    value: int
    until: int
    then: int


def bends(points: Sequence[Value]) -> list[Stroke]:
    """A line's parts. What is level is one."""
    found: list[Stroke] = []
    for (at, value), (until, then) in pairwise(points):
        if at == until and value == then:
            continue
        is_level = value == then
        if is_level and found and found[-1].value == value:
            at = found.pop().at
        found.append(Stroke(at, value, until, then))
    return found


class Rates(NamedTuple):
    """Records in a ms."""

    written: float
    done: float
    lost: float

    @property
    def stand_still(self) -> bool:
        """Whether as much is done as is written: the lag is the same then."""
        larger = max(self.written, self.done)
        return abs(self.written - self.done) <= larger * 0.04


def rates(scenes: Sequence[Scene], told: Sequence[Told], whole_ms: int) -> Rates | None:
    """In the latest quarter, and since a member's state changed and records came. told:
    the sums of these scenes.

    None where that is too short to say.
    """
    now, sums_now = told[-1]
    since_members_changed = len(_since_members_changed(scenes))
    since = _since_records_came(told[-since_members_changed:])
    is_too_short = now - since[0][0] < whole_ms / 25
    if is_too_short or not sums_now.end:
        return None
    quarter = now - whole_ms / 4
    return Rates(
        written=_rate([(at, each.end) for at, each in since], quarter),
        done=_rate([(at, each.done) for at, each in since], quarter),
        lost=_rate([(at, each.lost) for at, each in since], quarter),
    )


def _since_members_changed(scenes: Sequence[Scene]) -> Sequence[Scene]:
    """The scenes at the end in which all members are as they are now."""
    members = scenes[-1]["space"]["members"]
    begin = len(scenes) - 1
    while begin and scenes[begin - 1]["space"]["members"] == members:
        begin -= 1
    return scenes[begin:]


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
        if before[1] != after[1]:
            changes.append(after)

    earlier = [change for change in changes if change[0] <= since]
    begin, value = earlier[-1] if earlier else changes[0]
    end, then = changes[-1]
    if end <= max(begin, since):
        return 0.0
    return (then - value) / (end - begin)

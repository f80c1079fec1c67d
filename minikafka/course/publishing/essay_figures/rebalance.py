"""Figure 4: who reads partition 0 while A is frozen, and who pays order 20."""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.course.publishing.essay_figures.frame import (
    LOST,
    TWICE,
    WAITS,
    Axis,
    Figure,
    Sheet,
    Stretch,
    of_kind,
    seconds,
)
from minikafka.theatre.actors import actor_colour, actor_number, ink_on_actor
from minikafka.theatre.drawing import Drawing
from minikafka.trace import Event

SINCE_MS = 15_000
ORDER = "20"  # A works on it when it is frozen
MEMBERS = "AB"
SLEEPER = "A"
SIGNS_OF_LIFE = ("Heartbeat", "OffsetCommit")


class Owned(NamedTuple):
    """A partition is a member's, from a moment to another one."""

    member: str
    begin_ms: int
    end_ms: int


class Paid(NamedTuple):
    member: str
    order: str
    at_ms: int


class Facts(NamedTuple):
    """owned: by partition. evicted_ms: when the group gave A up, if it did. paid: from
    partition 0.
    """

    owned: tuple[tuple[Owned, ...], ...]
    signs_ms: tuple[int, ...]
    frozen_ms: tuple[int, int] | None
    evicted_ms: int | None
    paid: tuple[Paid, ...]
    end_ms: int

    @property
    def of_the_order(self) -> list[Paid]:
        return [each for each in self.paid if each.order == ORDER]


def read(trace: Sequence[Event]) -> Facts:
    asleep, awake = of_kind(trace, "NodeFrozen"), of_kind(trace, "NodeThawed")
    evicted = [
        event.at
        for event in of_kind(trace, "MemberLeft")
        if event.detail["reason"] == "session_timeout"
    ]
    signs = {
        event.at
        for event in of_kind(trace, "RequestSent")
        if event.node == f"consumer {SLEEPER}" and event.detail["api"] in SIGNS_OF_LIFE
    }
    started = of_kind(trace, "ProgramStarted")
    member = {event.node: name for event, name in zip(started, MEMBERS, strict=True)}
    paid = []
    for event in of_kind(trace, "EffectWritten"):
        d = event.detail
        if event.at >= SINCE_MS and d["partition"] == 0:
            order = d["key"].removeprefix("o-")
            paid.append(Paid(member[event.node], order, event.at))
    return Facts(
        owned=tuple(tuple(_owned(trace, number)) for number in range(2)),
        signs_ms=tuple(sorted(at for at in signs if at >= SINCE_MS)),
        frozen_ms=(asleep[0].at, awake[0].at) if asleep else None,
        evicted_ms=evicted[0] if evicted else None,
        paid=tuple(paid),
        end_ms=trace[-1].at,
    )


def _owned(trace: Sequence[Event], number: int) -> list[Owned]:
    """Whose a partition is, as the group knows it. What a member gives up and gets
    back immediately has been its own all the time.
    """
    found: list[Owned] = []
    for event in trace:
        d = event.detail
        if event.kind == "PartitionsAssigned" and ["orders", number] in d["partitions"]:
            member = event.node.removeprefix("consumer ")
            is_back = found and found[-1].member == member
            if is_back and event.at - found[-1].end_ms < 100:
                found[-1] = found[-1]._replace(end_ms=trace[-1].at)
            else:
                found.append(Owned(member, event.at, trace[-1].at))
        elif event.kind in ("PartitionsRevoked", "PartitionsLost", "MemberLeft"):
            who = d["client"] if event.kind == "MemberLeft" else event.node
            if found and who == f"consumer {found[-1].member}":
                end_ms = min(event.at, found[-1].end_ms)
                found[-1] = found[-1]._replace(end_ms=end_ms)
    return found


def draw(run: Facts, runs: Sequence[Facts], width: int) -> Drawing:
    phone = width < 900
    pitch, high = (52, 26) if phone else (44, 30)
    left, top = (0, 62) if phone else (128, 40)
    d = Sheet(width, top + 3 * pitch + (100 if phone else 92))
    end_ms = max(each.end_ms for each in runs)
    axis = Axis(Stretch(SINCE_MS, end_ms, left, width - 2))
    _signs(d, run, axis, top, high)
    for number in range(2):
        y = top + (number + 1) * pitch
        d.lane(f"partition/{number}", f"partition {number}", axis, y, high)
        for place, each in enumerate(run.owned[number]):
            colour, ink = _paint(each.member)
            x, x2 = axis.x(each.begin_ms), axis.x(each.end_ms)
            d.bar(
                f"owned/{number}/{place}", x, x2, y, high, colour, each.member, ink=ink
            )
    bottom = top + 3 * pitch
    _payments(d, run, axis, bottom)
    d.times(axis, bottom + 68, seconds(20, 100, 20))
    return d


def _paint(member: str) -> tuple[str, str]:
    """The colour of a member, and of words on it."""
    number = actor_number(member, ())
    return actor_colour(number), ink_on_actor(number)


def _signs(d: Sheet, run: Facts, axis: Axis, y: float, high: float) -> None:
    """A's signs of life, how long it is frozen, and when the group gives it up."""
    d.lane("beats", f"{SLEEPER}'s signs of life", axis, y, high)
    for at_ms in run.signs_ms:
        d.rect(
            f"beat/{at_ms}",
            axis.x(at_ms) - 1.5,
            y + 5,
            3,
            high - 10,
            _paint(SLEEPER)[0],
        )
    if run.frozen_ms:
        begin_ms, end_ms = run.frozen_ms
        lasted = f"{(end_ms - begin_ms) / 1000:g} s"
        x, x2 = axis.x(begin_ms), axis.x(end_ms)
        texts = f"frozen, {lasted}", lasted
        d.bar("frozen", x, x2, y, high, "hatch", *texts, line=LOST)
    if run.evicted_ms:
        last_ms = max(at for at in run.signs_ms if at < run.evicted_ms)
        silent = f"{(run.evicted_ms - last_ms) / 1000:.0f} s of silence: evicted"
        x = axis.x(run.evicted_ms)
        d.bracket("silent", axis.x(last_ms), x, y - 14 - 14 * d.phone, silent, LOST)


def _payments(d: Sheet, run: Facts, axis: Axis, y: float) -> None:
    """Those of partition 0's orders; the one that is paid twice has its second payment
    below the first.
    """
    name = "payments of partition 0" if d.phone else "payments"
    d.lane("paid", name, axis, y, 60)
    if not d.phone:
        d.say("paid/of", 0, y + 47, "of partition 0", "quiet")
    for each in run.paid:
        if each.order != ORDER:
            d.circle(
                f"paid/{each.order}",
                axis.x(each.at_ms),
                y + 15,
                2.5,
                _paint(each.member)[0],
            )
    if run.frozen_ms:
        x, x2 = axis.x(run.frozen_ms[0]), axis.x(run.of_the_order[0].at_ms)
        text = f"order {ORDER} waits"
        d.bar("waits", x, x2 - 10, y + 4, 22, "paper", text, "waits", line=WAITS)
    places = [
        (axis.x(each.at_ms), y + 15 + 30 * n) for n, each in enumerate(run.of_the_order)
    ]
    if len(places) > 1:
        (x, row), (x2, row2) = places
        d.path("twice", x, row, f"M0,0V{row2 - row}H{x2 - x:g}", line=TWICE, width=2.5)
    for number, (each, (x, row)) in enumerate(
        zip(run.of_the_order, places, strict=True)
    ):
        colour, ink = _paint(each.member)
        text = (
            f"{each.member} pays it again"
            if number
            else f"{each.member} pays order {ORDER}"
        )
        wide = d.long(text, bold=True) + 8
        is_left = x + 18 + wide > d.width
        at = x - 16 - wide / 2 if is_left else x + 16 + wide / 2
        d.plate(
            f"order/{number}/said",
            at,
            row,
            text,
            TWICE if number else "ink",
            fill="wash",
            bold=True,
        )
        d.disc_of(f"order/{number}", x, row, ORDER, colour, ink, r=13)


def words(run: Facts) -> str:
    parts = []
    if run.frozen_ms:
        begin_ms, end_ms = run.frozen_ms
        parts.append(f"{SLEEPER} is frozen for {(end_ms - begin_ms) / 1000:g} s")
    if run.evicted_ms:
        parts.append(f"the group evicts it at {run.evicted_ms / 1000:.0f} s")
    for each in run.of_the_order:
        parts.append(f"{each.member} pays order {ORDER} at {each.at_ms / 1000:.0f} s")
    return ", ".join(parts)


FIGURE = Figure(read, draw, words)

"""Figure 4: who reads partition 0 while A is frozen, and who pays order 20."""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.course.publishing.essay_figures.frame import (
    FIRST,
    OTHER,
    STOPPED,
    TWICE,
    WAITING,
    Axis,
    Figure,
    Paint,
    Sheet,
    Stretch,
    of_kind,
    seconds,
)
from minikafka.theatre.drawing import Box, Drawing, Look, Point
from minikafka.trace import Event

SINCE_MS = 15_000
ORDER = "20"  # A works on it when it is frozen
MEMBERS = "AB"
SLEEPER = "A"
REJECTED = Paint("paper", "quiet", "quiet")
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
    partition 0. rejected: a second payment of the order that the database didn't take.
    """

    owned: tuple[tuple[Owned, ...], ...]
    signs_ms: tuple[int, ...]
    frozen_ms: tuple[int, int] | None
    evicted_ms: int | None
    paid: tuple[Paid, ...]
    rejected: Paid | None
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
        rejected=_rejected(trace, paid),
        end_ms=trace[-1].at,
    )


def _rejected(trace: Sequence[Event], paid: Sequence[Paid]) -> Paid | None:
    """A member that gets the order and goes on to its commit without having paid it."""
    for event in of_kind(trace, "RecordsPolled"):
        if any(key == f"o-{ORDER}" for _, key, _ in event.detail["records"]):
            done_ms = next(
                each.at
                for each in of_kind(trace, "CommitSent")
                if each.node == event.node and each.at > event.at
            )
            member = event.node.removeprefix("consumer ")
            if not any(
                each.order == ORDER
                and each.member == member
                and event.at < each.at_ms <= done_ms
                for each in paid
            ):
                return Paid(member, ORDER, done_ms)
    return None


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
    d = Sheet(width)
    pitch, high = (52, 26) if d.phone else (44, 30)
    left, top = (0, 70) if d.phone else (128, 32)
    end_ms = max(each.end_ms for each in runs)
    axis = Axis(Stretch(SINCE_MS, end_ms, left, width - 2))
    _signs(d, run, axis, top, high)
    for number in range(2):
        y = top + (number + 1) * pitch
        d.lane(f"partition/{number}", f"partition {number}", axis, y, high)
        for place, each in enumerate(run.owned[number]):
            box = axis.box(max(each.begin_ms, SINCE_MS), each.end_ms, y, high)
            d.bar(f"owned/{number}/{place}", box, _paint(each.member), each.member)
    bottom = top + 3 * pitch + 14
    d.lane("paid", "payments", axis, bottom, 60)
    if run.evicted_ms:
        below = top + 2 * pitch + high
        d.upright("evicted", axis.x(run.evicted_ms) - 1, top - 12, below, "ink")
        _out(d, run, axis, top + high / 2)
    _payments(d, run, axis, bottom)
    d.times(axis, bottom + 66, seconds(20, 100, 20))
    d.high = bottom + 92
    return d


def _paint(member: str) -> Paint:
    return FIRST if member == SLEEPER else OTHER


def _signs(d: Sheet, run: Facts, axis: Axis, y: float, high: float) -> None:
    """A's signs of life, how long it is frozen, and when the group gives it up."""
    d.ground("signs", axis, y, high)
    # on a phone above the bracket and its words
    name = f"{SLEEPER}’s signs of life"
    d.name("signs", name, y - 40 * d.phone, high)
    colour = _paint(SLEEPER).fill
    for at_ms in run.signs_ms:
        x = axis.x(at_ms) - 1
        d.rect(f"sign/{at_ms}", x, y + 5, 2, high - 10, colour)
    if run.frozen_ms:
        begin_ms, end_ms = run.frozen_ms
        lasted = f"{(end_ms - begin_ms) / 1000:g} s"
        box = axis.box(begin_ms, end_ms, y, high)
        d.bar("frozen", box, STOPPED, f"frozen, {lasted}", lasted)
    if run.evicted_ms:
        last_ms = max(at for at in run.signs_ms if at < run.evicted_ms)
        silent = f"{(run.evicted_ms - last_ms) / 1000:.0f} s of silence: evicted"
        x, x2 = axis.x(last_ms), axis.x(run.evicted_ms)
        d.bracket("silent", x, x2, y - 12, silent, "ink")


def _out(d: Sheet, run: Facts, axis: Axis, y: float) -> None:
    """Between its sleep and its return it isn't in the group."""
    begin_ms = run.frozen_ms[1] if run.frozen_ms else 0
    back = [
        each.begin_ms
        for owned in run.owned
        for each in owned
        if each.member == SLEEPER and each.begin_ms > begin_ms
    ]
    x, x2 = axis.x(begin_ms), axis.x(min(back, default=run.end_ms))
    text = f"{SLEEPER} is out"
    if d.long(text) + 12 <= x2 - x:
        d.say("out", (x + x2) / 2, y, text, "quiet", anchor="middle")


def _payments(d: Sheet, run: Facts, axis: Axis, y: float) -> None:
    """Those of partition 0's orders; the one that is paid twice has its second payment
    below the first.
    """
    if not d.phone:
        d.say("paid/of", 0, y + 47, "of partition 0", "quiet")
    for each in run.paid:
        if each.order != ORDER:
            paint = _paint(each.member)
            x = min(max(axis.x(each.at_ms), axis.left + 3), axis.right - 3)
            d.circle(f"paid/{each.order}", x, y + 15, 2.5, paint.fill, paint.line)
    rows = (y + 15, y + 45)
    places = [
        Point(axis.x(each.at_ms), row)
        for each, row in zip(run.of_the_order, rows, strict=False)
    ]
    if run.frozen_ms:
        x = axis.x(run.frozen_ms[0])
        box = Box(x, y + 4, places[0].x - 10 - x, 22)
        d.bar("waits", box, WAITING, f"order {ORDER} waits", "waits")
    if run.rejected:
        places.append(Point(axis.x(run.rejected.at_ms), rows[1]))
    if len(places) > 1:
        (x, row), (x2, row2) = places
        way = f"M0,0V{row2 - row}H{x2 - x:g}"
        ink = "quiet" if run.rejected else TWICE
        d.path("twice", x, row, way, line=ink, width=2.5)
    first, *second = places
    payer = run.of_the_order[0].member
    text = f"{payer} pays order {ORDER}"
    middle = min(max(first.x, axis.left + d.long(text, bold=True) / 2), d.width)
    # above its mark, or where no second one is
    row = first.y - 25 if second else rows[1]
    look: Look = {"anchor": "middle", "bold": True, "halo": "paper"}
    d.say("order/first/said", middle, row, text, "quiet", **look)
    d.mark("order/first", *first, ORDER, _paint(payer), r=13)
    for place in second:
        _second_payment(d, run, place)


def _second_payment(d: Sheet, run: Facts, place: Point) -> None:
    """The order's second mark: in the table, or rejected because of its key."""
    again = "pays again" if d.phone else "pays it again"
    paid, words, ink = run.of_the_order[-1], again, TWICE
    if run.rejected:
        paid, words, ink = run.rejected, "is rejected", "actor3"
    text = "rejected" if run.rejected and d.phone else f"{paid.member} {words}"
    wide = d.long(text, bold=True)
    begin = place.x + 18 if place.x + 18 + wide < d.width else place.x - 18 - wide
    d.say("order/second/said", begin, place.y, text, ink, bold=True, halo="wash")
    paint = REJECTED if run.rejected else _paint(paid.member)._replace(line=TWICE)
    d.mark("order/second", *place, ORDER, paint, r=13)
    if run.rejected:
        strike = (place.x - 8, place.y + 8, place.x + 8, place.y - 8)
        d.line("order/second/strike", *strike, "quiet", width=2)


def words(run: Facts) -> str:
    parts = []
    if run.frozen_ms:
        begin_ms, end_ms = run.frozen_ms
        parts.append(f"{SLEEPER} is frozen for {(end_ms - begin_ms) / 1000:g} s")
    if run.evicted_ms:
        parts.append(f"the group evicts it at {run.evicted_ms / 1000:.0f} s")
    for each in run.of_the_order:
        parts.append(f"{each.member} pays order {ORDER} at {each.at_ms / 1000:.0f} s")
    if run.rejected:
        parts.append(f"{run.rejected.member} pays it again and is rejected")
    return ", ".join(parts)


FIGURE = Figure(read, draw, words)

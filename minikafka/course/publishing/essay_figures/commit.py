"""Figure 3: two lines of code, the place where billing is killed, and what is paid."""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.course.publishing.essay_figures.frame import (
    GONE,
    LOST,
    PLAIN,
    SECOND,
    Figure,
    Sheet,
    of_kind,
)
from minikafka.theatre.drawing import Box, Drawing, Look
from minikafka.trace import Event

LINES = {
    "works_first": ("pay(order)", "commit(order)"),
    "commits_first": ("commit(order)", "pay(order)"),
}
HEAD = "for order in orders:"
GAP = 6  # between two orders
PLACES = ("before the first line", "between the lines", "after the second line")


class Facts(NamedTuple):
    """lines: of the program. done: how many of them it had run for its last order when
    it was killed. committed: the last offset by then. began_again: the order that it got
    first afterwards. paid, paid_again: the orders that it paid before and afterwards.
    """

    lines: tuple[str, str]
    last: int
    done: int
    committed: int | None
    began_again: int
    orders: int
    paid: tuple[int, ...]
    paid_again: tuple[int, ...]


def read(trace: Sequence[Event]) -> Facts:
    program = of_kind(trace, "ProgramStarted")[0].detail["program"]
    crash = [event.kind for event in trace].index("NodeCrashed")
    first, later = trace[:crash], trace[crash:]
    last = _polled(first)[-1]
    is_paid = last in _paid(first)
    committed = [
        event.detail["offsets"][0][2] for event in of_kind(first, "CommitAcknowledged")
    ]
    return Facts(
        lines=LINES[program],
        last=last,
        done=is_paid + (last + 1 in committed),
        committed=committed[-1] if committed else None,
        began_again=_polled(later)[0],
        orders=len(of_kind(trace, "PartitionChosen")),
        paid=tuple(_paid(first)),
        paid_again=tuple(_paid(later)),
    )


def _polled(trace: Sequence[Event]) -> list[int]:
    """The orders that billing got."""
    polled = of_kind(trace, "RecordsPolled")
    return [record[0] for event in polled for record in event.detail["records"]]


def _paid(trace: Sequence[Event]) -> list[int]:
    return [event.detail["offset"] for event in of_kind(trace, "EffectWritten")]


def draw(run: Facts, runs: Sequence[Facts], width: int) -> Drawing:
    d = Sheet(width)
    if d.phone:
        _code(d, run, 0, width)
        _orders(d, run, 0, 188)
        d.high = 350
    else:
        _code(d, run, 0, 372)
        _orders(d, run, 440, 6)
        d.high = 170
    return d


def _code(d: Sheet, run: Facts, y: float, w: float) -> None:
    """The two lines, and the place where the program ends."""
    pitch = 48
    look: Look = {"large": True, "mono": True}
    d.rect("code", 0, y, w, 3 * pitch + 24, "wash", "rule", r=8)
    d.say("code/head", 16, y + 24, HEAD, **look)
    indent = 16 + d.long("    ", **look)
    after = indent + d.long("commit(order)", **look) + 12
    for number, line in enumerate(run.lines):
        row = y + 24 + pitch * (number + 1)
        d.say(f"code/{line}", indent, row, line, **look)
        if number < run.done:
            d.say(f"code/{line}/run", after, row, "✓", "actor3", large=True, bold=True)
    at = y + pitch * (run.done + 1)
    text = f"killed at order {run.last}"
    end = w - 14 - d.long(text, bold=True)
    d.level("kill/line", 20, end - 8, at, LOST, width=2, dash="5 4")
    d.cross("kill", 20, at)
    d.say("kill/words", end, at, text, LOST, bold=True)


def _orders(d: Sheet, run: Facts, x: float, y: float) -> None:
    """What billing worked on before it was killed and afterwards, and below each of the
    two what it paid; between them where it resumes.
    """
    pitch, high = (d.width - x - 2) / run.orders, 26

    def work(key: str, row: float, first: float, end: float) -> Box:
        box = Box(x + first * pitch, row, (end - first) * pitch - GAP, 20)
        d.rect(key, *box, "actor1", r=4)
        return box

    def paid(order: int, row: float) -> Box:
        return Box(x + order * pitch, row, pitch - GAP, high)

    before = work("before", y + 20, 0, run.last + 0.3 + run.done * 0.25)
    d.killed("before/kill", before.right, y + 8, before.bottom)
    beside = before.right + 16
    d.say("before/words", beside, before.y + 10, "until it is killed", "quiet")
    row = before.bottom + 5
    for order in run.paid:
        d.record(f"before/{order}", paid(order, row), f"{order} paid", large=False)
    for order in range(run.last + 1):
        if order not in run.paid + run.paid_again:
            box, text = paid(order, row), f"{order} lost"
            d.record(f"lost/{order}", box, text, GONE, large=False, dash="4 4", width=2)
    after = work("after", row + high + 38, run.began_again, run.orders)
    look: Look = {"anchor": "middle", "bold": True}
    middle, text = after.x + after.w / 2, "started again"
    d.say("after/words", middle, after.y + 10, text, "on1", **look)
    _flag(d, run, max(after.x - GAP / 2, 0), after.y - 14, after.bottom)
    for order in run.paid_again:
        is_second = order in run.paid
        text, paint = (
            (f"{order} again", SECOND) if is_second else (f"{order} paid", PLAIN)
        )
        box = paid(order, after.bottom + 5)
        d.record(f"after/{order}", box, text, paint, large=False)


def _flag(d: Sheet, run: Facts, x: float, y: float, bottom: float) -> None:
    """The committed offset: where billing begins again."""
    d.upright("committed/pole", x, y - 10, bottom, "ink", width=1.5, dash="2 3")
    text = "committed: none"
    if run.committed is not None:
        text = f"committed: {run.committed}"
    wide = d.long(text, bold=True) + 28
    box = Box(min(x, d.width - wide), y - 10, wide, 20)
    d.rect("committed", *box, "ink", r=3)
    look: Look = {"anchor": "middle", "bold": True}
    d.say("committed/words", box.x + wide / 2, y, text, "paper", **look)


def words(run: Facts) -> str:
    code = f"{HEAD} {run.lines[0]}, then {run.lines[1]}"
    return (
        f"The program: {code}. It is killed at order {run.last}, {PLACES[run.done]},"
        f" has committed {run.committed or 'nothing'},"
        f" and begins again at order {run.began_again}"
    )


FIGURE = Figure(read, draw, words)

"""Figure 2: orders on their way to the log, answers on their way back, and what the
second tries leave behind.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from minikafka.course.publishing.essay_figures.frame import (
    DONE,
    GONE,
    LOST,
    PLAIN,
    SECOND,
    TWICE,
    Figure,
    Paint,
    Sheet,
    of_kind,
)
from minikafka.theatre.drawing import Box, Drawing
from minikafka.theatre.text import in_words
from minikafka.trace import Event

ANSWERED, UNANSWERED, NOT_WRITTEN = "answered", "no answer", "not written"
ANSWER, ORDER = "answer", "order"

OVERTAKEN = GONE._replace(fill="paper")
MISSING = Paint("none", "rule", "quiet")  # it never arrived
ASIDE = 8  # of an order's middle: its way there, and its answer's way back


class Written(NamedTuple):
    """A record in the log. again: whether it is from another try than the first."""

    order: str
    again: bool
    is_copy: bool
    is_overtaken: bool


class Message(NamedTuple):
    """An order on its way to the broker, or the answer to it."""

    what: str
    order: str


class Facts(NamedTuple):
    """sent: the orders of the first tries; answered, arrived: those of them that were.
    breaks: what the connection breaks with, an answer or an order, or "" if it doesn't.
    dropped: second copies that the broker recognised. told: the orders that the shop
    hears are done.
    """

    sent: tuple[str, ...]
    answered: frozenset[str]
    arrived: frozenset[str]
    log: tuple[Written, ...]
    breaks: str
    dropped: tuple[str, ...]
    told: tuple[str, ...]

    def fate(self, order: str) -> str:
        """What became of its first try."""
        if order not in self.arrived:
            return NOT_WRITTEN
        return ANSWERED if order in self.answered else UNANSWERED

    @property
    def lost(self) -> Message | None:
        """What the connection breaks with; what was still on its way is lost, too."""
        return self.gone(self.breaks)[0] if self.breaks else None

    def gone(self, what: str) -> list[Message]:
        """All messages of this kind that don't arrive."""
        fate = UNANSWERED if what == ANSWER else NOT_WRITTEN
        return [Message(what, order) for order in self.sent if self.fate(order) == fate]


def read(trace: Sequence[Event]) -> Facts:
    orders = {}
    for event in of_kind(trace, "PartitionChosen"):
        orders[event.detail["batch"]] = event.detail["value"].removeprefix("order ")
    again_ms = min(
        (event.at for event in of_kind(trace, "BatchRetried")), default=10**9
    )
    log: list[Written] = []
    for event in of_kind(trace, "RecordsAppended"):
        for _, _, value, _ in event.detail["records"]:
            order = value.removeprefix("order ")
            before = [each.order for each in log]
            is_copy = order in before
            is_overtaken = not is_copy and any(each > order for each in before)
            log.append(Written(order, event.at > again_ms, is_copy, is_overtaken))
    done = of_kind(trace, "RecordsAcknowledged")
    lost = of_kind(trace, "MessageLost")
    return Facts(
        sent=tuple(orders.values()),
        answered=frozenset(
            orders[each.detail["batch"]] for each in done if each.at <= again_ms
        ),
        arrived=frozenset(each.order for each in log if not each.again),
        log=tuple(log),
        breaks=(ANSWER if lost[0].detail["answer"] else ORDER) if lost else "",
        dropped=tuple(
            log[event.detail["base_offset"]].order
            for event in of_kind(trace, "DuplicateRecognized")
        ),
        told=tuple(sorted(orders[each.detail["batch"]] for each in done)),
    )


class Row(NamedTuple):
    top: float
    bottom: float

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


class Grid(NamedTuple):
    """The log, the first tries above it and the second tries below: each try is in the
    column of the record that it writes.
    """

    left: float
    pitch: float
    first: Row
    log: Row
    again: Row

    def box(self, place: int, row: Row) -> Box:
        x = self.left + place * self.pitch
        return Box(x, row.top, self.pitch - 5, row.bottom - row.top)


def draw(run: Facts, runs: Sequence[Facts], width: int) -> Drawing:
    d = Sheet(width)
    left, high, way = (80, 30, 46) if d.phone else (148, 34, 54)
    first = Row(2, 2 + high)
    log = Row(first.bottom + way, first.bottom + way + high + 6)
    again = Row(log.bottom + way, log.bottom + way + high)
    pitch = (width - left + 3) / max(len(each.log) for each in runs)
    grid = Grid(left, pitch, first, log, again)
    _name(d, "sent/name", first, "shop" if d.phone else "the shop", "sends")
    _name(d, "log/name", log, "the log")
    if run.dropped or any(each.again for each in run.log):
        _name(d, "again/name", again, "it sends", "again")
    _first_tries(d, run, grid)
    for number, each in enumerate(run.log):
        paint = SECOND if each.is_copy else OVERTAKEN if each.is_overtaken else PLAIN
        d.record(f"log/{number}", grid.box(number, log), each.order, paint, width=2)
    _second_tries(d, run, grid)
    _beside(d, run, grid)
    hears = Row(again.bottom + 14, again.bottom + 38)
    _name(d, "told/name", hears, "it hears")
    told = f"✓ all {in_words(len(run.told))} are done"
    d.say("told", left, hears.middle, told, "actor3", bold=True)
    x = max(left + d.long(told, bold=True) + 24, grid.box(len(run.sent), log).x + 6)
    d.rect("answered/swatch", x, hears.middle - 6, 12, 12, DONE.fill, DONE.line, r=2)
    d.say("answered", x + 18, hears.middle, "answered", "quiet")
    d.high = hears.bottom + 4
    return d


def _name(d: Sheet, key: str, row: Row, *lines: str) -> None:
    """A row's name: on a phone its lines are below each other."""
    shown = lines if d.phone else (" ".join(lines),)
    for number, line in enumerate(shown):
        y = row.middle + 19 * (number - (len(shown) - 1) / 2)
        d.say(f"{key}/{number}", 0, y, line, bold=True)


def _first_tries(d: Sheet, run: Facts, grid: Grid) -> None:
    """Orders go down to the log, and answers back up, as far as they get."""
    top, bottom = grid.first.bottom, grid.log.top
    for place, order in enumerate(run.sent):
        key, fate = f"sent/{order}", run.fate(order)
        box = grid.box(place, grid.first)
        middle = box.x + box.w / 2
        if fate == NOT_WRITTEN:
            d.record(key, box, order, MISSING, dash="4 3")
            _lost(d, f"{key}/way", middle, top, bottom, run, Message(ORDER, order))
            continue
        d.record(key, box, order, DONE if fate == ANSWERED else PLAIN)
        _message(d, f"{key}/way", middle - ASIDE, top, bottom, "quiet")
        if fate == ANSWERED:
            _message(d, f"{key}/answer", middle + ASIDE, bottom, top, "actor3")
        else:
            answer = Message(ANSWER, order)
            _lost(d, f"{key}/answer", middle + ASIDE, bottom, top, run, answer)


def _second_tries(d: Sheet, run: Facts, grid: Grid) -> None:
    """All of them are answered. One that is dropped is below the record that the broker
    has already.
    """
    top, bottom = grid.log.bottom, grid.again.top
    places = [each.order for each in run.log]
    written = {n: each.order for n, each in enumerate(run.log) if each.again}
    dropped = {places.index(order): order for order in run.dropped}
    for place, order in (written | dropped).items():
        is_dropped = place in dropped
        key = f"dropped/{order}" if is_dropped else f"again/{place}"
        dash = "4 3" if is_dropped else None
        box = grid.box(place, grid.again)
        middle = box.x + box.w / 2
        d.record(key, box, order, DONE, dash=dash)
        _message(d, f"{key}/way", middle - ASIDE, bottom, top, "quiet", dash=dash)
        _message(d, f"{key}/answer", middle + ASIDE, top, bottom, "actor3")


def _message(
    d: Sheet, key: str, x: float, y: float, y2: float, line: str, **look: Any
) -> None:
    """An arrow up or down, which arrives."""
    down = 1 if y2 > y else -1
    end = y2 - 3 * down
    d.upright(key, x, y + 4 * down, end - 7 * down, line, width=2, **look)
    d.path(f"{key}/head", x, end, f"M0,0l-5,{-9 * down}h10z", fill=line)


def _lost(
    d: Sheet, key: str, x: float, y: float, y2: float, run: Facts, message: Message
) -> None:
    """It ends halfway, with a cross: in red where it is the one that gets lost."""
    down, middle = (1 if y2 > y else -1), (y + y2) / 2
    line, width = (LOST, 3) if message == run.lost else ("quiet", 2)
    d.upright(key, x, y + 4 * down, middle, line, width=width)
    cross = "M-5,-5l10,10m0,-10l-10,10"
    d.path(f"{key}/cross", x, middle, cross, line=line, width=width)


def _beside(d: Sheet, run: Facts, grid: Grid) -> None:
    """What got lost, and what became of the log: right of the first tries."""
    x = grid.box(len(run.sent), grid.log).x + 6
    if run.lost:
        row, pitch = grid.first.top + 6, 19
        text = f"{run.lost.what} {run.lost.order} lost"
        d.say("lost", x, row, text, LOST, bold=True)
        others = [
            _range(what, [each.order for each in gone])
            for what in (ANSWER, ORDER)
            if (gone := [each for each in run.gone(what) if each != run.lost])
        ]
        lines = [f"and {each}" for each in others]
        if others and not d.phone:
            lines = [f"and with its connection {' and '.join(others)}"]
        for number, line in enumerate(lines, start=1):
            d.say(f"broken/{number}", x, row + number * pitch, line, "quiet")
    copies = [each.order for each in run.log if each.is_copy]
    if copies:
        text = "second copies" if len(copies) > 1 else "second copy"
        _swatch(d, "copies", x, grid.log.top - 14, text, SECOND, TWICE)
    if any(each.is_overtaken for each in run.log):
        end = grid.box(len(run.log), grid.log).x + 6 * (not d.phone)
        _swatch(d, "overtaken", end, grid.log.middle, "overtaken", OVERTAKEN, LOST)
    if run.dropped:
        text = f"{_range('order', run.dropped)} dropped"
        d.say("dropped", x, grid.again.middle, text, "quiet", bold=True)


def _swatch(
    d: Sheet, key: str, x: float, y: float, text: str, paint: Paint, ink: str
) -> None:
    """What the records in this paint are."""
    d.rect(f"{key}/swatch", x, y - 6, 12, 12, paint.fill, paint.line, r=2, width=2)
    d.say(key, x + 16, y, text, ink, bold=True)


def _range(what: str, orders: Sequence[str]) -> str:
    """ "order 1", or "orders 1–3"."""
    if len(orders) == 1:
        return f"{what} {orders[0]}"
    return f"{what}s {orders[0]}–{orders[-1]}"


def words(run: Facts) -> str:
    log = " ".join(each.order for each in run.log)
    dropped = f" Dropped: {' '.join(run.dropped)}." if run.dropped else ""
    return f"The log: {log}.{dropped} The shop hears that {len(run.told)} are done"


FIGURE = Figure(read, draw, words)

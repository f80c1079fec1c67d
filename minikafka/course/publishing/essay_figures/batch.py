"""Figure 2: the log that a producer's second tries leave behind."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from minikafka.course.publishing.essay_figures.frame import (
    GONE,
    LOST,
    PLAIN,
    SECOND,
    Figure,
    Paint,
    Sheet,
    of_kind,
)
from minikafka.theatre.drawing import Box, Drawing
from minikafka.trace import Event

ANSWERED, UNANSWERED, NOT_WRITTEN = "answered", "no answer", "not written"

OVERTAKEN = GONE._replace(fill="paper")
MISSING = Paint("none", "rule", "quiet")  # it never arrived


class Written(NamedTuple):
    """A record in the log. again: whether it is from another try than the first."""

    order: str
    again: bool
    is_copy: bool
    is_overtaken: bool


class Facts(NamedTuple):
    """sent: the orders of the first tries; answered, arrived: those of them that were.
    dropped: second copies that the broker recognised. told: the orders that the shop
    hears are done.
    """

    sent: tuple[str, ...]
    answered: frozenset[str]
    arrived: frozenset[str]
    log: tuple[Written, ...]
    dropped: tuple[str, ...]
    told: tuple[str, ...]

    def fate(self, order: str) -> str:
        """What became of its first try."""
        if order not in self.arrived:
            return NOT_WRITTEN
        return ANSWERED if order in self.answered else UNANSWERED


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
    return Facts(
        sent=tuple(orders.values()),
        answered=frozenset(
            orders[each.detail["batch"]] for each in done if each.at <= again_ms
        ),
        arrived=frozenset(each.order for each in log if not each.again),
        log=tuple(log),
        dropped=tuple(
            log[event.detail["base_offset"]].order
            for event in of_kind(trace, "DuplicateRecognized")
        ),
        told=tuple(sorted(orders[each.detail["batch"]] for each in done)),
    )


class Places(NamedTuple):
    """Where the records of a row are."""

    left: float
    pitch: float
    high: float

    def box(self, number: int, y: float) -> Box:
        return Box(self.left + number * self.pitch, y, self.pitch - 6, self.high)


def draw(run: Facts, runs: Sequence[Facts], width: int) -> Drawing:
    d = Sheet(width)
    left = 0 if d.phone else 148
    most = max(len(each.log) + len(each.dropped) for each in runs)
    places = Places(left, (width - left - 2) / most, 40 if d.phone else 48)
    sent = places
    if d.phone:  # wider, for the words over a single order
        sent = Places(0, (width - 2) / len(run.sent), 26)
    y = _sent(d, run, sent, 4) + 18
    y = _log(d, run, places, y)
    d.high = _told(d, run, places._replace(high=30), y) + 6
    return d


def _title(d: Sheet, key: str, y: float, high: float, text: str) -> float:
    """A row's name: beside it, or above it. Returns where the row begins."""
    d.say(f"{key}/name", 0, y + 8 if d.phone else y + high / 2, text, bold=True)
    return y + 22 * d.phone


def _sent(d: Sheet, run: Facts, places: Places, y: float) -> float:
    """The first tries, and how they ended. Returns the right edge."""
    y = _title(d, "sent", y + 34 * (not d.phone), places.high, "the shop sends")
    y += 34 * d.phone
    for number, order in enumerate(run.sent):
        box = places.box(number, y)
        if order in run.arrived:
            d.record(f"sent/{order}", box, order)
        else:
            d.record(f"sent/{order}", box, order, MISSING, dash="4 3")
    _brackets(d, "fate", places, y, [run.fate(order) for order in run.sent])
    return y + places.high


def _brackets(
    d: Sheet, key: str, places: Places, y: float, names: Sequence[str]
) -> None:
    """Over neighbours that have one name."""
    place = 0
    for name, same in groupby(names):
        last = place + len(list(same)) - 1
        x, x2 = places.box(place, y).x, places.box(last, y).right
        ink = LOST if name in (UNANSWERED, NOT_WRITTEN) else "quiet"
        d.bracket(f"{key}/{place}", x + 2, x2 - 2, y - 14, name, ink)
        place = last + 1


def _log(d: Sheet, run: Facts, places: Places, y: float) -> float:
    """The log, with the records of the first tries and of those after them, and beside
    it what the broker had already.
    """
    y = _title(d, "log", y + 34 * (not d.phone), places.high, "the log")
    y += 34 * d.phone
    tries = ["sent again" if each.again else "first try" for each in run.log]
    tries += ["dropped" if d.phone else "sent again, dropped"] * len(run.dropped)
    _brackets(d, "try", places, y, tries)
    for number, each in enumerate(run.log):
        paint = SECOND if each.is_copy else OVERTAKEN if each.is_overtaken else PLAIN
        d.record(f"log/{number}", places.box(number, y), each.order, paint, width=2)
    for number, order in enumerate(run.dropped, start=len(run.log)):
        d.cut(f"dropped/{number}", places.box(number, y), order, is_lost=False)
    x, row = places.left, y + places.high + 12
    for text, paint, is_there in (
        ("a second copy", SECOND, any(each.is_copy for each in run.log)),
        ("overtaken", OVERTAKEN, any(each.is_overtaken for each in run.log)),
    ):
        if is_there:
            d.rect(f"key/{text}", x, row, 14, 14, paint.fill, paint.line, r=3, width=2)
            d.say(f"key/{text}/words", x + 21, row + 7, text)
            x += 150
    return y + places.high + 46


def _told(d: Sheet, run: Facts, places: Places, y: float) -> float:
    """What the shop hears."""
    y = _title(d, "told", y, places.high, "in the end it hears")
    for number, order in enumerate(run.told):
        box = places.box(number, y)
        text = f"{order} ✓" if d.phone else f"{order} done ✓"
        d.bar(f"told/{order}", box, Paint("good"), text)
    return y + places.high


def words(run: Facts) -> str:
    log = " ".join(each.order for each in run.log)
    dropped = f" Dropped: {' '.join(run.dropped)}." if run.dropped else ""
    return f"The log: {log}.{dropped} The shop hears that {len(run.told)} are done"


FIGURE = Figure(read, draw, words)

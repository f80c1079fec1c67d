"""Figure 2: the log that a producer's second tries leave behind."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from minikafka.course.publishing.essay_figures.frame import (
    LOST,
    ON,
    TWICE,
    Figure,
    Sheet,
    of_kind,
)
from minikafka.theatre.drawing import Drawing
from minikafka.trace import Event

ANSWERED, UNANSWERED, NOT_WRITTEN = "answered", "no answer", "not written"


class Written(NamedTuple):
    """A record in the log. again: whether it is from another try than the first."""

    order: str
    again: bool
    is_copy: bool
    is_overtaken: bool


class Facts(NamedTuple):
    """sent: the orders of the first tries; answered, arrived: those of them that were.
    told: the orders that the shop hears are done.
    """

    sent: tuple[str, ...]
    answered: frozenset[str]
    arrived: frozenset[str]
    log: tuple[Written, ...]
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
        told=tuple(sorted(orders[each.detail["batch"]] for each in done)),
    )


def draw(run: Facts, runs: Sequence[Facts], width: int) -> Drawing:
    most = max(len(each.log) for each in runs)
    phone = width < 900
    left = 0 if phone else 130
    pitch = (width - left - 2) / most
    high = 40 if phone else 48
    d = Sheet(width, 216 if phone else 268)
    y = 4
    for name, part in (("sent", _sent), ("log", _log), ("told", _told)):
        if phone and name == "sent":
            continue
        y = part(d, run, left, y, pitch, high)
    return d


def _title(d: Sheet, key: str, y: float, high: float, text: str) -> float:
    """A row's name: beside it, or above it. Returns where the row begins."""
    if d.phone:
        d.say(f"{key}/name", 0, y + 8, text, bold=True)
        return y + 22
    d.say(f"{key}/name", 0, y + high / 2, text, bold=True)
    return y


def _sent(
    d: Sheet, run: Facts, left: float, y: float, pitch: float, high: float
) -> float:
    """The first tries, and what became of each."""
    _title(d, "sent", y, high, "the shop sends")
    for number, order in enumerate(run.sent):
        x = left + number * pitch
        look = ("cell", "rule", "ink") if order in run.arrived else ("none", LOST, LOST)
        d.record(f"sent/{order}", x, y, pitch - 6, high, order, *look)
    place = 0
    for fate, orders in groupby(run.sent, run.fate):
        count = len(list(orders))
        middle = left + (place + count / 2) * pitch - 3
        ink = "quiet" if fate == ANSWERED else LOST
        d.say(f"fate/{fate}", middle, y + high + 14, fate, ink, anchor="middle")
        place += count
    return y + high + 36


def _log(
    d: Sheet, run: Facts, left: float, y: float, pitch: float, high: float
) -> float:
    """The log, with the records of the first tries and of those after them."""
    y = _title(d, "log", y + (0 if d.phone else 34), high, "the log")
    if d.phone:
        y += 34
    place = 0
    for again, records in groupby(run.log, lambda each: each.again):
        count = len(list(records))
        text = "sent again" if again else "first try"
        x, x2 = left + place * pitch, left + (place + count) * pitch - 6
        d.bracket(f"try/{again}", x + 2, x2 - 2, y - 14, text, "quiet")
        place += count
    for number, each in enumerate(run.log):
        fill, line, ink = "cell", "rule", "ink"
        if each.is_copy:
            fill, line, ink = TWICE, TWICE, ON[TWICE]
        elif each.is_overtaken:
            fill, line, ink = "paper", LOST, LOST
        x = left + number * pitch
        d.record(
            f"log/{number}", x, y, pitch - 6, high, each.order, fill, line, ink, width=2
        )
    for key, colour, text, at in (
        ("copy", TWICE, "a second copy", 0),
        ("overtaken", LOST, "overtaken", 1),
    ):
        if any(
            each.is_copy if key == "copy" else each.is_overtaken for each in run.log
        ):
            x = left + at * 150
            fill = colour if key == "copy" else "paper"
            d.rect(f"key/{key}", x, y + high + 12, 14, 14, fill, colour, r=3, width=2)
            d.say(f"key/{key}/words", x + 21, y + high + 19, text)
    return y + high + 46


def _told(
    d: Sheet, run: Facts, left: float, y: float, pitch: float, high: float
) -> float:
    """What the program hears."""
    y = _title(d, "told", y, 30, "the shop hears")
    for number, order in enumerate(run.told):
        x = left + number * pitch
        d.rect(f"told/{order}", x, y, pitch - 6, 30, "good", r=5)
        text = f"{order} ✓" if d.phone else f"{order} done ✓"
        d.say(f"told/{order}/words", x + (pitch - 6) / 2, y + 15, text, anchor="middle")
    return y + 30


def words(run: Facts) -> str:
    log = " ".join(each.order for each in run.log)
    return f"The log: {log}. The shop hears that {len(run.told)} orders are done"


FIGURE = Figure(read, draw, words)

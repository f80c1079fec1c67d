"""Figure 1: the key, the remainder, and the partitions: where Alice's two records are,
and in which order shipping reads them.
"""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.course.publishing.essay_figures.frame import (
    LOST,
    LUCK,
    MARK,
    PLAIN,
    Figure,
    Sheet,
    of_kind,
)
from minikafka.theatre.drawing import Box, Drawing, Look, Point
from minikafka.trace import Event

PAINT = {"created": PLAIN, "paid": MARK}

GUTTER = 38  # of a phone, where the sums lead down to their partitions


class Chosen(NamedTuple):
    """A record, with the sum that leads to its partition."""

    value: str
    key: str
    partitions: int
    partition: int


class Facts(NamedTuple):
    """read: the values in the order in which shipping got them."""

    written: tuple[Chosen, ...]
    partitions: int
    read: tuple[str, ...]


def read(trace: Sequence[Event]) -> Facts:
    written = []
    for event in of_kind(trace, "PartitionChosen"):
        d = event.detail
        written.append(Chosen(d["value"], d["key"], d["partitions"], d["partition"]))
    values = [
        value
        for event in of_kind(trace, "RecordsPolled")
        for _, _, value in event.detail["records"]
    ]
    return Facts(tuple(written), written[-1].partitions, tuple(values))


def draw(run: Facts, runs: Sequence[Facts], width: int) -> Drawing:
    d = Sheet(width)
    pitch, high, wide = (36, 30, 86) if d.phone else (46, 36, 92)
    top = 144 if d.phone else 30
    left, right = (GUTTER, 266) if d.phone else (420, 680)
    rows = [top + number * pitch for number in range(max(r.partitions for r in runs))]
    d.say("title", left, top - 16, "the partitions", "quiet")
    d.say("writes", left * d.phone, 10 if d.phone else 14, "the shop writes", "quiet")
    for number, y in enumerate(rows):
        if number < run.partitions:
            d.rect(f"row/{number}", left, y, right - left, high, "wash", "rule", r=5)
            d.say(
                f"row/{number}/name", left + 10, y + high / 2, f"P{number}", bold=True
            )
        else:
            d.level(f"row/{number}", left, right, y + high / 2, "rule", dash="2 5")
    # the place of a sum: above the partitions, or on their left
    sums_y = (36, 90) if d.phone else (rows[1] - 5, rows[-2] - 15)
    taken: set[int] = set()
    for each, y in zip(run.written, sums_y, strict=True):
        home = Box(
            left + (40 if d.phone else 46), rows[each.partition] + 3, wide, high - 6
        )
        if each.partition in taken:
            home = home._replace(x=home.right + 8)
        taken.add(each.partition)
        d.record(each.value, home, each.value, PAINT[each.value])
        # whose home is lower has its line on the outside
        is_lower = each.partition == max(other.partition for other in run.written)
        aside = GUTTER - (30 if is_lower else 16)
        _sum(d, each, y, wide, Point(left - 4, home.y + home.h / 2), aside)
    _grows(d, run, sum(sums_y) / 2, left)
    _shipping(d, run, rows, Point(right, high / 2), wide)
    d.high = rows[-1] + pitch
    return d


def _sum(
    d: Sheet, each: Chosen, y: float, wide: float, home: Point, aside: float
) -> None:
    """A record's sum, which leads to its home. aside: where its line goes down, on a
    phone.
    """
    key = f"sum/{each.value}"
    high, left = (24, GUTTER) if d.phone else (30, 0)
    d.record(key, Box(left, y - high / 2, wide, high), each.value, PAINT[each.value])
    # what changes is bold: the count of partitions, and what remains
    parts = ((f"hash({each.key}) %", each.partitions), ("=", each.partition))
    look: Look = {"large": not d.phone, "mono": True}
    letter = d.long("0", **look)
    x = left + wide + 12
    for number, (text, value) in enumerate(parts):
        d.say(f"{key}/sum/{number}", x, y, text, **look)
        x += d.long(text, **look) + letter
        d.say(f"{key}/value/{number}", x, y, str(value), bold=True, **look)
        x += 2 * letter
    if d.phone:  # around what is between them
        way = f"M0,0h{aside - left}V{home.y - y:g}h{home.x - 4 - aside:g}"
        d.path(f"{key}/tip", left, y, way, line="quiet", width=1.5)
        d.path(f"{key}/tip/head", *home, "M0,0l-8,-4.5v9z", fill="quiet")
    else:
        d.tip(f"{key}/tip", x, y, *home)


def _grows(d: Sheet, run: Facts, y: float, left: float) -> None:
    """Between the two records the topic grows. left: where the partitions begin."""
    before, now = (each.partitions for each in run.written)
    text = (
        f"{before} → {now} partitions" if now != before else f"still {now} partitions"
    )
    begin = GUTTER if d.phone else 0
    end = d.width if d.phone else left - 100
    look: Look = {"bold": now != before}
    words = begin + d.long(text, **look) + 12
    d.say("grows", begin, y, text, **look)
    d.level("grows/line", words, end, y, "quiet", dash="4 4")


def _shipping(
    d: Sheet, run: Facts, rows: Sequence[float], begin: Point, wide: float
) -> None:
    """What shipping reads, from above to below. begin: of the arrows, from a row on."""
    home = {each.value: each.partition for each in run.written}
    is_apart = len(set(home.values())) > 1
    is_late = list(run.read) != list(home)
    colour = LOST if is_late else LUCK if is_apart else "quiet"
    x, middle = d.width - wide - 3, (rows[0] + rows[-1]) / 2 + begin.y
    d.say("shipping", d.width, middle - 66, "shipping reads", "quiet", anchor="end")
    for number, value in enumerate(run.read):
        box = Box(x, middle - 46 + number * 56, wide, 36)
        key, y = f"read/{value}", box.y + 18
        paint = PAINT[value]._replace(line=colour)
        d.record(key, box, value, paint, width=2.5)
        d.say(f"{key}/number", x - 12, y, str(number + 1), bold=True, anchor="end")
        aside = 0 if is_apart else 8 * number - 4
        start = rows[home[value]] + begin.y + aside
        d.tip(f"{key}/tip", begin.x + 4, start, x - 26, y, colour)
    if is_apart:
        look: Look = {"anchor": "end", "bold": True}
        text = "out of order" if is_late else "by luck"
        d.say("shipping/ends", d.width, middle + 66, text, colour, **look)


def words(run: Facts) -> str:
    where = ", ".join(
        f"{each.value} in partition {each.partition}" for each in run.written
    )
    order = ", then ".join(run.read)
    return f"{run.partitions} partitions: {where}. Shipping reads {order}"


FIGURE = Figure(read, draw, words)

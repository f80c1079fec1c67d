"""Figure 1: the key, the remainder, and the partitions: where Alice's two records are,
and in which order billing reads them.
"""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.course.publishing.essay_figures.frame import (
    LOST,
    LUCK,
    Figure,
    Sheet,
    of_kind,
)
from minikafka.theatre.drawing import Drawing
from minikafka.trace import Event


class Chosen(NamedTuple):
    """A record, with the sum that leads to its partition."""

    value: str
    key: str
    partitions: int
    partition: int


class Facts(NamedTuple):
    """read: the values in the order in which billing got them."""

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
    most = max(each.partitions for each in runs)
    phone = width < 900
    pitch, high, wide = (36, 30, 82) if phone else (46, 36, 92)
    top = 98 if phone else 30
    left, right = (0, 262) if phone else (420, 680)
    d = Sheet(width, top + most * pitch + 4)
    rows = [top + number * pitch for number in range(most)]
    _partitions(d, run, rows, left, right, high)
    fill = {"created": ("cell", "ink"), "paid": ("actor3", "on3")}

    for number, each in enumerate(run.written):
        y = rows[each.partition]
        sums = f"hash({each.key}) % {each.partitions} = {each.partition}"
        is_second = number > 0 and each.partition == run.written[0].partition
        x = left + (66 if phone else 60) + (wide + 8 if is_second else 0)
        paint, ink = fill[each.value]
        d.record(each.value, x, y + 3, wide, high - 6, each.value, paint, "rule", ink)
        if phone:
            line = 12 + 30 * number
            d.record(
                f"sum/{number}/record",
                0,
                line - 12,
                wide,
                24,
                each.value,
                paint,
                "rule",
                ink,
            )
            d.say(f"sum/{number}/words", wide + 12, line, sums, mono=True)
        else:
            line = (
                (rows[0] + rows[1] + high) / 2
                if number == 0
                else (rows[-1] + rows[-3]) / 2 + 8
            )
            d.record(
                f"sum/{number}/record",
                0,
                line - 15,
                wide,
                30,
                each.value,
                paint,
                "rule",
                ink,
            )
            d.say(f"sum/{number}/words", wide + 12, line, sums, large=True, mono=True)
            start = wide + 12 + d.long(sums, large=True, mono=True) + 10
            d.tip(f"sum/{number}/tip", start, line, left - 6, y + high / 2)
    _billing(d, run, rows, right, high, wide, fill)
    return d


def _partitions(
    d: Sheet, run: Facts, rows: Sequence[float], left: float, right: float, high: float
) -> None:
    """A row for each; those that don't exist in this run are dotted."""
    if d.phone:
        d.say("title", left, rows[0] - 14, "partitions", "quiet")
    else:
        d.say("title", left, 12, "the partitions", "quiet")
    for number, y in enumerate(rows):
        if number < run.partitions:
            d.rect(f"row/{number}", left, y, right - left, high, "wash", "rule", r=5)
            d.say(
                f"row/{number}/name", left + 12, y + high / 2, f"P{number}", bold=True
            )
        else:
            d.level(f"row/{number}", left, right, y + high / 2, "rule", dash="2 5")


def _billing(
    d: Sheet,
    run: Facts,
    rows: Sequence[float],
    right: float,
    high: float,
    wide: float,
    fill: dict[str, tuple[str, str]],
) -> None:
    """What billing reads, from above to below."""
    home = {each.value: each.partition for each in run.written}
    is_apart = len(set(home.values())) > 1
    is_late = list(run.read) != [each.value for each in run.written]
    colour = LOST if is_late else LUCK if is_apart else "quiet"
    x = d.width - wide - 3
    middle = (rows[0] + rows[-1] + high) / 2
    d.say("billing", d.width, middle - 66, "billing reads", "quiet", anchor="end")
    for number, value in enumerate(run.read):
        y = middle - 46 + number * 56
        paint, ink = fill[value]
        d.record(f"read/{value}", x, y, wide, 36, value, paint, colour, ink, width=2.5)
        d.say(
            f"read/{number}/number",
            x - 12,
            y + 18,
            str(number + 1),
            bold=True,
            anchor="end",
        )
        begin = rows[home[value]] + high / 2
        if len(set(home.values())) == 1:
            begin += 8 * number - 4
        d.tip(f"read/{value}/tip", right + 4, begin, x - 26, y + 18, colour)


def words(run: Facts) -> str:
    where = ", ".join(
        f"{each.value} in partition {each.partition}" for each in run.written
    )
    return f"{run.partitions} partitions: {where}. Billing reads {', then '.join(run.read)}"


FIGURE = Figure(read, draw, words)

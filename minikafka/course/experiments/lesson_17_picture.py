"""The picture at the top of lesson 17: how far the lesson's Spark query had read when
it ended, and what came since.
"""

import ast
import re
from collections.abc import Mapping

from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

# What the lesson's cell "checkpoint" has printed of its run on Spark 4.2.1: partition
# -> the offset at which a micro-batch ends. A test compares it with the notebook.
RECORDED = {
    0: {0: 256, 1: 97, 2: 147},
    1: {0: 316, 1: 113, 2: 179},
}
PLACES = ("in the query's memory?", "in the group's offsets?", "in a folder?")

_PLAN = re.compile(r"micro-batch (\d) ends in orders-eu at (\{.*\})")
_TOP, _LANE, _TALL = 34, 76, 34  # of the first bar; from bar to bar; a bar
# where offset 0 is, and where the longest bar ends; on a phone
_BARS, _SMALL = (36, 540), (32, 246)
_SIDE = 664  # where the question is

Offsets = Mapping[int, int]


def printed(text: str) -> dict[int, dict[int, int]]:
    """What the lesson's cell prints of its checkpoint, as data."""
    found = {}
    for batch, offsets in _PLAN.findall(text):
        plan = ast.literal_eval(offsets)
        found[int(batch)] = {int(number): end for number, end in plan.items()}
    return found


def a_query_that_has_stopped(width: int = WIDE) -> str:
    """SVG: what is read, and what isn't. Where the query's position is kept is the
    lesson's to say.
    """
    read, ends = RECORDED.values()
    body = Drawing(width)
    left, right = _SMALL if body.phone else _BARS
    longest = max(ends.values())
    for number, end in ends.items():
        lane = body.part(f"lane/{number}", 0, _TOP + number * _LANE)
        lane.text("name", 0, 22, f"P{number}", bold=True, size=15)
        bars = lane.part("bars", left, 0)
        _bars(bars, read[number], end, scale=(right - left) / longest)
    if body.phone:
        _question(body.part("query", 0, _TOP + len(ends) * _LANE), width, read)
    else:
        _question(body.part("query", _SIDE, 6), width - _SIDE, read)
    total, unread = sum(read.values()), sum(ends.values()) - sum(read.values())
    said = (
        f"The query read {total} records and was stopped. {unread} more have come."
        " Where is its position written down?"
    )
    return svg(
        body,
        title="orders: three partitions, one Spark query",
        scenario="the lesson's own run, on Spark 4.2",
        sentence=said,
        corner="availableNow",
        time="stopped",
        alt=f"{said} It has read up to offsets {_by_partition(read)}.",
    )


def _bars(lane: Drawing, read: int, end: int, scale: float) -> None:
    """A partition to scale: what is read, the query's place, and what has come
    since.
    """
    here, right = read * scale, end * scale
    lane.rect("read", 0, 0, here, _TALL, "actor1", r=4)
    lane.rect("more", here, 0, right - here, _TALL, "paper", "ink", r=4, dash="4 3")
    words = f"{read} read"
    left, size = (6, 13) if lane.phone else (12, 14)
    lane.text("read/word", left, 22, words, "on1", size=size, bold=True)
    lane.upright("query", here, -9, _TALL + 8, "ink", width=3)
    lane.disc("query/letter", here, -12, 10, "S", 0, 12)
    lane.note("first", 0, _TALL + 18, "0", "middle", size=13)
    lane.text(
        "offset", here, _TALL + 22, str(read), mono=True, bold=True, anchor="middle"
    )
    lane.text("end", right + 8, 22, f"end offset {end}", size=13)


def _question(box: Drawing, width: float, read: Offsets) -> None:
    """The query, which isn't running, and where it might have its offsets."""
    box.rect("box", 0, 0, width, 236, "wash", "rule", r=10, dash="6 5", width=1.5)
    box.disc("letter", 26, 28, 12, "S", 0, 14, fade=0.55)
    box.text("name", 46, 33, "the Spark query", bold=True, size=15)
    box.note("state", 46, 52, "not running")
    box.text("offsets", 14, 92, _by_partition(read), mono=True, bold=True, size=17)
    box.note("where", 14, 114, "where is this written down?", size=13.5)
    y = 128
    for place in PLACES:
        box.rect(f"place/{place}", 14, y, width - 28, 27, "paper", "rule", r=6)
        box.text(f"place/{place}/words", 26, y + 18, place, size=13.5)
        y += 34


def _by_partition(offsets: Offsets) -> str:
    return ", ".join(map(str, offsets.values()))

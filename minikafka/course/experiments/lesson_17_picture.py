"""The picture at the top of lesson 17: a topic, and a Spark query that has stopped in
it. Who knows where?
"""

from collections import Counter

from minikafka.clients.partitioners import murmur2, to_positive
from minikafka.course.data import dataset
from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

PARTITIONS = 3
READ = 500  # records that were there at the first start; the rest came later
SEED = 7

_LANE, _CELL, _HEIGHT = 66, 40, 30
_LEFT, _SIDE = 96, 620  # where lanes begin, where the checkpoint stands

Offsets = dict[int, int]


def a_query_that_has_stopped() -> str:
    """SVG: 500 records read, 108 not yet. The offsets are the lesson's own, by its data
    set and Kafka's partitioner.
    """
    keys = [
        event.key or b""
        for event in dataset("orders").stream("orders", count=600, seed=SEED)
    ]
    homes = [to_positive(murmur2(key)) % PARTITIONS for key in keys]
    read, ends = Counter(homes[:READ]), Counter(homes)
    body = Drawing(WIDE)
    for partition in range(PARTITIONS):
        _lane(body, partition, read[partition], ends[partition])
    _question(body, {partition: read[partition] for partition in range(PARTITIONS)})
    _broker(body, {partition: ends[partition] for partition in range(PARTITIONS)})
    said = (
        f"The query has read {READ} of {len(keys)} records and has stopped. Who"
        " remembers where it stood?"
    )
    return svg(
        body,
        title="orders: three partitions, one Spark query",
        scenario=f"{READ} records were there when the query ran; it is not running now",
        sentence=said,
        corner=f"seed {SEED}",
        time="stopped",
        alt=f"{said} The broker knows where the partitions end.",
    )


def _lane(body: Drawing, partition: int, read: int, end: int) -> None:
    y = 26 + partition * _LANE
    name = f"lane/{partition}"
    body.text(f"{name}/name", 0, y + 20, f"partition {partition}", bold=True)
    x = float(_LEFT)
    for offset in (0, 1, None, read - 1, read, None, end - 1):
        if offset == read:
            body.line(
                f"{name}/query", x + 3, y - 6, x + 3, y + _HEIGHT + 6, "actor1", width=3
            )
            body.circle(f"{name}/letter", x + 3, y - 12, 9, "actor1")
            body.text(
                f"{name}/letter/word",
                x + 3,
                y - 8,
                "S",
                "on1",
                size=12,
                bold=True,
                anchor="middle",
            )
            unread = x + 8
            x += 8
        later = x > _LEFT + 4 * _CELL
        width = _CELL if offset is not None else _CELL * 1.6
        if offset is None:
            body.text(
                f"{name}/gap/{x:.0f}",
                x + width / 2,
                y + 19,
                "· · ·",
                "quiet",
                anchor="middle",
            )
        else:
            body.rect(
                f"{name}/{offset}",
                x,
                y,
                width - 3,
                _HEIGHT,
                "paper" if later else "cell",
                "rule",
                r=4,
            )
            middle = x + (width - 3) / 2
            body.text(
                f"{name}/{offset}/number",
                middle,
                y + 20,
                str(offset),
                size=12,
                mono=True,
                anchor="middle",
            )
        x += width
    body.line(f"{name}/lag", unread, y + _HEIGHT + 7, x - 3, y + _HEIGHT + 7, "quiet")
    body.text(
        f"{name}/lag/word",
        x - 3,
        y + _HEIGHT + 21,
        f"{end - read} not read yet",
        "quiet",
        size=12,
        anchor="end",
    )
    body.text(f"{name}/end", x + 8, y + 20, f"end offset {end}", size=12, mono=True)


def _question(body: Drawing, read: Offsets) -> None:
    body.rect("question", _SIDE, 8, WIDE - _SIDE, 118, "wash", "actor1", r=8)
    body.circle("question/letter", _SIDE + 20, 28, 9, "actor1")
    body.text(
        "question/letter/word",
        _SIDE + 20,
        32,
        "S",
        "on1",
        size=12,
        bold=True,
        anchor="middle",
    )
    body.text("question/name", _SIDE + 36, 33, "the query has read up to", bold=True)
    body.text(
        "question/offsets",
        _SIDE + 14,
        66,
        ", ".join(map(str, read.values())),
        mono=True,
    )
    body.text("question/who", _SIDE + 14, 104, "who remembers?", "quiet")


def _broker(body: Drawing, ends: Offsets) -> None:
    body.rect("broker", _SIDE, 140, WIDE - _SIDE, 76, "wash", "rule", r=8)
    body.text("broker/name", _SIDE + 14, 168, "the broker", bold=True)
    body.text(
        "broker/ends",
        _SIDE + 14,
        196,
        "end offsets " + ", ".join(map(str, ends.values())),
        mono=True,
    )

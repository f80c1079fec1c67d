"""The picture at the top of lesson 17: a topic, a Spark query that stands in it, the checkpoint that knows where."""

from __future__ import annotations

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


def a_query_and_its_checkpoint() -> str:
    """SVG: 500 records read, 108 not yet. The offsets are the lesson's own, by its data set and Kafka's partitioner."""
    keys = [event.key or b"" for event in dataset("orders").stream("orders", count=600, seed=SEED)]
    homes = [to_positive(murmur2(key)) % PARTITIONS for key in keys]
    read, ends = Counter(homes[:READ]), Counter(homes)
    body = Drawing(WIDE)
    for partition in range(PARTITIONS):
        _lane(body, partition, read[partition], ends[partition])
    _checkpoint(body, {partition: read[partition] for partition in range(PARTITIONS)})
    _broker(body, {partition: ends[partition] for partition in range(PARTITIONS)})
    lag = len(keys) - READ
    where = "Spark's checkpoint holds the offset that each partition is read from next."
    said = f"{where} {lag} records came later: the query's lag."
    return svg(
        body,
        title="orders: three partitions, one Spark query",
        scenario="500 records were there when the query ran; it is not running now",
        sentence=said,
        corner=f"seed {SEED}",
        time="batch 0",
        alt=f"{said} The broker knows where the partitions end, and of no consumer group.",
    )


def _lane(body: Drawing, partition: int, read: int, end: int) -> None:
    y = 26 + partition * _LANE
    name = f"lane/{partition}"
    body.text(f"{name}/name", 0, y + 20, f"partition {partition}", bold=True)
    x = float(_LEFT)
    for offset in (0, 1, None, read - 1, read, None, end - 1):
        if offset == read:
            body.line(f"{name}/query", x + 3, y - 6, x + 3, y + _HEIGHT + 6, "actor1", width=3)
            body.circle(f"{name}/letter", x + 3, y - 12, 9, "actor1")
            body.text(f"{name}/letter/word", x + 3, y - 8, "S", "on1", size=12, bold=True, anchor="middle")
            unread = x + 8
            x += 8
        later = x > _LEFT + 4 * _CELL
        width = _CELL if offset is not None else _CELL * 1.6
        if offset is None:
            body.text(f"{name}/gap/{x:.0f}", x + width / 2, y + 19, "· · ·", "quiet", anchor="middle")
        else:
            body.rect(f"{name}/{offset}", x, y, width - 3, _HEIGHT, "paper" if later else "cell", "rule", r=4)
            middle = x + (width - 3) / 2
            body.text(f"{name}/{offset}/number", middle, y + 20, str(offset), size=12, mono=True, anchor="middle")
        x += width
    body.line(f"{name}/lag", unread, y + _HEIGHT + 7, x - 3, y + _HEIGHT + 7, "quiet")
    body.text(f"{name}/lag/word", x - 3, y + _HEIGHT + 21, f"{end - read} not read yet", "quiet", size=12, anchor="end")
    body.text(f"{name}/end", x + 8, y + 20, f"end offset {end}", size=12, mono=True)


def _checkpoint(body: Drawing, read: Offsets) -> None:
    body.rect("checkpoint", _SIDE, 8, WIDE - _SIDE, 118, "wash", "actor1", r=8)
    body.circle("checkpoint/letter", _SIDE + 20, 28, 9, "actor1")
    body.text("checkpoint/letter/word", _SIDE + 20, 32, "S", "on1", size=12, bold=True, anchor="middle")
    body.text("checkpoint/name", _SIDE + 36, 33, "Spark's checkpoint, a folder", bold=True)
    body.text("checkpoint/file", _SIDE + 14, 58, "offsets/0", "quiet", mono=True)
    inside = ", ".join(f'"{partition}":{offset}' for partition, offset in read.items())
    body.text("checkpoint/offsets", _SIDE + 14, 80, f"{{{inside}}}", mono=True)
    body.text("checkpoint/commit", _SIDE + 14, 108, "commits/0", "quiet", mono=True)


def _broker(body: Drawing, ends: Offsets) -> None:
    body.rect("broker", _SIDE, 140, WIDE - _SIDE, 76, "wash", "rule", r=8)
    body.text("broker/name", _SIDE + 14, 163, "the broker", bold=True)
    body.text("broker/ends", _SIDE + 14, 184, "end offsets " + ", ".join(map(str, ends.values())), mono=True)
    body.text("broker/groups", _SIDE + 14, 204, "consumer groups: none", "quiet", mono=True)

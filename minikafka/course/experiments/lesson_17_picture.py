"""The picture at the top of lesson 17: a topic, and a Spark query that has stopped in
it. Who knows where?
"""

from collections import Counter
from collections.abc import Mapping

from minikafka.clients.partitioners import murmur2, to_positive
from minikafka.course.data import dataset
from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

PARTITIONS = 3
READ = 500  # records that were there at the first start; the rest came later
SEED = 7

_LANE = 66  # from lane to lane
_CELL, _HEIGHT = 40, 30  # of a record
_LEFT, _SIDE = 96, 620  # where lanes begin, where the checkpoint stands

Offsets = Mapping[int, int]


def a_query_that_has_stopped() -> str:
    """SVG: 500 records read, 108 not yet. The offsets are the lesson's own, by its data
    set and Kafka's partitioner.
    """
    orders = dataset("orders").stream("orders", count=600, seed=SEED)
    homes = []
    for event in orders:
        key_hash = to_positive(murmur2(event.key or b""))
        homes.append(key_hash % PARTITIONS)
    read, ends = Counter(homes[:READ]), Counter(homes)
    body = Drawing(WIDE)
    for partition in range(PARTITIONS):
        _lane(body, partition, read[partition], ends[partition])
    _question(body, read)
    _broker(body, ends)
    said = (
        f"The query has read {READ} of {len(homes)} records and has stopped. Who"
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
    """The first records of a partition, those around the query, and the last; gaps
    between them. A gap is None.
    """
    y = 26 + partition * _LANE
    name = f"lane/{partition}"
    body.text(f"{name}/name", 0, y + 20, f"partition {partition}", bold=True)
    x = float(_LEFT)
    for offset in (0, 1, None, read - 1, read, None, end - 1):
        if offset == read:
            _query(body, name, x, y)
            unread = x + 8
            x += 8
        if offset is None:
            width = _CELL * 1.6
            middle = x + width / 2
            body.text(
                f"{name}/gap/{x:.0f}", middle, y + 19, "· · ·", "quiet", anchor="middle"
            )
        else:
            width = _CELL
            is_later = x > _LEFT + 4 * _CELL
            _record(body, f"{name}/{offset}", x, y, offset, is_later)
        x += width
    below = y + _HEIGHT
    body.line(f"{name}/lag", unread, below + 7, x - 3, below + 7, "quiet")
    lag = f"{end - read} not read yet"
    body.text(
        f"{name}/lag/word", x - 3, below + 21, lag, "quiet", size=12, anchor="end"
    )
    body.text(f"{name}/end", x + 8, y + 20, f"end offset {end}", size=12, mono=True)


def _query(body: Drawing, name: str, x: float, y: float) -> None:
    """The query's place in a lane."""
    middle = x + 3
    bottom = y + _HEIGHT + 6
    body.line(f"{name}/query", middle, y - 6, middle, bottom, "actor1", width=3)
    _letter(body, f"{name}/letter", middle, y - 12)


def _letter(body: Drawing, key: str, x: float, y: float) -> None:
    body.circle(key, x, y, 9, "actor1")
    body.text(f"{key}/word", x, y + 4, "S", "on1", size=12, bold=True, anchor="middle")


def _record(
    body: Drawing, key: str, x: float, y: float, offset: int, is_later: bool
) -> None:
    width = _CELL - 3
    fill = "paper" if is_later else "cell"
    body.rect(key, x, y, width, _HEIGHT, fill, "rule", r=4)
    body.text(
        f"{key}/number",
        x + width / 2,
        y + 20,
        str(offset),
        size=12,
        mono=True,
        anchor="middle",
    )


def _question(body: Drawing, read: Offsets) -> None:
    body.rect("question", _SIDE, 8, WIDE - _SIDE, 118, "wash", "actor1", r=8)
    _letter(body, "question/letter", _SIDE + 20, 28)
    left = _SIDE + 14
    body.text("question/name", _SIDE + 36, 33, "the query has read up to", bold=True)
    body.text("question/offsets", left, 66, _by_partition(read), mono=True)
    body.text("question/who", left, 104, "who remembers?", "quiet")


def _broker(body: Drawing, ends: Offsets) -> None:
    body.rect("broker", _SIDE, 140, WIDE - _SIDE, 76, "wash", "rule", r=8)
    left = _SIDE + 14
    said = f"end offsets {_by_partition(ends)}"
    body.text("broker/name", left, 168, "the broker", bold=True)
    body.text("broker/ends", left, 196, said, mono=True)


def _by_partition(offsets: Offsets) -> str:
    return ", ".join(str(offsets[partition]) for partition in range(PARTITIONS))

"""The picture at the top of lesson 17: a topic, and a Spark query that has stopped in
it. Who knows where?
"""

from collections import Counter
from collections.abc import Mapping

from minikafka.clients.partitioners import murmur2, to_positive
from minikafka.course.data import dataset
from minikafka.theatre.drawing import WIDE, Drawing, Look
from minikafka.theatre.svg import svg

PARTITIONS = 3
READ = 500  # records that were there at the first start; the rest came later
SEED = 7

_TOP, _LANE = 26, 66  # of the first lane; from lane to lane
_LEFT, _SIDE = 96, 620  # where records begin, and where the checkpoint is drawn
_CELL, _HEIGHT = 40, 30  # of a record
_GAP, _QUERY = 64, 8  # room for records that are left out, and for the query

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
    read = Counter(homes[:READ])
    ends = Counter(homes)
    body = Drawing(WIDE)
    for partition in range(PARTITIONS):
        y = _TOP + partition * _LANE
        lane = body.part(f"lane/{partition}", 0, y)
        lane.text("name", 0, 20, f"partition {partition}", bold=True)
        _lane(lane, read[partition], ends[partition])
    _question(body, read)
    _broker(body, ends)
    said = (
        f"The query has read {READ} of {len(homes)} records and stopped. Where is its"
        " position kept?"
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


def _lane(lane: Drawing, read: int, end: int) -> None:
    """The first records of a partition, those around the query, and the last; gaps
    between them.
    """
    x = _LEFT
    for offset in (0, 1):
        _record(lane, x, offset, "cell")
        x += _CELL
    _gap(lane, x)
    x += _GAP
    _record(lane, x, read - 1, "cell")
    x += _CELL
    _query(lane, x)
    x += _QUERY
    unread = x
    _record(lane, x, read, "paper")
    x += _CELL
    _gap(lane, x)
    x += _GAP
    _record(lane, x, end - 1, "paper")
    x += _CELL
    lane.level("lag", unread, x - 3, _HEIGHT + 7, "quiet")
    lag = f"{end - read} not read yet"
    lane.note("lag/word", x - 3, _HEIGHT + 21, lag, "end", size=12)
    lane.text("end", x + 8, 20, f"end offset {end}", size=12, mono=True)


def _gap(lane: Drawing, x: float) -> None:
    """Where records are left out."""
    middle = x + _GAP / 2
    lane.text(f"gap/{x:.0f}", middle, 19, "· · ·", "quiet", anchor="middle")


def _query(lane: Drawing, x: float) -> None:
    """The query's place in a lane."""
    middle = x + 3
    lane.upright("query", middle, -6, _HEIGHT + 6, "actor1", width=3)
    _letter(lane, "letter", middle, -12)


def _letter(body: Drawing, key: str, x: float, y: float) -> None:
    body.circle(key, x, y, 9, "actor1")
    body.text(f"{key}/word", x, y + 4, "S", "on1", size=12, bold=True, anchor="middle")


def _record(lane: Drawing, x: float, offset: int, fill: str) -> None:
    number = str(offset)
    width = _CELL - 3
    middle = x + width / 2
    lane.rect(number, x, 0, width, _HEIGHT, fill, "rule", r=4)
    look: Look = {"size": 12, "mono": True, "anchor": "middle"}
    lane.text(f"{number}/number", middle, 20, number, **look)


def _question(body: Drawing, read: Offsets) -> None:
    box = body.part("question", _SIDE, 8)
    box.rect("box", 0, 0, WIDE - _SIDE, 118, "wash", "actor1", r=8)
    _letter(box, "letter", 20, 20)
    box.text("name", 36, 25, "the query has read up to", bold=True)
    box.text("offsets", 14, 58, _by_partition(read), mono=True)
    box.text("who", 14, 96, "where is this kept?", "quiet")


def _broker(body: Drawing, ends: Offsets) -> None:
    box = body.part("broker", _SIDE, 140)
    box.rect("box", 0, 0, WIDE - _SIDE, 76, "wash", "rule", r=8)
    said = f"end offsets {_by_partition(ends)}"
    box.text("name", 14, 28, "the broker", bold=True)
    box.text("ends", 14, 56, said, mono=True)


def _by_partition(offsets: Offsets) -> str:
    return ", ".join(str(offsets[partition]) for partition in range(PARTITIONS))

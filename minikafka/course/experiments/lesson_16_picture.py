"""The picture at the top of lesson 16: three brokers, three copies of each partition,
and one broker has stopped.
"""

from minikafka.course.experiments.lesson_16_cluster import ORDERS
from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

BROKERS = (1, 2, 3)
STOPPED = 3
# partition -> the broker that leads it while all are there
PREFERRED = {number: replicas[0] for number, replicas in enumerate(ORDERS)}

_TOP = 16
_BOX, _TALL, _GAP = 280, 272, 40  # a broker's box, and from box to box
_ROW, _CELL = 36, 28  # from copy to copy, and how tall one is
_INDENT = 16  # of what is in a box


def three_brokers() -> str:
    """SVG: which brokers have a copy, and which led. The lesson says who leads
    partitions 2 and 5 now.
    """
    body = Drawing(WIDE)
    for place, broker in enumerate(BROKERS):
        _broker(body, broker, place * (_BOX + _GAP))
    said = "Broker 3 has stopped. Which numbers on your screen change?"
    there = "Brokers 1 and 2 are there, and hold copies of all six partitions."
    return svg(
        body,
        title="orders: six partitions, three copies of each",
        scenario="three brokers, each led two partitions",
        sentence=said,
        corner="min.insync.replicas 2",
        time="broker 3 stopped",
        alt=f"{said} {there}",
    )


def _broker(body: Drawing, number: int, x: float) -> None:
    broker = body.part(f"broker/{number}", x, _TOP)
    name = f"broker {number}"
    if number == STOPPED:
        broker.rect("box", 0, 0, _BOX, _TALL, "paper", "gone", r=8, dash="6 5")
        broker.text("name", _INDENT, 28, name, "gone", bold=True)
        broker.text("state", _BOX - _INDENT, 28, "stopped", "gone", anchor="end")
    else:
        broker.rect("box", 0, 0, _BOX, _TALL, "wash", "rule", r=8)
        broker.text("name", _INDENT, 28, name, bold=True)
    for partition, leader in PREFERRED.items():
        y = _TOP + 46 + partition * _ROW
        copy = body.part(f"copy/{number}/{partition}", x + _INDENT, y)
        _copy(copy, number, partition, leads=number == leader)


def _copy(copy: Drawing, broker: int, partition: int, leads: bool) -> None:
    """One copy of a partition, and what it is, or was before its broker stopped."""
    fill, line, ink, role = "cell", "rule", "ink", "leader"
    if leads:
        line = "ink"
    if broker == STOPPED:
        fill, line, ink, role = "paper", "gone", "gone", "led"
    width = _BOX - 2 * _INDENT
    copy.rect("box", 0, 0, width, _CELL, fill, line, r=4)
    copy.text("name", 12, 19, f"orders-{partition}", ink, mono=True, size=12)
    if not leads:
        role, ink = "copy", "quiet"
    copy.text("role", width - 12, 19, role, ink, size=12, anchor="end")

"""The picture at the top of lesson 09: one log on three brokers, each with another
end.
"""

from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

ENDS = {2: 6, 3: 5, 1: 4}  # broker -> log end offset; the first leads
LONGEST = max(ENDS.values())

_LEFT, _TOP = 190, 24  # of the records
_ROW, _PITCH = 58, 70  # from replica to replica, from record to record
_WIDTH, _HEIGHT = 62, 34  # of a record


def three_copies() -> str:
    """SVG: three replicas of orders-0, all in sync. Which of the records are safe is
    the lesson's to say.
    """
    body = Drawing(WIDE)
    role = "leader"
    for place, (broker, end) in enumerate(ENDS.items()):
        _replica(body, broker, role, end, _TOP + place * _ROW)
        role = "follower"
    said = (
        "The leader has six records, its followers five and four. Which of them may a"
        " consumer read?"
    )
    return svg(
        body,
        title="orders: one partition, three replicas",
        scenario="broker 2 leads, ISR 2, 3, 1",
        sentence=said,
        corner="min.insync.replicas 2",
        time="all in sync",
        alt=said,
    )


def _replica(body: Drawing, broker: int, role: str, end: int, y: float) -> None:
    """A broker's name, what it is for the partition, and its log."""
    part = body.part(str(broker), 0, y)
    part.text("name", 0, 16, f"broker {broker}", bold=True)
    part.note("role", 0, 34, role, size=12)
    for offset in range(end):
        _record(part, offset)
    beside = _LEFT + LONGEST * _PITCH + 16
    part.text("end", beside, 22, f"log end offset {end}", "quiet")


def _record(part: Drawing, offset: int) -> None:
    key = str(offset)
    x = _LEFT + offset * _PITCH
    part.rect(key, x, 0, _WIDTH, _HEIGHT, "cell", "rule", r=4)
    part.text(f"{key}/name", x + 12, 22, key, mono=True, size=12)

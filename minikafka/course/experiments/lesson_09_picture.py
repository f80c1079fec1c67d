"""The picture at the top of lesson 09: one log on three brokers, and up to where all
three have it.
"""

from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

ENDS = {2: 5, 3: 4, 1: 3}  # broker -> log end offset; the first leads
HIGH_WATERMARK = min(ENDS.values())
LONGEST = max(ENDS.values())

_LEFT, _TOP = 190, 24  # of the records
_ROW, _PITCH = 58, 84  # from replica to replica, from record to record
_WIDTH, _HEIGHT = 76, 34  # of a record
_BOTTOM = _TOP + len(ENDS) * _ROW


def three_copies() -> str:
    """SVG: three replicas of orders-0, in sync, and the high watermark. Who waits for
    what is the lesson's to say.
    """
    body = Drawing(WIDE)
    role = "leader"
    for place, (broker, end) in enumerate(ENDS.items()):
        _replica(body, broker, role, end, _TOP + place * _ROW)
        role = "follower"
    _high_watermark(body)
    said = (
        "The leader has five records, its followers four and three. Which of them may a"
        " consumer read?"
    )
    return svg(
        body,
        title="orders: one partition, three replicas",
        scenario="broker 2 leads, ISR 2, 3, 1",
        sentence=said,
        corner="min.insync.replicas 2",
        time="all in sync",
        alt=f"{said} The high watermark is {HIGH_WATERMARK}.",
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
    is_committed = offset < HIGH_WATERMARK
    fill = "cell" if is_committed else "paper"
    part.rect(key, x, 0, _WIDTH, _HEIGHT, fill, "rule", r=4)
    part.text(f"{key}/name", x + 12, 22, key, mono=True, size=12)


def _high_watermark(body: Drawing) -> None:
    x = _LEFT + HIGH_WATERMARK * _PITCH - 4
    name = f"high watermark {HIGH_WATERMARK}"
    body.upright("hw", x, _TOP - 10, _BOTTOM, "ink", width=2)
    body.text("hw/name", x, _BOTTOM + 18, name, bold=True, size=12, anchor="middle")

"""The picture at the top of lesson 09: one log on three brokers, each with another
end.
"""

from minikafka.theatre.drawing import WIDE, Drawing, Part
from minikafka.theatre.svg import svg

ENDS = {2: 6, 3: 5, 1: 4}  # broker -> log end offset; the first leads
LONGEST = max(ENDS.values())

_LEFT, _TOP = 190, 24  # of the records
_ROW, _PITCH = 58, 70  # from replica to replica, from record to record
_SMALL_ROW = 76  # on a phone
_WIDTH, _HEIGHT = 62, 34  # of a record


def three_copies(width: int = WIDE) -> str:
    """SVG: three replicas of orders-0, all in sync. Which of the records are safe is
    the lesson's to say.
    """
    body = Drawing(width)
    role = "leader"
    for place, (broker, end) in enumerate(ENDS.items()):
        if body.phone:
            _small_replica(body.part(str(broker), 0, place * _SMALL_ROW), role, end)
        else:
            _replica(body.part(str(broker), 0, _TOP + place * _ROW), role, end)
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


def _replica(part: Part, role: str, end: int) -> None:
    """A broker's name, what it is for the partition, and its log."""
    part.text("name", 0, 16, f"broker {part.key}", bold=True)
    part.note("role", 0, 34, role, size=12)
    for offset in range(end):
        _record(part, offset, _LEFT + offset * _PITCH, 0, _WIDTH)
    beside = _LEFT + LONGEST * _PITCH + 16
    part.text("end", beside, 22, f"log end offset {end}", "quiet")


def _small_replica(part: Part, role: str, end: int) -> None:
    """The same with its words above the log."""
    part.text("name", 0, 14, f"broker {part.key}", bold=True)
    part.note("role", 76, 14, role, size=12)
    part.note("end", part.width, 14, f"log end offset {end}", "end")
    pitch = (part.width + 6) / LONGEST
    for offset in range(end):
        _record(part, offset, offset * pitch, 24, pitch - 6)


def _record(part: Drawing, offset: int, x: float, y: float, width: float) -> None:
    key = str(offset)
    part.rect(key, x, y, width, _HEIGHT, "cell", "rule", r=4)
    part.text(f"{key}/name", x + 12, y + 22, key, mono=True, size=12)

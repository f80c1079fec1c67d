"""The picture at the top of lesson 08: a compacted topic before the cleaner comes."""

from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

# the customers who move, a segment a line; the last segment is active
SEGMENTS = (
    ("alice", "bob", "carol"),
    ("alice", "bob", "alice"),
    ("carol", "alice", "dora"),
    ("bob", "alice", "carol"),
)

_LEFT, _TOP, _PITCH, _CELL, _GAP = 16, 44, 58, 46, 14


def who_moves() -> str:
    """SVG: twelve records of four customers in four segments. Which of them go, and
    when, is the lesson's to say.
    """
    body = Drawing(WIDE)
    offset = 0
    for number, segment in enumerate(SEGMENTS):
        left = _LEFT + offset * _PITCH + number * _GAP
        is_active = number == len(SEGMENTS) - 1
        name = "active segment" if is_active else f"segment {offset}"
        body.text(f"segment/{number}", left, _TOP - 14, name, bold=True, size=12)
        for place, customer in enumerate(segment):
            _draw_record(body, offset, customer, left + place * _PITCH)
            offset += 1
    said = "Of each customer the last record stays. Which of the others go, and when?"
    return svg(
        body,
        title="addresses: a compacted topic",
        scenario="key: customer, value: address",
        sentence=said,
        corner="cleanup.policy compact",
        time="as written",
        alt=f"{said} Twelve records in four segments.",
    )


def _draw_record(body: Drawing, offset: int, customer: str, x: float) -> None:
    body.rect(str(offset), x, _TOP, _PITCH - 8, _CELL, "cell", "rule", r=4)
    body.text(f"{offset}/offset", x + 7, _TOP + 18, str(offset), mono=True, size=12)
    body.text(f"{offset}/key", x + 7, _TOP + 36, customer, size=12)

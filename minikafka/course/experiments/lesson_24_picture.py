"""The picture at the top of lesson 24: a till, a wire with somebody who listens, and
three locks before the topic orders.
"""

from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

LOCKS = (
    ("TLS", "who is the broker?"),
    ("SASL", "who is the client?"),
    ("ACL", "may it do that?"),
)

_MIDDLE = 50
_TILL, _TILL_WIDTH = 16, 130
_EAR = 214  # the middle of who listens
_LOCKS, _LOCK, _STEP = 290, 120, 150  # left of the first, its width, to the next
_TOPIC, _TOPIC_WIDTH = 742, 150


def three_locks() -> str:
    """SVG: which of the locks says no is the lesson's to say."""
    body = Drawing(WIDE)
    _box(body, "till", _TILL, _TILL_WIDTH, "till 7")
    body.arrow("wire", _TILL + _TILL_WIDTH + 6, _MIDDLE, _LOCKS - 8, _MIDDLE)
    body.text("ear", _EAR, _MIDDLE + 46, "?", anchor="middle", bold=True)
    body.note("ear/note", _EAR, _MIDDLE + 66, "who listens here?", "middle")
    for number, (name, asks) in enumerate(LOCKS):
        left = _LOCKS + number * _STEP
        lock = f"lock/{number}"
        _box(body, lock, left, _LOCK, name)
        body.note(f"{lock}/asks", left + _LOCK / 2, _MIDDLE + 52, asks, "middle")
        end = left + _STEP if number < len(LOCKS) - 1 else _TOPIC
        body.arrow(f"{lock}/on", left + _LOCK + 6, _MIDDLE, end - 8, _MIDDLE)
    _box(body, "topic", _TOPIC, _TOPIC_WIDTH, "orders")
    said = "Three locks are between a program and the orders. Which one said no?"
    return svg(
        body,
        title="doors and keys",
        scenario="one till, one topic",
        sentence=said,
        corner="the connection was refused",
        time="this morning",
        alt=f"{said} Between the till and the first lock somebody may listen.",
    )


def _box(body: Drawing, name: str, left: float, width: float, text: str) -> None:
    body.rect(name, left, _MIDDLE - 28, width, 56, "cell", "rule", r=6)
    x = left + width / 2
    body.text(f"{name}/text", x, _MIDDLE + 5, text, anchor="middle", bold=True)

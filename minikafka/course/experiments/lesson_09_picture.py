"""The picture at the top of lesson 09: one log on three brokers, and up to where all
three have it.
"""

from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

ENDS = {2: 5, 3: 4, 1: 3}  # broker -> log end offset; the first leads
HIGH_WATERMARK = min(ENDS.values())

_LEFT, _TOP, _ROW, _PITCH, _CELL = 190, 24, 58, 84, 34


def three_copies() -> str:
    """SVG: three replicas of orders-0, in sync, and the high watermark. Who waits for
    what is the lesson's to say.
    """
    body = Drawing(WIDE)
    for place, (broker, end) in enumerate(ENDS.items()):
        y = _TOP + place * _ROW
        body.text(f"{broker}/name", 0, y + 16, f"broker {broker}", bold=True)
        body.text(
            f"{broker}/role",
            0,
            y + 34,
            "leader" if place == 0 else "follower",
            "quiet",
            size=12,
        )
        for offset in range(end):
            counts = offset < HIGH_WATERMARK
            x = _LEFT + offset * _PITCH
            body.rect(
                f"{broker}/{offset}",
                x,
                y,
                _PITCH - 8,
                _CELL,
                "cell" if counts else "paper",
                "rule",
                r=4,
            )
            body.text(
                f"{broker}/{offset}/name",
                x + 12,
                y + 22,
                str(offset),
                mono=True,
                size=12,
            )
        body.text(
            f"{broker}/end",
            _LEFT + max(ENDS.values()) * _PITCH + 16,
            y + 22,
            f"log end offset {end}",
            "quiet",
        )
    x = _LEFT + HIGH_WATERMARK * _PITCH - 4
    body.line("hw", x, _TOP - 10, x, _TOP + len(ENDS) * _ROW, "ink", width=2)
    body.text(
        "hw/name",
        x,
        _TOP + len(ENDS) * _ROW + 18,
        "high watermark 3",
        bold=True,
        size=12,
        anchor="middle",
    )
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

"""The picture at the top of lesson 22: what a monitoring system shows of a night, and
two questions.
"""

from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

NUMBERS = (
    "UnderReplicatedPartitions",
    "OfflinePartitionsCount",
    "FailedProduceRequests",
    "ActiveControllerCount",
    "lag of billing",
)
MINUTES = 20
RISES_AT = 9  # the minute in which the last one begins to rise

_TOP, _ROW = 20, 44
_LEFT, _RIGHT = 250, 640
_ASKED = 680  # where the questions stand
_LEVEL = 24  # of a flat line, below the row's top


def a_night() -> str:
    """SVG: five numbers over twenty minutes; one of them rises."""
    body = Drawing(WIDE)
    step = (_RIGHT - _LEFT) / MINUTES
    for number, name in enumerate(NUMBERS):
        y = _TOP + _ROW * number
        body.text(f"name/{number}", 16, y + _LEVEL + 4, name, size=13)
        is_last = number == len(NUMBERS) - 1
        end = _LEFT + step * (RISES_AT if is_last else MINUTES)
        level = y + _LEVEL
        body.line(f"flat/{number}", _LEFT, level, end, level, "quiet")
        if is_last:
            body.line("rising", end, level, _RIGHT, y - 6, "trouble")
    body.text("what", _ASKED, _TOP + 60, "What is it?", bold=True)
    body.text("do", _ASKED, _TOP + 100, "What do you do?", bold=True)
    said = "It is 00:09, and one of five numbers rises. You are on call."
    return svg(
        body,
        title="On call",
        scenario="three brokers, one shop",
        sentence=said,
        corner="thirteen nights",
        time="00:09",
        alt=f"{said} The lag of the group billing begins to rise; all else is flat.",
    )

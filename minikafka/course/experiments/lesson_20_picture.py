"""The picture at the top of lesson 20: the clicks of two visitors, and no record that
says that a visit is over.
"""

from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

# minutes after ten
CLICKS = {"wanda": (0, 4, 8, 12, 16), "bruno": (2, 21, 33, 52, 70, 88)}
WATERMARK_DELAY = 10  # minutes
NOW = 90

_LEFT, _RIGHT = 96, WIDE - 110  # of the axis of time
_TOP, _LANE = 40, 62


def who_notices_the_silence() -> str:
    """SVG: one visitor goes on, the other stopped clicking long ago."""
    body = Drawing(WIDE)
    for number, (user, minutes) in enumerate(CLICKS.items()):
        _lane(body, number, user, minutes)
    bottom = _TOP + len(CLICKS) * _LANE
    for minute in range(0, NOW + 1, 30):
        x, key = _x(minute), f"tick/{minute}"
        time = _clock(minute)
        body.line(key, x, bottom, x, bottom + 6, "quiet")
        body.text(
            f"{key}/word", x, bottom + 22, time, "quiet", size=12, anchor="middle"
        )
    latest = max(max(minutes) for minutes in CLICKS.values())
    at = _x(latest - WATERMARK_DELAY)
    body.line("watermark", at, _TOP - 24, at, bottom, "actor2", width=3)
    body.text(
        "watermark/word",
        at - 8,
        _TOP - 14,
        "watermark",
        size=12,
        bold=True,
        anchor="end",
    )
    said = (
        "wanda's last click is more than an hour old. Is her visit over, and who"
        " notices?"
    )
    return svg(
        body,
        title="clicks of two visitors, by event time",
        scenario="no record says that a visit is over",
        sentence=said,
        corner="",
        time=_clock(latest),
        alt=(
            f"{said} bruno goes on clicking; the watermark is ten minutes behind his"
            " last click."
        ),
    )


def _lane(body: Drawing, number: int, user: str, minutes: tuple[int, ...]) -> None:
    y = _TOP + number * _LANE + 18
    body.text(f"{user}/name", 0, y + 5, user, bold=True)
    body.line(f"{user}/line", _LEFT, y, _RIGHT, y, "rule")
    for minute in minutes:
        body.circle(f"{user}/{minute}", _x(minute), y, 8, "actor1")
    if max(minutes) < NOW / 2:
        body.text(
            f"{user}/question",
            _x(NOW * 0.55),
            y - 12,
            "?",
            "quiet",
            size=20,
            bold=True,
            anchor="middle",
        )


def _x(minute: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * minute / NOW


def _clock(minute: int) -> str:
    return f"{10 + minute // 60}:{minute % 60:02}"

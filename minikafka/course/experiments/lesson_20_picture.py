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
_TOP, _LANE = 40, 62  # of the first lane; from lane to lane
_BOTTOM = _TOP + len(CLICKS) * _LANE


def who_notices_the_silence() -> str:
    """SVG: one visitor goes on, the other stopped clicking long ago."""
    body = Drawing(WIDE)
    y = _TOP
    for user, minutes in CLICKS.items():
        _lane(body.part(user, 0, y), user, minutes)
        y += _LANE
    for minute in range(0, NOW + 1, 30):
        _tick(body, minute)
    latest = max(map(max, CLICKS.values()))
    _watermark(body, latest - WATERMARK_DELAY)
    said = (
        "wanda's last click is more than an hour old. Is her visit over, and who"
        " notices?"
    )
    alt = (
        f"{said} bruno goes on clicking; the watermark is ten minutes behind his"
        " last click."
    )
    return svg(
        body,
        title="clicks of two visitors, by event time",
        scenario="no record says that a visit is over",
        sentence=said,
        corner="",
        time=_clock(latest),
        alt=alt,
    )


def _lane(lane: Drawing, user: str, minutes: tuple[int, ...]) -> None:
    """A visitor's clicks, and a question mark where one has been silent for long."""
    lane.text("name", 0, 23, user, bold=True)
    lane.level("line", _LEFT, _RIGHT, 18, "rule")
    for minute in minutes:
        lane.circle(str(minute), _x(minute), 18, 8, "actor1")
    is_silent = max(minutes) < NOW / 2
    if is_silent:
        x = _x(NOW * 0.55)
        lane.text("question", x, 6, "?", "quiet", size=20, bold=True, anchor="middle")


def _tick(body: Drawing, minute: int) -> None:
    """A time of the day on the axis."""
    tick = body.part(f"tick/{minute}", _x(minute), _BOTTOM)
    tick.upright("mark", 0, 0, 6, "quiet")
    tick.note("word", 0, 22, _clock(minute), "middle", size=12)


def _watermark(body: Drawing, minute: int) -> None:
    name = "watermark"
    x = _x(minute)
    body.upright(name, x, _TOP - 24, _BOTTOM, "actor2", width=3)
    body.text(f"{name}/word", x - 8, _TOP - 14, name, size=12, bold=True, anchor="end")


def _x(minute: float) -> float:
    room = _RIGHT - _LEFT
    return _LEFT + room * minute / NOW


def _clock(minute: int) -> str:
    hours, minutes = divmod(minute, 60)
    return f"{10 + hours}:{minutes:02}"

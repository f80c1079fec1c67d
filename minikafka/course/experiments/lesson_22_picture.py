"""The picture at the top of lesson 22: the curves of its first night up to the call, as
they were measured, and the phone that rings.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from minikafka.course.on_call import plans
from minikafka.course.on_call.monitoring import SAMPLE_MS, Sample
from minikafka.course.on_call.strip import by_the_minute
from minikafka.theatre.drawing import WIDE, Drawing, text_width, wrap
from minikafka.theatre.svg import svg

NIGHT = "night-01"
ALERT = "ALERT "  # how the message of a monitoring system begins


class Recorded(NamedTuple):
    """A night until the call, a value for each sample. Its other numbers don't move:
    flat has one value of each.
    """

    accepted: tuple[int, ...]
    lag: tuple[int, ...]
    late: tuple[int, ...]
    flat: tuple[tuple[str, int], ...]


# The first night takes some seconds to run, so this is what was measured in it; a test
# of the nights lets it run again.
# fmt: off
RECORDED = Recorded(
    accepted=(
        3, 4, 3, 3, 4, 3, 3, 4, 3, 3, 4, 3, 36, 40, 40, 40, 40, 40,
        40, 22, 3, 4, 3, 3, 4, 3, 3, 4, 3, 3, 4, 3, 3, 4, 3, 3,
        4, 3, 3, 4, 3, 3, 4, 3, 3, 4, 3, 3, 4, 3, 3, 4, 3, 3,
    ),
    lag=(
        0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 27, 52, 89,
        103, 143, 161, 201, 223, 226, 185, 164, 167, 171, 133, 116, 120, 123, 126,
        130, 133, 136, 140, 143, 146, 150, 153, 156, 160, 163, 166, 170, 173, 176,
        180, 183, 186, 190, 193, 196, 200, 203, 206,
    ),
    late=(
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 3, 6,
        10, 13, 16, 18, 6, 0, 0, 0, 0, 3, 6, 9, 13, 16, 19, 22, 10, 0,
    ),
    flat=(
        ("UnderReplicatedPartitions", 0),
        ("OfflinePartitionsCount", 0),
        ("ActiveControllerCount", 1),
    ),
)
# fmt: on


def recorded(samples: Sequence[Sample]) -> Recorded:
    """What the picture needs of a night's samples. Raises AssertionError where another
    number moves, too.
    """
    flat = {
        "UnderReplicatedPartitions": {sample.under_replicated for sample in samples},
        "OfflinePartitionsCount": {sample.offline for sample in samples},
        "ActiveControllerCount": {sample.controllers for sample in samples},
    }
    moving = [name for name, values in flat.items() if len(values) > 1]
    assert not moving, f"{moving} change in the night"
    return Recorded(
        accepted=tuple(sample.accepted for sample in samples),
        lag=tuple(sample.lag["billing"] for sample in samples),
        late=tuple(sample.late for sample in samples),
        flat=tuple((name, min(values)) for name, values in flat.items()),
    )


_RIGHT, _SMALL_RIGHT = 580, 300  # where the curves end; on a phone
_TOP, _ROW, _TALL = 8, 90, 54  # of the first curve; from curve to curve; a curve
_PHONE, _WIDTH, _HEIGHT = 676, 216, 320  # the phone: its left side and its size
_BOTTOM = _TOP + 3 * _ROW


def a_night(width: int = WIDE) -> str:
    """SVG: what a monitoring system shows when the phone rings. The lesson says what it
    is, and what can be done.
    """
    plan = plans.read(NIGHT)
    body = Drawing(width)
    right = _SMALL_RIGHT if body.phone else _RIGHT
    curves = {
        "orders accepted a minute": (by_the_minute(RECORDED.accepted), "actor1"),
        "lag of billing": (RECORDED.lag, "actor2"),
        "customers who wait": (RECORDED.late, "trouble"),
    }
    y = _TOP
    for name, (values, ink) in curves.items():
        _curve(body.part(name, 0, y), right, name, values, ink)
        y += _ROW
    _time(body, right, len(RECORDED.lag))
    below = _flat(body)
    clock, messages = _messages(plan.opens)
    x, y = ((width - _WIDTH) / 2, below + 20) if body.phone else (_PHONE, _TOP)
    _phone(body.part("phone", x, y), clock, messages)
    said = "Your phone rings. What is it, and what do you do?"
    lag = f"The lag of billing has risen to {RECORDED.lag[-1]}"
    return svg(
        body,
        title=plan.title,
        scenario="three brokers, one shop, and billing",
        sentence=said,
        corner="on call",
        time=clock,
        alt=f"{said} {lag} since a sale at 00:02. {' '.join(messages)}",
    )


def _messages(opens: str) -> tuple[str, list[str]]:
    """The time of the call, and its messages."""
    found = [line.split(maxsplit=1) for line in opens.strip().splitlines()]
    messages = [re.sub(" +", " ", words) for _, words in found]
    return found[0][0], messages


def _curve(
    row: Drawing, right: int, name: str, values: Sequence[int], ink: str
) -> None:
    """A number over the night, filled down to zero, and what it is now."""
    base = 22 + _TALL
    most = max(values)
    step = right / (len(values) - 1)
    points = []
    for place, value in enumerate(values):
        points.append(f"{place * step:.1f},{-_TALL * value / most:.1f}")
    line = " L".join(points)
    area = f"M0,0 L{line} L{right},0 z"
    row.text("name", 0, 12, name, bold=True, size=14)
    row.path("area", 0, base, area, ink, fade=0.22)
    row.level("zero", 0, right, base, "rule")
    row.path("line", 0, base, f"M{line}", "none", ink, width=2.5)
    last = values[-1]
    height = _TALL * last / most
    row.circle("now", right, base - height, 4.5, ink)
    number = str(last)
    row.text("number", right + 12, base - height + 5, number, bold=True, size=16)


def _time(body: Drawing, right: int, samples: int) -> None:
    """The axis under the curves, in minutes after midnight."""
    end_ms = samples * SAMPLE_MS
    for minute in range(0, end_ms // 60_000 + 1, 3):
        x = right * max(minute * 60_000 - SAMPLE_MS, 0) / (end_ms - SAMPLE_MS)
        tick = body.part(f"tick/{minute}", x, _BOTTOM)
        anchor = "start" if minute == 0 else "middle"
        tick.note("word", 0, 10, f"00:{minute:02}", anchor, size=13)


def _flat(body: Drawing) -> int:
    """Draw the numbers that have not moved; returns where they end."""
    x, y = 0, _BOTTOM + 30
    for name, value in RECORDED.flat:
        words = f"{name} {value}"
        width = text_width(words, 12, bold=True) + 14
        if x + width > body.width:
            x, y = 0, y + 28
        body.boxed(f"flat/{name}", x, y, width, 20, words, "good")
        x += width + 10
    return y + 20


def _phone(phone: Drawing, clock: str, messages: Sequence[str]) -> None:
    """A phone with its messages; arcs beside it say that it rings."""
    phone.rect("case", 0, 0, _WIDTH, _HEIGHT, "ink", r=26)
    phone.rect("speaker", _WIDTH / 2 - 26, 12, 52, 5, "quiet", r=3)
    phone.rect("screen", 10, 28, _WIDTH - 20, _HEIGHT - 44, "wash", r=12)
    middle = _WIDTH / 2
    phone.text("clock", middle, 68, clock, size=32, bold=True, anchor="middle")
    y = 84.0
    for number, message in enumerate(messages):
        y = _message(phone, f"message/{number}", y, message)
    for number, reach in enumerate((0, 9)):
        arc = f"M0,0 a46,46 0 0 0 0,{56 + 2 * reach}"
        x, top = -9 - reach, 40 - reach
        phone.path(f"left/{number}", x, top, arc, "none", "trouble", width=3)
        arc = f"M0,0 a46,46 0 0 1 0,{56 + 2 * reach}"
        x = _WIDTH + 9 + reach
        phone.path(f"right/{number}", x, top, arc, "none", "trouble", width=3)


def _message(phone: Drawing, key: str, y: float, words: str) -> float:
    """One message in its box, an alert with its name above it; returns where the next
    one begins.
    """
    begins, _, rest = words.partition(ALERT)
    is_alert = not begins
    lines = wrap(rest or words, _WIDTH - 56, 13)
    if is_alert:
        lines = [ALERT.strip(), *lines]
    height = 18 * len(lines) + 14
    line = "trouble" if is_alert else "rule"
    phone.rect(key, 18, y, _WIDTH - 36, height, "paper", line, r=8)
    for number, each in enumerate(lines):
        base = y + 21 + 18 * number
        ink = "trouble" if is_alert and number == 0 else "ink"
        bold = ink == "trouble"
        phone.text(f"{key}/{number}", 28, base, each, ink, size=13, bold=bold)
    return y + height + 8

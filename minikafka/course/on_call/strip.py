"""The operations room in one strip: each number over the night, one under the other."""

import html
from collections.abc import Sequence
from typing import NamedTuple

from minikafka.course.on_call.log_lines import clock
from minikafka.course.on_call.metrics import METRICS
from minikafka.course.on_call.monitoring import SAMPLE_MS, Sample

WIDTH = 820
ROW = 30
LEFT = 250  # where the lines begin
RIGHT = 760  # where they end
TALL = 20  # a line's highest point above its lowest
BELOW = 40  # for the words under the lines
INK = "#0072B2"
ALARM = "#b3470a"
QUIET = "#8c959f"  # what has been 0 all night, and what was done
MINUTE_SAMPLES = 60_000 // SAMPLE_MS

WHOLE = """
<svg role="img" aria-label="{said}" width="{width}" height="{height}"
 viewBox="0 0 {width} {height}" style="max-width:100%;height:auto"
 fill="currentColor" font-family="system-ui,sans-serif" font-size="12">
{shapes}
</svg>
"""
MOMENT = """
<line x1="{x:.1f}" x2="{x:.1f}" y1="4" y2="{end}" stroke="{ink}"
 stroke-dasharray="{dashes}"><title>{words}</title></line>
"""
LINE = '<polyline points="{points}" fill="none" stroke="{ink}" stroke-width="1.5"/>'
TEXT = '<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


class Mark(NamedTuple):
    """A command of the person on call that changed something."""

    at_ms: int
    line: str


def strip(samples: Sequence[Sample], called_ms: int, marks: Sequence[Mark] = ()) -> str:
    """SVG in HTML. A dashed line is the call, a dotted one a command that changed
    something.
    """
    if not samples:
        return ""
    numbers = _numbers(samples)
    height = ROW * len(numbers) + BELOW
    end_ms = samples[-1].at_ms
    bottom = height - BELOW + 6
    shapes = []
    for mark in marks:
        x = _across(mark.at_ms, end_ms)
        shapes.append(_moment(x, bottom, QUIET, "1 3", mark.line))
    if called_ms <= end_ms:
        called = _across(called_ms, end_ms)
        shapes.append(_moment(called, bottom, ALARM, "4 3", "you were called"))
        shapes.append(_text(called, height - 6, "you were called", "middle"))
    shapes.append(_text(LEFT, height - 20, "00:00", "start"))
    shapes.append(_text(RIGHT, height - 20, clock(end_ms), "end"))
    times = [_across(sample.at_ms, end_ms) for sample in samples]
    for place, (name, values) in enumerate(numbers.items()):
        base = ROW * place + ROW - 4
        shapes += _row(base, name, values, times)
    return WHOLE.format(
        said=html.escape(in_words(samples)),
        width=WIDTH,
        height=height,
        shapes="\n".join(shapes),
    )


def _numbers(samples: Sequence[Sample]) -> dict[str, list[int]]:
    """The numbers that are shown: what customers notice, the lag of each group, and the
    brokers' own.
    """
    accepted = [sample.accepted for sample in samples]
    found = {"orders accepted per minute": by_the_minute(accepted)}
    found["customers who wait, or are refused"] = [sample.unhappy for sample in samples]
    for group in samples[0].lag:
        found[f"lag of {group}"] = [sample.lag[group] for sample in samples]
    for metric in METRICS:
        found[metric.heading] = list(map(metric.of, samples))
    return found


def by_the_minute(accepted: Sequence[int]) -> list[int]:
    """How many orders were accepted in the minute before each sample. accepted: how
    many since the sample before.
    """
    totals = []
    for at in range(1, len(accepted) + 1):
        totals.append(sum(accepted[max(at - MINUTE_SAMPLES, 0) : at]))
    return totals


def in_words(samples: Sequence[Sample]) -> str:
    """The text for screen readers instead of the lines."""
    said = []
    for name, values in _numbers(samples).items():
        said.append(f"{name} {values[-1]}, at most {max(values)}")
    return "; ".join(said)


def _across(at_ms: int, end_ms: int) -> float:
    """x of a moment; the last one is on the right."""
    share = min(at_ms / end_ms, 1)
    return LEFT + (RIGHT - LEFT) * share


def _moment(x: float, end: float, ink: str, dashes: str, words: str) -> str:
    """A line down through all rows. words: shown when the pointer is on it."""
    return MOMENT.format(x=x, end=end, ink=ink, dashes=dashes, words=html.escape(words))


def _row(
    base: int, name: str, values: Sequence[int], times: Sequence[float]
) -> list[str]:
    """One number's line, its name and its largest value."""
    most = max(values)
    points = []
    for x, value in zip(times, values, strict=True):
        y = base - TALL * value / max(most, 1)
        points.append(f"{x:.1f},{y:.1f}")
    return [
        LINE.format(points=" ".join(points), ink=INK if most else QUIET),
        _text(0, base, name, "start"),
        _text(RIGHT + 10, base - TALL + 10, str(most), "start"),
    ]


def _text(x: float, y: float, words: str, anchor: str) -> str:
    """A short text. anchor: which end of it x is."""
    return TEXT.format(x=x, y=y, words=html.escape(words), anchor=anchor)

"""The operations room in one strip: each number over the night, one under the other."""

import html
from collections.abc import Sequence

from minikafka.course.on_call.metrics import METRICS
from minikafka.course.on_call.monitoring import Sample

WIDTH = 820
ROW = 30
LEFT = 250  # where the lines begin
RIGHT = 760  # where they end
TALL = 20  # a line's highest point above its lowest
INK = "#0072B2"
ALARM = "#b3470a"

WHOLE = """
<svg role="img" aria-label="{said}" width="{width}" height="{height}"
 viewBox="0 0 {width} {height}" style="max-width:100%;height:auto"
 fill="currentColor" font-family="system-ui,sans-serif" font-size="12">
{shapes}
</svg>
"""
CALLED = """
<line x1="{x:.1f}" x2="{x:.1f}" y1="4" y2="{end}" stroke="{ink}"
 stroke-dasharray="4 3"/>
"""
LINE = '<polyline points="{points}" fill="none" stroke="{ink}" stroke-width="1.5"/>'
TEXT = '<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


def strip(samples: Sequence[Sample], called_ms: int) -> str:
    """SVG in HTML. The dashed line is when somebody was called."""
    if not samples:
        return ""
    numbers = _numbers(samples)
    height = ROW * len(numbers) + 24
    end_ms = samples[-1].at_ms
    called = _across(called_ms, end_ms)
    line = CALLED.format(x=called, end=height - 20, ink=ALARM)
    shapes = [line, _text(called, height - 6, "you were called", "middle")]
    times = [_across(sample.at_ms, end_ms) for sample in samples]
    for place, (name, values) in enumerate(numbers.items()):
        base = ROW * place + ROW - 4
        shapes += _row(base, name, values, times)
    return WHOLE.format(
        said=html.escape(_in_words(numbers)),
        width=WIDTH,
        height=height,
        shapes="\n".join(shapes),
    )


def _numbers(samples: Sequence[Sample]) -> dict[str, list[int]]:
    """The numbers that are shown: the brokers', the lag of each group, and the
    customers.
    """
    found = {}
    for metric in METRICS:
        found[metric.heading] = list(map(metric.of, samples))
    for group in samples[0].lag:
        found[f"lag of {group}"] = [sample.lag[group] for sample in samples]
    found["customers who wait, or hear no"] = [sample.unhappy for sample in samples]
    return found


def _in_words(numbers: dict[str, list[int]]) -> str:
    """The text for screen readers instead of the lines."""
    most = [f"{name} at most {max(values)}" for name, values in numbers.items()]
    return ", ".join(most)


def _across(at_ms: int, end_ms: int) -> float:
    """x of a moment; the last one is on the right."""
    share = at_ms / end_ms
    return LEFT + (RIGHT - LEFT) * share


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
        LINE.format(points=" ".join(points), ink=INK),
        _text(0, base, name, "start"),
        _text(RIGHT + 10, base - TALL + 10, str(most), "start"),
    ]


def _text(x: float, y: float, words: str, anchor: str) -> str:
    """A short text. anchor: which end of it x is."""
    return TEXT.format(x=x, y=y, words=html.escape(words), anchor=anchor)

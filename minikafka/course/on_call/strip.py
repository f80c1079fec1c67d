"""The operations room in one strip: each number over the night, one under the other."""

import html
from collections.abc import Sequence

from minikafka.course.on_call.metrics import METRICS
from minikafka.course.on_call.world import Sample

WIDTH, ROW, LEFT = 820, 30, 250  # LEFT: where the lines begin
TALL = 20  # a line's highest point above its lowest
INK, CALLED = "#0072B2", "#b3470a"


def strip(samples: Sequence[Sample], called_ms: int) -> str:
    """SVG in HTML. The dashed line is when somebody was called."""
    if not samples:
        return ""
    lines: dict[str, list[int]] = {
        metric.heading: list(map(metric.of, samples)) for metric in METRICS
    }
    for group in samples[0].lag:
        lines[f"lag of {group}"] = [sample.lag[group] for sample in samples]
    lines["customers who wait"] = [
        sample.waiting + sample.late + sample.refused for sample in samples
    ]
    end_ms = samples[-1].at_ms
    height = ROW * len(lines) + 24
    called = LEFT + (WIDTH - LEFT - 60) * called_ms / end_ms
    shapes = [
        f'<line x1="{called:.1f}" x2="{called:.1f}" y1="4" y2="{height - 20}"'
        f' stroke="{CALLED}" stroke-dasharray="4 3"/>',
        _text(called, height - 6, "you were called", "middle"),
    ]
    for number, (name, values) in enumerate(lines.items()):
        shapes.append(_row(number, name, values, samples))
    said = ", ".join(f"{name} at most {max(ys)}" for name, ys in lines.items())
    return (
        f'<svg role="img" aria-label="{html.escape(said)}" width="{WIDTH}"'
        f' height="{height}" viewBox="0 0 {WIDTH} {height}"'
        ' style="max-width:100%;height:auto" fill="currentColor"'
        ' font-family="system-ui,sans-serif" font-size="12">'
        f"{''.join(shapes)}</svg>"
    )


def _row(
    number: int, name: str, values: Sequence[int], samples: Sequence[Sample]
) -> str:
    base = ROW * number + ROW - 4
    most = max(max(values), 1)
    end_ms = samples[-1].at_ms
    points = []
    for sample, value in zip(samples, values, strict=True):
        x = LEFT + (WIDTH - LEFT - 60) * sample.at_ms / end_ms
        points.append(f"{x:.1f},{base - TALL * value / most:.1f}")
    line = (
        f'<polyline points="{" ".join(points)}" fill="none" stroke="{INK}"'
        ' stroke-width="1.5"/>'
    )
    label = _text(0, base, name, "start")
    top = _text(WIDTH - 50, base - TALL + 10, f"{max(values)}", "start")
    return line + label + top


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{html.escape(words)}</text>"
    )

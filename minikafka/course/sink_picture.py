"""The picture at the top of lesson 19: a micro-batch that is in the sink, of a query that died before it noted that."""

from __future__ import annotations

from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

_WIDTH, _HEIGHT, _GAP = 236, 112, 56

# name, what stands in it, whether it is there
STEPS = (
    ("offsets/1", "the plan: which records", True),
    ("the sink", "78 postings", True),
    ("commits/1", "the note: done", False),
)


def a_query_that_died_in_between() -> str:
    """SVG: plan, sink and commit of batch 1 as three boxes; the last is empty."""
    body = Drawing(WIDE)
    for place, (name, inside, there) in enumerate(STEPS):
        x = place * (_WIDTH + _GAP)
        _box(body, name, inside, there, x)
        if place and there:
            body.arrow(f"{name}/way", x - _GAP + 8, 66, x - 8, 66)
    for name, x, y, x2, y2 in (("upper", 560, 12, 550, 62), ("middle", 550, 62, 562, 62), ("lower", 562, 62, 552, 120)):
        body.line(f"plug/{name}", x, y, x2, y2, "trouble", width=3)
    body.text("plug/word", 556, 144, "the machine died here", bold=True, anchor="middle")
    said = "Batch 1 is in the sink, and its commit was never written. What will Spark do when it starts again?"
    return svg(
        body,
        title="one micro-batch in three steps",
        scenario="Spark writes a plan, gives the rows to the sink, and writes a commit",
        sentence=said,
        corner="batch 1",
        time="stopped",
        alt=f"{said} The checkpoint has the plan, and no commit.",
    )


def _box(body: Drawing, name: str, inside: str, there: bool, x: float) -> None:
    body.rect(name, x, 10, _WIDTH, _HEIGHT, "cell" if there else "paper", "rule", r=8)
    body.circle(f"{name}/lamp", x + 24, 36, 9, "actor1" if there else "paper", "actor1")
    body.text(f"{name}/name", x + 44, 41, name, bold=True)
    body.text(f"{name}/inside", x + 16, 84, inside if there else "not there", "ink" if there else "quiet")

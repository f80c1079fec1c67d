"""The picture of `notebooks/the_larger_number.md`: four old bosses, the larger number
that each meets, and what it hears.
"""

from minikafka.course.experiments.fences import Fence, fences
from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

SENTENCE = "Nobody has to tell the old boss. Whoever it asks compares two numbers."
_TOP, _ROW, _BOX = 30, 76, 46  # of the first place; from place to place; of a box
_OLD, _NEW, _WIDTH = 200, 560, 130  # where the boxes begin; how wide they are
_HEARD = _NEW + _WIDTH + 14


def the_larger_number() -> str:
    """SVG: a row for each place, as the runs were."""
    found = fences()
    body = Drawing(WIDE)
    body.note("old", _OLD, 14, "the old boss is back")
    body.note("new", _NEW, 14, "what counts now")
    body.note("heard", _HEARD, 14, "it hears")
    for place, fence in enumerate(found):
        _row(body.part(f"fence/{place}", 0, _TOP + place * _ROW), fence)
    told = ". ".join(
        f"{fence.boss}: the old one has {fence.number} {fence.was}, {fence.then} counts"
        for fence in found
    )
    return svg(
        body,
        title="The larger number fences the old boss",
        scenario="four places where somebody is replaced, and comes back",
        sentence=SENTENCE,
        corner="",
        time="later",
        alt=f"{told}.",
    )


def _row(row: Drawing, fence: Fence) -> None:
    middle = _BOX / 2
    row.text("boss", 0, 20, fence.boss, bold=True)
    row.note("number", 0, 39, fence.number)
    row.rect("old", _OLD, 0, _WIDTH, _BOX, "cell", "rule", r=4, dash="4 3")
    _number(row, "old", _OLD, fence.was)
    row.arrow("asks", _OLD + _WIDTH + 6, middle, _NEW - 6, middle)
    between = (_OLD + _WIDTH + _NEW) / 2
    row.note("does", between, middle - 8, fence.does, "middle")
    row.rect("new", _NEW, 0, _WIDTH, _BOX, "wash", "ink", r=4)
    _number(row, "new", _NEW, fence.then)
    first, _, rest = fence.hears.strip("`").partition(": ")
    is_code = "`" in fence.hears
    row.text(
        "hears", _HEARD, 20 if rest else 28, first, "trouble", mono=is_code, size=12
    )
    if rest:
        row.note("follows", _HEARD, 38, rest, size=12)


def _number(row: Drawing, which: str, x: float, number: int) -> None:
    row.text(
        f"{which}/number",
        x + _WIDTH / 2,
        30,
        str(number),
        size=18,
        bold=True,
        anchor="middle",
    )

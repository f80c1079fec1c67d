"""The picture of `notebooks/the_larger_number.md`: four old bosses, the larger number
that each meets, and the answer it gets.
"""

from minikafka.course.experiments.fences import Fence, fences
from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import file, in_light

_TOP = 30  # of the first place
_ROW = 76  # from place to place
_BOX = 46  # how high a box is
_WIDTH = 130  # and how wide
_OLD, _NEW = 200, 560  # where the two boxes begin
_HEARD = _NEW + _WIDTH + 14


def the_larger_number() -> str:
    """SVG: a row for each place, as the runs were, without the title of its page."""
    found = fences()
    body = Drawing(WIDE)
    body.note("old", _OLD, 14, "the old boss is back")
    body.note("new", _NEW, 14, "what counts now")
    body.note("heard", _HEARD, 14, "it hears")
    y = _TOP
    for place, fence in enumerate(found):
        row = body.part(f"fence/{place}", 0, y)
        _row(row, fence)
        y += _ROW
    told = ". ".join(map(_in_words, found))
    return file(
        Drawing(WIDE),
        [in_light(key, body) for key in body.shapes],
        top=0,
        height=body.bottom + 2,
        title="The larger number fences the old boss",
        alt=f"{told}.",
        margin=0,
    )


def _in_words(fence: Fence) -> str:
    old = f"the old one has {fence.number} {fence.was}"
    return f"{fence.boss}: {old}, {fence.then} counts"


def _row(row: Drawing, fence: Fence) -> None:
    """The old boss, what it asks, what counts now, and the answer."""
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
    _hears(row, fence.hears)


def _hears(row: Drawing, answer: str) -> None:
    """In two lines, where it is a name and a sentence."""
    is_code = "`" in answer
    first, _, rest = answer.strip("`").partition(": ")
    y = 20 if rest else 28
    row.text("hears", _HEARD, y, first, "trouble", mono=is_code, size=12)
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

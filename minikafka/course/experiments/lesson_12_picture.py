"""The picture at the top of lesson 12: the bytes of one request, without fields."""

from minikafka.course.experiments.lesson_12_runs import order_request
from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

A_ROW = 16  # bytes
FLIPPED = 52  # a byte like any other

_TOP = 10  # of the first row
_ROW = 26  # from one row to the next
_LEFT = 70  # of the first byte in a row
_PITCH = 34  # from one byte to the next
_TEXT = 640  # left of the letters


def one_of_these_is_flipped() -> str:
    """SVG: the bytes of a produce request, as a capture of the network shows them. What
    they are, and who notices the flip, is the lesson's to say.
    """
    request = order_request()
    body = Drawing(WIDE)
    y = _TOP
    for at in range(0, len(request), A_ROW):
        row = request[at : at + A_ROW]
        _draw_row(body, at, row, y)
        y += _ROW
    said = "On the way a single bit flips. What notices?"
    return svg(
        body,
        title="A request to a broker",
        scenario="a producer sends one order: alice, paid",
        sentence=said,
        corner=f"{len(request)} bytes",
        time="on its way",
        alt=f"{said} {len(request)} bytes, in rows of sixteen.",
    )


def _draw_row(body: Drawing, at: int, row: bytes, y: float) -> None:
    baseline = y + 18
    body.text(f"{at}/at", 16, baseline, f"{at:03}", mono=True, size=12)
    x = _LEFT
    for number, byte in enumerate(row, at):
        key = f"{number}/byte"
        if number == FLIPPED:
            body.rect(
                f"{key}/box",
                x=x - 5,
                y=y + 2,
                w=28,
                h=22,
                fill="cell",
                line="trouble",
                r=4,
            )
        body.text(key, x, baseline, f"{byte:02x}", mono=True, size=13)
        x += _PITCH
    letters = "".join(map(_letter, row))
    body.text(f"{at}/text", _TEXT, baseline, letters, mono=True, size=13)


def _letter(byte: int) -> str:
    """The byte as ASCII, or a dot."""
    is_printable = 32 < byte < 127
    return chr(byte) if is_printable else "."

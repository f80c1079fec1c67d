"""The picture at the top of lesson 12: the bytes of one request, without fields."""

from typing import NamedTuple

from minikafka.course.experiments.lesson_12_runs import order_request
from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

FLIPPED = 52  # a byte like any other

_TOP = 10  # of the first row
_ROW = 26  # from one row to the next


class Columns(NamedTuple):
    """bytes: in a row. at, first, letters: where its number, its bytes and its letters
    begin. pitch: from one byte to the next.
    """

    bytes: int
    at: float
    first: float
    pitch: float
    letters: float


COLUMNS = Columns(16, at=16, first=70, pitch=34, letters=640)
SMALL = Columns(8, at=0, first=40, pitch=29, letters=288)  # on a phone


def one_of_these_is_flipped(width: int = WIDE) -> str:
    """SVG: the bytes of a produce request, as a capture of the network shows them. What
    they are, and who notices the flip, is the lesson's to say.
    """
    request = order_request()
    body = Drawing(width)
    columns = SMALL if body.phone else COLUMNS
    y = _TOP
    for at in range(0, len(request), columns.bytes):
        row = request[at : at + columns.bytes]
        _draw_row(body, at, row, y, columns)
        y += _ROW
    in_a_row = "eight" if body.phone else "sixteen"
    said = "On the way a single bit flips. What notices?"
    return svg(
        body,
        title="A request to a broker",
        scenario="a producer sends one order: alice, paid",
        sentence=said,
        corner=f"{len(request)} bytes",
        time="on its way",
        alt=f"{said} {len(request)} bytes, in rows of {in_a_row}.",
    )


def _draw_row(body: Drawing, at: int, row: bytes, y: float, columns: Columns) -> None:
    baseline = y + 18
    body.text(f"{at}/at", columns.at, baseline, f"{at:03}", mono=True, size=12)
    x = columns.first
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
        x += columns.pitch
    letters = "".join(map(_letter, row))
    body.text(f"{at}/text", columns.letters, baseline, letters, mono=True, size=13)


def _letter(byte: int) -> str:
    """The byte as ASCII, or a dot."""
    is_printable = 32 < byte < 127
    return chr(byte) if is_printable else "."

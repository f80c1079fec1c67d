"""The picture at the top of lesson 12: the bytes of one request, without fields."""

from minikafka.course.experiments.lesson_12_runs import order_request
from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

A_ROW = 16  # bytes
FLIPPED = 52  # a byte like any other

_LEFT, _TOP, _PITCH, _ROW, _TEXT = 70, 10, 34, 26, 640


def one_of_these_is_flipped() -> str:
    """SVG: the bytes of a produce request, as a capture of the network shows them. What
    they are, and who notices the flip, is the lesson's to say.
    """
    request = order_request()
    body = Drawing(WIDE)
    for number, at in enumerate(range(0, len(request), A_ROW)):
        _draw_row(body, at, request[at : at + A_ROW], _TOP + number * _ROW)
    said = "On the way one bit of a single byte becomes another one. Who notices?"
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
    for place, byte in enumerate(row):
        x = _LEFT + place * _PITCH
        key = f"{at + place}/byte"
        if at + place == FLIPPED:
            body.rect(f"{key}/box", x - 5, y + 2, 28, 22, "cell", "trouble", r=4)
        body.text(key, x, baseline, f"{byte:02x}", mono=True, size=13)
    letters = "".join(chr(byte) if 32 < byte < 127 else "." for byte in row)
    body.text(f"{at}/text", _TEXT, baseline, letters, mono=True, size=13)

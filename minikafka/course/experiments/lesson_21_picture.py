"""The picture at the top of lesson 21: an order in Avro, between a shop that has written
three fields and a program that knows two.
"""

from collections.abc import Mapping

from minikafka.course.experiments.lesson_21_compatibility import write
from minikafka.course.experiments.lesson_21_schemas import fields
from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

WRITTEN = {"customer": "alice", "copies": 2, "cents": 2000}
KNOWN = {"customer": "a string", "cents": "a number"}

_TOP, _ROW = 24, 34  # of the lists; from row to row
_BOX, _HEIGHT = 200, 130
_BYTES_LEFT, _BYTE = 305, 30  # the bytes; from byte to byte
_READER_LEFT = 680


def nine_bytes() -> str:
    """SVG: what the shop writes, its bytes in Avro, and what billing looks for. Which
    byte belongs to what is the lesson's to say.
    """
    schema = fields(customer="string", copies="long", cents="long")
    data = write(schema, WRITTEN)
    body = Drawing(WIDE)
    _listed(body, "shop", 20, "the shop writes", WRITTEN)
    middle = _TOP + _HEIGHT / 2
    for place, byte in enumerate(data):
        left = _BYTES_LEFT + place * _BYTE
        name = f"byte/{place}"
        body.rect(name, left, middle - 15, _BYTE, 30, "cell", "rule", r=2)
        x = left + _BYTE / 2
        hexed = f"{byte:02x}"
        body.text(f"{name}/hex", x, middle + 5, hexed, anchor="middle", mono=True)
    end = _BYTES_LEFT + len(data) * _BYTE
    center = (_BYTES_LEFT + end) / 2
    body.note("bytes", center, middle + 38, "in the topic orders", "middle")
    body.arrow("writes", 20 + _BOX + 10, middle, _BYTES_LEFT - 10, middle)
    body.arrow("reads", end + 10, middle, _READER_LEFT - 10, middle)
    _listed(body, "billing", _READER_LEFT, "billing looks for", KNOWN)
    said = "The shop writes three fields. Billing knows two. What does it read?"
    return svg(
        body,
        title="an order in Avro",
        scenario=f"{len(data)} bytes",
        sentence=said,
        corner="the broker stores bytes",
        time="one order",
        alt=f"{said} The order is {len(data)} bytes in the topic.",
    )


def _listed(
    body: Drawing, name: str, left: float, title: str, rows: Mapping[str, object]
) -> None:
    """A box with a title and a line for each field."""
    body.rect(name, left, _TOP, _BOX, _HEIGHT, "paper", "rule", r=8)
    body.text(f"{name}/title", left + 16, _TOP + 24, title, bold=True, size=13)
    for place, (field, about) in enumerate(rows.items(), 1):
        line = f"{field}: {about}"
        y = _TOP + 24 + place * _ROW * 0.8
        body.text(f"{name}/{field}", left + 16, y, line, mono=True, size=13)

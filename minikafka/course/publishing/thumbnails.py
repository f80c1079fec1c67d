"""A picture's thumbnail: the upper part of what is drawn for a phone, without title and
sentence, so near that its words can be read on a card. It ends at an element's edge,
and has as much room above as below.
"""

from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree

from minikafka.theatre import svg
from minikafka.theatre.drawing import SMALLEST, Drawing, Shape, text_width
from minikafka.theatre.picture import Picture

EDGE = 12  # around what is shown
RATIO = 1 / 2  # high to wide
NEAR, NEARER = 280, 200  # units across, where a card would be half empty
A_GROUND = 50  # units: an element as high as this holds others, and may be cut
_BODY = '<g transform="translate('  # svg.py: what is drawn, below title and sentence


class Span(NamedTuple):
    """An element's top and bottom. begins: words at the left, to which something below
    or beside them belongs.
    """

    top: float
    bottom: float
    begins: bool = False


def thumbnail(picture: Picture, step: int) -> str:
    """A step as an SVG file of 2 to 1, for pages that say beside it what it is."""
    drawn = picture.drawing(step, SMALLEST)
    shapes = "\n".join(svg.in_light(key, drawn) for key in drawn.shapes)
    return _card(shapes, across(drawn))


def of_file(text: str) -> str:
    """The thumbnail of a picture that is an SVG file for phones."""
    _, _, body = text.partition(_BODY)
    return _card(body.partition(">")[2].rpartition("</g>")[0], SMALLEST)


def _card(shapes: str, width: int) -> str:
    width += 2 * EDGE
    height = round(width * RATIO)
    spans = list(_spans(shapes))
    top = min(span.top for span in spans)
    cut = _edge(spans, top, height - 2 * EDGE)
    shown = min(cut, max(span.bottom for span in spans)) - top
    begin = top - max(EDGE, (height - shown) / 2)
    box = f'x="{-EDGE}" width="{width}"'
    return (
        '<svg xmlns="http://www.w3.org/2000/svg"'
        f' viewBox="{-EDGE} {begin:g} {width} {height}" width="{width}"'
        f' height="{height}">\n<style>{svg.colours()}</style>\n'
        f'<defs>{svg.HATCH}<clipPath id="cut"><rect {box} y="{top - EDGE:g}"'
        f' height="{cut - top + EDGE:g}"/></clipPath></defs>\n'
        f'<rect {box} y="{begin:g}" height="{height}" class="f-paper"/>\n'
        f'<g clip-path="url(#cut)">{shapes}</g>\n</svg>\n'
    )


def _edge(spans: list[Span], top: float, high: float) -> float:
    """The lowest line in the room that goes through no element and stands under no name
    of what follows; or, if there is none, one that goes through grounds; or else one
    that stands under a name.
    """
    whole = max(span.bottom for span in spans)
    if whole <= top + high:
        return whole + EDGE
    things = [span for span in spans if span.bottom - span.top < A_GROUND]
    names = [span for span in spans if span.begins]
    for those, above in (spans, names), (things, names), (things, []):
        for line in sorted((span.bottom for span in those), reverse=True):
            is_through = any(span.top < line < span.bottom for span in those)
            is_name = any(abs(span.bottom - line) < 4 for span in above)
            is_in_room = top + high / 2 <= line <= top + high
            if is_in_room and not is_through and not is_name:
                return line + 1
    return top + high


def _spans(shapes: str) -> Iterator[Span]:
    """Of boxes, circles, words and level lines; other lines and paths may be cut."""
    for element in ElementTree.fromstring(f"<g>{shapes}</g>").iter():
        given = element.attrib
        if element.tag == "rect":
            y = float(given["y"])
            yield Span(y, y + float(given["height"]))
        elif element.tag == "circle":
            y, radius = float(given["cy"]), float(given["r"])
            yield Span(y - radius, y + radius)
        elif element.tag == "line" and given["y1"] == given["y2"]:
            yield Span(float(given["y1"]) - 1, float(given["y1"]) + 1)
        elif element.tag == "text":
            y, size = float(given["y"]), float(given["font-size"])
            yield Span(y - size, y + size / 3, float(given["x"]) < 10)


def across(drawn: Drawing) -> int:
    """How much of a drawing's width is shown: less where the right is empty, but so
    near only where that fills the card.
    """
    for wide, least in (NEARER, 0.5), (NEAR, 0.0):
        seen = [each for each in drawn.shapes.values() if each["y"] < wide * RATIO]
        used = max(map(_right, seen), default=0)
        if least < used / wide < 0.76:
            return wide
    return drawn.width


def _right(shape: Shape) -> float:
    """The rightmost point of a shape."""
    x = float(shape["x"])
    if shape["kind"] == "line":
        return max(x, float(shape["x2"]))
    if shape["kind"] != "text":
        return x + float(shape.get("w") or shape.get("r") or 0)
    wide = text_width(
        shape["text"],
        shape["size"],
        mono="mono" in shape,
        bold="weight" in shape,
    )
    anchor = {"middle": 0.5, "end": 0.0}.get(shape.get("anchor", ""), 1.0)
    return x + wide * anchor

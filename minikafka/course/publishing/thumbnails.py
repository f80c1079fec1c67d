"""A picture's thumbnail: what is drawn at its upper left, without title and sentence,
so near that its words can be read on a card.
"""

from minikafka.theatre import svg
from minikafka.theatre.drawing import PHONE, Drawing, Shape, text_width
from minikafka.theatre.picture import Picture

EDGE = 12  # around what is shown
NEAR = 300  # units across, where a card would be half empty


def thumbnail(picture: Picture, step: int) -> str:
    """A step as an SVG file of 8 to 5, for pages that say beside it what it is."""
    drawn = picture.drawing(step, PHONE)
    width = across(drawn) + 2 * EDGE
    height = round(width * 5 / 8)
    shapes = "\n".join(svg.in_light(key, drawn) for key in drawn.shapes)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg"'
        f' viewBox="{-EDGE} {-EDGE} {width} {height}" width="{width}"'
        f' height="{height}">\n<style>{svg.colours()}</style>\n'
        f"<defs>{svg.HATCH}</defs>\n"
        f'<rect x="{-EDGE}" y="{-EDGE}" width="{width}" height="{height}"'
        f' class="f-paper"/>\n{shapes}\n</svg>\n'
    )


def across(drawn: Drawing) -> int:
    """How much of a drawing's width is shown: less where the right is empty."""
    high = drawn.width * 5 / 8
    seen = [each for each in drawn.shapes.values() if each["y"] < high]
    used = max(map(_right, seen), default=0)
    return NEAR if used < drawn.width * 0.6 else drawn.width


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

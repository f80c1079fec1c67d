"""One step as a static SVG: the same shapes as the page, with the header that the page
sets in HTML.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from minikafka.theatre.drawing import PALETTE, Drawing, Shape, fit, text_width, wrap
from minikafka.theatre.text import escape

SANS = "system-ui, 'DejaVu Sans', sans-serif"
MONO = "ui-monospace, 'DejaVu Sans Mono', monospace"
MARGIN = 20
DIM = 0.3  # player.css: .dim
# SVG's attributes, and what shapes call them.
PLACES = {
    "rect": {"x": "x", "y": "y", "width": "w", "height": "h", "rx": "r"},
    "circle": {"cx": "x", "cy": "y", "r": "r"},
    "line": {"x1": "x", "y1": "y", "x2": "x2", "y2": "y2"},
    "path": {"d": "d"},
}
HATCH = (
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse"'
    ' patternTransform="rotate(45)"><rect width="2.4" height="6"'
    ' class="f-trouble"/></pattern><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4"'
    ' markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z"'
    ' class="f-quiet"/></marker>'
)


def svg(
    body: Drawing,
    *,
    title: str,
    scenario: str,
    sentence: str,
    corner: str,
    time: str,
    alt: str,
) -> str:
    """A whole SVG file, legible in both themes, with a title and a description for
    screen readers.
    """
    right = MARGIN + body.width
    indent = max(96, text_width(time, 12.5, mono=True, bold=True) + 28)
    room = body.width - text_width(time, 15, mono=True, bold=True) - 16
    beside_corner = body.width - text_width(corner, 12, mono=True) - 16
    room_of_line = body.width - indent - 14
    lines = [
        fit(line, room_of_line, 12.5) for line in wrap(sentence, room_of_line, 12.5)
    ]
    header = Drawing(body.width)
    header.text(
        "title",
        MARGIN,
        24,
        fit(title, beside_corner, 16, bold=True),
        bold=True,
        size=16,
    )
    header.text("scenario", MARGIN, 43, fit(scenario, room, 12.5), "quiet", size=12.5)
    header.text("corner", right, 24, corner, "quiet", size=12, mono=True, anchor="end")
    header.text("time", right, 44, time, bold=True, size=15, mono=True, anchor="end")
    header.rect(
        "said", MARGIN, 54, body.width, 8 + 18 * len(lines), "said", "saidline", r=6
    )
    header.text("when", MARGIN + 12, 71, time, bold=True, size=12.5, mono=True)
    for number, line in enumerate(lines):
        header.text(
            f"sentence/{number}", MARGIN + indent, 71 + 18 * number, line, size=12.5
        )
    top = 80 + 18 * len(lines)
    return file(
        header,
        [in_light(key, body) for key in body.shapes],
        top,
        top + body.bottom + 12,
        alt,
    )


def file(
    header: Drawing,
    shapes: Sequence[str],
    top: int,
    height: int,
    alt: str,
    rules: str = "",
) -> str:
    """A whole SVG file. shapes: elements, drawn from top on. The header's title is the
    file's.
    """
    width, body = header.width + 2 * MARGIN, "\n".join(shapes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}" role="img" aria-labelledby="picture-title'
        ' picture-text">\n<title'
        f' id="picture-title">{escape(header.shapes["title"]["text"])}</title>\n<desc'
        f' id="picture-text">{escape(alt)}</desc>\n'
        f"<style>{colours()}{rules}</style>\n<defs>{HATCH}</defs>\n"
        f'<rect width="{width}" height="{height}" class="f-paper"/>\n'
        + "\n".join(map(_element, header.shapes.values()))
        + f'\n<g transform="translate({MARGIN} {top})">\n{body}\n</g>\n</svg>\n'
    )


def colours() -> str:
    """The palette as classes: f- fills, l- lines; the dark values where the reader's
    system is dark.
    """
    names = {name: f".f-{name}{{fill:%s}}.l-{name}{{stroke:%s}}" for name in PALETTE}
    light, dark = (
        "".join(names[name] % (pair[way], pair[way]) for name, pair in PALETTE.items())
        for way in (0, 1)
    )
    return (
        f"{light}.f-none{{fill:none}}.f-hatch{{fill:url(#hatch)}}@media"
        f" (prefers-color-scheme: dark){{{dark}}}"
    )


def in_light(key: str, body: Drawing) -> str:
    """A shape's element, outlined or dimmed."""
    shape = body.shapes[key]
    if key in body.outlined:
        return _element(
            shape
            | {
                "line": "trouble" if shape.get("line") == "trouble" else "ink",
                "width": 3,
            }
        )
    if body.lit and key not in body.lit:
        return f'<g opacity="{DIM}">{_element(shape)}</g>'
    return _element(shape)


def _element(shape: Shape) -> str:
    kind = shape["kind"]
    if kind == "cell":
        return "".join(map(_element, _parts(shape)))
    extra = _attributes({"opacity": shape.get("fade")})
    paint = (
        f'class="f-{shape.get("fill", "none")} l-{shape.get("line", "none")}"'
        + _attributes(
            {"stroke-width": shape.get("width"), "stroke-dasharray": shape.get("dash")}
        )
    )
    tip = f"<title>{escape(shape['tip'])}</title>" if shape.get("tip") else ""
    if kind == "text":
        return _words(shape, extra)
    place: dict[str, Any] = (
        {"transform": f"translate({shape['x']} {shape['y']})"} if kind == "path" else {}
    )
    place |= {name: shape.get(of) for name, of in PLACES[kind].items()}
    place |= {"marker-end": "url(#tip)"} if shape.get("arrow") else {}
    return f"<{kind}{_attributes(place)}{extra} {paint}>{tip}</{kind}>"


def _words(shape: Shape, extra: str) -> str:
    style = {
        "font-size": shape["size"],
        "font-weight": shape.get("weight"),
        "text-anchor": shape.get("anchor"),
        "font-family": MONO if shape.get("mono") else SANS,
    }
    halo = (
        f' l-{shape["halo"]}" stroke-width="4" paint-order="stroke"'
        if shape.get("halo")
        else '"'
    )
    paint = f'class="f-{shape["fill"]}{halo}'
    room = shape.get("room")
    cut = {"mono": bool(shape.get("mono")), "bold": bool(shape.get("weight"))}
    words = escape(
        fit(shape["text"], room, shape["size"], **cut) if room else shape["text"]
    )
    if shape.get("more"):
        gap, font = (4, SANS) if shape.get("mono") else (8, MONO)
        look = (
            f'font-family="{font}" font-size="12.5" font-weight="400"'
            f' class="f-{shape["ink"]}"'
        )
        words += f'<tspan dx="{gap}" {look}>{escape(shape["more"])}</tspan>'
    return (
        f'<text x="{shape["x"]}" y="{shape["y"]}"{_attributes(style)}{extra}'
        f" {paint}>{words}</text>"
    )


def _parts(cell: Shape) -> list[Shape]:
    """As stage.js has them: a box, words in the middle (below each other in a tall
    box), a number under it.
    """
    x, y, h, ink, text, more = (
        cell.get(name, "") for name in ("x", "y", "h", "ink", "text", "more")
    )
    tall, weight = bool(more) and h >= 40, cell.get("weight")
    plain = {
        "kind": "text",
        "x": x + cell["w"] / 2,
        "y": y + (18 if tall else h / 2 + 5),
        "fill": ink,
        "size": 12.5,
        "anchor": "middle",
        "text": "",
    }
    bold = plain | {
        "text": text,
        "mono": "yes",
        "weight": 600,
        "size": 13.5,
        "ink": ink,
        "more": "" if tall else more,
    }
    number = {
        "text": cell.get("below", ""),
        "mono": "yes",
        "weight": weight,
        "y": y + h + (16 if h >= 30 else 14),
        "fill": "gone" if ink == "gone" else "ink" if weight else "quiet",
    }
    words = bold if text or tall else plain | {"text": more}
    parts = [words, plain | {"text": more if tall else "", "y": y + 36}, plain | number]
    return [cell | {"kind": "rect"}, *(part for part in parts if part["text"])]


def _attributes(values: Mapping[str, object]) -> str:
    return "".join(
        f' {name}="{value}"' for name, value in values.items() if value is not None
    )

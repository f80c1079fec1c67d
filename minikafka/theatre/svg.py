"""One step as a static SVG: the same shapes as the page, with the header that the page
sets in HTML.
"""

import re
from collections.abc import Mapping, Sequence

from minikafka.theatre.drawing import (
    CELL,
    SMALLEST,
    Drawing,
    Look,
    Shape,
    fit,
    text_width,
    wrap,
)
from minikafka.theatre.palette import PALETTE
from minikafka.theatre.text import dotted, escape

SANS = "system-ui, 'DejaVu Sans', sans-serif"
MONO = "ui-monospace, 'DejaVu Sans Mono', monospace"
MARGIN, LEAST_MARGIN = 20, 2
DIM = 0.55  # player.css: .dim
# SVG's attributes, and what shapes call them.
PLACES = {
    "rect": {"x": "x", "y": "y", "width": "w", "height": "h", "rx": "r"},
    "circle": {"cx": "x", "cy": "y", "r": "r"},
    "line": {"x1": "x", "y1": "y", "x2": "x2", "y2": "y2"},
    "path": {"d": "d"},
}
HATCH = (
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse"'
    ' patternTransform="rotate(45)">'
    '<rect width="2.4" height="6" class="f-trouble"/></pattern>'
    '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4"'
    ' markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0,0 L8,4 L0,8 z" class="f-quiet"/></marker>'
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
    screen readers. One for a phone cuts no words, and leaves margins to its page.
    """
    shapes = [in_light(key, body) for key in body.shapes]
    if body.width == SMALLEST:
        header, top = _small_header(title, dotted(time, scenario, corner), sentence)
        height = top + body.bottom + 6
        return file(header, shapes, top, height, title, alt, margin=LEAST_MARGIN)
    width = body.width
    right = MARGIN + width
    text_left = MARGIN + 12
    indent = max(96, text_width(time, 12.5, mono=True, bold=True) + 28)
    room = width - indent - 14
    lines = [fit(line, room, 12.5) for line in wrap(sentence, room, 12.5)]
    header = Drawing(width)
    _headline(header, title, corner)
    beside_time = width - text_width(time, 15, mono=True, bold=True) - 16
    words = fit(scenario, beside_time, 12.5)
    header.text("scenario", MARGIN, 43, words, "quiet", size=12.5)
    end: Look = {"mono": True, "anchor": "end"}
    header.text("corner", right, 24, corner, "quiet", size=12, **end)
    header.text("time", right, 44, time, bold=True, size=15, **end)
    height = 18 * len(lines)
    header.rect(
        "said", x=MARGIN, y=54, w=width, h=8 + height, fill="said", line="saidline", r=6
    )
    header.text("when", text_left, 71, time, bold=True, size=12.5, mono=True)

    for number, line in enumerate(lines):
        y = 71 + 18 * number
        header.text(f"sentence/{number}", MARGIN + indent, y, line, size=12.5)

    top = 80 + height
    return file(header, shapes, top, top + body.bottom + 12, title, alt)


def _small_header(title: str, scenario: str, sentence: str) -> tuple[Drawing, int]:
    """All words below each other, and where the drawing begins."""
    header = Drawing(SMALLEST)
    left, y = LEAST_MARGIN, 0
    for number, line in enumerate(wrap(title, SMALLEST - 20, 15, bold=True)):
        y += 19
        header.text(f"title/{number}", left, y, line, bold=True, size=15)
    for number, line in enumerate(wrap(scenario, SMALLEST, 12.5)):
        y += 18
        header.text(f"scenario/{number}", left, y, line, "quiet", size=12.5)
    lines = wrap(sentence, SMALLEST - 20, 13)
    height = 18 * len(lines) + 10
    top = y + 9
    header.rect("said", left, top, SMALLEST, height, "said", "saidline", r=6)
    for number, line in enumerate(lines):
        y = top + 18 * (number + 1)
        header.text(f"sentence/{number}", left + 10, y, line, size=13)
    return header, top + height + 12


def _headline(header: Drawing, title: str, corner: str) -> None:
    """Draw the title, as far as the corner leaves room."""
    room = header.width - text_width(corner, 12, mono=True) - 16
    words = fit(title, room, 16, bold=True)
    header.text("title", MARGIN, 24, words, bold=True, size=16)


def file(
    header: Drawing,
    shapes: Sequence[str],
    top: int,
    height: int,
    title: str,
    alt: str,
    rules: str = "",
    margin: int = MARGIN,
) -> str:
    """A whole SVG file. shapes: elements, drawn from top on."""
    width = header.width + 2 * margin
    head = "\n".join(map(_element, header.shapes.values()))
    body = "\n".join(shapes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}" role="img"'
        ' aria-labelledby="picture-title picture-text">\n'
        f'<title id="picture-title">{escape(title)}</title>\n'
        f'<desc id="picture-text">{escape(alt)}</desc>\n'
        f"<style>{colours()}{rules}</style>\n"
        f"<defs>{HATCH}</defs>\n"
        f'<rect width="{width}" height="{height}" class="f-paper"/>\n'
        f"{head}\n"
        f'<g transform="translate({margin} {top})">\n{body}\n</g>\n'
        "</svg>\n"
    )


def bare(body: Drawing, alt: str) -> str:
    """The drawing alone, for a page that has the colours as variables, HATCH's patterns
    and the fonts: classes name the colours (f- fills, l- lines), and what is dim. Short,
    because such a page has many: without what is shown to those who point at a shape.
    """
    shapes = "".join(in_light(key, body) for key in body.shapes)
    shapes = re.sub("<title>.*?</title>", "", shapes)
    shapes = re.sub("></(rect|circle|line|path)>", "/>", shapes)
    short = {
        f' font-family="{SANS}"': "",
        f' font-family="{MONO}"': ' font-family="monospace"',
        f'<g opacity="{DIM}">': '<g class="dim">',
    }
    for long, its_short in short.items():
        shapes = shapes.replace(long, its_short)
    return (
        f'<svg viewBox="-2 -2 {body.width + 4} {body.bottom + 8}" role="img"'
        f' aria-label="{escape(alt)}">{shapes}</svg>'
    )


def colours() -> str:
    """The palette as classes: f- fills, l- lines; the dark values where the reader's
    system is dark.
    """
    light = _classes({name: value for name, (value, _) in PALETTE.items()})
    dark = _classes({name: value for name, (_, value) in PALETTE.items()})
    patterns = ".f-none{fill:none}.f-hatch{fill:url(#hatch)}"
    return f"{light}{patterns}@media (prefers-color-scheme: dark){{{dark}}}"


def _classes(palette: Mapping[str, str]) -> str:
    """Colours as CSS has them."""
    return "".join(
        f".f-{name}{{fill:{value}}}.l-{name}{{stroke:{value}}}"
        for name, value in palette.items()
    )


def in_light(key: str, body: Drawing) -> str:
    """A shape's element, outlined or dimmed. In a file nothing lights up again, so that
    words stay legible.
    """
    shape = body.shapes[key]
    if key in body.outlined:
        line = "trouble" if shape.get("line") == "trouble" else "ink"
        return _element(shape | {"line": line, "width": 3})
    if body.lit and key not in body.lit and shape["kind"] != "text":
        return f'<g opacity="{DIM}">{_element(shape)}</g>'
    return _element(shape)


def _element(shape: Shape) -> str:
    """The SVG of a shape, with its text and fade."""
    kind = shape["kind"]
    if kind == "cell":
        return "".join(map(_element, _parts(shape)))
    fade = _attributes({"opacity": shape.get("fade")})
    if kind == "text":
        return _words(shape, fade)
    place = _place(shape)
    paint = _paint(shape)
    tip = f"<title>{escape(shape['tip'])}</title>" if shape.get("tip") else ""
    return f"<{kind}{place}{fade} {paint}>{tip}</{kind}>"


def _place(shape: Shape) -> str:
    """Where a shape is, in SVG's words."""
    kind = shape["kind"]
    place: Look = {}
    if kind == "path":
        place["transform"] = f"translate({shape['x']} {shape['y']})"
    for name, ours in PLACES[kind].items():
        place[name] = shape.get(ours)
    if shape.get("arrow"):
        place["marker-end"] = "url(#tip)"
    return _attributes(place)


def _paint(shape: Shape) -> str:
    """A shape's fill and line."""
    fill = shape.get("fill", "none")
    line = shape.get("line", "none")
    stroke = {"stroke-width": shape.get("width"), "stroke-dasharray": shape.get("dash")}
    return f'class="f-{fill} l-{line}"{_attributes(stroke)}'


def _words(shape: Shape, fade: str) -> str:
    """A text, cut to its room."""
    x = shape["x"]
    y = shape["y"]
    size = shape["size"]
    mono = shape.get("mono")
    style = {
        "font-size": size,
        "font-weight": shape.get("weight"),
        "text-anchor": shape.get("anchor"),
        "font-family": MONO if mono else SANS,
    }
    text = shape["text"]
    room = shape.get("room")
    if room:
        text = fit(text, room, size, mono=bool(mono), bold=bool(shape.get("weight")))
    words = escape(text)
    if shape.get("more"):
        words += _more_words(shape)
    paint = f'class="f-{shape["fill"]}"'
    if shape.get("halo"):
        colours = f'class="f-{shape["fill"]} l-{shape["halo"]}"'
        paint = f'{colours} stroke-width="4" paint-order="stroke"'

    place = f'x="{x}" y="{y}"'
    return f"<text {place}{_attributes(style)}{fade} {paint}>{words}</text>"


def _more_words(shape: Shape) -> str:
    """The text beside another one, in the other font."""
    gap, font, size = 8, MONO, 12.5
    if shape.get("mono"):  # of a cell
        gap, font, size = 4, SANS, shape["size"] - 1
    look = (
        f'font-family="{font}" font-size="{size}" font-weight="400"'
        f' class="f-{shape["ink"]}"'
    )
    return f'<tspan dx="{gap}" {look}>{escape(shape["more"])}</tspan>'


def _parts(cell: Shape) -> list[Shape]:
    """The parts of a cell, as stage.js has them: a box, words in the middle (below each
    other in a tall box), a number under it.
    """
    text = cell.get("text", "")
    more = cell.get("more", "")
    y = cell["y"]
    height = cell["h"]
    is_tall = bool(text and more) and height >= 40
    words: Shape = {
        "kind": "text",
        "x": cell["x"] + cell["w"] / 2,
        "y": y + (18 if is_tall else height / 2 + 5),
        "fill": cell.get("ink", ""),
        "size": cell.get("size", CELL) - 1,
        "anchor": "middle",
    }

    parts = [cell | {"kind": "rect"}]
    if text:
        parts.append(words | _bold(cell, is_tall))
    elif more:
        parts.append(words | {"text": more})
    if is_tall:
        parts.append(words | {"text": more, "y": y + 36})
    if cell.get("below"):
        parts.append(words | _below(cell))
    return parts


def _bold(cell: Shape, is_tall: bool) -> Shape:
    """A cell's text; in a low one with more beside it."""
    return {
        "text": cell["text"],
        "mono": "yes",
        "weight": 600,
        "size": cell.get("size", CELL),
        "ink": cell.get("ink", ""),
        "more": "" if is_tall else cell.get("more", ""),
        "room": cell.get("room"),
    }


def _below(cell: Shape) -> Shape:
    """The number under a cell."""
    weight = cell.get("weight")
    height = cell["h"]
    is_gone = cell.get("ink") == "gone"
    fill = "ink" if weight else "quiet"
    return {
        "text": cell["below"],
        "size": 12.5,
        "mono": "yes",
        "weight": weight,
        "y": cell["y"] + height + (16 if height >= 30 else 14),
        "fill": "gone" if is_gone else fill,
    }


def _attributes(values: Mapping[str, object]) -> str:
    """The attributes that aren't None."""
    said = {name: value for name, value in values.items() if value is not None}
    return "".join(f' {name}="{value}"' for name, value in said.items())

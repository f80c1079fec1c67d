"""One step as a static SVG: the same shapes as the page, with the header that the page sets in HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minikafka.theatre.drawing import PALETTE, Drawing, Shape, fit, text_width, wrap
from minikafka.theatre.text import escape

SANS = "system-ui, 'DejaVu Sans', sans-serif"
MONO = "ui-monospace, 'DejaVu Sans Mono', monospace"
MARGIN = 20
DIM = 0.3  # player.css: .dim
HATCH = (
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="2.4" height="6" class="f-trouble"/></pattern>'
    '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0,0 L8,4 L0,8 z" class="f-quiet"/></marker>'
)


def svg(body: Drawing, *, title: str, scenario: str, sentence: str, corner: str, time: str, alt: str) -> str:
    """A whole SVG file, legible in both themes, with a title and a description for screen readers."""
    width = body.width + 2 * MARGIN
    indent = max(96, text_width(time, 12.5, mono=True, bold=True) + 28)
    room = body.width - text_width(time, 15, mono=True, bold=True) - 16
    beside_corner = body.width - text_width(corner, 12, mono=True) - 16
    room_of_line = body.width - indent - 14
    lines = [fit(line, room_of_line, 12.5) for line in wrap(sentence, room_of_line, 12.5)]
    top = 66 + 18 * len(lines)
    height = top + 14 + body.bottom + 12
    said = "".join(
        f'<tspan x="{MARGIN + indent}" dy="{18 if number else 0}">{escape(line)}</tspan>'
        for number, line in enumerate(lines)
    )
    header = [
        _text(MARGIN, 24, fit(title, beside_corner, 16, bold=True), "ink", 16, 600),
        _text(MARGIN, 43, fit(scenario, room, 12.5), "quiet", 12.5),
        _text(width - MARGIN, 24, corner, "quiet", 12, mono=True, anchor="end"),
        _text(width - MARGIN, 44, time, "ink", 15, 600, mono=True, anchor="end"),
        f'<rect x="{MARGIN}" y="54" width="{body.width}" height="{8 + 18 * len(lines)}" rx="6" '
        'class="f-said l-saidline"/>',
        _text(MARGIN + 12, 71, time, "ink", 12.5, 600, mono=True),
        f'<text x="{MARGIN + indent}" y="71" font-size="12.5" font-family="{SANS}" class="f-ink">{said}</text>',
    ]
    shapes = "\n".join(_in_light(key, body) for key in body.shapes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" '
        f'aria-labelledby="picture-title picture-text">\n<title id="picture-title">{escape(title)}</title>\n'
        f'<desc id="picture-text">{escape(alt)}</desc>\n<style>{colours()}</style>\n<defs>{HATCH}</defs>\n'
        f'<rect width="{width}" height="{height}" class="f-paper"/>\n' + "\n".join(header) + "\n"
        f'<g transform="translate({MARGIN} {top + 14})">\n{shapes}\n</g>\n</svg>\n'
    )


def loop(frames: Sequence[Drawing], *, title: str, alt: str, seconds: float) -> str:
    """Several steps as one SVG file that goes round and round: no script, so that a README can show it. Each state of a
    shape is there once, and a CSS animation shows it while its frames last; who wants no motion sees the last frame.
    """
    width, height = frames[0].width + 2 * MARGIN, max(frame.bottom for frame in frames) + 54
    spans: list[tuple[int, int, str]] = []  # first frame, the one behind the last, element
    for key in dict.fromkeys(key for frame in frames for key in frame.shapes):
        begun, before = 0, ""
        for number, now in enumerate([*(_in_light(key, f) if key in f.shapes else "" for f in frames), None]):
            if now != before:
                spans += [(begun, number, before)] if before else []
                begun, before = number, now or ""
    rules, count = [], len(frames)
    for begin, end in sorted({(begin, end) for begin, end, _ in spans if end - begin < count}):
        shown = [(0, 0 if begin else 1), *([(begin, 1)] if begin else []), *([(end, 0)] if end < count else [])]
        steps = "".join(f"{100 * at / count:.2f}%{{opacity:{opacity}}}" for at, opacity in shown)
        rules.append(f"@keyframes f{begin}-{end}{{{steps}}}.f{begin}-{end}{{opacity:{int(end == count)};"
                     f"animation:f{begin}-{end} {seconds}s step-end infinite}}")  # fmt: skip
    shapes = "\n".join(
        f'<g class="f{begin}-{end}">{element}</g>' if end - begin < count else element for begin, end, element in spans
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-labelledby="t d">\n<title id="t">{escape(title)}</title>\n<desc id="d">{escape(alt)}</desc>\n'
        f"<style>{colours()}{''.join(rules)}"
        "@media (prefers-reduced-motion:reduce){g{animation:none!important}}</style>\n"
        f'<defs>{HATCH}</defs>\n<rect width="{width}" height="{height}" class="f-paper"/>\n'
        f"{_text(MARGIN, 24, title, 'ink', 16, 600)}\n"
        f'<g transform="translate({MARGIN} 42)">\n{shapes}\n</g>\n</svg>\n'
    )


def colours() -> str:
    """The palette as classes: f- fills, l- lines; the dark values where the reader's system is dark."""
    light = "".join(_rules(name, pair[0]) for name, pair in PALETTE.items())
    dark = "".join(_rules(name, pair[1]) for name, pair in PALETTE.items())
    return f"{light}.f-none{{fill:none}}.f-hatch{{fill:url(#hatch)}}@media (prefers-color-scheme: dark){{{dark}}}"


def _rules(name: str, colour: str) -> str:
    return f".f-{name}{{fill:{colour}}}.l-{name}{{stroke:{colour}}}"


def _text(
    x: float, y: float, words: str, fill: str, size: float, weight: int = 400, mono: bool = False, anchor: str = "start"
) -> str:
    return _element(
        {"kind": "text", "x": x, "y": y, "text": words, "fill": fill, "size": size, "weight": weight, "anchor": anchor}
        | ({"mono": "yes"} if mono else {})
    )


def _in_light(key: str, body: Drawing) -> str:
    shape = body.shapes[key]
    if key in body.outlined:
        return _element(shape | {"line": "trouble" if shape.get("line") == "trouble" else "ink", "width": 3})
    if body.lit and key not in body.lit:
        return f'<g opacity="{DIM}">{_element(shape)}</g>'
    return _element(shape)


def _element(shape: Shape) -> str:
    kind = shape["kind"]
    if kind == "cell":
        return _cell(shape)
    extra = _attributes({"opacity": shape.get("fade")})
    paint = f'class="f-{shape.get("fill", "none")} l-{shape.get("line", "none")}"' + _attributes(
        {"stroke-width": shape.get("width"), "stroke-dasharray": shape.get("dash")}
    )
    tip = f"<title>{escape(shape['tip'])}</title>" if shape.get("tip") else ""
    if kind == "text":
        return _words(shape, extra)
    if kind == "rect":
        place = {"x": shape["x"], "y": shape["y"], "width": shape["w"], "height": shape["h"], "rx": shape.get("r")}
    elif kind == "circle":
        place = {"cx": shape["x"], "cy": shape["y"], "r": shape["r"]}
    elif kind == "line":
        place = {"x1": shape["x"], "y1": shape["y"], "x2": shape["x2"], "y2": shape["y2"]}
        place |= {"marker-end": "url(#tip)"} if shape.get("arrow") else {}
    else:
        place = {"transform": f"translate({shape['x']} {shape['y']})", "d": shape["d"]}
    return f"<{kind}{_attributes(place)}{extra} {paint}>{tip}</{kind}>"


def _words(shape: Shape, extra: str) -> str:
    style = {
        "font-size": shape["size"],
        "font-weight": shape.get("weight"),
        "text-anchor": shape.get("anchor"),
        "font-family": MONO if shape.get("mono") else SANS,
    }
    paint = f'class="f-{shape["fill"]}"'
    if shape.get("halo"):
        paint = f'class="f-{shape["fill"]} l-{shape["halo"]}" stroke-width="4" paint-order="stroke"'
    room = shape.get("room")
    cut = {"mono": bool(shape.get("mono")), "bold": bool(shape.get("weight"))}
    words = escape(fit(shape["text"], room, shape["size"], **cut) if room else shape["text"])
    if shape.get("more"):
        look = f'font-family="{MONO}" font-size="12.5" font-weight="400" class="f-{shape["ink"]}"'
        words += f'<tspan dx="8" {look}>{escape(shape["more"])}</tspan>'
    return f'<text x="{shape["x"]}" y="{shape["y"]}"{_attributes(style)}{extra} {paint}>{words}</text>'


def _cell(shape: Shape) -> str:
    """As player.js draws it: box, words in the middle, number under it."""
    box = {name: value for name, value in shape.items() if name not in ("text", "more", "below")}
    middle, ink = shape["x"] + shape["w"] / 2, shape["ink"]
    tall = bool(shape.get("more")) and shape["h"] >= 40
    baseline = shape["y"] + (18 if tall else shape["h"] / 2 + 5)
    parts = [_element(box | {"kind": "rect"})]
    words = f'<tspan font-family="{MONO}" font-size="13.5" font-weight="600">{escape(shape.get("text", ""))}</tspan>'
    if shape.get("more") and not tall:
        words += f"<tspan> {escape(shape['more'])}</tspan>"
    parts.append(
        f'<text x="{middle}" y="{baseline}" text-anchor="middle" font-family="{SANS}" font-size="12.5" '
        f'class="f-{ink}">{words}</text>'
    )
    if tall:
        parts.append(_text(middle, shape["y"] + 36, shape["more"], ink, 12.5, anchor="middle"))
    if shape.get("below"):
        quiet = "gone" if ink == "gone" else "ink" if shape.get("weight") else "quiet"
        below = shape["y"] + shape["h"] + (16 if shape["h"] >= 30 else 14)
        parts.append(
            _text(middle, below, shape["below"], quiet, 12.5, shape.get("weight", 400), mono=True, anchor="middle")
        )
    return "".join(parts)


def _attributes(values: Mapping[str, object]) -> str:
    return "".join(f' {name}="{value}"' for name, value in values.items() if value is not None)

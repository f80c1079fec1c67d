"""The page: shapes of all steps as data, and the player that moves them.

For each step the page has only the differences to the step before, as numbers: [shape,
attribute, value, attribute, value, ...] for a changed shape (-1 names the shape that a
new one resembles), then the shapes that come and go. Texts and colours are in a list,
once each. 100 steps in two layouts stay under 120 kB.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from itertools import pairwise
from typing import Any

from minikafka.theatre.drawing import Drawing, Shape
from minikafka.theatre.palette import ICON, PALETTE
from minikafka.theatre.text import escape, script_json

# attributes of shapes
NUMBERS = (
    "x",
    "y",
    "w",
    "h",
    "x2",
    "y2",
    "r",
    "size",
    "weight",
    "width",
    "fade",
    "of",
    "from_x",
    "from_y",
    "room",
    "digits",
)
WORDS = (
    "kind",
    "fill",
    "line",
    "dash",
    "anchor",
    "text",
    "mono",
    "tip",
    "d",
    "arrow",
    "halo",
    "more",
    "below",
    "ink",
    "act",
    "same",
    "onto",
    "grid",
    "apart",
)

ATTRIBUTES = (*NUMBERS, *WORDS)
Step = dict[str, Any]
Data = dict[str, Any]  # what the player plays, as JSON

NUMBER_OF = {name: number for number, name in enumerate(ATTRIBUTES)}
# one after the other they are the player
SCRIPTS = ("player.js", "stage.js", "asking.js", "hands.js", "notebook.js")
STYLES = ("player.css",)
# a line without texts and patterns
WITHOUT_TEXT = re.compile(r"(?m)^[^'\"`/\n]+$")
# what only some pages need: those with a map of runs, those whose answer is dragged,
# those with levers
EXTRAS = ("strip", "drag", "carry")
# units of the page above and below the drawing: controls, title, sentence, foot
ABOVE = 150
ASKING = 70  # and of a question


def packed(steps: Sequence[Step], layouts: Sequence[Sequence[Drawing]]) -> Data:
    """The data that the player plays: for each step the differences to the one
    before.
    """
    texts: dict[str, int] = {}  # each text once, and where it is in the list
    told = [_news(before, step) for before, step in pairwise([{}, *steps])]
    drawn = [_layout(drawings, texts) for drawings in layouts]
    return {
        "attributes": ATTRIBUTES,
        "numbers": len(NUMBERS),
        "steps": told,
        "layouts": drawn,
        "texts": list(texts),
    }


def _news(before: Step, step: Step) -> Step:
    """The parts of a step that have changed."""
    return {
        name: value
        for name, value in step.items()
        if name not in before or before[name] != value
    }


def page(data: Data, title: str, corner: str) -> str:
    """The whole HTML text. data: one play; or several with choices (course/demo.py)."""
    room = files(__package__)
    extras = _extras(data)
    parts = {
        "title": escape(title),
        "corner": escape(corner),
        "icon": ICON,
        "css": colours() + style(extras),
        "js": script(extras),
        "js_hash": script_hash(extras),
        "play": script_json(data),
    }
    html = room.joinpath("page.html").read_text(encoding="utf-8")
    # One pass: what a part holds is text, and never replaced again.
    return re.sub("{{([a-z_]+)}}", lambda found: parts[found[1]], html)


def _extras(data: Data) -> list[str]:
    """Those of EXTRAS that a page needs."""
    has = {
        "strip": "strip" in data,
        "drag": "drag" in (data.get("prediction") or {}),
        "carry": "act" in data.get("attributes", ()),
    }
    return [name for name in EXTRAS if has[name]]


def script(extras: Sequence[str] = ()) -> str:
    """The player's JavaScript, with extra files by name, shortened for a page."""
    js = _joined([*SCRIPTS, *(f"{name}.js" for name in extras)])
    # comments, indents and spaces are for people who read the files; a page has them in
    # each lesson
    js = re.sub(r"(?m)^ *//.*\n", "", js)
    js = re.sub(r"(?m)^ +", "", js)
    js = WITHOUT_TEXT.sub(_without_spaces, js)
    return f"'use strict';\n(() => {{\n{js}begin();\n}})();\n"


def style(extras: Sequence[str] = ()) -> str:
    """The player's CSS, with extra files by name, shortened for a page."""
    css = _joined([*STYLES, *(f"{name}.css" for name in extras)])
    return WITHOUT_TEXT.sub(_without_spaces_in_css, css)


def _without_spaces(line: re.Match[str]) -> str:
    """A line of the player, with none around signs."""
    return re.sub(r" *([=+*?:,;{}()<>&|]) *", r"\1", line[0])


def _without_spaces_in_css(line: re.Match[str]) -> str:
    """A line of a style: where a space says something it stays."""
    return re.sub(r" *([{};]) *", r"\1", line[0])


def _joined(names: Sequence[str]) -> str:
    """Files of this room as one text."""
    room = files(__package__)
    return "".join(room.joinpath(name).read_text(encoding="utf-8") for name in names)


def script_hash(extras: Sequence[str] = ()) -> str:
    """The hash in the page's policy, which allows only this script to run."""
    inside = f"\n{script(extras)}".encode()
    digest = hashlib.sha256(inside).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def colours() -> str:
    """The palette as CSS variables; a theme named on the page wins over the
    system's.
    """
    light = _variables({name: value for name, (value, _) in PALETTE.items()})
    dark = _variables({name: value for name, (_, value) in PALETTE.items()})
    return (
        f":root{{color-scheme:light;{light}}}\n"
        "@media (prefers-color-scheme:dark)"
        f"{{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f":root[data-theme=dark]{{color-scheme:dark;{dark}}}\n"
    )


def _variables(palette: Mapping[str, str]) -> str:
    """Colours as CSS declares them."""
    return "".join(f"--{name}:{value};" for name, value in palette.items())


def _layout(drawings: Sequence[Drawing], texts: dict[str, int]) -> Data:
    """All steps in one layout."""
    order = {key: number for number, key in enumerate(_back_to_front(drawings))}
    changes = _Changes(order, texts)
    steps = [changes.step(drawing) for drawing in drawings]
    lit = {
        step: [_numbers(drawing.lit, order), [order[key] for key in drawing.outlined]]
        for step, drawing in enumerate(drawings)
        if drawing.lit
    }
    return {
        "width": drawings[0].width if drawings else 0,
        "height": max((drawing.bottom for drawing in drawings), default=0),
        "shapes": len(order),
        "lanes": [number for key, number in order.items() if _is_of_a_lane(key)],
        "cursor": [number for key, number in order.items() if _is_a_cursor(key)],
        "told": _told(order),
        "steps": steps,
        "lit": lit,
    }


def _told(order: Mapping[str, int]) -> list[list[int | None]]:
    """The words on each bar, the plate under them if there is one, and the bar."""
    found: list[list[int | None]] = []
    for bar, number in order.items():
        words = order.get(f"{bar}/words")
        if words is not None and _is_of_a_lane(bar):
            plate = order.get(f"{bar}/plate")
            found.append([words, plate, number])
    return found


def _numbers(keys: Iterable[str], order: Mapping[str, int]) -> list[int]:
    """The keys' numbers in the one order of all shapes."""
    return sorted(order[key] for key in keys)


def _is_of_a_lane(key: str) -> bool:
    """Whether a shape moves with the axis; the cursor moves by itself."""
    return key.startswith("time/") and not _is_a_cursor(key)


def _is_a_cursor(key: str) -> bool:
    return key.startswith("time/cursor")


class _Changes:
    """What the player knows so far, and the changes it needs next."""

    def __init__(self, order: Mapping[str, int], texts: dict[str, int]) -> None:
        self.order = order
        self.texts = texts
        self.known: dict[str, Shape] = {}
        # the latest new shape of each family: record/0/17 is told as differing from
        # record/0/16
        self.like: dict[str, str] = {}
        self.there: set[str] = set()

    def step(self, drawing: Drawing) -> list[Any]:
        """The shapes that changed, those that come, and those that go."""
        changes = []
        for key, shape in drawing.shapes.items():
            if self.known.get(key) == shape:
                continue
            change = self._changed(key, shape)
            if len(change) > 1:
                changes.append(change)
            self.known[key] = shape

        there = set(drawing.shapes)
        come = _numbers(there - self.there, self.order)
        go = _numbers(self.there - there, self.order)
        self.there = there
        return [changes, come, go]

    def _changed(self, key: str, shape: Shape) -> list[Any]:
        """A shape's number, whom a new one resembles, and what differs."""
        number = self.order[key]
        if key in self.known:
            return [number, *self._differences(self.known[key], shape)]
        family = _family(key, shape)
        resembled = self.like.get(family)
        self.like[family] = key
        if resembled is None:
            return [number, *self._differences({}, shape)]
        differences = self._differences(self.known[resembled], shape)
        return [number, -1, self.order[resembled], *differences]

    def _differences(self, before: Shape, shape: Shape) -> list[Any]:
        """Attributes that differ, as pairs of number and value; null takes one away."""
        pairs: list[Any] = []
        gone = [name for name in before if name not in shape]
        for name in [*shape, *gone]:
            value = shape.get(name)
            if before.get(name) == value:
                continue
            number = NUMBER_OF[name]
            is_a_word = number >= len(NUMBERS) and value is not None
            pairs += [number, self._place_of(str(value)) if is_a_word else value]
        return pairs

    def _place_of(self, text: str) -> int:
        """The index of a text in the list of all texts; a new one is added."""
        return self.texts.setdefault(text, len(self.texts))


def _family(key: str, shape: Shape) -> str:
    """Shapes that are drawn alike: the parts of a key that are no numbers."""
    names = [part for part in key.split("/") if not part.isdigit()]
    return "/".join([*names, shape["kind"]])


def _back_to_front(drawings: Sequence[Drawing]) -> list[str]:
    """One order of all shapes that ever appear, which keeps each step's own order as
    far as possible.
    """
    order: list[str] = []
    for drawing in drawings:
        where = {key: number for number, key in enumerate(order)}
        after = -1  # what is new comes after the last known shape before it
        new: dict[int, list[str]] = {}
        for key in drawing.shapes:
            if key in where:
                after = max(after, where[key])
            else:
                new.setdefault(after, []).append(key)
        if new:
            merged = new.get(-1, [])
            for number, key in enumerate(order):
                merged += [key, *new.get(number, ())]
            order = merged
    return order

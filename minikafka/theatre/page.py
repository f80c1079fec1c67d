"""The page: shapes of all steps as data, and the player that moves them.

What a page says of a step is only what differs from the step before, as numbers:
[shape, attribute, value, attribute, value, ...] a changed shape (-1 names the shape
that a new one resembles), then who comes and who goes. Texts and colours stand once, in
a list. 100 steps in two layouts stay under 120 kB.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from importlib.resources import files
from itertools import pairwise
from typing import Any

from minikafka.theatre.drawing import NUMBERS, PALETTE, WORDS, Drawing, Shape
from minikafka.theatre.text import escape, script_json

ATTRIBUTES = (*NUMBERS, *WORDS)
NUMBER_OF = {name: number for number, name in enumerate(ATTRIBUTES)}
# one after the other they are the player
SCRIPTS = ("player.js", "stage.js", "asking.js", "hands.js", "notebook.js")
# units of the page above and below the drawing: controls, title, sentence, foot
ABOVE = 150
ASKING = 70  # and of a question


def packed(
    steps: Sequence[dict[str, Any]], layouts: Sequence[Sequence[Drawing]]
) -> dict[str, Any]:
    """What the player plays: of each step what differs from the one before."""
    texts: dict[str, int] = {}  # each text once, and where it is in the list
    return {
        "attributes": ATTRIBUTES,
        "numbers": len(NUMBERS),
        "steps": [
            {
                name: each
                for name, each in step.items()
                if before.get(name, step) != each
            }
            for before, step in pairwise([{}, *steps])
        ],
        "layouts": [_layout(drawings, texts) for drawings in layouts],
        "texts": list(texts),
    }


def page(data: dict[str, Any], title: str, corner: str) -> str:
    """The whole HTML text. data: one play; or several with choices (course/demo.py)."""
    room = files(__package__)
    parts = {
        "title": escape(title),
        "corner": escape(corner),
        "css": colours() + room.joinpath("player.css").read_text(encoding="utf-8"),
        "js": script(),
        "js_hash": script_hash(),
        "play": script_json(data),
    }
    html = room.joinpath("page.html").read_text(encoding="utf-8")
    # One pass: what a part holds is text, and never replaced again.
    return re.sub("{{([a-z_]+)}}", lambda found: parts[found[1]], html)


def script() -> str:
    """The player."""
    room = files(__package__)
    js = "".join(room.joinpath(name).read_text(encoding="utf-8") for name in SCRIPTS)
    return f"'use strict';\n(() => {{\n{js}begin();\n}})();\n"


def script_hash() -> str:
    """What the page's policy names: it lets this one script run, and no other."""
    return (
        "sha256-"
        + base64.b64encode(hashlib.sha256(f"\n{script()}".encode()).digest()).decode()
    )


def colours() -> str:
    """The palette as CSS variables; a theme named on the page wins over the
    system's.
    """
    light, dark = (
        "".join(f"--{name}:{pair[way]};" for name, pair in PALETTE.items())
        for way in (0, 1)
    )
    return (
        f":root{{color-scheme:light;{light}}}\n"
        "@media (prefers-color-scheme:dark)"
        f"{{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f":root[data-theme=dark]{{color-scheme:dark;{dark}}}\n"
    )


def _layout(drawings: Sequence[Drawing], texts: dict[str, int]) -> dict[str, Any]:
    order = {key: number for number, key in enumerate(_back_to_front(drawings))}
    known: dict[str, Shape] = {}
    # the latest new shape of each family: record/0/17 is told as differing from
    # record/0/16
    like: dict[str, str] = {}
    there: set[str] = set()
    steps, lit = [], {}
    for step, drawing in enumerate(drawings):
        changes = []
        for key, shape in drawing.shapes.items():
            if known.get(key) == shape:
                continue
            change: list[Any] = [order[key]]
            before = known.get(key, {})
            if key not in known:
                family = "/".join(
                    [part for part in key.split("/") if not part.isdigit()]
                    + [shape["kind"]]
                )
                if family in like:
                    before = known[like[family]]
                    change += [-1, order[like[family]]]
                like[family] = key
            change += _change(before, shape, texts)
            if len(change) > 1:
                changes.append(change)
            known[key] = shape
        now = set(drawing.shapes)
        come, go = (
            sorted(order[key] for key in now - there),
            sorted(order[key] for key in there - now),
        )
        there = now
        steps.append([changes, come, go])
        if drawing.lit:
            lit[step] = [
                sorted(order[key] for key in keys)
                for keys in (drawing.lit, drawing.outlined)
            ]
    return {
        "width": drawings[0].width if drawings else 0,
        "height": max((drawing.bottom for drawing in drawings), default=0),
        "shapes": len(order),
        "lanes": [
            n
            for key, n in order.items()
            if key.startswith("time/") and not key.startswith("time/cursor")
        ],
        "steps": steps,
        "lit": lit,
    }


def _change(before: Shape, shape: Shape, texts: dict[str, int]) -> list[Any]:
    """Attributes that differ, as pairs of number and value; null takes one away."""
    change: list[Any] = []
    for name in [*shape, *(name for name in before if name not in shape)]:
        if before.get(name) != shape.get(name):
            value, number = shape.get(name), NUMBER_OF[name]
            plain = number < len(NUMBERS) or value is None
            change += [
                number,
                value if plain else texts.setdefault(str(value), len(texts)),
            ]
    return change


def _back_to_front(drawings: Sequence[Drawing]) -> list[str]:
    """One order of all shapes that ever appear, in which each step's own order is kept
    as far as one order can.
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
            order = [
                key
                for at, known in enumerate(["", *order], -1)
                for key in (known, *new.get(at, ()))
                if key
            ]
    return order

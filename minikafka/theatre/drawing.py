"""Shapes as data: what a picture draws, so that Python can write it as SVG and the
player can move it.

A shape is a dictionary of plain values under a stable key ("record/0/17"): from one
step to the next the player finds the same key and moves the shape there. Coordinates
are design units, one a CSS pixel. A wider or narrower page stretches x, x2 and w only,
so text never shrinks; a path keeps its form and is moved as a whole. Colours are names
from player.css, with a light and a dark value each.
"""

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from minikafka.theatre.actors import actor_colour, ink_on_actor

Shape = dict[str, Any]
Look = dict[str, Any]  # what makes a shape, by name

AXIS = "axis"  # a part of the keys of its ticks and their words


class Point(NamedTuple):
    """A place without extent."""

    x: float
    y: float


class Box(NamedTuple):
    """A rectangle, to be unpacked where a shape is drawn."""

    x: float
    y: float
    w: float
    h: float

    @property
    def right(self) -> float:
        return self.x + self.w

    @property
    def bottom(self) -> float:
        return self.y + self.h


# the widths that layouts are designed for; the player stretches them (stage.js)
LAYOUTS = WIDE, NARROW, PHONE = 920, 560, 448
IN_NOTEBOOKS = (WIDE, NARROW)  # on no phone, and pages that stay small

# places come nearer to each other, but text keeps its size
LEAST_STRETCH = 0.8
# a still for a phone: as wide as a page of 390 pixels between its margins, less 4
SMALLEST = 354
ACROSS = frozenset(("x", "x2", "w"))  # what a narrower page makes smaller

CELL = 13.5  # size of the text in a cell

NARROW_LETTERS = frozenset(" .,:;'|!ijltfI()·")


def text_width(
    text: str, size: float = 13, *, mono: bool = False, bold: bool = False
) -> int:
    """A safe estimate in units: fonts differ from machine to machine."""
    if mono:
        return round(len(text) * size * 0.61)
    narrow = sum(letter in NARROW_LETTERS for letter in text)
    wide = len(text) - narrow
    share = 0.67 if bold else 0.6  # of the size: how wide most letters are
    return round(wide * size * share + narrow * size * 0.38)


def widest(
    text: str, size: float = 13, *, mono: bool = False, bold: bool = False
) -> float:
    """The width of a text on the narrowest page of a layout, in the layout's units."""
    return text_width(text, size, mono=mono, bold=bold) / LEAST_STRETCH


def fit(
    text: str, width: float, size: float = 13, *, mono: bool = False, bold: bool = False
) -> str:
    """The text, cut with an ellipsis where it is too wide."""
    if text_width(text, size, mono=mono, bold=bold) <= width:
        return text
    while text and text_width(text + "…", size, mono=mono, bold=bold) > width:
        text = text[:-1]
    return text + "…" if text else ""


def has_room(
    text: str, room: float, size: float = 12, *, mono: bool = False, bold: bool = False
) -> bool:
    """Whether it can be read there on the narrowest page of a layout."""
    return text_width(text, size, mono=mono, bold=bold) <= room * LEAST_STRETCH


def fitting(
    texts: Sequence[str],
    room: float,
    size: float = 12,
    *,
    mono: bool = False,
    bold: bool = False,
) -> str:
    """The first that has room, from the one that says most on; or nothing."""
    for text in texts:
        if has_room(text, room, size, mono=mono, bold=bold):
            return text
    return ""


def lamp_width(words: str) -> float:
    """The greatest width of a lamp with these words."""
    return widest(words, 12, bold=True) + 16


def wrap(words: str, room: float, size: float, *, bold: bool = False) -> list[str]:
    """The words in lines that have room; a word alone may be longer."""
    lines = [""]
    for word in words.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        is_too_long = text_width(longer, size, bold=bold) > room
        if lines[-1] and is_too_long:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


class Drawing:
    """The shapes of one step in one layout, back to front.

    step: which step's shapes are drawn now; of=... says which step made a shape, so
    that hovering finds its cause and the step that is shown stands out. tip: what
    hovering says. from_x, from_y: where a new shape flies in from. room: a text that is
    wider in the learner's font is cut. act: what a click on the shape does to a live
    run ("freeze a"). same: shapes of one thing, a record say, share it: hovering one
    marks all. onto: a lever that is dragged, onto one of the things whose names begin
    so ("0" and a slash: the records of partition 0). grid: shapes that the arrow keys
    go through; the focus marks what hovering does. digits: so many hexadecimal ones
    are typed onto the shape, and then it acts. apart: a lever that only the page around
    shows. asks: a prediction about what comes is open, so nothing says it. ends: it is
    the last step.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.asks = False
        self.ends = False
        self.shapes: dict[str, Shape] = {}
        self.lit: set[str] = set()
        self.outlined: list[str] = []  # in the order in which they were named

    @property
    def narrow(self) -> bool:
        """Whether this is the layout for a narrow page."""
        return self.width < WIDE

    @property
    def phone(self) -> bool:
        """Whether it is for the narrowest page; it is narrow, too."""
        return self.width < NARROW

    def part(self, key: str, x: float, y: float) -> "Part":
        """Something that is drawn from its corner, at this place."""
        return Part(self, key, x, y)

    def add(self, key: str, kind: str, **attributes: Any) -> None:
        """Add a shape. Attributes that are None are left out, so that equal shapes are
        equal.
        """
        assert key not in self.shapes, f"two shapes with one key: {key}"
        shape: Shape = {"kind": kind}
        for name, value in attributes.items():
            if isinstance(value, float):
                shape[name] = _rounded(value)
            elif value is not None:
                shape[name] = value
        self.shapes[key] = shape

    def light(self, keys: Sequence[str], question: str = "") -> None:
        """Outline these shapes, or all of these things (same), and dim all that is not
        beneath one of them: but not what says what they are, nor what an open question
        names. Levers work at every step, and look so. If none of them is there any
        more, nothing is dimmed.
        """
        named = [
            key
            for each in keys
            for key, shape in self.shapes.items()
            if each in (key, shape.get("same"))
        ]
        lit = {*keys, *named}
        if not any(_is_beneath(key, lit) for key in self.shapes):
            return
        self.outlined = list(dict.fromkeys(named))
        lit |= {key for key, shape in self.shapes.items() if "act" in shape}
        lit |= self._labels({key for key in self.shapes if _is_beneath(key, lit)})
        lit |= self._named_in(question)
        self.lit = {key for key in self.shapes if _is_beneath(key, lit)}

    def _labels(self, lit: Collection[str]) -> set[str]:
        """The axis; the name of a row or a card in which something is lit; the heading
        of a column in which a number is.
        """
        found = {key for key in self.shapes if AXIS in key.split("/")}
        for key in lit:
            *places, last = key.split("/")
            for end in range(1, len(places) + 1):
                found.add("/".join([*places[:end], "name"]))
            if not last.isdigit():
                found.add("/".join([*places[:-1], last]))
        return found

    def _named_in(self, question: str) -> set[str]:
        """The shapes that a question mentions by their names."""
        return {
            key.removesuffix("/name")
            for key, shape in self.shapes.items()
            if (words := str(shape.get("text", "")).strip())
            and not words.isdecimal()
            and re.search(rf"(?<!\w){re.escape(words)}(?!\w)", question)
        }

    def put_levers_apart(self) -> None:
        """The page around the picture shows its levers: here they aren't drawn."""
        levers = {key for key, shape in self.shapes.items() if "act" in shape}
        for key in list(self.shapes):
            if key in levers:
                self.shapes[key]["apart"] = "yes"
            elif _is_beneath(key, levers):
                del self.shapes[key]

    def rect(
        self,
        key: str,
        x: float,
        y: float,
        w: float,
        h: float,
        fill: str = "none",
        line: str = "none",
        **more: Any,
    ) -> None:
        self.add(key, "rect", x=x, y=y, w=w, h=h, fill=fill, line=line, **more)

    def circle(
        self,
        key: str,
        x: float,
        y: float,
        r: float,
        fill: str = "none",
        line: str = "none",
        **more: Any,
    ) -> None:
        self.add(key, "circle", x=x, y=y, r=r, fill=fill, line=line, **more)

    def line(
        self,
        key: str,
        x: float,
        y: float,
        x2: float,
        y2: float,
        line: str = "quiet",
        **more: Any,
    ) -> None:
        self.add(key, "line", x=x, y=y, x2=x2, y2=y2, line=line, **more)

    def arrow(
        self,
        key: str,
        x: float,
        y: float,
        x2: float,
        y2: float,
        line: str = "quiet",
        **more: Any,
    ) -> None:
        self.add(key, "line", x=x, y=y, x2=x2, y2=y2, line=line, arrow="yes", **more)

    def upright(
        self, key: str, x: float, top: float, bottom: float, line: str, **more: Any
    ) -> None:
        """A line from above to below."""
        self.line(key, x=x, y=top, x2=x, y2=bottom, line=line, **more)

    def level(
        self, key: str, left: float, right: float, y: float, line: str, **more: Any
    ) -> None:
        """A line from left to right."""
        self.line(key, x=left, y=y, x2=right, y2=y, line=line, **more)

    def cursor(
        self, x: float, top: float, bottom: float, key: str = "time/cursor"
    ) -> None:
        """Draw the current time on an axis."""
        self.upright(key, x=x, top=top, bottom=bottom, line="ink", width=1.5)
        self.circle(key + "/head", x=x, y=top, r=4, fill="ink")

    def path(
        self,
        key: str,
        x: float,
        y: float,
        d: str,
        fill: str = "none",
        line: str = "none",
        **more: Any,
    ) -> None:
        """A form by SVG's d, from a place on."""
        self.add(key, "path", x=x, y=y, d=d, fill=fill, line=line, **more)

    def text(
        self,
        key: str,
        x: float,
        y: float,
        text: str,
        fill: str = "ink",
        *,
        size: float = 13,
        mono: bool = False,
        bold: bool = False,
        anchor: str = "start",
        **more: Any,
    ) -> None:
        """Draw words in one line. y: of the baseline."""
        assert size >= 12, "text under 12 px can't be read"
        # as shapes have it: what is plain is not said
        look: Look = {
            "mono": "yes" if mono else None,
            "weight": 600 if bold else None,
            "anchor": None if anchor == "start" else anchor,
        }
        self.add(key, "text", x=x, y=y, text=text, fill=fill, size=size, **look, **more)

    def note(
        self,
        key: str,
        x: float,
        y: float,
        text: str,
        anchor: str = "start",
        *,
        size: float = 12.5,
        **more: Any,
    ) -> None:
        """A caption: quiet, and a little smaller."""
        self.text(key, x, y, text, "quiet", size=size, anchor=anchor, **more)

    def number(
        self,
        key: str,
        x: float,
        y: float,
        text: str,
        ink: str = "quiet",
        *,
        bold: bool = True,
    ) -> None:
        """A value at the end of a lane; x: where it ends."""
        self.text(key, x, y, text, ink, size=12.5, mono=True, bold=bold, anchor="end")

    def boxed(
        self,
        key: str,
        x: float,
        y: float,
        w: float,
        h: float,
        word: str,
        fill: str,
        ink: str = "ink",
        *,
        line: str = "none",
        r: float = 9,
        bold: bool = True,
        **more: Any,
    ) -> float:
        """A word in the middle of a rounded box; returns the box's width."""
        self.rect(key, x=x, y=y, w=w, h=h, fill=fill, line=line, r=r, **more)
        middle = x + w / 2
        base = y + h / 2 + 4.5
        look: Look = {"anchor": "middle", "fade": more.get("fade")}
        self.text(f"{key}/word", middle, base, word, ink, size=12, bold=bold, **look)
        return w

    def disc(
        self,
        key: str,
        x: float,
        y: float,
        r: float,
        letter: str,
        number: int,
        size: float,
        **more: Any,
    ) -> None:
        """An actor: its letter on its colour."""
        self.circle(key, x=x, y=y, r=r, fill=actor_colour(number), **more)
        down = size * 0.36  # to the letter's foot
        ink = ink_on_actor(number)
        look: Look = {"size": size, "bold": True, "anchor": "middle"}
        if "from_y" in more:
            look |= {"from_x": more["from_x"], "from_y": more["from_y"] + down}
        self.text(f"{key}/word", x, y + down, letter, ink, **look)

    def cell(
        self,
        key: str,
        x: float,
        y: float,
        w: float,
        h: float,
        text: str = "",
        more: str = "",
        below: str = "",
        fill: str = "cell",
        line: str = "rule",
        ink: str = "ink",
        size: float = CELL,
        **more_attributes: Any,
    ) -> None:
        """A box that moves with its words as one shape: text in bold, more beside it
        (below it in a tall box), a number under the box. room: text that stands alone
        and is wider in the learner's font is cut. size: of the text; more is a little
        smaller.
        """
        place: Look = {"x": x, "y": y, "w": w, "h": h, "r": 5}
        paint: Look = {"fill": fill, "line": line, "ink": ink}
        room = w * 0.82 - 8
        words: Look = {
            "text": text or None,
            "more": fit(more, room, size - 1) or None,
            "below": below or None,
            "size": None if size == CELL else size,  # what is plain is not said
        }
        self.add(key, "cell", **place, **paint, **words, **more_attributes)

    def slot(
        self,
        key: str,
        x: float,
        y: float,
        w: float,
        h: float,
        offset: int,
        same: str | None = None,
        below: bool = True,
    ) -> None:
        """The empty place at a log's end. below: with its offset."""
        look: Look = {"fill": "none", "line": "ink", "dash": "2 3", "weight": 600}
        tip = f"the next record gets offset {offset}"
        self.cell(
            key,
            x=x,
            y=y,
            w=w,
            h=h,
            below=str(offset) if below else "",
            **look,
            tip=tip,
            same=same,
        )

    def left_out(
        self,
        key: str,
        x: float,
        y: float,
        count: int,
        *,
        tip: str,
        tip_of_more: str | None = None,
    ) -> None:
        """So many records have no place of their own: their number, and "more" under
        it. y: of the middle between the two.
        """
        look: Look = {"size": 12, "anchor": "middle"}
        self.text(key, x, y - 1, str(count), "quiet", **look, tip=tip)
        self.text(f"{key}/more", x, y + 13, "more", "quiet", **look, tip=tip_of_more)

    def wire(
        self, key: str, x: float, y: float, who: str, cut: bool, other: str = ""
    ) -> None:
        """The lever on a link of a live run: a click cuts it, a second one heals it.
        other: the one end; else all.
        """
        act = f"heal {who}" if cut else f"cut {who}"
        tip = f"{act}'s network now"
        if other:
            tip = f"{act} from {other} only, now"
            act = f"{act}, {other}"

        fill, ink = ("trouble", "paper") if cut else ("wash", "quiet")
        self.circle(key, x=x, y=y, r=7, fill=fill, line="quiet", act=act, tip=tip)
        cross = "M-2.5,-2.5 l5,5 m0,-5 l-5,5"
        self.path(f"{key}/sign", x=x, y=y, d=cross, line=ink, width=1.5)

    def chip(
        self,
        key: str,
        x: float,
        y: float,
        text: str,
        fill: str = "chip",
        ink: str = "ink",
        **more: Any,
    ) -> float:
        """A state as a word in a rounded box, with room for it on the narrowest page;
        returns its width.
        """
        width = widest(text, 12, bold=True) + 10
        return self.boxed(
            key, x=x, y=y, w=width, h=19, word=text, fill=fill, ink=ink, **more
        )

    def lamp(
        self,
        key: str,
        x: float,
        y: float,
        text: str,
        broken: bool,
        anchor: str = "start",
    ) -> float:
        """Draw a condition in words: once it is broken, or at the end, in green, if it
        held. Returns its width, for the narrowest stretch of a layout.
        """
        width = lamp_width(text)
        if not (broken or self.ends):
            return width
        left = x - width if anchor == "end" else x
        fill, ink = ("trouble", "paper") if broken else ("good", "ink")
        return self.boxed(
            key, x=left, y=y, w=width, h=19, word=text, fill=fill, ink=ink
        )

    @property
    def bottom(self) -> int:
        """The lowest point of any shape."""
        return round(max(map(_bottom, self.shapes.values()), default=0))


class Part(Drawing):
    """A part of a drawing: the keys of its shapes are beneath its own, and places are
    told from its corner (but from_x and from_y, which are outside of it).
    """

    def __init__(self, whole: Drawing, key: str, x: float, y: float) -> None:
        super().__init__(whole.width)
        self.whole = whole
        self.shapes = whole.shapes
        self.asks = whole.asks
        self.ends = whole.ends
        self.key = key
        self.x = x
        self.y = y

    def add(self, key: str, kind: str, **attributes: Any) -> None:
        attributes["x"] += self.x
        attributes["y"] += self.y
        if kind == "line":
            attributes["x2"] += self.x
            attributes["y2"] += self.y
        self.whole.add(f"{self.key}/{key}", kind, **attributes)


def smallest(drawn: Drawing) -> Drawing:
    """The layout for phones on the narrowest page: places are nearer to each other, as
    in the player.
    """
    by = SMALLEST / drawn.width
    small = Drawing(SMALLEST)
    small.lit, small.outlined = drawn.lit, drawn.outlined
    for key, shape in drawn.shapes.items():
        nearer = {name: _rounded(shape[name] * by) for name in ACROSS & shape.keys()}
        small.shapes[key] = shape | nearer
    return small


def _is_beneath(key: str, others: Collection[str]) -> bool:
    """Whether a shape is one of these, or a part of one."""
    return any(key == other or key.startswith(other + "/") for other in others)


def _bottom(shape: Shape) -> float:
    """The lowest point of a shape; words reach a little below their line."""
    y = float(shape["y"])
    if "h" in shape:
        words_below = 20 if "below" in shape else 0
        return y + float(shape["h"]) + words_below
    if shape["kind"] == "line":
        return max(y, float(shape["y2"]))
    return y + float(shape.get("r", 4))


@lru_cache(maxsize=1 << 14)
def _rounded(value: float) -> float | int:
    """Tenths are finer than a screen shows, and round the same everywhere. Most shapes
    stay where they are from step to step.
    """
    tenths = round(value, 1)
    return int(tenths) if tenths.is_integer() else tenths

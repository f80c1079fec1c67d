"""Shapes as data: what a picture draws, so that Python can write it as SVG and the
player can move it.

A shape is a dictionary of plain values under a stable key ("record/0/17"): from one
step to the next the player finds the same key and moves the shape there. Coordinates
are design units, one a CSS pixel. A wider or narrower page stretches x, x2 and w only,
so text never shrinks; a path keeps its form and is moved as a whole. Colours are names
from player.css, with a light and a dark value each.
"""

from collections.abc import Sequence
from typing import Any

Shape = dict[str, Any]
Point = tuple[float, float]
Place = tuple[float, float, float]  # x, y, width

# Two layouts: the width each is designed for. The player stretches them by at most a
# fifth (stage.js: LEAST, MOST).
WIDE, NARROW = 920, 560

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
)

# stage.js: LEAST; it brings places nearer to each other, but text keeps its size
LEAST_STRETCH = 0.8
COLOURS = 6  # of actors: so many are told apart by everybody, in both themes

# Light and dark. player.css holds the same names; a test compares them.
PALETTE = {
    "paper": ("#ffffff", "#1b1f24"),
    "wash": ("#f6f8fa", "#252b32"),
    "cell": ("#dfe5ea", "#3a434d"),
    "rule": ("#c8d1da", "#4d5763"),
    "chip": ("#d8dee4", "#414b56"),
    "good": ("#dafbe1", "#1d4a35"),
    "ink": ("#1b1f24", "#e9edf1"),
    "quiet": ("#57606a", "#a9b3be"),
    "gone": ("#69737e", "#8f9aa6"),
    "actor1": ("#0072B2", "#4ba6dd"),
    "actor2": ("#E69F00", "#f0b23a"),
    "actor3": ("#00795a", "#2fb48d"),
    "actor4": ("#8f3f7f", "#cf86bf"),
    "actor5": ("#7cc4ee", "#a9dcf7"),
    "actor6": ("#6b5b2a", "#b8a56a"),
    **{
        f"on{actor}": ("#1b1f24" if actor in (2, 5) else "#ffffff", "#101418")
        for actor in range(1, COLOURS + 1)
    },
    "trouble": ("#b3470a", "#ff9b6b"),
    "said": ("#fff8e6", "#322c1a"),
    "saidline": ("#e3c77a", "#77642f"),
}


def text_width(
    text: str, size: float = 13, *, mono: bool = False, bold: bool = False
) -> int:
    """A safe estimate in units: fonts differ from machine to machine."""
    if mono:
        return round(len(text) * size * 0.61)
    narrow = sum(1 for letter in text if letter in " .,:;'|!ijltfI()·")
    return round(
        (len(text) - narrow) * size * (0.67 if bold else 0.6) + narrow * size * 0.38
    )


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
    """The first of them that has room, from the one that says most on; nothing where
    none has.
    """
    return next(
        (text for text in texts if has_room(text, room, size, mono=mono, bold=bold)), ""
    )


def wrap(words: str, room: float, size: float) -> list[str]:
    """The words in lines that have room, where they can; a word alone may be longer."""
    lines = [""]
    for word in words.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, size) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def actor_colour(number: int) -> str:
    """Actors are numbered from 0; the seventh has the first one's colour."""
    return f"actor{number % COLOURS + 1}"


def actor_number(name: str, others: Sequence[str]) -> int:
    """Whose colour: A to F have their own everywhere ("consumer a" is A); who has no
    letter gets the next by order.
    """
    letter = name.replace("-", " ").split(" ")[-1].upper()
    return (
        ord(letter) - ord("A")
        if len(letter) == 1 and "A" <= letter <= "Z"
        else list(others).index(name)
    )


class Drawing:
    """The shapes of one step in one layout, back to front.

    step: which step's shapes are drawn now; of=... says which step made a shape, so
    that hovering finds its cause and the step that is shown stands out. tip: what
    hovering says. from_x, from_y: where a new shape flies in from. room: a text that is
    wider in the learner's font is cut. act: what a click on the shape does to a live
    run ("freeze a"). same: shapes of one thing, a record say, share it: hovering one
    marks all. onto: a lever that is dragged, onto one of the things whose names begin
    so ("0" and a slash: the records of partition 0). asks: a prediction about what
    comes is open, so nothing says it.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.asks = False
        self.shapes: dict[str, Shape] = {}
        self.lit: set[str] = set()
        self.outlined: set[str] = set()

    @property
    def narrow(self) -> bool:
        return self.width < WIDE

    def add(self, key: str, kind: str, **attributes: Any) -> None:
        assert key not in self.shapes, f"two shapes with one key: {key}"
        shape: Shape = {"kind": kind}
        for name, value in attributes.items():
            if value is not None:
                shape[name] = _rounded(value) if isinstance(value, float) else value
        self.shapes[key] = shape

    def light(self, keys: Sequence[str]) -> None:
        """Outline these shapes, or all of these things (same), and dim all that is not
        beneath one of them.
        """
        self.outlined = {
            key
            for key, shape in self.shapes.items()
            if key in keys or shape.get("same") in keys
        }
        lit = {*keys, *self.outlined}
        self.lit = {
            key
            for key in self.shapes
            if any(key == each or key.startswith(each + "/") for each in lit)
        }

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

    def cursor(
        self, x: float, top: float, bottom: float, key: str = "time/cursor"
    ) -> None:
        """Where the time stands on an axis."""
        self.line(key, x, top, x, bottom, "ink", width=1.5)
        self.circle(key + "/head", x, top, 4, "ink")

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
        assert size >= 12, "text under 12 px can't be read"
        self.add(
            key,
            "text",
            x=x,
            y=y,
            text=text,
            fill=fill,
            size=size,
            mono="yes" if mono else None,
            weight=600 if bold else None,
            anchor=None if anchor == "start" else anchor,
            **more,
        )

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
        self.rect(key, x, y, w, h, fill, line, r=r, **more)
        self.text(
            key + "/word",
            x + w / 2,
            y + h / 2 + 4.5,
            word,
            ink,
            size=12,
            bold=bold,
            anchor="middle",
            fade=more.get("fade"),
        )
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
        self.circle(key, x, y, r, actor_colour(number), **more)
        ink = f"on{number % COLOURS + 1}"
        self.text(
            key + "/word",
            x,
            y + size * 0.36,
            letter,
            ink,
            size=size,
            bold=True,
            anchor="middle",
        )

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
        **more_attributes: Any,
    ) -> None:
        """A box that moves with its words as one shape: text in bold, more beside it
        (below it in a tall box), a number under the box.
        """
        words = {
            "text": text or None,
            "more": fit(more, w * 0.82 - 8, 12.5) or None,
            "below": below or None,
        }
        self.add(
            key,
            "cell",
            x=x,
            y=y,
            w=w,
            h=h,
            r=5,
            fill=fill,
            line=line,
            ink=ink,
            **words,
            **more_attributes,
        )

    def slot(
        self,
        key: str,
        x: float,
        y: float,
        w: float,
        h: float,
        offset: int,
        same: str | None = None,
    ) -> None:
        """The empty place at a log's end."""
        self.cell(
            key,
            x,
            y,
            w,
            h,
            below=str(offset),
            fill="none",
            line="ink",
            dash="2 3",
            weight=600,
            tip=f"the next record gets offset {offset}",
            same=same,
        )

    def wire(
        self, key: str, x: float, y: float, who: str, cut: bool, other: str = ""
    ) -> None:
        """The lever on a link of a live run: a click cuts it, a second one heals it.
        other: the one end; else all.
        """
        act, ink = f"{'heal' if cut else 'cut'} {who}", "paper" if cut else "quiet"
        act, tip = (
            (f"{act}, {other}", f"{act} from {other} only, now")
            if other
            else (act, f"{act}'s network now")
        )
        self.circle(
            key, x, y, 7, "trouble" if cut else "wash", "quiet", act=act, tip=tip
        )
        self.path(
            key + "/sign", x, y, "M-2.5,-2.5 l5,5 m0,-5 l-5,5", line=ink, width=1.5
        )

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
        return self.boxed(
            key,
            x,
            y,
            text_width(text, 12, bold=True) / LEAST_STRETCH + 10,
            19,
            text,
            fill,
            ink,
            **more,
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
        """What must hold, in words: green while it does. Returns its width, for the
        narrowest stretch of a layout.
        """
        width, look = (
            text_width(text, 12, bold=True) * 1.15 + 18,
            (("trouble", "paper") if broken else ("good", "ink")),
        )
        return self.boxed(key, x - width * (anchor == "end"), y, width, 19, text, *look)

    @property
    def bottom(self) -> int:
        """The lowest point of any shape."""
        return round(max((_bottom(shape) for shape in self.shapes.values()), default=0))


def _bottom(shape: Shape) -> float:
    if "h" in shape:
        return float(shape["y"] + shape["h"] + (20 if "below" in shape else 0))
    if shape["kind"] == "line":
        return float(max(shape["y"], shape["y2"]))
    return float(shape["y"] + shape.get("r", 4))


def _rounded(value: float) -> float | int:
    """Tenths are finer than a screen shows, and round the same everywhere."""
    tenths = round(value, 1)
    return int(tenths) if tenths == int(tenths) else tenths

"""Boxes in rows and columns: a play says what is beside what and what is below it, and
the places follow, for every width.

A box measures what it holds at any step of its play, so that nothing jumps while the
picture plays. In less than its `least` width it can't be read; at its `wanted` width
nothing is shortened; its height follows from the width that it gets. A row gives its
boxes room between the two, shares what is left among those that grow, and breaks into
lines where not even the least fits.

Measuring and placing draw nothing. A part, which is a box without others in it, and a
frame have names; what draws a step in one of them finds there its own place and those
of the others (an arrow's end).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

from minikafka.theatre.axis import Scene
from minikafka.theatre.drawing import Box, Drawing, lamp_width, widest

Places = Mapping[str, Box]  # by the names of parts and frames
Draws = Callable[[Drawing, Places, Scene], None]
SIZES = ("size", "mono", "bold")  # what makes words wider


class Placed(NamedTuple):
    """A part that has its place, and what draws a step there."""

    name: str
    place: Box
    draw: Draws


@dataclass(frozen=True)
class Item:
    """A box, in units. height: from the width that it gets. places: of all that it
    holds, back to front. grow: its share of the room that a row has left.
    """

    least: float
    wanted: float
    height: Callable[[float], float]
    places: Callable[[Box], Iterator[Placed]]
    grow: float = 0


def _nothing(d: Drawing, places: Places, scene: Scene) -> None:
    """For a place in which another part draws."""


def part(
    name: str,
    draw: Draws = _nothing,
    *,
    high: float | Callable[[float], float],
    least: float = 0,
    wanted: float = 0,
    grow: float = 0,
) -> Item:
    """A box that draws itself: words, a chip, a log, an axis. high: its height, or a
    function of its width.
    """

    def places(place: Box) -> Iterator[Placed]:
        yield Placed(name, place, draw)

    height = high if callable(high) else _always(high)
    return Item(least, max(least, wanted), height, places, grow)


def words(
    key: str, text: str, *, high: float = 18, most: float = inf, **look: Any
) -> Item:
    """Words that stay as they are, in one line. key: the shape's and the box's. most:
    in a longer line they are cut.
    """
    sized = {name: value for name, value in look.items() if name in SIZES}
    wide = widest(text, **sized)
    if wide > most:
        look["room"] = most

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        place = places[key]
        d.text(key, place.x, place.y + place.h / 2 + 4.5, text, **look)

    return part(key, draw, high=high, least=min(wide, most))


def lamp(
    key: str,
    scenes: Sequence[Scene],
    said: Callable[[Any], str],
    broken: Callable[[Any], object],
) -> Item:
    """A condition at the right of its box, green while it holds. said, broken: of a
    scene's space. key: the shape's and the box's.
    """

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        place, now = places[key], scene["space"]
        is_broken = bool(broken(now))
        d.lamp(key, place.right, place.y, said(now), is_broken, anchor="end")

    wide = max((lamp_width(said(scene["space"])) for scene in scenes), default=0)
    return part(key, draw, high=19, least=wide)


def space(wide: float = 0) -> Item:
    """Room so wide, or all that is left in a row."""
    return Item(wide, wide, _always(0), lambda _: iter(()), grow=not wide)


def over(item: Item, while_: Callable[[Scene], bool]) -> Item:
    """A box without room of its own: while it is drawn, nothing is below it."""

    def places(place: Box) -> Iterator[Placed]:
        for name, own, draw in item.places(place):

            def drawn(
                d: Drawing, places: Places, scene: Scene, draw: Draws = draw
            ) -> None:
                if while_(scene):
                    draw(d, places, scene)

            yield Placed(name, own, drawn)

    return Item(item.least, item.wanted, _always(0), places)


def column(*items: Item, gap: float = 0) -> Item:
    """Boxes below each other, each as wide as the column."""

    def height(width: float) -> float:
        return _with_gaps([item.height(width) for item in items], gap)

    def places(place: Box) -> Iterator[Placed]:
        y = place.y
        for item in items:
            high = item.height(place.w)
            yield from item.places(Box(place.x, y, place.w, high))
            y += high + gap

    return Item(
        least=max((item.least for item in items), default=0),
        wanted=max((item.wanted for item in items), default=0),
        height=height,
        places=places,
        grow=max((item.grow for item in items), default=0),
    )


def row(
    *items: Item,
    gap: float = 0,
    line_gap: float = 4,
    breaks: bool = True,
    lower: float = 0.5,
) -> Item:
    """Boxes beside each other; in several lines where the width asks for it, unless
    they belong together. lower: where the lower ones are in their line, from 0, its
    upper edge, to 1.
    """

    def lines(width: float) -> Sequence[Sequence[Item]]:
        return _lines(items, width, gap) if breaks else [items]

    def height(width: float) -> float:
        return _with_gaps(
            [_height_of(line, width, gap) for line in lines(width)], line_gap
        )

    def places(place: Box) -> Iterator[Placed]:
        y = place.y
        for line in lines(place.w):
            high = _height_of(line, place.w, gap)
            x = place.x
            for item, wide in zip(line, _widths(line, place.w, gap), strict=True):
                own = item.height(wide)
                yield from item.places(Box(x, y + (high - own) * lower, wide, own))
                x += wide + gap
            y += high + line_gap

    least = [item.least for item in items]
    return Item(
        least=max(least, default=0) if breaks else _with_gaps(least, gap),
        wanted=_with_gaps([item.wanted for item in items], gap),
        height=height,
        places=places,
        grow=max((item.grow for item in items), default=0),
    )


def either(*items: Item) -> Item:
    """The first of these boxes that has room, else the last one."""

    def chosen(width: float) -> Item:
        fitting = (item for item in items if item.least <= width)
        return next(fitting, items[-1])

    return Item(
        least=min(item.least for item in items),
        wanted=max(item.wanted for item in items),
        height=lambda width: chosen(width).height(width),
        places=lambda place: chosen(place.w).places(place),
        grow=max(item.grow for item in items),
    )


def framed(name: str, item: Item, draw: Draws, *, pad: float, grow: float = 0) -> Item:
    """A box around another one. draw: its frame, behind what is in it."""

    def places(place: Box) -> Iterator[Placed]:
        yield Placed(name, place, draw)
        x, y, wide, high = place
        yield from item.places(Box(x + pad, y + pad, wide - 2 * pad, high - 2 * pad))

    return Item(
        least=item.least + 2 * pad,
        wanted=item.wanted + 2 * pad,
        height=lambda width: item.height(width - 2 * pad) + 2 * pad,
        places=places,
        grow=grow,
    )


class Stage:
    """A tree of boxes that is set once for all steps of a play."""

    def __init__(self, whole: Item) -> None:
        self.whole = whole
        self._placed: dict[int, list[Placed]] = {}

    def draw(self, d: Drawing, scene: Scene) -> None:
        """Draw a step in the boxes, back to front."""
        places = self.places(d.width)
        for _, _, draw in self._on(d.width):
            draw(d, places, scene)

    def places(self, width: int) -> Places:
        """By the names of parts and frames, on a page of this width."""
        return {name: place for name, place, _ in self._on(width)}

    def _on(self, width: int) -> list[Placed]:
        if width not in self._placed:
            page = Box(0, 0, width, self.whole.height(width))
            self._placed[width] = list(self.whole.places(page))
        return self._placed[width]


def _always(high: float) -> Callable[[float], float]:
    return lambda _: high


def _with_gaps(lengths: Sequence[float], gap: float) -> float:
    """The length of all of them, one after the other."""
    return sum(lengths) + gap * max(len(lengths) - 1, 0)


def _lines(items: Sequence[Item], width: float, gap: float) -> list[list[Item]]:
    """As many in a line as have room with their least widths."""
    lines: list[list[Item]] = []
    for item in items:
        longer = [*(lines[-1] if lines else []), item]
        if lines and _with_gaps([each.least for each in longer], gap) <= width:
            lines[-1] = longer
        else:
            lines.append([item])
    return lines


def _widths(line: Sequence[Item], width: float, gap: float) -> list[float]:
    """What each box of a line gets."""
    if len(line) == 1:  # it has no other line
        return [width if line[0].grow else min(line[0].wanted, width)]
    room = width - gap * (len(line) - 1)
    least = sum(item.least for item in line)
    wish = sum(item.wanted for item in line) - least
    if wish > 0 and least + wish > room:
        share = max(room - least, 0) / wish
        return [item.least + share * (item.wanted - item.least) for item in line]
    growing = sum(item.grow for item in line)
    rest = max(room - least - wish, 0) / (growing or 1)
    return [item.wanted + rest * item.grow for item in line]


def _height_of(line: Sequence[Item], width: float, gap: float) -> float:
    """The height of the highest box of a line."""
    widths = _widths(line, width, gap)
    return max(item.height(wide) for item, wide in zip(line, widths, strict=True))

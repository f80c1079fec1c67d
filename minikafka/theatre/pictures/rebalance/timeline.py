"""The time below: which member reads each partition, the meaning of the colours, and
the rows under it.
"""

from collections.abc import Sequence

from minikafka.theatre.axis import Scene, Time
from minikafka.theatre.boxes import Item, Places, column, part, row, space
from minikafka.theatre.drawing import Box, Drawing, fitting, widest
from minikafka.theatre.pictures.rebalance.close import Close
from minikafka.theatre.pictures.rebalance.lanes import (
    BASE,
    LINE,
    Band,
    Group,
    begun,
    headings,
)
from minikafka.theatre.pictures.rebalance.rows import Rows
from minikafka.theatre.pictures.rebalance.spans import Span
from minikafka.theatre.play import Cast, Space

CAPTIONS = ["who reads each partition", "who reads"]
SWATCH = 22  # a colour, with the gap to its word
AXIS = 22  # height of the axis's words


def timeline_box(
    cast: Cast, scenes: Sequence[Scene], time: Time, close: Close | None
) -> Item:
    group = Group(cast, begun(scenes, [scene["space"] for scene in scenes]))
    was_killed = any(_killed_at(scene["space"]) is not None for scene in scenes)
    rows = [name for name in ("silent", "table") if cast[name]]
    rows += ["killed"] if was_killed else []
    foot = group.high + group.pitch * len(rows)

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        place = places["time"]
        band = Band(d, place, time, scene["at"])
        group.draw(band, place.y, scene["space"])
        drawn = Rows(band, group, scene["space"])
        y = place.y + group.high + group.gap
        if cast["silent"]:
            drawn.silence("time/silence", y)
            y += group.pitch
        if was_killed:
            drawn.killed("time/silence/killed", y)
            y += group.pitch
        if cast["table"]:
            drawn.effects("time/effects", y)
        band.axis.cursor(d, place.y - 1, place.y + foot + 2)
        band.axis.foot(d, place.y + foot)
        if close:
            below = place._replace(y=place.y + foot + AXIS)
            close.draw(band, below, group, scene)

    high = foot + AXIS + (close.high(group) if close else 0)
    first = row(_caption(), _legend(cast, scenes), space(), headings("time"), gap=10)
    return column(first, part("time", draw, high=high), gap=3)


def _killed_at(space: Space) -> int | None:
    """When the silent member died, in ms."""
    silence = space["silence"]
    return silence["crashed_ms"] if silence else None


def _caption() -> Item:
    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        place = places["caption"]
        words = fitting(CAPTIONS, place.w, 12.5) or CAPTIONS[-1]
        d.note("time/caption", place.x, place.y + BASE, words)

    wanted, least = (widest(words, 12.5) for words in CAPTIONS)
    return part("caption", draw, high=LINE, least=least, wanted=wanted)


def _legend(cast: Cast, scenes: Sequence[Scene]) -> Item:
    """Hatched and split lanes, if there are any; and how many partitions have changed
    hands, if the picture ends with that.
    """
    nobody = SWATCH + widest("nobody", 12.5) + 10
    count = len(cast["partitions"])
    moved = (
        [f"{count} of {count} moved", f"{count} of {count}"] if cast["moves"] else [""]
    )
    two = (
        ["two own it", "two"]
        if any(_has_two(scene["space"]) for scene in scenes)
        else [""]
    )

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        place = places["legend"]
        space = scene["space"]
        x, y = place.x, place.y + BASE
        hatched = Box(x, y - 10, 16, 12)
        d.rect("time/legend/nobody", *hatched, "hatch", "trouble", r=3)
        d.note("time/legend/nobody/word", x + SWATCH, y, "nobody")
        x += nobody
        if _has_two(space):
            key = "time/legend/two"
            d.rect(f"{key}/over", x, y - 10, 16, 6, "quiet")
            d.rect(f"{key}/under", x, y - 4, 16, 6, "chip")
            d.rect(key, x, y - 10, 16, 12, "none", "trouble", r=2, width=2)
            said = fitting(two, place.right - x - SWATCH, 12.5)
            d.note(f"{key}/word", x + SWATCH, y, said)
        elif space["moved"] and cast["moves"]:
            part = f"{space['moved']} of {count}"
            said = fitting([f"{part} moved", part], place.right - x, 12.5, bold=True)
            d.text("time/moved", x, y, said, bold=True, size=12.5)

    least, wanted = (
        nobody
        + max(
            widest(moved[at], 12.5, bold=True),
            bool(two[0]) * SWATCH + widest(two[at], 12.5),
        )
        for at in (-1, 0)
    )
    return part("legend", draw, high=LINE, least=least, wanted=wanted)


def _has_two(space: Space) -> bool:
    """Whether a partition had two owners so far."""
    return any(
        Span(*each).what == "two" for lane in space["spans"].values() for each in lane
    )

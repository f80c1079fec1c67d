"""The time below: which member reads each partition, the meaning of the colours, and
the rows under it.
"""

from collections.abc import Sequence

from minikafka.theatre.axis import Scene, Time
from minikafka.theatre.boxes import Item, Places, column, part, row, space
from minikafka.theatre.drawing import Box, Drawing, fitting, widest
from minikafka.theatre.pictures.rebalance.close import Close
from minikafka.theatre.pictures.rebalance.lanes import (
    ALONE,
    AXIS_ENDS,
    BASE,
    LINE,
    Band,
    Group,
    begun,
    headings,
)
from minikafka.theatre.pictures.rebalance.rows import Rows
from minikafka.theatre.pictures.rebalance.spans import Span, lasted_ms
from minikafka.theatre.play import Cast, Space

CAPTIONS = ["who reads each partition", "who reads"]
SWATCH = 22  # a colour, with the gap to its word
AXIS = 22  # height of the axis's words
LEAST_UNREAD_MS = 100


def timeline_box(
    cast: Cast,
    scenes: Sequence[Scene],
    time: Time,
    close: Close | None,
    counts: bool,
) -> Item:
    """counts: how long nobody reads each partition."""
    lanes = begun(scenes, [scene["space"] for scene in scenes])
    group = Group(cast, lanes, counts=counts)
    was_killed = any(_killed_at(scene["space"]) is not None for scene in scenes)
    rows = [name for name in ("silent", "table") if cast[name]]
    rows += ["killed"] if was_killed else []
    foot = group.high + group.pitch * len(rows)
    ends = AXIS_ENDS if rows or close or counts else ALONE

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        place = places["time"]
        band = Band(d, place, time, scene["at"], ends)
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
    unread = [space(), headings("time")] if counts else []
    meanings = [_nobody()] if counts else []
    if any(_has_two(scene["space"]) for scene in scenes):
        meanings.append(_two())
    first = row(_caption(), *meanings, *unread, gap=10)
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


def _nobody() -> Item:
    """The meaning of hatching."""

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        place = places["nobody"]
        y = place.y + BASE
        hatched = Box(place.x, y - 10, 16, 12)
        d.rect("time/legend/nobody", *hatched, "hatch", "trouble", r=3)
        d.note("time/legend/nobody/word", place.x + SWATCH, y, "nobody")

    return part("nobody", draw, high=LINE, least=SWATCH + widest("nobody", 12.5))


def _two() -> Item:
    """The meaning of split lanes, once there are any."""
    least, wanted = (SWATCH + widest(words, 12.5) for words in ("two", "two own it"))

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        if not _has_two(scene["space"]):
            return
        key = "time/legend/two"
        x, y, room, _ = places["two"]
        d.rect(f"{key}/over", x, y + BASE - 10, 16, 6, "quiet")
        d.rect(f"{key}/under", x, y + BASE - 4, 16, 6, "chip")
        d.rect(key, x, y + BASE - 10, 16, 12, "none", "trouble", r=2, width=2)
        said = fitting(["two own it", "two"], room - SWATCH, 12.5)
        d.note(f"{key}/word", x + SWATCH, y + BASE, said)

    return part("two", draw, high=LINE, least=least, wanted=wanted)


def _has_two(space: Space) -> bool:
    """Whether a partition had two owners so far."""
    return any(
        Span(*each).what == "two" for lane in space["spans"].values() for each in lane
    )


def is_left_unread(cast: Cast, scenes: Sequence[Scene]) -> bool:
    """Whether nobody reads a partition for so long that one sees it. In a live picture
    that may still come.
    """
    return "live" in cast or any(
        lasted_ms("nobody", spans, cast["since_ms"], scene["at"]) >= LEAST_UNREAD_MS
        for scene in scenes[-1:]
        for spans in scene["space"]["spans"].values()
    )

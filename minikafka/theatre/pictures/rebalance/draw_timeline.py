"""The time below: which member reads each partition, the meaning of the colours, and
the rows under it.
"""

from collections.abc import Sequence
from typing import Any

from minikafka.theatre.axis import Scene, Time
from minikafka.theatre.drawing import Drawing, fitting, widest
from minikafka.theatre.pictures.rebalance.draw_lanes import Band, Begun, Block
from minikafka.theatre.pictures.rebalance.draw_lengths import Rows
from minikafka.theatre.pictures.rebalance.draw_two_owners import Close
from minikafka.theatre.pictures.rebalance.spans import Span
from minikafka.theatre.play import Cast, Space

CAPTION = 22
AXIS = 22  # height of the axis's words


def draw_lanes(
    d: Drawing,
    top: float,
    cast: Cast,
    time: Time,
    begun: Begun,
    scene: Scene,
    close: Close | None,
) -> None:
    band = Band(d, time, begun, scene)
    space = scene["space"]
    caption = top + 13
    words = "who reads" if d.phone else "who reads each partition"
    d.note("time/caption", 0, caption, words)
    _legend(d, caption, cast, space, band.waiting_x)
    band.columns("time", caption)
    members = len(cast["actors"])
    partitions = len(cast["partitions"])
    height = 16
    gap = 3
    if members > 3 or partitions > 4:
        height = 14
        gap = 2
    top += CAPTION
    block = Block(band=band, cast=cast, space=space, tag="", height=height)
    foot = block.draw(top, gap)
    rows = Rows(band=band, cast=cast, space=space, height=height)
    if cast["silent"]:
        rows.silence("time/silence", foot + gap)
        foot += height + gap
    if cast["table"]:
        rows.effects("time/effects", foot + gap)
        foot += height + gap
    band.axis.cursor(d, top - 1, foot + 2)
    band.axis.foot(d, foot)
    if close:
        close.draw(band, foot + AXIS, cast, begun, scene, height)


def _legend(d: Drawing, y: float, cast: Cast, space: Space, right: float) -> None:
    """Draw the legend for hatched and split lanes, if there are any; and how many
    partitions have changed hands, if the picture ends with that.
    """
    key = "time/legend"
    x = 200.0 if d.narrow else 220.0
    if d.phone:
        x = 92.0
    top = y - 10
    d.rect(key + "/nobody", x=x, y=top, w=16, h=12, fill="hatch", line="trouble", r=3)
    d.note(key + "/nobody/word", x + 22, y, "nobody")
    if any(_ever_two(spans) for spans in space["spans"].values()):
        x += 100
        d.rect(key + "/two/over", x=x, y=top, w=16, h=6, fill="quiet")
        d.rect(key + "/two/under", x=x, y=y - 4, w=16, h=6, fill="chip")
        d.rect(
            key + "/two",
            x=x,
            y=top,
            w=16,
            h=12,
            fill="none",
            line="trouble",
            r=2,
            width=2,
        )
        words = "two" if d.narrow else "two own it"
        d.note(key + "/two/word", x + 22, y, words)
    elif cast["moves"] and space["moved"]:
        count = f"{space['moved']} of {len(cast['partitions'])}"
        left = x + 22 + widest("nobody", 12.5) + 16
        room = right - widest("waiting", 12.5) - left - 8
        words = fitting([f"{count} moved", count], room, 12.5, bold=True)
        d.text("time/moved", left, y, words, bold=True, size=12.5)


def _ever_two(spans: Sequence[Sequence[Any]]) -> bool:
    return any(Span(*each).what == "two" for each in spans)

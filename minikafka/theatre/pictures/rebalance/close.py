"""The moment of two owners from close by: on the axis of the whole run a tenth of a
second can't be seen, and in it two members work on one partition.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from minikafka.theatre.axis import Scene, Time
from minikafka.theatre.drawing import Box, Look, has_room
from minikafka.theatre.pictures.rebalance.lanes import FOOT, Band, Group
from minikafka.theatre.pictures.rebalance.spans import SHORTEST_MS, Span, seconds
from minikafka.theatre.play import Cast

SHORT = 1 / 40  # of the axis: what is longer is seen there
BEFORE, BEHIND = 0.2, 0.35  # how much of its length is shown around it
ABOVE = 12  # from the main axis's words to the lane, for the lines between the two
LINE = 15  # from one chapter's words to the next
TWO_OWNERS = "two owners"  # the chapter that is what the lane shows


class Close(NamedTuple):
    """label: of the partition."""

    label: str
    begin_ms: int
    end_ms: int
    time: Time

    @property
    def names(self) -> list[str]:
        """What happens in it."""
        return list(dict.fromkeys(each.name for each in self.time.chapters))

    def high(self, group: Group) -> float:
        return ABOVE + group.height + LINE * len(self.names) + 4

    def draw(self, main: Band, place: Box, group: Group, scene: Scene) -> None:
        """place: under the words of the main axis. Nothing before it begins."""
        now_ms = scene["at"]
        if now_ms < self.begin_ms:
            return
        d = main.d
        band = Band(d, place, self.time, min(now_ms, self.time.last_ms))
        y = place.y + ABOVE
        for name, ms in (("begin", self.begin_ms), ("end", self.end_ms)):
            if ms <= now_ms:
                ends = (main.axis.x(ms), place.y, band.axis.x(ms), y)
                d.line(f"time/close/{name}", *ends, line="trouble", dash="2 3")
        group.lane(band, y, self.label, scene["space"], within="close/")
        lasted_ms = min(now_ms, self.end_ms) - self.begin_ms
        words = "enlarged"
        if lasted_ms >= SHORTEST_MS:
            words += f": {seconds(lasted_ms)}"
        foot = y + group.height - FOOT
        d.note("time/close/what", band.unread_x, foot, words, anchor="end")
        self._chapters(band, y + group.height, now_ms)

    def _chapters(self, band: Band, y: float, now_ms: int) -> None:
        """Draw one line per name, the last one's highest, so that no stroke crosses
        words.
        """
        d = band.d
        names = self.names
        begun = [each for each in self.time.chapters if each.at_ms <= now_ms]
        firsts = {each.name: each for each in reversed(begun)}
        for each in firsts.values():
            x = band.axis.x(each.at_ms)
            base = y + 14 + LINE * (len(names) - 1 - names.index(each.name))
            key = f"time/close/chapter/{each.number}"
            look: Look = {"line": "trouble", "width": 2, "of": each.number}
            d.upright(key, x=x, top=y + 1, bottom=base - 1, **look)
            at, anchor = x + 5, "start"
            if not has_room(each.name, d.width - at - 16):
                at, anchor = x - 5, "end"
            words: Look = {"size": 12, "anchor": anchor, "of": each.number}
            d.text(f"{key}/words", at, base, each.name, **words)


def close_of(cast: Cast, scenes: Sequence[Scene], time: Time) -> Close | None:
    """The first time of two owners that is over and too short to be seen."""
    if not scenes:
        return None
    spans = scenes[-1]["space"]["spans"]
    for label in cast["partitions"]:
        lane = [Span(*each) for each in spans.get(label, [])]
        for span, after in pairwise(lane):
            lasts_ms = after.since_ms - span.since_ms
            is_shown = span.what == "two" and span.since_ms >= time.first_ms
            if is_shown and SHORTEST_MS <= lasts_ms < time.length_ms * SHORT:
                return _close(label, span.since_ms, after.since_ms, time)
    return None


def _close(label: str, begin_ms: int, end_ms: int, time: Time) -> Close:
    lasts_ms = end_ms - begin_ms
    inside = [
        each
        for each in time.chapters
        if begin_ms <= each.at_ms <= end_ms and each.name != TWO_OWNERS
    ]
    first_ms = begin_ms - round(lasts_ms * BEFORE)
    last_ms = end_ms + max(round(lasts_ms * BEHIND), 1)
    return Close(label, begin_ms, end_ms, Time(first_ms, last_ms, inside))

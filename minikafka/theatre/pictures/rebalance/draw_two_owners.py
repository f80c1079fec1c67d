"""The moment of two owners from close by: on the axis of the whole run a tenth of a
second can't be seen, and in it two members work on one partition.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from minikafka.theatre.axis import Chapter, Scene, Time
from minikafka.theatre.drawing import Drawing, Look, has_room, text_width
from minikafka.theatre.pictures.rebalance.draw_lanes import FOOT, Band, Begun, Block
from minikafka.theatre.pictures.rebalance.spans import SHORTEST_MS, Span, seconds
from minikafka.theatre.play import Cast

SHORT = 1 / 40  # of the axis: what is longer is seen there
BEFORE, BEHIND = 0.2, 0.35  # how much of its length is shown around it
ABOVE = 12  # from the main axis's words to the lane, for the lines between the two
LINE = 15  # on a phone: from one chapter's words to the next
TWO_OWNERS = "two owners"  # the chapter that is what the lane shows


class Close(NamedTuple):
    """label: of the partition."""

    label: str
    begin_ms: int
    end_ms: int
    time: Time

    def draw(
        self,
        main: Band,
        top: float,
        cast: Cast,
        begun: Begun,
        scene: Scene,
        height: int,
    ) -> None:
        """top: under the words of the main axis. Nothing before it begins."""
        if scene["at"] < self.begin_ms:
            return
        d = main.d
        moment = scene | {"at": min(scene["at"], self.time.last_ms)}
        band = Band(d, self.time, begun, moment)
        block = Block(band=band, cast=cast, space=scene["space"], tag="", height=height)
        y = top + ABOVE
        for name, ms in (("begin", self.begin_ms), ("end", self.end_ms)):
            if ms > scene["at"]:
                continue
            line = {"x": main.axis.x(ms), "y": top, "x2": band.axis.x(ms), "y2": y}
            d.line(
                f"time/close/{name}",
                **line,
                line="trouble",
                dash="2 3",
            )
        block.lane(f"time/close/{self.label}", y, self.label)
        foot = y + height - FOOT
        lasted_ms = min(scene["at"], self.end_ms) - self.begin_ms
        words = "enlarged"
        if lasted_ms >= SHORTEST_MS:
            words += f": {seconds(lasted_ms)}"
        d.note(
            "time/close/what",
            band.unread_x,
            foot,
            words,
            anchor="end",
        )
        chapters = [each for each in self.time.chapters if each.at_ms <= scene["at"]]
        self._chapters(d, band, y + height, chapters)

    def _chapters(
        self, d: Drawing, band: Band, y: float, chapters: Sequence[Chapter]
    ) -> None:
        """Draw the chapters under the lane, as words behind a stroke, or before it."""
        if d.phone:
            self._below_each_other(d, band, y, chapters)
            return
        places = [band.axis.x(each.at_ms) for each in chapters]
        taken = band.axis.left
        for number, each in enumerate(chapters):
            x = places[number]
            key = f"time/close/chapter/{each.number}"
            look: Look = {"line": "trouble", "width": 2, "of": each.number}
            d.upright(
                key,
                x=x,
                top=y + 1,
                bottom=y + 7,
                **look,
            )
            later = [place for place in places[number + 1 :] if place > x + 1]
            end = min(later, default=float(d.width))
            wide = text_width(each.name, 12)
            look = {"size": 12, "of": each.number}
            if has_room(each.name, end - x - 12):
                d.text(
                    f"{key}/words",
                    x + 4,
                    y + 14,
                    each.name,
                    **look,
                )
                taken = x + 4 + wide
            elif has_room(each.name, x - taken - 12):
                look["anchor"] = "end"
                d.text(
                    f"{key}/words",
                    x - 4,
                    y + 14,
                    each.name,
                    **look,
                )
                taken = x

    def _below_each_other(
        self, d: Drawing, band: Band, y: float, chapters: Sequence[Chapter]
    ) -> None:
        """Draw one line per name, the last one's highest, so that no stroke crosses
        words.
        """
        names = list(dict.fromkeys(each.name for each in self.time.chapters))
        firsts = {each.name: each for each in reversed(chapters)}
        for each in firsts.values():
            number = names.index(each.name)
            x = band.axis.x(each.at_ms)
            base = y + 14 + LINE * (len(names) - 1 - number)
            key = f"time/close/chapter/{each.number}"
            look: Look = {"line": "trouble", "width": 2, "of": each.number}
            d.upright(key, x=x, top=y + 1, bottom=base - 1, **look)
            words: Look = {"size": 12, "of": each.number}
            left = x + 5
            if not has_room(each.name, d.width - left):
                left = x - 5
                words["anchor"] = "end"
            d.text(f"{key}/words", left, base, each.name, **words)


def close_of(cast: Cast, scenes: Sequence[Scene], time: Time) -> Close | None:
    """The first time of two owners that is over and too short to be seen."""
    if not scenes:
        return None
    spans = scenes[-1]["space"]["spans"]
    whole_ms = time.last_ms - time.first_ms
    for label in cast["partitions"]:
        lane = [Span(*each) for each in spans.get(label, [])]
        for span, after in pairwise(lane):
            lasts_ms = after.since_ms - span.since_ms
            is_shown = span.what == "two" and span.since_ms >= time.first_ms
            if is_shown and SHORTEST_MS <= lasts_ms < whole_ms * SHORT:
                return _close(label, span.since_ms, after.since_ms, time)
    return None


def _close(label: str, begin_ms: int, end_ms: int, time: Time) -> Close:
    lasts_ms = end_ms - begin_ms
    inside = []
    for each in time.chapters:
        is_inside = begin_ms <= each.at_ms <= end_ms
        if is_inside and each.name != TWO_OWNERS:
            inside.append(each)
    first_ms = begin_ms - round(lasts_ms * BEFORE)
    last_ms = end_ms + max(round(lasts_ms * BEHIND), 1)
    return Close(label, begin_ms, end_ms, Time(first_ms, last_ms, inside))

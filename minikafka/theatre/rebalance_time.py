"""Time below: the group's phases, and for each partition who reads it; hatched where nobody does.

The axis is true to time but for one thing: every step at a new moment gets a little room of its own, so that a phase of
three milliseconds beside a session of 45 seconds can be seen at all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from minikafka.theatre.drawing import Drawing, fitting, has_room, text_width
from minikafka.theatre.lanes import Scene, draw_times, round_times
from minikafka.theatre.play import Cast, Space
from minikafka.theatre.rebalance_cast import Actor, actors_of
from minikafka.theatre.rebalance_group import PHASES, listed
from minikafka.theatre.text import counted

OWN_ROOM, OWN_SHARE = 2 / 700, 0.3  # of the axis: what a step has for itself, and all of them together at most
WITH_TWO_OWNERS = 8  # times as much while a partition has two owners
CAPTION = 22
LEAST_SEEN = 12  # width of two owners that have just begun
SHORTEST_MS = 5  # less is 0.00 s


class Axis:
    """Where a moment is, between 0 and 1, on the axis that all lanes share; and which scene began each span.

    spaces: tag -> the spaces of one group, scene by scene.
    """

    def __init__(self, scenes: Sequence[Scene], spaces: Mapping[str, Sequence[Space]]) -> None:
        self.begun: dict[str, list[int]] = {}  # lane -> for each of its spans the number of the scene
        for tag, each in spaces.items():
            for scene, space in zip(scenes, each, strict=True):
                for lane, spans in space["spans"].items():
                    begun = self.begun.setdefault(tag + lane, [])
                    begun += [scene["number"]] * (len(spans) - len(begun))
        self.times = [scene["at"] for scene in scenes]
        gaps = [max(after - at, 0) for at, after in pairwise(self.times)]
        total = sum(gaps) or 1
        two = [any(each[step].get("two_owners") for each in spaces.values()) for step in range(len(gaps))]
        own = [(WITH_TWO_OWNERS if double else 1) * (gap > 0) for gap, double in zip(gaps, two, strict=True)]
        unit = min(OWN_ROOM, OWN_SHARE / max(sum(own), 1))
        self.places = [0.0]
        for gap, units in zip(gaps, own, strict=True):
            self.places.append(self.places[-1] + unit * units + (1 - unit * sum(own)) * gap / total)

    def at(self, ms: int, step: int | None = None) -> float:
        """The place of a moment; of several steps at that moment the last one, or the one that is meant."""
        if step is not None:
            return self.places[step]
        after = bisect_right(self.times, ms)
        if after == 0 or after == len(self.times):
            return self.places[max(after - 1, 0)]
        begin, end = self.times[after - 1], self.times[after]
        part = (ms - begin) / (end - begin)
        return self.places[after - 1] * (1 - part) + self.places[after] * part


class Band:
    """The place of the lanes on the page: x of a moment, not beyond the cursor."""

    def __init__(self, d: Drawing, axis: Axis, scene: Scene) -> None:
        self.left, self.right = 36 if d.narrow else 44, d.width - 178
        self.waiting_x, self.unread_x = d.width - 116, d.width - 6
        self.axis, self.step, self.now = axis, scene["step"], scene["at"]

    @property
    def cursor(self) -> float:
        return self._x(self.axis.at(self.now, self.step))

    def x(self, ms: int) -> float:
        return min(self._x(self.axis.at(ms)), self.cursor)

    def _x(self, place: float) -> float:
        return self.left + place * (self.right - self.left)


def draw_lanes(d: Drawing, top: float, cast: Cast, axis: Axis, scene: Scene) -> None:
    band = Band(d, axis, scene)
    d.note("time/caption", 0, top + 13, "who reads each partition")
    _legend(d, top + 13, scene["space"])
    draw_columns(d, "time", top + 13, band)
    many = len(cast["actors"]) > 3 or len(cast["partitions"]) > 4
    bottom = draw_block(d, top + CAPTION, cast, band, scene["space"], "", *((14, 2) if many else (16, 3)))
    d.cursor(band.cursor, top + CAPTION - 1, bottom + 2)
    draw_axis(d, bottom + 14, band)


def _legend(d: Drawing, y: float, space: Space) -> None:
    x = 200.0 if d.narrow else 220.0
    d.rect("time/legend/nobody", x, y - 10, 16, 12, "hatch", "trouble", r=3)
    d.note("time/legend/nobody/word", x + 22, y, "nobody")
    if any(span[2] == "two" for lane in space["spans"].values() for span in lane):
        x += 100
        d.rect("time/legend/two/over", x, y - 10, 16, 6, "quiet")
        d.rect("time/legend/two/under", x, y - 4, 16, 6, "chip")
        d.rect("time/legend/two", x, y - 10, 16, 12, "none", "trouble", r=2, width=2)
        d.note("time/legend/two/word", x + 22, y, "two" if d.narrow else "two own it")


def draw_columns(d: Drawing, key: str, y: float, band: Band) -> None:
    """What the numbers at the lanes' ends are."""
    d.note(key + "/waiting", band.waiting_x, y, "waiting", "end")
    d.note(key + "/unread/words", band.unread_x, y, "not read for", "end")


def draw_block(d: Drawing, top: float, cast: Cast, band: Band, space: Space, tag: str, height: int, gap: int) -> float:
    """The group's lane and one for each partition; returns where they end."""
    lanes = Block(d, cast, band, space, tag, height)
    lanes.phases(top)
    y = top + height + gap
    for label in cast["partitions"]:
        lanes.partition(y, label)
        y += height + gap
    return y - gap


class Block:
    """The lanes of one group. tag: before the keys of its shapes, where two groups are drawn."""

    def __init__(self, d: Drawing, cast: Cast, band: Band, space: Space, tag: str, height: int) -> None:
        self.d, self.cast, self.band, self.space = d, cast, band, space
        self.tag, self.height = tag, height
        self.actors = actors_of(cast)

    def spans(self, lane: str) -> list[tuple[float, float, list[str], str, int | None]]:
        """Up to the cursor: x from, x to, who, what, the records that waited when it was over."""
        spans = self.space["spans"].get(lane, [])
        begins = [self.band.x(start) for start, *_ in spans]
        ends = [*begins[1:], self.band.cursor][: len(spans)]
        return [(x, x2, *rest) for x, x2, (_, *rest) in zip(begins, ends, spans, strict=True)]

    def unread_ms(self, label: str) -> int:
        return lasted_ms("nobody", self.space["spans"].get(label, []), self.cast["since_ms"], self.band.now)

    def phases(self, y: float) -> None:
        d, key, foot = self.d, f"time/{self.tag}group", y + self.height - 3.5
        for n, (x, x2, [number], state, _) in enumerate(self.spans("group")):
            if x2 - x < 0.5:
                continue
            plain, short, fill = PHASES.get(state, (state, state, "wash"))
            word = "generation" if self.cast["kind"] == "classic" else "epoch"
            d.rect(f"{key}/{n}", x, y, max(x2 - x - 1, 1), self.height, fill, r=3,
                   tip=f"{state}, {word} {number}: {plain}")  # fmt: skip
            words = fitting([f"{plain} · {number}" if state == "Stable" else plain, short], x2 - x - 4)
            if words:
                d.text(f"{key}/{n}/word", (x + x2) / 2, foot, words, size=12, anchor="middle")
        total = sum(self.unread_ms(label) for label in self.cast["partitions"])
        right = self.band.unread_x
        d.rect(f"time/{self.tag}sum", right - 104, y - 2, 110, self.height + 4, r=4)
        d.text(f"time/{self.tag}sum/words", right, foot, f"sum {seconds(total)}", bold=True, size=12.5, anchor="end")

    def partition(self, y: float, label: str) -> None:
        d, band, key, foot = self.d, self.band, f"time/{self.tag}{label}", y + self.height - 3.5
        d.number(key + "/name", band.left - 8, foot, label, "ink")
        d.rect(key + "/ground", band.left, y, band.right - band.left, self.height, "wash", r=3)
        spans = self.spans(label)
        begun = band.axis.begun.get(self.tag + label, [])
        end = band.cursor
        for n, (x, x2, who, what, waited) in enumerate(spans):
            if what == "two" and n == len(spans) - 1:
                x2 = end = max(x2, x + LEAST_SEEN)
            if x2 - x >= 0.5:
                actors = [self.actors[name] for name in who]
                self._span(f"{key}/{n}", (x, y, x2 - x), actors, what, begun[n], waited)
        waiting, unread = self.space["waiting"][label], self.unread_ms(label)
        nobody, long = bool(spans) and spans[-1][3] == "nobody", unread >= SHORTEST_MS
        d.number(key + "/waiting", band.waiting_x, foot, str(waiting), "trouble" if nobody and waiting else "quiet")
        ink = "trouble" if nobody and long else "quiet"
        d.number(key + "/unread", band.unread_x, foot, seconds(unread), ink, bold=long)
        words = f"{counted(waiting, 'record')} wait{'s' * (waiting == 1)}" if nobody and waiting else ""
        if spans and spans[-1][3] == "two":
            words = f"{listed([self.actors[name].letter for name in spans[-1][2]])} own it"
        if words and has_room(words, band.right - end - 16):
            d.text(f"time/cursor/{self.tag}{label}/words", end + 9, foot, words, "trouble", size=12)

    def _span(self, key: str, place: tuple[float, float, float], actors: list[Actor], what: str, of: int,
              waited: int | None) -> None:  # fmt: skip
        """waited: the records there when the span was over."""
        x, y, w = place
        d, foot = self.d, y + self.height - 3.5
        if what == "nobody":
            words = [f"{actor.letter} frozen" for actor in actors]
            words += [f"{waited} waited"] if waited is not None else []
            tip = ", ".join(["nobody reads", *words])
            d.rect(key + "/span", x, y, w, self.height, "hatch", "trouble", r=3, of=of, tip=tip)
            said = fitting([", ".join(words), *words], w - 8, bold=True)
            if said:
                d.text(key + "/who", x + 8, foot, said, size=12, bold=True, halo="paper")
            return
        if what == "two":
            self._split(key, place, actors, of)
            return
        [actor] = actors[:1]
        d.rect(key + "/span", x, y, w, self.height, actor.colour, r=3, of=of)
        draw_pattern(d, key, x + 2, x + w - 2, y + self.height - 2.5, actor)
        if w > text_width(actor.letter, 12, bold=True) + 8:
            d.text(key + "/who", x + 5, foot, actor.letter, actor.ink, size=12.5, bold=True)

    def _split(self, key: str, place: tuple[float, float, float], actors: list[Actor], of: int) -> None:
        """Two at work on one partition: what must not be."""
        (x, y, w), d, h = place, self.d, self.height / len(actors)
        who = listed([actor.letter for actor in actors])
        for n, actor in enumerate(actors):
            d.rect(f"{key}/{n}", x, y + n * h, w, h, actor.colour)
        d.rect(key + "/span", x, y, w, self.height, "none", "trouble", r=2, width=2.5, of=of, tip=f"{who} own it")
        if has_room(who, w - 8, bold=True):
            d.text(key + "/who", x + 8, y + self.height - 3.5, who, size=12, bold=True, halo="paper")


def draw_pattern(d: Drawing, key: str, x: float, x2: float, y: float, actor: Actor) -> None:
    """Where colours repeat: a dotted edge the first time, then a dashed one."""
    if actor.pattern and x2 > x:
        d.line(key + "/pattern", x, y, x2, y, "paper", width=2, dash="2 3" if actor.pattern == 1 else "7 3")


def draw_axis(d: Drawing, y: float, band: Band) -> None:
    times = round_times(band.axis.times[0], band.axis.times[-1], band.now, 10) if band.axis.times else []
    draw_times(d, y, ((at, band.x(at), words) for at, words in times))


def unread_spans(tag: str, label: str, spans: Sequence[Sequence[Any]]) -> list[str]:
    """The keys of the times in which nobody read a partition."""
    return [f"time/{tag}{label}/{number}" for number, (_, _, what, _) in enumerate(spans) if what == "nobody"]


def lasted_ms(what: str, spans: Sequence[Sequence[Any]], since_ms: int, at: int) -> int:
    """How long a partition was in this state ("nobody", "two") from since_ms up to a moment. spans: its lane so far."""
    ends = [start for start, *_ in spans[1:]] + [at]
    lasted = [(start, end) for (start, _, each, _), end in zip(spans, ends, strict=False) if each == what]
    return sum(max(min(end, at) - max(start, since_ms), 0) for start, end in lasted)


def seconds(ms: int) -> str:
    if ms < SHORTEST_MS:
        return "0"
    return f"{ms / 1000:.2f} s" if ms < 100_000 else f"{ms / 1000:.0f} s"

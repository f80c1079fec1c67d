"""Time below: the group's phases, and for each partition who reads it; hatched where
nobody does.

The axis is true to time but for one thing: every step at a new moment gets a little
room of its own, so that a phase of three milliseconds beside a session of 45 seconds
can be seen at all.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from minikafka.theatre.drawing import Drawing, Place, fitting, has_room, text_width
from minikafka.theatre.lanes import Scene, draw_times, round_times
from minikafka.theatre.pictures.rebalance_group import PHASES, Actor, actors_of
from minikafka.theatre.play import Cast, Space
from minikafka.theatre.text import counted, listed

# of the axis: what a step has for itself, and all of them together at most
OWN_ROOM, OWN_SHARE = 2 / 700, 0.3
WITH_TWO_OWNERS = 8  # times as much while a partition has two owners
CAPTION = 22
LEAST_SEEN = 12  # width of two owners that have just begun
SHORTEST_MS = 5  # less is 0.00 s


class Axis:
    """Where a moment is, between 0 and 1, on the axis that all lanes share; and which
    scene began each span.

    spaces: tag -> the spaces of one group, scene by scene.
    """

    def __init__(
        self, scenes: Sequence[Scene], spaces: Mapping[str, Sequence[Space]]
    ) -> None:
        # lane -> for each of its spans the number of the scene
        self.begun: dict[str, list[int]] = {}
        for tag, each in spaces.items():
            for scene, space in zip(scenes, each, strict=True):
                for lane, spans in space["spans"].items():
                    begun = self.begun.setdefault(tag + lane, [])
                    begun += [scene["number"]] * (len(spans) - len(begun))
        self.times = [scene["at"] for scene in scenes]
        gaps = [max(after - at, 0) for at, after in pairwise(self.times)]
        total = sum(gaps) or 1
        two = [
            any(each[step].get("two_owners") for each in spaces.values())
            for step in range(len(gaps))
        ]
        own = [
            (WITH_TWO_OWNERS if double else 1) * (gap > 0)
            for gap, double in zip(gaps, two, strict=True)
        ]
        unit = min(OWN_ROOM, OWN_SHARE / max(sum(own), 1))
        self.places = [0.0]
        for gap, units in zip(gaps, own, strict=True):
            self.places.append(
                self.places[-1] + unit * units + (1 - unit * sum(own)) * gap / total
            )

    def at(self, ms: int, step: int | None = None) -> float:
        """The place of a moment; of several steps at that moment the last one, or the
        one that is meant.
        """
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
        self.d, self.left, self.right = d, 36 if d.narrow else 44, d.width - 178
        self.waiting_x, self.unread_x = d.width - 116, d.width - 6
        self.axis, self.step, self.now = axis, scene["step"], scene["at"]

        self.cursor = self.left + axis.at(self.now, self.step) * (
            self.right - self.left
        )

    def x(self, ms: int) -> float:
        return min(self.left + self.axis.at(ms) * (self.right - self.left), self.cursor)

    def columns(self, key: str, y: float) -> None:
        """What the numbers at the lanes' ends are."""
        self.d.note(key + "/waiting", self.waiting_x, y, "waiting", "end")
        self.d.note(key + "/unread/words", self.unread_x, y, "not read for", "end")

    def times(self, y: float) -> None:
        moments = self.axis.times
        times = round_times(moments[0], moments[-1], self.now, 10) if moments else []
        draw_times(
            self.d, y, ((at, self.x(at), words) for at, words in times), bent=True
        )


def draw_lanes(d: Drawing, top: float, cast: Cast, axis: Axis, scene: Scene) -> None:
    band = Band(d, axis, scene)
    d.note("time/caption", 0, top + 13, "who reads each partition")
    _legend(d, top + 13, scene["space"])
    band.columns("time", top + 13)
    many = len(cast["actors"]) > 3 or len(cast["partitions"]) > 4
    bottom = Block(band, cast, scene["space"], "", 14 if many else 16).draw(
        top + CAPTION, 2 if many else 3
    )
    d.cursor(band.cursor, top + CAPTION - 1, bottom + 2)
    band.times(bottom + 14)


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


class Block:
    """The lanes of one group. tag: before the keys of its shapes, where two groups are
    drawn.
    """

    def __init__(
        self, band: Band, cast: Cast, space: Space, tag: str, height: int
    ) -> None:
        self.d, self.band, self.cast, self.space, self.tag, self.height = (
            band.d,
            band,
            cast,
            space,
            tag,
            height,
        )
        self.actors = actors_of(cast)

    def draw(self, top: float, gap: int) -> float:
        """The group's lane and one for each partition; returns where they end."""
        self.phases(top)
        for number, label in enumerate(self.cast["partitions"], 1):
            self.partition(top + number * (self.height + gap), label)
        return top + len(self.cast["partitions"]) * (self.height + gap) + self.height

    def spans(self, lane: str) -> list[tuple[float, float, list[str], str, int | None]]:
        """Up to the cursor: x from, x to, who, what, the records that waited when it
        was over.
        """
        spans = self.space["spans"].get(lane, [])
        begins = [self.band.x(start) for start, *_ in spans]
        ends = [*begins[1:], self.band.cursor][: len(spans)]
        return [
            (x, x2, *rest)
            for x, x2, (_, *rest) in zip(begins, ends, spans, strict=True)
        ]

    def unread_ms(self, label: str) -> int:
        return lasted_ms(
            "nobody",
            self.space["spans"].get(label, []),
            self.cast["since_ms"],
            self.band.now,
        )

    def phases(self, y: float) -> None:
        d, key, foot = self.d, f"time/{self.tag}group", y + self.height - 3.5
        for n, (x, x2, [number], state, _) in enumerate(self.spans("group")):
            if x2 - x < 0.5:
                continue
            plain, short, fill = PHASES.get(state, (state, state, "wash"))
            word = "generation" if self.cast["kind"] == "classic" else "epoch"
            tip = f"{state}, {word} {number}: {plain}"
            d.rect(
                f"{key}/{n}", x, y, max(x2 - x - 1, 1), self.height, fill, r=3, tip=tip
            )
            words = fitting(
                [f"{plain} · {number}" if state == "Stable" else plain, short],
                x2 - x - 4,
            )
            if words:
                d.text(
                    f"{key}/{n}/word",
                    (x + x2) / 2,
                    foot,
                    words,
                    size=12,
                    anchor="middle",
                )
        total = sum(self.unread_ms(label) for label in self.cast["partitions"])
        right = self.band.unread_x
        d.rect(f"time/{self.tag}sum", right - 104, y - 2, 110, self.height + 4, r=4)
        d.text(
            f"time/{self.tag}sum/words",
            right,
            foot,
            f"sum {seconds(total)}",
            bold=True,
            size=12.5,
            anchor="end",
        )

    def partition(self, y: float, label: str) -> None:
        d, band, key, foot = (
            self.d,
            self.band,
            f"time/{self.tag}{label}",
            y + self.height - 3.5,
        )
        d.number(key + "/name", band.left - 8, foot, label, "ink")
        d.rect(
            key + "/ground",
            band.left,
            y,
            band.right - band.left,
            self.height,
            "wash",
            r=3,
        )
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
        d.number(
            key + "/waiting",
            band.waiting_x,
            foot,
            str(waiting),
            "trouble" if nobody and waiting else "quiet",
        )
        ink = "trouble" if nobody and long else "quiet"
        d.number(key + "/unread", band.unread_x, foot, seconds(unread), ink, bold=long)
        words = (
            f"{counted(waiting, 'record')} wait{'s' * (waiting == 1)}"
            if nobody and waiting
            else ""
        )
        if spans and spans[-1][3] == "two":
            words = (
                f"{listed([self.actors[name].letter for name in spans[-1][2]])} own it"
            )
        if words and has_room(words, band.right - end - 16):
            d.text(
                f"time/cursor/{self.tag}{label}/words",
                end + 9,
                foot,
                words,
                "trouble",
                size=12,
            )

    def _span(
        self,
        key: str,
        place: Place,
        actors: list[Actor],
        what: str,
        of: int,
        waited: int | None,
    ) -> None:
        """waited: the records there when the span was over."""
        x, y, w = place
        d = self.d
        if what == "nobody":
            words = [f"{actor.letter} frozen" for actor in actors]
            words += [f"{waited} waited"] if waited is not None else []
            tip = ", ".join(["nobody reads", *words])
            d.rect(
                key + "/span",
                x,
                y,
                w,
                self.height,
                "hatch",
                "trouble",
                r=3,
                of=of,
                tip=tip,
            )
            self._label(key, place, [", ".join(words), *words])
            return
        if what == "two":
            self._split(key, place, actors, of)
            return
        [actor] = actors[:1]
        d.rect(key + "/span", x, y, w, self.height, actor.colour, r=3, of=of)
        # where colours repeat: a dotted edge the first time, then a dashed one
        if actor.pattern and w > 4:
            foot, dash = y + self.height - 2.5, "2 3" if actor.pattern == 1 else "7 3"
            d.line(
                key + "/pattern",
                x + 2,
                foot,
                x + w - 2,
                foot,
                "paper",
                width=2,
                dash=dash,
            )
        if w > text_width(actor.letter, 12, bold=True) + 8:
            d.text(
                key + "/who",
                x + 5,
                y + self.height - 3.5,
                actor.letter,
                actor.ink,
                size=12.5,
                bold=True,
            )

    def _split(self, key: str, place: Place, actors: list[Actor], of: int) -> None:
        """Two at work on one partition: what must not be."""
        (x, y, w), d, h = place, self.d, self.height / len(actors)
        who = listed([actor.letter for actor in actors])
        for n, actor in enumerate(actors):
            d.rect(f"{key}/{n}", x, y + n * h, w, h, actor.colour)
        d.rect(
            key + "/span",
            x,
            y,
            w,
            self.height,
            "none",
            "trouble",
            r=2,
            width=2.5,
            of=of,
            tip=f"{who} own it",
        )
        self._label(key, place, [who])

    def _label(self, key: str, place: Place, words: Sequence[str]) -> None:
        """The first that has room, on paper: nobody reads what stands on hatching."""
        (x, y, w), d = place, self.d
        said = fitting(words, w - 12, bold=True)
        if said:
            d.rect(
                key + "/paper",
                x + 4,
                y + 1,
                text_width(said, 12, bold=True) + 8,
                self.height - 2,
                "paper",
                r=3,
            )
            d.text(key + "/who", x + 8, y + self.height - 3.5, said, size=12, bold=True)


def unread_spans(tag: str, label: str, spans: Sequence[Sequence[Any]]) -> list[str]:
    """The keys of the times in which nobody read a partition."""
    return [
        f"time/{tag}{label}/{number}"
        for number, (_, _, what, _) in enumerate(spans)
        if what == "nobody"
    ]


def lasted_ms(what: str, spans: Sequence[Sequence[Any]], since_ms: int, at: int) -> int:
    """How long a partition was in this state ("nobody", "two") from since_ms up to a
    moment. spans: its lane so far.
    """
    ends = [start for start, *_ in spans[1:]] + [at]
    lasted = [
        (start, end)
        for (start, _, each, _), end in zip(spans, ends, strict=False)
        if each == what
    ]
    return sum(max(min(end, at) - max(start, since_ms), 0) for start, end in lasted)


def seconds(ms: int) -> str:
    if ms < SHORTEST_MS:
        return "0"
    return f"{ms / 1000:.2f} s" if ms < 100_000 else f"{ms / 1000:.0f} s"

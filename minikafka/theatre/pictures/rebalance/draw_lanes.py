"""Lanes on the axis of time: the group's phases, and for each partition who reads it;
hatched where nobody does, pale where its reader is busy with other records.
"""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.theatre.axis import Axis, Scene, Time
from minikafka.theatre.drawing import (
    Box,
    Drawing,
    Look,
    fitting,
    has_room,
    text_width,
    widest,
)
from minikafka.theatre.pictures.rebalance.cast import Actor, actors_of
from minikafka.theatre.pictures.rebalance.group import PHASES
from minikafka.theatre.pictures.rebalance.spans import (
    SHORTEST_MS,
    Span,
    lasted_ms,
    seconds,
)
from minikafka.theatre.play import Cast, Space
from minikafka.theatre.text import counted, listed

LEAST_SEEN = 12  # width of two owners that have just begun
PALE = 0.35  # opacity of a lane whose reader is busy
LEAST_DRAWN = 0.5  # narrower spans are left out
TOGETHER = 110  # width of what partitions add up to
FOOT = 3.5  # from a lane's foot to the words in it


class Begun:
    """Which scene began each span, by its number."""

    def __init__(self) -> None:
        self.lanes: dict[str, list[int]] = {}

    def note(self, tag: str, scenes: Sequence[Scene], spaces: Sequence[Space]) -> None:
        """spaces: of one group, scene by scene."""
        for scene, space in zip(scenes, spaces, strict=True):
            number = scene["number"]
            for lane, spans in space["spans"].items():
                begun = self.lanes.setdefault(tag + lane, [])
                new = len(spans) - len(begun)
                begun += [number] * new


class Band:
    """The place of the lanes on the page."""

    def __init__(self, d: Drawing, time: Time, begun: Begun, scene: Scene) -> None:
        self.d = d
        left = 36 if d.narrow else 44
        self.axis: Axis = time.axis(left, d.width - 178, scene["at"])
        self.waiting_x = d.width - 116
        self.unread_x = d.width - 6
        self.begun = begun

    def columns(self, key: str, y: float) -> None:
        """Draw headings for the numbers at the lanes' ends."""
        d = self.d
        d.note(
            f"{key}/waiting",
            self.waiting_x,
            y,
            "waiting",
            anchor="end",
        )
        words = "not read for"
        d.note(
            f"{key}/unread/words",
            self.unread_x,
            y,
            words,
            anchor="end",
        )


class Shown(NamedTuple):
    """A span in its lane, up to the cursor."""

    box: Box
    span: Span


class Block:
    """The lanes of one group. tag: before the keys of its shapes, where two groups are
    drawn.
    """

    def __init__(
        self, band: Band, cast: Cast, space: Space, tag: str, height: int
    ) -> None:
        self.d = band.d
        self.band = band
        self.cast = cast
        self.space = space
        self.tag = tag
        self.height = height
        self.actors = actors_of(cast)

    def draw(self, top: float, gap: int) -> float:
        """The group's lane and one for each partition; returns where they end."""
        y = top
        self.phases(y)
        for label in self.cast["partitions"]:
            y += self.height + gap
            self.partition(y, label)
        return y + self.height

    def shown(self, lane: str, y: float) -> list[Shown]:
        """The spans of a lane at y, up to the cursor."""
        told = self.space["spans"].get(lane, [])
        spans = [Span(*each) for each in told]
        axis = self.band.axis
        begins = [axis.x(span.since_ms) for span in spans]
        ends = [*begins[1:], axis.now]
        shown = []
        for span, begin, end in zip(spans, begins, ends, strict=False):
            box = Box(x=begin, y=y, w=end - begin, h=self.height)
            shown.append(Shown(box, span))
        return shown

    def unread_ms(self, label: str) -> int:
        lane = self.space["spans"].get(label, [])
        return lasted_ms(
            "nobody",
            spans=lane,
            since_ms=self.cast["since_ms"],
            at=self.band.axis.now_ms,
        )

    def phases(self, y: float) -> None:
        """The group's states, and at the end how long partitions were not read, all of
        them together.
        """
        lane = self.shown("group", y)
        for number, shown in enumerate(lane):
            if shown.box.w >= LEAST_DRAWN:
                self._phase(f"time/{self.tag}group/{number}", shown)
        self._together(y)

    def _together(self, y: float) -> None:
        """How long partitions were not read, all of them added up."""
        d = self.d
        key = f"time/{self.tag}sum"
        right = self.band.unread_x
        parts = self.cast["partitions"]
        total_ms = sum(map(self.unread_ms, parts))
        left = right + 6 - TOGETHER
        d.rect(key, x=left, y=y - 2, w=TOGETHER, h=self.height + 4, r=4)
        d.text(
            key + "/words",
            right,
            y + self.height - FOOT,
            f"all {len(parts)}: {seconds(total_ms)}",
            bold=True,
            size=12.5,
            anchor="end",
        )

    def _phase(self, key: str, shown: Shown) -> None:
        box = shown.box
        state = shown.span.what
        [number] = shown.span.who
        unknown = (state, state, "wash")
        plain, short, fill = PHASES.get(state, unknown)
        counts = "epoch"
        if self.cast["kind"] == "classic":
            counts = "generation"
        tip = f"{state}, {counts} {number}: {plain}"
        drawn = box._replace(w=max(box.w - 1, 1))
        self.d.rect(
            key,
            *drawn,
            fill=fill,
            r=3,
            tip=tip,
        )
        if state == "Stable":
            plain = f"{plain} · {number}"
        words = fitting([plain, short], box.w - 4)
        if words:
            self.d.text(
                key + "/word",
                (box.x + box.right) / 2,
                box.bottom - FOOT,
                words,
                size=12,
                anchor="middle",
            )

    def partition(self, y: float, label: str) -> None:
        """Its lane, with numbers at the end and words at the cursor."""
        d = self.d
        axis = self.band.axis
        key = f"time/{self.tag}{label}"
        foot = y + self.height - FOOT
        last = self.lane(key, y, label)
        is_unread = last is not None and last.span.what == "nobody"
        self._numbers(key, foot, label, nobody=is_unread)
        if last is None:
            self._no_reader_yet(label, foot)
            return
        words = self._words(label, last.span)
        room = axis.right - last.box.right - 16
        if words and has_room(words, room):
            key = f"time/cursor/{self.tag}{label}/words"
            ink = "quiet" if last.span.what == "busy" else "trouble"
            d.text(key, last.box.right + 9, foot, words, fill=ink, size=12)

    def _no_reader_yet(self, label: str, foot: float) -> None:
        """At the cursor, where records wait for a partition's first reader."""
        axis = self.band.axis
        words = "no reader yet"
        room = axis.right - axis.now - 16
        if self.space["waiting"][label] and has_room(words, room):
            key = f"time/cursor/{self.tag}{label}/words"
            self.d.text(key, axis.now + 9, foot, words, fill="quiet", size=12)

    def lane(self, key: str, y: float, label: str) -> Shown | None:
        """Its spans; returns the last one."""
        d = self.d
        axis = self.band.axis
        foot = y + self.height - FOOT
        d.number(key + "/name", axis.left - 8, foot, label, ink="ink")
        width = axis.right - axis.left
        ground = Box(x=axis.left, y=y, w=width, h=self.height)
        d.rect(key + "/ground", *ground, fill="wash", r=3)
        lane = self.shown(label, y)
        if lane and lane[-1].span.what == "two":  # it is seen though it has just begun
            box, span = lane[-1]
            wide = max(box.w, LEAST_SEEN)
            lane[-1] = Shown(box._replace(w=wide), span)
        begun = self.band.begun.lanes.get(self.tag + label, [])

        for number, shown in enumerate(lane):
            if shown.box.w >= LEAST_DRAWN:
                self._span(f"{key}/{number}", shown, begun[number])
        return lane[-1] if lane else None

    def _numbers(self, key: str, y: float, label: str, *, nobody: bool) -> None:
        """How many records wait, and for how long nobody has read in all."""
        d = self.d
        band = self.band
        waiting = self.space["waiting"][label]
        d.number(
            key + "/waiting",
            band.waiting_x,
            y,
            str(waiting),
            ink="trouble" if nobody and waiting else "quiet",
        )
        unread_ms = self.unread_ms(label)
        is_long = unread_ms >= SHORTEST_MS
        is_counted = label in self.space["spans"]
        d.number(
            key + "/unread",
            band.unread_x,
            y,
            seconds(unread_ms) if is_counted else "–",
            ink="trouble" if nobody and is_long else "quiet",
            bold=is_long,
        )

    def _words(self, label: str, last: Span) -> str:
        """At the cursor: what is wrong now."""
        if last.what == "two":
            return f"{self._letters(last.who)} own it"
        waiting = self.space["waiting"][label]
        if last.what not in ("nobody", "busy") or not waiting:
            return ""
        if waiting == 1:
            return "1 record waits"
        return f"{counted(waiting, 'record')} wait"

    def _letters(self, names: Sequence[str]) -> str:
        return listed([self.actors[name].letter for name in names])

    def _span(self, key: str, shown: Shown, begun: int) -> None:
        """begun: the number of the scene that began it."""
        box, span = shown
        actors = [self.actors[name] for name in span.who]
        if span.what == "nobody":
            self._unread(key, box, actors, begun, span.waited)
        elif span.what == "two":
            self._split(key, box, actors, begun)
        elif span.what == "busy":
            self._busy(key, box, actors[0], begun, span.words)
        else:
            self._read(key, box, actors[0], begun)

    def _unread(
        self, key: str, box: Box, actors: list[Actor], begun: int, waited: int | None
    ) -> None:
        """Nobody reads. waited: the records there when that was over."""
        words = [f"{actor.letter} frozen" for actor in actors]
        if waited is not None:
            words.append(f"{waited} waited")
        self.d.rect(
            key + "/span",
            *box,
            fill="hatch",
            line="trouble",
            r=3,
            of=begun,
            tip=", ".join(["nobody reads", *words]),
        )
        together = ", ".join(words)
        self._label(key, box, [together, *words])

    def _read(self, key: str, box: Box, actor: Actor, begun: int) -> None:
        d = self.d
        d.rect(key + "/span", *box, fill=actor.colour, r=3, of=begun)
        # where colours repeat: a dotted edge the first time, then a dashed one
        if actor.pattern and box.w > 4:
            d.level(
                key + "/pattern",
                left=box.x + 2,
                right=box.right - 2,
                y=box.bottom - 2.5,
                line="paper",
                width=2,
                dash="2 3" if actor.pattern == 1 else "7 3",
            )
        needed = text_width(actor.letter, 12, bold=True) + 8
        if box.w > needed:
            d.text(
                key + "/who",
                box.x + 5,
                box.bottom - FOOT,
                actor.letter,
                fill=actor.ink,
                size=12.5,
                bold=True,
            )

    def _busy(self, key: str, box: Box, actor: Actor, begun: int, words: str) -> None:
        """Its reader has other records in hand, and doesn't poll."""
        d = self.d
        letter = actor.letter
        tip = f"{letter} is busy: {words}"
        look: Look = {"fill": actor.colour, "fade": PALE, "r": 3, "of": begun}
        d.rect(key + "/pale", *box, **look)
        d.rect(key + "/span", *box, line=actor.colour, r=3, of=begun, tip=tip)
        said = fitting([f"{letter} busy: {words}", f"{letter} busy", letter], box.w - 8)
        if said:
            foot = box.bottom - FOOT
            d.text(key + "/who", box.x + 5, foot, said, size=12, bold=True)

    def _split(self, key: str, box: Box, actors: list[Actor], begun: int) -> None:
        """Two at work on one partition: what must not be."""
        d = self.d
        strip = box._replace(h=self.height / len(actors))
        for n, actor in enumerate(actors):
            d.rect(f"{key}/{n}", *strip, fill=actor.colour)
            strip = strip._replace(y=strip.bottom)

        who = listed([actor.letter for actor in actors])
        d.rect(
            key + "/span",
            *box,
            fill="none",
            line="trouble",
            r=2,
            width=2.5,
            of=begun,
            tip=f"{who} own it",
        )
        self._label(key, box, [who])

    def _label(self, key: str, box: Box, words: Sequence[str]) -> None:
        """Draw the first words that fit, on paper: words on hatching can't be read."""
        said = fitting(words, box.w - 12, bold=True)
        if said:
            d = self.d
            left = box.x + 4
            wide = paper_width(d, said) + 8
            paper = Box(x=left, y=box.y + 1, w=wide, h=self.height - 2)
            d.rect(key + "/paper", *paper, fill="paper", r=3)
            foot = box.bottom - FOOT
            d.text(key + "/who", left + 4, foot, said, size=12, bold=True)


def paper_width(d: Drawing, words: str) -> float:
    """The width of the paper under bold words; a phone's page is narrower than its
    layout.
    """
    if d.phone:
        return widest(words, 12, bold=True)
    return text_width(words, 12, bold=True)

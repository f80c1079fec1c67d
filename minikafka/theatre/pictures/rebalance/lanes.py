"""Lanes on the axis of time: the group's phases, and for each partition who reads it;
hatched where nobody does, pale where its reader is busy with other records.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from minikafka.theatre.axis import Scene, Time
from minikafka.theatre.boxes import Item, Places, part
from minikafka.theatre.drawing import Box, Drawing, Look, fitting, has_room, widest
from minikafka.theatre.pictures.rebalance.cast import Actor, actors_of
from minikafka.theatre.pictures.rebalance.group import PHASES
from minikafka.theatre.pictures.rebalance.lengths import in_tenths
from minikafka.theatre.pictures.rebalance.spans import (
    SHORTEST_MS,
    Span,
    lasted_ms,
    seconds,
)
from minikafka.theatre.play import Cast, Space
from minikafka.theatre.text import counted, listed

# from the right edge: where the axis ends, beside numbers, a sum, or nothing; and where
# numbers do
AXIS_ENDS, BESIDE_SUM, ALONE, UNREAD_ENDS = 92, 116, 24, 6
LINE, BASE = 18, 13  # height of the line above the lanes, and where its words are in it
LEAST_SEEN = 12  # width of two owners that have just begun
PALE = 0.35  # opacity of a lane whose reader is busy
LEAST_DRAWN = 0.5  # narrower spans are left out
TOGETHER = 110  # width of what partitions add up to
FOOT = 3.5  # from a lane's foot to the words in it


def begun(scenes: Sequence[Scene], spaces: Sequence[Space]) -> dict[str, list[int]]:
    """Which scene began each span of a lane, by its number. spaces: of one group, scene
    by scene.
    """
    lanes: dict[str, list[int]] = {}
    for scene, space in zip(scenes, spaces, strict=True):
        for lane, spans in space["spans"].items():
            known = lanes.setdefault(lane, [])
            known += [scene["number"]] * (len(spans) - len(known))
    return lanes


def headings(key: str) -> Item:
    """What the number is at a lane's end."""

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        place = places[f"{key}/headings"]
        base, unread = place.y + BASE, place.right - UNREAD_ENDS
        d.note(f"{key}/unread/words", unread, base, "not read for", "end")

    least = UNREAD_ENDS + widest("not read for", 12.5)
    return part(f"{key}/headings", draw, high=LINE, least=least, grow=1)


class Band:
    """The place of the lanes on the page: a name, the axis up to a moment, and a
    number.
    """

    def __init__(
        self, d: Drawing, place: Box, time: Time, at_ms: int, ends: int = AXIS_ENDS
    ) -> None:
        self.d = d
        self.axis = time.axis(place.x + 38, place.right - ends, at_ms)
        self.unread_x = place.right - UNREAD_ENDS
        self.room = ends - UNREAD_ENDS


class Shown(NamedTuple):
    """A span in its lane, up to the cursor. begun: the number of the scene that began
    it. lasted_ms: until the next one, or up to now.
    """

    box: Box
    span: Span
    begun: int
    lasted_ms: int


class Group:
    """The lanes of one group: its own, and one for each partition. tag: before the keys
    of its shapes, where two groups are drawn. begun: which scene began each span.
    counts: how long nobody reads a partition.
    """

    def __init__(
        self,
        cast: Cast,
        begun: Mapping[str, Sequence[int]],
        tag: str = "",
        counts: bool = True,
    ) -> None:
        self.cast = cast
        self.begun = begun
        self.tag = tag
        self.counts = counts
        self.labels = cast["partitions"]
        self.actors = actors_of(cast)
        is_large = len(self.actors) > 3 or len(self.labels) > 4 or bool(tag)
        self.height, self.gap = (14, 2) if is_large else (16, 3)
        self.pitch = self.height + self.gap

    @property
    def high(self) -> int:
        """The height of all lanes."""
        return self.pitch * (1 + len(self.labels)) - self.gap

    def draw(self, band: Band, y: float, space: Space) -> None:
        self._phases(band, y, space)
        for label in self.labels:
            y += self.pitch
            self._partition(band, y, label, space)

    def _shown(self, band: Band, lane: str, y: float, space: Space) -> list[Shown]:
        """The spans of a lane at y, up to the cursor."""
        axis = band.axis
        spans = [Span(*each) for each in space["spans"].get(lane, [])]
        begins = [axis.x(span.since_ms) for span in spans]
        ends = [*begins[1:], axis.now]
        until = [*(span.since_ms for span in spans[1:]), axis.now_ms]
        numbers = self.begun.get(lane, [])
        shown = []
        for number, span, begin, end, ms in zip(
            numbers, spans, begins, ends, until, strict=False
        ):
            box = Box(begin, y, end - begin, self.height)
            shown.append(Shown(box, span, number, ms - span.since_ms))
        return shown

    def _unread_ms(self, band: Band, label: str, space: Space) -> int:
        spans = space["spans"].get(label, [])
        since_ms = self.cast["since_ms"]
        return lasted_ms("nobody", spans, since_ms=since_ms, at=band.axis.now_ms)

    # -- the group's own lane

    def _phases(self, band: Band, y: float, space: Space) -> None:
        """The group's states; beside another group at the end how long partitions were
        not read, all of them together.
        """
        d = band.d
        key = f"time/{self.tag}group"
        for number, shown in enumerate(self._shown(band, "group", y, space)):
            if shown.box.w >= LEAST_DRAWN:
                self._phase(d, f"{key}/{number}", shown)
        if not self.tag:
            return
        total_ms = sum(self._unread_ms(band, label, space) for label in self.labels)
        key = f"time/{self.tag}sum"
        right, foot = band.unread_x, y + self.height - FOOT
        left = right + 6 - TOGETHER
        d.rect(key, x=left, y=y - 2, w=TOGETHER, h=self.height + 4, r=4)
        words = f"all {len(self.labels)}: {seconds(total_ms)}"
        d.text(f"{key}/words", right, foot, words, bold=True, size=12.5, anchor="end")

    def _phase(self, d: Drawing, key: str, shown: Shown) -> None:
        box = shown.box
        state = shown.span.what
        [number] = shown.span.who
        plain, short, fill = PHASES.get(state, (state, state, "wash"))
        counts = "generation" if self.cast["kind"] == "classic" else "epoch"
        tip = f"{state}, {counts} {number}: {plain}"
        d.rect(key, *box._replace(w=max(box.w - 1, 1)), fill, r=3, tip=tip)
        if state == "Stable":
            plain = f"{plain} · {number}"
        words = fitting([plain, short], box.w - 4)
        if words:
            middle, foot = box.x + box.w / 2, box.bottom - FOOT
            d.text(f"{key}/word", middle, foot, words, size=12, anchor="middle")

    # -- a partition's lane

    def _partition(self, band: Band, y: float, label: str, space: Space) -> None:
        """Its lane, with numbers at the end and words at the cursor."""
        axis = band.axis
        foot = y + self.height - FOOT
        last = self.lane(band, y, label, space)
        waiting = space["waiting"][label]
        is_unread = last is not None and last.span.what == "nobody"
        if self.counts:
            self._number(band, foot, label, space, is_unread)
        x, ink = axis.now, "quiet"
        words = "no reader yet" if waiting else ""
        if last is not None:
            x, what = last.box.right, last.span.what
            ink = "quiet" if what == "busy" else "trouble"
            words = ""
            if what == "two":
                words = f"{self._letters(last.span)} own it"
            elif what in ("nobody", "busy") and waiting:
                words = f"{counted(waiting, 'record')} wait{'s' * (waiting == 1)}"
        if words and not band.d.asks and has_room(words, axis.right - x - 16):
            key = f"time/cursor/{self.tag}{label}/words"
            band.d.text(key, x + 9, foot, words, ink, size=12)

    def lane(
        self, band: Band, y: float, label: str, space: Space, within: str = ""
    ) -> Shown | None:
        """Its spans; returns the last one. within: before its key, where it is drawn
        again.
        """
        d, axis = band.d, band.axis
        key = f"time/{within}{self.tag}{label}"
        d.number(f"{key}/name", axis.left - 8, y + self.height - FOOT, label, "ink")
        ground = Box(axis.left, y, axis.right - axis.left, self.height)
        d.rect(f"{key}/ground", *ground, "wash", r=3)
        lane = self._shown(band, label, y, space)
        if lane and lane[-1].span.what == "two":  # it is seen though it has just begun
            box = lane[-1].box
            wider = box._replace(w=max(box.w, LEAST_SEEN))
            lane[-1] = lane[-1]._replace(box=wider)
        for number, shown in enumerate(lane):
            if shown.box.w >= LEAST_DRAWN:
                self._span(d, f"{key}/{number}", shown)
        return lane[-1] if lane else None

    def _number(
        self, band: Band, y: float, label: str, space: Space, is_unread: bool
    ) -> None:
        """For how long nobody has read in all."""
        key = f"time/{self.tag}{label}"
        unread_ms = self._unread_ms(band, label, space)
        is_long = unread_ms >= SHORTEST_MS
        words = seconds(unread_ms) if label in space["spans"] else "–"
        ink = "trouble" if is_unread and is_long else "quiet"
        band.d.number(f"{key}/unread", band.unread_x, y, words, ink, bold=is_long)

    def _letters(self, span: Span) -> str:
        return listed([self.actors[name].letter for name in span.who])

    # -- a span

    def _span(self, d: Drawing, key: str, shown: Shown) -> None:
        box, span, begun, lasted_ms = shown
        actors = [self.actors[name] for name in span.who]
        if span.what == "nobody":
            words = [f"{actor.letter} frozen" for actor in actors]
            short = ""
            if span.waited is not None:
                short = f"{span.waited} waited"
                waited = f"{counted(span.waited, 'record')} waited"
                lasted = in_tenths(lasted_ms)
                if span.words:  # for whom
                    short = f"nobody, {lasted}"
                    lasted += f" {span.words}"
                words.append(waited if d.asks else f"{waited} {lasted}")
            tip = ", ".join(["nobody reads", *words])
            look: Look = {"line": "trouble", "r": 3, "of": begun, "tip": tip}
            d.rect(f"{key}/span", *box, "hatch", **look)
            _told(d, f"{key}/who", box, [", ".join(words), *words, short])
        elif span.what == "two":
            self._two(d, key, shown, actors)
        elif span.what == "busy":
            _busy(d, key, shown, actors[0])
        else:
            _read(d, key, shown, actors[0])

    def _two(self, d: Drawing, key: str, shown: Shown, actors: list[Actor]) -> None:
        """Two at work on one partition: what must not be."""
        box, span, begun, _ = shown
        strip = box._replace(h=self.height / len(actors))
        for number, actor in enumerate(actors):
            d.rect(f"{key}/{number}", *strip, fill=actor.colour)
            strip = strip._replace(y=strip.bottom)
        who = self._letters(span)
        look: Look = {"line": "trouble", "r": 2, "width": 2.5, "of": begun}
        d.rect(f"{key}/span", *box, **look, tip=f"{who} own it")
        _told(d, f"{key}/who", box, [who])


def _read(d: Drawing, key: str, shown: Shown, actor: Actor) -> None:
    box = shown.box
    d.rect(f"{key}/span", *box, actor.colour, r=3, of=shown.begun)
    # where colours repeat: a dotted edge the first time, then a dashed one
    if actor.pattern and box.w > 4:
        dash = "2 3" if actor.pattern == 1 else "7 3"
        look: Look = {"line": "paper", "width": 2, "dash": dash}
        left, right, y = box.x + 2, box.right - 2, box.bottom - 2.5
        d.level(f"{key}/pattern", left, right, y, **look)
    if has_room(actor.letter, box.w - 8, bold=True):
        look = {"size": 12.5, "bold": True}
        d.text(
            f"{key}/who", box.x + 5, box.bottom - FOOT, actor.letter, actor.ink, **look
        )


def _busy(d: Drawing, key: str, shown: Shown, actor: Actor) -> None:
    """Its reader has other records in hand, and doesn't poll."""
    box, span, begun, _ = shown
    letter = actor.letter
    d.rect(f"{key}/pale", *box, actor.colour, fade=PALE, r=3, of=begun)
    tip = f"{letter} is busy: {span.words}"
    d.rect(f"{key}/span", *box, line=actor.colour, r=3, of=begun, tip=tip)
    ways = [f"{letter} busy: {span.words}", f"{letter} busy", letter]
    said = fitting(ways, box.w - 8, bold=True)
    if said:
        d.text(f"{key}/who", box.x + 5, box.bottom - FOOT, said, size=12, bold=True)


def _told(d: Drawing, key: str, box: Box, ways: Sequence[str]) -> None:
    """The first words that fit, on a plate, as hatching makes them hard to read."""
    said = fitting(ways, box.w - 8, bold=True)
    if said:
        wide = widest(said, 12, bold=True) + 4
        d.rect(f"{key}/plate", box.x + 3, box.y + 1, wide, box.h - 2, "paper", r=3)
        d.text(key, box.x + 5, box.bottom - FOOT, said, size=12, bold=True)

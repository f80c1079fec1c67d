"""The lower part of the lag's picture: one partition's lane, its reader, and its lag
over time.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from minikafka.theatre.actors import actor_colour, actor_number, ink_on_actor
from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places
from minikafka.theatre.drawing import Box, Drawing, Look, Point, has_room, widest
from minikafka.theatre.pictures.lag.pile import PALE, Pile
from minikafka.theatre.pictures.lag.run import BESIDE, Field, Run, band
from minikafka.theatre.play import Space
from minikafka.theatre.text import ordinal

THINNEST = 0.5  # what lasts for a moment is seen, too
LOW, HIGH = 34, 80  # a lane has one line of names, or is that of a single partition


class State(NamedTuple):
    """How a partition is, and from when until when it looks so."""

    begin: int
    end: int
    partition: Space


def partition_box(run: Run, row: int, high: float) -> Item:
    """Who reads it, its lag over time, and its lag now."""
    name = f"lane {row}"

    def lane(d: Drawing, places: Places, scene: Scene) -> PartitionLane:
        field = run.field(places, name, run.most, scene["at"])
        return PartitionLane(d, run, scene["space"], row, field)

    def names(d: Drawing, places: Places, scene: Scene) -> None:
        lane(d, places, scene).draw_names(places[f"{name} names"])

    def axis(d: Drawing, places: Places, scene: Scene) -> None:
        mine = lane(d, places, scene)
        mine.draw_axis(states(run.past(scene).moments, row, mine.field))

    def numbers(d: Drawing, places: Places, scene: Scene) -> None:
        lane(d, places, scene).draw_numbers(places[f"{name} numbers"])

    return band(name, high, names, axis, numbers)


class PartitionLane:
    """A partition in the scene that is drawn."""

    def __init__(
        self, d: Drawing, run: Run, space: Space, row: int, field: Field
    ) -> None:
        self.d = d
        self.run = run
        self.now: Space = space["partitions"][row]
        self.owner = str(self.now["owner"])
        self.is_slow = space["members"].get(self.owner) == "slow"
        self.field = field
        self.is_alone = field.height > HIGH
        self.again, self.times = space.get("again", (0, 0))
        self.key = f"lag/{self.now['partition']}"
        self.part = d.part(self.key, 0, field.top)

    def draw_axis(self, states: Sequence[State]) -> None:
        """states: of the partition up to the cursor."""
        field = self.field
        wide = field.right - field.left
        self.part.rect("ground", field.left, 0, wide, field.height, "wash", r=3)
        most, least = (3, 0) if field.height > 60 else (2, 1)
        field.grid(self.d, f"grid/{self.now['partition']}", most, least)
        for number, state in enumerate(states):
            self._state(f"{self.key}/{number}", state)
        if self.is_alone:
            self._anew()
        elif states:
            self._idle(states[-1])

    def _colour(self, owner: str) -> str:
        return actor_colour(self._number(owner))

    def _number(self, owner: str) -> int:
        return actor_number(owner, self.run.cast["members"])

    # -- who reads

    def draw_names(self, place: Box) -> None:
        """The partition's, and its reader's beside it or below it."""
        base = -12 if self.is_alone else 13
        name = f"P{self.now['partition']}"
        self.part.text("name", place.x, base, name, mono=True, bold=True)
        is_beside = self.is_alone or self.field.height <= LOW
        x, y = (24, base) if is_beside else (0, 29)
        room = place.w - x - 6
        if not self.is_alone:  # the grid's numbers are there, too
            room -= 8 + widest(f"{self.run.most:,}", 12, mono=True)
        at = Point(place.x + x, y)
        if self.now["unread"] or not self.owner:
            self._nobody(at, room)
        else:
            self._reader(at, room - 14)

    def _nobody(self, place: Point, room: float) -> None:
        """That nobody reads, in a word or as an empty circle."""
        ink = "trouble" if self.now["unread"] else "quiet"
        if has_room("nobody", room, bold=True):
            self.part.text("owner", *place, "nobody", ink, size=12, bold=True)
            return
        self.part.circle(
            "nobody",
            place.x + 9,
            place.y - 4,
            8.5,
            line=ink,
            dash="3 3",
            width=1.5,
            tip="nobody reads it",
        )

    def _reader(self, place: Point, room: float) -> None:
        """A disc of the member's colour: with its letter, or beside its name."""
        name = self.owner
        *_, letter = name.split(" ")
        middle = place.y - 4
        if len(letter) == 1:
            number = self._number(name)
            at = place.x + 9, middle, 8.5
            self.part.disc("reader", *at, letter, number, size=12, tip=name)
            return
        colour = self._colour(name)
        self.part.circle("reader", place.x + 5, middle, 5, colour, tip=name)
        if room > 40:
            self.part.note("owner", place.x + 14, place.y, name, size=12, room=room)

    # -- the lag over time

    def _state(self, key: str, state: State) -> None:
        """The lag as high as it is, for as long as it is."""
        partition = state.partition
        field = self.field
        lag, _ = partition["lags"]
        if not lag:
            return
        # whole units: what lies side by side has no seam, and a page stays small
        left = round(field.x(state.begin))
        right = round(field.x(state.end))
        top = round(field.y(lag))
        whole = Box(x=left, y=top, w=max(right - left, THINNEST), h=field.bottom - top)
        tip = _sum_of(partition)
        if partition["unread"]:
            self.d.rect(key, *whole, "hatch", tip=f"{tip} · nobody reads")
            return
        if not partition["owner"]:
            if whole.w > 2:
                tip = f"{tip} · no reader yet"
                self.d.rect(key, *whole, "none", "gone", dash="4 3", tip=tip)
            return
        self._read(key, whole, partition)

    def _read(self, key: str, whole: Box, partition: Space) -> None:
        """Draw the records in the reader's hand; below that, pale, the others."""
        colour = self._colour(partition["owner"])
        tip = _sum_of(partition)
        _, waiting = partition["lags"]
        waits_y = round(self.field.y(waiting))
        handed = whole._replace(h=max(waits_y - whole.y, 0))
        if handed.h:
            self.d.rect(key, *handed, colour, tip=tip)
            if self.again:
                self._same(f"{key}/again", handed, partition)
        if waiting:
            waits = whole._replace(y=waits_y, h=self.field.bottom - waits_y)
            self.d.rect(f"{key}/wait", *waits, colour, fade=PALE, tip=tip)

    def _same(self, key: str, box: Box, partition: Space) -> None:
        """How many records are in the reader's hand once more."""
        words = f"{self.again}"
        size = 13 if has_room(words, box.w - 6, 13, bold=True) else 12
        if box.h <= 16 or not has_room(words, box.w - 2, size, bold=True):
            return
        ink = ink_on_actor(self._number(partition["owner"]))
        look: Look = {"size": size, "bold": True, "anchor": "middle"}
        middle, foot = box.x + box.w / 2, box.y + box.h / 2 + 5
        self.d.text(key, middle, foot, words, ink, **look)

    def _anew(self) -> None:
        """How often the reader has been handed these records by now."""
        top, bottom = map(self.field.y, self.now["lags"])
        if self.again and top < bottom:
            x, foot = self.field.time.now + BESIDE, (top + bottom) / 2 + 5
            self.d.text(f"{self.key}/times", x, foot, ordinal(self.times), bold=True)

    def _idle(self, state: State) -> None:
        """Whoever has had nothing to read for a while has a pale lane."""
        partition = state.partition
        lasts = state.end - state.begin
        has_done_all = partition["end"] and not partition["lags"][0]
        if not has_done_all or not partition["owner"] or lasts < self.run.whole_ms / 20:
            return
        left = self.field.x(state.begin)
        width = self.field.x(state.end) - left
        height = self.field.height
        idle = self.d.part(f"{self.key}/idle", left, self.field.top)
        colour = self._colour(partition["owner"])
        idle.rect("pale", 0, 0, width, height, colour, fade=0.15)
        if has_room("idle", width - 8, 12):
            idle.note("words", 5, height / 2 + 4, "idle", size=12)

    # -- the lag now

    def draw_numbers(self, place: Box) -> None:
        """The lag as a number and as things, at the end of the lane."""
        lag, _ = self.now["lags"]
        x, y = place.x + BESIDE, 13.0
        if self.is_alone:  # in line with the heading
            x, y = x + widest("lag ", 12.5, bold=True), -8
        ink = "trouble" if self.now["unread"] and lag else "ink"
        look: Look = {"mono": True, "bold": True, "size": 14}
        self.part.text("lag", x, y, f"{lag:,}", ink, **look)
        colour = self._colour(self.owner) if self.owner else None
        pile = Pile.beside(place, self.field.height, self.run.most)
        pile.draw(self.d, f"pile/{self.now['partition']}", self.now, colour)
        if self.is_slow:
            self._slow(x)

    def _slow(self, x: float) -> None:
        """Below the number, or at the end where a lane has one line only."""
        look: Look = {"size": 12, "bold": True, "halo": "paper"}
        y = 27
        if self.field.height < 28:
            x, y = self.d.width, 13
            look["anchor"] = "end"
        self.part.text("slow", x, y, "slow", "trouble", **look)


def _sum_of(partition: Space) -> str:
    """The lag of a partition as an equation, which the line under the picture names."""
    lag, _ = partition["lags"]
    end = partition["end"]
    return f"lag {lag} = {end} − {partition['committed'] or 0}"


def states(scenes: Sequence[Scene], row: int, field: Field) -> list[State]:
    """The states of one partition up to the cursor; a state lasts as long as it looks
    the same.
    """
    told = [(scene["at"], scene["space"]["partitions"][row]) for scene in scenes]
    alike = groupby(told, lambda each: _looks(each[1], field))
    begun = [next(group) for _, group in alike]
    ends = [at for at, _ in begun[1:]]
    ends.append(scenes[-1]["at"])
    found = [
        State(at, end, partition)
        for (at, partition), end in zip(begun, ends, strict=True)
    ]
    return [state for state in found if state.begin < state.end]


def _looks(partition: Space, field: Field) -> tuple[Any, ...]:
    """The parts in which two states differ on the page."""
    lag, waiting = partition["lags"]
    heights = round(field.y(lag)), round(field.y(waiting))
    return *heights, partition["owner"], partition["unread"], not lag

"""The lower part of the lag's picture: one partition's lane, its reader, and its lag
over time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from minikafka.theatre.actors import actor_colour, actor_number
from minikafka.theatre.axis import Axis, Scene
from minikafka.theatre.drawing import Box, Drawing, Look, Part, Point, has_room, widest
from minikafka.theatre.pictures.lag.pile import PALE, STEPS, Pile
from minikafka.theatre.play import Space

THINNEST = 0.5  # what lasts for a moment is seen, too
BESIDE = 16  # from the end of the axis to the words there


@dataclass(frozen=True)
class Field:
    """A place with two axes: time across, records upward."""

    time: Axis
    top: float
    bottom: float
    most: int

    @property
    def left(self) -> float:
        return self.time.left

    @property
    def right(self) -> float:
        return self.time.right

    @property
    def height(self) -> float:
        """From the axis to the most records."""
        return self.bottom - self.top

    def x(self, at: int) -> float:
        """The x of a moment."""
        return self.time.x(at)

    def y(self, records: float) -> float:
        """Where a number of records is."""
        return self.bottom - self.height * records / self.most

    def grid(self, d: Drawing, key: str, most: float, least: int) -> None:
        """Draw round numbers of records: at most this many steps, beginning with
        `least`.
        """
        step = next(step for step in STEPS if self.most / step <= most)
        for records in range(least * step, self.most + 1, step):
            name = f"{key}/{records}"
            y = self.y(records)
            d.level(
                name,
                left=self.left,
                right=self.right,
                y=y,
                line="rule",
                width=1,
                fade=0.7,
            )
            look: Look = {"size": 12, "mono": True}
            x = self.left - 6
            words = f"{records:,}"
            d.note(f"{name}/number", x, y + 4, words, "end", **look)


class State(NamedTuple):
    """How a partition is, and from when until when it looks so."""

    begin: int
    end: int
    partition: Space


@dataclass(frozen=True)
class PartitionLane:
    """members: of the group, in the order of their colours. now: the partition in the
    scene that is drawn. is_slow: its reader. whole_ms: of the play.
    """

    d: Drawing
    members: Sequence[str]
    now: Space
    field: Field
    is_slow: bool
    whole_ms: int
    pile: Pile

    @property
    def key(self) -> str:
        """The prefix of the keys of this lane's shapes."""
        return f"lag/{self.now['partition']}"

    @property
    def part(self) -> Part:
        """The drawing's part for this lane."""
        return self.d.part(self.key, 0, self.field.top)

    @property
    def is_alone(self) -> bool:
        """There is only one partition, and much room."""
        return self.field.height > 80

    @property
    def owner(self) -> str:
        return str(self.now["owner"])

    def draw(self, states: Sequence[State]) -> None:
        """The lane. states: of the partition up to the cursor."""
        self._ground()
        self._names()
        for number, state in enumerate(states):
            self._state(f"{self.key}/{number}", state)
        if states and not self.is_alone:
            self._idle(states[-1])
        self._lag()

    def _colour(self, owner: str) -> str:
        number = actor_number(owner, self.members)
        return actor_colour(number)

    def _ground(self) -> None:
        """The place, with its grid."""
        field = self.field
        self.part.rect(
            "ground",
            x=field.left,
            y=0,
            w=field.right - field.left,
            h=field.height,
            fill="wash",
            r=3,
        )
        most, least = (3, 0) if field.height > 60 else (2, 1)
        field.grid(self.d, f"grid/{self.now['partition']}", most, least)

    # -- who reads

    def _names(self) -> None:
        """The partition's, and its reader's beside it or below it."""
        is_low = self.field.height <= 34
        base = -8 if self.is_alone else 13
        name = f"P{self.now['partition']}"
        self.part.text("name", 0, base, name, mono=True, bold=True)
        is_beside = self.is_alone or is_low
        place = Point(24, base) if is_beside else Point(0, 29)
        room = self.field.left - place.x - self._margin()
        if self.now["unread"] or not self.owner:
            self._nobody(place, room)
        else:
            self._reader(place, room - 14)

    def _margin(self) -> float:
        """The width of the grid's numbers."""
        if self.is_alone and not self.d.phone:
            return 6
        return 14 + widest(f"{self.field.most:,}", 12, mono=True)

    def _nobody(self, place: Point, room: float) -> None:
        """That nobody reads, in a word or as an empty circle."""
        ink = "trouble" if self.now["unread"] else "quiet"
        if has_room("nobody", room, bold=True):
            self.part.text("owner", *place, "nobody", ink, size=12, bold=True)
            return
        self.part.circle(
            "nobody",
            x=place.x + 9,
            y=place.y - 4,
            r=8.5,
            fill="none",
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
            self.part.disc(
                "reader",
                x=place.x + 9,
                y=middle,
                r=8.5,
                letter=letter,
                number=actor_number(name, self.members),
                size=12,
                tip=name,
            )
            return

        self.part.circle(
            "reader",
            x=place.x + 5,
            y=middle,
            r=5,
            fill=self._colour(name),
            tip=name,
        )
        self.part.note(
            "owner",
            place.x + 14,
            place.y,
            name,
            size=12,
            room=room,
        )

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
        whole = Box(
            x=left,
            y=top,
            w=max(right - left, THINNEST),
            h=field.bottom - top,
        )
        tip = _sum_of(partition)
        if partition["unread"]:
            self.d.rect(key, *whole, "hatch", tip=f"{tip} · nobody reads")
            return
        if not partition["owner"]:
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
        if waiting:
            waits = Box(
                x=whole.x,
                y=waits_y,
                w=whole.w,
                h=self.field.bottom - waits_y,
            )
            self.d.rect(f"{key}/wait", *waits, colour, fade=PALE, tip=tip)

    def _idle(self, state: State) -> None:
        """Whoever has had nothing to read for a while has a pale lane."""
        partition = state.partition
        lasts = state.end - state.begin
        has_done_all = partition["end"] and not partition["lags"][0]
        if not has_done_all or not partition["owner"] or lasts < self.whole_ms / 20:
            return
        left = self.field.x(state.begin)
        width = self.field.x(state.end) - left
        height = self.field.height
        idle = self.d.part(f"{self.key}/idle", left, self.field.top)
        idle.rect(
            "pale",
            x=0,
            y=0,
            w=width,
            h=height,
            fill=self._colour(partition["owner"]),
            fade=0.15,
        )
        if has_room("idle", width - 8, 12):
            idle.note("words", 5, height / 2 + 4, "idle", size=12)

    # -- the lag now

    def _lag(self) -> None:
        """Draw the lag as a number and as things, at the end of the lane."""
        lag, _ = self.now["lags"]
        x = self.field.right + BESIDE
        self.part.text(
            "lag",
            x,
            13,
            f"{lag:,}",
            "trouble" if self.now["unread"] and lag else "ink",
            mono=True,
            bold=True,
            size=14,
        )
        colour = self._colour(self.owner) if self.owner else None
        key = f"pile/{self.now['partition']}"
        self.pile.draw(self.d, key, self.now, colour)
        if self.is_slow:
            self._slow(x)

    def _slow(self, x: float) -> None:
        """Below the number, or at the end where a lane has one line only."""
        is_low = self.field.height < 28
        self.part.text(
            "slow",
            self.d.width if is_low else x,
            13 if is_low else 27,
            "slow",
            "trouble",
            size=12,
            bold=True,
            anchor="end" if is_low else "start",
            halo="paper",
        )


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

"""Time below: for each member of both groups which record it had, from when to when.

A bar in the member's colour is a record that it has, or has dealt with. Where nothing
came of it, because it came back or was handed over again, the bar is an outline.
Hatched: the member was not there.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from minikafka.theatre.drawing import (
    Box,
    Drawing,
    Look,
    actor_colour,
    actor_number,
    fitting,
    has_room,
    ink_on_actor,
)
from minikafka.theatre.lanes import Scene, draw_times, round_times
from minikafka.theatre.pictures.share_partition_records import lane_of, seconds
from minikafka.theatre.play import Cast, Space
from minikafka.theatre.text import counted

LANE, PITCH, CAPTION = 15, 19, 21
KEPT = ("", "accept", "commit")  # how work ends of which something comes
MOST_TIMES = 10


class Work(NamedTuple):
    """A record that a member had."""

    offset: int
    since: int
    number: int
    until: int | None
    how: str


class Bar(NamedTuple):
    """Records that a member had together, one after the other or at once."""

    first: int
    last: int
    since: int
    until: int | None
    how: str
    number: int

    @property
    def words(self) -> str:
        if self.first == self.last:
            return str(self.first)
        return f"{self.first}–{self.last}"


class Time(NamedTuple):
    """From the first record that anybody had to the end, ms."""

    first: int
    last: int

    @classmethod
    def of(cls, scenes: Sequence[Scene]) -> "Time":
        begins = [
            work[1]
            for scene in scenes
            for member in scene["space"]["members"]
            for work in member["work"]
        ]
        last = scenes[-1]["at"] if scenes else 0
        first = min(begins, default=last)
        return cls(first, max(last, first + 1))


class Band(NamedTuple):
    """The place of the lanes: x of a moment, and of the one that is shown."""

    left: float
    right: float
    time: Time
    now: int

    def x(self, ms: int) -> float:
        ms = min(max(ms, self.time.first), self.now)
        whole = self.time.last - self.time.first
        part = max(ms - self.time.first, 0) / whole
        return self.left + part * (self.right - self.left)


def draw_time(
    d: Drawing, top: float, left: float, cast: Cast, time: Time, scene: Scene
) -> None:
    """The lanes of the share group, and those of the consumer group below."""
    right = d.width - (82 if d.narrow else 96)
    band = Band(left, right, time, scene["at"])
    space = scene["space"]
    everybody = [*cast["sharing"], *cast["reading"]]
    members = {member["name"]: member for member in space["members"]}
    y = top
    groups = [("sharing", cast["group"], 0)]
    if cast["other"]:
        groups.append(("reading", cast["other"], 1))
    for key, group, number in groups:
        words = _caption(group, space, number, cast["left_out"][number])
        d.text(f"time/{key}/title", left, y + 12, words, bold=True, size=12.5)
        y += CAPTION
        begin = y
        for name in cast[key]:
            actor = actor_number(name, everybody)
            Lane(d, band, members[name], actor, y).draw(space["owner"], number == 1)
            y += PITCH
        d.cursor(band.x(scene["at"]), begin, y - 1, f"time/cursor/{number}")
        y += 6
    foot = y - 6
    most = MOST_TIMES // 2 if d.narrow else MOST_TIMES
    times = round_times(time.first, time.last, max(band.now, time.first), most)
    moments = [(at, band.x(at), words) for at, words in times]
    draw_times(d, foot + 14, moments)


def _caption(group: str, space: Space, number: int, left_out: int) -> str:
    """How far a group is."""
    if not space["log_end"]:
        return group
    done = space["done"][number]
    took = space["took"][number]
    archived = 0 if number else space["archived"]
    words = f"{group}: {done - archived} of {space['log_end']} done"
    if archived:
        words += f", {archived} archived"
    if took is not None:
        words += f", after {seconds(took)}"
    if left_out > 0:
        words += f" ({counted(left_out, 'member')} not drawn)"
    return words


class Lane:
    """One member's."""

    def __init__(
        self, d: Drawing, band: Band, member: dict[str, Any], actor: int, y: float
    ) -> None:
        self.d = d
        self.band = band
        self.member = member
        self.actor = actor
        self.y = y
        self.name = member["name"]
        self.key = lane_of(self.name)

    def draw(self, owner: str, is_reading: bool) -> None:
        """Its name, what it did, and at the end how much."""
        d = self.d
        band = self.band
        y = self.y
        letter = self.name.replace("-", " ").split(" ")[-1][:1].upper()
        middle = y + LANE / 2
        d.disc(
            f"{self.key}/disc",
            x=band.left - 16,
            y=middle,
            r=7.5,
            letter=letter,
            number=self.actor,
            size=12,
        )
        room = band.left - 30
        name = fitting([self.name], room, 12.5)
        d.text(
            f"{self.key}/name", band.left - 28, y + 12, name, anchor="end", size=12.5
        )
        ground = Box(x=band.left, y=y, w=band.right - band.left, h=LANE)
        d.rect(f"{self.key}/ground", *ground, fill="wash", r=3)
        for number, bar in enumerate(bars(self.member["work"])):
            self._bar(number, bar)
        for number, (since, until, life) in enumerate(self.member["away"]):
            self._away(number, since, until, life)
        self._end(owner, is_reading)

    def _bar(self, number: int, bar: Bar) -> None:
        """A record, or several, from when it had them to when it had them no more."""
        band = self.band
        begin = band.x(bar.since)
        end = band.x(band.now if bar.until is None else bar.until)
        box = Box(x=begin, y=self.y, w=max(end - begin - 1, 1), h=LANE)
        colour = actor_colour(self.actor)
        ink = ink_on_actor(self.actor)
        look: Look = {"fill": colour, "line": colour}
        if bar.how not in KEPT:
            look = {"fill": "paper", "line": colour, "dash": "3 2", "width": 1.5}
            ink = "ink"
        if bar.how == "reject":
            look |= {"line": "trouble"}
        key = f"{self.key}/{number}"
        same = f"record/{bar.first}" if bar.first == bar.last else None
        tip = f"{self.name} had {bar.words}{ENDS.get(bar.how, '')}"
        self.d.rect(key, *box, **look, r=3, of=bar.number, same=same, tip=tip)
        starts = [band.x(since) for since, _, _ in self.member["away"]]
        hatched = [x for x in starts if begin <= x < box.right]
        room = min([box.right, *hatched]) - begin
        if has_room(bar.words, room - 3, 12, mono=True):
            small: Look = {"size": 12, "mono": True}
            self.d.text(f"{key}/word", begin + 4, self.y + 12, bar.words, ink, **small)

    def _away(self, number: int, since: int, until: int | None, life: str) -> None:
        """While it was not there."""
        band = self.band
        begin = band.x(since)
        key = f"{self.key}/away/{number}"
        end = band.x(band.now if until is None else until)
        box = Box(x=begin, y=self.y, w=max(end - begin, 2), h=LANE)
        tip = f"{self.name} {LIVES.get(life, life)}"
        self.d.rect(key, *box, fill="hatch", line="trouble", r=3, tip=tip)

    def _end(self, owner: str, is_reading: bool) -> None:
        life = self.member["life"]
        done = self.member["done"]
        words = f"{done} done"
        ink = "quiet"
        if life:
            words = LIVES.get(life, life)
            ink = "trouble"
        elif is_reading and owner and owner != self.name and not done:
            words = "no partition"
            if self.d.narrow:
                words = "idle"
        x = self.d.width
        look: Look = {"size": 12.5, "anchor": "end"}
        self.d.text(f"{self.key}/end", x, self.y + 12, words, ink, **look)


LIVES = {"crashed": "killed", "frozen": "hangs"}
ENDS = {
    "": ", and has it still",
    "accept": " and accepted it",
    "release": " and gave it back",
    "reject": " and rejected it",
    "lock": " until its lock ran out",
    "gone": " until it was gone",
    "commit": " and committed it",
    "again": ", and it was handed over again",
}


def bars(told: Sequence[Sequence[Any]]) -> list[Bar]:
    """What a member had, as bars that don't overlap: of several records that it got
    together, one begins where the one before ends.
    """
    found: list[Bar] = []
    for work in map(Work._make, told):
        last = found[-1] if found else None
        is_together = (
            last is not None
            and last.until == work.until
            and last.how == work.how
            and last.last + 1 == work.offset
            and last.since <= work.since <= (last.until or work.since)
        )
        if last is not None and is_together:
            found[-1] = last._replace(last=work.offset)
            continue
        since = work.since
        if last is not None:
            since = max(since, last.until or since)
        found.append(
            Bar(work.offset, work.offset, since, work.until, work.how, work.number)
        )
    return found

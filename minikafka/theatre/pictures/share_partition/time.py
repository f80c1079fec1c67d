"""Time below: for each member of both groups which record it had, from when to when.

A bar in the member's colour is a record that it has, or has dealt with. Where nothing
came of it, because it came back or was handed over again, the bar is an outline.
Hatched: the member was not there.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from minikafka.theatre.actors import actor_colour, actor_number, ink_on_actor
from minikafka.theatre.axis import Axis, Scene, Time
from minikafka.theatre.boxes import Item, Places, lamp, part, row, space
from minikafka.theatre.drawing import (
    Box,
    Drawing,
    Look,
    fitting,
    has_room,
    widest,
)
from minikafka.theatre.pictures.share_partition.records import (
    lane_of,
    letter_of,
    seconds,
)
from minikafka.theatre.play import Cast, Space
from minikafka.theatre.text import counted

LANE, PITCH, CAPTION, AXIS = 14, 16, 18, 20
ENDS = 74  # width of what is said behind the lanes
LETTER = 30  # and before them where a name has no room
KEPT = ("", "accept", "commit")  # how work ends of which something comes


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


class Group(NamedTuple):
    """A group's lanes. number: 0 the share group, 1 the consumer group."""

    key: str
    name: str
    members: Sequence[str]
    number: int


def time_boxes(cast: Cast, scenes: Sequence[Scene], time: Time) -> list[Item]:
    """The lanes of the share group, and those of the consumer group below: each with
    how far it has got; and whether anything went wrong so far.
    """
    groups = [Group("sharing", cast["group"], cast["sharing"], 0)]
    if cast["other"]:
        groups.append(Group("reading", cast["other"], cast["reading"], 1))
    lamps = [
        space(),
        _lamp("accepted twice", "twice", scenes),
        _lamp("archived", "archived", scenes),
    ]
    found = []
    for group in groups:
        is_last = group == groups[-1]
        title = _title(group, cast, scenes)
        found.append(title if group.number else row(title, *lamps, gap=8))
        found.append(_lanes(group, cast, time, is_last))
    return found


def _title(group: Group, cast: Cast, scenes: Sequence[Scene]) -> Item:
    key = f"time/{group.key}/title"

    def words(space: Space) -> str:
        return _caption(group, space, cast["left_out"][group.number])

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        place, said = places[key], words(scene["space"])
        # above the lanes; a long one begins further left
        x = min(_left(d, places), place.right - widest(said, 12.5, bold=True))
        x = max(x, place.x)
        look: Look = {"bold": True, "size": 12.5, "room": place.right - x}
        d.text(key, x, place.y + 14, said, **look)

    every = [words(scene["space"]) for scene in scenes]
    wide = max([widest(each, 12.5, bold=True) for each in every], default=0)
    return part(key, draw, high=CAPTION, least=wide + 140)


def _left(d: Drawing, places: Places) -> float:
    """Where lanes begin."""
    return LETTER if d.phone else places["records"].x


def _lamp(what: str, key: str, scenes: Sequence[Scene]) -> Item:
    """Whether anything went wrong so far."""

    def said(space: Space) -> str:
        return f"{space[key] or 'none'} {what}"

    return lamp(f"lamp/{key}", scenes, said, lambda space: space[key])


def _lanes(group: Group, cast: Cast, time: Time, is_last: bool) -> Item:
    """One below the other; the axis is under the last group's."""
    everybody = [*cast["sharing"], *cast["reading"]]
    name = f"lanes {group.key}"
    high = PITCH * len(group.members)

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        space, y = scene["space"], places[name].y
        axis = time.axis(_left(d, places), d.width - ENDS, scene["at"])
        members = {member["name"]: member for member in space["members"]}
        for number, each in enumerate(group.members):
            actor = actor_number(each, everybody)
            lane = Lane(d, axis, members[each], actor, y + PITCH * number)
            has_none = group.number == 1 and space["owner"] not in ("", each)
            lane.draw(has_none, in_order=group.number == 1)
        axis.cursor(d, y, y + high - 1, f"time/cursor/{group.number}")
        took, *_ = space["took"]
        key = f"time/took/{group.number}"
        if d.ends and took is not None:
            at = axis.x(took)
            d.upright(key, x=at, top=y, bottom=y + high - 1, line="ink", width=2)
        mine = space["took"][group.number]
        if d.ends and mine is not None:
            left, right = axis.left, axis.x(mine)
            look: Look = {"line": "ink", "width": 2}
            d.level(f"{key}/whole", left, right, y - 2, **look)
            for end, x in (("begin", left), ("end", right)):
                d.upright(f"{key}/{end}", x, y - 2, y + 2, **look)
        if is_last:
            axis.foot(d, y + high - 2)

    return part(name, draw, high=high + AXIS * is_last)


def _caption(group: Group, space: Space, left_out: int) -> str:
    """How far a group has got, in words."""
    number = group.number
    everything = space["all"][number]
    if not everything:
        return group.name
    archived = 0 if number else space["archived"]
    done = space["done"][number] - archived
    words = f"{group.name}: {done} of {everything} done"
    if archived:
        words += f", {archived} archived"
    took = space["took"][number]
    if took is not None:
        words += f", after {seconds(took)}"
    if left_out > 0:
        words += f" ({counted(left_out, 'member')} not drawn)"
    return words


class Lane:
    """The lane of one member."""

    def __init__(
        self, d: Drawing, axis: Axis, member: dict[str, Any], actor: int, y: float
    ) -> None:
        self.d = d
        self.axis = axis
        self.member = member
        self.actor = actor
        self.y = y
        self.name = member["name"]
        self.key = lane_of(self.name)

    def draw(self, has_none: bool, in_order: bool) -> None:
        """Its name, what it did, and at the end how much. has_none: somebody else has
        the partition. in_order: what comes later waits for what is before it.
        """
        self._head()
        ground = self._box(self.axis.left, self.axis.right)
        self.d.rect(f"{self.key}/ground", *ground, fill="wash", r=3)
        done = bars(self.member["work"])
        for number, bar in enumerate(done):
            self._bar(f"{self.key}/{number}", bar, self._ways(bar, done, in_order))
        for number, away in enumerate(self.member["away"]):
            self._away(f"{self.key}/away/{number}", *away)
        if has_none and not self.member["work"]:
            key, x = f"{self.key}/none", self.axis.left + 8
            self.d.note(key, x, self.y + 11.5, "no partition", size=12)
        self._end()

    def _box(self, left: float, right: float) -> Box:
        """A box over a part of the lane."""
        return Box(x=left, y=self.y, w=right - left, h=LANE)

    def _head(self) -> None:
        d = self.d
        left = self.axis.left
        d.disc(
            f"{self.key}/disc",
            x=left - 14,
            y=self.y + LANE / 2,
            r=7,
            letter=letter_of(self.name),
            number=self.actor,
            size=12,
        )
        right = left - 30
        name = fitting([self.name], right, 12.5)
        look: Look = {"anchor": "end", "size": 12.5}
        d.text(f"{self.key}/name", right, self.y + 11.5, name, **look)

    def _ways(self, bar: Bar, done: Sequence[Bar], in_order: bool) -> Sequence[str]:
        """The words of a bar. At the end the slowest one says how long it took."""
        lasted = {each: (each.until or each.since) - each.since for each in done}
        behind = done[done.index(bar) + 1 :]
        longest = max(lasted.values())
        is_slow = list(lasted.values()).count(longest) == 1 and lasted[bar] == longest
        if not (self.d.ends and behind and is_slow):
            return [bar.words]
        ways = [f"{bar.words}: {seconds(longest)}", bar.words]
        if in_order:
            ways.insert(0, f"{ways[0]}, {behind[0].first}–{behind[-1].last} wait")
        return ways

    def _bar(self, key: str, bar: Bar, ways: Sequence[str]) -> None:
        """Draw one or several records, for the time that the member had them. ways: its
        words, the longest first.
        """
        d = self.d
        begin = self.axis.x(bar.since)
        end = self.axis.x(bar.until) - 1
        box = self._box(begin, max(end, begin + 1))
        colour = actor_colour(self.actor)
        ink = ink_on_actor(self.actor)
        look: Look = {"fill": colour, "line": colour}
        if bar.how not in KEPT:
            ink = "ink"
            look = {"fill": "paper", "line": colour, "dash": "3 2", "width": 1.5}
        if bar.how == "reject":
            look["line"] = "trouble"
        if bar.first == bar.last:
            look["same"] = f"record/{bar.first}"

        tip = f"{self.name} had {bar.words}{HOW[bar.how]}"
        d.rect(key, *box, **look, r=3, of=bar.number, tip=tip)
        room = self._free_until(box) - begin - 3
        words = fitting(ways, room + 1, 12, mono=True)
        if words:
            inside = 4 if has_room(words, room - 2, 12, mono=True) else 2
            x, small = begin + inside, Look(size=12, mono=True)
            d.text(f"{key}/word", x, self.y + 11.5, words, ink, **small)

    def _free_until(self, box: Box) -> float:
        """Where a part of the lane ends, or is hatched."""
        end = box.right
        for since, _, _ in self.member["away"]:
            x = self.axis.x(since)
            if box.x <= x < end:
                end = x
        return end

    def _away(self, key: str, since: int, until: int | None, life: str) -> None:
        """While it was not there."""
        begin = self.axis.x(since)
        end = self.axis.x(until)
        box = self._box(begin, max(end, begin + 2))
        tip = f"{self.name} {LIVES.get(life, life)}"
        self.d.rect(key, *box, fill="hatch", line="trouble", r=3, tip=tip)

    def _end(self) -> None:
        """Draw what the member has done, or why it does nothing."""
        d = self.d
        life = self.member["life"]
        words = f"{self.member['done']} done"
        ink = "quiet"
        if life:
            words = LIVES.get(life, life)
            ink = "trouble"
        look: Look = {"size": 12.5, "anchor": "end"}
        d.text(f"{self.key}/end", d.width, self.y + 11.5, words, ink, **look)


LIVES = {"crashed": "killed", "frozen": "hangs"}
HOW = {
    "": ", and has it still",
    "accept": " and accepted it",
    "release": " and gave it back",
    "reject": " and rejected it",
    "lock": " until its lock expired",
    "gone": " until it was gone",
    "commit": " and committed it",
    "again": ", and it was handed over again",
}


def bars(told: Sequence[Sequence[Any]]) -> list[Bar]:
    """The member's records as bars that don't overlap: if it got several records
    together, each bar begins where the one before ends.
    """
    found: list[Bar] = []
    for work in map(Work._make, told):
        last = found[-1] if found else None
        if last is not None and _is_with(last, work):
            found[-1] = last._replace(last=work.offset)
            continue
        since = work.since
        if last is not None and last.until is not None:
            since = max(since, last.until)
        bar = Bar(
            first=work.offset,
            last=work.offset,
            since=since,
            until=work.until,
            how=work.how,
            number=work.number,
        )
        found.append(bar)
    return found


def _is_with(bar: Bar, work: Work) -> bool:
    """Whether a member had a record together with those before it, and gave them up
    together.
    """
    is_next = work.offset == bar.last + 1
    is_alike = (work.until, work.how) == (bar.until, bar.how)
    has_ended = bar.until is not None and bar.until < work.since
    return is_next and is_alike and not has_ended

"""Time below: one lane an actor, a mark where it did something, up to the cursor and no
further. A lane without a name has not begun.

The axis is honest about order and, between events that are close, about distance; a
long silence is cut short and shown as a break, so that a retention of a minute does not
squeeze three milliseconds of writing into one pixel. The break says how long it was.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

from minikafka.theatre.axis import Scene as Scene
from minikafka.theatre.axis import draw_times
from minikafka.theatre.boxes import Item, Places, part
from minikafka.theatre.clock import in_days, in_short
from minikafka.theatre.drawing import Drawing, Look, fitting, widest
from minikafka.theatre.text import key_part
from minikafka.trace import DAY_MS

Mark = dict[str, Any]  # in a lane, where something was done
Space = dict[str, Any]  # a scene's

LANE, GAP = 17, 4  # height of a lane, space between two
PITCH = LANE + GAP
ABOVE, BELOW = 13, 20  # the cursor's head, and the line of times
MOST_OF_NAMES = 96  # width
APART = 7  # words from the cursor, and from other words
# width of a mark; as many in a lane are narrower where they are close together
BOX, MANY = 6, 8
BESIDE = 8  # from names to their lanes
BREAK_AFTER = 6  # times the usual distance: a silence longer than this is cut
# that are marked; where nearly every silence is cut, the times under the lanes say so
MOST_BREAKS = 8


@dataclass(frozen=True)
class Lane:
    """A row. number: drawn at its end; it is the value at the cursor."""

    key: str
    name: str
    colour: str = "quiet"
    number: str = ""
    trouble: bool = False

    def on_a_phone(self) -> "Lane":
        """With the number only: its name says of what."""
        count = self.number.split(" ")[0]
        return replace(self, number=count) if count.isdecimal() else self


def names_wide(lanes: Iterable[Lane]) -> float:
    """The room for the names of lanes, and of what is above them; longer ones are
    cut.
    """
    return captions_wide((lane.name for lane in lanes), MOST_OF_NAMES)


def captions_wide(names: Iterable[str], most: float) -> float:
    """The room for names before rows and lanes."""
    wide = [widest(name, 13, bold=True) for name in names]
    return min(12 + max(wide, default=0), most)


def numbers_wide(numbers: Iterable[str]) -> float:
    """The room for the numbers behind lanes."""
    wide = [widest(number, 12.5, mono=True, bold=True) for number in numbers]
    return max(wide, default=0) + 10


class Bent(NamedTuple):
    """Where time runs. xs: of every step. now: the step that is shown."""

    left: float
    right: float
    xs: Sequence[float]
    now: int

    def middle(self, step: int) -> float:
        """The middle of the silence before a step."""
        before = self.xs[step - 1]
        after = self.xs[step]
        return (before + after) / 2


class Lanes:
    """The marks of all scenes on one time axis. Knows the whole trace for its room,
    draws it up to the cursor.
    """

    def __init__(self, scenes: Sequence[Scene]) -> None:
        self.times = [scene["at"] for scene in scenes]
        self.words = [scene["time"] for scene in scenes]
        if in_days(self.times):
            self.words = [f"day {at // DAY_MS}" for at in self.times]
        self.marks: dict[str, list[tuple[int, Mark]]] = {}
        for step, scene in enumerate(scenes):
            for mark in scene["marks"]:
                in_lane = self.marks.setdefault(mark["lane"], [])
                in_lane.append((step, mark))

    @property
    def begun(self) -> int:
        """The step of the first mark: what was before takes no room."""
        steps = [step for marks in self.marks.values() for step, _ in marks]
        return min(steps, default=0)

    def positions(self, left: float, right: float) -> tuple[list[float], list[int]]:
        """x of every step, and the steps before which a silence is cut short."""
        steps = len(self.times)
        if steps < 2:
            return [left] * steps, []
        begun = self.begun
        needs = self._needs(is_tight=False)
        if left + sum(needs[begun:]) > right:
            needs = self._needs(is_tight=True)
        *needs, last = [0.0] * begun + needs[begun:]
        room = right - last - left
        gaps = [max(after - at, 0) for at, after in pairwise(self.times)]
        gaps[:begun] = [0] * begun
        cap = _longest_shown(gaps)
        capped = [min(gap, cap) for gap in gaps]
        needed = sum(needs) or 1
        squeeze = min(1.0, 0.85 * room / needed)
        rest = room - squeeze * needed
        total = sum(capped) or 1

        x = left
        xs = [x]
        for gap, need in zip(capped, needs, strict=True):
            share = rest * gap / total
            x = x + squeeze * need + share
            xs.append(x)
        breaks = [step for step, gap in enumerate(gaps, 1) if gap > cap]
        return xs, breaks

    def _needs(self, *, is_tight: bool) -> list[float]:
        """Room that each step would like for what its marks say."""
        needs = [12.0] * len(self.times)
        for marks in self.marks.values():
            for step, mark in marks:
                words = mark.get("fewer", mark["text"]) if is_tight else mark["text"]
                if not words:
                    continue
                needed = 20.0 + widest(words, 12, mono=True)
                needs[step] = max(needs[step], needed)
        return needs

    def box(
        self,
        spaces: Sequence[Space],
        rows: Callable[[Space], Sequence[Lane]],
        under: str,
    ) -> Item:
        """The lanes as a box of a play. rows: of a scene's space. under: the box at
        whose left edge they begin, if their names have room before it.
        """
        every = [rows(space) for space in spaces]
        before = names_wide(lane for lanes in every for lane in lanes) + BESIDE

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            shown = every
            if d.phone:
                shown = [[lane.on_a_phone() for lane in lanes] for lanes in every]
            after = numbers_wide(lane.number for lanes in shown for lane in lanes)
            left, right = max(places[under].x, before), d.width - after
            step = scene["step"]
            self.draw(d, places["lanes"].y, shown[step], step, left, right)

        count = max(map(len, every), default=0)
        return part("lanes", draw, high=ABOVE + PITCH * count + BELOW)

    def draw(
        self,
        d: Drawing,
        y: float,
        rows: Sequence[Lane],
        step: int,
        left: float,
        right: float,
    ) -> None:
        """The lanes below each other, with one cursor and one axis. y: of their upper
        edge. left, right: ends of the axis, between names and numbers.
        """
        xs, breaks = self.positions(left + 6, right)
        axis = Bent(left, right, xs, step)
        top = y + ABOVE
        places = []
        for number, lane in enumerate(rows):
            place = d.part(f"time/lane/{key_part(lane.key)}", 0, top + PITCH * number)
            _ends_of(place, lane, axis)
            places.append(place)
        bottom = top + PITCH * len(rows) - GAP
        if len(breaks) > MOST_BREAKS:
            breaks = []
        self._breaks(d, breaks, axis, bottom, top)
        for lane, place in zip(rows, places, strict=True):
            self._marks(place, lane, axis)
        if xs:
            d.cursor(xs[step], top - 8, bottom + 5)
            shown = range(min(self.begun, step), step + 1)
            moments = ((each, xs[each], self.words[each]) for each in shown)
            draw_times(d, bottom + 17, moments, bent=True)

    def _breaks(
        self, d: Drawing, breaks: Sequence[int], axis: Bent, bottom: float, top: float
    ) -> None:
        """Draw where a silence is cut short, and how long it was, unless the words
        would touch each other or the cursor.
        """
        y = top - 3
        free = 0.0
        for step in breaks:
            if step > axis.now:
                break
            middle = axis.middle(step)
            _break(d, step=step, x=middle, top=top, bottom=bottom)

            before = self.times[step - 1]
            after = self.times[step]
            words = in_short(after - before)
            wide = widest(words, 12)
            beside_the_cursor = axis.xs[step] - APART
            end = min(middle + wide / 2, beside_the_cursor)
            if end - wide < free:
                continue
            key = f"time/break/{step}/long"
            d.note(key, end, y, words, "end", size=12)
            free = end + APART

    def _marks(self, row: Drawing, lane: Lane, axis: Bent) -> None:
        """Those so far."""
        marks = self.marks.get(lane.key, [])
        told = _words_of(marks, axis)
        gaps = sorted(axis.xs[to] - axis.xs[at] for (at, _), (to, _) in pairwise(marks))
        usual = gaps[len(gaps) // 2] if len(marks) > MANY else BOX + 2
        wide = min(max(usual - 2, 2), BOX)
        spans = {mark.get("since") for step, mark in marks if step <= axis.now}

        for number, (step, mark) in enumerate(marks):
            if step > axis.now:
                break
            words = told[number]
            if len(words) > 1 and mark.get("of") in spans:
                words = ""  # the span beside it tells more
            x = axis.xs[step]
            earlier = [
                (each, at)
                for each, (at, done) in enumerate(marks[:number])
                if done.get("of") == mark.get("since")
            ]
            if "since" in mark and earlier:
                since, at = earlier[0]
                has_letter = len(told[since]) == 1
                begin = axis.xs[at] + (18 if has_letter else 3)  # not over its letter
                _span(row, f"{number}/span", begin, x - 3, mark)
            colour = lane.colour
            _mark(row, str(number), x=x, mark=mark, words=words, colour=colour, w=wide)


def _ends_of(row: Drawing, lane: Lane, axis: Bent) -> None:
    """A lane's ground between its name and a number."""
    left = axis.left
    look: Look = {"bold": True, "anchor": "end", "room": left - 10}
    row.text("name", left - BESIDE, 13, lane.name, **look)
    row.rect("ground", x=left, y=0, w=axis.right - left, h=LANE, fill="wash", r=3)
    ink = "trouble" if lane.trouble else "quiet"
    row.number("number", row.width, 13, lane.number, ink)


def _span(row: Drawing, key: str, begin: float, end: float, mark: Mark) -> None:
    """What lay between a mark and an earlier one of its lane."""
    room = end - begin
    row.rect(key, x=begin, y=1, w=room, h=LANE - 2, fill="said", line="saidline")
    ways = [mark["why"], *mark.get("in_short", ())]
    said = fitting(ways, room - 8, bold=True)
    if said:
        row.text(f"{key}/words", end - 4, 13, said, anchor="end", size=12, bold=True)


def _longest_shown(gaps: Sequence[int]) -> int:
    """A silence that is longer than this is cut short, ms."""
    moved = sorted(gap for gap in gaps if gap)
    if not moved:
        return 1
    usual = moved[len(moved) // 2]
    return usual * BREAK_AFTER


def _break(d: Drawing, step: int, x: float, top: float, bottom: float) -> None:
    """Two dashed lines before a step: a silence is cut short."""
    down = f"v{bottom - top + 6}"
    lines = f"M-3,0 {down} M3,0 {down}"
    d.path(f"time/break/{step}", x=x, y=top - 3, d=lines, line="rule", dash="2 3")


def _words_of(marks: Sequence[tuple[int, Mark]], axis: Bent) -> Sequence[str]:
    """The words of each mark, or fewer, or none: as much as has room; letters all or
    none.
    """
    begins = [axis.xs[step] for step, _ in marks]
    ends = [*begins[1:], axis.right]
    found = []
    letters = []
    for number, (_, mark) in enumerate(marks):
        words = mark["text"]
        room = ends[number] - begins[number] - 10
        found.append(fitting([words, mark.get("fewer", "")], room, mono=True))
        if len(words) <= 3:
            letters.append(number)
    if not all(found[number] for number in letters if marks[number][1]["text"]):
        for number in letters:
            found[number] = ""
    return found


def _mark(
    row: Drawing, key: str, x: float, mark: Mark, words: str, colour: str, w: float
) -> None:
    """A small box where something was done, and words beside it."""
    ink = "ink"
    if mark.get("trouble"):
        ink = "trouble"
        colour = "trouble"
    number = mark.get("of")
    look: Look = {"r": 2, "of": number, "same": mark.get("same")}
    row.rect(key, x=x - w / 2, y=2, w=w, h=LANE - 4, fill=colour, **look)

    if words:
        small: Look = {"size": 12, "mono": True, "of": number, "halo": "paper"}
        row.text(f"{key}/text", x + 7, 13, words, ink, **small)

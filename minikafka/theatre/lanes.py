"""Time below: one lane an actor, a mark where it did something, up to the cursor and no
further. A lane without a name has not begun.

The axis is honest about order and, between events that are close, about distance; a
long silence is cut short and shown as a break, so that a retention of a minute does not
squeeze three milliseconds of writing into one pixel.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from minikafka.theatre.drawing import LEAST_STRETCH, Drawing, has_room, text_width
from minikafka.theatre.text import key_part
from minikafka.trace import HOUR_MS, moment

Scene = dict[str, Any]

BENT = "not to scale"
LANE, GAP = 17, 4  # height of a lane, space between two
DAY_MS = 24 * HOUR_MS
TICKS_MS = [100, 200, 500] + [
    n * ms for ms in (1000, 60_000) for n in (1, 2, 5, 10, 20, 30)
]
TICKS_MS += [n * HOUR_MS for n in (1, 2, 6, 12)] + [
    n * DAY_MS for n in (1, 2, 7, 30, 100, 1000)
]
TICK_UNITS = (("d", DAY_MS), ("h", HOUR_MS), ("min", 60_000), ("s", 1000))
BREAK_AFTER = 6  # times the usual distance: a silence longer than this is cut
# that are marked; where nearly every silence is cut, the times under the lanes say so
MOST_BREAKS = 8


def in_days(ms: Sequence[int]) -> bool:
    """Whether the story lasts for days: then nobody asks for its seconds."""
    return bool(ms) and ms[-1] - ms[0] >= 3 * DAY_MS


def draw_times(
    d: Drawing, y: float, times: Iterable[tuple[int, float, str]], bent: bool = False
) -> None:
    """Under an axis: (what makes its key, x, words) of each moment, as far as they
    don't meet the one before.

    bent: equal times are not equally long on it, and that is said.
    """
    after, said = -1000.0, ""
    if bent:
        d.note("time/axis", 0, y, BENT, size=12)
        after = text_width(BENT, 12) / LEAST_STRETCH + 8
    for key, x, words in times:
        half = text_width(words, 12, mono=True) / 2 / LEAST_STRETCH
        if x - half >= after and words != said:
            d.note(f"time/axis/{key}", x, y, words, "middle", size=12, mono=True)
            after, said = x + half + 10, words


def round_times(
    first_ms: int, last_ms: int, now_ms: int, most: int
) -> list[tuple[int, str]]:
    """Round moments up to now, and their words: at most so many from the first to the
    last one.
    """
    tick = next(
        (ms for ms in TICKS_MS if (last_ms - first_ms) / ms <= most), TICKS_MS[-1]
    )
    unit, ms = next((each for each in TICK_UNITS if tick >= each[1]), TICK_UNITS[-1])
    begin = -(-first_ms // tick) * tick
    return [
        (at, f"{at / ms:.{0 if tick >= 1000 else 1}f} {unit}")
        for at in range(begin, now_ms + 1, tick)
    ]


def times(ms: Sequence[int]) -> list[str]:
    """The scenes' times in words: thousandths only where times need them to be told
    apart.
    """
    if in_days(ms):
        return [
            f"day {at // DAY_MS} {at // HOUR_MS % 24:02}:{at // 60_000 % 60:02}"
            for at in ms
        ]
    exact = any(at % 10 for at in ms if at < HOUR_MS)
    crowded = {
        at // 1000
        for at, after in pairwise(ms)
        if at != after and at // 1000 == after // 1000
    }
    return [moment(at, exact if at < HOUR_MS else at // 1000 in crowded) for at in ms]


@dataclass(frozen=True)
class Lane:
    """A row: number is what stands at its end and holds at the cursor."""

    key: str
    name: str
    colour: str = "quiet"
    number: str = ""
    trouble: bool = False


class Lanes:
    """The marks of all scenes on one time axis. Knows the whole trace for its room,
    draws it up to the cursor.
    """

    def __init__(self, scenes: Sequence[Scene]) -> None:
        self.times = [scene["at"] for scene in scenes]
        whole_days = in_days(self.times)
        self.words = [
            f"day {scene['at'] // DAY_MS}" if whole_days else scene["time"]
            for scene in scenes
        ]
        self.marks: dict[str, list[tuple[int, dict[str, Any]]]] = {}
        for step, scene in enumerate(scenes):
            for mark in scene["marks"]:
                self.marks.setdefault(mark["lane"], []).append((step, mark))

    def positions(self, left: float, right: float) -> tuple[list[float], list[int]]:
        """x of every step, and the steps before which a silence is cut short."""
        right -= self._needs()[-1] if self.times else 0
        gaps = [max(b - a, 0) for a, b in zip(self.times, self.times[1:], strict=False)]
        if not gaps:
            return [left] * len(self.times), []
        needs = self._needs()[: len(gaps)]
        moved = sorted(gap for gap in gaps if gap)
        cap = moved[len(moved) // 2] * BREAK_AFTER if moved else 1
        room = right - left
        squeeze = min(1.0, 0.85 * room / sum(needs))
        rest = room - squeeze * sum(needs)
        total = sum(min(gap, cap) for gap in gaps) or 1
        xs = [left]
        for gap, need in zip(gaps, needs, strict=True):
            xs.append(xs[-1] + squeeze * need + rest * min(gap, cap) / total)
        return xs, [step + 1 for step, gap in enumerate(gaps) if gap > cap]

    def _needs(self) -> list[float]:
        """Room that each step would like for what its marks say."""
        needs = [12.0] * len(self.times)
        for marks in self.marks.values():
            for step, mark in marks:
                wide = text_width(mark["text"], 12, mono=True) / LEAST_STRETCH
                needs[step] = max(needs[step], 20.0 + wide if mark["text"] else 0)
        return needs

    def draw(self, d: Drawing, y: float, rows: Sequence[Lane], step: int) -> None:
        left, right = (96, d.width - 92) if d.narrow else (124, d.width - 124)
        xs, breaks = self.positions(left + 6, right)
        top = y + 13
        for row, lane in enumerate(rows):
            self._lane(d, lane, top + row * (LANE + GAP), left, right, xs, step)
        bottom = top + len(rows) * (LANE + GAP) - GAP
        for cut in breaks:
            if cut <= step and len(breaks) <= MOST_BREAKS:
                x, down = (xs[cut - 1] + xs[cut]) / 2, f"v{bottom - top + 6}"
                d.path(
                    f"time/break/{cut}",
                    x,
                    top - 3,
                    f"M-3,0 {down} M3,0 {down}",
                    line="rule",
                    dash="2 3",
                )
        if xs:
            d.cursor(xs[step], top - 8, bottom + 5)
            draw_times(
                d,
                bottom + 17,
                zip(range(step + 1), xs, self.words, strict=False),
                bent=True,
            )

    def _lane(
        self,
        d: Drawing,
        lane: Lane,
        y: float,
        left: float,
        right: float,
        xs: Sequence[float],
        at: int,
    ) -> None:
        key = f"time/lane/{key_part(lane.key)}"
        d.text(
            key + "/name",
            left - 8,
            y + 13,
            lane.name,
            bold=True,
            anchor="end",
            room=left - 10,
        )
        d.rect(key + "/ground", left, y, right - left, LANE, "wash", r=3)
        marks = self.marks.get(lane.key, [])
        rooms = [
            end - begin
            for begin, end in pairwise([*(xs[step] for step, _ in marks), right])
        ]
        fits = [
            has_room(mark["text"], room - 10, mono=True)
            for (_, mark), room in zip(marks, rooms, strict=True)
        ]
        short = all(
            fit
            for (_, mark), fit in zip(marks, fits, strict=True)
            if len(mark["text"]) <= 3
        )
        for number, (step, mark) in enumerate(marks):  # letters: all of them or none
            if step > at:
                break
            colour, ink = (
                ("trouble", "trouble") if mark.get("trouble") else (lane.colour, "ink")
            )
            of, words = mark.get("of"), mark["text"]
            d.rect(
                f"{key}/{number}",
                xs[step] - 3,
                y + 2,
                6,
                LANE - 4,
                colour,
                r=2,
                of=of,
                same=mark.get("same"),
            )
            if words and fits[number] and (short or len(words) > 3):
                d.text(
                    f"{key}/{number}/text",
                    xs[step] + 7,
                    y + 13,
                    words,
                    ink,
                    size=12,
                    mono=True,
                    of=of,
                )
        d.number(
            key + "/number",
            d.width,
            y + 13,
            lane.number,
            "trouble" if lane.trouble else "quiet",
        )

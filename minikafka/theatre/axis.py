"""The axis of time, the same in every picture whose story is time: what takes eight
times as long is eight times as wide.

Silence keeps its length, and is played fast. A burst of some milliseconds is a hair's
breadth, and is played in slow motion; the player says both (pace.py, player.js). Under
the lanes stand the chapters as strokes, round moments, and "now", which moves.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

from minikafka.theatre.clock import round_times
from minikafka.theatre.drawing import Drawing, Look, widest

Scene = dict[str, Any]

BENT = "not to scale"
NOW = "now"
WORDS = 16  # from the lanes' foot to the words' line
STROKE = 5  # height of a chapter's
ALIKE = 4  # chapters that are nearer than this share a stroke
APART = 10  # words


class Chapter(NamedTuple):
    """number: of the event that begins it."""

    at_ms: int
    name: str
    number: int


class Time(NamedTuple):
    """All that an axis is about: from the first moment to the last."""

    first_ms: int
    last_ms: int
    chapters: Sequence[Chapter]

    @classmethod
    def of(cls, scenes: Sequence[Scene], since_ms: int | None = None) -> "Time":
        """since_ms: where it begins, if not with the first scene."""
        moments = [scene["at"] for scene in scenes] or [0]
        first = moments[0] if since_ms is None else since_ms
        chapters = []
        for scene in scenes:
            name = scene["chapter"]
            if name and scene["at"] >= first:
                chapters.append(Chapter(scene["at"], name, scene["number"]))
        return cls(first, max(moments[-1], first + 1), chapters)

    def axis(self, left: float, right: float, now_ms: int) -> "Axis":
        """It, between these places, up to a moment."""
        return Axis(left, right, self, now_ms)


class Axis(NamedTuple):
    """A Time in its place on the page. now_ms: the moment that is shown."""

    left: float
    right: float
    time: Time
    now_ms: int

    def x(self, ms: int | None) -> float:
        """Where a moment is: not beyond now. None: of what goes on."""
        shown = self.now_ms if ms is None else min(ms, self.now_ms)
        whole_ms = self.time.last_ms - self.time.first_ms
        since_ms = max(shown - self.time.first_ms, 0)
        return self.left + (self.right - self.left) * since_ms / whole_ms

    @property
    def now(self) -> float:
        """Where the cursor is."""
        return self.x(None)

    def cursor(
        self, d: Drawing, top: float, bottom: float, key: str = "time/cursor"
    ) -> None:
        """Through lanes from their top to their foot."""
        d.cursor(self.now, top, bottom, key)

    def foot(self, d: Drawing, y: float) -> None:
        """Under all lanes, the last of which ends at y."""
        self._chapters(d, y)
        half = widest(NOW, 12, bold=True) / 2
        now = min(self.now, d.width - half)
        look: Look = {"anchor": "middle", "size": 12, "bold": True, "halo": "paper"}
        d.text("time/cursor/now", now, y + WORDS, NOW, **look)
        free = [
            (key, x, words)
            for key, x, words in self._round_times()
            if abs(x - now) > half + widest(words, 12, mono=True) / 2 + 2
        ]
        draw_times(d, y + WORDS, free)

    def _round_times(self) -> Iterable[tuple[int, float, str]]:
        """Those that are over."""
        time = self.time
        room = self.right - self.left
        told = even_times(time.first_ms, time.last_ms, room)
        return [(at, self.x(at), words) for at, words in told if at <= self.now_ms]

    def _chapters(self, d: Drawing, y: float) -> None:
        """A stroke where one began, or several at about the same time."""
        begun = [each for each in self.time.chapters if each.at_ms <= self.now_ms]
        for places in _near(begun, self.x):
            first = places[0]
            x = self.x(first.at_ms)
            names = dict.fromkeys(each.name for each in places)
            look: Look = {"line": "ink", "width": 2, "of": first.number}
            look["tip"] = " · ".join(names)
            key = f"time/chapter/{first.number}"
            d.upright(key, x=x, top=y + 1, bottom=y + 1 + STROKE, **look)


@lru_cache(maxsize=256)
def even_times(first_ms: int, last_ms: int, room: float) -> list[tuple[int, str]]:
    """Round moments and their words, as many as have room from the first moment to the
    last one: the same step everywhere, so that an even axis looks even.
    """
    every: list[tuple[int, str]] = []
    for most in range(int(room / APART), 0, -1):
        every = round_times(first_ms, last_ms, last_ms, most)
        wide = max((widest(words, 12, mono=True) for _, words in every), default=0)
        if len(every) < 2:
            break
        step_ms = every[1][0] - every[0][0]
        if room * step_ms / (last_ms - first_ms) >= wide + APART:
            break
    return every


def _near(
    chapters: Sequence[Chapter], x: Callable[[int], float]
) -> list[list[Chapter]]:
    """Those that share a stroke."""
    found: list[list[Chapter]] = []
    for each in chapters:
        if found and x(each.at_ms) - x(found[-1][0].at_ms) < ALIKE:
            found[-1].append(each)
        else:
            found.append([each])
    return found


def draw_times(
    d: Drawing, y: float, times: Iterable[tuple[int, float, str]], bent: bool = False
) -> None:
    """Under an axis: (what makes its key, x, words) of each moment, as far as they
    don't meet the one before.

    bent: equal times are not equally long on it, and that is said.
    """
    after = -1000.0
    said = ""
    if bent:
        d.note("time/axis", 0, y, BENT, size=12)
        after = widest(BENT, 12) + 8
    for key, x, words in times:
        half = widest(words, 12, mono=True) / 2
        begin = x - half
        if words == said or begin < after:
            continue
        look: Look = {"size": 12, "mono": True}
        d.note(f"time/axis/{key}", x, y, words, anchor="middle", **look)
        after = x + half + APART
        said = words


class Span(NamedTuple):
    """How long something was so. number: of the event that it began with."""

    begin_ms: int
    end_ms: int
    what: Any
    number: int


def spans(scenes: Sequence[Scene], what: Callable[[Scene], Hashable]) -> list[Span]:
    """How long each was what it was, up to the last of these scenes."""
    found = []
    for value, alike in groupby(scenes, what):
        begun = next(alike)
        found.append((begun["at"], value, begun["number"]))
    ends = [at for at, _, _ in found[1:]]
    ends.append(scenes[-1]["at"] if scenes else 0)
    return [
        Span(at, end, value, number)
        for (at, value, number), end in zip(found, ends, strict=True)
    ]

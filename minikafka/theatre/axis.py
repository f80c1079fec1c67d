"""The axis of time, the same in every picture whose story is time: something that takes
eight times as long is eight times as wide.

Silence keeps its length, and is played fast. A burst of some milliseconds is a hair's
breadth, and is played in slow motion; the player says both (pace.py, player.js). Under
the lanes are the chapters as strokes, round moments, and "now", which moves.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from minikafka.theatre.clock import round_times
from minikafka.theatre.drawing import Drawing, Look, widest

Scene = dict[str, Any]

BENT = "not to scale"
NOW = "now"
WORDS = 18  # from the lanes' foot to the words' line
STROKE = 5  # height of a chapter's
ALIKE = 4  # what is nearer than this is at one place
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
        first_ms = moments[0]
        if since_ms is not None:
            first_ms = since_ms
        return cls(
            first_ms=first_ms,
            last_ms=max(moments[-1], first_ms + 1),
            chapters=_chapters(scenes, first_ms),
        )

    @property
    def length_ms(self) -> int:
        """At least 1, so that one can divide by it."""
        return self.last_ms - self.first_ms

    def axis(self, left: float, right: float, now_ms: int) -> "Axis":
        """It, between these places, up to a moment."""
        return Axis(left, right, self, now_ms)


def _chapters(scenes: Sequence[Scene], first_ms: int) -> list[Chapter]:
    """Those that begin from a moment on."""
    chapters = []
    for scene in scenes:
        if not scene["chapter"] or scene["at"] < first_ms:
            continue
        chapter = Chapter(
            at_ms=scene["at"],
            name=scene["chapter"],
            number=scene["number"],
        )
        chapters.append(chapter)
    return chapters


class Moment(NamedTuple):
    """A round moment, and the place of its words under an axis."""

    at_ms: int
    x: float
    words: str


class Axis(NamedTuple):
    """A Time in its place on the page. now_ms: the moment that is shown."""

    left: float
    right: float
    time: Time
    now_ms: int

    @property
    def room(self) -> float:
        """The axis's length in pixels."""
        return self.right - self.left

    def x(self, ms: int | None) -> float:
        """The x of a moment, never beyond now. None: for something that still
        goes on.
        """
        if ms is None or ms > self.now_ms:
            ms = self.now_ms
        since_ms = max(ms - self.time.first_ms, 0)
        return self.left + self.room * since_ms / self.time.length_ms

    @property
    def now(self) -> float:
        """The x of the cursor's moment."""
        return self.x(None)

    def cursor(
        self, d: Drawing, top: float, bottom: float, key: str = "time/cursor"
    ) -> None:
        """Through lanes from their top to their foot."""
        d.cursor(self.now, top, bottom, key)

    def foot(self, d: Drawing, y: float) -> None:
        """Under all lanes, the last of which ends at y."""
        self._strokes(d, y)
        half = widest(NOW, 12, bold=True) / 2
        now = min(self.now, d.width - half - 2)
        look: Look = {"anchor": "middle", "size": 12, "bold": True, "halo": "paper"}
        d.text("time/cursor/now", now, y + WORDS, NOW, **look)
        free = []
        for moment in self._round_times():
            apart = half + _half(moment.words) + 8
            if abs(moment.x - now) > apart:
                free.append(moment)
        draw_times(d, y + WORDS, free)

    def _round_times(self) -> list[Moment]:
        """The round times up to now, each with its place and its words."""
        time = self.time
        moments = []
        for at_ms, words in even_times(time.first_ms, time.last_ms, self.room):
            if at_ms <= self.now_ms:
                moments.append(Moment(at_ms, self.x(at_ms), words))
        return moments

    def _strokes(self, d: Drawing, y: float) -> None:
        """One where a chapter began, or several at about the same time."""
        begun = [each for each in self.time.chapters if each.at_ms <= self.now_ms]
        for chapters in _near(begun, self.x):
            first = chapters[0]
            # of two with one name, it is told once
            names = dict.fromkeys(chapter.name for chapter in chapters)
            d.upright(
                f"time/chapter/{first.number}",
                x=self.x(first.at_ms),
                top=y + 1,
                bottom=y + 1 + STROKE,
                line="ink",
                width=2,
                of=first.number,
                tip=" · ".join(names),
            )


@lru_cache(maxsize=256)
def even_times(first_ms: int, last_ms: int, room: float) -> list[tuple[int, str]]:
    """Round moments and their words, as many as have room from the first moment to the
    last one: the same step everywhere, so that an even axis looks even. One so little
    before the first moment that nobody sees it, such as 0 s, counts as that.
    """
    first_ms -= round(ALIKE * (last_ms - first_ms) / room)
    moments: list[tuple[int, str]] = []
    for most in range(int(room / APART), 0, -1):
        moments = round_times(first_ms, last_ms, last_ms, most)
        if len(moments) < 2:
            break
        (first, _), (second, _), *_ = moments
        pitch = room * (second - first) / (last_ms - first_ms)
        wide = max(2 * _half(words) for _, words in moments)
        if pitch >= wide + APART:
            break
    return moments


def _half(words: str) -> float:
    """How far a moment's words reach to both sides."""
    return widest(words, 12, mono=True) / 2


def _near(
    chapters: Sequence[Chapter], x: Callable[[int], float]
) -> list[list[Chapter]]:
    """Those that share a stroke."""
    found: list[list[Chapter]] = []
    stroke = 0.0
    for chapter in chapters:
        place = x(chapter.at_ms)
        if found and place - stroke < ALIKE:
            found[-1].append(chapter)
            continue
        found.append([chapter])
        stroke = place
    return found


def draw_times(
    d: Drawing, y: float, times: Iterable[tuple[int, float, str]], bent: bool = False
) -> None:
    """Draw words under an axis, for each moment (a part of its key, x, words), unless
    they would touch those before.

    bent: equal times are not equally long on the axis, and a note says so.
    """
    free_from = -1000.0
    said = ""
    if bent:
        d.note("time/axis", 0, y, BENT, size=12)
        free_from = widest(BENT, 12) + 8
    look: Look = {"anchor": "middle", "size": 12, "mono": True}
    for key, x, words in times:
        half = _half(words)
        x = min(x, d.width - half)
        if words == said or x - half < free_from:
            continue
        d.note(f"time/axis/{key}", x, y, words, **look)
        free_from = x + half + APART
        said = words


class Span(NamedTuple):
    """How long something was so. number: of the event that it began with."""

    begin_ms: int
    end_ms: int
    what: Any
    number: int


def spans(scenes: Sequence[Scene], what: Callable[[Scene], Hashable]) -> list[Span]:
    """How long each was what it was, up to the last of these scenes."""
    found: list[Span] = []
    for scene in scenes:
        at_ms = scene["at"]
        value = what(scene)
        if found:
            found[-1] = found[-1]._replace(end_ms=at_ms)
        if not found or found[-1].what != value:
            found.append(Span(at_ms, at_ms, value, scene["number"]))
    return found

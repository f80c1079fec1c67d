"""How long a picture's steps stay while it plays, at speed 1.

Two things take time: reading what has happened (rests), and the time until the next
step (passes: only in pictures whose story is time). A page opens in motion, and its
question is there within five seconds: what leads to it is drawn already, and only the
last steps are played. A learner who has answered hears the verdict within a quarter of
a minute, and a whole picture takes a minute: so where there is more to read than that,
the steps between chapters go by, quickly, then silence is played faster, and captions
give way last. Nothing is left out, and an axis keeps its lengths: it is only played at
another speed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

# ms of reading: for any sentence, for each letter, and where a step is about one thing
READING, A_LETTER, HOLD = 900, 40, 2000
MORE_OF_THE_SAME = 300  # the third event of one kind in a row, and those after it
# ms: least for a step between chapters; for all the silence of a stretch; for a caption
LEAST_STEP, LEAST_SILENCE, LEAST_CAPTION = 60, 3000, 600
# ms from a question to its verdict; of a picture without that; and of what follows it
VERDICT_MS, WHOLE_MS, AFTER_MS = 12_500, 46_000, 22_000
# ms of motion before the question of a page that opens; player.js adds a look of 600
RUN_UP_MS = 3500


class Step(NamedTuple):
    """The time that a step asks for. reading_ms: for its sentence, and a look. gap_ms:
    of the picture's own time until the next one. is_caption: a chapter begins, or the
    step is about one thing.
    """

    reading_ms: float
    gap_ms: float
    is_caption: bool


@dataclass
class Stay:
    """How long a scene stays on the stage, in ms."""

    rests: float
    passes: float


def stays(
    steps: Sequence[Step], *, ms_a_second: float, stop: int | None, decided: int | None
) -> list[Stay]:
    """The stay of each step. ms_a_second: how many ms a second of the picture's time
    takes, 0 if its story is not time. stop, decided: the steps at which it asks, and at
    which the verdict is given.
    """
    found = []
    for step in steps:
        passes = step.gap_ms * ms_a_second / 1000
        found.append(Stay(step.reading_ms, passes))
    if stop is None or decided is None:
        whole = _Stretch(found, steps, 0, len(steps))
        whole.shorten(VERDICT_MS + WHOLE_MS)
        return found
    asked = _Stretch(found, steps, stop, decided)
    asked.shorten(VERDICT_MS)
    before = _Stretch(found, steps, 0, stop)
    after = _Stretch(found, steps, decided, len(steps))
    both = before.lasts + after.lasts or 1
    for stretch in (before, after):
        stretch.shorten(WHOLE_MS * stretch.lasts / both)
    after.shorten(AFTER_MS)
    if stop > 0:  # at least one step can be played on arrival
        found[stop - 1].passes = min(found[stop - 1].passes, RUN_UP_MS)
    return found


def way(found: Sequence[Stay], begin: int, end: int) -> float:
    """Ms from one step, at which it begins to play, until another one is there."""
    waited = sum(stay.passes for stay in found[begin:end])
    return waited + sum(stay.rests for stay in found[begin + 1 : end])


def arrival(found: Sequence[Stay], stop: int) -> int:
    """The step at which a page opens that asks at this stop."""
    begin = stop
    while begin > 0 and way(found, begin - 1, stop) <= RUN_UP_MS:
        begin -= 1
    return begin


@dataclass
class _Stretch:
    """Steps that are to last no longer than somebody waits gladly."""

    found: list[Stay]
    steps: Sequence[Step]
    begin: int
    end: int

    @property
    def stays(self) -> list[Stay]:
        return self.found[self.begin : self.end]

    @property
    def captions(self) -> list[Stay]:
        return [self.found[number] for number in self._numbers(captions=True)]

    @property
    def others(self) -> list[Stay]:
        return [self.found[number] for number in self._numbers(captions=False)]

    def _numbers(self, *, captions: bool) -> list[int]:
        every = range(self.begin, self.end)
        return [each for each in every if self.steps[each].is_caption == captions]

    @property
    def lasts(self) -> float:
        return sum(stay.rests + stay.passes for stay in self.stays)

    def shorten(self, most_ms: float) -> None:
        """Steps between chapters first, then silence, then captions."""
        _give_up(self.others, "rests", self.lasts - most_ms, least=LEAST_STEP)
        silence = sum(stay.passes for stay in self.stays)
        over = min(self.lasts - most_ms, silence - LEAST_SILENCE)
        _scale(self.stays, "passes", over)
        _give_up(self.captions, "rests", self.lasts - most_ms, least=LEAST_CAPTION)
        # so many steps that even this takes too long
        if self.lasts > most_ms:
            _scale(self.stays, "rests", self.lasts - most_ms)


def _give_up(stays: Sequence[Stay], name: str, over: float, *, least: float) -> None:
    """All of them lose in proportion to what they have above the least."""
    spare = sum(max(getattr(stay, name) - least, 0) for stay in stays)
    if over <= 0 or spare <= 0:
        return
    share = min(over / spare, 1)
    for stay in stays:
        now = getattr(stay, name)
        setattr(stay, name, now - max(now - least, 0) * share)


def _scale(stays: Sequence[Stay], name: str, over: float) -> None:
    _give_up(stays, name, over, least=0)

"""The names of moments. All moments on a page have the same form, and the latest one
decides which (trace.moment): seconds, a clock, or a day and a clock; where the story
lasts for days, nobody asks for its seconds.
"""

from collections.abc import Sequence
from itertools import pairwise

from minikafka.trace import DAY_MS, HOUR_MS, SECONDS_UP_TO_MS, moment

SECOND_MS, MINUTE_MS = 1000, 60_000
OF_A_CLOCK = (1, 2, 5, 10, 20, 30)
TICKS_MS = [
    *(100, 200, 500),
    *(n * SECOND_MS for n in OF_A_CLOCK),
    *(n * MINUTE_MS for n in OF_A_CLOCK),
    *(n * HOUR_MS for n in (1, 2, 6, 12)),
    *(n * DAY_MS for n in (1, 2, 7, 30, 100, 1000)),
]


def in_days(ms: Sequence[int]) -> bool:
    """Whether the story lasts for days."""
    return bool(ms) and ms[-1] - ms[0] >= 3 * DAY_MS


def times(ms: Sequence[int]) -> list[str]:
    """The scenes' times in words: thousandths only where times need them to be told
    apart.
    """
    if in_days(ms):
        return [_day_and_clock(at) for at in ms]
    latest = max(ms, default=0)
    in_seconds = latest < SECONDS_UP_TO_MS
    is_exact = any(at % 10 for at in ms)
    crowded = _crowded_seconds(ms)
    words = []
    for at in ms:
        with_ms = is_exact if in_seconds else at // SECOND_MS in crowded
        words.append(moment(at, with_ms, latest))
    return words


def _crowded_seconds(ms: Sequence[int]) -> set[int]:
    """Those in which there are two scenes at different times."""
    crowded = set()
    for at, after in pairwise(ms):
        second = at // SECOND_MS
        if at != after and second == after // SECOND_MS:
            crowded.add(second)
    return crowded


def _day_and_clock(at: int) -> str:
    """A moment as day and time: day 2 07:30."""
    hours = at // HOUR_MS % 24
    minutes = at // MINUTE_MS % 60
    return f"day {at // DAY_MS} {hours:02}:{minutes:02}"


def in_short(ms: int) -> str:
    """How long something was: 97 ms · 1.5 s · 60 s · 5 min · 7 days"""
    if ms < SECOND_MS:
        return f"{ms} ms"
    name, unit_ms = "s", SECOND_MS
    for longer, longer_ms in (("min", MINUTE_MS), ("h", HOUR_MS), ("days", DAY_MS)):
        if ms >= 2 * longer_ms:
            name, unit_ms = longer, longer_ms
    count = ms / unit_ms
    places = 1 if count < 10 else 0
    return f"{round(count, places):g} {name}"


def round_times(
    first_ms: int, last_ms: int, now_ms: int, most: int
) -> list[tuple[int, str]]:
    """Round moments up to now, and their words: at most this many from the first to the
    last one.
    """
    tick = _tick(last_ms - first_ms, most)
    begin = -(-first_ms // tick) * tick
    is_of_days = in_days((first_ms, last_ms))
    moments = []
    for at in range(begin, now_ms + 1, tick):
        words = _round_moment(at, tick, last_ms, is_of_days)
        moments.append((at, words))
    return moments


def _tick(whole_ms: int, most: int) -> int:
    """The shortest step that is there so often at most."""
    for ms in TICKS_MS:
        if whole_ms / ms <= most:
            return ms
    return TICKS_MS[-1]


def _round_moment(at: int, tick: int, last_ms: int, is_of_days: bool) -> str:
    """A round moment, as the others of its axis are told."""
    if is_of_days:
        return f"day {at // DAY_MS}" if tick >= DAY_MS else _day_and_clock(at)
    if last_ms >= SECONDS_UP_TO_MS:
        return moment(at, False, last_ms)
    places = 0 if tick >= SECOND_MS else 1
    return f"{at / SECOND_MS:.{places}f} s"

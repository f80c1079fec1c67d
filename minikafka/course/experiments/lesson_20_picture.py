"""The picture at the top of lesson 20: a morning's clicks of the data set that the
lesson reads, and no record that says that a visit is over.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from minikafka.course.data import dataset
from minikafka.course.experiments.lesson_20_runs import as_clock, at
from minikafka.theatre.actors import actor_colour
from minikafka.theatre.drawing import WIDE, Drawing, Look
from minikafka.theatre.svg import svg

SEED, VISITS = 7, 100  # of the data set, as in the lesson
FROM, NOW, TO = "10:00", "13:54", "14:00"
DELAY_MS = 2 * 3_600_000  # of the watermark, as in the lesson
LATE_MS = 5 * 60_000  # a phone that sends this much later was offline
USERS = ("alice", "bruno", "chidi", "fatou", "jonas", "bot-1")
SILENT = "fatou"


class Click(NamedTuple):
    """When it was made, and whether it came much later."""

    at_ms: int
    late: bool


def came() -> tuple[dict[str, list[Click]], int]:
    """The clicks that have come until now, by user, and the watermark: the latest time
    of a click, of all users, minus the delay.
    """
    by_user = defaultdict(list)
    latest = 0
    for event in dataset("user_events").generate(count=VISITS, seed=SEED):
        if event.ingest_ms > at(NOW):
            continue
        value = json.loads(event.value)
        made = value["event_time_ms"]
        latest = max(latest, made)
        late = event.ingest_ms - made > LATE_MS
        by_user[value["user_id"]].append(Click(made, late))
    return by_user, latest - DELAY_MS


# the ends of the axis of time, and how large a click is; on a phone
_AXIS, _DOT = (84, WIDE - 20), 6
_SMALL_AXIS, _SMALL_DOT = (56, 334), 4
_TOP, _LANE = 40, 38  # of the first lane; from lane to lane
_BOTTOM = _TOP + len(USERS) * _LANE


def who_notices_the_silence(width: int = WIDE) -> str:
    """SVG: who clicked when. Which visits are over, and who notices, is the lesson's to
    say.
    """
    clicks, watermark = came()
    body = Drawing(width)
    for place, user in enumerate(USERS):
        lane = body.part(user, 0, _TOP + place * _LANE)
        _lane(lane, place, user, clicks[user])
    for clock in ("10:00", "11:00", "12:00", "13:00", "14:00"):
        tick = body.part(f"tick/{clock}", _x(body, at(clock)), _BOTTOM)
        tick.upright("mark", 0, -6, 0, "quiet")
        tick.note("word", 0, 17, clock, "middle", size=13)
    _line(body, "watermark", watermark, f"watermark {as_clock(watermark)}")
    _line(body, "now", at(NOW), "now")
    last = max(click.at_ms for click in clicks[SILENT])
    said = (
        f"No record says that a visit is over. The last click of {SILENT} was at"
        f" {as_clock(last)}. Who notices that no more come?"
    )
    total = sum(map(len, clicks.values()))
    return svg(
        body,
        title="clicks by the time at which they were made",
        scenario=f"{total} clicks have come · hollow: sent later, by a phone",
        sentence=said,
        corner=f"seed {SEED}",
        time=NOW,
        alt=f"{said} The watermark is at {as_clock(watermark)}.",
    )


def _lane(lane: Drawing, place: int, user: str, clicks: Sequence[Click]) -> None:
    """A visitor's clicks; those of a minute are one dot."""
    middle = _LANE / 2
    lane.text("name", 0, middle + 5, user, bold=True, size=14)
    lane.level("line", *_axis(lane), middle, "rule")
    dot = _SMALL_DOT if lane.phone else _DOT
    colour = actor_colour(place)
    seen: dict[str, Click] = {}
    for click in clicks:
        if click.at_ms >= at(FROM):
            seen.setdefault(as_clock(click.at_ms), click)
    for clock, click in sorted(seen.items()):
        fill = "paper" if click.late else colour
        lane.circle(clock, _x(lane, click.at_ms), middle, dot, fill, colour, width=2)
    if user == SILENT:
        last = max(click.at_ms for click in clicks)
        begin = _x(lane, last) + 2 * dot
        end = _x(lane, at(NOW)) - 6
        lane.rect("silence", begin, 4, end - begin, _LANE - 8, "hatch", "trouble", r=4)
        words = "silence"
        look: Look = {"size": 14, "bold": True, "anchor": "middle", "halo": "paper"}
        lane.text("word", (begin + end) / 2, middle + 5, words, "trouble", **look)


def _line(body: Drawing, name: str, ms: int, words: str) -> None:
    """A moment, down through all lanes."""
    x = _x(body, ms)
    body.upright(name, x, _TOP - 14, _BOTTOM, "ink", width=2.5)
    body.text(f"{name}/word", x, _TOP - 22, words, bold=True, size=14, anchor="middle")


def _axis(body: Drawing) -> tuple[int, int]:
    return _SMALL_AXIS if body.phone else _AXIS


def _x(body: Drawing, ms: float) -> float:
    left, right = _axis(body)
    share = (ms - at(FROM)) / (at(TO) - at(FROM))
    return left + (right - left) * share

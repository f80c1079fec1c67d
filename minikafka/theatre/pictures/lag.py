"""Lag over time: what is written and what is committed as two lines, the gap between
them, and who reads.

Above, in the sum of all partitions, a rate is a slope. Below, the height is each
partition's lag as tools show it: log end offset less committed offset. Its dark foot is
what the reader has not been handed yet: log end offset less position. Hatched: nobody
reads the partition. Time is the story: it flows. Options: topic, group, partitions.
Without them: the topic most commits are about, and up to six partitions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    Drawing,
    actor_colour,
    actor_number,
    has_room,
    text_width,
    wrap,
)
from minikafka.theatre.lanes import Scene, draw_times, round_times
from minikafka.theatre.pictures.lag_story import LagStory, lasting
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import counted, dotted, key_part

# both charts, the lower one; a partition's lane
HEIGHT, LANES, TALLEST, LEAST = 244, 156, 100, 26
LINES = {
    "end": "log end offset",
    "committed": "committed offset",
    "start": "log start offset",
}
STEPS = [n * 10**power for power in range(13) for n in (1, 2, 5)]
# of the time for a record: what a rate can be dragged to, slow to fast
FACTORS = (8, 4, 2, 1, 0.5, 0.25, 0.125)
UNHURRIED_MS = 80  # where a record took no time: the middle of that scale
# for how long a play
RATES = (
    ("second", 1000, 600_000),
    ("minute", 60_000, 86_400_000),
    ("hour", 3_600_000, 10**15),
)


@dataclass(frozen=True)
class Field:
    """A place with two axes: time across, records upward."""

    left: float
    right: float
    top: float
    bottom: float
    first: int
    last: int
    most: int

    def x(self, at: int) -> float:
        return self.left + (self.right - self.left) * (at - self.first) / (
            self.last - self.first
        )

    def y(self, records: float) -> float:
        return self.bottom - (self.bottom - self.top) * records / self.most


class LagPlay(Play):
    story = LagStory
    foot = (
        "Lag = log end offset − committed offset. It counts offsets, not time. Its dark"
        " foot is not handed over yet."
    )
    whole_s = 20.0

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        members = [
            f"{name} {state}" for name, state in space["members"].items() if state
        ]
        lost, lag = space["lost"], sum(each["lags"][0] for each in space["partitions"])
        return dotted(
            counted(len(space["partitions"]), "partition"),
            *members,
            f"{counted(lost, 'record')} lost" if lost else "",
            f"lag of all {lag}",
        )

    def summary(self, space: dict[str, Any]) -> str:
        unread = {True: ", nobody reads it", False: ""}
        said = [
            f"partition {p['partition']}: lag {p['lags'][0]}{unread[p['unread']]}"
            for p in space["partitions"]
        ]
        return "; ".join(said) or "nothing yet"

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.first: int = scenes[0]["at"] if scenes else 0
        self.last: int = max(scenes[-1]["at"] if scenes else 0, self.first + 1)
        self.most = max(
            [
                1,
                *(
                    each["lags"][0]
                    for scene in scenes
                    for each in scene["space"]["partitions"]
                ),
            ]
        )
        self.highest = max([1, *(_sums(scene)["end"] for scene in scenes)])
        self.unit, self.unit_ms, _ = next(
            each for each in RATES if self.last - self.first <= each[2]
        )

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d, space, now = drawing, scenes[-1]["space"], scenes[-1]["at"]
        left, right = 92.0, d.width - (160 if d.narrow else 186)
        many = max(len(self.cast["partitions"]), 1)
        pitch = min(TALLEST, max(LEAST, LANES // many))
        top = 42.0 if d.narrow else 24.0
        chart = Field(
            left,
            right,
            top,
            top + max(HEIGHT - many * pitch, 90),
            self.first,
            self.last,
            self.highest,
        )
        d.note("name/records", left - 6, 12, "records", "end", size=12)
        rates = _rates(scenes, self.last - self.first)
        if rates:
            self._rates(d, rates, left)
        self._grid(d, "grid", chart, 4, 0)
        self._lines(d, scenes, chart)
        self._names(d, scenes, chart)
        self._catching(d, space, chart, now, rates)
        y = chart.bottom + 26
        for row, each in enumerate(space["partitions"]):
            lane = Field(
                left,
                right,
                y + row * pitch,
                y + (row + 1) * pitch - 7,
                self.first,
                self.last,
                self.most,
            )
            self._partition(d, scenes, row, each, lane)
        bottom = y + many * pitch
        d.cursor(chart.x(now), top - 4, bottom - 4)
        times = round_times(self.first, self.last, now, 5 if d.narrow else 8)
        draw_times(d, bottom + 12, ((at, chart.x(at), words) for at, words in times))
        for number, name in enumerate(self.cast.get("live", ())):
            self._rate(d, name, number, space["processing_ms"][name], bottom + 30)

    def _rate(
        self, d: Drawing, name: str, number: int, now_ms: int, top: float
    ) -> None:
        """Of a live run: how many records a member can do, on a scale along which it is
        dragged.
        """
        row, column = divmod(number, 1 if d.narrow else 2)
        x, w, y = (
            column * d.width / 2,
            d.width / (1 if d.narrow else 2) - 20,
            top + row * 42 + 16,
        )
        if not number:
            d.note(
                "rate/unit", 0, top, f"records a {self.unit} that each can do", size=12
            )
        first, key = self.cast["live"][name] or UNHURRIED_MS, f"rate/{key_part(name)}"
        scale = [max(round(first * factor), 1) for factor in FACTORS]
        left, pitch = x + 92, (w - 112) / (len(scale) - 1)
        d.note(key + "/name", x, y + 4, f"{name} does", size=12, room=76)
        d.line(key, left, y, left + pitch * (len(scale) - 1), y, "rule", width=3)
        for notch, ms in enumerate(scale):
            at, rate = left + notch * pitch, _number(self.unit_ms / ms)
            d.circle(
                f"{key}/{ms}",
                at,
                y,
                4,
                "paper",
                "quiet",
                same=f"{name}/{ms}",
                tip=f"{rate} a {self.unit}",
            )
            d.note(f"{key}/{ms}/words", at, y + 20, rate, "middle", size=12, mono=True)
        nearest = min(
            range(len(scale)),
            key=lambda notch: abs(scale[notch] - (now_ms or scale[-1])),
        )
        colour, tip = (
            actor_colour(actor_number(name, list(self.cast["live"]))),
            f"drag how fast {name} works",
        )
        d.circle(
            key + "/grip",
            left + nearest * pitch,
            y,
            8,
            colour,
            "paper",
            act=f"rate {name}",
            onto=name,
            tip=tip,
        )

    def _rates(self, d: Drawing, rates: Sequence[float], left: float) -> None:
        """Slopes in words."""
        written, done, lost = (rate * self.unit_ms for rate in rates)
        grows, still = written - done, _stands_still(rates)
        effect = (
            f"the lag {'grows' if grows > 0 else 'falls'} by {_number(abs(grows))} a"
            f" {self.unit}"
        )
        if still:
            effect = (
                "the lag stands still"
                if lost or not done
                else f"{self.cast['group']} keeps up"
            )
        words = (
            f"{_number(written)} written a {self.unit}, {_number(done - lost)}"
            " committed"
        )
        words += (f", {_number(lost)} lost: " if lost else ": ") + effect + "."
        lines = (
            wrap(words, (d.width - left) * LEAST_STRETCH, 14) if d.narrow else [words]
        )
        for number, line in enumerate(lines):
            d.text(
                f"name/rates/{number}",
                left,
                12 + 18 * number,
                line,
                size=13.5,
                bold=True,
            )

    def _grid(
        self, d: Drawing, key: str, field: Field, most: float, least: int
    ) -> None:
        """Round numbers of records: at most so many steps, from that one on."""
        step = next(step for step in STEPS if field.most / step <= most)
        for records in range(least * step, field.most + 1, step):
            y = field.y(records)
            d.line(
                f"{key}/{records}",
                field.left,
                y,
                field.right,
                y,
                "rule",
                width=1,
                fade=0.7,
            )
            d.note(
                f"{key}/{records}/number",
                field.left - 6,
                y + 4,
                f"{records:,}",
                "end",
                size=12,
                mono=True,
            )

    def _lines(self, d: Drawing, scenes: Sequence[Scene], field: Field) -> None:
        sums = [(scene["at"], _sums(scene)) for scene in scenes]
        read = [bool(scene["space"]["members"]) for scene in scenes]
        for number, ((at, before), (after, now)) in enumerate(pairwise(sums)):
            x, x2, end = (
                field.x(at),
                field.x(after),
                field.y((before["end"] + now["end"]) / 2),
            )
            gap = field.y((before["done"] + now["done"]) / 2) - end
            if x2 > x and gap > 0.5:
                look = (
                    ("hatch", 0.5)
                    if before["unread"]
                    else ("chip" if read[number] else "wash", None)
                )
                d.rect(
                    f"lag/all/{number}",
                    x,
                    end,
                    x2 - x + (look[1] is None) / 2,
                    gap,
                    look[0],
                    fade=look[1],
                )
        lost, now = scenes[-1]["space"]["lost"], sums[-1][1]
        for name, ink in (
            ("start", "trouble" if lost else "quiet"),
            ("committed", "ink"),
            ("end", "ink"),
        ):
            if name == "start" and not now["start"]:
                continue
            width, dash = (1.5, "3 3") if name == "start" else (2, None)
            for number, (at, value, after, then) in enumerate(
                _bends([(at, each[name]) for at, each in sums])
            ):
                d.line(
                    f"lines/{name}/{number}",
                    field.x(at),
                    field.y(value),
                    field.x(after),
                    field.y(then),
                    ink,
                    width=width,
                    dash=dash,
                )

    def _names(self, d: Drawing, scenes: Sequence[Scene], field: Field) -> None:
        """At the lines' ends: their names and values, and the lag between them."""
        now, x, room = _sums(scenes[-1]), field.right + 16, d.width - field.right - 16
        lag = now["end"] - now["done"]
        d.line(
            "name/gap",
            field.right + 7,
            field.y(now["end"]),
            field.right + 7,
            field.y(now["done"]),
            "ink",
            width=3,
        )
        names = ["end", "lag", "committed"] + ["start"] * (now["start"] > 0)
        places = now | {"lag": now["end"] - lag / 2}
        ys = _apart(
            [field.y(places[name]) for name in names],
            17,
            field.top + 2,
            field.bottom - 6,
        )
        for name, y in zip(names, ys, strict=True):
            if name == "lag":
                d.text(
                    "name/lag", x, y + 5, f"lag {lag:,}", bold=True, size=15, room=room
                )
                continue
            words = LINES[name].removesuffix(" offset") if d.narrow else LINES[name]
            value = (
                "none" if name == "committed" and now["nothing"] else f"{now[name]:,}"
            )
            d.note(f"name/{name}", x, y + 4, words, size=12, room=room - 44)
            d.number(f"name/{name}/value", d.width, y + 4, value, "ink", bold=False)

    def _catching(
        self,
        d: Drawing,
        space: Space,
        field: Field,
        now: int,
        rates: Sequence[float] | None,
    ) -> None:
        """Between the charts: how long it took until nothing waited any more, and
        whether that comes nearer now.
        """
        y = field.bottom + 13
        d.note("name/of", field.right + 16, y + 5, "lag", bold=True)
        d.note("name/handed", d.width, y + 5, "to hand over", "end")
        since = min([now + 1, *space["catching"]])
        ended = [span for span in space["caught_up"] if span[1] < since]
        spans = [
            (begin, end, f"caught up in {lasting(end - begin)}") for begin, end in ended
        ]
        nearer = rates is None or (rates[1] > rates[0] and not _stands_still(rates))
        spans += (
            [(since, now, "catching up" if nearer else "behind")]
            if space["catching"]
            else []
        )
        for number, (begin, end, words) in enumerate(spans):
            x, x2, key = field.x(begin), field.x(end), f"caught/{number}"
            if x2 - x < 12:
                continue
            d.line(key, x, y, x2, y, "ink", width=2)
            for side, at in enumerate((x, x2)):
                d.line(f"{key}/{side}", at, y - 5, at, y + 5, "ink", width=2)
            half = text_width(words, 13, bold=True) / 2 / LEAST_STRETCH + 4
            middle = (x + x2) / 2 if x2 - x > 2 * half + 12 else x2 + half + 4
            middle = middle if middle + half <= field.right else x - half - 4
            middle = max(middle, field.left + half)
            d.rect(f"{key}/paper", middle - half, y - 8, 2 * half, 16, "paper")
            d.text(
                f"{key}/words",
                middle,
                y + 5,
                words,
                size=13,
                bold=True,
                anchor="middle",
            )

    def _partition(
        self,
        d: Drawing,
        scenes: Sequence[Scene],
        row: int,
        now: dict[str, Any],
        field: Field,
    ) -> None:
        key, y, height = f"lag/{now['partition']}", field.top, field.bottom - field.top
        d.rect(
            key + "/ground",
            field.left,
            y,
            field.right - field.left,
            height,
            "wash",
            r=3,
        )
        self._grid(
            d, f"grid/{now['partition']}", field, *((3, 0) if height > 60 else (2, 1))
        )
        nobody, alone = now["unread"] or not now["owner"], height > 80
        x, beside = (
            (24, y - 8) if alone else (0, y + 29) if height > 34 else (24, y + 13)
        )
        d.text(
            key + "/name",
            0,
            y - 8 if alone else y + 13,
            f"P{now['partition']}",
            mono=True,
            bold=True,
        )
        ink = "trouble" if now["unread"] else "quiet"
        room = (
            field.left
            - x
            - (
                6
                if alone
                else 14 + text_width(f"{field.most:,}", 12, mono=True) / LEAST_STRETCH
            )
        )
        if not nobody:
            self._reader(d, key, now["owner"], (x, beside), room - 14)
        elif has_room("nobody", room, bold=True):
            d.text(key + "/owner", x, beside, "nobody", ink, size=12, bold=True)
        else:
            d.circle(
                key + "/nobody",
                x + 9,
                beside - 4,
                8.5,
                "none",
                ink,
                dash="3 3",
                width=1.5,
                tip="nobody reads it",
            )
        for number, (begin, end, each) in enumerate(self._steps(scenes, row, field)):
            self._step(
                d, f"{key}/{number}", (field.x(begin), field.x(end)), field, each
            )
        ink = "trouble" if now["unread"] and now["lags"][0] else "ink"
        d.text(
            key + "/lag",
            field.right + 16,
            y + 13,
            f"{now['lags'][0]:,}",
            ink,
            mono=True,
            bold=True,
            size=14,
        )
        d.number(key + "/handed", d.width, y + 13, f"{now['lags'][1]:,}", bold=False)

    def _reader(
        self, d: Drawing, key: str, name: str, place: tuple[float, float], room: float
    ) -> None:
        """A disc of the member's colour: with its letter, or beside its name."""
        (x, y), number = place, actor_number(name, self.cast["members"])
        letter = name.split(" ")[-1]
        if len(letter) > 1:
            d.circle(key + "/reader", x + 5, y - 4, 5, actor_colour(number), tip=name)
            d.note(key + "/owner", x + 14, y, name, size=12, room=room)
            return
        d.disc(key + "/reader", x + 9, y - 4, 8.5, letter, number, 12, tip=name)

    def _steps(
        self, scenes: Sequence[Scene], row: int, field: Field
    ) -> list[tuple[int, int, dict[str, Any]]]:
        """(from, until, state) of one partition, a step as long as it looks the same;
        up to the cursor.
        """
        states = [(scene["at"], scene["space"]["partitions"][row]) for scene in scenes]
        begun = [
            next(alike)
            for _, alike in groupby(states, lambda state: _looks(state[1], field))
        ]
        ends = [*(at for at, _ in begun[1:]), scenes[-1]["at"]]
        return [
            (at, end, each)
            for (at, each), end in zip(begun, ends, strict=True)
            if at < end
        ]

    def _step(
        self,
        d: Drawing,
        key: str,
        x: tuple[float, float],
        field: Field,
        each: dict[str, Any],
    ) -> None:
        lag, waiting = (field.bottom - field.y(value) for value in each["lags"])
        top, w = field.bottom - lag, x[1] - x[0]
        tip = (
            f"lag {each['lags'][0]} = end {each['end']} − committed"
            f" {each['committed'] or 0}"
        )
        if lag and each["unread"]:
            d.rect(key, x[0], top, w, lag, "hatch", tip=tip + " · nobody reads")
        elif lag and not each["owner"]:
            d.rect(
                key,
                x[0],
                top,
                w,
                lag,
                "none",
                "gone",
                dash="4 3",
                tip=tip + " · nobody has begun to read",
            )
        elif lag:
            colour = actor_colour(actor_number(each["owner"], self.cast["members"]))
            d.rect(key, x[0], top, w, max(lag - waiting, 0), colour, fade=0.4, tip=tip)
            if waiting:
                d.rect(
                    key + "/wait",
                    x[0],
                    field.bottom - waiting,
                    w + 0.4,
                    waiting,
                    colour,
                    tip=tip,
                )


def _sums(scene: Scene) -> dict[str, int]:
    """Of all partitions. done: committed, or gone. nothing: is committed. unread: most
    of what waits.
    """
    each = scene["space"]["partitions"]
    unread = sum(one["lags"][0] for one in each if one["unread"])
    return {
        "end": sum(one["end"] for one in each),
        "start": sum(one["start"] for one in each),
        "committed": sum(
            one["start"] if one["committed"] is None else one["committed"]
            for one in each
        ),
        "done": sum(one["end"] - one["lags"][0] for one in each),
        "lost": scene["space"]["lost"],
        "nothing": all(one["committed"] is None for one in each),
        "unread": 2 * unread > sum(one["lags"][0] for one in each),
    }


def _bends(points: Sequence[tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    """A line's parts: from, value, until, value. What is level is one."""
    found: list[tuple[int, int, int, int]] = []
    for (at, value), (after, then) in pairwise(points):
        if at == after and value == then:
            continue
        if found and then == value == found[-1][1]:
            at, value, _, _ = found.pop()
        found.append((at, value, after, then))
    return found


def _rates(scenes: Sequence[Scene], whole_ms: int) -> list[float] | None:
    """Records written, done with and lost in a ms, in the latest quarter and since a
    member's state changed.

    None: too short to say.
    """
    now, members = scenes[-1]["at"], scenes[-1]["space"]["members"]
    changed = [
        number
        for number, scene in enumerate(scenes)
        if scene["space"]["members"] != members
    ]
    since = scenes[changed[-1] + 1 if changed else 0 :]
    ends = [_sums(scene)["end"] for scene in since]
    # from the first record on
    since = since[max(ends.count(ends[0]) - 1, 0) if ends[-1] > ends[0] else 0 :]
    if now - since[0]["at"] < whole_ms / 25 or not _sums(scenes[-1])["end"]:
        return None
    sums = [(scene["at"], _sums(scene)) for scene in since]
    return [
        _rate([(at, each[name]) for at, each in sums], now - whole_ms / 4)
        for name in ("end", "done", "lost")
    ]


def _rate(points: Sequence[tuple[int, int]], since: float) -> float:
    """From one change to another: records come, and are committed, a few at a time."""
    changes = [points[0]] + [
        after for before, after in pairwise(points) if before[1] != after[1]
    ]
    begin, value = next(
        (each for each in reversed(changes) if each[0] <= since), changes[0]
    )
    end, then = changes[-1]
    return 0.0 if end <= max(begin, since) else (then - value) / (end - begin)


def _stands_still(rates: Sequence[float]) -> bool:
    """Whether as much is done as is written: the lag is the same then."""
    written, done, _ = rates
    return abs(written - done) <= max(written, done) * 0.04


def _number(rate: float) -> str:
    return (
        f"{rate:.0f}"
        if rate >= 9.5 or rate < 0.05 or abs(rate - round(rate)) < 0.06 * rate
        else f"{rate:.1f}"
    )


def _apart(ys: Sequence[float], least: float, top: float, bottom: float) -> list[float]:
    """Near their places, in their order, but so far from each other that they can be
    read.
    """
    found: list[float] = []
    for y in ys:
        found.append(max(y, found[-1] + least if found else top))
    for number in reversed(range(len(found))):
        found[number] = min(
            found[number],
            found[number + 1] - least if number + 1 < len(found) else bottom,
        )
    return found


def _looks(each: dict[str, Any], field: Field) -> tuple[Any, ...]:
    return (
        *(round(field.y(lag)) for lag in each["lags"]),
        each["owner"],
        each["unread"],
        not each["lags"][0],
    )

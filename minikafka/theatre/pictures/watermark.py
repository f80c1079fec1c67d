"""Event time and watermark: windows side by side, micro-batches from top to bottom, and
what becomes of each order.

Above: what Spark keeps in state for each window, and what the sink has got. Below, a
row for each micro-batch: its orders stand at the time at which they were placed. The
heavy line is the watermark with which the micro-batch works; what is left of it and
shaded is closed to late orders. Option: live (a click on an order lets it come later).
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from minikafka.theatre.drawing import Drawing, fit
from minikafka.theatre.lanes import LEAST_STRETCH, Scene
from minikafka.theatre.pictures.watermark_story import WatermarkStory, clock
from minikafka.theatre.play import Play
from minikafka.theatre.text import counted

# y of each part; the height of a micro-batch
AXIS, STATE, SINK, ROWS, ROW = 12, 22, 58, 100, 46
BOX = 28  # height of a window's box
MOST_WRITTEN = 4  # counts that a box of the sink shows


class WatermarkPlay(Play):
    story = WatermarkStory
    foot = (
        "Watermark = latest event time − delay. It moves at the end of a micro-batch; "
        "the next one writes by it, and the one after that drops by it."
    )

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        if self.cast["mode"] == "complete":
            self.foot = (
                "Complete writes every window each time: the watermark closes none."
            )

    def scenario(self, scene: Scene) -> str:
        rows = scene["space"]["rows"]
        parts = [
            f"windows of {self.cast['size']} minutes",
            f"delay {self.cast['delay']} minutes",
        ]
        parts.append(f"output mode {self.cast['mode']}")
        watermark = rows[-1]["watermark"] if rows else None
        return " · ".join(
            [
                *parts,
                *([f"watermark {clock(watermark)}"] if watermark is not None else []),
            ]
        )

    def summary(self, space: dict[str, Any]) -> str:
        said = []
        for window in space["windows"]:
            parts = (
                [f"{window['count']} in state"]
                if window["count"] and not window["forgotten"]
                else []
            )
            parts += (
                [f"written {' then '.join(map(str, window['written']))}"]
                if window["written"]
                else []
            )
            parts += [f"{', '.join(window['lost'])} dropped"] if window["lost"] else []
            said += (
                [f"window {clock(window['begin'])}: {', '.join(parts)}"]
                if parts
                else []
            )
        return "; ".join(said) or "nothing yet"

    # -- draw

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d, space = drawing, scenes[-1]["space"]
        self.left, self.right = (
            (92.0, d.width - 74.0) if d.narrow else (126.0, d.width - 112.0)
        )
        self.first = self.cast["windows"][0] if self.cast["windows"] else 0
        self.last = (
            self.cast["windows"][-1] if self.cast["windows"] else 0
        ) + self.cast["size"]
        bottom = ROWS + self.cast["batches"] * ROW
        self._columns(d, bottom)
        for window in space["windows"]:
            self._window(d, window)
        for number, row in enumerate(space["rows"]):
            self._row(d, row, ROWS + number * ROW, now=row is space["rows"][-1])
        self._watermark(d, space["rows"])
        self._lamp(d, space, bottom + 8)

    def _x(self, minute: float) -> float:
        """Of a time; those before the first window's begin and after the last one's end
        stand at the edge.
        """
        part = (minute - self.first) / (self.last - self.first)
        return self.left + (self.right - self.left) * min(max(part, 0.0), 1.0)

    def _columns(self, d: Drawing, bottom: float) -> None:
        for minute in [*self.cast["windows"], self.last]:
            x = self._x(minute)
            d.text(
                f"axis/{minute}",
                x,
                AXIS,
                clock(minute),
                "quiet",
                size=12,
                mono=True,
                anchor="middle",
            )
            d.line(f"axis/{minute}/line", x, AXIS + 6, x, bottom, "rule", width=1)
        if not d.narrow:
            d.text("name/axis", 0, AXIS, "placed at", "quiet", size=12)
        d.text("name/state", 0, STATE + 19, "in state", bold=True)
        d.text(
            "name/sink",
            0,
            SINK + 19,
            "in sink" if d.narrow else "in the sink",
            bold=True,
        )
        d.text(
            "name/watermark",
            d.width,
            SINK + 36,
            "watermark",
            "quiet",
            size=12,
            anchor="end",
        )

    def _window(self, d: Drawing, window: dict[str, Any]) -> None:
        begin = window["begin"]
        x, w = (
            self._x(begin) + 4,
            self._x(begin + self.cast["size"]) - self._x(begin) - 8,
        )
        name = f"window {clock(begin)} to {clock(begin + self.cast['size'])}"
        if window["forgotten"]:
            d.cell(
                f"state/{begin}",
                x,
                STATE,
                w,
                BOX,
                fill="none",
                line="gone",
                dash="4 3",
                tip=f"{name}: forgotten",
            )
        elif window["count"]:
            held = counted(window["count"], "order")
            d.cell(
                f"state/{begin}",
                x,
                STATE,
                w,
                BOX,
                str(window["count"]),
                tip=f"{name}: {held} in state",
            )
        written = [str(count) for count in window["written"]]
        words = " ".join(
            [*(["…"] if len(written) > MOST_WRITTEN else []), *written[-MOST_WRITTEN:]]
        )
        lost = f"{len(window['lost'])} lost" if window["lost"] else ""
        if words or lost:
            look = {
                "fill": "good" if words else "none",
                "line": "trouble" if lost else "rule",
                "ink": "trouble" if lost else "ink",
            }
            tip = f"{name}: written {' then '.join(written) or 'not yet'}" + (
                f", {lost}" if lost else ""
            )
            d.cell(
                f"sink/{begin}",
                x,
                SINK,
                w,
                BOX,
                fit(words, w * LEAST_STRETCH - 50 * bool(lost), 13, mono=True),
                lost,
                width=2 if lost else None,
                tip=tip,
                **look,
            )

    def _row(self, d: Drawing, row: dict[str, Any], y: float, now: bool) -> None:
        batch = row["batch"]
        d.line(f"row/{batch}", 0, y, d.width, y, "rule", width=1)
        d.text(
            f"row/{batch}/name",
            0,
            y + 18,
            f"batch {batch}" if d.narrow else f"micro-batch {batch}",
            bold=now,
            size=12.5,
        )
        d.text(f"row/{batch}/writes", 0, y + 37, "writes", "quiet", size=12)
        if row["closed"] is not None and self.cast["mode"] != "complete" and not d.asks:
            ended = row["closed"] - (row["closed"] - self.first) % self.cast["size"]
            if ended > self.first:
                tip = (
                    f"micro-batch {batch} drops what belongs to a window that ended by"
                    f" {clock(row['closed'])}"
                )
                d.rect(
                    f"closed/{batch}",
                    self.left,
                    y + 1,
                    self._x(ended) - self.left,
                    ROW - 2,
                    "chip",
                    fade=0.55,
                    tip=tip,
                )
        for name, minute, fate in row["orders"]:
            self._order(d, name, minute, fate, y + 13)
        for begin, count in row["written"]:
            x = (self._x(begin) + self._x(begin + self.cast["size"])) / 2
            d.chip(
                f"written/{batch}/{begin}",
                x - 13,
                y + 25,
                str(count),
                fill="good",
                tip=(
                    f"micro-batch {batch} writes {count} for the window of"
                    f" {clock(begin)}"
                ),
            )

    def _order(self, d: Drawing, name: str, minute: int, fate: str, y: float) -> None:
        look = {
            "": ("paper", "actor1", None, "ink"),
            "counted": ("actor1", "none", None, "on1"),
            "dropped": ("paper", "trouble", "3 3", "trouble"),
        }[fate]
        said = {"": "not decided yet", "counted": "counted", "dropped": "dropped"}[fate]
        live = {"act": f"later {name}"} if "live" in self.cast else {}
        tip = (
            f"let {name} come one micro-batch later"
            if live
            else f"{name}, placed at {clock(minute)}: {said}"
        )
        x = self._x(minute)
        d.circle(
            f"order/{name}",
            x,
            y,
            9.5,
            look[0],
            look[1],
            dash=look[2],
            width=2,
            tip=tip,
            same=name,
            **live,
        )
        d.text(
            f"order/{name}/name",
            x,
            y + 4.5,
            name,
            look[3],
            size=12,
            bold=True,
            anchor="middle",
            same=name,
        )
        if fate == "dropped":
            d.line(
                f"order/{name}/gone", x - 9, y + 9, x + 9, y - 9, "trouble", width=1.5
            )

    def _watermark(self, d: Drawing, rows: Sequence[dict[str, Any]]) -> None:
        """A stair: it stands within a micro-batch, and moves between two."""
        stands = [
            (ROWS + number * ROW, row["batch"], row["watermark"])
            for number, row in enumerate(rows)
        ]
        stands = [each for each in stands if each[2] is not None]
        for y, batch, watermark in stands:
            x = self._x(watermark)
            d.line(f"mark/{batch}", x, y, x, y + ROW, "ink", width=3)
            d.text(
                f"mark/{batch}/time",
                d.width,
                y + 18,
                clock(watermark),
                mono=True,
                bold=True,
                size=12.5,
                anchor="end",
            )
        for (_, _, before), (y, batch, after) in pairwise(stands):
            if before != after:
                d.line(
                    f"mark/{batch}/moved",
                    self._x(before),
                    y,
                    self._x(after),
                    y,
                    "ink",
                    width=3,
                )

    def _lamp(self, d: Drawing, space: dict[str, Any], y: float) -> None:
        dropped = space["dropped"]
        d.lamp(
            "lamp",
            self.left,
            y,
            f"{counted(dropped, 'order')} dropped" if dropped else "every order counts",
            bool(dropped),
        )

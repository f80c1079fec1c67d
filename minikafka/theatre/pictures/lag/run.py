"""What the parts of the lag's picture know of a whole play, and the places that they
share: names, then an axis, then the numbers at its end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from minikafka.theatre.axis import Axis, Scene, Time
from minikafka.theatre.boxes import Draws, Item, Places, part, row
from minikafka.theatre.drawing import Drawing, Look
from minikafka.theatre.pictures.lag.spells import moments
from minikafka.theatre.pictures.lag.sums import Told, added_up
from minikafka.theatre.play import Cast

BESIDE = 16  # from the end of the axis to the words there
STEPS = [n * 10**power for power in range(13) for n in (1, 2, 5)]


class Past(NamedTuple):
    """All moments up to the cursor, and what each adds up to."""

    moments: Sequence[Scene]
    told: Sequence[Told]

    @property
    def scene(self) -> Scene:
        return self.moments[-1]


class Run:
    """A whole play. most: records that ever wait in a partition. of_lag: the lag is the
    line of the upper chart; highest: of what is there. is_flat: nothing is ever
    committed, and the lines would be those of the only lane.
    """

    def __init__(self, cast: Cast, scenes: Sequence[Scene], time: Time) -> None:
        self.cast = cast
        self.scenes = scenes
        self.time = time
        self.whole_ms = time.last_ms - time.first_ms
        self.told = added_up(moments(scenes))
        self.highest = max([1, *(now.end for _, now in self.told)])
        highest_lag = max([1, *(now.lag for _, now in self.told)])
        lags = [
            partition["lags"][0]
            for scene in scenes
            for partition in scene["space"]["partitions"]
        ]
        self.most = max([1, *lags])
        self.many = max(len(cast["partitions"]), 1)
        ends = [scene["space"] for scene in scenes[-1:]]
        self.is_flat = self.many == 1 and any("again" in space for space in ends)
        # two lines of offsets would be one: the lag has a chart of its own
        self.of_lag = self.many > 1 and 4 * highest_lag < self.highest
        if self.of_lag:
            self.highest = highest_lag

    def past(self, scene: Scene) -> Past:
        found = moments(self.scenes[: scene["step"] + 1])
        return Past(found, self.told[: len(found)])

    def field(self, places: Places, name: str, most: int, now_ms: int) -> "Field":
        """An axis of time and, upward, this many records."""
        x, y, wide, high = places[name]
        return Field(self.time.axis(x, x + wide, now_ms), y, y + high, most)


def band(name: str, high: float, names: Draws, axis: Draws, numbers: Draws) -> Item:
    """Names, an axis and numbers, which end below each other in every band."""
    return row(
        part(f"{name} names", names, high=high, least=72, wanted=92),
        part(name, axis, high=high, least=120, wanted=600, grow=1),
        part(f"{name} numbers", numbers, high=high, least=140, wanted=254),
        breaks=False,
    )


@dataclass(frozen=True)
class Field:
    """A place with two axes: time across, records upward."""

    time: Axis
    top: float
    bottom: float
    most: int

    @property
    def left(self) -> float:
        return self.time.left

    @property
    def right(self) -> float:
        return self.time.right

    @property
    def height(self) -> float:
        """From the axis to the most records."""
        return self.bottom - self.top

    def x(self, at: int) -> float:
        """The x of a moment."""
        return self.time.x(at)

    def y(self, records: float) -> float:
        """Where a number of records is."""
        return self.bottom - self.height * records / self.most

    def grid(self, d: Drawing, key: str, most: float, least: int) -> None:
        """Draw round numbers of records: at most this many steps, beginning with
        `least`.
        """
        step = next(step for step in STEPS if self.most / step <= most)
        for records in range(least * step, self.most + 1, step):
            name, y = f"{key}/{records}", self.y(records)
            d.level(name, self.left, self.right, y, "rule", width=1, fade=0.7)
            look: Look = {"size": 12, "mono": True}
            d.note(
                f"{name}/number", self.left - 6, y + 4, f"{records:,}", "end", **look
            )

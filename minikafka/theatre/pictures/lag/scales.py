"""The levers of a live run in the picture of the lag: for each member a scale of how
many records it can do, along which it is dragged.
"""

from collections.abc import Mapping, Sequence

from minikafka.theatre.actors import actor_colour, actor_number
from minikafka.theatre.drawing import Box, Drawing, Part
from minikafka.theatre.pictures.lag.words import Unit, in_figures
from minikafka.theatre.text import key_part

# of the time for a record: what a rate can be dragged to, slow to fast
FACTORS = (8, 4, 2, 1, 0.5, 0.25, 0.125)
UNHURRIED_MS = 80  # where a record took no time: the middle of that scale
LEFT, RIGHT = 92, 20  # what a scale leaves free
HIGH = 42  # from one scale to the one below it


class Scales:
    """began_ms: what each member needed for a record when the run began."""

    def __init__(self, d: Drawing, began_ms: Mapping[str, int], unit: Unit) -> None:
        self.d = d
        self.began_ms = began_ms
        self.unit = unit
        self.columns = 1 if d.narrow else 2

    def draw(self, top: float, now_ms: Mapping[str, int]) -> None:
        if self.began_ms:
            words = f"records a {self.unit.name} that each can do"
            self.d.note("rate/unit", 0, top, words, size=12)
        for number, name in enumerate(self.began_ms):
            self._scale(name, now_ms[name], self._place(number, top))

    def _place(self, number: int, top: float) -> Box:
        """One in a line, or two on a wide page."""
        row, column = divmod(number, self.columns)
        width = self.d.width / self.columns
        return Box(
            x=column * width,
            y=top + row * HIGH + 16,
            w=width - RIGHT,
            h=0,
        )

    def _scale(self, name: str, now_ms: int, place: Box) -> None:
        key = f"rate/{key_part(name)}"
        scale = self.d.part(key, place.x, place.y)
        scale.note("name", 0, 4, f"{name} does", size=12, room=LEFT - 16)
        began_ms = self.began_ms[name] or UNHURRIED_MS
        notches = [max(round(began_ms * factor), 1) for factor in FACTORS]
        steps = len(notches) - 1
        pitch = (place.w - LEFT - RIGHT) / steps
        begin = place.x + LEFT
        self.d.level(
            key,
            left=begin,
            right=begin + pitch * steps,
            y=place.y,
            line="rule",
            width=3,
        )
        for number, ms in enumerate(notches):
            self._notch(scale, name, ms, x=LEFT + number * pitch)
        nearest = _nearest(notches, now_ms)
        self._grip(scale, name, x=LEFT + nearest * pitch)

    def _notch(self, scale: Part, name: str, ms: int, x: float) -> None:
        """A rate that the member can be dragged to."""
        rate = in_figures(self.unit.ms / ms)
        scale.circle(
            f"{ms}",
            x=x,
            y=0,
            r=4,
            fill="paper",
            line="quiet",
            same=f"{name}/{ms}",
            tip=f"{rate} a {self.unit.name}",
        )
        scale.note(
            f"{ms}/words",
            x,
            20,
            rate,
            "middle",
            size=12,
            mono=True,
        )

    def _grip(self, scale: Part, name: str, x: float) -> None:
        """Draw the circle that the learner drags."""
        number = actor_number(name, list(self.began_ms))
        scale.circle(
            "grip",
            x=x,
            y=0,
            r=8,
            fill=actor_colour(number),
            line="paper",
            act=f"rate {name}",
            onto=name,
            tip=f"drag how fast {name} works",
        )


def _nearest(notches: Sequence[int], ms: int) -> int:
    """The place of the notch for this many ms per record. If a record takes no time,
    that is the fastest.
    """
    wanted_ms = ms or notches[-1]
    far = [abs(notch_ms - wanted_ms) for notch_ms in notches]
    return far.index(min(far))

"""Boxes: where something is drawn, and how large."""

from typing import NamedTuple


class Box(NamedTuple):
    """x, y: its left upper corner."""

    x: float
    y: float
    w: float
    h: float

    @property
    def right(self) -> float:
        return self.x + self.w

    @property
    def bottom(self) -> float:
        return self.y + self.h

"""Time, as a node sees it: two integers that it is given. It reads no clock."""

from typing import NamedTuple

UNITS_MS = {"day": 86_400_000, "h": 3_600_000, "min": 60_000, "s": 1000}


class Now(NamedTuple):
    """monotonic_ms for deadlines; wall_ms, since 1970, for timestamps, retention and
    expiry.
    """

    monotonic_ms: int
    wall_ms: int


def no_time() -> int:
    """A stopwatch that doesn't run."""
    return 0


class NodeClock:
    """The time at which a node was last called. Parts that are called back without the
    time read it here.
    """

    def __init__(self) -> None:
        self.now = Now(0, 0)


def soonest(*deadlines_ms: int | None) -> int | None:
    """The earliest of some deadlines, of which any may be missing. A plain loop: each
    turn asks for it.
    """
    soonest_ms = None
    for at_ms in deadlines_ms:
        if at_ms is not None and (soonest_ms is None or at_ms < soonest_ms):
            soonest_ms = at_ms
    return soonest_ms


def how_long(ms: int) -> str:
    """A setting's length of time, in the largest unit of which it has whole ones: 7
    days · 36 h · 400 ms.
    """
    for unit, unit_ms in UNITS_MS.items():
        many, rest = divmod(ms, unit_ms)
        if many <= 0 or rest:
            continue
        plural = "s" if unit == "day" and many > 1 else ""
        return f"{many} {unit}{plural}"
    return f"{ms} ms"

"""What time is to a node: two integers that it is handed. It reads no clock."""

from typing import NamedTuple


class Now(NamedTuple):
    """monotonic_ms for deadlines; wall_ms, since 1970, for timestamps, retention and
    expiry.
    """

    monotonic_ms: int
    wall_ms: int


def soonest(*deadlines_ms: int | None) -> int | None:
    """The earliest of some deadlines, of which any may be missing. A plain loop: each
    turn asks for it.
    """
    soonest_ms = None
    for at_ms in deadlines_ms:
        if at_ms is not None and (soonest_ms is None or at_ms < soonest_ms):
            soonest_ms = at_ms
    return soonest_ms

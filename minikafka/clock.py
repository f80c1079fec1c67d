"""What time is to a node: two integers that it is handed. It reads no clock."""

from __future__ import annotations

from typing import NamedTuple


class Now(NamedTuple):
    """monotonic_ms for deadlines; wall_ms, since 1970, for timestamps, retention and expiry."""

    monotonic_ms: int
    wall_ms: int

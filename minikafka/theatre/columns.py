"""Which records of a log have a place on the page.

If a log is longer than the page, the middle is left out and counted; the end, the
start, the edges of segments and the readers' positions stay visible.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

Log = dict[str, Any]  # a partition, as a scene has it


class Column(NamedTuple):
    """Offsets that share a place, up_to not included: one record, or a gap of
    several.
    """

    first: int
    up_to: int


def columns(partition: Log, readers: Iterable[int], room: int) -> list[Column]:
    """The records to be drawn in `room` columns, and those that are only counted.
    readers: next offsets.
    """
    end = partition["log_end_offset"]
    start = partition["log_start_offset"]
    edges = [base for base, _, _ in partition["segments"]]
    places = sorted(offset for offset in readers if offset < end)
    first = min([start, end, *places, *edges])
    if end - first <= room:
        return [Column(offset, offset + 1) for offset in range(first, end)]
    shown: set[int] = set()

    def has_room_for(offset: int) -> bool:
        """Whether this offset still fits, with the gaps around it."""
        return len(_with_gaps(shown | {offset}, first, end)) <= room

    before = [offset - 1 for offset in places]
    after = [offset + 1 for offset in places]

    for offset in [end - 1, start, *places, *before, end - 2, *edges, *after]:
        if first <= offset < end and has_room_for(offset):
            shown.add(offset)
    # the rest of the room is for the latest records
    for offset in reversed(range(first, end)):
        if not has_room_for(offset):
            break
        shown.add(offset)
    return _with_gaps(shown, first, end)


def _with_gaps(shown: set[int], first: int, end: int) -> list[Column]:
    """These offsets, and gaps between them."""
    result: list[Column] = []
    at = first
    for offset in sorted(shown):
        if offset > at:
            result.append(Column(at, offset))
        at = offset + 1
        result.append(Column(offset, at))
    if end > at:
        result.append(Column(at, end))
    return result

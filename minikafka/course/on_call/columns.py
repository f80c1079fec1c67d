"""Rows of cells as lines, the way command line tools print their tables."""

from collections.abc import Callable, Iterable, Sequence

Row = Sequence[str]


def columns(
    rows: Sequence[Row],
    *,
    least: Sequence[int] = (),
    between: str = " ",
    align: Callable[[str, int], str] = str.ljust,
) -> str:
    """Each column is as wide as its widest cell. least: and at least so wide."""
    widths = _widest(rows)
    for at, narrowest in enumerate(least):
        widths[at] = max(widths[at], narrowest)
    lines = []
    for row in rows:
        cells = map(align, row, widths)
        lines.append(between.join(cells).rstrip())
    return "\n".join(lines)


def _widest(rows: Sequence[Row]) -> list[int]:
    """How wide the widest cell of each column is."""
    widths = []
    for column in zip(*rows, strict=True):
        widths.append(max(map(len, column)))
    return widths


def commas(numbers: Iterable[int] | None) -> str:
    """Numbers joined by commas: 1,2,3. None gives ""."""
    return ",".join(map(str, numbers or ()))

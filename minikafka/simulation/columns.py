"""Rows as aligned text, for people."""

from collections.abc import Sequence
from typing import Any

from minikafka.trace import printable


def columns(rows: Sequence[Sequence[Any]]) -> list[str]:
    """Rows as aligned text, one line each: numbers to the right, everything else to the
    left.
    """
    shown = [[printable(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = []
    for row, words in zip(rows, shown, strict=True):
        cells = []
        for cell, word, width in zip(row, words, widths, strict=True):
            if isinstance(cell, int):
                cells.append(word.rjust(width))
            else:
                cells.append(word.ljust(width))
        lines.append("  ".join(cells).rstrip())
    return lines

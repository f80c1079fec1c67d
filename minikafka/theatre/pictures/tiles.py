"""Tables of tiles: small pictures of many runs, in rows and columns. Rows that belong
together are a band. What is said of it is left of its rows, or above them where they
have no room beside it (runs/ and sweep/).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from minikafka.theatre.boxes import Draws, Item, column, part, row, space
from minikafka.theatre.drawing import Box, Drawing, Look

GAP, BESIDE = 6, 14  # between tiles; between them and their heads
WIDE = 2000  # a tile takes what it gets


class Band(NamedTuple):
    """name: of its rows. sums: what is said of them. rows: in each, what comes before
    the tiles, and these.
    """

    name: Item
    sums: Sequence[Item]
    rows: Sequence[Sequence[Item]]


def table(bands: Sequence[Band], *, least: float) -> Item:
    """least: width of all tiles of a row, where something is beside them."""
    wide = max(band.name.least for band in bands)
    heads = []
    for band in bands:
        name = replace(band.name, least=wide, wanted=wide)
        heads.append(row(name, space(), *band.sums, gap=10, line_gap=2))
    least_of_heads = max(head.least for head in heads)
    widest = max(head.wanted for head in heads)
    lines = []
    for band, head in zip(bands, heads, strict=True):
        rows = [row(*items, gap=GAP, breaks=False) for items in band.rows]
        tiles = replace(column(*rows, gap=GAP), least=least, wanted=WIDE)
        head = replace(head, least=least_of_heads, wanted=widest)
        lines.append(row(head, tiles, gap=BESIDE, line_gap=2))
    return column(*lines, gap=2 * GAP)


def tile(name: str, draw: Draws, high: float) -> Item:
    """It shares its row with the others."""
    return part(name, draw, high=high, grow=1)


def draw_run(d: Drawing, key: str, place: Box, wrong: bool, number: int) -> None:
    """The tile of a run that has ended. number: of the event about it."""
    look: Look = {"line": "trouble", "width": 2} if wrong else {"line": "rule"}
    d.rect(key, *place, "wash", r=8, of=number, **look)


def draw_place(d: Drawing, key: str, place: Box) -> None:
    """Where a run will be."""
    d.rect(key, *place, "none", "rule", r=8, dash="3 3")

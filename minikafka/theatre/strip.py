"""The strip: a map of many runs under the timeline of a picture, which shows one of
them.

A row is a fault, a column the moment at which it strikes, a cell a whole run, coloured
and signed by how it ended. Here it becomes plain data, which strip.js draws. What
faults and runs are, this room doesn't know.
"""

import base64
import json
import zlib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from minikafka.theatre.page import Data

# what is asked where runs of a kind are sought
QUESTIONS = {
    "twice": "Where does an order count twice?",
    "lost": "Where is an order lost?",
}
# how runs of a kind are drawn: the fill, and the ink of the sign on it
LOOKS = {
    "nothing": ("cell", "ink"),
    "waited": ("actor5", "on5"),
    "twice": ("actor2", "on2"),
    "refused": ("actor2", "on2"),
    "nobody": ("actor4", "on4"),
    "lost": ("trouble", "paper"),
}
OTHER = ("actor6", "on6")


class Ended(NamedTuple):
    """How the run of a cell ended. kind: in a word; sign: in a letter; words: all of
    it. is_run: whether it was tried, or taken from its neighbours.
    """

    kind: str
    sign: str
    words: str
    is_run: bool = True


class Mark(NamedTuple):
    """Something that happens in every run at a moment of the strip, such as an
    order.
    """

    at_ms: int
    words: str


Row = Sequence[Ended | None]  # None: nobody knows yet


def strip(
    name: str,
    *,
    faults: Sequence[str],
    moments_ms: Sequence[int],
    rows: Sequence[Row],
    chosen: str | None = None,
    also: Sequence[str] = (),
    given: int = 0,
    keeps: bool = True,
    marks: Sequence[Mark] = (),
    tracks: Mapping[str, Sequence[Mark]] | None = None,
    runs: Mapping[str, str] | None = None,
    asks: str = "",
    kinds: Mapping[str, str] | None = None,
) -> Data:
    """name: what the strip answers. faults: what each row is called. chosen: the cell
    whose run the picture shows, as key() has it. also: the faults of every run, which
    can be taken out again, but for the first ones (given: how many). keeps: whether a
    cell's fault can be added to them here. tracks: what happens in the run without any
    cell's fault, by the name of the line above the map. runs: packed_run() of cells
    that the page itself holds.
    asks: a kind; but for the chosen cell the map is blank until the learner has said
    where a run ends like that.
    kinds: what the legend calls a kind, where that's not its name.
    """
    return {
        "name": name,
        "faults": list(faults),
        "moments": [f"{ms / 1000:.3f} s" for ms in moments_ms],
        "cells": [[cell and _told(cell) for cell in row] for row in rows],
        "looks": LOOKS,
        "other": OTHER,
        "chosen": chosen,
        "also": list(also),
        "given": given,
        "keeps": keeps,
        "marks": _placed(marks, moments_ms),
        "tracks": {
            line: _placed(each, moments_ms) for line, each in (tracks or {}).items()
        },
        "runs": dict(runs or {}),
        "asks": asks,
        "question": QUESTIONS.get(asks, f"Where does a run end like this: {asks}?"),
        "kinds": dict(kinds or {}),
    }


def key(row: int, column: int) -> str:
    """The page's key for a cell."""
    return f"{row}/{column}"


def packed_run(play: Data) -> str:
    """The player's data for a run, small enough for a page that holds many."""
    text = json.dumps(play, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _told(cell: Ended) -> list[str | bool]:
    return [cell.kind, cell.sign, cell.words, cell.is_run]


def _placed(
    marks: Sequence[Mark], moments_ms: Sequence[int]
) -> list[list[str | float]]:
    """The place of each mark, in columns: a moment is at its cell's left edge."""
    found: list[list[str | float]] = []
    for mark in marks:
        column = bisect_right(moments_ms, mark.at_ms) - 1
        if 0 <= column < len(moments_ms) - 1:
            begins, ends = moments_ms[column : column + 2]
            found.append([column + (mark.at_ms - begins) / (ends - begins), mark.words])
    return found

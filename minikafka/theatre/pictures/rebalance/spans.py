"""Spans of time: since when a partition is read, and by whom, or by nobody; and since
when the group is in its state.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

SHORTEST_MS = 5  # less is 0.00 s
EXACT_UP_TO_MS = 100_000  # nobody asks for hundredths of a longer time


class Span(NamedTuple):
    """In one lane, until the next one begins. what: "reads", "busy" where it is read no
    further before other records are done, "nobody", or "two" where two and more own it;
    the state in the group's lane. waited: the records that waited when it was over, or
    None. words: on what it is.
    """

    since_ms: int
    who: list[str]
    what: str
    waited: int | None
    words: str = ""


def lasted_ms(what: str, spans: Sequence[Sequence[Any]], since_ms: int, at: int) -> int:
    """How long a partition was in this state ("nobody", "two") from since_ms up to a
    moment. spans: its lane so far.
    """
    lane = [Span(*each) for each in spans]
    ends = [span.since_ms for span in lane[1:]] + [at]
    lasted = 0
    for span, end in zip(lane, ends, strict=False):
        if span.what == what:
            begin = max(span.since_ms, since_ms)
            lasted += max(min(end, at) - begin, 0)
    return lasted


def spans_of(
    what: str, tag: str, label: str, spans: Sequence[Sequence[Any]]
) -> list[str]:
    """The keys of the times in which a partition was in this state."""
    lane = [Span(*each) for each in spans]
    return [
        f"time/{tag}{label}/{number}"
        for number, span in enumerate(lane)
        if span.what == what
    ]


def seconds(ms: int) -> str:
    if ms < SHORTEST_MS:
        return "0"
    if ms < EXACT_UP_TO_MS:
        return f"{ms / 1000:.2f} s"
    return f"{ms / 1000:.0f} s"

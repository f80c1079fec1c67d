"""The states of a classic group as a diagram, drawn from the table that the coordinator
follows.

    group_states(cluster.trace)     # and how often that run took which way

It is inline in a notebook as every picture; its text is the table.
"""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from minikafka.cluster.states import Transition
from minikafka.coordinators.classic_state import (
    COMPLETING,
    DEAD,
    EMPTY,
    PREPARING,
    STABLE,
    TRANSITIONS,
)
from minikafka.theatre.drawing import WIDE, Drawing, Look
from minikafka.theatre.svg import svg
from minikafka.theatre.text import escape
from minikafka.trace import Event

WORDS = {
    EMPTY: "no member",
    PREPARING: "all join, or join again",
    COMPLETING: "its members wait for shares",
    STABLE: "members read",
    DEAD: "forgotten",
}

_BOX, _TALL = 184, 52  # how wide and tall a state's box is
_TOP = 74  # of the row of boxes
_LINE = 15  # from one event's name to the next
_PLACES = {
    EMPTY: (0, _TOP),
    PREPARING: (245, _TOP),
    COMPLETING: (491, _TOP),
    STABLE: (736, _TOP),
    DEAD: (0, 308),
}

Way = tuple[str, str]  # a state, and the event that happens in it


class Between(NamedTuple):
    """From where to where arrows lead: one, for all events that lead there."""

    state: str
    target: str


class GroupStates:
    """taken: (state, event) -> how often a run took that way; None where no run is
    meant.
    """

    def __init__(self, taken: Counter[Way] | None = None) -> None:
        self.taken = taken

    def times(self, row: Transition) -> int:
        """How often the run took this way."""
        if self.taken is None:
            return 0
        return self.taken[row.state, row.event]

    def __repr__(self) -> str:
        rows = list(TRANSITIONS.values())
        states = _padded([row.state for row in rows])
        events = _padded([row.event for row in rows])
        next_states = _padded([row.next_state for row in rows])
        lines = []
        for place, row in enumerate(rows):
            way = f"{states[place]}  {events[place]}  {next_states[place]}"
            line = f"{way}  {row.meaning}"
            if self.taken is not None:
                times = self.times(row)
                count = f"{times} x" if times else ""
                line = f"{count:>4}  {line}"
            lines.append(line.rstrip())
        return "\n".join(lines)

    def svg(self) -> str:
        """The diagram as an SVG file's text."""
        body = Drawing(WIDE)
        for between, rows in _ways().items():
            self._way(body, between, rows)
        for state in _PLACES:
            self._state(body, state)
        said = "Names are Kafka's. Each arrow carries the events that lead along it."
        time = ""
        if self.taken:
            said += " Strong arrows: this run went there, so often."
            time = f"{self.taken.total()} changes"
        ways = []
        for row in TRANSITIONS.values():
            ways.append(f"From {row.state} by {row.event} to {row.next_state}")
        return svg(
            body,
            title="What a classic group goes through",
            scenario="the coordinator keeps one such state for each group",
            sentence=said,
            corner="",
            time=time,
            alt=". ".join(ways),
        )

    def _state(self, body: Drawing, state: str) -> None:
        x, y = _PLACES[state]
        box = body.part(f"state/{state}", x, y)
        fill = "good" if state == STABLE else "cell"
        line, width = "rule", 1
        if self._was_in(state):
            line, width = "actor1", 2
        box.rect("box", 0, 0, _BOX, _TALL, fill, line, r=6, width=width)
        middle = _BOX / 2
        box.text("name", middle, 22, state, bold=True, anchor="middle")
        box.note("words", middle, 41, WORDS[state], "middle", size=12)

    def _was_in(self, state: str) -> bool:
        """Did the run go into this state, or out of it?"""
        for row in TRANSITIONS.values():
            is_beside = state in (row.state, row.next_state)
            if is_beside and self.times(row):
                return True
        return False

    def _way(self, body: Drawing, between: Between, rows: Sequence[Transition]) -> None:
        """One arrow for all events that lead from a state to another."""
        x, y = _PLACES[between.state]
        to_x, to_y = _PLACES[between.target]
        look: dict[str, Any] = {"line": "quiet", "width": 1}
        was_taken = any(self.times(row) for row in rows)
        if was_taken:
            look = {"line": "actor1", "width": 2}
        name = f"way/{between.state}/{between.target}"
        if x == to_x:
            down = x + 30
            body.arrow(name, down, y + _TALL, down, to_y, **look)
            self._events(body, name, rows, down + 10, to_y - 12, "start")
        elif to_x > x:
            right = x + _BOX
            middle = y + _TALL / 2
            body.arrow(name, right, middle, to_x, middle, **look)
            halfway = (right + to_x) / 2
            more_lines = len(rows) - 1
            first_line = y - 8 - _LINE * more_lines
            self._events(body, name, rows, halfway, first_line, "middle")
        else:
            self._way_back(body, name, rows, x, to_x, look)

    def _way_back(
        self,
        body: Drawing,
        name: str,
        rows: Sequence[Transition],
        x: float,
        to_x: float,
        look: dict[str, Any],
    ) -> None:
        """Down, left and up again; the longer the way the lower it runs."""
        bottom = _TOP + _TALL
        is_far = x - to_x > _BOX * 2
        if is_far:
            start = x + _BOX / 2
            end = to_x + _BOX / 2
            depth = bottom + 126
        else:
            start = x + 50
            end = to_x + _BOX - 50
            depth = bottom + 32
        body.line(f"{name}/down", start, bottom, start, depth, **look)
        body.line(f"{name}/along", start, depth, end, depth, **look)
        body.arrow(f"{name}/up", end, depth, end, bottom, **look)
        middle = (start + end) / 2
        self._events(body, name, rows, middle, depth + 17, "middle")

    def _events(
        self,
        body: Drawing,
        name: str,
        rows: Sequence[Transition],
        x: float,
        y: float,
        anchor: str,
    ) -> None:
        for row in rows:
            words = row.event.replace("_", " ")
            ink = "quiet"
            times = self.times(row)
            if times:
                words += f" ×{times}"
                ink = "actor1"
            key = f"{name}/{row.event}"
            look: Look = {"size": 12, "anchor": anchor, "bold": times > 0}
            body.text(key, x, y, words, ink, **look, tip=row.meaning, halo="paper")
            y += _LINE

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        pictures = os.environ.get("MINIKAFKA_PICTURES")
        if pictures != "text":
            bundle["text/html"] = self._page()
        return bundle

    def _page(self) -> str:
        style = "body{margin:0}svg{max-width:100%;height:auto}"
        inside = f"<style>{style}</style>{self.svg()}"
        return (
            "<iframe title='The states of a classic group'"
            " style='width:100%;height:480px;border:0'"
            f" srcdoc='{escape(inside)}'></iframe>"
        )


def group_states(trace: Iterable[Event] | None = None) -> GroupStates:
    """The diagram; with a trace, how often its groups took each way."""
    if trace is None:
        return GroupStates()
    taken: Counter[Way] = Counter()
    for event in trace:
        if event.kind == "GroupStateChanged":
            way = event.detail["was"], event.detail["reason"]
            taken[way] += 1
    return GroupStates(taken)


def _ways() -> dict[Between, list[Transition]]:
    """The transitions between each two states."""
    ways: dict[Between, list[Transition]] = {}
    for row in TRANSITIONS.values():
        between = Between(row.state, row.next_state)
        ways.setdefault(between, []).append(row)
    return ways


def _padded(words: Sequence[str]) -> list[str]:
    """The words, padded to the width of the widest."""
    width = max(map(len, words))
    return [word.ljust(width) for word in words]

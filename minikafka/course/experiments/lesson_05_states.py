"""The states of a classic group as a diagram, drawn from the table that the coordinator
follows.

    group_states(cluster.trace)     # and how often that run took which way

It is inline in a notebook as every picture; its text is the table.
"""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from minikafka.coordinators.classic_state import (
    COMPLETING,
    DEAD,
    EMPTY,
    PREPARING,
    STABLE,
    TRANSITIONS,
    Transition,
)
from minikafka.theatre.drawing import WIDE, Drawing
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

_BOX, _TALL = 184, 52  # of a state's box
_TOP = 74  # of the row of boxes
_LINE = 15  # from one event's name to the next
_PLACES = {
    EMPTY: (0, _TOP),
    PREPARING: (245, _TOP),
    COMPLETING: (491, _TOP),
    STABLE: (736, _TOP),
    DEAD: (0, 308),
}

Way = tuple[str, str]


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
        state_width = max(len(row.state) for row in rows)
        event_width = max(len(row.event) for row in rows)
        next_width = max(len(row.next_state) for row in rows)
        lines = []
        for row in rows:
            line = "  ".join(
                (
                    row.state.ljust(state_width),
                    row.event.ljust(event_width),
                    row.next_state.ljust(next_width),
                    row.meaning,
                )
            )
            if self.taken is not None:
                times = f"{self.times(row)} x" if self.times(row) else ""
                line = f"{times:>4}  {line}"
            lines.append(line.rstrip())
        return "\n".join(lines)

    def svg(self) -> str:
        """The diagram as an SVG file's text."""
        body = Drawing(WIDE)
        for (state, target), rows in _ways().items():
            self._way(body, state, target, rows)
        for state in _PLACES:
            self._state(body, state)
        said = "Names are Kafka's. Each arrow carries the events that lead along it."
        time = ""
        if self.taken:
            said += " Strong arrows: this run went there, so often."
            time = f"{self.taken.total()} changes"
        ways = [
            f"From {row.state} by {row.event} to {row.next_state}"
            for row in TRANSITIONS.values()
        ]
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
        key = f"state/{state}"
        fill = "good" if state == STABLE else "cell"
        line, width = ("actor1", 2) if self._was_in(state) else ("rule", 1)
        body.rect(key, x, y, _BOX, _TALL, fill, line, r=6, width=width)
        middle = x + _BOX / 2
        words = WORDS[state]
        body.text(f"{key}/name", middle, y + 22, state, bold=True, anchor="middle")
        body.text(
            f"{key}/words", middle, y + 41, words, "quiet", size=12, anchor="middle"
        )

    def _was_in(self, state: str) -> bool:
        """Did the run go into this state, or out of it?"""
        ways = TRANSITIONS.values()
        beside = [row for row in ways if state in (row.state, row.next_state)]
        return any(map(self.times, beside))

    def _way(
        self, body: Drawing, state: str, target: str, rows: Sequence[Transition]
    ) -> None:
        """One arrow for all events that lead from a state to another."""
        x, y = _PLACES[state]
        to_x, to_y = _PLACES[target]
        look: dict[str, Any] = {"line": "quiet", "width": 1}
        if any(map(self.times, rows)):
            look = {"line": "actor1", "width": 2}
        name = f"way/{state}/{target}"
        if x == to_x:
            body.arrow(name, x + 30, y + _TALL, x + 30, to_y, **look)
            self._events(body, name, rows, x + 40, to_y - 12, "start")
        elif to_x > x:
            middle = y + _TALL / 2
            body.arrow(name, x + _BOX, middle, to_x, middle, **look)
            between = (x + _BOX + to_x) / 2
            first_line = y - 8 - _LINE * (len(rows) - 1)
            self._events(body, name, rows, between, first_line, "middle")
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
            start, end = x + _BOX / 2, to_x + _BOX / 2
            depth = bottom + 126
        else:
            start, end = x + 50, to_x + _BOX - 50
            depth = bottom + 32
        body.line(f"{name}/down", start, bottom, start, depth, **look)
        body.line(f"{name}/along", start, depth, end, depth, **look)
        body.arrow(f"{name}/up", end, depth, end, bottom, **look)
        self._events(body, name, rows, (start + end) / 2, depth + 17, "middle")

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
            words, ink = row.event.replace("_", " "), "quiet"
            times = self.times(row)
            if times:
                words, ink = f"{words} ×{times}", "actor1"
            body.text(
                f"{name}/{row.event}",
                x,
                y,
                words,
                ink,
                size=12,
                bold=times > 0,
                anchor=anchor,
                tip=row.meaning,
                halo="paper",
            )
            y += _LINE

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if os.environ.get("MINIKAFKA_PICTURES") != "text":
            drawn = self.svg()
            style = "body{margin:0}svg{max-width:100%;height:auto}"
            inside = f"<style>{style}</style>{drawn}"
            bundle["text/html"] = (
                "<iframe title='The states of a classic group'"
                " style='width:100%;height:480px;border:0'"
                f" srcdoc='{escape(inside)}'></iframe>"
            )
        return bundle


def group_states(trace: Iterable[Event] | None = None) -> GroupStates:
    """The diagram; with a trace, how often its groups took each way."""
    if trace is None:
        return GroupStates()
    taken: Counter[Way] = Counter()
    for event in trace:
        if event.kind == "GroupStateChanged":
            taken[event.detail["was"], event.detail["reason"]] += 1
    return GroupStates(taken)


def _ways() -> dict[Way, list[Transition]]:
    """(state, next state) -> what leads from one to the other."""
    ways: dict[Way, list[Transition]] = {}
    for row in TRANSITIONS.values():
        ways.setdefault((row.state, row.next_state), []).append(row)
    return ways

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

_BOX, _TALL, _TOP, _LINE = 184, 52, 74, 15
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
        return self.taken[row.state, row.event] if self.taken is not None else 0

    def __repr__(self) -> str:
        rows = [
            (row.state, row.event, row.next_state, row.meaning)
            for row in TRANSITIONS.values()
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        lines = []
        for row, words in zip(TRANSITIONS.values(), rows, strict=True):
            times = f"{self.times(row)} x" if self.times(row) else ""
            front = f"{times:>4}  " if self.taken is not None else ""
            lines.append(
                front
                + "  ".join(
                    word.ljust(width)
                    for word, width in zip(words, (*widths, 0), strict=True)
                )
            )
        return "\n".join(line.rstrip() for line in lines)

    def svg(self) -> str:
        """The diagram as an SVG file's text."""
        body = Drawing(WIDE)
        for (state, target), rows in _ways().items():
            self._way(body, state, target, rows)
        for state in _PLACES:
            self._state(body, state)
        said = "Names are Kafka's. Each arrow carries the events that lead along it."
        went = sum(self.taken.values()) if self.taken is not None else 0
        return svg(
            body,
            title="What a classic group goes through",
            scenario="the coordinator keeps one such state for each group",
            sentence=said
            + (" Strong arrows: this run went there, so often." if went else ""),
            corner="",
            time=f"{went} changes" if went else "",
            alt=". ".join(
                f"From {row.state} by {row.event} to {row.next_state}"
                for row in TRANSITIONS.values()
            ),
        )

    def _state(self, body: Drawing, state: str) -> None:
        x, y = _PLACES[state]
        been = any(
            self.times(row)
            for row in TRANSITIONS.values()
            if state in (row.state, row.next_state)
        )
        body.rect(
            f"state/{state}",
            x,
            y,
            _BOX,
            _TALL,
            "good" if state == STABLE else "cell",
            "actor1" if been else "rule",
            r=6,
            width=2 if been else 1,
        )
        body.text(
            f"state/{state}/name",
            x + _BOX / 2,
            y + 22,
            state,
            bold=True,
            anchor="middle",
        )
        body.text(
            f"state/{state}/words",
            x + _BOX / 2,
            y + 41,
            WORDS[state],
            "quiet",
            size=12,
            anchor="middle",
        )

    def _way(
        self, body: Drawing, state: str, target: str, rows: Sequence[Transition]
    ) -> None:
        """One arrow for all events that lead from a state to another."""
        (x, y), (to_x, to_y) = _PLACES[state], _PLACES[target]
        strong = any(self.times(row) for row in rows)
        look: dict[str, Any] = {
            "line": "actor1" if strong else "quiet",
            "width": 2 if strong else 1,
        }
        name = f"way/{state}/{target}"
        if x == to_x:
            body.arrow(name, x + 30, y + _TALL, x + 30, to_y, **look)
            self._events(body, name, rows, x + 40, to_y - 12, "start")
        elif to_x > x:
            middle = y + _TALL / 2
            body.arrow(name, x + _BOX, middle, to_x, middle, **look)
            self._events(
                body,
                name,
                rows,
                (x + _BOX + to_x) / 2,
                y - 8 - _LINE * (len(rows) - 1),
                "middle",
            )
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
        far = x - to_x > _BOX * 2
        depth = _TOP + _TALL + (126 if far else 32)
        start, end = (
            x + (_BOX / 2 if far else 50),
            to_x + (_BOX * 0.5 if far else _BOX - 50),
        )
        body.line(f"{name}/down", start, _TOP + _TALL, start, depth, **look)
        body.line(f"{name}/along", start, depth, end, depth, **look)
        body.arrow(f"{name}/up", end, depth, end, _TOP + _TALL, **look)
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
        for number, row in enumerate(rows):
            times = f" ×{self.times(row)}" if self.times(row) else ""
            body.text(
                f"{name}/{row.event}",
                x,
                y + number * _LINE,
                row.event.replace("_", " ") + times,
                "actor1" if times else "quiet",
                size=12,
                bold=bool(times),
                anchor=anchor,
                tip=row.meaning,
                halo="paper",
            )

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
    changes = (event.detail for event in trace if event.kind == "GroupStateChanged")
    return GroupStates(Counter((change["was"], change["reason"]) for change in changes))


def _ways() -> dict[Way, list[Transition]]:
    ways: dict[Way, list[Transition]] = {}
    for row in TRANSITIONS.values():
        ways.setdefault((row.state, row.next_state), []).append(row)
    return ways

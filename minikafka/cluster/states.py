"""State machines as tables: which state each event leads to, and what that means. The
code runs the table, and the diagrams are drawn from it.
"""

from typing import NamedTuple

ANY = "any"


class Transition(NamedTuple):
    """One row of a table: in `state`, `event` leads to `next_state`."""

    state: str
    event: str
    next_state: str
    meaning: str


Table = dict[tuple[str, str], Transition]


def table(text: str) -> Table:
    """Parses rows of `state event next-state meaning`; returns them by state and event.
    The state `any` stands for every state that has rows of its own.
    """
    rows = [Transition(*line.split(None, 3)) for line in text.strip().splitlines()]
    states = dict.fromkeys(row.state for row in rows if row.state != ANY)
    found = {}
    for row in rows:
        if row.state == ANY:
            for state in states:
                found[state, row.event] = row._replace(state=state)
        else:
            found[row.state, row.event] = row
    return found

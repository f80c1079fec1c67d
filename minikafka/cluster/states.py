"""State machines as tables: which state an event leads to, and what that means. A table
is what runs; diagrams are drawn from it.
"""

from typing import NamedTuple

ANY = "any"


class Transition(NamedTuple):
    """One row of a table."""

    state: str
    event: str
    next_state: str
    meaning: str


Table = dict[tuple[str, str], Transition]


def table(text: str) -> Table:
    """Rows of `state event next-state meaning`, by state and event. `any`: each state
    from which something else leads on, too.
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

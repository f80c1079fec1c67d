"""The states of a classic group: the table is what the code follows, and what the lesson's diagram is drawn from.

Names are Apache Kafka's (ClassicGroupState). From every state but Dead a group also goes to Dead when its coordinator
loses the partition; another broker then goes on with what the log says.
"""

from __future__ import annotations

from typing import NamedTuple

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = (
    "Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead",
)  # fmt: skip


class Transition(NamedTuple):
    """One row of the table."""

    state: str
    event: str
    next_state: str
    meaning: str


def table(text: str) -> dict[tuple[str, str], Transition]:
    """Rows of `state event next-state meaning`, by state and event."""
    rows = [Transition(*line.split(None, 3)) for line in text.strip().splitlines()]
    return {(row.state, row.event): row for row in rows}


TRANSITIONS = table("""
    Empty                member_joins       PreparingRebalance   the first member opens a rebalance
    Empty                deleted            Dead                 nobody came back and no offset is left
    PreparingRebalance   all_joined         CompletingRebalance  everyone is in, the leader must assign
    PreparingRebalance   rebalance_timeout  CompletingRebalance  dynamic members who did not join again are out
    PreparingRebalance   nobody_joined      Empty                the last member is gone, offsets stay until they expire
    CompletingRebalance  leader_assigned    Stable               every member gets its partitions
    CompletingRebalance  member_joins       PreparingRebalance   the assignment would be stale: start over
    CompletingRebalance  member_leaves      PreparingRebalance   its share must go to others
    CompletingRebalance  session_timeout    PreparingRebalance   a silent member is out
    CompletingRebalance  sync_timeout       PreparingRebalance   a member never asked for its share and is out
    CompletingRebalance  assignment_lost    PreparingRebalance   what the leader assigned could not be written
    Stable               member_joins       PreparingRebalance   a new member, or one that wants something else
    Stable               member_leaves      PreparingRebalance   its partitions need new owners
    Stable               session_timeout    PreparingRebalance   a silent member is out, its partitions move
    Stable               sync_timeout       PreparingRebalance   a member never asked for its share and is out
""")

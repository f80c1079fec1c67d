"""Lesson 14's outbox with two transactions at once: in which order its rows get their
ids, their transactions end, and a relay sends them.

A database gives a row its id when the row is inserted (a sequence, an identity column),
and shows it to others when its transaction ends. Two transactions may end in the other
order.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from minikafka.course.experiments.lesson_14_runs import text, with_orders


class Row(NamedTuple):
    id: int
    key: str
    value: str


class Outbox:
    """The table outbox. committed: its rows in the order in which their transactions
    ended, as the database's own log has them.
    """

    def __init__(self) -> None:
        self.committed: list[Row] = []
        self._last_id = 0
        self._open: set[int] = set()

    def insert(self, key: str, value: str) -> Row:
        """A row of a transaction that is still open: it has its id, and nobody
        sees it.
        """
        self._last_id += 1
        self._open.add(self._last_id)
        return Row(self._last_id, key, value)

    def commit(self, row: Row) -> None:
        """The row's transaction ends."""
        self._open.remove(row.id)
        self.committed.append(row)

    def rows(self) -> list[Row]:
        """The result of a SELECT ... ORDER BY id at this moment."""
        return sorted(self.committed)

    def oldest_open(self) -> int:
        """No row with a smaller id can appear any more."""
        return min(self._open, default=self._last_id + 1)


Relay = Callable[[Outbox, list[Row]], Iterable[Row]]


def above_the_last_id(outbox: Outbox, sent: list[Row]) -> list[Row]:
    """WHERE id > the last one that was sent."""
    last = max((row.id for row in sent), default=0)
    return [row for row in outbox.rows() if row.id > last]


def not_marked(outbox: Outbox, sent: list[Row]) -> list[Row]:
    """WHERE NOT sent ORDER BY id."""
    return [row for row in outbox.rows() if row not in sent]


def below_the_oldest_open(outbox: Outbox, sent: list[Row]) -> list[Row]:
    """WHERE NOT sent AND id < the smallest id of an open transaction."""
    limit = outbox.oldest_open()
    return [row for row in not_marked(outbox, sent) if row.id < limit]


def from_the_log(outbox: Outbox, sent: list[Row]) -> list[Row]:
    """The rows in the database's own log after the place up to which it was read."""
    return outbox.committed[len(sent) :]


RELAYS: dict[str, Relay] = {
    "ids above the last one": above_the_last_id,
    "rows that aren't marked": not_marked,
    "below the oldest open one": below_the_oldest_open,
    "the database's log": from_the_log,
}


def relayed(relay: Relay, looks_in_between: bool) -> list[str]:
    """The orders in the topic. "Elm" gets its id first and is committed last. The relay
    looks between the two commits, or not, and again at the end.
    """
    cluster, outbox = with_orders(), Outbox()
    producer = cluster.producer()
    sent: list[Row] = []

    def look() -> None:
        for row in relay(outbox, sent):
            producer.send("orders", key=row.key, value=row.value).get()
            sent.append(row)

    elm = outbox.insert("alice", "Elm")
    oak = outbox.insert("alice", "Oak")
    outbox.commit(oak)
    if looks_in_between:
        look()
    outbox.commit(elm)
    look()
    found = [text(record.value) for record in cluster.records("orders")]
    cluster.close()
    return found


def four_relays() -> str:
    """A line for each way to ask, and what the topic has in the end."""
    lines = [f"{'the relay asks for':28}{'looks in between':20}looks afterwards"]
    for name, relay in RELAYS.items():
        between, after = (" ".join(relayed(relay, looks)) for looks in (True, False))
        lines.append(f"{name:28}{between:20}{after}")
    return "\n".join(lines)

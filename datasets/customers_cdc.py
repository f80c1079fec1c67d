"""`customers_cdc`: the shop's table of customers, as a change data capture connector
reads it from the database.

First the snapshot, one record a row (op r), then the changes (c, u, d) with the row
before and after. A row that was deleted is followed by a tombstone, so that compaction
can forget the key. The connector was killed once and began again a little earlier: some
changes come twice, in their old order.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from .events import DAY_MS, DAY_STARTS, PEOPLE, Dice, Event, as_json

STREAMS = ("customers_cdc",)
COUNTED = "changes"

CITIES = ("Arles", "Bergen", "Cork", "Delft", "Evora", "Faro")
TIERS = ("bronze", "silver", "gold")
READ_AGAIN = 5  # changes, after the connector was killed


def generate(count: int = 1000, seed: int = 7) -> Iterator[Event]:
    """The snapshot and `count` changes, in the order of the database's log."""
    dice, lsn = Dice(seed), 0
    table = {
        name: {"customer_id": name, "city": dice.one_of(CITIES), "tier": "bronze"}
        for name in PEOPLE
    }
    for name, row in table.items():
        lsn += 1
        yield _change(lsn, DAY_STARTS, "r", name, None, row)
    latest: list[Event] = []
    for number in range(count):
        at = DAY_STARTS + number * DAY_MS // count
        for event in _changed(dice, table, lsn, at):
            lsn += event.value is not None
            latest = [*latest, event][-READ_AGAIN:]
            yield event
        if number == count // 2:
            yield from (event._replace(ingest_ms=at) for event in latest)


def current(made: Iterable[Event]) -> dict[str, dict[str, Any]]:
    """The table that the changes lead to: the oracle of whoever builds it from the
    topic. Key -> row.
    """
    table: dict[str, dict[str, Any]] = {}
    for event in made:
        assert event.key is not None
        after = json.loads(event.value)["after"] if event.value is not None else None
        if after is None:
            table.pop(event.key.decode(), None)
        else:
            table[event.key.decode()] = after
    return table


def _changed(
    dice: Dice, table: dict[str, dict[str, Any]], lsn: int, at: int
) -> Iterator[Event]:
    name = dice.ranked(PEOPLE)
    before = table.get(name)
    if before is None:
        table[name] = {
            "customer_id": name,
            "city": dice.one_of(CITIES),
            "tier": "bronze",
        }
        yield _change(lsn + 1, at, "c", name, None, table[name])
    elif dice.percent(10):
        del table[name]
        yield _change(lsn + 1, at, "d", name, before, None)
        yield Event("customers_cdc", name.encode(), None, [], at)
    else:
        column, choices = ("city", CITIES) if dice.percent(40) else ("tier", TIERS)
        table[name] = before | {
            column: dice.one_of([each for each in choices if each != before[column]])
        }
        yield _change(lsn + 1, at, "u", name, before, table[name])


def _change(
    lsn: int, at: int, op: str, name: str, before: object, after: object
) -> Event:
    """lsn: the place in the database's log, which tells what came twice."""
    value = as_json(
        {"op": op, "before": before, "after": after, "lsn": lsn, "event_time_ms": at}
    )
    return Event(
        "customers_cdc", name.encode(), value, [("lsn", str(lsn).encode())], at
    )

"""The right result of the pipeline, computed from the generated events in plain Python,
without Kafka and Spark.

An order counts once, however often it came, in the hour in which it was placed and in
the city in which its customer lived at that time.
"""

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from minikafka.course.data import dataset

# the city of somebody who had none when the order was placed
NO_ACCOUNT = "(no account)"
# an order is called late when it reaches Kafka so long after it was placed
LATE_MS = 600_000


class Order(NamedTuple):
    """cents: what it cost. placed_ms: event time, ms since 1970, UTC."""

    event_id: str
    customer_id: str
    cents: int
    placed_ms: int


class Truth(NamedTuple):
    """revenue: (hour, city) -> (orders, cents). customers: name -> (city, tier).
    unreadable: values that are no order.

    late: orders that reached Kafka ten minutes or more after they were placed.
    """

    revenue: dict[tuple[str, str], tuple[int, int]]
    customers: dict[str, tuple[str, str]]
    orders: set[str]
    unreadable: list[bytes]
    late: int


def truth(orders: Iterable[Any], changes: Iterable[Any]) -> Truth:
    """The right result for the events of the streams `orders` and `customers_cdc`."""
    changes = list(changes)
    found: dict[str, Order] = {}
    unreadable: list[bytes] = []
    late: set[str] = set()
    for event in orders:
        order = order_in(event.value)
        if order is None:
            unreadable.append(event.value)
            continue
        found[order.event_id] = order
        if event.ingest_ms - order.placed_ms >= LATE_MS:
            late.add(order.event_id)
    current = dataset("customers_cdc").current(changes)
    return Truth(
        revenue=revenue(found.values(), addresses(changes)),
        customers={name: (row["city"], row["tier"]) for name, row in current.items()},
        orders=set(found),
        unreadable=unreadable,
        late=len(late),
    )


def order_in(value: bytes) -> Order | None:
    """The order in either format; None if it isn't an order."""
    try:
        row = json.loads(value.decode())
        cents = row["amount_cents"] if "amount_cents" in row else row["amount"]["cents"]
        return Order(row["event_id"], row["customer_id"], cents, row["event_time_ms"])
    except (ValueError, KeyError, TypeError):
        return None


class Address(NamedTuple):
    """Where a customer lives from a moment on. city: None where the account is gone."""

    lsn: int
    since_ms: int
    city: str | None


def addresses(changes: Iterable[Any]) -> dict[str, list[Address]]:
    """Customer -> the addresses, in the order of the database's log."""
    found: defaultdict[str, dict[int, Address]] = defaultdict(dict)
    for event in changes:
        if event.value is None:
            continue  # a tombstone repeats what the delete before it said
        change = json.loads(event.value)
        lsn, row = change["lsn"], change["after"]
        city = row["city"] if row else None
        name = event.key.decode()
        found[name][lsn] = Address(lsn, change["event_time_ms"], city)
    return {name: sorted(by_lsn.values(), key=_lsn) for name, by_lsn in found.items()}


def _lsn(address: Address) -> int:
    return address.lsn


def _since(address: Address) -> int:
    """Grows with the lsn: the log is written as things happen."""
    return address.since_ms


def revenue(
    orders: Iterable[Order], lived: dict[str, list[Address]]
) -> dict[tuple[str, str], tuple[int, int]]:
    """(hour, city) -> (orders, cents)."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for order in orders:
        moves = lived.get(order.customer_id, [])
        before = bisect_right(moves, order.placed_ms, key=_since)
        city = moves[before - 1].city if before else None
        key = hour_of(order.placed_ms), city or NO_ACCOUNT
        count, cents = found.get(key, (0, 0))
        found[key] = count + 1, cents + order.cents
    return found


def hour_of(ms: int) -> str:
    """The hour of a time, in UTC, such as 2001-01-01T12."""
    return datetime.fromtimestamp(ms // 1000, UTC).strftime("%Y-%m-%dT%H")

"""What the pipeline must lead to, from the generated events in plain Python: neither
Kafka nor Spark has a part in it.

An order counts once, however often it came, in the hour in which it was placed and in
the city in which its customer lived at that time.
"""

import json
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
    """Of the events of the streams `orders` and `customers_cdc`."""
    orders, changes = list(orders), list(changes)
    read = [(event, order_in(event.value)) for event in orders]
    found = {order.event_id: order for _, order in read if order}
    return Truth(
        revenue=revenue(found.values(), addresses(changes)),
        customers={
            name: (row["city"], row["tier"])
            for name, row in dataset("customers_cdc").current(changes).items()
        },
        orders=set(found),
        unreadable=[event.value for event, order in read if not order],
        late=len(
            {
                order.event_id
                for event, order in read
                if order and event.ingest_ms - order.placed_ms >= LATE_MS
            }
        ),
    )


def order_in(value: bytes) -> Order | None:
    """The order of either format; None for what is none."""
    try:
        row = json.loads(value.decode())
        cents = row["amount_cents"] if "amount_cents" in row else row["amount"]["cents"]
        return Order(row["event_id"], row["customer_id"], cents, row["event_time_ms"])
    except (ValueError, KeyError, TypeError):
        return None


def addresses(changes: Iterable[Any]) -> dict[str, list[tuple[int, int, str | None]]]:
    """Customer -> (lsn, since when in ms, city or None for deleted), in the order of
    the database's log.
    """
    found: dict[str, dict[int, tuple[int, int, str | None]]] = {}
    for event in changes:
        if event.value is None:
            continue  # a tombstone repeats what the delete before it said
        change = json.loads(event.value)
        city = change["after"]["city"] if change["after"] else None
        found.setdefault(event.key.decode(), {})[change["lsn"]] = (
            change["lsn"],
            change["event_time_ms"],
            city,
        )
    return {
        name: [by_lsn[lsn] for lsn in sorted(by_lsn)] for name, by_lsn in found.items()
    }


def revenue(
    orders: Iterable[Order], lived: dict[str, list[tuple[int, int, str | None]]]
) -> dict[tuple[str, str], tuple[int, int]]:
    """(hour, city) -> (orders, cents)."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for order in orders:
        then = [
            city
            for _, since, city in lived.get(order.customer_id, ())
            if since <= order.placed_ms
        ]
        key = hour_of(order.placed_ms), (then[-1] if then else None) or NO_ACCOUNT
        count, cents = found.get(key, (0, 0))
        found[key] = count + 1, cents + order.cents
    return found


def hour_of(ms: int) -> str:
    """2001-01-01T12, in UTC."""
    return datetime.fromtimestamp(ms // 1000, UTC).strftime("%Y-%m-%dT%H")

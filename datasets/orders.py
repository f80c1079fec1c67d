"""`orders`: one day of a fictional book shop, as its tills and its web site sent it to
Kafka.

Each order makes up to three events: the order, its payment, its shipment, each in a
stream of its own. An event happens at its `event_time_ms` and reaches Kafka at its
ingest time, never earlier. Events stand in the order of their ingest, as a producer
would send them.
"""

import heapq
from collections.abc import Iterator

from .events import (
    DAY_MS,
    DAY_STARTS,
    MINUTE,
    PEOPLE,
    SECOND,
    Dice,
    Event,
    as_json,
    by_ingest,
    to_jsonl,
)

__all__ = ["STREAMS", "events", "generate", "stream", "to_jsonl"]

STREAMS = ("orders", "payments", "shipments")
COUNTED = "orders"

CUSTOMERS = PEOPLE
# title, cents
BOOKS = (
    ("atlas", 4900),
    ("cookbook", 2450),
    ("diary", 990),
    ("novel", 1290),
    ("poems", 1590),
    ("thriller", 1190),
)
METHODS = ("card", "card", "card", "invoice", "voucher")
CARRIERS = ("bicycle", "post")

# a till died while it wrote: neither UTF-8 nor JSON
POISON = b'{"order_id": "o-\xff\xfe, "customer_id": "mall'


def generate(count: int = 1000, seed: int = 7) -> Iterator[Event]:
    """The events of `count` orders, duplicates and one poison record included, in the
    order of their ingest.
    """
    poison = Event(
        "orders", b"mallory", POISON, [("till", b"3")], DAY_STARTS + DAY_MS * 2 // 5
    )
    return heapq.merge(
        by_ingest(_made(count, Dice(seed))), [poison], key=lambda event: event.ingest_ms
    )


def events(count: int = 1000, seed: int = 7) -> list[Event]:
    """All of them at once."""
    return list(generate(count, seed))


def stream(name: str, count: int = 1000, seed: int = 7) -> list[Event]:
    """The events of one stream: "orders", "payments" or "shipments"."""
    if name not in STREAMS:
        raise ValueError(f"there is no stream {name!r}; there are {', '.join(STREAMS)}")
    return [event for event in generate(count, seed) if event.stream == name]


def _made(count: int, dice: Dice) -> Iterator[Event | int]:
    for number in range(count):
        slot = DAY_STARTS + number * DAY_MS // count
        yield slot
        happened = slot + dice.below(DAY_MS // count)
        for event in _story(
            dice, number, happened, schema=1 if number < count * 2 // 3 else 2
        ):
            yield event
            # its producer did not hear the answer, and sent it again
            if dice.percent(1):
                yield event._replace(
                    ingest_ms=event.ingest_ms + 200 + dice.below(3 * SECOND)
                )


def _story(dice: Dice, number: int, happened: int, schema: int) -> Iterator[Event]:
    """What becomes of one order: it is placed, nearly always paid, mostly shipped."""
    customer = dice.ranked(CUSTOMERS)
    book, price = dice.one_of(BOOKS)
    copies = 1 + dice.below(3)
    till = str(1 + dice.below(4)).encode()
    headers = [("till", till), ("schema", str(schema).encode())]
    order_id = f"o-{number + 1:05}"
    cents = price * copies

    def event(name: str, at: int, **fields: object) -> Event:
        who = {
            "event_id": f"{name[0]}-{number + 1:05}",
            "order_id": order_id,
            "customer_id": customer,
        }
        value = as_json({**who, **fields, "event_time_ms": at})
        return Event(name, customer.encode(), value, headers, at + _delay(dice))

    # Schema 2 has currencies: the amount is a struct, no longer a number.
    amount = (
        {"amount_cents": cents}
        if schema == 1
        else {"amount": {"cents": cents, "currency": "EUR"}}
    )
    yield event("orders", happened, book=book, copies=copies, **amount)
    if not dice.percent(97):
        return
    paid = happened + 5 * SECOND + dice.below(15 * MINUTE)
    yield event("payments", paid, method=dice.one_of(METHODS), **amount)
    if not dice.percent(95):
        return
    shipped = paid + 10 * MINUTE + dice.below(120 * MINUTE)
    yield event("shipments", shipped, carrier=dice.one_of(CARRIERS))


def _delay(dice: Dice) -> int:
    """ms from the event to Kafka: mostly some tens, at times a minute, rarely two hours
    (a till without network).
    """
    kind = dice.below(100)
    if kind < 2:
        return 10 * MINUTE + dice.below(110 * MINUTE)
    if kind < 10:
        return SECOND + dice.below(MINUTE)
    return 20 + dice.below(80)

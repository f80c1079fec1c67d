"""`orders`: one day of a fictional book shop, as its tills and its web site sent it to Kafka.

    python -m datasets.orders --seed 7 --count 1000 --out orders.jsonl

Each order makes up to three events: the order, its payment, its shipment, each in a stream of its own. An event happens
at its `event_time_ms` and reaches Kafka at its ingest time, never earlier. Events stand in the order of their ingest,
as a producer would send them.

The same seed and count give the same bytes on every machine and Python version: integers only, and of `random` only
`Random.random()`, whose sequence Python promises to keep.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

STREAMS = ("orders", "payments", "shipments")
DAY_STARTS = 978_336_000_000  # ms: Monday, 1 January 2001, 08:00 UTC. A virtual day: nobody shopped on it
DAY_MS = 10 * 3_600_000

CUSTOMERS = (
    "alice", "bruno", "chidi", "dalia", "emre", "fatou", "goran", "hana", "ines", "jonas",
    "kalea", "luca", "mirela", "nils", "oksana", "pavel", "quentin", "rosa", "sanjay", "tove",
    "umar", "vera", "wanda", "xenia", "yusuf", "zofia", "amara", "bela", "carmen", "dario",
    "elif", "farid", "gerda", "hugo", "ilse", "jana", "kenji", "leila", "marek", "nadia",
)  # fmt: skip
# title, cents
BOOKS = (("atlas", 4900), ("cookbook", 2450), ("diary", 990), ("novel", 1290), ("poems", 1590), ("thriller", 1190))
METHODS = ("card", "card", "card", "invoice", "voucher")
CARRIERS = ("bicycle", "post")

# Zipf's law by an integer table: the customer of rank r buys 1/r as often as the first.
_ZIPF = tuple(accumulate(1_000_000 // rank for rank in range(1, len(CUSTOMERS) + 1)))

POISON = b'{"order_id": "o-\xff\xfe, "customer_id": "mall'  # a till died while it wrote: neither UTF-8 nor JSON


class Event(NamedTuple):
    """One record to be: which stream, its key and value (bytes), headers, and its ingest time (ms since 1970, UTC)."""

    stream: str
    key: bytes | None
    value: bytes
    headers: list[tuple[str, bytes]]
    ingest_ms: int


def events(count: int = 1000, seed: int = 7) -> list[Event]:
    """The events of `count` orders, duplicates and one poison record included, in the order of their ingest."""
    source = random.Random(seed)
    schema_changes_at = count * 2 // 3
    made: list[tuple[int, int, Event]] = []  # ingest time, then the order of making: no two compare equal
    for number in range(count):
        happened = DAY_STARTS + number * DAY_MS // count + _below(source, DAY_MS // count)
        for event in _story(source, number, happened, schema=1 if number < schema_changes_at else 2):
            made.append((event.ingest_ms, len(made), event))
            if _below(source, 100) < 1:  # its producer did not hear the answer, and sent it again
                again = event._replace(ingest_ms=event.ingest_ms + 200 + _below(source, 3_000))
                made.append((again.ingest_ms, len(made), again))
    poisoned = DAY_STARTS + DAY_MS * 2 // 5
    made.append((poisoned, len(made), Event("orders", b"mallory", POISON, [("till", b"3")], poisoned)))
    return [event for _, _, event in sorted(made)]


def stream(name: str, count: int = 1000, seed: int = 7) -> list[Event]:
    """The events of one stream: "orders", "payments" or "shipments"."""
    if name not in STREAMS:
        raise ValueError(f"there is no stream {name!r}; there are {', '.join(STREAMS)}")
    return [event for event in events(count, seed) if event.stream == name]


def to_jsonl(made: Iterable[Event]) -> bytes:
    """One JSON object a line. A value that is not UTF-8 stands in base64, as `value_base64`."""
    lines = (json.dumps(_plain(event), ensure_ascii=False, separators=(",", ":")) for event in made)
    return b"".join(line.encode() + b"\n" for line in lines)


def _story(source: random.Random, number: int, happened: int, schema: int) -> Iterator[Event]:
    """What becomes of one order: it is placed, nearly always paid, mostly shipped."""
    customer = CUSTOMERS[bisect_right(_ZIPF, _below(source, _ZIPF[-1]))]
    book, price = BOOKS[_below(source, len(BOOKS))]
    copies = 1 + _below(source, 3)
    till = str(1 + _below(source, 4)).encode()
    headers = [("till", till), ("schema", str(schema).encode())]
    order_id = f"o-{number + 1:05}"
    cents = price * copies

    def event(name: str, at: int, **fields: object) -> Event:
        who = {"event_id": f"{name[0]}-{number + 1:05}", "order_id": order_id, "customer_id": customer}
        value = json.dumps({**who, **fields, "event_time_ms": at}).encode()
        return Event(name, customer.encode(), value, headers, at + _delay(source))

    # Schema 2 has currencies: the amount is a struct, no longer a number.
    amount = {"amount_cents": cents} if schema == 1 else {"amount": {"cents": cents, "currency": "EUR"}}
    yield event("orders", happened, book=book, copies=copies, **amount)
    if _below(source, 100) >= 97:
        return
    paid = happened + 5_000 + _below(source, 900_000)
    yield event("payments", paid, method=METHODS[_below(source, len(METHODS))], **amount)
    if _below(source, 100) >= 95:
        return
    shipped = paid + 600_000 + _below(source, 7_200_000)
    yield event("shipments", shipped, carrier=CARRIERS[_below(source, len(CARRIERS))])


def _delay(source: random.Random) -> int:
    """ms from the event to Kafka: mostly some tens, at times a minute, rarely two hours (a till without network)."""
    kind = _below(source, 100)
    if kind < 2:
        return 600_000 + _below(source, 6_600_000)
    if kind < 10:
        return 1_000 + _below(source, 60_000)
    return 20 + _below(source, 80)


def _below(source: random.Random, bound: int) -> int:
    return int(source.random() * bound)


def _plain(event: Event) -> dict[str, object]:
    try:
        value = {"value": event.value.decode()}
    except UnicodeDecodeError:
        value = {"value_base64": base64.b64encode(event.value).decode()}
    return {
        "stream": event.stream,
        "ingest_time_ms": event.ingest_ms,
        "key": None if event.key is None else event.key.decode(),
        "headers": {name: header.decode() for name, header in event.headers},
        **value,
    }


def main(argv: list[str] | None = None) -> int:
    """Write the data set as JSON lines, to a file or to standard output."""
    arguments = argparse.ArgumentParser(prog="python -m datasets.orders", description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--seed", type=int, default=7)
    arguments.add_argument("--count", type=int, default=1000, help="how many orders (default 1000)")
    arguments.add_argument("--stream", choices=STREAMS, help="only this one (default: all three)")
    arguments.add_argument("--out", type=Path, help="the file to write (default: standard output)")
    args = arguments.parse_args(argv)
    data = to_jsonl(stream(args.stream, args.count, args.seed) if args.stream else events(args.count, args.seed))
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_bytes(data)
    else:
        sys.stdout.buffer.write(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())

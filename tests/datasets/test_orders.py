"""The data set `orders`: the same bytes everywhere, and in it what its data sheet
says.
"""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from datasets import orders
from minikafka.course.data import dataset

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "datasets" / "golden" / "orders-7-20.jsonl"

EVENTS = orders.events()
VALUES = [
    (event, json.loads(event.value)) for event in EVENTS if event.value != orders.POISON
]


def test_notebooks_get_the_same_module_by_name():
    assert (
        dataset("orders").to_jsonl(dataset("orders").events(count=20))
        == GOLDEN.read_bytes()
    )
    with pytest.raises(
        ValueError,
        match=(
            "there is no data set 'weather'; there are customers_cdc, metrics, orders"
        ),
    ):
        dataset("weather")


def test_an_unknown_stream_is_refused():
    with pytest.raises(ValueError, match="there are orders, payments, shipments"):
        orders.stream("returns")


def test_events_stand_in_the_order_of_their_ingest_and_none_is_there_before_it_happened():
    assert [event.ingest_ms for event in EVENTS] == sorted(
        event.ingest_ms for event in EVENTS
    )
    assert all(event.ingest_ms >= value["event_time_ms"] for event, value in VALUES)


def test_few_customers_order_most():
    counts = Counter(
        value["customer_id"] for event, value in VALUES if event.stream == "orders"
    )
    assert [name for name, _ in counts.most_common(3)] == ["alice", "bruno", "chidi"]
    assert counts["alice"] > sum(counts.values()) / 5
    assert len(counts) == len(orders.CUSTOMERS)


def test_the_key_is_the_customer():
    assert all(event.key == value["customer_id"].encode() for event, value in VALUES)


def test_one_record_is_neither_utf8_nor_json():
    [poison] = [event for event in EVENTS if event.value == orders.POISON]
    with pytest.raises(UnicodeDecodeError):
        poison.value.decode()
    with pytest.raises(ValueError):
        json.loads(poison.value.decode("utf-8", "replace"))
    assert "schema" not in dict(poison.headers)


def test_some_events_come_twice_with_the_same_bytes():
    copies = Counter((event.stream, event.value) for event, _ in VALUES)
    ids = Counter(value["event_id"] for _, value in VALUES)
    assert 10 <= sum(count > 1 for count in ids.values()) <= 60
    assert sorted(copies.values()) == sorted(ids.values())


def test_some_events_are_late_and_some_out_of_order():
    delays = [event.ingest_ms - value["event_time_ms"] for event, value in VALUES]
    assert 20 <= sum(delay > 600_000 for delay in delays) <= 120
    times = [value["event_time_ms"] for _, value in VALUES]
    assert any(later < earlier for earlier, later in pairwise(times))


def test_the_schema_changes_once_and_the_header_says_which():
    for event, value in VALUES:
        new = value["order_id"] > "o-00666"
        assert dict(event.headers)["schema"] == (b"2" if new else b"1")
        if event.stream != "shipments":
            assert ("amount" in value, "amount_cents" in value) == (new, not new)


def test_what_is_paid_was_ordered_and_what_is_shipped_was_paid():
    ids = {
        name: {v["order_id"] for e, v in VALUES if e.stream == name}
        for name in orders.STREAMS
    }
    assert ids["shipments"] < ids["payments"] < ids["orders"]

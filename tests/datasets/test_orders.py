"""The data set `orders`: the same bytes everywhere, and in it what its data sheet says."""

import hashlib
import json
import os
import random
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from datasets import orders
from minikafka.course.data import dataset

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "datasets" / "golden" / "orders-7-20.jsonl"
SHA256 = "84e8615bb187509ee32b9d80c8d41731a77b287ecd9d07bb2dd874e65f714fcf"

EVENTS = orders.events()
VALUES = [(event, json.loads(event.value)) for event in EVENTS if event.value != orders.POISON]


def command(*arguments, hash_seed="0"):
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    program = [sys.executable, "-m", "datasets.orders", *arguments]
    return subprocess.run(program, cwd=ROOT, env=environment, capture_output=True, check=True).stdout


def test_the_small_one_is_the_golden_file():
    assert orders.to_jsonl(orders.events(count=20, seed=7)) == GOLDEN.read_bytes()


def test_the_command_writes_the_same_bytes_in_any_process(tmp_path):
    assert hashlib.sha256(command(hash_seed="1")).hexdigest() == SHA256
    command("--out", str(tmp_path / "new" / "orders.jsonl"), hash_seed="2")
    assert hashlib.sha256((tmp_path / "new" / "orders.jsonl").read_bytes()).hexdigest() == SHA256


def test_the_command_writes_one_stream():
    lines = [json.loads(line) for line in command("--stream", "payments", "--count", "50").splitlines()]
    assert lines and {line["stream"] for line in lines} == {"payments"}


def test_another_seed_makes_other_events():
    assert orders.events(count=20, seed=8) != orders.events(count=20, seed=7)


def test_randomness_comes_from_random_alone_whose_sequence_python_keeps(monkeypatch):
    class OnlyRandom:
        def __init__(self, seed):
            self.random = random.Random(seed).random

    expected = orders.events(count=50)
    monkeypatch.setattr(orders, "random", type("module", (), {"Random": OnlyRandom}))
    assert orders.events(count=50) == expected


def test_notebooks_get_the_same_module_by_name():
    assert dataset("orders").to_jsonl(dataset("orders").events(count=20)) == GOLDEN.read_bytes()
    with pytest.raises(ValueError, match="there is no data set 'weather'; there are orders"):
        dataset("weather")


def test_an_unknown_stream_is_refused():
    with pytest.raises(ValueError, match="there are orders, payments, shipments"):
        orders.stream("returns")


def test_events_stand_in_the_order_of_their_ingest_and_none_is_there_before_it_happened():
    assert [event.ingest_ms for event in EVENTS] == sorted(event.ingest_ms for event in EVENTS)
    assert all(event.ingest_ms >= value["event_time_ms"] for event, value in VALUES)


def test_few_customers_order_most():
    counts = Counter(value["customer_id"] for event, value in VALUES if event.stream == "orders")
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
    ids = {name: {v["order_id"] for e, v in VALUES if e.stream == name} for name in orders.STREAMS}
    assert ids["shipments"] < ids["payments"] < ids["orders"]

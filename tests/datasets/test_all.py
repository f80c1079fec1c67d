"""All data sets: the same bytes everywhere, in the order of their ingest, and in each
what its data sheet says.
"""

import hashlib
import json
import os
import random
import re
import subprocess
import sys
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from datasets import NAMES, customers_cdc, events, metrics, transfers, user_events
from datasets.__main__ import of
from datasets.events import Event, by_ingest, to_jsonl, to_line

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = {
    "customers_cdc": 20,
    "metrics": 1,
    "orders": 20,
    "transfers": 20,
    "user_events": 5,
}
SHA256 = {
    "customers_cdc": "791d7a6249ee0a2fd6142897515d4bf269d3bba8f80b99ab7407ae4eca86c324",
    "metrics": "f261a7b1e93c4abcc3b51717cb33dc4a05a8d6e6c67b5fa49ad936f7af944c62",
    "orders": "84e8615bb187509ee32b9d80c8d41731a77b287ecd9d07bb2dd874e65f714fcf",
    "transfers": "291f6b381b1d70850782bdc7374cc8ec92a4ba69617ea7ae24d963c1f1fca291",
    "user_events": "24f21eb56e8bc8166d8067abbf480d2ae13229c65641997d80afa3ed40c2c2f1",
}


def command(*arguments, hash_seed="0"):
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    program = [sys.executable, "-m", "datasets", *arguments]
    return subprocess.run(
        program, cwd=ROOT, env=environment, capture_output=True, check=True
    ).stdout


def values(module, **given):
    return [
        (event, json.loads(event.value))
        for event in module.generate(**given)
        if event.value is not None
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_small_one_is_the_golden_file(name):
    golden = ROOT / "datasets" / "golden" / f"{name}-7-{GOLDEN[name]}.jsonl"
    assert to_jsonl(of(name, count=GOLDEN[name], seed=7)) == golden.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_command_writes_the_same_bytes_in_any_process(name, tmp_path):
    assert hashlib.sha256(command(name, hash_seed="1")).hexdigest() == SHA256[name]
    command(name, "--out", str(tmp_path / "new" / "data.jsonl"), hash_seed="2")
    assert (
        hashlib.sha256((tmp_path / "new" / "data.jsonl").read_bytes()).hexdigest()
        == SHA256[name]
    )


@pytest.mark.slow
def test_the_command_writes_one_stream():
    lines = [
        json.loads(line)
        for line in command(
            "orders", "--stream", "payments", "--count", "50"
        ).splitlines()
    ]
    assert lines and {line["stream"] for line in lines} == {"payments"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["weather"], "invalid choice: 'weather'"),
        (
            ["orders", "--stream", "returns"],
            "orders has no stream 'returns'; it has orders, payments, shipments",
        ),
        (["orders", "--count", "-1"], "-1 is negative"),
    ],
)
def test_what_is_not_there_is_refused_in_a_line(arguments, said):
    with pytest.raises(subprocess.CalledProcessError) as refused:
        command(*arguments)
    assert (
        said in refused.value.stderr.decode()
        and "Traceback" not in refused.value.stderr.decode()
    )


@pytest.mark.parametrize("name", NAMES)
def test_another_seed_makes_other_events(name):
    assert to_jsonl(of(name, count=5, seed=8)) != to_jsonl(of(name, count=5, seed=7))


def test_nothing_is_nothing():
    assert [
        to_jsonl(of(name, count=0)) for name in ("metrics", "transfers", "user_events")
    ] == [b""] * 3


def test_randomness_comes_from_random_alone_whose_sequence_python_keeps(monkeypatch):
    class OnlyRandom:
        def __init__(self, seed):
            self.random = random.Random(seed).random

    expected = {name: to_jsonl(of(name, count=20)) for name in NAMES}
    monkeypatch.setattr(events, "random", type("module", (), {"Random": OnlyRandom}))
    assert {name: to_jsonl(of(name, count=20)) for name in NAMES} == expected


@pytest.mark.parametrize("name", NAMES)
def test_none_is_there_before_it_happened(name):
    made = list(of(name))
    for event in made:
        if event.value is not None and b"event_time_ms" in event.value:
            assert event.ingest_ms >= json.loads(event.value)["event_time_ms"]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "customers_cdc"])
def test_events_stand_in_the_order_of_their_ingest(name):
    times = [event.ingest_ms for event in of(name)]
    assert times == sorted(times)


def test_events_of_one_moment_keep_the_order_in_which_they_were_made():
    made = [Event("s", None, value, [], 5) for value in (b"first", b"second")]
    assert list(by_ingest([*made, 5, Event("s", None, b"early", [], 4)])) == [
        Event("s", None, b"early", [], 4),
        *made,
    ]


def test_a_tombstone_a_poison_and_a_partition_survive_the_file():
    lines = [
        json.loads(to_line(Event("s", b"k", value, [], 5, 2)))
        for value in (None, b"\xff", b"v")
    ]
    assert [line["partition"] for line in lines] == [2, 2, 2]
    assert (
        lines[0]["value"] is None
        and lines[1]["value_base64"] == "/w=="
        and lines[2]["value"] == "v"
    )


# user_events


def test_a_visit_has_no_silence_of_half_an_hour_and_most_users_come_again():
    times = defaultdict(list)
    for _, value in values(user_events):
        times[value["user_id"]].append(value["event_time_ms"])
    gaps = Counter(
        later - earlier > user_events.SESSION_GAP_MS
        for each in times.values()
        for earlier, later in pairwise(sorted(each))
    )
    assert gaps[True] > 100 and gaps[False] > 5 * gaps[True]


def test_bots_look_at_a_page_every_twelve_seconds_for_an_hour():
    bots = [
        value for _, value in values(user_events) if value["user_id"].startswith("bot-")
    ]
    assert len({value["user_id"] for value in bots}) == 20
    assert Counter(value["user_id"] for value in bots)["bot-1"] == 300
    assert {value["action"] for value in bots} == {"view"}


def test_phones_send_together_what_was_done_without_a_network():
    late = [
        event
        for event, value in values(user_events)
        if event.ingest_ms - value["event_time_ms"] > 60_000
    ]
    assert 50 < len(late) < 600
    assert {dict(event.headers)["client"] for event in late} == {b"app"}


# metrics


def test_each_site_has_a_partition_and_the_harbour_s_falls_idle():
    last = {event.partition: value["event_time_ms"] for event, value in values(metrics)}
    assert set(last) == {0, 1, 2, 3}
    assert last[0] < metrics.closes_ms(30) <= min(last[1], last[2], last[3])


def test_one_sensor_is_stuck_one_overheats_and_some_fall_silent():
    readings = defaultdict(list)
    for _, value in values(metrics):
        readings[int(value["device_id"][-3:])].append(value["tenths_celsius"])
    assert [device for device, seen in readings.items() if len(set(seen)) == 1] == [
        metrics.STUCK
    ]
    heated = readings[metrics.OVERHEATS]
    assert heated == sorted(heated) and heated[-1] - heated[0] > 50
    assert any(len(seen) < 30 for device, seen in readings.items() if device % 4)


# customers_cdc


def test_the_snapshot_comes_first_and_every_deletion_is_followed_by_a_tombstone():
    operations = [
        event.value and json.loads(event.value)["op"] for event in of("customers_cdc")
    ]
    assert operations[:40] == ["r"] * 40 and "r" not in operations[40:]
    assert set(operations) == {"r", "c", "u", "d", None}
    assert {after for before, after in pairwise(operations) if before == "d"} == {None}


def test_each_change_says_what_the_row_was_and_some_changes_come_twice():
    table, seen, again = {}, set(), 0
    for event in of("customers_cdc"):
        if event.value is None:
            continue
        value = json.loads(event.value)
        if value["lsn"] in seen:
            again += 1
            continue
        seen.add(value["lsn"])
        assert value["op"] == "r" or value["before"] == table.get(event.key)
        assert value["before"] != value["after"]
        table[event.key] = value["after"]
    assert (
        again
        == len([1 for event in of("customers_cdc") if event.value is not None])
        - len(seen)
        > 0
    )
    assert sorted(seen) == list(range(1, len(seen) + 1))


def test_the_oracle_is_the_table_after_all_changes():
    table = {}
    for event in of("customers_cdc"):
        table[event.key.decode()] = event.value and json.loads(event.value)["after"]
    assert customers_cdc.current(of("customers_cdc")) == {
        key: row for key, row in table.items() if row
    }


# transfers


def test_once_each_posting_counts_once_the_sum_is_zero_and_before_that_it_is_not():
    all_of_them = [value for _, value in values(transfers)]
    once = {value["posting_id"]: value for value in all_of_them}
    assert sum(value["amount_cents"] for value in once.values()) == 0
    assert (
        len(all_of_them) > len(once)
        and sum(value["amount_cents"] for value in all_of_them) != 0
    )
    assert all(
        sum(v["amount_cents"] for v in once.values() if v["transfer_id"] == t) == 0
        for t in {value["transfer_id"] for value in once.values()}
    )


def test_the_two_sides_of_a_transfer_have_two_accounts_and_one_may_be_late():
    sides = defaultdict(dict)
    for event, value in values(transfers):
        sides[value["transfer_id"]].setdefault(value["account_id"], event.ingest_ms)
    assert all(len(accounts) == 2 for accounts in sides.values())
    apart = [max(times.values()) - min(times.values()) for times in sides.values()]
    assert 5 <= sum(ms > 10_000 for ms in apart) <= 60


def test_the_data_sheet_names_only_lessons_that_use_the_data_set():
    """In a notebook, or in what its experiments and checks import."""
    sheet = (ROOT / "datasets" / "README.md").read_text(encoding="utf-8")
    sections = re.split(r"^## (\w+)$", sheet, flags=re.MULTILINE)[1:]
    named = set()
    for name, section in zip(sections[::2], sections[1::2], strict=True):
        for lessons in re.findall(r"\((\d\d\b[^)]*)\)", section):
            named |= {(name, number) for number in re.findall(r"\d\d", lessons)}
    assert len(named) >= 7
    for name, number in named:
        notebooks = (ROOT / "notebooks").glob(f"{number}_*.ipynb")
        experiments = ROOT / "minikafka" / "course" / "experiments"
        checks = ROOT / "notebooks" / "checks" / f"lesson_{number}.py"
        places = [*notebooks, checks, *experiments.glob(f"lesson_{number}_*.py")]
        code = "".join(path.read_text(encoding="utf-8") for path in places)
        assert f'dataset("{name}")' in code.replace("\\", ""), (name, number)

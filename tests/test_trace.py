"""Events: plain, frozen, JSON-able, and built only when somebody listens."""

import dataclasses
import json
import re

import pytest

from minikafka.clients import classic_membership, consumer_membership
from minikafka.clock import how_long
from minikafka.coordinators.classic_state import TRANSITIONS
from minikafka.coordinators.consumer_group_state import MOVES
from minikafka.trace import (
    REASONS,
    SENTENCE_CHARACTERS,
    SENTENCES,
    Event,
    Reason,
    Trace,
    moment,
    printable,
)


def test_a_trace_without_a_listener_is_false():
    assert not Trace("broker 1")
    assert Trace("broker 1", [print])


def test_events_are_numbered_on_their_node_and_carry_their_cause():
    heard = []
    trace = Trace("broker 1", [heard.append])
    trace.now = 12_400
    first = trace.emit(
        "HighWatermarkAdvanced", topic="orders", partition=1, high_watermark=17
    )
    trace.emit("NodeCrashed", cause=first)
    trace.cause = ("connection", 3)
    trace.emit("NodeRestarted")
    assert [event.id for event in heard] == [
        ("broker 1", 1),
        ("broker 1", 2),
        ("broker 1", 3),
    ]
    assert [event.cause for event in heard] == [
        None,
        ("broker 1", 1),
        ("connection", 3),
    ]
    assert (
        str(heard[0]) == "12.400 s  broker 1: high watermark of orders-1 advanced to 17"
    )


def test_a_setting_reads_in_the_largest_unit_of_which_it_has_whole_ones():
    settings_ms = [604_800_000, 86_400_000, 129_600_000, 300_000, 90_000, 1500, 0, -1]
    assert [how_long(ms) for ms in settings_ms] == [
        "7 days",
        "1 day",
        "36 h",
        "5 min",
        "90 s",
        "1500 ms",
        "0 ms",
        "-1 ms",
    ]


def test_times_read_as_seconds_from_ten_minutes_on_as_a_clock_and_later_with_its_day():
    assert [moment(at) for at in (0, 12_400, 599_999)] == [
        "0.000 s",
        "12.400 s",
        "599.999 s",
    ]
    assert [moment(at) for at in (1_200_035, 3_600_000, 86_399_005)] == [
        "00:20:00.035",
        "01:00:00",
        "23:59:59.005",
    ]
    assert moment(12_400, latest_ms=3_600_000) == "00:00:12.400"
    assert moment(13 * 86_400_000 + 600_000) == "day 13 00:10:00"
    assert (
        str(Event(("broker 1", 1), 1_123_800_000, "broker 1", "NodeCrashed", None, {}))
        == "day 13 00:10:00  broker 1: crashed"
    )


@pytest.mark.parametrize(
    ("named", "shown"),
    [
        ("orders", "orders"),
        ("Müller 注文 é, a b", "Müller 注文 é, a b"),
        ("a\nminikafka: forged", r"a\nminikafka: forged"),
        ("a\r\tb\0", r"a\r\tb\x00"),
        ("\x1b[31mred\x9b0m", r"\x1b[31mred\x9b0m"),
        ("user\u202egnp.exe\u2066", r"user\u202egnp.exe\u2066"),
        ("line\u2028and\u0085next", r"line\u2028and\x85next"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("half a pair \ud800", r"half a pair \ud800"),
        ("x" * 200, "x" * 200),
        ("x" * 20_000, "x" * 199 + "…"),
        ("\0" * 20_000, r"\x00" * 49 + r"\x0" + "…"),
    ],
)
def test_what_others_named_is_shown_as_one_harmless_line(named, shown):
    assert printable(named) == shown
    assert printable(shown) == shown, "shown twice is shown once"
    assert len(shown.splitlines()) == 1


def test_the_sentence_of_an_event_is_one_line_whatever_its_names_are():
    detail = {"group": "a\nb" * 20_000, "was": "Empty", "state": "Stable", "why": ""}
    sentence = str(
        Event(("broker 1", 1), 0, "broker 1", "GroupStateChanged", None, detail)
    )
    assert sentence.startswith(r"0.000 s  broker 1: group a\nba\nb")
    assert len(sentence) <= SENTENCE_CHARACTERS + len("0.000 s  broker 1: ")


def test_an_event_survives_json():
    heard = []
    Trace("producer 1", [heard.append]).emit(
        "PartitionsPaused", cause=("broker 1", 7), partitions=["orders-0"]
    )
    assert Event.from_json(json.loads(json.dumps(heard[0].to_json()))) == heard[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        heard[0].at = 3


def test_an_event_kind_without_a_sentence_is_a_bug():
    with pytest.raises(AssertionError, match="Surprise"):
        Trace("broker 1", [print]).emit("Surprise")
    assert all(kind[0].isupper() for kind in SENTENCES)


def test_a_reason_is_a_code_beside_its_sentence():
    heard = []
    Trace("broker 1", [heard.append]).emit(
        "GroupStateChanged",
        group="g",
        was="Stable",
        state="PreparingRebalance",
        why=Reason("member_leaves", "billing left"),
    )
    assert (heard[0].detail["reason"], heard[0].detail["why"]) == (
        "member_leaves",
        "billing left",
    )
    with pytest.raises(AssertionError, match="knows no reason 'bored'"):
        Trace("broker 1", [print]).emit(
            "PollOverdue", member="a", why=Reason("bored", "it was bored")
        )


def test_every_kind_that_says_why_has_its_reasons():
    assert set(REASONS) == {
        kind for kind, sentence in SENTENCES.items() if "{why}" in sentence
    }
    assert all(
        re.fullmatch("[a-z0-9_]+", code) for codes in REASONS.values() for code in codes
    )


def test_the_reasons_of_a_state_are_the_events_of_its_table():
    of_groups = {event for _, event in TRANSITIONS if event != "deleted"} | {
        why.code for why in MOVES.values()
    }
    assert REASONS["GroupStateChanged"] == of_groups
    of_members = {
        event for _, event in [*classic_membership.MOVES, *consumer_membership.MOVES]
    }
    assert REASONS["MemberStateChanged"] == of_members

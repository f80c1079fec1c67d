"""Faults as data: what a plan may say, and what is said about a wrong one."""

import pytest

from minikafka.testing import Answer, Crash, Delay, Freeze, Lose, Throttle
from minikafka.testing.planned import Planned, plan, planned

EVERY_WORD = """
[[faults]]
fault = "Lose"
api = "Produce"
topic = "orders"
partition = 0
client_id = "till"
broker = 1
nth = 2
times = 5
answer = true

[[faults]]
fault = "Answer"
api = "Fetch"
error = "OFFSET_NOT_AVAILABLE"
times = "all"
done = true

[[faults]]
fault = "Delay"
api = "Fetch"
extra_ms = 500

[[faults]]
fault = "Throttle"
api = "Produce"
throttle_time_ms = 1000
chance_percent = 20
seed = 7

[[faults]]
fault = "Crash"
api = "Produce"
power = true

[[faults]]
fault = "Freeze"
api = "Metadata"
"""


def test_a_plan_has_the_words_of_the_faults():
    lose = Lose(
        "Produce",
        topic="orders",
        partition=0,
        client_id="till",
        broker=1,
        nth=2,
        times=5,
        answer=True,
    )
    assert plan(EVERY_WORD) == [
        Planned(lose),
        Planned(Answer("Fetch", "OFFSET_NOT_AVAILABLE", times=None, done=True)),
        Planned(Delay("Fetch", 500)),
        Planned(Throttle("Produce", 1000, chance_percent=20), seed=7),
        Planned(Crash("Produce", power=True)),
        Planned(Freeze("Metadata")),
    ]


def test_a_list_in_one_line_is_a_plan_too():
    assert plan('faults = [{fault = "Lose", api = "Fetch"}]') == [
        Planned(Lose("Fetch"))
    ]
    with pytest.raises(
        ValueError, match=r"^fault 1: Lose needs api; it takes answer, "
    ):
        plan('faults = [{fault = "Lose"}]')


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[faults", "this is no TOML: "),
        ("", "a plan is a list of [[faults]], and this one has none"),
        ("[faults]", "a plan is a list of [[faults]], and this one has none"),
        ("faults = []", "a plan is a list of [[faults]], and this one has none"),
        ("[[fault]]", "a plan is a list of [[faults]], and this one has 'fault'"),
        ("faults = [1]", "fault 1: a fault is a table of words and values, not 1"),
    ],
)
def test_what_is_no_plan_is_told_so(text, words):
    with pytest.raises(ValueError) as error:
        plan(text)
    assert str(error.value).startswith(words)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({}, "fault is missing: say one of Lose, Answer, Delay, Throttle, Crash, "),
        ({"fault": "Loose"}, "fault is 'Loose': say one of Lose, "),
        ({"fault": ["Lose"]}, "fault is ['Lose']: say one of Lose, "),
        ({"fault": "Lose"}, "Lose needs api; it takes answer, api, broker, "),
        ({"api": "Produc"}, "api: 'Produc' is no API of Kafka's; is it Produce"),
        ({"api": 0}, "api: a text, not 0"),
        ({"topics": "orders"}, "Lose has no 'topics'; it takes answer, api, "),
        ({"done": True}, "Lose has no 'done'; it takes answer, api, "),
        ({"_": True}, "Lose has no '_'; it takes answer, api, "),
        ({"nth": True}, "nth: a whole number, not True"),
        ({"nth": 1.0}, "nth: a whole number, not 1.0"),
        ({"nth": 0}, "nth and times are counted from 1"),
        ({"nth": "all"}, "nth: a whole number, not 'all'"),
        ({"times": "none"}, "times: a whole number, or \"all\", not 'none'"),
        ({"answer": 1}, "answer: true or false, not 1"),
        ({"seed": "x"}, "seed: a whole number, not 'x'"),
        ({"chance_percent": 101}, "chance_percent: from 0 to 100"),
        ({"partition": 1}, "a partition needs its topic"),
        ({"api": "Heartbeat", "topic": "orders"}, "Heartbeat names no topic"),
        ({"fault": "Answer"}, "Answer needs error; it takes api, broker, "),
        ({"fault": "Answer", "error": "NO"}, "Produce never answers 'NO', but "),
        ({"fault": "Delay", "extra_ms": -1}, "extra_ms: from 0 to 2147483647"),
        (
            {"fault": "Throttle", "throttle_time_ms": 2**31},
            "throttle_time_ms: from 0 to 2147483647",
        ),
    ],
)
def test_a_wrong_word_is_named_with_what_is_allowed(entry, words):
    if words.startswith(("fault is", "Lose needs")):
        whole = entry
    else:
        whole = {"fault": "Lose", "api": "Produce"} | entry
    with pytest.raises(ValueError) as error:
        planned(whole)
    assert str(error.value).startswith(words)


def test_the_line_of_a_wrong_fault_is_named():
    with pytest.raises(ValueError, match=r"^line 32, fault 5: Crash has no 'powr'; "):
        plan(EVERY_WORD.replace("power", "powr"))

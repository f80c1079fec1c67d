"""The playground's runs: a question in JSON, as a link holds it, and what the theatre's
player plays.
"""

import json
import re
import subprocess
import sys

import pytest

from minikafka.course.experiments.shop import MORE_PROTOCOLS
from minikafka.course.publishing import playground
from minikafka.theatre.drawing import LAYOUTS

pytestmark = pytest.mark.slow

FREEZE = [8000, "freeze", "consumer A"]


def ask(**question):
    return json.loads(playground.answer(json.dumps(question)))


def members(answer):
    return {
        text for text in answer["play"]["texts"] if re.fullmatch("consumer [A-D]", text)
    }


def test_the_same_link_opens_the_same_run():
    settings = {"seed": 11, "partitions": 4, "seconds": 12}
    assert ask(settings=settings, changes=[FREEZE], ms=9000) == ask(
        settings=settings, changes=[FREEZE], ms=9000
    )
    assert ask(settings=settings, changes=[FREEZE], ms=9000) != ask(
        settings=settings | {"seed": 12}, changes=[FREEZE]
    )


def test_a_click_adds_its_change_at_its_moment_and_undoes_what_was_changed_later():
    first = ask(act="freeze consumer A", at_ms=8000)
    assert first["changes"] == [FREEZE]
    assert first["lines"] == ['8.000 s  cluster.freeze("consumer A")']
    later = ask(
        settings=first["settings"], changes=first["changes"], act="add", at_ms=9000
    )
    assert later["changes"] == [FREEZE, [9000, "add", "consumer C"]]
    assert members(later) == {"consumer A", "consumer B", "consumer C"}
    earlier = ask(
        settings=later["settings"],
        changes=later["changes"],
        act="crash consumer B",
        at_ms=7000,
    )
    assert earlier["changes"] == [[7000, "crash", "consumer B"]]


@pytest.mark.parametrize("protocol", ["range", "kip-848"])
def test_a_reader_that_is_killed_is_given_up_after_45_s_as_by_default(protocol):
    """Lesson 05: the coordinator waits for its session time-out, from its last sign."""
    settings = {"protocol": protocol, "seconds": 15}
    before = ask(settings=settings)["settings"]
    killed = ask(settings=settings, act="crash consumer A", at_ms=8000)
    assert (before["seconds"], killed["settings"]["seconds"]) == (15, 56)
    given = playground.checked(killed["settings"])
    made = [playground.Change(*change) for change in killed["changes"]]
    trace = playground.Rerun(given, playground.Ready())(made)
    (left,) = [event for event in trace if event.kind == "MemberLeft"]
    assert left.detail["member"].startswith("consumer A")
    assert 8000 + 43_000 < left.at <= 8000 + 45_000


def test_a_kill_that_is_moved_is_shown_until_the_group_has_noticed():
    killed = ask(act="crash consumer A", at_ms=6000)
    moved = ask(
        settings=killed["settings"],
        changes=killed["changes"],
        act="move 0",
        at_ms=12_000,
    )
    assert moved["changes"] == [[12_000, "crash", "consumer A"]]
    assert moved["settings"]["seconds"] == killed["settings"]["seconds"] + 6


def test_the_picture_opens_at_the_moment_of_the_link():
    opened = ask(changes=[FREEZE], ms=9000)
    begin = opened["play"]["begin"]
    assert opened["times"][begin] <= 9000 < opened["times"][begin + 1]


@pytest.mark.parametrize("protocol", MORE_PROTOCOLS)
def test_under_every_protocol_a_group_of_two_reads_all_partitions(protocol):
    found = ask(settings={"protocol": protocol, "seconds": 10})
    assert "error" not in found and members(found) == {"consumer A", "consumer B"}


@pytest.mark.parametrize("shows", ["the replicas", "the controllers"])
def test_a_broker_of_three_can_be_killed_and_restarted(shows):
    settings = {"brokers": 3, "shows": shows, "partitions": 1, "seconds": 15}
    before = ask(settings=settings)
    killed = ask(settings=settings, act="kill broker 2", at_ms=6000)
    assert killed["lines"] == ["6.000 s  cluster.crash(2)"]
    back = ask(
        settings=settings, changes=killed["changes"], act="restart broker 2", at_ms=9000
    )
    assert back["lines"][1] == "9.000 s  cluster.restart(2)"
    assert len({json.dumps(each["play"]) for each in (before, killed, back)}) == 3


EVERYTHING_TO_A_GROUP = [
    [6000, "add", "consumer C"],
    [7000, "slow", "consumer A"],
    [8000, "freeze", "consumer B"],
    [9000, "thaw", "consumer B"],
    [10_000, "cut", "consumer C"],
    [11_000, "heal", "consumer C"],
    [12_000, "leave", "consumer C"],
    [13_000, "crash", "consumer B"],
]
TO_A_BROKER = [[6000, "kill", "broker 2"], [9000, "restart", "broker 2"]]


@pytest.mark.parametrize(
    ("settings", "changes"),
    [
        ({}, []),
        ({"partitions": 4, "protocol": "kip-848"}, EVERYTHING_TO_A_GROUP),
        ({"brokers": 3, "shows": "the replicas", "seconds": 12}, TO_A_BROKER),
    ],
)
def test_the_same_as_code_is_a_program_that_shows_the_same_picture(settings, changes):
    given = playground.checked(settings)
    told = playground.answer(json.dumps({"settings": settings, "changes": changes}))
    lines = json.loads(told)["code"]
    names = {}
    lines[-1] = f"shown = {lines[-1]}"
    exec("\n".join(lines), names)
    rerun = playground.Rerun(given, playground.Ready())
    made = [playground.Change(*change) for change in changes]
    assert list(names["cluster"].trace) == rerun(made)
    assert names["shown"].play.story.name == playground.PICTURES[given.shows]


@pytest.mark.parametrize("shows", ["the replicas", "the controllers"])
def test_a_broker_is_killed_when_the_group_has_settled_where_the_click_is_at_an_earlier_moment(
    shows,
):
    settings = {"brokers": 3, "shows": shows, "partitions": 1, "seconds": 10}
    opened = ask(settings=settings)
    settled = max(ms for ms in opened["times"] if ms <= playground.SINCE_MS)
    assert opened["times"][opened["play"]["begin"]] == settled
    killed = ask(settings=settings, act="kill broker 2", at_ms=opened["times"][0])
    assert killed["changes"] == [[playground.SINCE_MS, "kill", "broker 2"]]
    assert killed["times"][killed["play"]["begin"]] == playground.SINCE_MS


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ({"settings": {"seed": "x"}}, "seed is a whole number"),
        (
            {"settings": {"partitions": 1000}},
            "partitions is a whole number from 1 to 12",
        ),
        ({"settings": {"protocol": "magic"}}, "protocol is one of"),
        ({"settings": {"brokers": 4}}, "brokers is a whole number from 1 to 3"),
        (
            {"settings": {"shows": "everything"}},
            "shows is one of the group, the replicas, the controllers",
        ),
        ({"settings": {"shows": "the replicas"}}, "choose 3 brokers"),
        ({"settings": {"rack": 1}}, "rack"),
        ({"act": "crash consumer A", "at_ms": 60_000}, "The run ends at 20.000 s"),
        ({"changes": [[100, "crash", "consumer A"]]}, "Nothing can be changed before"),
        ({"changes": [[8000, "crash", "consumer Q"]]}, "consumer Q is not there yet"),
    ],
)
def test_a_link_that_makes_no_sense_is_answered_in_a_sentence(question, why):
    assert why in ask(**question)["error"]


def test_it_needs_neither_a_kernel_nor_ipywidgets():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['ipywidgets', 'IPython',"
        " 'nbformat', 'kafka'])); from minikafka.course.publishing.playground import"
        " answer; assert 'error' not in answer('{}')[:9]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_run_that_stands_ready_is_answered_as_one_from_the_beginning():
    shown = {"changes": [FREEZE], "settings": {"seconds": 16}}
    later = {**shown, "act": "crash consumer B", "at_ms": 9000}
    playground.READY = playground.Ready()
    anew = ask(**later)
    for moments in ([8500], [8000, 9000], [9000, 8200], [12_000]):
        for ms in moments:
            playground.follow(json.dumps({**shown, "ms": ms}))
        assert ask(**later) == anew
        assert ask(**later) == anew


def test_only_the_layout_that_is_shown_is_drawn_anew():
    every = ask(changes=[FREEZE])["play"]["layouts"]
    (narrow,) = ask(changes=[FREEZE], width=560)["play"]["layouts"]
    assert [each["width"] for each in every] == list(LAYOUTS)
    assert narrow["steps"][0] != [] and narrow["width"] == 560
    first = ask(changes=[FREEZE], width=560, first=True)
    assert len(first["play"]["layouts"]) == len(LAYOUTS)

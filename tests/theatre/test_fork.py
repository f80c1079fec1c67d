"""Two leaders, one log: where logs part, what is cut off, who waits."""

import pytest

from minikafka.course.experiments.lesson_10_runs import (
    two_leaders_meet,
    what_lonely_hears,
)
from minikafka.theatre import picture
from minikafka.theatre.drawing import NARROW, WIDE
from tests.theatre.replicas import first, shapes


@pytest.fixture(scope="module")
def run():
    with two_leaders_meet() as cluster:
        return tuple(cluster.trace)


@pytest.fixture(scope="module")
def fork(run):
    return picture("fork", run, seed=1)


def texts(pic, scene, width=WIDE):
    drawn = shapes(pic, scene, width).values()
    return {shape.get("text", "") for shape in drawn}


def test_there_are_two_leaders_from_the_election_until_the_old_one_hears_of_it(fork):
    leading = [
        [copy["broker"] for copy in scene["space"]["copies"] if copy["leads"]]
        for scene in fork.scenes
    ]
    elected = first(fork, "LeaderElected")["step"]
    heard = first(fork, "LeaderFollowed")["step"]
    assert {len(each) for each in leading[:elected]} == {1}
    assert leading[elected:heard] == [[2, 3]] * (heard - elected)
    assert leading[heard:] == [[3]] * (len(leading) - heard)


def test_the_logs_part_at_the_first_offset_with_two_records_until_one_is_cut(fork):
    parts = [scene["space"]["fork"] for scene in fork.scenes]
    paid = first(fork, "RecordsAppended", "paid")["step"]
    cut = first(fork, "LogTruncated")["step"]
    assert parts == [None] * paid + [1] * (cut - paid) + [None] * (len(parts) - cut)
    assert "the logs part at offset 1" in texts(fork, fork.scenes[paid])


def test_kip_279_what_is_cut_off_is_the_record_that_was_there_and_falls(fork):
    cut = first(fork, "LogTruncated")
    before, after = fork.scenes[cut["step"] - 1], cut
    key = "record/2/1/0"
    for width in (WIDE, NARROW):
        there, gone = shapes(fork, before, width)[key], shapes(fork, after, width)[key]
        assert gone["x"] == there["x"] and gone["y"] > there["y"] + there["h"]
        assert gone["line"] == "trouble"
        assert gone["same"] == there["same"]
    assert key in fork.drawings(WIDE)[cut["step"]].outlined


def test_a_producer_has_its_record_in_hand_until_it_hears_of_it(fork):
    hands = {
        scene["step"]: bool(
            next(
                (
                    each[5]
                    for each in scene["space"]["producers"]
                    if each[0] == "lonely"
                ),
                (),
            )
        )
        for scene in fork.scenes
    }
    sent = first(fork, "RecordsAppended", "lonely order")["step"]
    *_, heard = fork.scenes
    assert heard["sentence"] == "lonely hears: done, offset 2."
    assert all(hands[step] for step in range(sent, heard["step"]))
    assert not hands[heard["step"]]


def test_one_is_cut_off_until_all_hear_each_other_again(fork):
    """The first of two links heals without a scene of its own, 30 s after the last one:
    that scene stays what it was.
    """
    cut = first(fork, "LinkCut")["step"]
    healed = first(fork, "LinkHealed")["step"]
    scenes = fork.scenes[cut:healed]
    assert fork.scenes[healed]["at"] - scenes[-1]["at"] > 20_000
    for scene in scenes:
        lives = [copy["life"] for copy in scene["space"]["copies"]]
        assert "cut off" in lives


def test_lengths_are_true_and_say_how_long_somebody_waited(fork):
    last = fork.scenes[-1]
    drawn = shapes(fork, last)
    sent = first(fork, "RecordsAppended", "lonely order")
    assert drawn["time/bars/2/name"]["text"] == "lonely waits"
    waited_s = (last["at"] - sent["at"]) / 1000
    assert drawn["time/bars/2/number"]["text"] == f"{waited_s:.1f} s"
    ground, bar = drawn["time/bars/2/ground"], drawn["time/bars/2/bar/1"]
    whole_ms = last["at"] - fork.scenes[0]["at"]
    assert bar["w"] / ground["w"] == pytest.approx(1000 * waited_s / whole_ms, abs=0.01)


def test_a_lane_has_no_name_before_it_begins(fork):
    assert "broker 3 leads" not in texts(fork, fork.scenes[0])
    assert "broker 3 leads" in texts(fork, first(fork, "LeaderElected"))


def test_what_lonely_hears_is_known_when_it_hears_it(run):
    heard = [
        number
        for number, event in enumerate(run)
        if event.node == "lonely" and event.kind == "RecordsAcknowledged"
    ]
    assert what_lonely_hears(run) == 2
    with pytest.raises(LookupError):
        what_lonely_hears(run[: heard[-1]])

"""Two leaders, one log: where logs part, what is cut off, who waits."""

from functools import cache

import pytest

from minikafka.course.experiments.lesson_10_runs import (
    two_leaders,
    two_leaders_meet,
    what_lonely_hears,
    where_it_is_cut,
)
from minikafka.theatre import picture
from minikafka.theatre.drawing import LAYOUTS, NARROW, PHONE, WIDE
from tests.theatre.replicas import first, shapes


@pytest.fixture(scope="module")
def run():
    with two_leaders_meet() as cluster:
        return tuple(cluster.trace)


@pytest.fixture(scope="module")
def fork(run):
    return picture("fork", run, seed=1)


@cache
def lost_run():
    cluster, _ = two_leaders(acks=1, values=("booked", "shipped"))
    with cluster:
        cluster.heal()
        cluster.run(seconds=10)
        return tuple(cluster.trace)


@pytest.fixture(scope="module")
def lost():
    return picture("fork", lost_run(), seed=1)


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
                    each[6]
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
    assert heard["kind"] == "RecordsAcknowledged"
    assert all(hands[step] for step in range(sent, heard["step"]))
    assert not hands[heard["step"]]


def test_an_answer_comes_back_from_its_record_and_stays_with_the_producer(fork):
    *_, heard = fork.scenes
    for width in LAYOUTS:
        drawn = shapes(fork, heard, width)
        answer, record = drawn["producer/lonely/answer/2"], drawn["record/3/2/1"]
        assert (answer["from_x"], answer["from_y"]) == (record["x"], record["y"])
        assert answer["x"] > record["x"] and answer["text"] == "✓"
        assert "producer/lonely/hand" not in drawn


def test_records_have_names_or_letters_that_a_line_explains(fork):
    last = fork.scenes[-1]
    wide, phone = shapes(fork, last), shapes(fork, last, PHONE)
    for offset, epoch, name, letter in (
        (0, 0, "created", "cr"),
        (1, 1, "paid", "pa"),
        (2, 1, "lonely order", "lo"),  # an l alone looks like a 1
    ):
        for broker in (1, 2, 3):
            key = f"record/{broker}/{offset}/{epoch}"
            assert wide[key]["more"] == name and "text" not in wide[key]
            assert phone[key]["text"] == letter and "more" not in phone[key]
    assert "names/0" not in wide
    assert phone["names/0"]["text"] == "cr created · lo lonely order · pa paid"
    # and of no record that there isn't yet
    assert shapes(fork, fork.scenes[0], PHONE)["names/0"]["text"] == "cr created"


def test_the_last_step_says_all_in_one_sentence(fork, lost):
    assert fork.scenes[-1]["sentence"] == (
        "Two brokers led for 52.0 s. The larger epoch wins, so broker 2 dropped “lonely"
        " order”. It was never acknowledged, so lonely sent it again, and heard “done,"
        " offset 2” after 60.2 s."
    )
    outlined = fork.drawings(WIDE)[-1].outlined
    assert {"record/2/1/0", "record/3/2/1"} <= set(outlined), "the record, both times"
    assert lost.scenes[-1]["sentence"] == (
        "Two brokers led for 53.0 s. The larger epoch wins, so broker 2 dropped “booked”"
        " and “shipped”, although lonely was told “done”: 2 acknowledged records are"
        " lost."
    )


def test_logs_are_alike_when_all_hold_the_same_records(fork):
    said = [scene["step"] for scene in fork.scenes if "alike" in scene["sentence"]]
    assert said == [first(fork, "LogTruncated")["step"] + 1]


def test_with_acks_1_one_sees_that_records_were_acknowledged_and_then_cut(lost):
    cut = first(lost, "LogTruncated")
    assert "was told “done”, and now the record is gone" in cut["sentence"]
    for width in LAYOUTS:
        drawn = shapes(lost, cut, width)
        words = drawn["dropped/what"]["text"], drawn["dropped/fate"]["text"]
        assert words == ("broker 2 dropped", "was ✓, now lost")
        for offset in (1, 2):
            gone = drawn[f"record/2/{offset}/0"]
            assert gone["text"].startswith("✓") == (width > PHONE)
            assert gone["fill"] == "good"
    assert where_it_is_cut(lost_run()) == 1


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
    lane = "time/lane/lonely waits"
    assert drawn[f"{lane}/name"]["text"] == "lonely waits"
    waited_s = (last["at"] - sent["at"]) / 1000
    assert drawn[f"{lane}/bar/1/words"]["text"] == f"no answer for {waited_s:.1f} s"
    assert drawn[f"{lane}/number"]["text"] == "✓ done"
    ground, bar = drawn[f"{lane}/ground"], drawn[f"{lane}/bar/1"]
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


@pytest.mark.parametrize("width", [NARROW, PHONE])
def test_on_a_narrow_page_both_leaders_say_their_epochs(fork, width):
    elected = first(fork, "LeaderElected")
    drawn = shapes(fork, elected, width)
    for copy in elected["space"]["copies"]:
        key = f"node/{copy['broker']}/chip/word"
        if not copy["leads"]:
            assert key not in drawn
            continue
        assert drawn[key]["text"] == f"epoch {copy['epoch']}"

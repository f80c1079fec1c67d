"""What the rebalance's picture shows beside who reads what: an order that keeps a member
busy, signs of life and silence, what was written outside Kafka twice, the moment of two
owners from close by; and steps that show only records, folded.
"""

from functools import cache
from itertools import pairwise

import pytest

from minikafka.course.experiments.lesson_05_runs import gone, pay_with
from minikafka.course.experiments.lesson_06_runs import newcomer
from minikafka.faults import Freeze
from minikafka.theatre import picture
from minikafka.theatre.drawing import LAYOUTS, NARROW, PHONE, WIDE
from tests.theatre.test_rebalance import member, scene, texts

both_layouts = pytest.mark.parametrize("width", [WIDE, NARROW])


def billing(consumer, payments, wait):
    while True:
        for [record] in consumer.poll(timeout_ms=1000, max_records=1).values():
            wait(0.4)
            payments.add(record, record.value)
            consumer.commit()


@cache
def back():
    """A stands still for a minute, while it pays o-24."""
    freeze = Freeze("consumer A", at_ms=24_100, for_ms=60_000)
    return picture("rebalance", pay_with(billing, [freeze]).trace)


@cache
def killed():
    cluster = gone(lambda cluster, a: cluster.crash(a))
    return picture("rebalance", cluster.trace)


@cache
def busy():
    return picture("rebalance", newcomer(busy_s=12).trace, since_ms=20_000)


def shapes(pic, found, width=WIDE):
    return pic.drawings(width)[found["step"]].shapes


# -- what is there twice


@both_layouts
def test_an_effect_that_is_there_twice_has_both_its_writers_at_it(width):
    pic = back()
    words = [text for text in texts(pic, pic.scenes[-1], width)]
    assert "o-24 B" in words
    assert "o-24 A" in words or (width == NARROW and "A" in words)
    assert pic.scenes[-1]["sentence"] == (
        "o-24 is in payments twice: by B, and 11.6 s later by A, which had"
        " already been evicted."
    )


def test_it_is_told_at_the_second_time_and_not_before():
    pic = back()
    told = scene(pic, "now o-24 is there twice")
    assert told["at"] == 84_101 and told["trouble"] and told["light"]
    for before in pic.scenes[: told["step"]]:
        assert not any("o-24" in text for text in texts(pic, before))


def test_a_program_that_writes_is_its_consumers():
    effects = back().scenes[-1]["space"]["effects"]
    assert [who for _, who, key in effects if key == "o-24"] == [
        "consumer B",
        "consumer A",
    ]
    assert len(effects) == len({key for _, _, key in effects}) + 1


@both_layouts
def test_two_owners_that_are_too_short_to_be_seen_are_enlarged(width):
    pic = back()
    before = scene(pic, "7 are waiting now")
    assert not [key for key in shapes(pic, before, width) if "time/close" in key]
    drawn = shapes(pic, scene(pic, "commit fails"), width)
    [split] = [
        shape
        for key, shape in drawn.items()
        if key.startswith("time/close/P0/") and shape.get("tip") == "A and B own it"
    ]
    assert split["w"] > width / 4
    assert drawn["time/close/what"]["text"] == "enlarged: 0.11 s"


# -- signs of life


def test_a_silent_member_has_its_signs_of_life_and_a_bracket_until_it_is_out():
    pic = killed()
    last = shapes(pic, pic.scenes[-1])
    signs = [key for key in last if key.startswith("time/silence/sign/")]
    words = texts(pic, pic.scenes[-1])
    assert len(signs) == 3
    assert "45.0 s without a sign of life" in words
    assert "3.0 s to B's next heartbeat" in words
    assert pic.scenes[-1]["sentence"] == (
        "In all, nobody read P0 for 45.03 s. A was evicted 45.0 s after its last sign"
        " of life, which came 3.0 s before its crash, and B heard of that 3.0 s later."
    )


@pytest.mark.parametrize("width", LAYOUTS)
def test_the_coordinator_evicts_a_killed_member_42_s_after_the_kill(width):
    """The session of 45 s runs from its last heartbeat, which came 3 s before."""
    pic = killed()
    killed_at = scene(pic, "consumer A crashes")["at"]
    evicted_at = next(each for each in pic.scenes if each["kind"] == "MemberLeft")["at"]
    assert round((evicted_at - killed_at) / 1000) == 42
    drawn = shapes(pic, pic.scenes[-1], width)
    bracket, session = (drawn[f"time/silence/{key}/line"] for key in ("killed", "out"))
    assert bracket["width"] > session["width"]
    assert bracket["x"] > session["x"]
    assert bracket["x2"] == pytest.approx(session["x2"])
    assert drawn["time/silence/killed/words"]["text"].startswith("42 s")


def test_the_bracket_begins_when_a_sign_is_overdue_and_counts_what_has_passed():
    pic = killed()
    crashed = scene(pic, "consumer A crashes")
    assert "time/silence/out/line" not in shapes(pic, crashed)
    after = pic.scenes[crashed["step"] + 1]
    assert "6.0 s without a sign of life" in texts(pic, after)


# -- busy


def test_a_member_with_an_order_in_hand_has_pale_lanes_that_say_so():
    pic = busy()
    waits = scene(pic, "All wait for B")
    drawn = shapes(pic, waits)
    for label in ("P2", "P3"):
        pale = [
            key
            for key in drawn
            if key.startswith(f"time/{label}/") and key.endswith("/pale")
        ]
        assert len(pale) == 1 and drawn[pale[0]]["fade"] < 0.5
    assert "B busy: 1 record, 12 s" in texts(pic, waits)
    joins = scene(pic, "D is a member")
    assert member(joins, "B")["words"] == "busy with 1 record, 10 s more"


def test_that_the_next_order_would_be_quick_is_no_step_while_one_is_in_hand():
    assert not [each for each in busy().scenes if "0 ms" in each["sentence"]]
    spans = scene(busy(), "B gives up P2 and P3")["space"]["spans"]["P2"]
    assert [what for _, _, what, *_ in spans][-3:] == ["busy", "reads", "nobody"]
    done_ms = spans[-2][0]
    assert spans[-1][0] - done_ms < 10


# -- where nobody stops for long


def test_where_nobody_stops_for_long_it_ends_with_who_decided():
    pic = picture("rebalance", newcomer(busy_s=0.1).trace, since_ms=20_000)
    last = pic.scenes[-1]
    assert last["sentence"] == (
        "B, the group leader, decided: A P0 and P1; B P2 and P3; C P4; D P5."
        " The coordinator only passed it on."
    )
    said = texts(pic, last)
    assert "decides and sends shares" in " ".join(said)
    assert {"gets: P0 P1", "gets: P5"} <= set(said)
    drawn = pic.drawings(WIDE)[-1].shapes
    asks = {key for key in drawn if key.endswith("/asks")}
    answers = {key for key in drawn if key.endswith("/answer")}
    assert asks == {"member/B/asks"}
    assert answers == {f"member/{name}/answer" for name in "ACD"}
    phone = pic.drawings(PHONE)[-1].shapes
    assert phone["member/B/asks"]["x"] < phone["member/A/answer/down"]["x"], (
        "what is sent and what is got are lines beside each other"
    )


def test_time_without_a_reader_is_counted_where_it_is_long_enough_to_be_seen():
    short = picture("rebalance", newcomer(busy_s=0.1).trace, since_ms=20_000)
    for pic, counts in [(short, False), (busy(), True)]:
        assert ("not read for" in texts(pic, pic.scenes[-1])) == counts
        assert bool(pic.play.legend) == counts


# -- steps that show only records


def only_records(told):
    return told["sentence"].startswith("Records ")


@pytest.mark.parametrize("shown", [back, killed, busy])
def test_a_row_of_steps_with_nothing_but_records_has_a_beginning_and_an_end(shown):
    rows = []
    for one, after in pairwise(shown().scenes):
        if "light" in one or "light" in after:
            continue
        if only_records(one) and only_records(after):
            rows.append(one["step"])
    assert all(after - step > 1 for step, after in pairwise(rows))
    whole = [
        each for each in shown().scenes if "Records come in and are" in each["sentence"]
    ]
    assert all(after["step"] - each["step"] > 1 for each, after in pairwise(whole))


def test_in_a_live_picture_there_are_moments_for_its_levers():
    trace = newcomer(busy_s=12).trace
    live = picture("rebalance", trace, since_ms=20_000, live={"members": []})
    assert len(live.scenes) > len(busy().scenes)

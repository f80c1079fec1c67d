"""What a newcomer must see in the rebalance's picture: why it takes long, who holds
what, how many records waited.
"""

from functools import cache

import pytest

from minikafka.course import demo
from minikafka.course.experiments.lesson_05_runs import killed
from minikafka.course.experiments.lesson_06_runs import newcomer
from minikafka.theatre import picture
from minikafka.theatre.drawing import PHONE, WIDE
from minikafka.theatre.pictures.rebalance.spans import lasted_ms, seconds
from tests.theatre import groups
from tests.theatre.groups import GroupStory
from tests.theatre.test_rebalance import A, B, C, member, scene, texts


def shown(protocol, happening, **options):
    return picture(
        "rebalance",
        demo.rebalance(protocol, happening, 7),
        since_ms=demo.SINCE_MS,
        **options,
    )


@cache
def shown_busy():
    return picture("rebalance", newcomer(busy_s=12).trace, since_ms=20_000)


@pytest.fixture(scope="module")
def joins():
    return shown("range", "C joins")


@pytest.fixture(scope="module")
def cooperative():
    return shown("cooperative-sticky", "C joins")


@pytest.fixture(scope="module")
def freezes():
    return shown("range", "A freezes")


def test_a_member_that_gave_up_all_is_seen_to_do_so(joins):
    assert (
        member(scene(joins, "nobody reads any partition"), A)["words"] == "gives up all"
    )


def test_a_card_says_what_its_member_does_once_and_in_plain_words(joins):
    for drawing in joins.drawings(WIDE):
        said = [
            shape["text"]
            for key, shape in drawing.shapes.items()
            if "/words" in key and key.startswith("member/")
        ]
        assert said and not [
            text for text in said if "_" in text or text in ("stable", "Stable")
        ]


def test_who_joined_says_for_whom_it_waits():
    found = scene(shown_busy(), "All wait for B")
    assert member(found, "A")["words"] == "waits for B"
    assert member(found, "B")["words"] == "busy, joins in 5 s"


def test_the_one_member_that_all_wait_for_has_light_once_and_only_where_it_takes_long(
    joins,
):
    # the end is lit for what came of it
    lit = [each for each in shown_busy().scenes[:-1] if each.get("light")]
    assert (
        len(lit) == 1
        and "All wait for B: it joins with its next poll." in lit[0]["sentence"]
    )
    assert {"member/B", "coordinator", "time/P0", "part/P2"} <= set(lit[0]["light"])
    assert not any(each.get("light") for each in joins.scenes[:-1]), (
        "here nobody is waited for"
    )


def test_how_many_records_waited_stays_on_the_lane_when_they_are_read(joins):
    before, after = (
        scene(joins, "consumer A gets P0 and P1")["step"] - 1,
        joins.scenes[-1],
    )
    waiting = joins.scenes[before]["space"]["waiting"]
    waited = sorted(text for text in texts(joins, after) if " waited" in text)
    numbers = sorted(f"{number} waited" for number in waiting.values())
    assert [" ".join(text.split()[:2]) for text in waited] == numbers
    assert not any(" waited" in text for text in texts(joins, joins.scenes[before]))


def test_a_lane_says_how_long_nobody_read_it_and_why_where_there_is_room():
    pic = shown_busy()
    wide, phone = (pic.drawings(layout)[-1].shapes for layout in (WIDE, PHONE))
    assert wide["time/P0/1/who"]["text"] == "5 records waited 8.0 s for B"
    assert phone["time/P0/1/who"]["text"] == "nobody, 8.0 s"


def test_nobody_has_what_only_a_removed_member_believes_to_have(freezes):
    frozen = scene(freezes, "consumer A is frozen")
    assert frozen["space"]["free"] == [], "it is a member still"
    out = scene(freezes, "removes consumer A from the group")
    assert member(out, A)["owns"] == ["P0", "P1"] == out["space"]["free"]
    shares = scene(freezes, "consumer B sends its assignment")
    assert member(shares, B)["words"] == "takes over P0, P1 and P2", (
        "classic members don't wait for one who is gone"
    )


def test_a_cooperative_member_gives_up_what_its_answer_to_sync_group_lacks(cooperative):
    found = scene(
        cooperative, "consumer A gives up P4: nobody reads it now. It keeps P0 and P2."
    )
    assert member(found, A)["answered"][0] == "SyncGroup: P0 and P2"
    done = scene(cooperative, "consumer A is done with P4")
    assert done["at"] > found["at"] and member(done, A)["answered"][2] < done["number"]
    again = scene(cooperative, "consumer A joins again", 1)
    assert "it has given partitions back that others wait for" in again["sentence"]


def test_a_member_with_nothing_keeps_nothing(cooperative):
    told = scene(cooperative, "consumer C's Heartbeat")
    assert told["sentence"].endswith("it must join again.")
    assert member(told, C)["words"] == "was told, joins at next poll"


def test_a_member_that_leaves_gives_up_unasked():
    pic = shown("range", "A leaves")
    assert (
        "gives up P0 and P1, unasked" in scene(pic, "consumer A gives up")["sentence"]
    )
    leaving = member(scene(pic, "LeaveGroup (13)"), A)
    assert leaving["words"] == "leaves the group"


def test_under_kip_848_a_member_waits_to_hear_of_what_is_free():
    pic = shown("kip-848", "C joins")
    assert (
        member(scene(pic, "consumer B is done with P5"), C)["words"]
        == "waits to hear of P5"
    )
    assert member(scene(pic, "it may read P2 and P5"), C)["words"] == "takes over P5"


def test_members_of_two_groups_stand_under_each_other_and_the_cursor_leaves_their_words_alone():
    pic = shown(
        "range", "C joins", beside=demo.rebalance("cooperative-sticky", "C joins", 7)
    )
    for drawing in pic.drawings(960):
        shapes = drawing.shapes
        for n in range(3):
            places = {
                shapes[key]["x"]
                for key in (f"group/{g}/member/{n}" for g in range(2))
                if key in shapes
            }
            assert len(places) <= 1
        assert shapes["time/cursor/0"]["y2"] < shapes["group/1/title/name"]["y"] - 10


def test_kip_800_a_member_that_says_why_it_leaves_has_left_as_one_that_does_not():
    for why in ("it said goodbye", "it left: the consumer is being closed"):
        story = GroupStory(4, seen_by="broker")
        story.at(1000).join(A)
        story.join(B)
        story.assign({A: [0, 1], B: [2, 3]})
        story.leave(B, why)
        assert (
            member(picture("rebalance", story.events).scenes[-1], B)["life"] == "left"
        )


def test_at_the_end_it_says_which_partition_nobody_read_for_longest_and_lights_it():
    last = picture("rebalance", groups.classic("range")).scenes[-1]
    unread = {
        label: lasted_ms("nobody", spans, 0, last["at"])
        for label, spans in last["space"]["spans"].items()
    }
    longest = max(unread, key=lambda label: unread[label])
    words = f"In all, nobody read {longest} for {seconds(unread[longest])}."
    assert last["sentence"].startswith(words)
    assert f"time/{longest}/unread" in last["light"]


def test_before_the_first_reader_all_say_that_nobody_reads_yet():
    story = GroupStory(4)
    story.at(1000).join(A)
    story.flow(3000)
    pic = picture("rebalance", story.events)
    found = scene(pic, "nobody reads yet")
    said = texts(pic, found)
    assert {"nobody yet", "no reader yet"} <= set(said)
    drawn = pic.drawings(WIDE)[found["step"]].shapes
    assert not any(shape.get("ink") == "trouble" for shape in drawn.values())
    assert not any(key.endswith("/unread") for key in drawn)


def test_who_joins_again_has_given_partitions_up_in_the_first_of_two_rebalances():
    pic = shown("cooperative-sticky", "C joins")
    chapters = [each["chapter"] for each in pic.scenes]
    assert "rebalance: consumer A has given P4 up and joins again" in chapters or (
        "rebalance: consumer B has given P5 up and joins again" in chapters
    )


def test_a_member_for_which_no_partition_is_left_has_light_at_the_end():
    story = GroupStory(2)
    story.at(1000).join(A)
    story.join(B)
    story.join(C)
    story.rebalance({A: [0], B: [1], C: []})
    last = picture("rebalance", story.events).scenes[-1]
    assert member(last, C)["words"] == "no partition left"
    assert last["sentence"].endswith("No partition is left for C: each has one reader.")
    assert last["light"] == ["time/P0", "time/P1", f"member/{C}"]


def test_a_request_ends_at_the_coordinator_from_cards_and_from_lines():
    story = GroupStory(4)
    story.at(1000)
    for name in (A, B, C, "consumer D"):
        story.join(name)
    pic = picture("rebalance", story.events)
    for drawing in (*pic.drawings(WIDE), *pic.drawings(PHONE)):
        shapes = drawing.shapes
        bar = shapes["coordinator"]
        heads = [
            shape["y2"]
            for key, shape in shapes.items()
            if key.startswith("member/") and key.endswith("/asks")
        ]
        assert all(0 < head - bar["h"] < 9 for head in heads)


def test_on_a_phone_members_keep_their_names_and_are_equally_high():
    pic = picture("rebalance", killed().trace)
    for drawing in pic.drawings(PHONE):
        members = [name for name in (A, B) if f"member/{name}" in drawing.shapes]
        names = [drawing.shapes[f"member/{name}/name"]["text"] for name in members]
        assert names == members
        assert len({drawing.shapes[f"member/{name}"]["h"] for name in members}) <= 1


def test_members_are_cards_beside_each_other_and_on_a_phone_lines():
    pic = picture("rebalance", groups.classic("range"))
    for width, is_beside in ((WIDE, True), (PHONE, False)):
        shapes = pic.drawings(width)[-1].shapes
        cards = [shapes[f"member/{name}"] for name in (B, C)]
        assert (cards[0]["y"] == cards[1]["y"]) is is_beside
        assert cards[1]["w"] < width / 2 or not is_beside
        # what it reads is in its own card
        part, card = shapes["part/P0"], cards[1]
        assert card["y"] < part["y"] and part["y"] + part["h"] < card["y"] + card["h"]

"""Two owners of one partition: the lane that is split, the lamp that counts, and the
step that has light.
"""

import pytest

from minikafka.course import demo
from minikafka.theatre import picture
from minikafka.theatre.drawing import NARROW, WIDE
from tests.theatre import groups
from tests.theatre.groups import GroupStory
from tests.theatre.test_rebalance import A, B, C, member, scene, texts, two_members


@pytest.fixture(scope="module")
def cheated():
    """C reads B's P2, too, for two seconds."""
    story = two_members()
    story.join(C)
    story.rebalance({A: [0], B: [2], C: [1, 3]})
    mine = [["orders", 1], ["orders", 3]]
    story.member(
        C,
        "PartitionsAssigned",
        member=story.id(C),
        generation=2,
        partitions=[["orders", 2]],
        owned=[*mine, ["orders", 2]],
    )
    story.now += 2000
    story.member(
        C,
        "PartitionsRevoked",
        member=story.id(C),
        generation=2,
        partitions=[["orders", 2]],
        owned=mine,
    )
    story.flow(3000)
    return picture("rebalance", story.events)


@pytest.fixture(scope="module")
def thawed():
    """A was frozen for longer than its session, and goes on."""
    return picture(
        "rebalance", demo.rebalance("range", "A freezes", 7), since_ms=demo.SINCE_MS
    )


def shapes(pic, found, width=WIDE):
    return pic.drawings(width)[found["step"]].shapes


def test_the_lamp_is_red_from_the_very_step_on_until_it_is_over_and_then_says_for_how_long_it_was(
    cheated,
):
    begin = scene(cheated, "only one should")
    before, after = cheated.scenes[begin["step"] - 1], cheated.scenes[-1]
    assert (
        begin["sentence"].endswith("Now B and C own P2: only one should.")
        and begin["trouble"]
    )
    assert "lamp" not in shapes(cheated, before)
    assert shapes(cheated, begin)["lamp"]["fill"] == "trouble"
    assert "two owners: P2" in texts(cheated, begin)
    assert "P2 had two owners, for 2.00 s" in texts(cheated, after)
    assert shapes(cheated, after)["lamp"]["fill"] == "good"


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_while_two_own_a_partition_its_lane_has_both_colours_and_an_edge(
    cheated, width
):
    begin = scene(cheated, "only one should")
    actors = {each.name: each.colour for each in cheated.play.actors.values()}
    for found in cheated.scenes[begin["step"] : begin["step"] + 2]:
        lane = {
            key: shape
            for key, shape in shapes(cheated, found, width).items()
            if key.startswith("time/P2/")
        }
        [edge] = [
            key
            for key, shape in lane.items()
            if shape.get("line") == "trouble" and shape["fill"] == "none"
        ]
        halves = [lane[edge.replace("/span", f"/{half}")] for half in range(2)]
        assert [half["fill"] for half in halves] == [actors[B], actors[C]]
        assert (
            halves[0]["y"] < halves[1]["y"] and halves[0]["w"] == lane[edge]["w"] >= 10
        )


def test_the_step_has_light_on_both_cards_the_lane_and_the_lamp_and_no_other_step_has(
    cheated,
):
    begin = scene(cheated, "only one should")
    lit = cheated.drawings(WIDE)[begin["step"]]
    assert {
        f"member/{B}",
        f"member/{C}",
        "lamp",
        "time/P2/ground",
        "part/P2",
    } <= {*lit.outlined}
    assert f"member/{A}" not in lit.lit and "time/P1/ground" not in lit.lit
    last = cheated.scenes[-1]
    assert last["sentence"] == (
        "In all, P2 had two owners for 2.00 s: C had it before B gave it up."
    )
    assert [each["step"] for each in cheated.scenes if each.get("light")] == [
        begin["step"],
        last["step"],
    ]


def test_a_member_that_was_put_out_and_stands_still_is_no_second_owner():
    last = picture("rebalance", groups.classic("range")).scenes[-1]
    assert member(last, A)["owns"] == ["P0", "P1"], "it still believes so"
    assert last["space"]["two_owners"] == []


def test_a_member_that_goes_on_after_it_was_put_out_is_a_second_owner_until_it_hears(
    thawed,
):
    back, lost = (
        scene(thawed, "goes on as if no time had passed"),
        scene(thawed, "has lost"),
    )
    assert (
        back["space"]["two_owners"] == ["P0", "P1"]
        and back["light"]
        and back["trouble"]
    )
    assert (
        member(back, A)["words"] == "is out, doesn't know it"
        and member(back, B)["words"] == "reads"
    )
    assert lost["space"]["two_owners"] == []
    assert any(
        text.startswith("2 partitions had two owners, for 0.")
        for text in texts(thawed, thawed.scenes[-1])
    )


def test_the_lamp_sees_an_assignment_that_gives_one_partition_to_two():
    story = GroupStory(2, seen_by="broker")
    story.at(1000).join(A)
    story.join(B)
    story.assign({A: [0, 1], B: [1]})
    assert picture("rebalance", story.events).scenes[-1]["space"]["two_owners"] == [
        "P1"
    ]


def test_flaws_of_an_assignment_are_counted_and_name_members_by_their_letters():
    story = two_members()
    ran = next(each for each in story.events if each.kind == "AssignorRan")
    ran.detail["problems"] = [
        f"orders-{n} goes to two: {story.id(A)} and {story.id(B)}" for n in range(4)
    ]
    found = scene(picture("rebalance", story.events), "the group leader, runs")
    assert found["sentence"].endswith(
        " But orders-0 goes to two: A and B, and 3 more flaws."
    )


def test_words_on_hatching_have_paper_around_them(thawed):
    drawn = shapes(thawed, thawed.scenes[-1])
    hatched = [
        key.removesuffix("/span")
        for key, shape in drawn.items()
        if shape.get("fill") == "hatch"
    ]
    named = [key for key in hatched if f"{key}/who" in drawn]
    assert named
    assert all(drawn[f"{key}/who/plate"]["fill"] == "paper" for key in named)

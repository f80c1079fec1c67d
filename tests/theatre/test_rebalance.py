"""The rebalance: who assigns, who reads what, what nobody reads, and for how long."""

import json

import pytest

from minikafka.theatre import fitting, picture
from minikafka.theatre.drawing import NARROW, WIDE
from minikafka.theatre.pictures.rebalance.spans import lasted_ms
from minikafka.trace import Event
from tests.theatre import groups
from tests.theatre.groups import GroupStory

A, B, C = "consumer A", "consumer B", "consumer C"


@pytest.fixture(scope="module")
def eager():
    return picture("rebalance", groups.classic("range"), seed=7)


@pytest.fixture(scope="module")
def cooperative():
    return picture("rebalance", groups.classic("cooperative-sticky"), seed=7)


@pytest.fixture(scope="module")
def kip_848():
    return picture("rebalance", groups.consumer(), seed=7)


def scene(pic, words, nth=0):
    """The nth scene whose sentence holds these words."""
    return [each for each in pic.scenes if words in each["sentence"]][nth]


def member(found, name):
    return next(each for each in found["space"]["members"] if each["name"] == name)


def texts(pic, found, width=WIDE):
    return [
        shape["text"]
        for shape in pic.drawings(width)[found["step"]].shapes.values()
        if "text" in shape
    ]


def unread(pic):
    last = pic.scenes[-1]
    return {
        label: lasted_ms(
            "nobody", last["space"]["spans"][label], pic.cast["since_ms"], last["at"]
        )
        for label in pic.cast["partitions"]
    }


def two_members():
    """A and B on four partitions, generation 1."""
    story = GroupStory(4)
    story.at(1000).join(A)
    story.join(B)
    story.assign({A: [0, 1], B: [2, 3]})
    return story


# -- what it says


def test_a_trace_with_a_rebalance_is_shown_as_one():
    assert fitting(groups.classic()) == "rebalance"
    assert fitting(GroupStory().events) == "log"


def test_every_rebalance_is_a_chapter(eager):
    chapters = [
        each["chapter"] for each in eager.scenes if each["kind"] == "RebalanceStarted"
    ]
    assert len(chapters) == 4 and all(
        each.startswith("rebalance: consumer") for each in chapters
    )


def test_sentences_name_the_request_the_error_and_their_numbers(eager):
    told = " ".join(each["sentence"] for each in eager.scenes)
    for api in (
        "JoinGroup (11)",
        "SyncGroup (14)",
        "Heartbeat (12)",
        "LeaveGroup (13)",
    ):
        assert api in told
    assert "REBALANCE_IN_PROGRESS (27)" in told


def test_steps_stay_few_while_records_flow(eager):
    records = [
        each
        for each in eager.scenes
        if each["kind"] in ("RecordsAppended", "RecordsPolled")
    ]
    assert len(records) < 40
    assert (
        len([each for each in groups.classic() if each.kind == "RecordsAppended"]) > 100
    )


def test_the_learners_assignor_is_called_so():
    story = GroupStory(2, protocol="my_assignor")
    story.at(1000).join(A)
    story.assign({A: [0, 1]})
    pic = picture("rebalance", story.events)
    assert (
        "runs your assignor my_assignor"
        in scene(pic, "the group leader, runs")["sentence"]
    )


def test_flaws_of_an_assignment_are_said():
    story = two_members()
    ran = next(each for each in story.events if each.kind == "AssignorRan")
    ran.detail["problems"] = ["orders-1 goes to nobody"]
    found = scene(picture("rebalance", story.events), "the group leader, runs")
    assert (
        found["sentence"].endswith("But orders-1 goes to nobody.") and found["trouble"]
    )


# -- the classic protocol


def test_the_first_member_leads_and_assigns(eager):
    found = scene(eager, "generation 1 begins")
    assert found["space"]["leader"] == A
    assert member(found, A)["words"] == "decides who reads what"
    assert member(found, B)["words"] == "waits for a share"
    assert found["space"]["assigns"] == A
    assert any("group leader A assigns" in text for text in texts(eager, found))


def test_eager_members_give_up_everything_before_they_join_again(eager):
    told = scene(eager, "consumer A's Heartbeat")
    assert member(told, A)["gives"] == ["P0", "P1", "P2"]
    gone = scene(eager, "consumer A joins again")
    assert member(gone, A)["owns"] == [] and member(gone, A)["asked"] == "JoinGroup"
    assert member(gone, B)["owns"] == ["P3", "P4", "P5"], "B has not heard of it yet"
    assert gone["space"]["waits_for"] == ["B"]


def test_cooperative_members_read_on_and_give_up_only_what_moves(cooperative):
    asked = scene(cooperative, "consumer A joins again")
    assert member(asked, A)["owns"] == ["P0", "P1", "P2"]
    assert "keeps reading P0, P1 and P2" in asked["sentence"]
    given_up = scene(cooperative, "consumer A gives up P2")
    assert member(given_up, A)["owns"] == ["P0", "P1"]
    assert "nobody has" in texts(cooperative, given_up)


def test_kip_429_a_partition_moves_in_a_second_rebalance(cooperative):
    assert (
        scene(cooperative, "generation 3 begins")["at"]
        > scene(cooperative, "gives up P2")["at"]
    )
    assert member(scene(cooperative, "consumer C gets P2 and P5"), C)["owns"] == [
        "P2",
        "P5",
    ]


def test_what_nobody_reads_is_counted_from_the_first_reader_on(eager, cooperative):
    eager_ms, cooperative_ms = unread(eager), unread(cooperative)
    assert all(eager_ms.values()), "eager stops every partition"
    moved_once = {label for label, ms in cooperative_ms.items() if ms < 1000}
    assert {"P2", "P5"} <= moved_once
    assert sum(cooperative_ms.values()) < sum(eager_ms.values())


def test_records_wait_where_nobody_reads_and_the_sentence_says_how_many(eager):
    found = scene(eager, "nobody reads P0 and P1", 1)
    waiting = found["space"]["waiting"]
    assert (
        f"{waiting['P0'] + waiting['P1']} records are waiting there"
        in found["sentence"]
    )
    assert f"{waiting['P0']} records wait" in texts(eager, found)


# -- members that are silent


def test_a_frozen_member_holds_its_partitions_until_its_session_is_over(eager):
    frozen = scene(eager, "consumer A is frozen")
    assert member(frozen, A)["owns"] == ["P0", "P1"] and member(frozen, A)["inside"]
    out = scene(eager, "removes consumer A from the group")
    assert (
        "no heartbeat for 10.00 s" in out["sentence"]
        and "doesn't know" in out["sentence"]
    )
    assert "P0 and P1" in out["sentence"]


def test_a_member_that_was_thrown_out_hears_so_when_it_goes_on(kip_848):
    refused = scene(kip_848, "UNKNOWN_MEMBER_ID (25)")
    assert (
        refused["trouble"] and member(refused, A)["words"] == "is out, doesn't know it"
    )
    assert "has lost P0 and P1" in scene(kip_848, "has lost")["sentence"]


def test_a_consumer_that_comes_back_with_a_new_member_id_is_the_same_actor():
    story = two_members()
    story.leave(B)
    story.rebalance({A: [0, 1, 2, 3]})
    again = f"{B}-second-id"
    story.broker("MemberJoined", member=again, client=B, instance=None, why="it is new")
    pic = picture("rebalance", story.events)
    assert [each["name"] for each in pic.scenes[-1]["space"]["members"]] == [A, B]


def test_a_second_member_id_of_a_client_beside_the_first_is_an_actor_of_its_own():
    story = two_members()
    story.broker(
        "MemberJoined",
        member=f"{B}-second-id",
        client=B,
        instance=None,
        why="it is new",
    )
    pic = picture("rebalance", story.events)
    assert [actor["letter"] for actor in pic.cast["actors"]] == ["A", "B", "B'"]


# -- KIP-848


def test_under_kip_848_the_coordinator_assigns(kip_848):
    found = scene(kip_848, "The coordinator assigns with uniform for epoch 3")
    assert found["space"]["assigns"] == "coordinator"
    assert any(
        "the coordinator itself assigns" in text for text in texts(kip_848, found)
    )
    assert kip_848.play.scenario(found).startswith("uniform, KIP-848")


def test_under_kip_848_a_partition_is_revoked_before_it_is_given(kip_848):
    told = scene(kip_848, "it must give up P2")
    assert member(told, A)["gives"] == ["P2"] and member(told, C)["waits"] == [
        "P2",
        "P5",
    ]
    assert "waits until A gives up P2" in member(told, C)["words"]
    steps = [
        scene(kip_848, words)["step"] for words in ("gives up P2", "consumer C gets P2")
    ]
    assert steps == sorted(steps)


def test_under_kip_848_a_group_is_stable_when_all_have_what_they_should(kip_848):
    states = [each["space"]["state"] for each in kip_848.scenes]
    assert "Reconciling" in states and states[-1] == "Stable"


# -- traces of a server


@pytest.mark.parametrize(
    "trace",
    [lambda: groups.classic("range", "broker"), lambda: groups.consumer("broker")],
)
def test_coordinator_events_alone_are_enough(trace):
    events = trace()
    assert {event.node for event in events if event.kind != "RequestSent"} - {A} == {
        "broker 1"
    }
    pic = picture("rebalance", [event for event in events if event.node == "broker 1"])
    assert member(pic.scenes[-1], C)["owns"] == [f"P{number}" for number in range(6)]
    assert sum(pic.scenes[-1]["space"]["waiting"].values()) <= 1


def test_eager_members_that_do_not_speak_stop_reading_when_they_hear_of_the_rebalance():
    pic = picture(
        "rebalance",
        [e for e in groups.classic("range", "broker") if e.node == "broker 1"],
    )
    assert member(scene(pic, "consumer A's Heartbeat"), A)["owns"] == []
    kept = picture(
        "rebalance",
        [
            e
            for e in groups.classic("cooperative-sticky", "broker")
            if e.node == "broker 1"
        ],
    )
    assert member(scene(kept, "consumer A's Heartbeat"), A)["owns"] == [
        "P0",
        "P1",
        "P2",
    ]


def test_a_trace_survives_its_file():
    events = groups.classic("range", "broker")
    again = [
        Event.from_json(json.loads(json.dumps(event.to_json()))) for event in events
    ]
    assert picture("rebalance", again).digest == picture("rebalance", events).digest


# -- options and drawing


def test_the_picture_can_begin_later():
    events = groups.classic("range")
    whole, later = (
        picture("rebalance", events),
        picture("rebalance", events, since_ms=20_000),
    )
    assert later.scenes[0]["at"] >= 20_000 and later.scenes[-1]["space"]["number"] == 4
    assert 0 < unread(later)["P3"] < unread(whole)["P3"]


def test_partitions_can_be_chosen():
    pic = picture("rebalance", groups.classic("range"), partitions=[0, 5])
    assert list(pic.scenes[-1]["space"]["waiting"]) == ["P0", "P5"]


def test_more_partitions_than_fit_are_counted():
    pic = picture("rebalance", groups.six())
    assert "12 partitions of orders · 8 of them shown" in pic.play.scenario(
        pic.scenes[-1]
    )


def test_partitions_of_several_topics_carry_a_letter_of_their_topic():
    story = GroupStory(2)
    story.tell(
        "broker 1",
        "TopicCreated",
        topic="payments",
        partitions=1,
        replication_factor=1,
        configs={},
    )
    story.at(1000).join(A)
    story.assign({A: [0, 1]})
    made = next(event for event in story.events if event.kind == "AssignmentMade")
    made.detail["assignment"][story.id(A)].append(["payments", 0])
    pic = picture("rebalance", story.events)
    assert list(pic.scenes[-1]["space"]["waiting"]) == ["o0", "o1", "p0"]
    assert pic.play.scenario(pic.scenes[-1]).endswith("o orders · p payments")


def test_partitions_that_do_not_fit_a_members_box_are_counted():
    story = GroupStory(12)
    story.at(1000).join(A)
    story.join(B)
    story.assign({A: list(range(12)), B: []})
    pic = picture("rebalance", story.events, partitions=range(12))
    assert any(text.startswith("+") for text in texts(pic, pic.scenes[-1], NARROW))


def test_a_coordinator_that_is_down_looks_so():
    story = two_members()
    story.tell("broker 1", "NodeCrashed")
    pic = picture("rebalance", story.events)
    assert (
        "broker 1, which is the group coordinator, is crashed"
        in pic.scenes[-1]["sentence"]
    )
    assert "down" in texts(pic, pic.scenes[-1])
    story.tell("broker 1", "NodeRestarted")
    story.tell("broker 1", "GroupLoaded", partition=7, groups=["billing"])
    back = picture("rebalance", story.events).scenes[-1]
    assert "__consumer_offsets-7" in back["sentence"] and not back["space"]["down"]


@pytest.mark.slow
def test_nothing_later_than_the_cursor_is_drawn(eager):
    """The lanes of a step are those of a trace that ends there, as far as they were
    drawn.
    """
    for found in eager.scenes[::9]:
        for spans in found["space"]["spans"].values():
            assert all(start <= found["at"] for start, *_ in spans)


def test_an_interval_points_at_the_step_that_began_it(eager):
    found = scene(eager, "consumer A gives up P0, P1 and P2")
    hatched = [
        shape
        for shape in eager.drawings(WIDE)[-1].shapes.values()
        if shape.get("fill") == "hatch"
    ]
    assert found["step"] in [shape.get("of") for shape in hatched]


def test_a_partition_is_drawn_once_for_each_owner_and_moves(eager):
    before = eager.drawings(WIDE)[scene(eager, "consumer C gets")["step"] - 1].shapes
    after = eager.drawings(WIDE)[scene(eager, "consumer C gets")["step"]].shapes
    assert before["part/P2"]["x"] != after["part/P2"]["x"]


@pytest.mark.slow
@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("trace", [groups.classic, groups.consumer, groups.six])
def test_nothing_is_drawn_outside_the_page(trace, width):
    pic = picture("rebalance", trace())
    for drawing in pic.drawings(width):
        for key, shape in drawing.shapes.items():
            right = shape["x"] + shape.get("w", 0)
            assert shape["x"] >= -0.5 and right <= width + 0.5, key
    if width == WIDE and trace is not groups.six:
        rows = 16 * bool(pic.cast["silent"]) + 48 * bool(pic.play.close)
        bottom = max(drawing.bottom for drawing in pic.drawings(width))
        assert bottom <= 316 + rows


# -- two beside each other


@pytest.fixture(scope="module")
def both():
    return picture(
        "rebalance",
        groups.classic("range"),
        beside=groups.classic("cooperative-sticky"),
        seed=7,
    )


def test_two_protocols_stand_on_one_time_axis(both):
    assert both.title == "range beside cooperative-sticky: group billing"
    assert [each["at"] for each in both.scenes] == sorted(
        each["at"] for each in both.scenes
    )
    prefixes = {each["sentence"].split(":")[0] for each in both.scenes[:-1]}
    assert prefixes == {"range", "cooperative-sticky"}
    words = texts(both, both.scenes[-1])
    together = [text for text in words if text.startswith("all 6: ")]
    assert len(together) == 2


def test_each_of_two_keeps_its_own_causes(both):
    for each in both.scenes:
        if each["because"] is not None:
            cause = both.scenes[each["because"]]
            assert cause["sentence"].split(":")[0] == each["sentence"].split(":")[0]


def test_two_of_one_protocol_are_numbered_or_named():
    trace = groups.classic("range")
    assert picture("rebalance", trace, beside=trace).title.startswith(
        "range (1) beside range (2)"
    )
    named = picture("rebalance", trace, beside=trace, names=("dynamic", "static"))
    assert named.title.startswith("dynamic beside static")


def test_two_end_with_light_on_the_two_sums_and_what_they_are_made_of():
    both = picture(
        "rebalance",
        groups.classic("range"),
        beside=groups.classic("cooperative-sticky"),
        since_ms=16_000,  # all have joined
    )
    last, drawing = both.scenes[-1], both.drawings(WIDE)[-1]
    sums = [
        drawing.shapes[f"time/{n}/sum/words"]["text"].removeprefix("all 6: ")
        for n in range(2)
    ]
    assert last["sentence"].endswith(
        f"together: {sums[0]} with range, {sums[1]} with cooperative-sticky."
    )
    assert set(drawing.outlined) == {"time/0/sum", "time/1/sum"}
    lit = [shape for key, shape in drawing.shapes.items() if key in drawing.lit]
    hatched = [
        shape for shape in drawing.shapes.values() if shape.get("fill") == "hatch"
    ]
    assert all(shape in lit for shape in hatched)
    assert not any(drawing.lit for drawing in both.drawings(WIDE)[:-1])


def test_two_with_a_newcomer_end_with_its_two_waits(both):
    last, drawing = both.scenes[-1], both.drawings(WIDE)[-1]
    waits = [space["wait"] for space in last["space"]["groups"]]
    said = [f"{(each['until_ms'] - each['since_ms']) / 1000:.1f} s" for each in waits]
    assert last["sentence"] == (
        f"Consumer C has its partition after {said[0]} with range: all had to join"
        f" again. After {said[1]} with cooperative-sticky: all had to join again, in 2"
        " rebalances."
    )
    for n, wait in enumerate(waits):
        assert wait["who"] == C
        assert f"time/{n}/wait/line" in drawing.lit
        assert f"time/{n}/{wait['part']}/ground" in drawing.lit
    assert "time/0/P0/ground" not in drawing.lit


def test_two_leave_room_for_what_stands_around_them(both):
    rows = 2 * 18  # in each half one for the newcomer
    assert max(drawing.bottom for drawing in both.drawings(WIDE)) <= 346 + rows


def test_a_trace_without_a_group_is_an_empty_picture():
    pic = picture("rebalance", GroupStory().events)
    assert pic.scenes == [] and "nothing has happened yet" in repr(pic)

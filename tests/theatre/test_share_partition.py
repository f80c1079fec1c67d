"""The share partition's picture (KIP-932): what the broker tells of each record is what
is seen, and the consumer group beside it is the same log.
"""

import json
import re
from functools import cache

import pytest

from minikafka.anomalies import share_anomalies
from minikafka.course.experiments.lesson_15_share_runs import ORDERS, side_by_side
from minikafka.theatre import fitting, picture
from minikafka.theatre.drawing import LAYOUTS, NARROW, PHONE, WIDE
from minikafka.theatre.pictures.share_partition.records import STATES, Work
from minikafka.theatre.pictures.share_partition.time import bars
from minikafka.trace import Event
from tests.theatre import shared
from tests.theatre.replicas import first, shapes

pytestmark = pytest.mark.slow

HIGHEST = 360  # of a drawing; with title and sentence a picture has 460 px
every_run = pytest.mark.parametrize("run", shared.RUNS, ids=lambda run: run.__name__)


@cache
def drawn(run):
    return picture("share-partition", run(), seed=15)


def record(scene, offset):
    """A record's (state, member, deliveries) in a scene."""
    known = {each[0]: tuple(each[1:4]) for each in scene["space"]["shared"]}
    return known.get(offset, ("available", "", 0))


def lane(scene, name):
    members = {member["name"]: member for member in scene["space"]["members"]}
    return members[name]


def took(pic):
    return pic.scenes[-1]["space"]["took"]


# -- what is told is what is seen


@pytest.mark.slow
@every_run
def test_each_record_is_in_the_state_that_brokers_tell(run):
    pic, states = drawn(run), {}
    told = {scene["position"]: scene for scene in pic.scenes}
    for position, event in enumerate(run()):
        if event.kind == "ShareRecordsAcquired":
            for begin, last, times in event.detail["batches"]:
                for offset in range(begin, last + 1):
                    states[offset] = ("acquired", times)
        elif event.kind in ("ShareRecordsAcknowledged", "ShareLocksEnded"):
            for begin, last, state, times in event.detail["batches"]:
                for offset in range(begin, last + 1):
                    states[offset] = (STATES[state], times)
        elif event.kind == "ShareStateRead":
            for offset, (state, times) in states.items():
                if state == "acquired":
                    states[offset] = ("available", times)
        scene = told.get(position)
        if scene is None or event.kind == "ShareStateRead":
            continue
        for offset, state, _, times, *_ in scene["space"]["shared"]:
            assert (state, times) == states[offset], (scene["sentence"], offset)


@every_run
def test_nobody_has_a_record_that_another_one_has(run):
    for scene in drawn(run).scenes:
        had = [
            work[0]
            for member in scene["space"]["members"]
            if member["name"] in drawn(run).cast["sharing"]
            for work in member["work"]
            if work[3] is None
        ]
        assert len(had) == len(set(had)), scene["sentence"]


@every_run
def test_the_runs_keep_the_promises_of_a_share_group(run):
    assert list(share_anomalies(run())) == []
    assert drawn(run).scenes[-1]["space"]["twice"] == 0


def test_it_is_the_picture_that_fits_a_share_group():
    assert fitting(shared.slow()) == fitting(shared.alone()) == "share-partition"


# -- the stories


def test_one_slow_record_holds_up_the_consumer_group_and_nobody_in_the_share_group():
    pic = drawn(shared.slow)
    shared_ms, read_ms = took(pic)
    assert shared_ms < 5_500 and read_ms > 15_000
    through = next(s for s in pic.scenes if "has done all 12" in s["sentence"])
    assert "Group billing still has 10 to do." in through["sentence"]
    assert through["light"] == ["time", "read"]


def test_the_start_offset_waits_for_the_slow_record_and_then_moves_at_once():
    pic = drawn(shared.slow)
    moved = first(pic, "ShareStartOffsetMoved")
    before = pic.scenes[moved["step"] - 1]
    assert "The start offset moves from 1 to 7 at once." in moved["sentence"]
    assert record(before, 1)[0] == "acknowledged"
    assert (
        pic.scenes[moved["because"]]["sentence"] == "worker A accepts record 1: done."
    )


def test_what_a_killed_worker_had_comes_back_without_waiting_for_its_lock():
    pic = drawn(shared.killed)
    killed = first(pic, "NodeCrashed", "worker B")
    back = first(pic, "ShareRecordsAcknowledged", "session of worker B")
    assert back["at"] - killed["at"] < 10
    assert record(killed, 0) == ("acquired", "worker B", 1)
    assert record(back, 0) == ("available", "worker B", 1)
    again = first(pic, "ShareRecordsAcquired", "delivery 2 of at most 5")
    assert again["because"] == back["step"]
    assert pic.scenes[back["because"]]["kind"] == "ShareRecordsAcquired"
    out = first(pic, "MemberLeft")
    assert out["at"] - killed["at"] > 5_000


def test_the_lock_of_one_that_hangs_runs_out_and_what_it_says_then_is_refused():
    pic = drawn(shared.hangs)
    over = first(pic, "ShareLocksEnded")
    assert over["chapter"] == "a lock expires"
    assert {"share/0", "time/member/worker B"} <= set(over["light"])
    assert pic.scenes[over["because"]]["sentence"].startswith(
        "worker B acquires record 0"
    )
    late = first(pic, "ShareRecordsSaid")
    assert (
        "worker B accepts record 0 too late: INVALID_RECORD_STATE." in late["sentence"]
    )
    assert "worker C has had it since" in late["sentence"] and late["trouble"]
    ends = [each[4] for each in lane(late, "worker B")["work"]]
    assert ends == ["lock"]


def test_a_lock_is_drawn_as_what_is_left_of_it():
    pic = drawn(shared.hangs)
    left = []
    for scene in pic.scenes:
        found = shapes(pic, scene).get("share/0/lock/left")
        if found and record(scene, 0)[1] == "worker B":
            left.append(found["w"])
    whole = shapes(pic, first(pic, "ShareRecordsAcquired"))["share/0/lock"]["w"]
    assert left[0] == whole and left == sorted(left, reverse=True)
    assert left[-1] < whole / 4
    over = shapes(pic, first(pic, "ShareLocksEnded"))
    assert "share/0/lock" not in over


def test_a_record_that_nobody_can_do_is_archived_at_the_limit_and_blocks_the_other_group():
    pic = drawn(shared.poison)
    archived = next(scene for scene in pic.scenes if scene["chapter"] == "archived")
    assert record(archived, 3)[::2] == ("archived", 5) and archived["trouble"]
    assert "releases record 3 after delivery 5 of at most 5" in archived["sentence"]
    assert shapes(pic, archived)["share/3/count"]["text"] == "5/5"
    before = pic.scenes[archived["step"] - 1]
    for width in (WIDE, NARROW):
        assert "lamp/archived/word" not in shapes(pic, before, width)
        lamp = shapes(pic, archived, width)["lamp/archived/word"]
        assert lamp["text"] == "1 archived"
    last = pic.scenes[-1]["space"]
    assert last["done"] == [ORDERS, 3] and last["committed"] == 3


def test_a_rejected_record_is_archived_at_its_first_delivery():
    pic = drawn(shared.rejected)
    archived = first(pic, "ShareRecordsAcknowledged", "rejects record 3")
    assert record(archived, 3) == ("archived", "worker A", 1)
    assert took(pic)[0] < took(drawn(shared.poison))[0]


def test_one_that_needs_more_time_has_a_whole_lock_again():
    pic = drawn(shared.alone)
    renewed = first(pic, "ShareLocksRenewed")
    before, after = (
        shapes(pic, scene)["share/0/lock/left"]["w"]
        for scene in (first(pic, "ShareRecordsAcquired"), renewed)
    )
    assert before == after
    assert shapes(pic, renewed)["share/1/lock/left"]["w"] < after / 2


def test_one_that_leaves_gives_back_what_it_has():
    pic = drawn(shared.alone)
    back = first(pic, "ShareRecordsAcknowledged")
    assert back["sentence"].startswith("The share session of worker A is over:")
    assert [record(back, offset)[0] for offset in range(5)] == ["available"] * 5


def test_the_next_leader_goes_on_from_what_was_written_down():
    pic = drawn(shared.many)
    [_, again] = [each for each in pic.scenes if each["kind"] == "ShareStateRead"]
    killed = first(pic, "NodeCrashed", "broker")
    assert again["space"]["start"] == killed["space"]["start"] == 69
    assert record(killed, 70)[0] == "acquired" and record(again, 70)[0] == "available"


def test_of_a_long_log_those_near_the_start_offset_are_drawn_and_the_others_counted():
    pic = drawn(shared.many)
    middle = first(pic, "ShareRecordsAcquired", "records 27 to 29")
    for width in (WIDE, NARROW):
        found = shapes(pic, middle, width)
        assert found["left-out/0"]["text"] == "25" and "share/27/lock" in found
        drawn_cells = [each for each in found.values() if each["kind"] == "cell"]
        assert len(drawn_cells) < 45
        counts = [
            each["text"]
            for key, each in found.items()
            if key.startswith("left-out/") and not key.endswith("more")
        ]
        cells = sum(key.startswith("log/") and key[4:].isdigit() for key in found)
        assert sum(map(int, counts)) + cells == 90


# -- only what was told


def test_without_clients_that_speak_members_are_numbered():
    told = [event for event in shared.slow() if event.node == "broker 1"]
    pic = picture("share-partition", told)
    assert pic.cast["sharing"] == ["member 1", "member 2", "member 3"]
    assert pic.cast["other"] == "" and took(pic)[0] == took(drawn(shared.slow))[0]


def test_a_trace_without_a_share_group_has_no_scenes():
    told = [event for event in shared.slow() if not event.kind.startswith("Share")]
    assert not picture("share-partition", told).scenes


def test_a_trace_that_begins_in_the_middle_is_shown():
    told = list(shared.slow())
    begin = next(
        number
        for number, event in enumerate(told)
        if event.kind == "ShareRecordsAcknowledged"
    )
    assert picture("share-partition", told[begin:]).scenes


def test_the_groups_and_the_partition_can_be_chosen():
    told = shared.slow()
    chosen = {"topic": "orders", "partition": 0, "group": "workers"}
    pic = picture("share-partition", told, **chosen, beside="billing")
    assert pic.digest == picture("share-partition", told).digest
    assert not picture("share-partition", told, group="nobody").scenes
    with pytest.raises(TypeError, match="has no option 'color'"):
        picture("share-partition", told, color="red")


@pytest.mark.slow
@every_run
def test_it_is_drawn_anew_from_its_json_and_fits_a_notebook(run):
    pic = drawn(run)
    cast, scenes = json.loads(json.dumps([pic.cast, pic.scenes]))
    again = type(pic)(type(pic.play), cast, scenes, seed=15)
    for width in (WIDE, NARROW):
        for mine, other in zip(pic.drawings(width), again.drawings(width), strict=True):
            assert mine.shapes == other.shapes and mine.bottom <= HIGHEST
    assert len(pic.page().encode()) < 200_000


def test_one_actor_has_one_colour_wherever_it_is():
    pic = drawn(shared.slow)
    found = shapes(
        pic, first(pic, "ShareRecordsAcquired", "worker A acquires record 1")
    )
    colour = found["share/1"]["fill"]
    assert colour == "actor1" == found["time/member/worker A/disc"]["fill"]
    assert colour == found["share/1/lock/left"]["fill"]
    assert colour == found["time/member/worker A/0"]["fill"]


def test_records_that_are_had_together_share_a_bar_and_bars_do_not_overlap():
    work = [
        Work(0, 100, 1, 900, "accept"),
        Work(1, 100, 1, 900, "accept"),
        Work(2, 100, 1, 1500, "release"),
        Work(7, 1600, 2),
    ]
    told = bars([[*each.__dict__.values()] for each in work])
    assert [(bar.words, bar.since, bar.until) for bar in told] == [
        ("0–1", 100, 900),
        ("2", 900, 1500),
        ("7", 1600, None),
    ]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_runs_go_the_same_way_with_other_seeds(seed):
    cluster = side_by_side(slow=1, seed=seed)
    shared_ms, read_ms = took(cluster.play("share-partition"))
    assert 2 * shared_ms < read_ms
    assert list(share_anomalies(cluster.trace)) == []


def test_a_prediction_about_the_slow_record_stops_before_the_group_is_through():
    def is_over(event: Event) -> bool:
        return event.kind == "ShareRecordsAcquired" and event.at > 5_000

    question = {"question": "?", "options": ["1", "12"], "mine": None}
    pic = picture(
        "share-partition",
        shared.slow(),
        prediction=question,
        surprise=is_over,
        answer=2,
    )
    assert pic.prediction.stop < len(pic.scenes) - 1
    assert pic.data()["prediction"]["stop"] == pic.prediction.stop


def test_on_a_phone_twelve_records_have_a_place_in_both_groups_rows():
    pic = drawn(shared.RUNS[0])
    for scene in pic.scenes:
        known = {offset for offset, *_ in scene["space"]["log"]}
        there = shapes(pic, scene, PHONE)
        for offset in known:
            assert {f"share/{offset}", f"read/{offset}"} <= set(there)


def test_its_time_begins_when_there_is_work_and_what_was_before_has_a_minus():
    pic = drawn(shared.slow)
    written = first(pic, "RecordsAppended")
    assert written["at"] == 0 and written["time"] == "0.000 s"
    assert pic.scenes[0]["time"].startswith("−")
    axis = shapes(pic, pic.scenes[-1])
    times = [s["text"] for key, s in axis.items() if key.startswith("time/axis/")]
    assert times[:2] == ["0 s", "1 s"]
    assert took(pic)[0] == first(pic, "ShareRecordsAcknowledged", "has done all")["at"]


@pytest.mark.parametrize("width", LAYOUTS)
def test_at_the_end_a_line_at_5_s_goes_through_what_the_consumer_group_still_does(
    width,
):
    """By then the share group has done all."""
    pic = drawn(shared.slow)
    end = pic.drawings(width)[-1]
    line = end.shapes["time/took/1"]
    assert line["x"] == end.shapes["time/took/0"]["x"]
    bars = [
        shape
        for key, shape in end.shapes.items()
        if re.fullmatch(r"time/member/[^/]*/\d+", key)
    ]
    assert any(bar["x"] < line["x"] < bar["x"] + bar["w"] for bar in bars)
    assert {"time/sharing/title", "time/reading/title", "time/took/1"} <= end.lit
    first, second = (end.shapes[f"time/took/{number}/whole"] for number in (0, 1))
    assert (first["x"], first["x2"]) == (second["x"], line["x"])
    assert first["x2"] < second["x2"]


def test_at_the_end_it_is_said_how_long_either_group_took_and_with_how_many():
    assert drawn(shared.slow).scenes[-1]["sentence"] == (
        "Both groups are done. Group workers took 5 s, with 3 members at work."
        " Group billing took 15.1 s, with 1 member at work. In a consumer group a"
        " partition has one reader."
    )

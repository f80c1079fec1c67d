"""Lag over time."""

from itertools import pairwise

from minikafka.theatre import picture
from minikafka.theatre.drawing import NARROW, WIDE
from tests.theatre.commit_traces import HERE, Commits, piling_up


def at(pic, kind, number=0):
    return [scene for scene in pic.scenes if scene["kind"] == kind][number]


def partition(scene, number=0):
    return scene["space"]["partitions"][number]


def test_tools_count_lag_from_the_committed_offset_and_a_reader_from_its_position():
    story = Commits().orders(10)
    story.at(1100).starts(0)
    story.poll("billing", 0, 0, 6)
    assert partition(picture("lag", story.events).scenes[-1])["lags"] == [10, 4]
    story.commit(6)
    assert partition(at(picture("lag", story.events), "OffsetCommitted"))["lags"] == [4, 4]


def test_lag_without_a_commit_counts_from_the_start_of_the_log():
    story = Commits().orders(10)
    story.tell("broker 1", "LogStartOffsetAdvanced", **HERE, log_start_offset=4, why="DeleteRecords")
    assert partition(picture("lag", story.events).scenes[-1])["lags"] == [6, 6]


def test_lag_grows_while_nobody_reads_and_falls_after_somebody_does():
    pic = picture("lag", piling_up(), partitions=[2])
    crash, again = at(pic, "NodeCrashed"), at(pic, "PartitionsAssigned", -1)
    unread = [partition(scene) for scene in pic.scenes[crash["step"] : again["step"]]]
    assert all(each["unread"] for each in unread)
    assert all(a["lags"] <= b["lags"] for a, b in pairwise(unread))
    assert partition(pic.scenes[-1])["lags"][0] < partition(again)["lags"][0] and not partition(again)["unread"]
    assert "Nobody reads partition 2" in crash["sentence"]


def test_a_frozen_reader_keeps_its_partition_and_reads_nothing():
    story = Commits().orders(3)
    story.at(1000).starts(0)
    story.at(1100).tell("billing", "NodeFrozen")
    frozen = picture("lag", story.events).scenes[-1]
    assert partition(frozen)["unread"] and partition(frozen)["owner"] == "billing" and frozen["trouble"]
    story.at(1200).tell("billing", "NodeThawed")
    assert not partition(picture("lag", story.events).scenes[-1])["unread"]


def test_a_poll_is_told_whole_though_its_event_lists_the_first_records_only():
    story = Commits().orders(80)
    story.at(1000).starts(0)
    listed = [[offset, None, "order"] for offset in range(50)]
    story.tell("billing", "RecordsPolled", **HERE, records=listed, position=80)
    assert picture("lag", story.events).scenes[-1]["sentence"].startswith("billing is handed 80 records")


def test_a_slow_reader_is_a_chapter():
    story = Commits().orders(3)
    story.at(1000).starts(0)
    story.tell("billing", "ProcessingSlowed", processing_ms=300)
    assert picture("lag", story.events).scenes[-1]["chapter"] == "billing is slow"


def test_the_steps_end_at_the_cursor_and_share_one_scale():
    pic = picture("lag", piling_up())
    for width in (WIDE, NARROW):
        for scene, drawing in zip(pic.scenes, pic.drawings(width), strict=True):
            cursor = drawing.shapes["time/cursor"]["x"]
            steps = {key: shape for key, shape in drawing.shapes.items() if key.startswith("lag/") and "tip" in shape}
            assert all(shape["x"] + shape["w"] <= cursor + 1 for shape in steps.values()), scene["step"]
            assert all(shape["h"] <= 110 for shape in steps.values())
            assert drawing.bottom <= 340


def test_hatched_is_where_nobody_reads():
    pic = picture("lag", piling_up(), partitions=[2])
    fills = {
        shape["fill"]
        for key, shape in pic.drawings(WIDE)[-1].shapes.items()
        if key.startswith("lag/") and "tip" in shape
    }
    assert fills == {"hatch", "actor1", "actor2"}


def test_another_groups_commits_and_readers_do_not_count():
    story = Commits().orders(5)
    story.at(1000).starts(0)
    story.tell("audit", "CommitSent", group="audit", offsets=[["orders", 0, 5]], how="auto")
    story.poll("audit", 0, 0, 5)
    story.tell("broker 1", "OffsetCommitted", group="audit", member="m", **HERE, offset=5, was=None)
    story.poll("billing", 0, 0, 1)
    story.commit(1)
    story.commit(2)
    pic = picture("lag", story.events)
    assert list(pic.scenes[-1]["space"]["members"]) == ["billing"] and partition(pic.scenes[-1])["committed"] == 2


def test_six_partitions_fit_the_height_of_a_laptop():
    story = Commits()
    story.topic(partitions=6)
    for number in range(6):
        story.at(100 * number).append(number, 0, ("a", "1"), ("b", "2"))
    for width in (WIDE, NARROW):
        assert max(drawing.bottom for drawing in picture("lag", story.events).drawings(width)) <= 340


def test_an_empty_trace_has_a_picture_that_says_so():
    assert "nothing has happened" in repr(picture("lag", []))

"""The log's picture: what a scene says."""

from itertools import pairwise

import pytest

from minikafka.theatre import fitting, picture
from minikafka.theatre.drawing import LEAST_STRETCH, NARROW, WIDE, Drawing, text_width
from minikafka.theatre.lanes import Lane, Lanes
from tests.theatre.commit_traces import piling_up
from tests.theatre.drawn import assert_no_mark_after_the_cursor
from tests.theatre.traces import Story, alice, growing, long_log, retention

pytestmark = pytest.mark.slow


def scene(pic, kind, number=0):
    return [scene for scene in pic.scenes if scene["kind"] == kind][number]


def shapes(pic, scene, width=WIDE):
    return pic.drawings(width)[scene["step"]].shapes


def test_a_reader_stands_before_the_record_it_will_read_next():
    pic = picture("log", retention())
    for told in pic.scenes:
        drawn = shapes(pic, told)
        for reader in told["space"]["readers"]:
            at = drawn[f"reader/0/{reader['name']}"]["x"]
            offset = reader["next"]["0"]
            following = drawn.get(f"record/0/{offset}") or drawn["next/0"]
            assert following["x"] - 10 <= at < following["x"] + following["w"] / 2
            if f"record/0/{offset - 1}" in drawn:
                assert drawn[f"record/0/{offset - 1}"]["x"] < at


def test_a_label_at_the_right_edge_ends_before_its_arrow():
    story = Story()
    story.topic()
    story.append(0, 0, *(("a", "v") for _ in range(20)))
    story.poll("archive", 0, 0, 20)
    for width in (920, 560):
        drawn = picture("log", story.events).drawings(width)[-1].shapes
        label, stem = drawn["reader/0/archive/name"], drawn["reader/0/archive"]
        assert label["anchor"] == "end" and label["x"] <= stem["x"] - 10


def test_lag_is_what_lies_between_a_reader_and_the_log_end_offset():
    for told in picture("log", retention()).scenes:
        log = told["space"]["partitions"][0]
        for reader in told["space"]["readers"]:
            assert reader["lag"]["0"] == log["log_end_offset"] - reader["next"]["0"]


def test_no_scene_holds_anything_later_than_its_event():
    events = alice()
    pic = picture("log", events)
    for told in pic.scenes:
        until = events[: told["position"] + 1]
        written = [
            e.detail["last_offset"] for e in until if e.kind == "RecordsAppended"
        ]
        assert sum(len(log["records"]) for log in told["space"]["partitions"]) == len(
            written
        )
        assert {reader["name"] for reader in told["space"]["readers"]} <= {
            event.node for event in until
        }


def test_lanes_are_drawn_up_to_the_cursor_and_no_further():
    pic = picture("log", retention())
    for width in (WIDE, NARROW):
        for drawing in pic.drawings(width):
            assert_no_mark_after_the_cursor(drawing)


def test_what_marks_say_has_room_on_the_narrowest_page():
    for count in range(2, 30):
        for length in range(1, 24):
            marks = [{"lane": "a", "text": "x" * length}]
            lanes = Lanes(
                [{"at": at, "time": f"{at} ms", "marks": marks} for at in range(count)]
            )
            drawing = Drawing(WIDE)
            lanes.draw(drawing, 0, [Lane("a", "a")], count - 1, 124, WIDE - 124)
            said = [
                drawing.shapes.get(f"time/lane/a/{number}/text")
                for number in range(count)
            ]
            for one, other in pairwise(said):
                if one and other:
                    end = one["x"] * LEAST_STRETCH + text_width(
                        one["text"], 12, mono=True
                    )
                    assert end < other["x"] * LEAST_STRETCH


def test_a_deleted_segment_is_dashed_and_its_records_are_faint():
    pic = picture("log", retention())
    drawn = shapes(pic, scene(pic, "SegmentDeleted"))
    assert (
        drawn["segment/0/0"]["dash"]
        and drawn["record/0/4"]["dash"]
        and drawn["record/0/4"]["ink"] == "gone"
    )
    assert "dash" not in drawn["segment/0/5"] and "dash" not in drawn["record/0/5"]


def test_reading_removes_nothing_and_retention_removes_whole_segments():
    pic = picture("log", retention())
    before, after = (
        scene(pic, "RecordsPolled")["space"],
        scene(pic, "SegmentDeleted")["space"],
    )
    assert before["partitions"][0]["log_start_offset"] == 0
    assert after["partitions"][0]["log_start_offset"] == 5
    assert [state for _, _, state in after["partitions"][0]["segments"]] == [
        "deleted",
        "closed",
        "active",
    ]


def test_a_reader_whose_offset_was_deleted_is_in_trouble_because_of_the_deletion():
    pic = picture("log", retention())
    refused = scene(pic, "FetchRefused")
    assert refused["trouble"] and "OFFSET_OUT_OF_RANGE (1)" in refused["sentence"]
    assert refused["because"] == scene(pic, "SegmentDeleted")["step"]
    assert shapes(pic, refused)["reader/0/late reader"]["line"] == "trouble"
    again = scene(pic, "PositionReset", -1)
    assert again["because"] == refused["step"]
    assert shapes(pic, again)["reader/0/late reader"]["line"] != "trouble"


def test_a_read_is_an_effect_of_the_append_that_wrote_the_record():
    pic = picture("log", alice())
    read = scene(pic, "RecordsPolled")
    assert "paid" in pic.scenes[read["because"]]["sentence"]


def test_a_high_watermark_that_follows_at_once_is_no_step_of_its_own():
    pic = picture("log", alice())
    assert not [told for told in pic.scenes if told["kind"] == "HighWatermarkAdvanced"]
    assert (
        scene(pic, "RecordsAppended")["space"]["partitions"][2]["high_watermark"] == 1
    )


def test_a_high_watermark_behind_the_log_end_is_drawn_and_its_advance_is_told():
    story = Story()
    story.topic()
    cause = story.request("shop", "Produce")
    append = {
        "topic": "orders",
        "partition": 0,
        "base_offset": 0,
        "last_offset": 2,
        "size_bytes": 99,
        "records": [],
    }
    story.tell(
        "broker 1",
        "HighWatermarkAdvanced",
        topic="orders",
        partition=0,
        high_watermark=0,
    )
    story.tell("broker 1", "RecordsAppended", cause, **append)
    story.at(20).tell(
        "broker 1",
        "HighWatermarkAdvanced",
        topic="orders",
        partition=0,
        high_watermark=3,
    )
    pic = picture("log", story.events)
    assert "boundary/0/high watermark" in shapes(pic, scene(pic, "RecordsAppended"))
    assert "boundary/0/high watermark" not in shapes(
        pic, scene(pic, "HighWatermarkAdvanced", -1)
    )


def test_delete_records_moves_the_log_start_inside_a_segment():
    story = Story()
    story.topic()
    story.append(0, 0, ("a", "1"), ("b", "2"), ("c", "3"))
    story.at(10).tell(
        "broker 1",
        "LogStartOffsetAdvanced",
        topic="orders",
        partition=0,
        log_start_offset=2,
        why="DeleteRecords",
    )
    pic = picture("log", story.events)
    drawn = shapes(pic, pic.scenes[-1])
    assert (
        drawn["record/0/1"]["dash"]
        and "dash" not in drawn["record/0/2"]
        and "dash" not in drawn["segment/0/0"]
    )


def test_the_middle_of_a_long_log_is_left_out_and_counted():
    pic = picture("log", long_log())
    for width in (WIDE, NARROW):
        last = pic.drawings(width)[-1].shapes
        drawn = [key for key in last if key.startswith("record/")]
        gaps = [
            int(shape["text"])
            for key, shape in last.items()
            if key.startswith("gap/") and shape["text"].strip("+").isdigit()
        ]
        assert len(drawn) + sum(gaps) == 600
        assert (
            max(
                shape["x"] + shape.get("w", 0)
                for key, shape in last.items()
                if key.startswith("record/")
            )
            <= width
        )


def test_a_trace_too_long_to_follow_keeps_its_chapters_and_causes():
    pic = picture("log", long_log(1800))
    assert len(pic.scenes) <= 160
    assert [told["chapter"] for told in pic.scenes if told["chapter"]] == [
        "first record",
        "billing reads",
        "first roll",
    ]
    assert pic.scenes[-1]["number"] == pic.scenes[-1]["of"]
    assert all(
        told["because"] is None or told["because"] < told["step"] for told in pic.scenes
    )


def test_one_topic_is_shown_and_internal_topics_are_not():
    story = Story()
    for partition in range(9):
        story.append(partition, 0, (None, "x"), topic="__consumer_offsets")
    story.append(0, 0, (None, "x"))
    assert {
        log["partition"]
        for log in picture("log", story.events).scenes[-1]["space"]["partitions"]
    } == {0}
    assert picture("log", story.events).title == "Partition 0 of orders"


def test_many_partitions_stay_within_the_height_of_a_laptop():
    for count in range(1, 7):
        story = Story()
        story.topic(partitions=count)
        for partition in range(count):
            story.append(partition, 0, ("a", "1"), ("b", "2"))
            story.at(50).poll("one", partition, 0, 1)
        pic = picture("log", story.events)
        assert max(drawing.bottom for drawing in pic.drawings(WIDE)) <= 360


def test_a_trace_of_a_broker_alone_shows_its_connections_as_readers():
    story = Story()
    story.append(0, 0, ("a", "1"), ("b", "2"))
    story.tell(
        "broker 1",
        "RecordsFetched",
        ("127.0.0.1:5000", 4),
        topic="orders",
        partition=0,
        offset=0,
        next_offset=2,
        size_bytes=99,
    )
    readers = picture("log", story.events).scenes[-1]["space"]["readers"]
    assert [(reader["name"], reader["next"]) for reader in readers] == [
        ("client 127.0.0.1:5000", {"0": 2})
    ]


def test_an_empty_trace_has_a_picture_that_says_so():
    assert "nothing has happened" in repr(picture("log", []))
    assert picture("log", []).svg().startswith("<svg")


def test_what_was_read_fits_the_log_and_what_was_only_spread_the_partitioner():
    assert (
        fitting(alice()) == "log"
        and fitting(retention()) == "log"
        and fitting([]) == "log"
    )
    assert fitting(growing()) == "partitioner"


def test_an_axis_that_is_bent_says_so_and_one_that_is_not_does_not():
    log = picture("log", retention()).drawings(WIDE)[-1].shapes
    assert log["time/axis"]["text"] == "not to scale"
    assert "time/axis" not in picture("lag", piling_up()).drawings(WIDE)[-1].shapes, (
        "its time flows"
    )

"""The log's picture: the way of a record from its producer through the log to the trays
of its readers.
"""

import re

import pytest

from minikafka.theatre import picture
from minikafka.theatre.drawing import LAYOUTS, NARROW, WIDE, text_width
from minikafka.theatre.pictures.log.journey import Seen
from minikafka.theatre.pictures.log.trays import Slots, last_lines
from minikafka.trace import HOUR_MS
from tests.theatre.test_log import scene, shapes
from tests.theatre.traces import Story, alice, long_log, retention

pytestmark = pytest.mark.slow

DAY_MS = 24 * HOUR_MS


def holiday():
    """A reader that is away while retention deletes, and starts over at the end: 3
    lost, then 4.
    """
    story = Story()
    story.topic()
    reset = {"topic": "orders", "partition": 0}
    story.tell("billing", "PositionReset", **reset, offset=0, why="latest")
    for day in range(8):
        story.at(day * DAY_MS).append(0, day, ("alice", f"order {day}"))
        if day < 1:
            story.poll("billing", 0, 0, 1)
        if day == 3:
            story.tell("broker 1", "SegmentRolled", **reset, base_offset=4, why="old")
    story.tell(
        "broker 1", "LogStartOffsetAdvanced", **reset, log_start_offset=4, why="old"
    )
    story.tell(
        "broker 1",
        "SegmentDeleted",
        **reset,
        base_offset=0,
        next_offset=4,
        size_bytes=9,
        why="old",
    )
    refused = story.tell(
        "broker 1",
        "FetchRefused",
        story.request("billing", "Fetch"),
        **reset,
        offset=1,
        error="OFFSET_OUT_OF_RANGE",
    )
    why = 'offset 1 is out of range, and auto_offset_reset is "latest"'
    story.tell("billing", "PositionReset", refused, **reset, offset=8, why=why)
    return story.events


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_record_comes_from_its_producer_and_goes_to_the_tray_of_who_reads_it(width):
    pic = picture("log", alice())
    written = scene(pic, "RecordsAppended")
    drawn = shapes(pic, written, width)
    record, shop = drawn["record/2/0"], drawn["producer/shop"]
    assert (record["from_x"], record["from_y"]) == (shop["x"], shop["y"])
    read = scene(pic, "RecordsPolled")
    drawn = shapes(pic, read, width)
    chip, record = drawn["tray/reader/3/0"], drawn["record/3/0"]
    assert chip["same"] == record["same"] and abs(chip["from_x"] - record["x"]) < 1
    assert chip["text"] == "a" and chip["more"] == "paid"


@pytest.mark.parametrize("width", LAYOUTS)
def test_how_the_key_becomes_a_partition_stands_beside_the_producer(width):
    story = Story()
    story.topic(partitions=2)
    for count, partition in ((2, 1), (2, 1), (3, 0)):
        story.tell(
            "shop",
            "PartitionChosen",
            topic="orders",
            partition=partition,
            partitions=count,
            key="alice",
            reason="murmur2",
            why=f"murmur2(key) % {count}",
        )
        story.append(partition, 0, ("alice", "created"))
    pic = picture("log", story.events)
    drawn = shapes(pic, pic.scenes[-1], width)
    says = [s["text"] for key, s in drawn.items() if key.startswith("hash/")]
    assert says == ["number % 2 = 1", "number % 3 = 0"]
    assert drawn["hash/1"]["x"] + text_width("number % 3 = 0", 12, mono=True) < width
    drawn = shapes(pic, scene(pic, "RecordsAppended"), width)
    assert not any(key.startswith("hash/") for key in drawn)  # it would tell too much


def test_a_record_that_is_read_before_an_earlier_one_of_its_key_is_lit_with_that_one():
    pic = picture("log", alice())
    told = scene(pic, "RecordsPolled", 2)
    assert (
        told["light"] == ["2/0", "3/0", "hash", "hash/1", "grows"]
        and "“created”" in told["sentence"]
        and "2 s later" in told["sentence"]
    )
    outlined = {*pic.drawings(WIDE)[told["step"]].outlined}
    assert {
        "record/2/0",
        "record/3/0",
        "tray/reader/2/0",
        "tray/reader/3/0",
        "time/lane/written/0",
    } <= outlined
    assert not [each for each in pic.scenes if each is not told and "light" in each]


def test_what_retention_deletes_before_it_was_read_is_lost_and_what_a_reset_passes_over_too():
    pic = picture("log", holiday())
    deleted, passed = (
        scene(pic, "LogStartOffsetAdvanced"),
        scene(pic, "PositionReset", 1),
    )
    assert deleted["trouble"] and "3 records are lost to billing" in deleted["sentence"]
    assert (
        passed["trouble"]
        and "Offsets 4 to 7 are still there: 4 records are lost to billing."
        in passed["sentence"]
    )
    for told, lost, says in (
        (deleted, "1 2 3", "3 deleted"),
        (passed, "4 5 6 7", "4 skipped"),
    ):
        drawing = pic.drawings(WIDE)[told["step"]]
        records = {f"record/0/{offset}" for offset in lost.split()}
        assert records | {"tray/billing", "reader/0/billing"} <= {*drawing.outlined}
        assert {drawing.shapes[key]["line"] for key in records} == {"trouble"}
        assert drawing.shapes[f"lost/0/{lost[0]}/count"]["text"] == says
    reset = drawing.shapes["tray/billing/reset/word"]
    assert reset["text"] == "reset: latest"
    assert "7 lost to it" in pic.summary(passed) and "light" not in scene(
        pic, "SegmentDeleted"
    )


def test_a_deletion_that_nobody_misses_is_no_trouble():
    events = [
        event
        for event in holiday()
        if event.node != "billing" and event.kind != "FetchRefused"
    ]
    pic = picture("log", events)
    assert not any(told["trouble"] for told in pic.scenes)
    assert "segment/0/0" in scene(pic, "SegmentDeleted")["light"]


def test_records_of_a_story_of_days_show_their_age():
    pic = picture("log", holiday())
    told = scene(pic, "RecordsAppended", 5)
    for width in LAYOUTS:
        drawn = shapes(pic, told, width)
        ages = [drawn[f"record/0/{offset}"]["text"] for offset in (0, 4, 5)]
        assert ages == ["5", "1", "0"]
    assert shapes(pic, told)["caption/inside"]["text"] == "days old"
    axis = [
        s["text"]
        for key, s in pic.drawings(WIDE)[-1].shapes.items()
        if key.startswith("time/axis/")
    ]
    assert (
        axis[0] == "day 0"
        and axis[-1].startswith("day ")
        and len(set(axis)) == len(axis)
    )


def test_a_reader_that_starts_at_the_end_is_lit_with_what_it_does_not_get():
    story = Story()
    story.topic()
    story.append(0, 0, ("a", "1"), ("a", "2"))
    story.tell(
        "audit", "PositionReset", topic="orders", partition=0, offset=2, why="latest"
    )
    pic = picture("log", story.events)
    told = pic.scenes[-1]
    assert (
        told["sentence"].endswith(", so audit won't get the 2 records before that.")
        and not told["trouble"]
    )
    assert told["light"] == [
        "reader/0/audit",
        "tray/audit",
        "record/0/0",
        "record/0/1",
        "passed",
    ]
    for width in LAYOUTS:
        drawn = shapes(pic, told, width)
        place, record = drawn["passed"], drawn["record/0/0"]
        assert record["x"] - 10 < place["x"] <= record["x"] and place["dash"]
        assert "earliest" in drawn["passed/name"]["text"]
    story.append(0, 2, ("a", "3"))
    story.poll("audit", 0, 2, 3)
    pic = picture("log", story.events)
    assert "passed" not in shapes(pic, pic.scenes[-1]), "it reads"


def test_what_is_older_than_retention_allows_is_told_apart_and_why_it_is_still_there():
    story = Story()
    story.topic()
    where = {"topic": "orders", "partition": 0}
    for day in range(8):
        story.at(day * DAY_MS).append(0, day, ("alice", f"order {day}"))
        if day in (1, 5):
            story.tell(
                "broker 1", "SegmentRolled", **where, base_offset=day + 1, why=""
            )
        if day == 5:
            story.tell(
                "broker 1",
                "SegmentDeleted",
                **where,
                base_offset=0,
                next_offset=2,
                size_bytes=9,
                why="old",
                retention_ms=3 * DAY_MS + 12 * HOUR_MS,
            )
    pic = picture("log", story.events)
    before = scene(pic, "SegmentDeleted")
    last = pic.scenes[-1]
    assert before["space"]["partitions"][0]["kept"] is None
    assert last["sentence"] == (
        "The oldest record, offset 2, is 5 days old. Its segment goes only when all"
        " records in it are older than 3.5 days, and offset 5 is only 2 days old."
    )
    for width in LAYOUTS:
        drawn = shapes(pic, last, width)
        bracket = drawn["kept/0"]
        assert drawn["kept/0/count"]["text"] == "older than 3.5 days, still there"
        assert bracket["x"] <= drawn["record/0/2"]["x"]
        assert bracket["x2"] >= drawn["record/0/3"]["x"] + drawn["record/0/3"]["w"] - 1
        assert bracket["x2"] < drawn["record/0/4"]["x"]
        assert {"record/0/2", "record/0/5"} <= {*pic.drawings(width)[-1].outlined}


def test_a_search_by_time_is_told_with_the_records_it_has_looked_at():
    story = Story()
    story.topic()
    story.append(0, 0, ("a", "09:00"), ("a", "09:10"), ("a", "09:05"))
    asked = (9 * 60 + 5) * 60_000
    where = {"topic": "orders", "partition": 0}
    story.tell("reader", "OffsetFound", **where, timestamp=asked, offset=1)
    story.tell("reader", "OffsetFound", **where, timestamp=asked + 1000, offset=-1)
    pic = picture("log", story.events)
    found = scene(pic, "OffsetFound")
    nothing = pic.scenes[-1]
    assert found["sentence"] == (
        "reader asks for the first record of 09:05 or later: it is offset 1."
    )
    assert "09:05:01 or later: there is none" in nothing["sentence"]
    for width in LAYOUTS:
        drawn = shapes(pic, found, width)
        says = [s["text"] for key, s in drawn.items() if key.startswith("compared/")]
        assert says == ["< 09:05", "≥ 09:05"]
        assert drawn["record/0/1"]["width"] == 2
    assert not [key for key in shapes(pic, nothing) if key.startswith("compared/")]


def test_an_empty_log_has_one_label_for_its_start_and_its_end():
    pic = picture("log", retention())
    drawn = shapes(pic, pic.scenes[0])
    assert [
        s["text"]
        for key, s in drawn.items()
        if key.startswith("boundary/") and s["kind"] == "text"
    ] == ["log start and end offset 0"]


@pytest.mark.parametrize("trace", [retention, holiday, long_log])
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_no_label_of_a_boundary_meets_another_one_or_a_line(trace, width):
    for drawing in picture("log", trace()).drawings(width):
        labels = {
            key: s for key, s in drawing.shapes.items() if key.startswith("boundary/")
        }
        texts = [(key, s) for key, s in labels.items() if s["kind"] == "text"]
        for key, text in texts:
            for other, line in labels.items():
                if line["kind"] == "line" and not key.startswith(other):
                    left, right = span(text)
                    assert not (left < line["x"] < right and line["y"] < text["y"]), (
                        key,
                        other,
                    )


def span(text):
    wide = text_width(text["text"], 12.5, bold=True)
    left = (
        text["x"]
        - wide * {"start": 0, "middle": 0.5, "end": 1}[text.get("anchor", "start")]
    )
    return left, left + wide


def test_a_tray_without_room_for_all_says_how_many_of_them_it_shows():
    story = Story()
    story.topic()
    for offset in range(60):
        story.append(0, offset, ("alice", f"order {offset}"))
        story.poll("audit", 0, offset, offset + 1)
    pic = picture("log", story.events)
    drawn = shapes(pic, pic.scenes[-1], WIDE)
    in_tray = [key for key in drawn if re.fullmatch(r"tray/audit/\d+/\d+", key)]
    shown = len(in_tray)
    assert 0 < shown < 60
    assert drawn["tray/audit/count"]["text"] == f"last {shown} of 60 read"


def test_a_tray_keeps_the_latest_in_their_order_and_breaks_no_loss_over_two_lines():
    items = [Seen(0, offset, "a", "v", 1, 1) for offset in range(9)]
    items.insert(4, Seen(0, 4, None, None, 1, 2))
    placed = last_lines(items, Slots(3, of_many=2), lines=2)
    assert [item.offset for item, _, _ in placed] == [4, 4, 5, 6, 7, 8][-len(placed) :]
    assert all(at % 3 + wide <= 3 for _, at, wide in placed) and placed[-1][1] <= 5

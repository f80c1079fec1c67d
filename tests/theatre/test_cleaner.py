"""The log's cleaner: the map and the copy of each pass, what goes and why, and offsets
that stay where they were.
"""

import pytest

from minikafka.theatre import fitting, picture
from minikafka.theatre.drawing import LAYOUTS, NARROW, PHONE, WIDE, widest
from tests.theatre import cleaned, traces
from tests.theatre.drawn import assert_drawn_from_json

pytestmark = pytest.mark.slow

EVERY = [cleaned.moves, cleaned.tombstone, cleaned.transactions]


def told(pic, kind):
    return [scene["sentence"] for scene in pic.scenes if scene["kind"] == kind]


def at(pic, kind, nth=-1):
    """The nth scene that was told of such an event."""
    return [scene for scene in pic.scenes if scene["kind"] == kind][nth]


def test_a_compacted_topic_is_shown_with_its_cleaner():
    assert fitting(cleaned.moves()) == "cleaner"
    assert fitting(traces.retention()) == "log"


def test_the_map_has_of_each_key_the_last_offset_below_the_active_segment():
    pic = picture("cleaner", cleaned.moves())
    space = at(pic, "KeysNoted")["space"]
    assert space["noted"] == [["a", 7], ["b", 4], ["c", 6], ["d", 8]]
    assert space["up_to"] == 9 and space["partitions"][0]["segments"][-1] == [
        9,
        10,
        "active",
    ]
    assert told(pic, "KeysNoted")[-1] == (
        "First half, the map: the cleaner reads offsets 6 to 8 and notes the last offset"
        " of each key: carol 6, alice 7 and dora 8."
    )


def test_what_the_map_has_at_a_later_offset_is_not_copied():
    pic = picture("cleaner", cleaned.moves())
    assert told(pic, "SegmentCopied")[-3:] == [
        "Second half, the copy of offsets 0 to 2: 0, 1 and 2 go: later records"
        " have their keys.",
        "Second half, the copy of offsets 3 to 5: 4 is copied; 3 and 5 go: later"
        " records have their keys.",
        "Second half, the copy of offsets 6 to 8: 6, 7 and 8 are copied.",
    ]
    assert pic.scenes[-1]["space"]["gone"] == [0, 1, 2, 3, 5]


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_copied_record_stands_below_its_place_in_the_log(width):
    pic = picture("cleaner", cleaned.moves())
    step = at(pic, "SegmentCopied")["step"]
    shapes = pic.drawings(width)[step].shapes
    copies = [key for key in shapes if key.startswith("copy/") and key != "copy/title"]
    assert copies == [f"copy/{offset}" for offset in (4, 6, 7, 8)]
    for key in copies:
        offset = key.removeprefix("copy/")
        assert shapes[key]["x"] == shapes[f"record/0/{offset}"]["x"]
        assert shapes[key]["below"] == offset
    assert shapes["record/0/3"]["dash"] and "dash" not in shapes["record/0/4"]


def test_the_copy_takes_the_place_of_the_segments_and_the_active_one_stays():
    pic = picture("cleaner", cleaned.moves())
    before, after = (
        at(pic, kind)["space"]["partitions"][0]["segments"]
        for kind in ("SegmentCopied", "SegmentsCompacted")
    )
    assert before == [
        [0, 3, "clean"],
        [3, 6, "dirty"],
        [6, 9, "dirty"],
        [9, 10, "active"],
    ]
    assert after == [[0, 9, "clean"], [9, 10, "active"]]


@pytest.mark.slow
@pytest.mark.parametrize("trace", EVERY)
def test_the_bytes_that_are_dirty_are_those_that_the_cleaner_counts(trace):
    pic = picture("cleaner", trace())
    starts = [event for event in trace() if event.kind == "CompactionStarted"]
    shown = [
        (scene["space"]["clean_bytes"], scene["space"]["dirty_bytes"])
        for scene in pic.scenes
        if scene["kind"] == "CompactionStarted"
    ]
    assert shown == [
        (event.detail["clean_bytes"], event.detail["dirty_bytes"]) for event in starts
    ]


def test_a_reader_that_wants_what_is_gone_gets_the_next_one_that_is_there():
    pic = picture("cleaner", cleaned.moves())
    _, then = told(pic, "RecordsPolled")
    assert "search asked for 3 and got 4, 6, 7 and 8, without an error" in then
    lit = pic.scenes[-1]["light"]
    assert lit == ["skips", "time", *(f"record/0/{offset}" for offset in (4, 6, 7, 8))]


def test_a_tombstone_is_copied_with_its_horizon_and_goes_in_the_first_pass_after_it():
    pic = picture("cleaner", cleaned.tombstone())
    copies = told(pic, "SegmentCopied")
    assert (
        "2, a tombstone, may go from day 1 18:02:16 on, delete.retention.ms after this"
        " pass" in copies[0]
    )
    assert "2 is copied" in copies[1]
    assert (
        "2 goes: a tombstone whose delete.retention.ms is over" in copies[3]
        and at(pic, "SegmentCopied", 3)["time"] == "day 2 06:02"
    )


def test_a_reader_that_knows_a_key_is_told_of_the_tombstone_that_it_never_hears_of():
    pic = picture("cleaner", cleaned.tombstone())
    by_reader = {
        reader: [
            scene["sentence"]
            for scene in pic.scenes
            if scene["sentence"].startswith(reader)
        ]
        for reader in ("search asks", "new asks")
    }
    assert by_reader["search asks"] == [
        "search asks for offset 2 and gets 4. It is now at offset 5, with a lag of 1."
        " The tombstone at offset 2 is gone, so search never learns that alice was deleted."
    ]
    assert by_reader["new asks"] == [
        "new asks for offset 0 and gets 4. It is now at offset 5, with a lag of 1."
    ]


def test_the_end_says_what_came_of_it_for_a_reader():
    assert picture("cleaner", cleaned.moves()).scenes[-1]["sentence"] == (
        "5 records went, 0, 1, 2, 3 and 5: later records have their keys. The others keep their"
        " offsets: search asked for 3 and got 4, 6, 7 and 8, without an error."
    )
    assert picture("cleaner", cleaned.tombstone()).scenes[-1]["sentence"] == (
        "Search was away for 3 days. Alice's tombstone, offset 2, may go 24 h after its"
        " first pass, and went in pass 3. Nothing is left to tell search, so it still has"
        " alice."
    )


@pytest.mark.parametrize("width", LAYOUTS)
def test_what_a_reader_has_is_there_and_dashed_where_it_isn_t_the_last_value(width):
    pic = picture("cleaner", cleaned.tombstone())
    shapes = pic.drawings(width)[-1].shapes
    alice, bob = shapes["record/0/0/search"], shapes["record/0/5/search"]
    assert (alice["text"], alice["more"]) == ("a", "12 Elm Street")
    assert alice["dash"] and "dash" not in bob
    assert "record/0/0/new" not in shapes, "it came when she was deleted"
    before = at(picture("cleaner", cleaned.moves()), "RecordsPolled", 0)
    pic = picture("cleaner", cleaned.moves())
    shapes = pic.drawings(width)[before["step"]].shapes
    has = [key for key in shapes if key.endswith("/search") and key.startswith("rec")]
    assert has == [f"record/0/{offset}/search" for offset in (0, 1, 2)]


def test_a_poll_for_an_offset_that_is_gone_ends_it_and_shows_what_comes_instead():
    pic = picture("cleaner", cleaned.moves())
    asked, got, _ = pic.scenes[-1]["space"]["skips"]
    for width in LAYOUTS:
        shapes = pic.drawings(width)[-1].shapes
        words, reader = shapes["skips/words"], shapes["reader/0/search/name"]
        assert words["text"] == f"{asked} is gone: the next is {got}"
        assert words["y"] < reader["y"] - 12, "each has a line of its own"
        right = words["x"] + widest(words["text"], 12.5, bold=True)
        assert right < shapes["reader/0/search"]["x"]
        away, passed = (
            shapes[f"time/lane/{key}"] for key in ("search/bar/0", "cleaner/1")
        )
        assert away["tip"] == "search is away: 3 h"
        assert away["x"] < passed["x"] < away["x"] + away["w"], "a pass meanwhile"
    assert shapes["skips/from"]["x"] < shapes["skips/to"]["x"]
    assert "map/title" not in shapes and "copy/title" not in shapes


def test_a_reader_of_transactions_may_have_less_than_it_went_past_so_nothing_is_said():
    shapes = picture("cleaner", cleaned.transactions()).drawings(WIDE)[-1].shapes
    assert not [key for key in shapes if key.startswith("has/")]


def test_a_phone_has_room_for_the_offsets_that_are_asked_for():
    pic = picture("cleaner", cleaned.moves())
    shapes = pic.drawings(PHONE)[-1].shapes
    offsets = range(pic.cast["most"])
    assert all(f"record/0/{offset}" in shapes for offset in offsets)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_bar_of_what_is_dirty_stays_where_it_is(width):
    pic = picture("cleaner", cleaned.moves())
    every = [drawing.shapes.get("gauge/all") for drawing in pic.drawings(width)]
    bars = [bar for bar in every if bar]
    assert None in every, "where nothing is dirty there is none"
    assert len({(bar["x"], bar["w"]) for bar in bars}) == 1


def test_records_of_an_aborted_transaction_go_and_its_marker_goes_later():
    pic = picture("cleaner", cleaned.transactions())
    copies = told(pic, "SegmentCopied")
    assert copies[0].endswith(
        "0, 1 and 3 are copied; 2 goes: its transaction was aborted."
    )
    assert "3, a marker, may go from day 3 02:00:15 on" in copies[1]
    assert "3 goes: a marker whose records are gone" in copies[3]
    shapes = pic.drawings(WIDE)[at(pic, "CompactionStarted", 0)["step"]].shapes
    assert (shapes["record/0/1"]["text"], shapes["record/0/3"]["text"]) == ("✓", "✗")


def test_a_pass_that_max_compaction_lag_asked_for_says_so():
    events = [
        event if event.kind != "CompactionStarted" else overdue(event)
        for event in cleaned.moves()
    ]
    assert (
        "A record has waited for longer than max.compaction.lag.ms."
        in (told(picture("cleaner", events), "CompactionStarted")[0])
    )


def overdue(event):
    return type(event).from_json(
        event.to_json() | {"detail": event.detail | {"overdue": True}}
    )


@pytest.mark.parametrize("trace", [*EVERY, traces.retention, list])
def test_it_is_drawn_anew_from_its_json_and_fits_a_notebook(trace):
    assert_drawn_from_json(picture("cleaner", trace()), most=430)

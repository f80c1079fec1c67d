"""Bytes beside their fields: each byte of a field in its place, and who notices a byte
that was changed.
"""

import random

import pytest

from minikafka.course.experiments.frame_fields import request_apart
from minikafka.course.experiments.lesson_12_frames import Change, changed, play
from minikafka.course.experiments.lesson_12_runs import LAYOUT, order_request
from minikafka.theatre import picture
from minikafka.theatre.drawing import LAYOUTS, NARROW, PHONE, WIDE
from minikafka.wire.messages import decode_request
from tests.theatre import frames
from tests.theatre.drawn import assert_drawn_from_json

EVERY = [frames.request, frames.another_api, frames.answer, frames.batch]
LIVE = {"live": True}


def judged(name, at, byte):
    frame = frames.frames()[name]
    return frame.judge(changed(frame, [Change(at, byte)]))


# -- fields


@pytest.mark.parametrize("name", ["request", "answer", "batch"])
def test_every_byte_of_a_good_frame_belongs_to_one_field(name):
    frame = frames.frames()[name]
    apart = frame.take_apart(frame.data)
    taken = [at for part in apart.parts for at in range(part.first, part.end)]
    assert taken == list(range(len(frame.data)))
    assert (apart.end, apart.why) == (len(frame.data), "")


def test_fields_begin_where_the_lessons_table_says():
    starts = {part.first for part in request_apart(order_request()).parts}
    begins, at = set(), 0
    for name, size in LAYOUT:
        if not name.startswith(("client id", "topic", "record")):
            begins.add(at)
        at += size
    assert begins <= starts


def test_what_a_field_says_is_what_the_schema_decodes():
    body = decode_request(order_request()).body
    parts = {part.name: part.value for part in request_apart(order_request()).parts}
    assert parts["Acks"] == str(body.acks) and parts["TimeoutMs"] == str(
        body.timeout_ms
    )
    assert parts["TransactionalId"] == "null" and parts["Name"] == "“orders”"


def test_whatever_becomes_of_its_bytes_a_request_is_taken_apart_as_far_as_it_goes():
    chance = random.Random(12)
    for _ in range(2000):
        data = bytearray(order_request())
        for _ in range(chance.randrange(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        apart = request_apart(bytes(data[: chance.randrange(len(data) + 1)]))
        ends = [part.end for part in apart.parts]
        assert ends == sorted(ends) and apart.end == (ends[-1] if ends else 0)


# -- who notices


@pytest.mark.parametrize(
    ("name", "at", "byte", "by", "how"),
    [
        ("request", 0, 1, "the broker", "there is no API 256"),
        ("request", 1, 3, "the client", "takes this for API 3 Metadata, version 8"),
        ("request", 3, 99, "the broker", "Produce has no version 99"),
        ("request", 7, 6, "the client", "an answer to question 6"),
        ("request", 10, 0x74, "nobody", "stores the order"),
        ("request", 45, 0x4C, "the broker", "INVALID_RECORD"),
        ("request", 119, 0x72, "the broker", "the stored CRC does not match"),
        ("answer", 3, 6, "the client", "this is the answer to 6"),
        ("answer", 25, 6, "the client", "NOT_LEADER_OR_FOLLOWER, and sends the order"),
        ("answer", 25, 10, "the client", "MESSAGE_TOO_LARGE, and gives up"),
        ("answer", 33, 9, "nobody", "its order has offset 9"),
        ("answer", 9, 9, "the client", "can't read it"),
        ("batch", 7, 9, "nobody", "hands its records to the program"),
        ("batch", 11, 99, "the client", "announces 99 bytes, but 82 are there"),
        ("batch", 16, 3, "the client", "magic 3 instead of 2"),
        ("batch", 84, 0x14, "the client", "record 1 ends 1 byte off"),
    ],
)
def test_who_notices_a_byte_that_was_changed(name, at, byte, by, how):
    verdict = judged(name, at, byte)
    assert verdict.by == by and how in verdict.message


def test_a_broker_is_silent_where_the_acks_became_zero():
    frame = frames.frames()["request"]
    silent = changed(frame, [Change(16, 0), Change(17, 0)])
    assert frame.judge(silent).message == "With these acks the broker sends no answer."


# -- the picture


def test_a_change_is_told_with_its_field_and_who_notices():
    pic = picture("bytes", frames.request())
    assert [scene["sentence"] for scene in pic.scenes] == [
        "The frame has 123 bytes and 32 fields.",
        "Byte 119 changes from 61 to 72, so Value is “prid”. The broker refuses it,"
        " CORRUPT_MESSAGE: Record is corrupt: the stored CRC does not match the batch.",
        "Byte 9 changes from 04 to 05, so ClientId is “shop\ufffd”. The broker hangs"
        " up: an array of 256 items is announced, 96 bytes remain.",
        "Byte 9 changes from 05 to 04, so ClientId is “shop”. The broker refuses it,"
        " CORRUPT_MESSAGE: Record is corrupt: the stored CRC does not match the batch.",
    ]
    assert [scene["time"] for scene in pic.scenes] == [
        "as sent",
        "change 1",
        "change 2",
        "change 3",
    ]
    assert [scene["space"]["changed"] for scene in pic.scenes] == [
        [],
        [119],
        [9, 119],
        [119],
    ]


def test_what_is_changed_back_is_as_it_was_sent():
    last = picture("bytes", frames.changed("answer", (25, 6), (25, 0))).scenes[-1]
    assert (
        last["sentence"].endswith("All bytes are as they were sent.")
        and not last["trouble"]
    )


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_bytes_of_a_field_and_its_line_share_a_name(width):
    shapes = picture("bytes", frames.batch()).drawings(width)[0].shapes
    by_name = {}
    for key, shape in shapes.items():
        if "same" in shape:
            by_name.setdefault(shape["same"], []).append(key)
    for keys in by_name.values():
        kinds = [key.split("/")[0] for key in keys]
        assert kinds.count("field") == 1 and kinds.count("byte") >= 1
    assert sum(map(len, by_name.values())) == 94 + 29


def test_what_is_not_read_any_more_has_no_field():
    pic = picture("bytes", frames.request())
    shapes = pic.drawings(WIDE)[2].shapes
    assert "same" not in shapes["byte/40"] and "not read" in shapes["byte/40"]["tip"]
    assert any(shape.get("text") == "96 bytes not read" for shape in shapes.values())


def test_only_a_live_one_can_be_changed_and_the_other_says_so():
    still, live = (
        picture("bytes", frames.request(), **options) for options in ({}, LIVE)
    )
    byte = still.drawings(WIDE)[0].shapes["byte/7"]
    assert "act" not in byte and "digits" not in byte
    assert "read-only here" in still.play.scenario(still.scenes[0])
    byte = live.drawings(WIDE)[0].shapes["byte/7"]
    assert (byte["act"], byte["digits"]) == ("byte 7", 2)
    assert "type two hex digits" in live.play.scenario(live.scenes[0])


def test_a_page_without_python_has_what_comes_of_each_bit():
    pic = play(frames.frames()["answer"])
    assert len(pic.scenes) == 1 + 60
    assert [scene["space"]["changed"] for scene in pic.scenes[1:]] == [
        [at] for at in range(60)
    ]
    assert pic.scenes[26]["sentence"] == (
        "Byte 25 changes from 00 to 01, so ErrorCode is 1 OFFSET_OUT_OF_RANGE. The shop"
        " reads error 1, OFFSET_OUT_OF_RANGE, and gives up on the order."
    )
    shapes = pic.drawings(WIDE)[26].shapes
    assert (
        shapes["byte/40"]["act"] == "step 41" and shapes["byte/25"]["act"] == "step 0"
    )
    assert "digits" not in shapes["byte/40"]
    assert "its last bit flips" in pic.scenario(pic.scenes[0])


@pytest.mark.parametrize(
    ("name", "found"), [("request", [103, 4, 16]), ("batch", [0, 82, 12])]
)
def test_in_the_end_each_byte_says_who_noticed_its_flip(name, found):
    """Of a request: the broker, only the client, nobody. A broker reads no batch."""
    frame = frames.frames()[name]
    pic = play(frame)
    last = pic.drawings(WIDE)[-1].shapes
    assert [int(last[f"found/{line}/word"]["text"]) for line in range(3)] == found
    assert sum(found) == len(frame.data)
    for at in range(len(frame.data)):
        by, _ = frame.judge(changed(frame, [Change(at, frame.data[at] ^ 1)]))
        fills = {"the broker": "good", "the client": "saidline", "nobody": "trouble"}
        assert last[f"byte/{at}"]["fill"] == fills[by]


def test_in_the_end_the_fields_of_flips_that_nobody_noticed_are_marked_and_lit():
    pic = play(frames.frames()["request"])
    drawn = pic.drawings(PHONE)[-1]
    parts = frames.frames()["request"].take_apart(frames.frames()["request"].data).parts
    keys = {part.name: f"field/{number}" for number, part in enumerate(parts)}
    marked = {name for name in keys if drawn.shapes[keys[name]]["fill"] == "trouble"}
    assert {"ClientId", "TransactionalId", "TimeoutMs"} < marked
    assert not marked & {"ApiKey", "Acks", "Headers"}
    assert {keys[name] for name in marked} <= drawn.lit


@pytest.mark.parametrize("width", LAYOUTS)
def test_in_the_end_it_is_said_that_the_crc_covers_none_of_them(width):
    """And how many there are stands out."""
    drawn = play(frames.frames()["request"]).drawings(width)[-1].shapes
    assert drawn["covered/words"]["text"].endswith(": none of the 16")
    bold = [line for line in range(3) if "weight" in drawn[f"found/{line}/by"]]
    assert bold == [2]


def test_of_a_batch_the_crc_covers_all_bytes_behind_it_and_whoever_reads_it_notices():
    frame = frames.frames()["batch"]
    [crc] = [part for part in frame.take_apart(frame.data).parts if part.name == "CRC"]
    last = play(frame).drawings(WIDE)[-1].shapes
    begin, byte = last["covered/begin"], last[f"byte/{crc.end}"]
    assert 0 <= byte["x"] - begin["x"] <= 2 and 0 <= byte["y"] - begin["y"] <= 2
    covered = range(crc.end, len(frame.data))
    assert {last[f"byte/{at}"]["fill"] for at in covered} == {"saidline"}


@pytest.mark.parametrize("trace", [*EVERY, list])
def test_it_is_drawn_anew_from_its_json(trace):
    assert_drawn_from_json(picture("bytes", trace()), most=510)


# -- its levers


def test_a_typed_byte_is_a_step_and_undoes_what_came_after_the_step_that_is_shown():
    pytest.importorskip("ipywidgets")
    from minikafka.course.experiments.lesson_12_frames import levers

    live = levers()
    live._clicked("byte 119", 0, "72")
    live._clicked("byte 9", 1000, "05")
    assert live.changes == [(119, 0x72), (9, 5)] and len(live.picture.scenes) == 3
    live._clicked("byte 10", 1000, "74")
    assert live.code == [
        "frame[119] = 0x72",
        "frame[10] = 0x74",
        'Client(shop(), "shop").ask(frame)',
    ]
    live.chosen.value = 2
    assert live.changes == [] and live.picture.title == "A record batch"


def test_without_ipywidgets_it_is_to_look_at(monkeypatch):
    from minikafka.course.experiments import lesson_12_frames

    monkeypatch.setattr(lesson_12_frames, "find_spec", lambda name: None)
    assert lesson_12_frames.levers().digest == play(frames.frames()["request"]).digest

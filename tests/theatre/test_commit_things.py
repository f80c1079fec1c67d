"""The commit point's records as things: where they come from, and where they lie."""

import pytest

from minikafka.theatre import picture
from minikafka.theatre.drawing import LAYOUTS, PHONE, WIDE
from tests.theatre.commit_traces import Commits, commit_after


def at(pic, kind, number=0):
    return [scene for scene in pic.scenes if scene["kind"] == kind][number]


def drawn(pic, scene, width=WIDE):
    return pic.drawings(width)[scene["step"]].shapes


def memory(pic, scene, reader="billing", width=WIDE):
    """The squares in a reader's memory, by their keys."""
    return {
        key: shape
        for key, shape in drawn(pic, scene, width).items()
        if key.startswith(f"card/{reader}/") and shape["kind"] == "cell"
    }


@pytest.mark.parametrize("width", LAYOUTS)
def test_a_record_comes_from_who_writes_it_and_goes_from_the_log_to_the_reader(width):
    pic = picture("commit", commit_after())
    written = at(pic, "RecordsAppended", 1)
    shapes = drawn(pic, written, width)
    card, record = shapes["producer"], shapes["record/0/1"]
    assert shapes["producer/name"]["text"] == "shop"
    assert card["x"] <= record["from_x"] <= card["x"] + card["w"]
    assert card["y"] <= record["from_y"] <= card["y"] + card["h"]
    later = drawn(pic, pic.scenes[written["step"] + 1], width)
    assert "from_x" not in later["record/0/1"], "it is there"

    handed = at(pic, "RecordsPolled", 1)
    shapes = drawn(pic, handed, width)
    square = next(iter(memory(pic, handed, width=width).values()))
    record = shapes["record/0/1"]
    assert square["text"] == "1" and square["same"] == record["same"]
    assert (square["from_x"], square["from_y"]) == (record["x"], record["y"])
    assert square["y"] > record["y"] + record["h"]


def test_what_is_read_and_not_committed_piles_up_and_a_commit_takes_it_away():
    story = Commits().orders(6)
    story.at(1000).starts(0)
    story.at(2000).poll("billing", 0, 0, 2)
    story.at(2100).write(0)
    story.at(3000).poll("billing", 0, 2, 4)
    pic = picture("commit", story.events, table="payments")
    pile = memory(pic, pic.scenes[-1])
    assert [square["text"] for square in pile.values()] == ["0", "1", "2", "3"]
    fills = [square["fill"] for square in pile.values()]
    assert fills == ["good", "paper", "paper", "paper"], "record 0 is written"
    said = drawn(pic, pic.scenes[-1])["card/billing/does"]["text"]
    assert said == "4 read, not committed"

    story.at(4000).commit(2)
    pic = picture("commit", story.events, table="payments")
    pile = memory(pic, pic.scenes[-1])
    assert [square["text"] for square in pile.values()] == ["1", "2", "3"], (
        "record 1 is committed, and still to do"
    )
    said = drawn(pic, pic.scenes[-1])["card/billing/does"]["text"]
    assert said == "1 committed, not done"


def test_a_pile_that_is_higher_than_its_card_is_counted():
    story = Commits().orders(60)
    story.at(7000).starts(0)
    story.at(7100).poll("billing", 0, 0, 50)
    pic = picture("commit", story.events, table="payments")
    for width in LAYOUTS:
        pile = memory(pic, pic.scenes[-1], width=width)
        shapes = drawn(pic, pic.scenes[-1], width)
        assert int(shapes["card/billing/more"]["text"]) + len(pile) == 50
        card = shapes["card/billing"]
        ends = [square["x"] + square["w"] for square in pile.values()]
        assert max(ends) <= card["x"] + card["w"]


def test_a_commit_leaves_the_reader_and_is_the_flag_of_the_committed_offset():
    pic = picture("commit", commit_after())
    sent, noted = at(pic, "CommitSent", 1), at(pic, "OffsetCommitted", 1)
    flag = f"commit/{sent['number']}"
    before, after = drawn(pic, sent), drawn(pic, noted)
    assert before[f"{flag}/word"]["text"] == "commit 2"
    assert after[f"{flag}/word"]["text"] == "committed 2"
    card, line = before["card/billing"], after["boundary/0/committed"]
    assert before[flag]["y"] <= card["y"] <= before[flag]["y"] + before[flag]["h"]
    assert after[flag]["y"] < line["y2"]
    assert after[flag]["x"] <= line["x"] <= after[flag]["x"] + after[flag]["w"]


def test_an_effect_comes_out_of_the_memory_of_the_reader_that_held_the_record():
    pic = picture("commit", commit_after())
    written = at(pic, "EffectWritten", 1)
    shapes = drawn(pic, written)
    card, effect = shapes["card/billing"], shapes["effect/1/1"]
    assert card["x"] <= effect["from_x"] <= card["x"] + card["w"]
    assert card["y"] <= effect["from_y"] <= card["y"] + card["h"]


def test_a_record_that_is_read_twice_arrives_twice():
    pic = picture("commit", commit_after(crash_after_write=3))
    crash = at(pic, "NodeCrashed")
    [gone] = memory(pic, crash).values()
    assert gone["text"] == "3" and gone["ink"] == "gone"
    back = at(pic, "NodeRestarted")
    assert not memory(pic, back), "it remembers nothing"
    again = at(pic, "RecordsPolled", 4)
    first = at(pic, "RecordsPolled", 3)
    [new], [old] = memory(pic, again).items(), memory(pic, first).items()
    assert new[0] != old[0] and new[1]["text"] == old[1]["text"] == "3"
    assert "from_x" in new[1] and "from_x" in old[1]


def test_a_commit_that_expires_leaves_a_trace_where_it_stood():
    story = Commits().orders(6)
    story.at(1000).starts(0)
    story.at(2000).poll("billing", 0, 0, 3)
    story.at(2100).commit(3)
    kept = picture("commit", story.events)
    assert "expired" not in drawn(kept, kept.scenes[-1])
    story.at(700_000_000).tell(
        "broker 1", "OffsetsExpired", group="billing", partitions=[["orders", 0]]
    )
    pic = picture("commit", story.events)
    for width in LAYOUTS:
        before = drawn(pic, at(pic, "OffsetCommitted"), width)
        shapes = drawn(pic, pic.scenes[-1], width)
        assert shapes["expired"]["x"] == before["boundary/0/committed"]["x"]
        assert shapes["expired"]["dash"] and "boundary/0/committed" not in shapes
        assert shapes["expired/name"]["text"] == "committed 3, deleted"


def test_a_phone_shows_every_record_as_long_as_it_is_seen():
    story = Commits().orders(11)
    story.at(2000).starts(0)
    pic = picture("commit", story.events)
    shapes = drawn(pic, pic.scenes[-1], PHONE)
    assert len([key for key in shapes if key.startswith("record/0/")]) == 11

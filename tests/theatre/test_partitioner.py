"""The partitioner's machine."""

import pytest

from minikafka.theatre import picture
from minikafka.theatre.drawing import LAYOUTS, NARROW, WIDE
from tests.theatre.traces import Story, growing

MOVERS = ("alice", "bob", "dave", "erin")


def of_kind(pic, kind):
    return [scene for scene in pic.scenes if scene["kind"] == kind]


def test_the_machine_shows_hash_mask_and_remainder():
    pic = picture("partitioner", growing())
    bob = next(
        scene
        for scene in of_kind(pic, "PartitionChosen")
        if scene["space"]["now"]["key"] == "bob"
    )
    drawn = pic.drawings(920)[bob["step"]].shapes
    assert [drawn[f"machine/{line}/result"]["text"] for line in (0, 1, "end")] == [
        "2246822606",
        "99338958",
        "0",
    ]
    assert "99338958 % 3 = 0" in bob["sentence"]


def places(way):
    """The partitions that each key went to."""
    return {key: [partition for partition, _ in places] for key, places in way["keys"]}


def test_a_new_number_of_partitions_says_which_keys_move():
    pic = picture("partitioner", growing())
    grown = of_kind(pic, "PartitionsCreated")[0]
    assert "4 of 5 keys" in grown["sentence"] and grown["space"]["differ"] == [4, 5]
    before, after = map(places, grown["space"]["ways"])
    assert (
        before["alice"] == [0]
        and after["alice"] == [1]
        and before["carol"] == after["carol"] == [2]
    )
    assert None in before and None not in after
    for width in (WIDE, NARROW):
        drawn = pic.drawings(width)[grown["step"]]
        assert {key for key in drawn.shapes if key.startswith("move/")} == {
            f"move/={k}" for k in MOVERS
        }
        assert drawn.shapes["said/differ"]["text"] == "1 stays, 4 move"
        assert drawn.shapes["machine/divisor"]["text"] == "hash % 3 → % 4"
        lit = {
            f"key/{way}/={key}/{at[key][0]}"
            for way, at in enumerate((before, after))
            for key in MOVERS
        }
        assert lit <= drawn.lit and not {
            key for key in drawn.lit if "carol" in key and key.startswith("key/")
        }


def test_only_one_step_of_a_growing_topic_is_lit():
    assert (
        len(
            [
                scene
                for scene in picture("partitioner", growing()).scenes
                if "light" in scene
            ]
        )
        == 1
    )


def test_where_no_record_has_a_key_nothing_moves():
    story = Story()
    story.topic(partitions=2)
    story.choose(1, 2, None, "x", "no key: stays", "sticky")
    story.tell("broker 1", "PartitionsCreated", topic="orders", partitions=3, was=2)
    pic = picture("partitioner", story.events)
    assert "keys go" not in pic.scenes[-1]["sentence"]
    assert pic.drawings(920)[-1].shapes["machine/divisor"]["text"] == "hash % 2 → % 3"


def test_all_records_without_key_in_one_partition_are_lit_at_the_last():
    story = Story()
    story.topic(partitions=3)
    for number in range(12):
        story.at(number).choose(
            1, 3, None, f"order {number}", "no key: stays", "sticky"
        )
    lit = [
        scene
        for scene in picture("partitioner", story.events).scenes
        if "light" in scene
    ]
    assert [scene["number"] for scene in lit] == [13] and lit[0]["sentence"].startswith(
        "All 12 records went to"
    )


def test_it_does_not_end_on_an_empty_machine():
    for drawing in picture("partitioner", growing()).drawings(920)[1:]:
        assert "machine/waits" not in drawing.shapes


def test_a_key_that_moved_did_so_because_of_the_new_partition():
    pic = picture("partitioner", growing())
    moved = next(
        s
        for s in of_kind(pic, "PartitionChosen")
        if "earlier records are in partition 0" in s["sentence"]
    )
    assert pic.scenes[moved["because"]]["kind"] == "PartitionsCreated"


def test_a_key_that_moved_has_its_latest_records_in_two_partitions_without_an_order():
    pic = picture("partitioner", growing())
    *_, moved = (scene for scene in pic.scenes if scene["space"]["apart"])
    key, records = moved["space"]["apart"]
    shapes = pic.drawings(WIDE)[moved["step"]].shapes
    assert shapes["apart/key"]["text"] == f"key {key} is in two partitions"
    for line, (partition, _) in enumerate(records):
        assert shapes[f"apart/part/{line}"]["text"] == f"P{partition}"
    first, then = (shapes[f"apart/{line}"]["text"] for line in range(2))
    assert shapes["apart/why"]["text"] == f"“{then}” may be read before “{first}”."
    grown = of_kind(pic, "PartitionsCreated")[0]
    assert not grown["space"]["apart"], "until it is sent there"


def test_earlier_records_stay_where_they_are():
    bins = picture("partitioner", growing()).scenes[-1]["space"]["bins"]
    held = {
        entry["partition"]: dict((key, count) for key, count in entry["keys"])
        for entry in bins
    }
    assert held[0]["alice"] == 1 and held[1]["alice"] == 1 and held[1][None] == 6


def test_a_producer_that_has_not_heard_of_the_new_partition_still_divides_by_the_old_number():
    story = Story()
    story.topic(partitions=3)
    story.tell("broker 1", "PartitionsCreated", topic="orders", partitions=4, was=3)
    story.at(10).choose(0, 3, "alice", "paid", hashed=1951417749)
    pic = picture("partitioner", story.events)
    assert "shop still knows 3 of them" in pic.play.scenario(pic.scenes[-1])


def test_records_without_key_tell_when_their_batch_arrives():
    batches = of_kind(picture("partitioner", growing()), "RecordsAppended")
    assert len(batches) == 2 and "3 records" in batches[0]["sentence"]


def test_before_the_first_record_all_partitions_are_there_and_empty():
    story = Story()
    story.topic(partitions=5)
    story.choose(4, 5, "alice", "created", hashed=1951417749)
    before, after = picture("partitioner", story.events).drawings(WIDE)
    empty = [f"part/0/{number}/none" for number in range(5)]
    assert [key for key in before.shapes if key.endswith("/none")] == empty
    assert [key for key in after.shapes if key.endswith("/none")] == empty[:4]


def test_somebodys_own_rule_is_named():
    story = Story()
    story.topic(partitions=2)
    story.choose(
        1, 2, "vip", "x", why="chosen by vip_first", reason="own_rule", rule="vip_first"
    )
    last = picture("partitioner", story.events).scenes[-1]
    assert (
        last["space"]["now"]["kind"] == "vip_first"
        and "chosen by vip_first" in last["sentence"]
    )


def test_two_producers_with_different_rules_send_one_key_to_two_partitions():
    story = Story()
    story.topic(partitions=3)
    story.choose(0, 3, "alice", "created", hashed=1951417749)
    own = {"why": "chosen by crc32", "reason": "own_rule", "rule": "crc32"}
    story.at(10).choose(2, 3, "alice", "paid", producer="other shop", **own)
    pic = picture("partitioner", story.events)
    differs = pic.scenes[-1]
    assert "With murmur2 it went to partition 0" in differs["sentence"] and differs[
        "space"
    ]["differ"] == [1, 1]
    assert "move/=alice" in pic.drawings(920)[-1].lit
    assert not pic.drawings(920)[-1].outlined, "threads stand out, and no box"
    assert [places(way)["alice"] for way in differs["space"]["ways"]] == [[0], [2]]


@pytest.mark.slow
def test_many_keys_and_partitions_stay_inside_the_page_and_are_counted():
    story = Story()
    story.topic(partitions=8)
    for at, count in ((0, 8), (500, 12)):
        if at:
            story.at(400).tell(
                "broker 1", "PartitionsCreated", topic="orders", partitions=count, was=8
            )
        for number in range(120):
            hashed = (number % 60) * 2654435761 & 0xFFFFFFFF
            partition = (hashed & 0x7FFFFFFF) % count
            story.at(at + number).choose(
                partition, count, f"customer-{number % 60}", "x", hashed=hashed
            )
    pic = picture("partitioner", story.events)
    for width, height in ((WIDE, 350), (NARROW, 480)):
        for drawing in pic.drawings(width):
            shapes = drawing.shapes.values()
            assert all(shape["x"] + shape.get("w", 0) <= width + 1 for shape in shapes)
            assert drawing.bottom <= height
            keys = {
                key.rsplit("/", 1)[0]
                for key in drawing.shapes
                if key.startswith("key/")
            }
            assert len(keys) <= 24
    assert "12 of 60 keys are drawn" in pic.play.scenario(pic.scenes[-1])
    moved, known = pic.scenes[-1]["space"]["differ"]
    assert (
        known == 60
        and f"{moved} of 60 keys" in of_kind(pic, "PartitionsCreated")[0]["sentence"]
    )


def sticky(story, partition, sent, size=78):
    """A record without a key, which stays where the ones before went."""
    story.choose(partition, 3, None, "order", "no key: stays", "sticky")
    story.events[-1].detail.update(sent_bytes=sent, size_bytes=size, batch_size=16_384)


def test_a_gauge_shows_how_far_a_keyless_record_is_from_another_partition():
    story = Story()
    story.topic(partitions=3)
    sticky(story, 1, sent=0)
    sticky(story, 1, sent=78)
    sticky(story, 1, sent=8_192 - 78)
    pic = picture("partitioner", story.events)
    assert "78 of 16,384" not in pic.scenes[1]["sentence"]
    assert pic.scenes[2]["sentence"] == (
        "A record without a key goes to partition 1, too:"
        " 156 of 16,384 bytes (batch.size) have gone there."
    )
    assert "partition 1, 8,192 bytes: the producer" in pic.scenes[3]["sentence"]
    for width in (WIDE, NARROW):
        shapes = pic.drawings(width)[-1].shapes
        half = shapes["machine/gauge"]["w"] / 2
        assert abs(shapes["machine/gauge/sent"]["w"] - half) < 1
        assert shapes["machine/gauge/words"]["text"].startswith("8,192 of 16,384 bytes")


def test_it_is_said_why_a_producer_stays_longer_and_that_it_moved_on():
    story = Story()
    story.topic(partitions=3)
    sticky(story, 1, sent=0)
    sticky(story, 1, sent=20_000)
    sticky(story, 2, sent=0)
    sticky(story, 2, sent=78)
    first, longer, moved, last = (
        scene["sentence"] for scene in picture("partitioner", story.events).scenes[1:]
    )
    assert "20,078 bytes have gone there, but a batch is still filling" in longer
    assert moved == (
        "A record without a key goes to partition 2:"
        " batch.size bytes went to the one before, so it picks at random again."
    )
    assert "again" not in first
    assert last == (
        "All 4 records went to partitions 1 and 2: the producer stays with one partition"
        " until 16,384 bytes (batch.size) have gone there."
    )


def test_one_record_without_a_key_is_one_step():
    story = Story()
    story.topic(partitions=3)
    sticky(story, 1, sent=0)
    story.append(1, 0, (None, "order"))
    assert len(picture("partitioner", story.events).scenes) == 2


def test_the_time_until_a_producer_notices_a_new_partition_is_said():
    story = Story()
    story.topic(partitions=3)
    story.choose(0, 3, "alice", "created", hashed=1951417749)
    story.at(1000).tell(
        "broker 1", "PartitionsCreated", topic="orders", partitions=4, was=3
    )
    story.at(301_000).choose(1, 4, "alice", "paid", hashed=1951417749)
    said = picture("partitioner", story.events).scenes[-1]["sentence"]
    assert said.startswith("5 minutes later, shop has fetched the metadata again")


def test_an_arrow_leads_from_the_remainder_to_the_partition_whose_hashes_have_it():
    story = Story()
    story.topic(partitions=5)
    story.choose(4, 5, "alice", "created", hashed=1951417749)
    pic = picture("partitioner", story.events)
    for width in LAYOUTS:
        waits, goes = (drawing.shapes for drawing in pic.drawings(width))
        assert waits["in/hand"]["text"] == "c" and "text" not in goes["in/hand"]
        assert waits["machine/end/result"]["text"] == "?"
        assert "machine/goes" not in waits
        assert "machine/1" not in goes, "the sign bit changes nothing"

        hit, digit = goes["part/0/4"], goes["machine/digit"]
        result = goes["machine/0/result"]
        assert digit["x2"] == result["x"] and digit["y"] > result["y"]
        assert hit["y"] < goes["machine/goes"]["y2"] < hit["y"] + hit["h"]
        assert [goes[f"part/0/{number}/hashes"]["text"] for number in (0, 4)] == [
            "0, 5, … 1951417745",
            "4, 9, … 1951417749",
        ]


def test_the_last_digit_is_marked_where_it_decides():
    for count, marked in ((2, True), (3, False), (4, False), (5, True)):
        story = Story()
        story.topic(partitions=count)
        story.choose(1951417749 % count, count, "alice", "x", hashed=1951417749)
        drawn = picture("partitioner", story.events).drawings(WIDE)[-1].shapes
        assert ("machine/digit" in drawn) == marked


def squares(drawing):
    return {
        key: shape for key, shape in drawing.shapes.items() if key.startswith("record/")
    }


def test_a_record_is_one_square_from_the_hand_to_its_place_in_the_log():
    story = Story()
    story.topic(partitions=3)
    sticky(story, 1, sent=0)
    sticky(story, 1, sent=78)
    story.append(1, 4, (None, "order"), (None, "order"))
    pic = picture("partitioner", story.events)
    for width in LAYOUTS:
        _, first, both, arrived = map(squares, pic.drawings(width))
        assert first.keys() < both.keys() == arrived.keys()
        assert all(each.get("dash") and not each.get("text") for each in both.values())
        tips = [each["tip"] for each in arrived.values()]
        assert tips == [f"no key: offset {offset} of partition 1" for offset in (4, 5)]
        assert not any(each.get("text") for each in arrived.values())
        assert not any(each.get("dash") for each in arrived.values())

        shapes = pic.drawings(width)[-1].shapes
        machine, hand = shapes["machine/box"], shapes["in/hand"]
        for square in arrived.values():
            assert (square["from_x"], square["from_y"]) == (hand["x"], hand["y"])
            assert hand["x"] + hand["w"] < machine["x"], "from the hand to the machine"
            beyond = square["x"] >= machine["x"] + machine["w"]
            below = square["y"] >= machine["y"] + machine["h"]
            assert beyond if width == WIDE else below


def test_a_square_has_the_offset_that_its_own_producers_batch_got():
    story = Story()
    story.topic(partitions=2)
    for producer in ("shop", "other shop"):
        story.choose(0, 2, "alice", "paid", producer=producer, hashed=1951417748)
    story.append(0, 7, ("alice", "paid"), producer="other shop")
    pic = picture("partitioner", story.events)
    waits, arrived = squares(pic.drawings(WIDE)[-1]).values()
    assert waits["dash"] and waits["text"] == arrived["text"] == "p", "it is paid"
    assert arrived["tip"] == "key alice: offset 7 of partition 0"


def test_the_last_sentence_tells_the_whole_story():
    said = picture("partitioner", growing()).scenes[-1]["sentence"]
    assert said.startswith("From 3 to 4 partitions, 4 of 5 keys go elsewhere")
    story = Story()
    story.topic(partitions=3)
    for number in range(6):
        story.choose(number % 3, 3, f"k{number}", "x", hashed=number)
    said = picture("partitioner", story.events).scenes[-1]["sentence"]
    assert said == (
        "6 records went to partitions 0, 1 and 2: 2, 2 and 2. A key's hash % 3 decides,"
        " so each key has one partition."
    )

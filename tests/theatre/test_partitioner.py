"""The partitioner's machine."""

from minikafka.theatre import picture
from tests.theatre.traces import Story, growing


def of_kind(pic, kind):
    return [scene for scene in pic.scenes if scene["kind"] == kind]


def test_the_machine_shows_hash_mask_and_remainder():
    pic = picture("partitioner", growing())
    bob = next(scene for scene in of_kind(pic, "PartitionChosen") if scene["space"]["now"]["key"] == "bob")
    drawn = pic.drawings(920)[bob["step"]].shapes
    assert [drawn[f"machine/{line}/result"]["text"] for line in range(3)] == ["2246822606", "99338958", "0"]
    assert "99338958 % 3 = 0" in bob["sentence"]


def test_a_new_number_of_partitions_says_which_keys_move():
    grown = of_kind(picture("partitioner", growing()), "PartitionsCreated")[0]
    assert "4 of 5 keys" in grown["sentence"]
    places = {entry["key"]: (entry["places"][-1][1], entry["next"]) for entry in grown["space"]["keys"]}
    assert places["alice"] == (0, 1) and places["carol"] == (2, 2) and places[None] == (1, None)


def test_a_key_that_moved_did_so_because_of_the_new_partition():
    pic = picture("partitioner", growing())
    moved = next(s for s in of_kind(pic, "PartitionChosen") if "earlier records are in partition 0" in s["sentence"])
    assert pic.scenes[moved["because"]]["kind"] == "PartitionsCreated"


def test_earlier_records_stay_where_they_are():
    bins = picture("partitioner", growing()).scenes[-1]["space"]["bins"]
    held = {entry["partition"]: dict((key, count) for key, count in entry["keys"]) for entry in bins}
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


def test_somebodys_own_rule_is_named():
    story = Story()
    story.topic(partitions=2)
    story.choose(1, 2, "vip", "x", why="chosen by vip_first", reason="own_rule", rule="vip_first")
    last = picture("partitioner", story.events).scenes[-1]
    assert last["space"]["now"]["kind"] == "vip_first" and "chosen by vip_first" in last["sentence"]


def test_two_producers_with_different_rules_send_one_key_to_two_partitions():
    story = Story()
    story.topic(partitions=3)
    story.choose(0, 3, "alice", "created", hashed=1951417749)
    own = {"why": "chosen by crc32", "reason": "own_rule", "rule": "crc32"}
    story.at(10).choose(2, 3, "alice", "paid", producer="other shop", **own)
    pic = picture("partitioner", story.events)
    drawn = [drawing.shapes["time/lane/key alice/number"]["text"] for drawing in pic.drawings(920)]
    assert drawn[-2:] == ["P0", "P0 → P2"]
    assert pic.scenes[-1]["space"]["keys"] == [{"key": "alice", "places": [[3, 0], [3, 2]], "next": None}]


def test_many_keys_and_partitions_stay_inside_the_page():
    story = Story()
    story.topic(partitions=8)
    for number in range(200):
        hashed = number * 2654435761 & 0xFFFFFFFF
        story.at(number).choose((hashed & 0x7FFFFFFF) % 8, 8, f"customer-{number % 60}", "x", hashed=hashed)
    pic = picture("partitioner", story.events)
    last = pic.drawings(920)[-1]
    assert all(shape["x"] + shape.get("w", 0) <= 921 for shape in last.shapes.values())
    assert last.bottom <= 360

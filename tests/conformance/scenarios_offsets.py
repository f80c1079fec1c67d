"""Committed offsets: what is asked of both brokers (see same_answers.py)."""

from minikafka.wire.messages import encode_versioned
from tests.conformance.raw import batch
from tests.conformance.scenarios_groups import alone, find


def committing(side, *places, topic=None, group="", **more):
    """The fields of an OffsetCommit. places: (partition, offset) or (partition, offset,
    metadata).
    """
    partitions = [
        {
            "partition_index": place[0],
            "committed_offset": place[1],
            "committed_metadata": (*place, "")[2],
        }
        for place in places
    ]
    topics = [{"name": topic or side.name, "partitions": partitions}]
    return {"group_id": side.name + group, "topics": topics} | more


def fetching(side, *partitions, topic=None, group="", **more):
    topics = [{"name": topic or side.name, "partition_indexes": list(partitions)}]
    return {"group_id": side.name + group, "topics": topics} | more


def look(side, what, group=""):
    """All that is committed; who asks does not matter."""
    side.ask(what, "OffsetFetch", 2, 7, group_id=side.name + group, topics=None)
    side.ask(
        what,
        "OffsetFetch",
        8,
        9,
        groups=[{"group_id": side.name + group, "topics": None}],
    )


def offsets_without_a_group(side):
    """An admin, or a consumer that assigns its partitions by hand, commits with
    generation -1 and no member.
    """
    side.create_topic(partitions=3)
    find(side)
    look(side, "nothing yet")
    for version in range(2, 10):
        side.ask(
            "commit",
            "OffsetCommit",
            version,
            **committing(side, (0, version), (1, 7, "note"), (2, 8, None)),
        )
    for version in range(1, 8):
        side.ask("fetch", "OffsetFetch", version, **fetching(side, 0, 1, 2))
    look(side, "all")
    commit_what_may_not_be(side)
    for what, who in {
        "no group": {"group_id": ""},
        "a generation": {"generation_id_or_member_epoch": 1},
        "a member": {"member_id": "who"},
        "both": {"member_id": "who", "generation_id_or_member_epoch": 0},
    }.items():
        side.ask(
            f"commit: {what}", "OffsetCommit", 2, 9, **committing(side, (0, 1)) | who
        )
        side.ask(
            f"commit of a new group: {what}",
            "OffsetCommit",
            2,
            9,
            **committing(side, (0, 1), group="-2") | who,
        )
    look(side, "in the end")
    look(side, "of the other group in the end", "-2")


def commit_what_may_not_be(side):
    """Partitions, offsets, notes and topics that are none, or at the edge."""
    for what, places in {
        "an unknown partition": [(9, 1)],
        "a negative partition": [(-1, 1)],
        "a negative offset": [(0, -5)],
        "a long note": [(0, 1, "x" * 4097), (1, 9, "y")],
        "the longest note": [(0, 1, "x" * 4096)],
        "a partition twice": [(0, 3), (0, 4)],
        "nothing": [],
    }.items():
        side.ask(what, "OffsetCommit", 2, 9, **committing(side, *places))
        look(side, f"after {what}")
    side.ask("a leader epoch", "OffsetCommit", 6, **committing(side, (0, 3)))
    [topic] = committing(side, (0, 3))["topics"]
    topic["partitions"][0]["committed_leader_epoch"] = 4
    side.ask("a leader epoch", "OffsetCommit", 9, group_id=side.name, topics=[topic])
    look(side, "with the epoch")
    unknown = {"name": side.name + ".none", "partitions": topic["partitions"]}
    side.ask(
        "an unknown topic", "OffsetCommit", 2, 9, group_id=side.name, topics=[unknown]
    )
    side.ask(
        "an unknown topic beside a known one",
        "OffsetCommit",
        9,
        group_id=side.name,
        topics=[unknown, topic],
    )
    side.ask("no topics", "OffsetCommit", 2, 9, group_id=side.name, topics=[])


def offset_fetch(side):
    side.create_topic(partitions=2)
    find(side)
    side.ask("commit", "OffsetCommit", 6, **committing(side, (0, 5, "note")))
    for version in (1, 2, 5, 6, 7):
        side.ask(
            "known and unknown", "OffsetFetch", version, **fetching(side, 0, 1, 9, -1)
        )
        side.ask(
            "an unknown topic",
            "OffsetFetch",
            version,
            **fetching(side, 0, topic=side.name + ".none"),
        )
        side.ask(
            "an unknown group", "OffsetFetch", version, **fetching(side, 0, group="-2")
        )
        side.ask(
            "no group", "OffsetFetch", version, **fetching(side, 0) | {"group_id": ""}
        )
        side.ask("no topics", "OffsetFetch", version, group_id=side.name, topics=[])
        side.ask("a partition twice", "OffsetFetch", version, **fetching(side, 0, 0))
    side.ask(
        "stable ones", "OffsetFetch", 7, **fetching(side, 0, 1), require_stable=True
    )
    known, unknown = fetching(side, 0, 1), fetching(side, 0, group="-2")
    for version in (8, 9):
        side.ask(
            "many groups",
            "OffsetFetch",
            version,
            groups=[known, unknown, known | {"group_id": ""}],
        )
        side.ask("a group twice", "OffsetFetch", version, groups=[known, known])
        side.ask("none", "OffsetFetch", version, groups=[])
        side.ask(
            "all of an unknown group",
            "OffsetFetch",
            version,
            groups=[unknown | {"topics": None}],
        )
        side.ask(
            "nothing of a group",
            "OffsetFetch",
            version,
            groups=[known | {"topics": []}],
        )
    for what, who in {
        "a member": {"member_id": "who", "member_epoch": 1},
        "an epoch": {"member_id": None, "member_epoch": 1},
        "an empty id": {"member_id": "", "member_epoch": -1},
        "no epoch": {"member_id": "who", "member_epoch": -1},
    }.items():
        side.ask(f"with {what}", "OffsetFetch", 9, groups=[known | who])
        side.ask(
            f"an unknown group with {what}", "OffsetFetch", 9, groups=[unknown | who]
        )


def offsets_of_members(side):
    side.create_topic(partitions=2)
    find(side)
    member_id, generation = alone(side)
    for what, who in {
        "the member": (member_id, generation),
        "an old generation": (member_id, 0),
        "a new one": (member_id, 2),
        "no generation": (member_id, -1),
        "another": ("who", 1),
        "nobody": ("", -1),
        "nobody of 1": ("", 1),
    }.items():
        asked = {"member_id": who[0], "generation_id_or_member_epoch": who[1]}
        side.ask(
            f"{what} commits", "OffsetCommit", 2, 9, **committing(side, (0, 3), **asked)
        )
    side.ask(
        "with an instance",
        "OffsetCommit",
        7,
        9,
        **committing(
            side,
            (0, 1),
            member_id=member_id,
            generation_id_or_member_epoch=1,
            group_instance_id="one",
        ),
    )
    look(side, "what counted")
    side.ask("the group is in use", "DeleteGroups", 0, 2, groups_names=[side.name])
    forget = {
        "group_id": side.name,
        "topics": [{"name": side.name, "partitions": [{"partition_index": 0}]}],
    }
    side.ask("the topic isn't read", "OffsetDelete", 0, **forget)
    side.ask("it leaves", "LeaveGroup", 1, group_id=side.name, member_id=member_id)
    side.ask(
        "it commits once more",
        "OffsetCommit",
        2,
        9,
        **committing(
            side, (0, 9), member_id=member_id, generation_id_or_member_epoch=generation
        ),
    )
    side.ask("an admin commits", "OffsetCommit", 2, 9, **committing(side, (1, 9)))
    look(side, "after it left")
    side.ask("the group is not in use", "DeleteGroups", 2, groups_names=[side.name])
    look(side, "the group is gone")
    side.ask("is it gone", "DescribeGroups", 6, groups=[side.name])


def offset_delete(side):
    side.create_topic(partitions=2)
    find(side)

    def forget(what, *partitions, topic=None, group_id=None):
        topics = [
            {
                "name": topic or side.name,
                "partitions": [{"partition_index": each} for each in partitions],
            }
        ]
        side.ask(
            what,
            "OffsetDelete",
            0,
            group_id=side.name if group_id is None else group_id,
            topics=topics,
        )

    forget("no such group", 0)
    forget("no group", 0, group_id="")
    side.ask("commit", "OffsetCommit", 6, **committing(side, (0, 5), (1, 6)))
    forget("one", 0)
    forget("it again", 0)
    forget("an unknown partition", 7)
    forget("an unknown topic", 0, topic=side.name + ".none")
    side.ask("no topics", "OffsetDelete", 0, group_id=side.name, topics=[])
    look(side, "one is left")
    forget("the other", 1)
    look(side, "none is left")
    side.ask("an empty group", "DescribeGroups", 6, groups=[side.name])
    subscribed = encode_versioned(
        "ConsumerProtocolSubscription", 1, {"topics": [side.name]}
    )
    alone(side, "reader", protocols=[{"name": "range", "metadata": subscribed}])
    forget("it is read", 0)
    forget("it is read, another topic", 0, topic=side.name + ".none")


def offset_for_leader_epoch(side):
    side.create_topic(partitions=2)

    def ask(what, epoch, current=-1, partition=0, topic=None):
        place = {
            "partition": partition,
            "leader_epoch": epoch,
            "current_leader_epoch": current,
        }
        topics = [{"topic": topic or side.name, "partitions": [place]}]
        side.ask(what, "OffsetForLeaderEpoch", topics=topics)

    ask("an empty log", 0)
    side.produce("some", batch(b"a", b"b"), 8)
    for epoch in (0, 1, -1, 100):
        ask(f"epoch {epoch}", epoch)
    for current in (0, 1, 100):
        ask(f"of a leader of {current}", 0, current)
    ask("an unknown partition", 0, partition=5)
    ask("an unknown topic", 0, topic=side.name + ".none")
    side.ask("nothing", "OffsetForLeaderEpoch", topics=[])


SCENARIOS = (
    offsets_without_a_group,
    offset_fetch,
    offsets_of_members,
    offset_delete,
    offset_for_leader_epoch,
)

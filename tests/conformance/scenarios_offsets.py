"""Committed offsets: what is asked of both brokers (see same_answers.py)."""

from minikafka.wire.errors import Error
from minikafka.wire.messages import encode_versioned
from tests.conformance.raw import batch
from tests.conformance.same_answers import UNKNOWN_ID
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


def commit_and_fetch(side, members, current_epoch):
    """Each of the members commits and fetches. members: what it is -> (member id, epoch),
    None for the current epoch.
    """
    for what, (member_id, epoch) in members.items():
        if epoch is None:
            epoch = current_epoch(side)
        asked = {"member_id": member_id, "generation_id_or_member_epoch": epoch}
        side.ask(
            f"{what} commits", "OffsetCommit", 8, 9, **committing(side, (0, 3), **asked)
        )
        asked = fetching(side, 0) | {"member_id": member_id, "member_epoch": epoch}
        side.ask(f"{what} fetches", "OffsetFetch", 9, groups=[asked])
    side.ask("anybody fetches", "OffsetFetch", 8, 9, groups=[fetching(side, 0)])


def look(side, what, group=""):
    """All that is committed; who asks does not matter."""
    side.ask(what, "OffsetFetch", 2, 7, group_id=side.name + group, topics=None)
    side.ask(
        what,
        "OffsetFetch",
        8,
        9,
        10,
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
    """KIP-709: of several groups at once; KIP-447: stable ones."""
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
    """KIP-447: who commits says its generation."""
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
    """KIP-496."""
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
    side.create_topic(".other")
    for what, said in {
        "version 1 and the fields of 0": b"\0\1" + subscribed[2:-4],
        "version 99": b"\0\x63" + subscribed[2:],
        "version -1": b"\xff\xff" + subscribed[2:],
        "its topics alone": subscribed[:-8],
        "a version alone": b"\0\1",
        "half a version": b"\0",
        "nothing": b"",
    }.items():
        group = what.replace(" ", ".")
        reader = [{"name": "range", "metadata": said}]
        alone(side, f"who says {what}", group=group, protocols=reader)
        for topic in ("", ".other"):
            forget(
                f"{what}: {topic or 'it'}",
                0,
                topic=side.name + topic,
                group_id=side.name + group,
            )


def offset_for_leader_epoch(side):
    """KIP-101; KIP-320."""
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


def by_id(topic_id, *places):
    """A topic of OffsetCommit 10, each partition with a leader epoch, too. places:
    (partition, offset).
    """
    partitions = []
    for number, offset in places:
        place = {"partition_index": number, "committed_offset": offset}
        partitions.append(place | {"committed_leader_epoch": 4 + number})
    return {"topic_id": topic_id, "partitions": partitions}


def offsets_by_topic_id(side):
    """KIP-848: a topic that was deleted and made anew is another one."""
    side.create_topic(partitions=2)
    find(side)
    topic_id = side.topic_id(side.name)
    own, none, zero = (
        by_id(each, (0, 5), (1, 6)) for each in (topic_id, UNKNOWN_ID, bytes(16))
    )
    away = by_id(topic_id, (9, 1))
    asked = {"topic_id": topic_id, "partition_indexes": [0, 1, 9]}
    asked_of_none = asked | {"topic_id": UNKNOWN_ID}
    for what, topics in {
        "one": [own],
        "none": [none],
        "zero": [zero],
        "none beside one": [none, own],
        "a partition that is not there": [away, own],
        "one twice": [own, by_id(topic_id, (0, 7))],
        "none twice": [none, none],
        "nothing": [],
        "no partitions": [by_id(topic_id)],
        "no partitions of none": [by_id(UNKNOWN_ID)],
    }.items():
        for who in ({}, {"member_id": "who", "generation_id_or_member_epoch": 1}):
            question = f"{what} {bool(who)}"
            fields = {"group_id": side.name, "topics": topics} | who
            side.ask(question, "OffsetCommit", 10, **fields)
    for what, topics in {
        "one": [asked],
        "none": [asked_of_none],
        "zero": [asked | {"topic_id": bytes(16)}],
        "none beside one": [asked_of_none, asked],
        "one twice": [asked, asked],
        "nothing": [],
        "all": None,
    }.items():
        for group in ("", ".none"):
            one = {"group_id": side.name + group, "topics": topics}
            side.ask(f"{what} {group}", "OffsetFetch", 10, groups=[one])
    one = {"group_id": side.name, "topics": [asked_of_none, asked]}
    member = {"member_id": "who", "member_epoch": 1}
    side.ask("by a member", "OffsetFetch", 10, groups=[one | member])
    side.ask("of no group", "OffsetFetch", 10, groups=[one | {"group_id": ""}])
    made_anew(side, own, asked)


def made_anew(side, own, asked):
    """The topic goes, and comes again."""
    side.client.ask("DeleteTopics", 5, topic_names=[side.name], timeout_ms=20_000)
    side.settle()
    everything = {"group_id": side.name, "topics": None}
    side.ask("one that went", "OffsetCommit", 10, group_id=side.name, topics=[own])
    side.create_topic(partitions=2)
    side.ask("the old one", "OffsetCommit", 10, group_id=side.name, topics=[own])
    for what, wanted in (("old", asked), ("new", None)):
        topic_id = side.topic_id(side.name)
        one = wanted or {"topic_id": topic_id, "partition_indexes": [0, 1]}
        groups = [{"group_id": side.name, "topics": [one]}]
        side.ask(f"the {what} one", "OffsetFetch", 10, groups=groups)
    side.ask("all that is left", "OffsetFetch", 10, groups=[everything])


def epochs_of_offsets(side):
    """KIP-320: the epoch that was committed with an offset is told in every version that
    has a field for it, whoever committed it, and in which form.
    """
    topic_id = side.create_topic(partitions=2) and side.topic_id(side.name)
    find(side)
    look(side, "before")
    for version in range(2, 11):
        place = {"partition_index": 0, "committed_offset": version}
        if version >= 6:
            place["committed_leader_epoch"] = version
        named = {"topic_id": topic_id} if version >= 10 else {"name": side.name}
        topics = [named | {"partitions": [place]}]
        fields = {"group_id": side.name, "topics": topics}
        side.ask("with an epoch", "OffsetCommit", version, **fields)
        look(side, f"after version {version}")
    for version in (1, 5, 6, 7):
        side.ask("by name", "OffsetFetch", version, **fetching(side, 0, 1))
    asked = {"topic_id": topic_id, "partition_indexes": [0, 1]}
    groups = [{"group_id": side.name, "topics": [asked]}]
    side.ask("by id", "OffsetFetch", 10, groups=groups)
    in_a_transaction(side)


def in_a_transaction(side):
    """An epoch that a producer's transaction commits."""
    begun = {"transactional_id": side.name, "transaction_timeout_ms": 60_000}
    side.until(Error.NONE, "FindCoordinator", 3, key=side.name, key_type=1)
    side.until(Error.NONE, "InitProducerId", 4, **begun)
    producer = side.client.ask("InitProducerId", 4, **begun)
    who = {name: getattr(producer, name) for name in ("producer_id", "producer_epoch")}
    of_it = {"transactional_id": side.name} | who
    for version in (2, 3, 5):
        adding = of_it | {"group_id": side.name}
        side.until(Error.NONE, "AddOffsetsToTxn", 3, **adding)
        place = {"partition_index": 1, "committed_offset": 40 + version}
        place["committed_leader_epoch"] = 30 + version
        topics = [{"name": side.name, "partitions": [place]}]
        side.ask("pending", "TxnOffsetCommit", version, **adding, topics=topics)
        side.until(Error.NONE, "EndTxn", 3, **of_it, committed=True)
        wanted = {"groups": [fetching(side, 1)], "require_stable": True}
        while True:
            [group] = side.client.ask("OffsetFetch", 8, **wanted).groups
            if group.topics[0].partitions[0].error_code == 0:
                break
        look(side, f"after the transaction of version {version}")


SCENARIOS = (
    offsets_without_a_group,
    offsets_by_topic_id,
    epochs_of_offsets,
    offset_fetch,
    offsets_of_members,
    offset_delete,
    offset_for_leader_epoch,
)

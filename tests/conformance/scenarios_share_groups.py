"""Share groups (KIP-932): what is asked of both brokers (see same_answers.py).

What takes time (a state that is made, a lock that ends) is waited for on both sides, and
asked about when it is there.
"""

from minikafka.wire.errors import Error
from minikafka.wire.records import batches, decode_batch
from tests.conformance.raw import Connection, batch
from tests.conformance.same_answers import UNKNOWN_ID

ACCEPT, RELEASE, REJECT, RENEW, GAP = 1, 2, 3, 4, 0
LOCK_S = 1


def find(side):
    """Until the group's coordinator is there, and that of its share partitions."""
    keys = {0: side.name, 2: share_key(side)}
    for kind, key in keys.items():
        asked = {"key_type": kind, "coordinator_keys": [key]}
        while True:
            answer = side.client.ask("FindCoordinator", 6, **asked)
            if answer.coordinators[0].error_code == 0:
                break
    while summary(side).error_code:
        pass
    side.until(
        Error.UNKNOWN_MEMBER_ID,
        "Heartbeat",
        4,
        group_id=side.name,
        generation_id=1,
        member_id="nobody",
    )


def share_key(side, partition=0):
    from minikafka.storage.checkpoints import uuid_text

    return f"{side.name}:{uuid_text(side.topic_id(side.name))}:{partition}"


def states(side, partitions=(0,), topic_id=None, **fields):
    """The fields of a request about the states of share partitions."""
    asked = [{"partition": number, **fields} for number in partitions]
    topic = {"topic_id": topic_id or side.topic_id(side.name), "partitions": asked}
    return {"group_id": side.name, "topics": [topic]}


def summary(side):
    asked = states(side, leader_epoch=-1)
    [topic] = side.client.ask("ReadShareGroupStateSummary", 1, **asked).results
    return topic.partitions[0]


def configure(side, **configs):
    changes = [
        {"name": name.replace("_", "."), "config_operation": 0, "value": value}
        for name, value in configs.items()
    ]
    resource = {"resource_type": 32, "resource_name": side.name, "configs": changes}
    answer = side.client.ask("IncrementalAlterConfigs", 1, resources=[resource])
    assert answer.responses[0].error_code == 0, answer
    side.settle()


def beating(side, member, epoch, *topics, **more):
    names = list(topics) or None
    return {
        "group_id": side.name,
        "member_id": member,
        "member_epoch": epoch,
        "subscribed_topic_names": names,
    } | more


def join(side, member, epoch=0):
    """A member that has partitions; its epoch. How many epochs that takes depends on
    how soon a state is there.
    """
    answer = side.client.ask(
        "ShareGroupHeartbeat", 1, **beating(side, member, epoch, side.name)
    )
    assert answer.error_code == 0, answer
    while not answer.assignment or not answer.assignment.topic_partitions:
        asked = beating(side, member, answer.member_epoch, side.name)
        answer = side.client.ask("ShareGroupHeartbeat", 1, **asked)
        assert answer.error_code == 0, answer
    return answer.member_epoch


def look(side, what):
    side.ask(what, "ShareGroupDescribe", 1, group_ids=[side.name])
    side.ask(what, "ListGroups", 4, 5)


class Member:
    """One that fetches partition 0, with a session. Its session ends with its
    connection, and side.client may begin a new one; so it has its own.
    """

    def __init__(self, side, name):
        self.side, self.name, self.epoch = side, name, 0
        self.client = Connection(side.bootstrap)

    def close(self):
        self.client.close()

    def fetch(self, what, *said, version=2, **more):
        """said: (first, last, types)."""
        asked = {
            "max_wait_ms": 500,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "max_records": 500,
            "batch_size": 500,
        }
        return self._ask(what, "ShareFetch", version, said, asked | more)

    def says(self, what, *said, version=2, **more):
        return self._ask(what, "ShareAcknowledge", version, said, more)

    def _ask(self, what, api, version, said, more):
        batches = [
            {
                "first_offset": first,
                "last_offset": last,
                "acknowledge_types": list(types),
            }
            for first, last, *types in said
        ]
        partition = {"partition_index": 0, "acknowledgement_batches": batches}
        topic = {
            "topic_id": self.side.topic_id(self.side.name),
            "partitions": [partition],
        }
        body = {
            "group_id": self.side.name,
            "member_id": self.name,
            "share_session_epoch": self.epoch,
            "topics": [topic],
        }
        body |= more
        main, self.side.client = self.side.client, self.client
        try:
            answer = self.side.ask(what, api, version, **body)
        finally:
            self.side.client = main
        if "share_session_epoch" not in more and answer.error_code == 0:
            self.epoch += 1
        return answer


def prepared(side, batches=4, **configs):
    """A topic with batches of five records, and a group that reads it from the
    beginning.
    """
    side.create_topic()
    side.settle()
    configure(side, **{"share_auto_offset_reset": "earliest", **configs})
    find(side)
    for _ in range(batches):
        values = [b"x"] * 5
        side.client.produce(side.name, batch(*values))


# -- scenarios


def share_group_heartbeat_is_checked(side):
    side.create_topic(partitions=2)
    side.settle()
    find(side)
    good = beating(side, "one", 0, side.name)
    for what, wrong in {
        "no group": {"group_id": ""},
        "no member": {"member_id": ""},
        "a blank member": {"member_id": " "},
        "a long member": {"member_id": "m" * 37},
        "a negative epoch": {"member_epoch": -2},
        "no topics": {"subscribed_topic_names": None},
        "empty topics": {"subscribed_topic_names": []},
        "an empty rack": {"rack_id": ""},
        "epoch 1": {"member_epoch": 1},
        "it leaves": {"member_epoch": -1},
    }.items():
        side.ask(what, "ShareGroupHeartbeat", 1, **good | wrong)
    look(side, "there is no such group")
    asked = {"group_ids": [side.name], "include_authorized_operations": True}
    side.ask("operations", "ShareGroupDescribe", 1, **asked)
    side.ask("no group", "ShareGroupDescribe", 1, group_ids=[""])


def a_share_group_of_one(side):
    side.create_topic(partitions=3)
    side.settle()
    find(side)
    side.ask("it joins", "ShareGroupHeartbeat", 1, **beating(side, "a", 0, side.name))
    epoch = join(side, "a")
    side.ask("as before", "ShareGroupHeartbeat", 1, **beating(side, "a", epoch))
    for wrong in (epoch + 5, epoch - 2):
        asked = beating(side, "a", wrong)
        side.ask(f"epoch {wrong - epoch}", "ShareGroupHeartbeat", 1, **asked)
    side.ask("another", "ShareGroupHeartbeat", 1, **beating(side, "b", epoch))
    look(side, "it has all")
    side.ask("again", "ShareGroupHeartbeat", 1, **beating(side, "a", 0, side.name))
    side.ask("it leaves", "ShareGroupHeartbeat", 1, **beating(side, "a", -1))
    side.ask("it left", "ShareGroupHeartbeat", 1, **beating(side, "a", -1))
    look(side, "it is empty")


def a_share_group_is_no_other_group(side):
    side.create_topic()
    side.settle()
    find(side)
    join(side, "a")
    topic = {"name": side.name, "partitions": [{"partition_index": 0}]}
    offset = {"group_id": side.name, "topics": [topic]}
    asked = offset | {"generation_id_or_member_epoch": -1, "member_id": ""}
    side.ask("a commit", "OffsetCommit", 8, 9, **asked)
    group = {"group_id": side.name, "member_id": None, "member_epoch": -1}
    side.ask("a fetch", "OffsetFetch", 8, 9, groups=[group | {"topics": None}])
    side.ask("a deletion of offsets", "OffsetDelete", 0, **offset)
    side.ask("as a consumer group", "ConsumerGroupDescribe", 1, group_ids=[side.name])
    side.ask("as a classic group", "DescribeGroups", 5, 6, groups=[side.name])
    side.ask("it is not empty", "DeleteGroups", 2, groups_names=[side.name])


def find_coordinator_of_a_share_partition(side):
    side.create_topic()
    side.settle()
    find(side)
    good = share_key(side)
    wrong = ("", "nothing", "a:b:c", f"{side.name}:AAAAAAAAAAAAAAAAAAAAAA:x")
    for number, key in enumerate((good, *wrong)):
        what = f"key {number}"
        asked = {"key_type": 2, "coordinator_keys": [key]}
        side.ask(what, "FindCoordinator", 6, **asked)
    side.ask("an old one", "FindCoordinator", 5, key_type=2, coordinator_keys=[good])


def records_are_acquired_and_acknowledged(side):
    prepared(side)
    join(side, "a")
    a = Member(side, "a")
    a.fetch("nothing is there yet", max_records=0)
    a.fetch("five", max_records=5)
    a.fetch("a soft limit", max_records=7)
    a.says("of the first", (0, 4, ACCEPT))
    a.says("again", (0, 4, ACCEPT))
    a.says("each its own", (5, 9, ACCEPT, RELEASE, REJECT, GAP, ACCEPT))
    a.fetch("what was released", max_records=1)
    a.fetch("along with a fetch", (6, 6, ACCEPT), (10, 14, ACCEPT), max_records=5)
    a.says("nobody's", (30, 34, ACCEPT))
    a.says("past them", (15, 25, ACCEPT))
    a.says("the rest", (15, 19, ACCEPT))
    a.fetch("nothing is left", max_wait_ms=0)
    a.close()


def acknowledgements_are_checked(side):
    prepared(side)
    join(side, "a")
    a, b = Member(side, "a"), Member(side, "b")
    a.fetch("all of it")
    b.fetch("of another", max_wait_ms=0)
    b.says("it has none", (0, 4, ACCEPT))
    for what, said in {
        "backwards": [(4, 0, ACCEPT)],
        "out of order": [(5, 9, ACCEPT), (0, 4, ACCEPT)],
        "no type": [(0, 4)],
        "too few types": [(0, 4, ACCEPT, ACCEPT)],
        "an unknown type": [(0, 4, 9)],
        "a negative type": [(0, 4, -1)],
        "renewed without saying so": [(0, 4, RENEW)],
    }.items():
        a.says(what, *said)
    a.says("an old one renews", (0, 4, RENEW), version=1)
    a.says("renewed", (0, 4, RENEW), is_renew_ack=True)
    a.says("mixed", (0, 4, RENEW), (5, 9, ACCEPT), is_renew_ack=True)
    a.fetch("a fetch renews", (0, 4, RENEW), is_renew_ack=True)
    nothing = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 0, "max_records": 0}
    a.fetch("it fetches nothing", (0, 4, RENEW), is_renew_ack=True, **nothing)
    a.says("part of a batch", (10, 11, ACCEPT))
    a.says("the same part", (10, 10, ACCEPT))
    a.says("the whole batch", (10, 14, ACCEPT))
    a.close()
    b.close()


def share_sessions_are_checked(side):
    prepared(side)
    join(side, "a")
    a = Member(side, "a")
    a.fetch("no session", share_session_epoch=1)
    a.fetch("no session ends", share_session_epoch=-1)
    a.says("nor here", (0, 4, ACCEPT), share_session_epoch=1)
    a.says("it doesn't begin so", (0, 4, ACCEPT), share_session_epoch=0)
    a.says("no session ends so", (0, 4, ACCEPT), share_session_epoch=-1)
    a.fetch("it begins with something said", (0, 4, ACCEPT))
    a.fetch("no group", group_id=None)
    a.fetch("no member", member_id="")
    a.fetch("a long member", member_id="m" * 37)
    a.fetch("it begins", max_records=5)
    a.fetch("a wrong epoch", share_session_epoch=7)
    a.says("a wrong epoch said", (0, 4, ACCEPT), share_session_epoch=7)
    a.fetch("named by the session", topics=[], max_records=5)
    more = {
        "topic_id": side.topic_id(side.name),
        "partitions": [{"partition_index": 9}],
    }
    a.fetch("an unknown partition", topics=[more], max_records=5)
    a.fetch("it ends", (0, 4, ACCEPT), share_session_epoch=-1)
    a.close()


def a_strict_limit_in_records(side):
    prepared(side)
    join(side, "a")
    a = Member(side, "a")
    a.fetch("three", max_records=3, share_acquire_mode=1)
    a.fetch("three more", max_records=3, share_acquire_mode=1)
    a.fetch("many", max_records=100, share_acquire_mode=1)
    a.fetch("the older version", max_records=1, version=1)
    a.close()


def batches_are_of_about_the_size_that_is_asked_for(side):
    prepared(side, batches=6)
    join(side, "a")
    a = Member(side, "a")
    a.fetch("ten at a time", batch_size=10)
    a.says("of the first", (0, 9, ACCEPT))
    a.says("across two", (10, 24, REJECT))
    a.close()


def a_poison_record_is_archived(side):
    prepared(side, share_delivery_count_limit="5")
    join(side, "a")
    a = Member(side, "a")
    answer = a.fetch("the first time")
    for turn in range(2, 26):
        released = [
            (each.first_offset, each.last_offset, RELEASE)
            for each in answer.responses[0].partitions[0].acquired_records
        ]
        if not released:
            break
        a.says(f"turn {turn}", *released)
        answer = a.fetch(f"turn {turn}", max_wait_ms=300)
        if not answer.responses:
            break
    a.close()


def letters(side, topic, count):
    """The dead letters in a topic, once there are so many: all but the time."""
    asked = {
        "replica_id": -1,
        "max_wait_ms": 100,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
    }
    place = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    topics = [{"topic": topic, "partitions": [place]}]
    found = []
    while len(found) < count:
        answer = side.client.ask("Fetch", 11, **asked, topics=topics)
        content = answer.responses[0].partitions[0].records or b""
        found = [
            (record.offset, record.key, record.value, record.headers)
            for _, batch in batches(content)
            for record in decode_batch(batch)
        ]
    return found


def what_is_given_up_gets_a_dead_letter(side):
    """KIP-1191. Nothing is written, and nobody told, where the topic doesn't want it."""
    name = "errors_deadletterqueue_topic_name"
    dead, unwilling = f"dlq.{side.name}", f"dlq.{side.name}.unwilling"
    for topic, wants in ((dead, "true"), (unwilling, "false")):
        configs = {"errors.deadletterqueue.group.enable": wants}
        side.client.create_topic(topic, 2, **configs)
    prepared(side, 2, share_delivery_count_limit="2", **{name: dead})
    join(side, "a")
    a = Member(side, "a")
    a.fetch("all")
    a.says("one is rejected", (0, 0, REJECT), (1, 1, RELEASE), (2, 9, ACCEPT))
    side.answers["a letter"] = {"told": repr(letters(side, dead, 1))}
    a.fetch("what came back")
    a.says("for the second time", (1, 1, RELEASE))
    side.answers["two letters"] = {"told": repr(letters(side, dead, 2))}
    configure(side, errors_deadletterqueue_copy_record_enable="true")
    side.produce("more", batch(b"a", b"b", b"c"), 8)
    a.fetch("more")
    a.says("they are rejected", (10, 12, REJECT))
    side.answers["copies"] = {"told": repr(letters(side, dead, 5))}
    configure(side, **{name: unwilling})
    side.produce("one more", batch(b"d"), 8)
    a.fetch("one more")
    a.says("it is rejected", (13, 13, REJECT))
    configure(side, **{name: dead})
    side.produce("the last", batch(b"e"), 8)
    a.fetch("the last")
    a.says("so is that", (14, 14, REJECT))
    side.answers["its letter"] = {"told": repr(letters(side, dead, 6))}
    side.answers["no letter"] = {"told": repr(letters(side, unwilling, 0))}
    a.close()


def the_states_of_share_partitions(side):
    side.create_topic()
    side.settle()
    find(side)
    one = {"first_offset": 0, "last_offset": 4, "delivery_state": 2}
    two = {"first_offset": 3, "last_offset": 9, "delivery_state": 0}
    some = [one | {"delivery_count": 1}, two | {"delivery_count": 2}]
    written = {
        "state_epoch": 0,
        "leader_epoch": 0,
        "start_offset": 0,
        "delivery_complete_count": 3,
        "state_batches": some,
    }

    def ask(what, api, *versions, **fields):
        side.ask(what, f"{api}ShareGroupState", *versions, **states(side, **fields))

    def read(what, epoch=-1):
        ask(what, "Read", 0, leader_epoch=epoch)
        asked = states(side, leader_epoch=epoch)
        side.ask(what, "ReadShareGroupStateSummary", 0, 1, **asked)

    read("none")
    ask("none is written", "Write", 0, 1, **written)
    ask("none is deleted", "Delete", 0)
    ask("it begins", "Initialize", 0, state_epoch=2, start_offset=-1)
    read("begun")
    ask("an older state epoch", "Write", 1, **written)
    ask("written", "Write", 1, **written | {"state_epoch": 2})
    read("as written")
    read("a newer leader", 5)
    read("as it read", 5)
    ask("an older leader", "Write", 1, **written | {"state_epoch": 2})
    ask("an older leader reads", "Read", 0, leader_epoch=3)
    ask("an older beginning", "Initialize", 0, state_epoch=1, start_offset=7)
    later = written | {"state_epoch": 2, "leader_epoch": 5, "start_offset": 4}
    ask("it moves on", "Write", 1, **later)
    read("moved on", 5)
    ask("it begins anew", "Initialize", 0, state_epoch=3, start_offset=17)
    read("begun anew")
    for number in (-1, 9):
        wrong = states(side, [number], leader_epoch=-1)
        side.ask(f"partition {number}", "ReadShareGroupState", 0, **wrong)
        side.ask(f"partition {number}", "ReadShareGroupStateSummary", 1, **wrong)
    wrong = states(side, topic_id=UNKNOWN_ID, leader_epoch=-1)
    side.ask("an unknown topic", "ReadShareGroupStateSummary", 1, **wrong)
    ask("it is deleted", "Delete", 0)
    read("it has gone")
    nothing = {"group_id": "", "topics": []}
    side.ask("nothing", "ReadShareGroupState", 0, **nothing)
    side.ask("no topics", "DeleteShareGroupState", 0, **nothing | {"group_id": "g"})


def offsets_of_a_share_group(side):
    prepared(side)

    def described(what, **more):
        asked = {"group_id": side.name, "topics": None} | more
        side.ask(what, "DescribeShareGroupOffsets", 0, 1, groups=[asked])

    described("no group")
    join(side, "a")
    described("nobody has read")
    a = Member(side, "a")
    a.fetch("some", max_records=10)
    a.says("done with", (0, 4, ACCEPT), (5, 9, RELEASE))
    described("some is done with")
    named = {"topic_name": side.name, "partitions": [0]}
    described("named", topics=[named, {"topic_name": "none", "partitions": [0]}])
    described("none named", topics=[])

    def altered(what, *offsets, name=None):
        listed = [
            {"partition_index": number, "start_offset": offset}
            for number, offset in enumerate(offsets)
        ]
        topic = {"topic_name": name or side.name, "partitions": listed}
        asked = {"group_id": side.name, "topics": [topic]}
        side.ask(what, "AlterShareGroupOffsets", 0, **asked)

    def deleted(what, *names, group=None):
        topics = [{"topic_name": name} for name in names]
        asked = {"group_id": group or side.name, "topics": topics}
        side.ask(what, "DeleteShareGroupOffsets", 0, **asked)

    altered("not empty", 12)
    deleted("not empty", side.name)
    a.close()
    side.client.ask("ShareGroupHeartbeat", 1, **beating(side, "a", -1))
    altered("altered", 12, 12)
    altered("an unknown topic", 12, name="none")
    described("after that")
    deleted("an unknown topic", "none")
    deleted("no group", side.name, group="nobody")
    deleted("deleted", side.name)
    deleted("deleted again", side.name)
    described("forgotten")
    side.ask("the group goes", "DeleteGroups", 2, groups_names=[side.name])
    look(side, "it has gone")


SCENARIOS = [
    share_group_heartbeat_is_checked,
    a_share_group_of_one,
    a_share_group_is_no_other_group,
    find_coordinator_of_a_share_partition,
    records_are_acquired_and_acknowledged,
    acknowledgements_are_checked,
    share_sessions_are_checked,
    a_strict_limit_in_records,
    batches_are_of_about_the_size_that_is_asked_for,
    a_poison_record_is_archived,
    what_is_given_up_gets_a_dead_letter,
    the_states_of_share_partitions,
    offsets_of_a_share_group,
]

"""Share groups (KIP-932) in frames: heartbeats and assignment, records acquired and
acknowledged, locks, sessions, and what survives.
"""

from dataclasses import replace

import pytest

from minikafka.cluster.metadata import MetadataRecord, PartitionChange
from minikafka.coordinators.share_persister import ask_for_all
from minikafka.wire import messages
from minikafka.wire.errors import Error, KafkaError
from tests.broker.sharing import GROUP, SharingNode

ACCEPT, RELEASE, REJECT, RENEW = [1], [2], [3], [4]


@pytest.fixture
def node():
    node = SharingNode()
    for number in range(4):
        node.produce("orders", *[f"{number}-{each}" for each in range(5)])
    return node


def offsets(node, **more):
    """Where the share partition of "orders" begins, and how much is left."""
    asked = {"group_id": GROUP, "topics": None} | more
    answer = node.patiently("DescribeShareGroupOffsets", 1, groups=[asked])
    [group] = answer.groups
    assert group.error_code == 0, group
    return [
        (one.start_offset, one.lag)
        for topic in group.topics
        for one in topic.partitions
    ]


# -- the group


def test_kip_932_a_member_gets_its_partitions_when_their_state_is_there():
    node = SharingNode(partitions=3)
    member = node.member("a")
    assert (member.beat(), member.epoch, member.assigned) == ("NONE", 2, [])
    node.pass_time(1100)
    assert (member.beat(), member.epoch, member.assigned) == ("NONE", 3, [0, 1, 2])


def test_kip_932_members_share_the_partitions(node):
    a, b = node.member("a").join(), node.member("b").join()
    assert (a.assigned, b.assigned) == ([0], [0])
    [group] = node.patiently("ShareGroupDescribe", 1, group_ids=[GROUP]).groups
    assert (group.group_state, group.assignor_name) == ("Stable", "simple")
    assert [each.member_id for each in group.members] == ["a", "b"]
    asked = {"states_filter": ["stable"], "types_filter": ["share"]}
    [listed] = node.patiently("ListGroups", 5, **asked).groups
    assert (listed.group_id, listed.group_type) == (GROUP, "share")


def test_kip_932_the_member_epoch_is_the_pass(node):
    a = node.member("a").join()
    assert a.beat(epoch=99) == "FENCED_MEMBER_EPOCH"
    assert node.member("b").beat(epoch=1) == "UNKNOWN_MEMBER_ID"
    assert a.beat(epoch=-2) == "INVALID_REQUEST"


def test_kip_932_a_silent_member_is_out(node):
    node.member("a").join()
    node.pass_time(45_001)
    [group] = node.patiently("ShareGroupDescribe", 1, group_ids=[GROUP]).groups
    assert (group.group_state, group.members) == ("Empty", [])


def test_kip_932_a_share_group_commits_no_offsets(node):
    node.member("a").join()
    topic = {"name": "orders", "partitions": [{"partition_index": 0}]}
    asked = {"group_id": GROUP, "generation_id_or_member_epoch": -1, "member_id": ""}
    [answer] = node.patiently("OffsetCommit", 9, topics=[topic], **asked).topics
    assert answer.partitions[0].error_code == 69


# -- records


def test_kip_932_each_record_goes_to_one_member(node):
    a, b = node.member("a").join(), node.member("b").join()
    assert a.fetch(most=5) == [(0, 4, 1)]
    assert b.fetch(most=5) == [(5, 9, 1)]
    assert a.fetch(most=5) == [(10, 14, 1)]


def test_kip_932_acknowledgements_ride_along_with_a_fetch(node):
    a = node.member("a").join()
    a.fetch(most=10)
    assert a.fetch((0, 4, ACCEPT), (5, 9, RELEASE), most=5) == [(5, 9, 2)]
    assert offsets(node) == [(0, 15)], "as it was when that was written down"


def test_kip_932_what_is_acknowledged_is_not_delivered_again(node):
    a = node.member("a").join()
    a.fetch(most=20)
    assert a.says((0, 9, ACCEPT)) == "NONE"
    assert a.says((10, 14, REJECT), (15, 19, ACCEPT)) == "NONE"
    assert a.says((0, 9, ACCEPT)) == "NONE", "it lies before the start offset"
    assert a.fetch(wait_ms=0) == []
    assert offsets(node) == [(10, 0)]


def test_kip_932_a_lock_ends_and_another_member_gets_the_records(node):
    a, b = node.member("a").join(), node.member("b").join()
    a.fetch(most=20)
    assert b.fetch(wait_ms=0) == []
    node.pass_time(30_001)
    assert b.fetch(most=20) == [(0, 19, 2)]
    assert a.says((0, 4, ACCEPT)) == "INVALID_RECORD_STATE"


def test_kip_1222_a_lock_is_renewed(node):
    a, b = node.member("a").join(), node.member("b").join()
    a.fetch(most=20)
    node.pass_time(29_000)
    assert a.says((0, 19, RENEW)) == "INVALID_REQUEST", "it must say so"
    assert a.says((0, 19, RENEW), is_renew_ack=True) == "NONE"
    node.pass_time(29_000)
    assert b.fetch(wait_ms=0) == []


def test_kip_932_a_parked_fetch_gets_what_is_released(node):
    a, b = node.member("a").join(), node.member("b").join()
    a.fetch(most=20)
    body = b._body((), 0) | {"max_wait_ms": 10_000, "min_bytes": 1, "max_records": 5}
    node.send("ShareFetch", 2, "b", max_bytes=1 << 20, batch_size=5, **body)
    assert node.out() == []
    a.node.send("ShareAcknowledge", 2, "a", **a._body([(0, 4, RELEASE)], None))
    answered = [each.connection for each in node.out()]
    assert answered == ["a", "b"]


def test_kip_932_a_poison_record_is_archived_after_its_last_delivery(node):
    node.configure(share_delivery_count_limit=2)
    a = node.member("a").join()
    assert a.fetch(most=5) == [(0, 4, 1)]
    assert a.fetch((0, 4, RELEASE), most=1)[0][2] == 2
    for _ in range(10):
        node.pass_time(31_000)
        a.fetch(most=1, wait_ms=0)
    [(start, _)] = offsets(node)
    assert start >= 5


def test_kip_932_records_of_an_open_transaction_wait_where_the_group_reads_committed():
    node = SharingNode()
    node.configure(share_isolation_level="read_committed")
    a = node.member("a").join()
    opened = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    node.produce("orders", "one", transactional=True, **opened)
    assert a.fetch(wait_ms=0) == []


# -- sessions


def test_kip_932_a_session_is_continued_epoch_by_epoch(node):
    a = node.member("a").join()
    assert a.fetch(epoch=3) == "SHARE_SESSION_NOT_FOUND"
    assert a.says((0, 0, ACCEPT), epoch=0) == "INVALID_SHARE_SESSION_EPOCH"
    a.fetch(most=5)
    assert a.fetch(epoch=7) == "INVALID_SHARE_SESSION_EPOCH"
    assert a.fetch(most=5) == [(5, 9, 1)]


def test_kip_932_a_session_that_ends_gives_back_what_its_member_has(node):
    a, b = node.member("a").join(), node.member("b").join()
    a.fetch(most=10)
    assert a.says((0, 4, ACCEPT), epoch=-1) == "NONE"
    assert b.fetch(most=5) == [(5, 9, 2)]


def test_kip_932_a_connection_that_is_lost_gives_back_what_its_member_has(node):
    a, b = node.member("a").join(), node.member("b").join()
    a.fetch(most=10)
    a.close()
    assert b.fetch(most=10) == [(0, 9, 2)]
    assert b.fetch(most=5) == [(10, 14, 1)]


# -- what survives


@pytest.mark.parametrize("clean", [True, False])
def test_kip_932_what_was_acknowledged_survives_the_broker(node, clean):
    a = node.member("a").join()
    a.fetch(most=15)
    a.says((0, 4, ACCEPT))
    a.says((10, 14, ACCEPT))
    node.restart(clean=clean)
    node.pass_time(1000)
    b = node.member("b").join()
    assert b.fetch(most=5)[0][0] == 5
    assert b.fetch(most=20)[-1] == (15, 19, 1)


def test_kip_932_the_states_log_begins_where_its_oldest_snapshot_lies():
    node = SharingNode(
        share_coordinator_state_topic_prune_interval_ms=60_000,
        share_coordinator_snapshot_update_records_per_snapshot=3,
    )
    node.produce("orders", *"abcdefghijklmnopqrst")
    a = node.member("a").join()
    a.fetch(most=20)
    for offset in range(12):
        a.says((offset, offset, ACCEPT))
    [log] = [
        replica.log
        for (topic, _), replica in node.broker.replicas.replicas.items()
        if topic == "__share_group_state" and replica.log.log_end_offset
    ]
    assert (log.log_start_offset, log.log_end_offset) == (0, 13)
    node.pass_time(60_000)
    assert log.log_start_offset == 12  # every fourth record is a snapshot
    node.restart()
    node.pass_time(1000)
    assert node.member("b").join().fetch(most=1)[0][0] == 12


def test_kip_932_another_leader_epoch_fences_the_one_before(node):
    a = node.member("a").join()
    a.fetch(most=5)
    key = {"topic_id": node.topic_id}
    read = {"partitions": [{"partition": 0, "leader_epoch": 7}]}
    asked = {"group_id": GROUP, "topics": [key | read]}
    [topic] = node.patiently("ReadShareGroupState", 0, **asked).results
    assert topic.partitions[0].error_code == 0
    assert a.says((0, 4, ACCEPT)) == "NOT_LEADER_OR_FOLLOWER"


def test_kip_932_a_leader_that_is_back_is_not_ended_by_the_fence_of_its_old_epoch(
    node, monkeypatch
):
    """What it wrote as the leader before is refused when it leads again already."""
    a = node.member("a").join()
    a.fetch(most=5)
    sharing = node.broker.sharing
    answers = []
    monkeypatch.setattr(
        sharing.persister, "write", lambda key, fields, then: answers.append(then)
    )
    a.begins_to_say((0, 4, ACCEPT))
    [old] = sharing.partitions.held.values()
    before = node.broker.image.partition(("orders", 0))
    elsewhere = replace(before, leader=2, leader_epoch=before.leader_epoch + 1)
    back = replace(before, leader_epoch=before.leader_epoch + 2)
    for was, now in ((before, elsewhere), (elsewhere, back)):
        change = PartitionChange("orders", node.topic_id, 0, was, now)
        sharing.partition_changed(change)
    old.replica.follow_image(back)

    b = node.member("b").join()
    assert b.fetch(most=5) == [(0, 4, 1)]
    [new] = sharing.partitions.held.values()
    [fenced] = answers
    fenced(KafkaError(Error.FENCED_LEADER_EPOCH), node.broker.now)
    assert new is not old and sharing.partitions.get(new.key) is new
    assert not new.is_over


@pytest.mark.parametrize(
    "batch",
    [
        {"first_offset": 9, "last_offset": 5, "delivery_state": 0},
        {"first_offset": 0, "last_offset": 5, "delivery_state": 9},
        {"first_offset": 0, "last_offset": 1 << 40, "delivery_state": 0},
    ],
)
def test_a_state_that_nobody_in_his_right_mind_wrote_ends_its_fetch_only(node, batch):
    a = node.member("a").join()
    written = {
        "state_epoch": 100,
        "leader_epoch": 0,
        "start_offset": 0,
        "state_batches": [batch | {"delivery_count": 1}],
    }
    topic = {"topic_id": node.topic_id, "partitions": [{"partition": 0, **written}]}
    asked = {"group_id": GROUP, "topics": [topic]}
    [result] = node.patiently("WriteShareGroupState", 1, **asked).results
    assert result.partitions[0].error_code == 0
    assert a.fetch() in ("UNKNOWN_SERVER_ERROR", [(0, 19, 1)])
    assert node.broker.why_failed is None


def test_kip_932_what_is_deleted_while_an_answer_is_written_stays_deleted(
    node, monkeypatch
):
    """The start offset never goes back to where the answered records end."""
    a = node.member("a").join()
    a.fetch(most=5)
    sharing, answers = node.broker.sharing, []
    monkeypatch.setattr(
        sharing.persister, "write", lambda key, fields, then: answers.append(then)
    )
    a.begins_to_say((0, 4, ACCEPT))
    partition = {"partition_index": 0, "offset": 20}
    topic = {"name": "orders", "partitions": [partition]}
    node.patiently("DeleteRecords", 2, topics=[topic], timeout_ms=1000)
    assert node.member("b").join().fetch() == []
    [held] = sharing.partitions.held.values()
    assert held.partition.window.start_offset == 20
    answers[0](None, node.broker.now)
    assert held.partition.window.start_offset == 20
    assert node.broker.why_failed is None


@pytest.mark.parametrize(
    "counts",
    [{"start_offset": -(1 << 63)}, {"delivery_complete_count": -(1 << 31)}],
)
def test_a_lag_that_no_number_says_is_unknown(node, counts):
    """A KIP-932 state that nobody in his right mind wrote."""
    node.member("a").join()
    written = {"partition": 0, "state_epoch": 100, "leader_epoch": 0}
    written |= {"start_offset": 0, "state_batches": []} | counts
    topic = {"topic_id": node.topic_id, "partitions": [written]}
    asked = {"group_id": GROUP, "topics": [topic]}
    [result] = node.patiently("WriteShareGroupState", 1, **asked).results
    assert result.partitions[0].error_code == 0
    assert offsets(node) == [(max(written["start_offset"], -1), -1)]
    assert node.broker.why_failed is None


def test_two_fetches_that_wait_for_a_state_nobody_can_read_do_not_wake_each_other(
    monkeypatch,
):
    """KIP-932; the other partition keeps both waiting: it is empty."""
    node = SharingNode(partitions=2)
    members = [node.member(name).join() for name in ("a", "b")]
    fenced = {"partitions": [{"partition": 0, "leader_epoch": 7}]}
    asked = {"group_id": GROUP, "topics": [{"topic_id": node.topic_id} | fenced]}
    [result] = node.patiently("ReadShareGroupState", 0, **asked).results
    assert result.partitions[0].error_code == 0
    persister, reads = node.broker.sharing.persister, []

    def read(key, leader_epoch, then, ask=persister.read):
        reads.append(key.partition)
        assert len(reads) < 20, "they wake each other"
        ask(key, leader_epoch, then)

    monkeypatch.setattr(persister, "read", read)
    both = [{"partition_index": number} for number in (0, 1)]
    wanted = {"topics": [{"topic_id": node.topic_id, "partitions": both}]}
    for member in members:
        member.begins_to_fetch(**wanted)
    node.pass_time(600)
    for reply in node.out():
        _, answer = messages.decode_response("ShareFetch", 2, b"".join(reply.frame))
        [topic] = answer.responses
        told = {one.partition_index: one.error_code for one in topic.partitions}
        assert told == {0: Error.NOT_LEADER_OR_FOLLOWER, 1: Error.NONE}
        members.pop()
    assert not members and set(reads) == {0, 1}


def test_a_fetch_that_asks_for_batches_of_nothing_gets_whole_ones(node):
    a = node.member("a").join()
    assert a.fetch(batch_size=0)[0] == (0, 4, 1)


# -- offsets and deletion


@pytest.mark.parametrize("says_goodbye", [False, True])
def test_kip_932_offsets_of_an_empty_group_are_altered(node, says_goodbye):
    a = node.member("a").join()
    a.fetch(most=20)
    if says_goodbye:
        assert a.says((0, 19, ACCEPT), epoch=-1) == "NONE"
    partition = {"partition_index": 0, "start_offset": 15}
    topic = {"topic_name": "orders", "partitions": [partition]}
    asked = {"group_id": GROUP, "topics": [topic]}
    answer = node.patiently("AlterShareGroupOffsets", 0, **asked)
    assert answer.error_code == 68, "NON_EMPTY_GROUP"
    assert a.beat(epoch=-1) == "NONE"
    a.close()
    answer = node.patiently("AlterShareGroupOffsets", 0, **asked)
    assert answer.responses[0].partitions[0].error_code == 0
    b = node.member("b").join()
    assert b.fetch(most=20) == [(15, 19, 1)]


def test_who_asks_about_no_share_partition_hears_at_once(node):
    """A group may have a topic and none of its partitions: it can be deleted, too."""
    heard = []
    ask_for_all([], heard.append, lambda *told: heard.append(told), node.broker.now)
    assert heard == [({}, node.broker.now)]


def test_kip_932_offsets_and_groups_are_deleted(node):
    a = node.member("a").join()
    a.fetch(most=20)
    a.beat(epoch=-1)
    a.close()
    topic = {"topic_name": "orders"}
    asked = {"group_id": GROUP, "topics": [topic]}
    [deleted] = node.patiently("DeleteShareGroupOffsets", 0, **asked).responses
    assert (deleted.topic_name, deleted.error_code) == ("orders", 0)
    assert offsets(node) == []
    [result] = node.patiently("DeleteGroups", 2, groups_names=[GROUP]).results
    assert result.error_code == 0
    assert node.patiently("ListGroups", 4, states_filter=[]).groups == []


@pytest.mark.parametrize("nines", [400, 5000])
def test_a_stored_duration_that_is_too_long_gives_way_to_the_default(node, nines):
    """minikafka took it once, and the group never read; Apache Kafka refuses it."""
    record = {
        "resource_type": 32,
        "resource_name": GROUP,
        "name": "share.auto.offset.reset",
        "value": f"by_duration:PT{'9' * nines}S",
    }
    node.broker.quorum.append([MetadataRecord("ConfigRecord", 0, record)], node.now)
    node.restart()
    node.out()
    node.pass_time(1000)
    a = node.member("a").join()
    assert a.fetch() == []
    node.produce("orders", "x")
    assert a.fetch() == [(20, 20, 1)]


@pytest.mark.parametrize(
    ("ago", "first"), [("PT30M", 20), ("PT2H", 0), ("PT9223372036854775807S", 0)]
)
def test_a_group_begins_with_the_first_record_since_then(node, ago, first):
    node.pass_time(3_600_000)
    node.configure(share_auto_offset_reset=f"by_duration:{ago}")
    node.produce("orders", "x")
    acquired = node.member("a").join().fetch()
    assert acquired and acquired[0][0] == first

"""Committed offsets: who may commit, what is remembered, what is forgotten."""

import pytest

from minikafka.cluster.metadata import OFFSETS_TOPIC
from minikafka.coordinators.runtime import partition_for
from minikafka.wire.errors import Error
from minikafka.wire.internal_records import decode_coordinator_record
from minikafka.wire.records import batches, decode_batch
from tests.coordinators.party import Party
from tests.coordinators.purity import state_of

DAY_MS = 86_400_000


@pytest.fixture
def party():
    return Party()


def records(party, partition=0):
    """What lies in the offsets topic: (name, key, value) of each record."""
    log = party.node.broker.replicas.replicas[OFFSETS_TOPIC, partition].log
    found = []
    for chunk in log.read(log.log_start_offset, 1 << 20, log.log_end_offset):
        for _, batch in batches(chunk):
            found += [
                decode_coordinator_record(record.key, record.value)
                for record in decode_batch(batch)
            ]
    return found


def test_an_offset_that_was_never_committed_reads_as_minus_1(party):
    assert party.committed() == -1


def test_a_member_commits_in_its_generation_only(party):
    party.stable("a")
    assert party.commit("a", 5) is Error.NONE
    assert party.commit("a", 9, generation=0) is Error.ILLEGAL_GENERATION
    assert party.committed() == 5


def test_a_member_that_was_thrown_out_cannot_commit(party):
    party.stable("a", "b")
    party.pass_time(9_000)
    party.heartbeat("a")
    party.pass_time(1_000)
    assert party.commit("b", 5) is Error.UNKNOWN_MEMBER_ID
    assert party.committed() == -1


def test_members_may_commit_while_a_rebalance_is_prepared_but_not_once_its_generation_has_begun(
    party,
):
    party.stable("a")
    party.join("b")
    assert party.commit("a", 5) is Error.NONE
    party.join("a")
    assert party.commit("a", 6) is Error.REBALANCE_IN_PROGRESS


def test_a_commit_counts_as_a_heartbeat(party):
    party.stable("a")
    for offset in range(4):
        party.pass_time(9_000)
        assert party.commit("a", offset) is Error.NONE


def test_somebody_who_is_no_member_commits_to_an_empty_group_only(party):
    assert party.commit(None, 3) is Error.NONE
    assert party.committed() == 3
    party.stable("a")
    assert party.commit(None, 4) is Error.UNKNOWN_MEMBER_ID
    assert party.committed() == 3


def test_a_note_longer_than_offset_metadata_max_bytes_is_refused_and_the_others_are_not():
    party = Party(offset_metadata_max_bytes=10)
    partitions = [
        {"partition_index": number, "committed_offset": 7, "committed_metadata": note}
        for number, note in enumerate(("short", "x" * 11))
    ]
    body = {"group_id": "billing", "generation_id_or_member_epoch": -1, "member_id": ""}
    answer = party.ask(
        "admin",
        "OffsetCommit",
        8,
        **body,
        topics=[{"name": "orders", "partitions": partitions}],
    )
    assert [each.error_code for each in answer.topics[0].partitions] == [
        0,
        Error.OFFSET_METADATA_TOO_LARGE,
    ]
    assert (party.committed(0), party.committed(1)) == (7, -1)


def test_a_refused_commit_leaves_nothing_of_a_group_that_is_not_there():
    party = Party(offset_metadata_max_bytes=10)
    state = party.node.broker.groups.state("billing")
    before = state_of(state)
    note = {"partition_index": 0, "committed_offset": 7, "committed_metadata": "x" * 11}
    body = {"group_id": "billing", "generation_id_or_member_epoch": -1, "member_id": ""}
    party.ask(
        "admin",
        "OffsetCommit",
        8,
        **body,
        topics=[{"name": "orders", "partitions": [note]}],
    )
    assert state_of(state) == before


def test_a_commit_for_a_topic_that_is_not_there_is_refused(party):
    topics = [
        {
            "name": name,
            "partitions": [
                {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
            ],
        }
        for name in ("nowhere", "orders")
    ]
    body = {
        "group_id": "billing",
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "topics": topics,
    }
    answer = party.ask("admin", "OffsetCommit", 8, **body)
    assert [(each.name, each.partitions[0].error_code) for each in answer.topics] == [
        ("nowhere", Error.UNKNOWN_TOPIC_OR_PARTITION),
        ("orders", Error.NONE),
    ]


def test_each_commit_is_a_record_under_group_topic_and_partition(party):
    party.commit(None, 3)
    party.commit(None, 8)
    kept = [
        (key.group, key.topic, key.partition, value.offset)
        for _, key, value in records(party)
    ]
    assert kept == [("billing", "orders", 0, 3), ("billing", "orders", 0, 8)]


@pytest.mark.parametrize("clean", [True, False])
def test_offsets_and_the_group_survive_a_restart(party, clean):
    party.stable("a", "b")
    party.commit("a", 5)
    party.restart(clean)
    assert party.committed() == 5
    assert party.state == "Stable"
    assert party.heartbeat("a") is party.heartbeat("b") is Error.NONE
    assert party.sync("b").assignment == b"b"


def test_a_restarted_coordinator_gives_every_member_a_whole_session(party):
    party.stable("a")
    party.pass_time(9_000)
    party.restart()
    party.pass_time(9_900)
    assert party.heartbeat("a") is Error.NONE
    party.pass_time(10_000)
    assert party.state == "Empty"


def test_kip_211_offsets_expire_when_the_group_has_been_empty_for_offsets_retention_minutes():
    party = Party(offsets_retention_minutes=60)
    party.stable("a", session_ms=1_800_000)
    party.commit("a", 5)
    for _ in range(4):
        party.pass_time(1_700_000)
        party.heartbeat("a")
    assert party.committed() == 5
    party.leave("a")
    party.pass_time(3_000_000)
    assert party.committed() == 5
    party.pass_time(1_300_000)
    assert party.committed() == -1
    assert party.describe().group_state == "Dead"
    assert [value for _, _, value in records(party)][-2:] == [None, None]


def test_kip_211_offsets_of_a_group_without_members_expire_by_the_time_of_the_commit():
    party = Party(offsets_retention_minutes=60)
    party.commit(None, 5)
    party.pass_time(5_000_000)
    assert party.committed() == -1


def test_kip_848_offsets_of_an_empty_group_expire_by_the_time_of_the_commit_not_when_the_last_member_left():
    party = Party(offsets_retention_minutes=60)

    def beat(epoch, **more):
        body = {"group_id": "billing", "member_id": "a", "member_epoch": epoch, **more}
        return party.ask("a", "ConsumerGroupHeartbeat", 1, **body).member_epoch

    epoch = beat(
        0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )
    me = {
        "group_id": "billing",
        "member_id": "a",
        "generation_id_or_member_epoch": epoch,
    }
    partitions = [{"partition_index": 0, "committed_offset": 5}]
    party.ask(
        "a",
        "OffsetCommit",
        9,
        **me,
        topics=[{"name": "orders", "partitions": partitions}],
    )
    for _ in range(75):  # 50 minutes in which its member lives
        party.pass_time(40_000)
        assert beat(epoch) == epoch
    beat(-1)
    assert party.committed() == 5
    party.pass_time(1_500_000)
    assert party.committed() == -1


def test_an_old_client_says_itself_how_long_its_offsets_are_kept(party):
    where = {"partition_index": 0, "committed_offset": 5}
    topics = [{"name": "orders", "partitions": [where]}]
    body = {
        "group_id": "billing",
        "generation_id_or_member_epoch": -1,
        "topics": topics,
    }
    party.ask("admin", "OffsetCommit", 4, **body, retention_time_ms=3_600_000)
    party.pass_time(3_500_000)
    assert party.committed() == 5
    party.pass_time(800_000)
    assert party.committed() == -1


def test_a_deleted_topic_takes_its_offsets_along(party):
    party.commit(None, 5)
    party.node.call("DeleteTopics", 5, topic_names=["orders"], timeout_ms=1000)
    party.node.create_topic("orders")
    assert party.committed() == -1


def test_kip_496_offsets_of_a_topic_that_is_read_cannot_be_deleted(party):
    body = {
        "group_id": "billing",
        "topics": [{"name": "orders", "partitions": [{"partition_index": 0}]}],
    }
    party.stable("a")
    party.commit("a", 5)
    [refused] = party.ask("admin", "OffsetDelete", 0, **body).topics
    assert refused.partitions[0].error_code == Error.GROUP_SUBSCRIBED_TO_TOPIC
    party.leave("a")
    [deleted] = party.ask("admin", "OffsetDelete", 0, **body).topics
    assert deleted.partitions[0].error_code == Error.NONE
    assert party.committed() == -1


def test_kip_496_offsets_of_a_group_whose_members_are_no_consumers_stay_while_it_has_any(
    party,
):
    body = {
        "group_id": "billing",
        "topics": [{"name": "orders", "partitions": [{"partition_index": 0}]}],
    }
    party.commit(None, 3)
    party.stable("worker", protocol_type="connect")
    assert (
        party.ask("admin", "OffsetDelete", 0, **body).error_code
        == Error.NON_EMPTY_GROUP
    )
    assert party.committed() == 3


def test_kip_229_only_an_empty_group_can_be_deleted(party):
    def delete(*groups):
        answer = party.ask("admin", "DeleteGroups", 2, groups_names=list(groups))
        return {each.group_id: Error(each.error_code) for each in answer.results}

    party.stable("a")
    party.commit("a", 5)
    assert delete("billing", "nobody") == {
        "billing": Error.NON_EMPTY_GROUP,
        "nobody": Error.GROUP_ID_NOT_FOUND,
    }
    party.leave("a")
    assert delete("billing") == {"billing": Error.NONE}
    assert party.committed() == -1
    party.restart()
    assert party.committed() == -1
    assert party.ask("admin", "ListGroups", 5).groups == []


def test_all_offsets_of_a_group_can_be_asked_for_at_once(party):
    party.commit(None, 3, partition=1)
    party.commit(None, 4, partition=2)
    answer = party.ask(
        "admin",
        "OffsetFetch",
        8,
        groups=[{"group_id": "billing", "topics": None}, {"group_id": "x"}],
    )
    found = {
        each.partition_index: each.committed_offset
        for each in answer.groups[0].topics[0].partitions
    }
    assert found == {1: 3, 2: 4}
    assert answer.groups[1].topics == []


def test_an_empty_group_id_is_refused(party):
    answer = party.ask(
        "admin", "Heartbeat", 4, group_id="", generation_id=1, member_id="a"
    )
    assert answer.error_code == Error.INVALID_GROUP_ID


def test_a_group_belongs_to_the_partition_that_java_chooses():
    # Utils.abs("billing".hashCode()) % 50 and so on, computed with Apache Kafka 4.3.1
    names = ("billing", "", "a", "grün", "\U0001f600", "console-consumer-12345")
    assert [partition_for(name, 50) for name in names] == [9, 0, 47, 49, 49, 6]

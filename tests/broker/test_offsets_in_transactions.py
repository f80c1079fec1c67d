"""Offsets that a transaction commits (KIP-98, KIP-447): pending until its marker is in
the offsets topic.
"""

import pytest

from minikafka.coordinators.runtime import partition_for
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.wire.errors import Error
from tests.broker.node import Node

OFFSETS = "__consumer_offsets"


class Offsets(Node):
    """A node with the group `billing`, and producers that need no coordinator."""

    def __init__(self, **properties):
        by_hand = {"transaction_partition_verification_enable": "false"}
        super().__init__(offsets_topic_num_partitions=3, **by_hand, **properties)
        self.create_topic("orders", partitions=2)
        while self.call("FindCoordinator", 0, key="billing").error_code:
            self.pass_time(1)
        while self.call("OffsetFetch", 7, group_id="billing", topics=None).error_code:
            self.pass_time(1)

    def pending(
        self,
        offset,
        of=7,
        epoch=0,
        partition=0,
        version=3,
        topic="orders",
        group="billing",
        **member,
    ):
        at = {
            "partition_index": partition,
            "committed_offset": offset,
            "committed_metadata": "",
        }
        topics = [{"name": topic, "partitions": [at]}]
        who = {
            "transactional_id": "t",
            "group_id": group,
            "producer_id": of,
            "producer_epoch": epoch,
        }
        answer = self.call("TxnOffsetCommit", version, **who, topics=topics, **member)
        return answer.topics[0].partitions[0].error_code

    def committed(self, offset, partition=0):
        at = {
            "partition_index": partition,
            "committed_offset": offset,
            "committed_metadata": "",
        }
        answer = self.call(
            "OffsetCommit",
            5,
            group_id="billing",
            topics=[{"name": "orders", "partitions": [at]}],
        )
        assert answer.topics[0].partitions[0].error_code == Error.NONE

    def marker(self, committed, of=7, epoch=0, coordinator_epoch=0, partition=None):
        number = partition_for("billing", 3) if partition is None else partition
        topics = [{"name": OFFSETS, "partition_indexes": [number]}]
        marker = {
            "producer_id": of,
            "producer_epoch": epoch,
            "transaction_result": committed,
        }
        marker |= {"topics": topics, "coordinator_epoch": coordinator_epoch}
        return (
            self.call("WriteTxnMarkers", 1, markers=[marker])
            .markers[0]
            .topics[0]
            .partitions[0]
            .error_code
        )

    def offset(self, partition=0, stable=False):
        """What OffsetFetch answers: the offset, or the error's name."""
        topics = [{"name": "orders", "partition_indexes": [partition]}]
        answer = self.call(
            "OffsetFetch", 7, group_id="billing", topics=topics, require_stable=stable
        )
        found = answer.topics[0].partitions[0]
        assert found.committed_offset == -1 or not found.error_code
        return (
            Error(found.error_code).name if found.error_code else found.committed_offset
        )


@pytest.fixture
def node():
    return Offsets()


def test_kip_98_an_offset_in_a_transaction_is_read_when_the_marker_is_written(node):
    node.committed(5)
    assert node.pending(9) == Error.NONE
    assert node.offset() == 5
    assert node.marker(True) == Error.NONE
    assert node.offset() == 9


def test_kip_98_an_offset_of_an_aborted_transaction_never_counts(node):
    node.committed(5)
    node.pending(9)
    node.marker(False)
    node.marker(True)
    assert node.offset() == 5


def test_kip_447_who_asks_for_stable_offsets_is_sent_away_meanwhile(node):
    node.committed(5)
    node.pending(9)
    assert node.offset(stable=True) == "UNSTABLE_OFFSET_COMMIT"
    assert node.offset(partition=1, stable=True) == -1, (
        "only the partition that the transaction is about"
    )
    node.marker(False)
    assert node.offset(stable=True) == 5


def test_a_commit_outside_of_transactions_that_came_later_stays(node):
    node.pending(9)
    node.committed(12)
    assert node.offset(stable=True) == "UNSTABLE_OFFSET_COMMIT"
    node.marker(True)
    assert node.offset(stable=True) == 12


def test_of_two_transactions_the_later_commit_stays_whichever_ends_first(node):
    node.pending(9, of=7)
    node.pending(12, of=8)
    node.marker(True, of=8)
    assert node.offset() == 12
    assert node.offset(stable=True) == "UNSTABLE_OFFSET_COMMIT"
    node.marker(True, of=7)
    assert node.offset(stable=True) == 12


def test_an_older_epoch_of_the_producer_is_fenced(node):
    node.pending(9, epoch=3)
    assert node.pending(10, epoch=2) == Error.INVALID_PRODUCER_EPOCH
    assert node.marker(True, epoch=2) == Error.INVALID_PRODUCER_EPOCH
    assert node.marker(False, epoch=4, coordinator_epoch=2) == Error.NONE
    assert node.pending(10, epoch=3) == Error.INVALID_PRODUCER_EPOCH
    assert (
        node.marker(True, epoch=4, coordinator_epoch=1)
        == Error.TRANSACTION_COORDINATOR_FENCED
    )


@pytest.mark.parametrize("ended", [None, True, False])
@pytest.mark.parametrize("clean", [True, False])
def test_a_restarted_coordinator_knows_what_is_pending(ended, clean):
    node = Offsets(disk=MemoryDisk())
    node.committed(5)
    node.pending(9)
    if ended is not None:
        node.marker(ended)
    node.restart(clean)
    node.pass_time(1)
    assert (
        node.offset(stable=True)
        == {None: "UNSTABLE_OFFSET_COMMIT", True: 9, False: 5}[ended]
    )
    if ended is None:
        node.marker(True)
        assert node.offset(stable=True) == 9


def test_kip_447_a_producer_may_say_which_member_it_commits_for_and_an_old_one_is_refused(
    node,
):
    asked = {
        "group_id": "billing",
        "session_timeout_ms": 6000,
        "rebalance_timeout_ms": 6000,
        "member_id": "",
    }
    asked |= {
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b""}],
    }
    node.send("JoinGroup", 3, **asked)
    node.pass_time(5000)
    joined = node.answer()
    member = {
        "member_id": joined.member_id,
        "generation_id_or_member_epoch": joined.generation_id,
    }
    assert node.pending(9, **member) == Error.NONE
    assert (
        node.pending(
            9, **member | {"generation_id_or_member_epoch": joined.generation_id - 1}
        )
        == Error.ILLEGAL_GENERATION
    )
    assert node.pending(9, **member | {"member_id": "gone"}) == Error.UNKNOWN_MEMBER_ID
    assert node.pending(9) == Error.NONE, "who names no member is believed"
    assert node.pending(9, version=2) == Error.NONE


def test_kip_848_members_of_a_consumer_group_are_checked_alike(node):
    epoch = node.call(
        "ConsumerGroupHeartbeat",
        1,
        group_id="billing",
        member_id="one",
        member_epoch=0,
        rebalance_timeout_ms=6000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    ).member_epoch
    assert (
        node.pending(9, member_id="one", generation_id_or_member_epoch=epoch)
        == Error.NONE
    )
    assert (
        node.pending(9, member_id="one", generation_id_or_member_epoch=epoch + 1)
        == Error.ILLEGAL_GENERATION
    )
    assert (
        node.pending(9, member_id="two", generation_id_or_member_epoch=1)
        == Error.UNKNOWN_MEMBER_ID
    )
    assert node.pending(9) == Error.NONE


def test_a_generation_of_no_group_is_refused(node):
    assert (
        node.pending(9, member_id="one", generation_id_or_member_epoch=1)
        == Error.ILLEGAL_GENERATION
    )
    assert node.pending(9, topic="nowhere") == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert node.pending(9, group="") == Error.INVALID_GROUP_ID


def test_kip_496_a_pending_offset_can_be_deleted(node):
    node.pending(9)
    partitions = [{"partition_index": 0}]
    answer = node.call(
        "OffsetDelete",
        0,
        group_id="billing",
        topics=[{"name": "orders", "partitions": partitions}],
    )
    assert answer.topics[0].partitions[0].error_code == Error.NONE
    assert node.offset(stable=True) == -1
    node.marker(True)
    assert node.offset(stable=True) == -1


def test_a_deleted_group_takes_its_pending_offsets_along(node):
    node.pending(9)
    assert (
        node.call("DeleteGroups", 2, groups_names=["billing"]).results[0].error_code
        == Error.NONE
    )
    node.marker(True)
    assert node.offset(stable=True) == -1


def test_a_group_with_a_pending_offset_does_not_expire():
    node = Offsets(
        offsets_retention_minutes=1, offsets_retention_check_interval_ms=1000
    )
    node.committed(5)
    node.pending(9)
    node.pass_time(120_000)
    assert node.offset() == 5
    node.marker(False)
    node.pass_time(10_000)
    assert node.offset() == -1


def test_a_marker_for_a_partition_of_another_coordinator_is_to_be_sent_again(node):
    assert node.marker(True, partition=9) == Error.UNKNOWN_TOPIC_OR_PARTITION


def test_what_happens_to_a_pending_offset_is_told():
    events = []
    node = Offsets(listeners=[events.append])
    node.pending(9)
    node.marker(True)
    told = [str(event) for event in events if "Pending" in event.kind]
    assert [each.rpartition(": ")[2] for each in told] == [
        "offset 9 for orders-0 waits for the transaction of producer 7",
        "offset 9 for orders-0 counts with the transaction of producer 7",
    ]

"""A transaction in one partition (KIP-98): who reads its records, and from when on."""

import pytest

from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.wire.errors import Error
from minikafka.wire.internal_records import COMMIT, control_type
from minikafka.wire.records import batches, decode_batch, encode_batch
from tests.broker.node import Node

READ_COMMITTED = {"isolation_level": 1}


class Partition(Node):
    """A node with one partition of `orders`, and transactional producers that need no
    coordinator.
    """

    transactional_id, verified = "t", "false"

    def __init__(self, **properties):
        super().__init__(
            transaction_partition_verification_enable=self.verified, **properties
        )
        self.create_topic("orders")

    def in_transaction(
        self, sequence, *values, of=7, epoch=0, transactional=True, version=9
    ):
        fields = {"producer_id": of, "producer_epoch": epoch, "base_sequence": sequence}
        records = [(self.now.wall_ms, None, value.encode(), []) for value in values]
        one = {
            "index": 0,
            "records": encode_batch(records, transactional=transactional, **fields),
        }
        topics = [{"name": "orders", "partition_data": [one]}]
        asked = {
            "transactional_id": self.transactional_id,
            "acks": -1,
            "timeout_ms": 1000,
            "topic_data": topics,
        }
        answer = self.call("Produce", version, **asked)
        return answer and answer.responses[0].partition_responses[0]

    def marker(
        self,
        committed,
        of=7,
        epoch=0,
        coordinator_epoch=0,
        topic="orders",
        version=1,
        **more,
    ):
        topics = [{"name": topic, "partition_indexes": [0]}]
        marker = {
            "producer_id": of,
            "producer_epoch": epoch,
            "transaction_result": committed,
        }
        marker |= {"topics": topics, "coordinator_epoch": coordinator_epoch} | more
        self.send("WriteTxnMarkers", version, markers=[marker])
        answer = self.answer()
        return answer and answer.markers[0].topics[0].partitions[0].error_code

    def committed(self, offset=0, **how):
        """What a read_committed consumer keeps of an answer: that of aborted
        transactions it drops.
        """
        answer = self.fetch("orders", offset, **READ_COMMITTED, **how)
        starts = [
            (each.first_offset, each.producer_id)
            for each in answer.aborted_transactions
        ]
        assert starts == sorted(starts)
        found, aborted = [], set()
        for header, batch in batches(answer.records):
            while starts and starts[0][0] <= header.base_offset:
                aborted.add(starts.pop(0)[1])
            if header.control:
                aborted.discard(header.producer_id)
            elif not (header.transactional and header.producer_id in aborted):
                found += [
                    record.value.decode()
                    for record in decode_batch(batch)
                    if record.offset >= offset
                ]
        return found

    def aborted(self, offset=0, **how):
        answer = self.fetch("orders", offset, **READ_COMMITTED, **how)
        return [
            (each.producer_id, each.first_offset)
            for each in answer.aborted_transactions
        ]

    def stable(self):
        """The last stable offset, as Fetch and ListOffsets tell it."""
        asked = {"partition_index": 0, "timestamp": -1}
        topics = [{"name": "orders", "partitions": [asked]}]
        answer = self.call(
            "ListOffsets", 5, replica_id=-1, isolation_level=1, topics=topics
        )
        offset = answer.topics[0].partitions[0].offset
        assert self.fetch("orders").last_stable_offset == offset
        return offset


@pytest.fixture
def node():
    return Partition()


def test_kip_98_records_of_an_open_transaction_are_read_by_the_uncommitted_reader_only(
    node,
):
    node.produce("orders", "before")
    node.in_transaction(0, "a", "b")
    node.produce("orders", "behind")
    assert node.values("orders") == ["before", "a", "b", "behind"]
    assert node.committed() == ["before"]
    assert node.stable() == 1
    assert node.fetch("orders").high_watermark == 4


def test_kip_98_a_commit_marker_makes_them_count_and_is_an_offset_itself(node):
    node.in_transaction(0, "a", "b")
    node.produce("orders", "behind")
    assert node.marker(True) == Error.NONE
    assert node.committed() == ["a", "b", "behind"]
    assert node.stable() == 4
    [(_, marker)] = [
        each for each in batches(node.fetch("orders", 3).records) if each[0].control
    ]
    [record] = decode_batch(marker)
    assert (record.offset, control_type(record)) == (3, COMMIT)


def test_kip_98_a_reader_is_told_which_transactions_aborted(node):
    node.in_transaction(0, "a", of=7)
    node.in_transaction(0, "b", of=8)
    node.marker(False, of=7)
    assert node.stable() == 1, "the other one is open"
    node.marker(True, of=8)
    node.in_transaction(1, "c", of=7)
    node.marker(True, of=7)
    assert node.committed() == ["b", "c"]
    assert node.aborted() == [(7, 0)]
    assert node.fetch("orders").aborted_transactions is None, (
        "an uncommitted reader needs none"
    )


def test_kip_98_a_reader_is_told_of_those_that_overlap_with_what_it_gets(node):
    for number in range(4):
        node.in_transaction(number, "x" * 200)
        node.marker(False)
    node.produce("orders", "end")
    assert node.aborted() == [(7, 0), (7, 2), (7, 4), (7, 6)]
    assert node.aborted(1) == [(7, 0), (7, 2), (7, 4), (7, 6)], "the marker is at 1"
    assert node.aborted(2) == [(7, 2), (7, 4), (7, 6)]
    assert node.aborted(8) == []
    assert node.aborted(2, max_bytes=300) == [(7, 2)]
    assert node.committed() == ["end"]


def test_kip_98_a_parked_committed_reader_hears_of_the_commit(node):
    node.in_transaction(0, "x" * 5000)
    node.connect("reader")
    node.send_fetch(
        "orders",
        max_wait_ms=10_000,
        min_bytes=4000,
        connection="reader",
        **READ_COMMITTED,
    )
    node.in_transaction(1, "y" * 5000)
    assert [effect.connection for effect in node.broker.outbox] == []
    node.send(
        "WriteTxnMarkers",
        1,
        markers=[
            {
                "producer_id": 7,
                "producer_epoch": 0,
                "transaction_result": True,
                "topics": [{"name": "orders", "partition_indexes": [0]}],
            }
        ],
    )
    assert sorted(effect.connection for effect in node.out()) == ["client", "reader"]


def test_kip_98_a_marker_of_an_older_epoch_or_an_older_coordinator_is_refused(node):
    node.in_transaction(0, "a", epoch=3)
    assert node.marker(True, epoch=2) == Error.INVALID_PRODUCER_EPOCH
    assert node.marker(True, epoch=3, coordinator_epoch=5) == Error.NONE
    assert (
        node.marker(False, epoch=3, coordinator_epoch=4)
        == Error.TRANSACTION_COORDINATOR_FENCED
    )
    assert node.committed() == ["a"]


def test_kip_98_a_marker_of_a_newer_epoch_fences_the_producer(node):
    node.in_transaction(0, "a")
    node.marker(False, epoch=1)
    assert node.in_transaction(1, "b").error_code == Error.INVALID_PRODUCER_EPOCH
    assert node.in_transaction(0, "b", epoch=1).error_code == Error.NONE


def test_kip_1228_since_transactions_v2_a_marker_has_a_newer_epoch_than_the_batches(
    node,
):
    node.in_transaction(0, "a", epoch=3)
    assert (
        node.marker(True, epoch=3, version=2, transaction_version=2)
        == Error.INVALID_PRODUCER_EPOCH
    )
    assert node.marker(True, epoch=4, version=2, transaction_version=2) == Error.NONE
    assert node.marker(True, epoch=4, version=2, transaction_version=2) == Error.NONE, (
        "it may come again"
    )


def test_a_batch_without_the_bit_is_refused_while_the_producer_has_a_transaction_open(
    node,
):
    node.in_transaction(0, "a")
    assert (
        node.in_transaction(1, "b", transactional=False).error_code
        == Error.INVALID_TXN_STATE
    )
    node.marker(True)
    assert node.in_transaction(1, "b", transactional=False).error_code == Error.NONE


def test_transactional_records_need_a_transactional_id(node):
    records = encode_batch(
        [(0, None, b"a", [])],
        transactional=True,
        producer_id=7,
        producer_epoch=0,
        base_sequence=0,
    )
    assert (
        node.produce("orders", batch=records).error_code
        == Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    )


def test_a_marker_for_a_partition_that_is_not_here_says_so(node):
    assert node.marker(True, topic="nowhere") == Error.UNKNOWN_TOPIC_OR_PARTITION


def test_kip_664_a_partition_tells_its_producers_and_where_their_transactions_begin(
    node,
):
    node.produce("orders", "plain")
    node.in_transaction(4, "a", of=8, epoch=2)
    asked = [
        {"name": "orders", "partition_indexes": [0, 1]},
        {"name": "nowhere", "partition_indexes": [0]},
    ]
    here, nowhere = node.call("DescribeProducers", 0, topics=asked).topics
    assert [each.to_dict() for each in here.partitions[0].active_producers] == [
        {
            "producer_id": 8,
            "producer_epoch": 2,
            "last_sequence": 4,
            "last_timestamp": node.now.wall_ms,
            "coordinator_epoch": -1,
            "current_txn_start_offset": 1,
        }
    ]
    assert (
        here.partitions[1].error_code
        == nowhere.partitions[0].error_code
        == Error.UNKNOWN_TOPIC_OR_PARTITION
    )
    node.marker(False, of=8, epoch=3, coordinator_epoch=6)
    [known] = (
        node.call("DescribeProducers", 0, topics=asked[:1])
        .topics[0]
        .partitions[0]
        .active_producers
    )
    assert (
        known.producer_epoch,
        known.coordinator_epoch,
        known.current_txn_start_offset,
    ) == (3, 6, -1)


@pytest.mark.parametrize("clean", [True, False])
def test_kip_98_open_and_aborted_transactions_survive_a_restart(clean):
    node = Partition(disk=MemoryDisk())
    node.in_transaction(0, "a", of=7)
    node.marker(False, of=7)
    node.produce("orders", "plain")
    node.in_transaction(0, "b", of=8)
    node.restart(clean)
    assert node.stable() == 3
    assert node.committed() == ["plain"]
    assert node.in_transaction(1, "c", of=8).error_code == Error.NONE
    node.marker(True, of=8)
    assert node.committed() == ["plain", "b", "c"]
    assert node.aborted() == [(7, 0)]


def test_what_happens_to_a_transaction_is_told():
    events = []
    node = Partition(listeners=[events.append])
    node.produce("orders", "plain")
    node.in_transaction(0, "a")
    node.produce("orders", "plain")
    del events[:]
    node.marker(False)
    told = [
        str(event)
        for event in events
        if event.kind in ("MarkerWritten", "LastStableOffsetAdvanced")
    ]
    assert len(told) == 2
    assert told[0].endswith(
        "orders-0: the transaction of producer 7 is aborted at offset 3"
    )
    assert told[1].endswith("last stable offset of orders-0 advanced to 4")

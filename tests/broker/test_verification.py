"""Before a transaction's first records are written its coordinator is asked whether it
is open there (KIP-890).
"""

import pytest

from minikafka.storage.producer_state import Marker
from minikafka.wire.errors import Error
from tests.broker.test_transaction_coordinator import Coordinator, ids
from tests.broker.test_transactions_in_a_partition import READ_COMMITTED


class Verifying(Coordinator):
    """A node that asks, as Apache Kafka does by default, and coordinates the group
    `billing` too.
    """

    def __init__(self):
        super().__init__(offsets_topic_num_partitions=1)
        while self.call("FindCoordinator", 0, key="billing").error_code:
            self.pass_time(1)
        while self.call("OffsetFetch", 7, group_id="billing", topics=None).error_code:
            self.pass_time(1)

    def append(self, producer, sequence, version=9):
        answer = self.in_transaction(
            sequence, "a", of=producer[0], epoch=producer[1], version=version
        )
        return Error(answer.error_code)

    def commit_offset(self, producer, version):
        at = {"partition_index": 0, "committed_offset": 7, "committed_metadata": ""}
        who = {
            "transactional_id": "pay",
            "producer_id": producer[0],
            "producer_epoch": producer[1],
        }
        topics = [{"name": "orders", "partitions": [at]}]
        answer = self.call(
            "TxnOffsetCommit", version, group_id="billing", topics=topics, **who
        )
        return Error(answer.topics[0].partitions[0].error_code)

    def unstable(self):
        return self.fetch("orders", 0, **READ_COMMITTED).last_stable_offset


@pytest.fixture
def node():
    return Verifying()


@pytest.mark.parametrize(
    ("version", "error"),
    [(9, Error.INVALID_TXN_STATE), (11, Error.TRANSACTION_ABORTABLE)],
)
def test_a_partition_that_has_not_joined_takes_no_records(node, version, error):
    producer = ids(node.init())
    assert node.append(producer, 0, version) is error
    assert node.add(producer) == [0]
    assert node.append(producer, 0, version) is Error.NONE
    assert node.append(producer, 1, version) is Error.NONE


def test_a_batch_that_comes_after_the_marker_of_its_transaction_is_refused(node):
    producer = ids(node.init())
    node.add(producer)
    assert node.append(producer, 0) is Error.NONE
    assert node.end(producer, committed=False) == 0
    node.pass_time(1)
    end = node.unstable()
    assert node.append(producer, 1) is Error.INVALID_TXN_STATE
    assert node.append(producer, 0) is Error.INVALID_TXN_STATE
    assert node.unstable() == end


def test_a_marker_that_comes_while_the_coordinator_is_asked_makes_its_answer_void(
    node, monkeypatch
):
    producer = ids(node.init())
    node.add(producer)
    asking = node.broker.verifier.requests
    verify = asking._ask_node

    def ask(to, lane, api, version, body, then):
        def later(reply, now):
            node.broker.replicas.leader("orders", 0).append_marker(
                Marker(*producer, False, 0), now
            )
            then(reply, now)

        verify(to, lane, api, version, body, later)

    monkeypatch.setattr(asking, "_ask_node", ask)
    assert node.append(producer, 0) is Error.INVALID_TXN_STATE


def test_an_older_epoch_is_fenced_where_nothing_of_the_new_one_is_written_yet(node):
    old = ids(node.init())
    node.add(old)
    assert node.init().error_code == Error.CONCURRENT_TRANSACTIONS
    node.pass_time(1)
    new = ids(node.init())
    node.add(new)
    assert node.append(old, 0) is Error.INVALID_PRODUCER_EPOCH
    assert node.append(new, 0) is Error.NONE


def test_without_a_coordinator_the_producer_tries_again(node):
    """NOT_ENOUGH_REPLICAS, which every client tries again."""
    producer = ids(node.init())
    node.add(producer)
    node.broker.transactions.close()
    assert node.append(producer, 0) is Error.NOT_ENOUGH_REPLICAS


@pytest.mark.parametrize(
    ("version", "error"),
    [(3, Error.INVALID_TXN_STATE), (4, Error.TRANSACTION_ABORTABLE)],
)
def test_offsets_of_a_transaction_that_their_group_has_not_joined_are_refused(
    node, version, error
):
    producer = ids(node.init())
    assert node.commit_offset(producer, version) is error
    of = {
        "transactional_id": "pay",
        "producer_id": producer[0],
        "producer_epoch": producer[1],
    }
    assert node.call("AddOffsetsToTxn", 3, group_id="billing", **of).error_code == 0
    assert node.commit_offset(producer, version) is Error.NONE

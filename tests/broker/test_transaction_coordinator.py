"""A transactional id at its coordinator (KIP-98): who may write with it, and how its
transactions end.
"""

import pytest

from minikafka.clock import Now
from minikafka.coordinators.transaction_states import (
    LAST_EPOCH,
    STEPS,
    V2,
    Status,
    Transaction,
)
from minikafka.coordinators.transactions import Transactions
from minikafka.trace import Trace
from minikafka.wire.errors import Error, KafkaError
from tests.broker.test_transactions_in_a_partition import Partition

TIMEOUT_MS = 20_000
EVERY_MS = 10_000  # transaction.abort.timed.out.transaction.cleanup.interval.ms


class Coordinator(Partition):
    """A node that coordinates `pay`, a transactional id, and has the partition of
    `orders` that it writes to.
    """

    transactional_id, verified = "pay", "true"

    def __init__(self, **properties):
        super().__init__(**properties)
        self.call("FindCoordinator", 4, key_type=1, coordinator_keys=["pay"])
        self.pass_time(1)  # it loads its part of the log

    def init(self, expected=(-1, -1), version=4, timeout_ms=TIMEOUT_MS):
        more = (
            {"producer_id": expected[0], "producer_epoch": expected[1]}
            if version >= 3
            else {}
        )
        return self.call(
            "InitProducerId",
            version,
            transactional_id="pay",
            transaction_timeout_ms=timeout_ms,
            **more,
        )

    def add(self, producer, topic="orders", version=3, also=()):
        topics = [
            {"name": topic, "partitions": [0]},
            *({"name": name, "partitions": [0]} for name in also),
        ]
        fields = {
            "transactional_id": "pay",
            "producer_id": producer[0],
            "producer_epoch": producer[1],
        }
        answer = self.call(
            "AddPartitionsToTxn",
            version,
            v3_and_below_topics=topics,
            **{f"v3_and_below_{name}": value for name, value in fields.items()},
        )
        return [
            one.results_by_partition[0].partition_error_code
            for one in answer.results_by_topic_v3_and_below
        ]

    def end(self, producer, committed, version=3):
        of = {
            "transactional_id": "pay",
            "producer_id": producer[0],
            "producer_epoch": producer[1],
        }
        return self.call("EndTxn", version, committed=committed, **of).error_code

    def write(self, producer, sequence, *values):
        assert self.add(producer) == [0]
        assert (
            self.in_transaction(
                sequence, *values, of=producer[0], epoch=producer[1]
            ).error_code
            == 0
        )

    def state(self):
        described = self.call(
            "DescribeTransactions", 0, transactional_ids=["pay"]
        ).transaction_states[0]
        return (
            described.transaction_state
            if described.error_code == 0
            else Error(described.error_code).name
        )


def ids(answer):
    assert answer.error_code == 0, Error(answer.error_code).name
    return answer.producer_id, answer.producer_epoch


@pytest.fixture
def node():
    return Coordinator()


def test_a_state_leads_to_the_next_by_the_table_alone():
    assert {after for _, _, after in STEPS} == set(Status)
    with pytest.raises(AssertionError):
        Transaction("pay", 7, status=Status.COMPLETE_ABORT).to(Status.PREPARE_COMMIT)


@pytest.mark.parametrize(
    ("committed", "seen", "state"),
    [(True, ["a"], "CompleteCommit"), (False, [], "CompleteAbort")],
)
def test_a_transaction_is_read_when_its_producer_commits_it_and_never_when_it_aborts_it(
    node, committed, seen, state
):
    producer = ids(node.init())
    node.write(producer, 0, "a")
    assert node.state() == "Ongoing"
    assert node.committed() == []
    assert node.end(producer, committed) == 0
    assert node.state() == state
    assert node.committed() == seen
    assert node.end(producer, committed) == 0, "it comes again if the answer was lost"
    assert node.end(producer, not committed) == Error.INVALID_TXN_STATE


def test_a_new_producer_fences_the_old_one_and_aborts_what_it_had_open(node):
    old = ids(node.init())
    node.write(old, 0, "zombie")
    assert node.init().error_code == Error.CONCURRENT_TRANSACTIONS, (
        "the abort comes first"
    )
    new = ids(node.init())
    assert new[0] == old[0] and new[1] > old[1]
    assert node.add(old) == [Error.PRODUCER_FENCED]
    assert node.end(old, True) == Error.PRODUCER_FENCED
    assert node.end(old, True, version=1) == Error.INVALID_PRODUCER_EPOCH, (
        "KIP-588: old clients don't know the other"
    )
    assert (
        node.in_transaction(1, "late", of=old[0], epoch=old[1]).error_code
        == Error.INVALID_PRODUCER_EPOCH
    )
    node.write(new, 0, "a")
    assert node.end(new, True) == 0
    assert node.committed() == ["a"]


def test_kip_360_a_producer_that_names_its_epoch_gets_the_next_one_and_the_same_again_if_it_asks_again(
    node,
):
    first = ids(node.init())
    second = ids(node.init(expected=first))
    assert second == (first[0], first[1] + 1)
    assert ids(node.init(expected=first)) == second
    ids(node.init(expected=second))
    assert node.init(expected=first).error_code == Error.PRODUCER_FENCED
    assert (
        node.init(expected=first, version=3).error_code == Error.INVALID_PRODUCER_EPOCH
    )
    assert node.init(expected=(first[0] + 100, 0)).error_code == Error.PRODUCER_FENCED


def test_kip_360_a_producer_id_without_epochs_left_is_replaced():
    spent = Transaction("pay", 7, LAST_EPOCH, status=Status.COMPLETE_COMMIT)
    replaced = spent.begun_again((7, LAST_EPOCH), 8, TIMEOUT_MS)
    assert (
        replaced.producer_id,
        replaced.producer_epoch,
        replaced.previous_producer_id,
    ) == (8, 0, 7)


def test_kip_360_who_asks_again_with_a_replaced_producer_id_is_known_though_the_new_one_has_a_transaction_open():
    spent = Transaction("pay", 7, LAST_EPOCH, status=Status.COMPLETE_COMMIT)
    now = Now(monotonic_ms=0, wall_ms=0)
    functions = (
        lambda: V2,
        lambda transaction, now: None,
        lambda now: 9,
        lambda size_bytes: True,
    )
    transactions = Transactions({}, *functions, Trace(1))
    transactions.transactions["pay"] = spent.begun_again(
        (7, LAST_EPOCH), 8, TIMEOUT_MS
    ).to(Status.ONGOING)
    asked_again = transactions.init("pay", TIMEOUT_MS, (7, LAST_EPOCH), -1, now)
    assert asked_again.answer["error_code"] == Error.CONCURRENT_TRANSACTIONS
    assert asked_again.records[0].value["transaction_status"] == Status.PREPARE_ABORT
    for stranger in (7, LAST_EPOCH - 1), (6, LAST_EPOCH):
        with pytest.raises(KafkaError, match="PRODUCER_FENCED"):
            transactions.init("pay", TIMEOUT_MS, stranger, -1, now)


def test_who_takes_too_long_is_aborted_within_the_cleanup_interval_and_fenced(node):
    producer = ids(node.init())
    node.write(producer, 0, "slow")
    node.pass_time(TIMEOUT_MS - 1)
    assert node.state() == "Ongoing"
    node.pass_time(EVERY_MS + 1)
    assert node.state() == "CompleteAbort"
    assert node.end(producer, True) == Error.PRODUCER_FENCED
    assert node.stable() == 2 and node.committed() == []


@pytest.mark.parametrize("clean", [True, False])
def test_what_a_coordinator_has_decided_is_carried_out_after_its_restart(
    node, clean, monkeypatch
):
    producer = ids(node.init())
    node.write(producer, 0, "a")
    monkeypatch.setattr(
        "minikafka.coordinators.transaction_requests.Markers.send", lambda *_: None
    )
    assert node.end(producer, True) == 0
    assert (node.state(), node.committed()) == ("PrepareCommit", [])
    assert node.init().error_code == Error.CONCURRENT_TRANSACTIONS
    monkeypatch.undo()
    node.restart(clean)
    node.pass_time(1000)
    assert (node.state(), node.committed()) == ("CompleteCommit", ["a"])


def test_a_transaction_whose_topic_is_deleted_ends_in_the_partitions_that_are_left(
    node,
):
    node.create_topic("gone")
    producer = ids(node.init())
    node.write(producer, 0, "a")
    assert node.add(producer, "gone") == [0]
    node.call("DeleteTopics", 5, topic_names=["gone"], timeout_ms=1000)
    assert node.end(producer, True) == 0
    assert (node.state(), node.committed()) == ("CompleteCommit", ["a"])


def test_partitions_join_all_or_none(node):
    producer = ids(node.init())
    codes = node.add(producer, "orders", also=["nowhere"])
    assert codes == [Error.OPERATION_NOT_ATTEMPTED, Error.UNKNOWN_TOPIC_OR_PARTITION]
    assert node.state() == "Empty"


def test_kip_890_a_partition_is_verified_if_it_has_joined(node):
    producer = ids(node.init())
    topics = [{"name": "orders", "partitions": [0]}]
    of = {
        "transactional_id": "pay",
        "producer_id": producer[0],
        "producer_epoch": producer[1],
    }

    def verify():
        answer = node.call(
            "AddPartitionsToTxn",
            4,
            transactions=[of | {"verify_only": True, "topics": topics}],
        )
        return (
            answer.results_by_transaction[0]
            .topic_results[0]
            .results_by_partition[0]
            .partition_error_code
        )

    assert verify() == Error.TRANSACTION_ABORTABLE
    node.add(producer)
    assert verify() == 0


def test_a_transactional_id_that_nobody_uses_is_forgotten():
    node = Coordinator(transactional_id_expiration_ms=60_000)
    ids(node.init())
    node.pass_time(59_000)
    assert node.state() == "Empty"
    node.pass_time(1000)
    assert node.state() == "TRANSACTIONAL_ID_NOT_FOUND"
    node.restart()
    node.pass_time(10)
    assert node.state() == "TRANSACTIONAL_ID_NOT_FOUND"


@pytest.mark.parametrize("timeout_ms", [0, 900_001])
def test_a_timeout_is_at_most_transaction_max_timeout_ms(node, timeout_ms):
    assert (
        node.init(timeout_ms=timeout_ms).error_code == Error.INVALID_TRANSACTION_TIMEOUT
    )


def test_kip_664_and_994_transactions_are_listed_by_state_and_by_how_long_they_take(
    node,
):
    node.write(ids(node.init()), 0, "a")
    node.pass_time(5000)

    def found(version=1, **filters):
        answer = node.call("ListTransactions", version, **filters)
        return [each.transactional_id for each in answer.transaction_states], list(
            answer.unknown_state_filters
        )

    assert found() == (["pay"], [])
    assert found(state_filters=["Ongoing", "Sleeping"]) == (["pay"], ["Sleeping"])
    assert found(state_filters=["Empty"]) == ([], [])
    assert found(duration_filter=4000) == (["pay"], [])
    assert found(duration_filter=6000) == ([], [])
    assert found(version=2, transactional_id_pattern="p.*") == (["pay"], [])
    assert found(version=2, transactional_id_pattern="q.*") == ([], [])

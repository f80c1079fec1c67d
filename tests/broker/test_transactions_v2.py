"""Transactions v2 (KIP-890): brokers ask the coordinator before they append, and each
transaction has its own epoch.
"""

from functools import partial

import pytest

from minikafka.clock import Now
from minikafka.coordinators.transaction_states import (
    LAST_EPOCH,
    V2,
    Status,
    Transaction,
)
from minikafka.coordinators.transactions import Transactions
from minikafka.trace import Trace
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.internal_records import (
    decode_transaction_record,
    encode_coordinator_record,
)
from tests.broker.test_transaction_coordinator import Coordinator, ids

ONCE = Now(monotonic_ms=0, wall_ms=0)


@pytest.fixture
def node():
    return Coordinator()


def end(node, producer, committed):
    """EndTxn of a v2 producer: the id and epoch that it goes on with."""
    of = {
        "transactional_id": "pay",
        "producer_id": producer[0],
        "producer_epoch": producer[1],
    }
    return ids(node.call("EndTxn", 5, committed=committed, **of))


def send(node, producer, sequence, value, version=12):
    return node.in_transaction(
        sequence, value, of=producer[0], epoch=producer[1], version=version
    ).error_code


def test_a_partition_joins_with_its_first_batch_and_each_transaction_has_an_epoch(node):
    producer = ids(node.init())
    for number in range(3):
        assert send(node, producer, 0, f"{number}") == Error.NONE
        assert send(node, producer, 1, f"{number}, too") == Error.NONE
        assert node.state() == "Ongoing"
        assert end(node, producer, number != 1) == (producer[0], producer[1] + 1)
        late, producer = producer, (producer[0], producer[1] + 1)
        assert send(node, late, 2, "late") == Error.INVALID_PRODUCER_EPOCH, (
            "the marker has the new epoch"
        )
    assert node.committed() == ["0", "0, too", "2", "2, too"]


def test_an_end_that_comes_again_is_told_the_same_until_the_next_transaction(node):
    first = ids(node.init())
    send(node, first, 0, "a")
    second = end(node, first, True)
    assert end(node, first, True) == second
    of = {
        "transactional_id": "pay",
        "producer_id": first[0],
        "producer_epoch": first[1],
    }
    assert (
        node.call("EndTxn", 5, committed=False, **of).error_code
        == Error.INVALID_TXN_STATE
    )
    send(node, second, 0, "b")
    assert (
        node.call("EndTxn", 5, committed=True, **of).error_code == Error.PRODUCER_FENCED
    )
    assert node.state() == "Ongoing"


def after(transactions, decision):
    """The transaction, once the records of a decision are committed."""
    for record in decision.records:
        written = encode_coordinator_record(*record)
        transactions.apply(*decode_transaction_record(*written), offset=-1)
    transactions.carry_out("pay", decision.effect, ONCE)
    return transactions._find("pay")


def test_an_epoch_that_is_the_last_brings_a_new_producer_id():
    config = {"transactional.id.expiration.ms": 1}
    functions = lambda: V2, lambda *_: None, lambda _: 9, lambda _: True
    transactions = Transactions(config, *functions, Trace("broker 1"))
    transactions.transactions["pay"] = Transaction(
        "pay", 7, LAST_EPOCH, status=Status.ONGOING
    )
    ends = partial(transactions.end, ("pay", 7, LAST_EPOCH), True, V2)
    with pytest.raises(KafkaError, match="CONCURRENT_TRANSACTIONS"):
        ends(-1, ONCE)  # until there is a new id
    ended = ends(8, ONCE)
    assert (ended.answer["producer_id"], ended.answer["producer_epoch"]) == (
        8,
        0,
    ), "which it goes on with"
    prepared = after(transactions, ended)
    assert (
        prepared.producer_id,
        prepared.producer_epoch,
        prepared.next_producer_id,
    ) == (7, LAST_EPOCH + 1, 8)
    done = after(transactions, transactions.complete(prepared, ONCE))
    assert (done.producer_id, done.producer_epoch, done.previous_producer_id) == (
        8,
        0,
        7,
    )
    again = ends(-1, ONCE)
    assert (again.answer["producer_id"], again.answer["producer_epoch"]) == (
        8,
        0,
    ) and not again.records


def test_who_begins_while_markers_are_written_waits_for_them(node, monkeypatch):
    producer = ids(node.init())
    send(node, producer, 0, "a")
    held = []
    markers = node.broker.transactions._markers
    write = markers.send
    monkeypatch.setattr(markers, "send", lambda *of: held.append(of))
    producer = end(node, producer, True)
    fields = {"of": producer[0], "epoch": producer[1], "version": 12}
    assert node.in_transaction(0, "b", **fields) is None
    write(*held[0])
    node.pass_time(100)
    assert node.answer().responses[0].partition_responses[0].error_code == Error.NONE
    assert node.committed() == ["a"]


def test_after_a_while_it_hears_so_and_asks_again(node, monkeypatch):
    producer = ids(node.init())
    send(node, producer, 0, "a")
    monkeypatch.setattr(node.broker.transactions._markers, "send", lambda *_: None)
    producer = end(node, producer, True)
    fields = {"of": producer[0], "epoch": producer[1], "version": 12}
    assert node.in_transaction(0, "b", **fields) is None
    node.pass_time(100)
    assert (
        node.answer().responses[0].partition_responses[0].error_code
        == Error.CONCURRENT_TRANSACTIONS
    )


def test_without_a_coordinator_nothing_is_appended(node):
    producer = ids(node.init())
    node.call("DeleteTopics", 5, topic_names=["__transaction_state"], timeout_ms=1000)
    assert send(node, producer, 0, "a") == Error.NOT_ENOUGH_REPLICAS, (
        "which a producer asks again"
    )

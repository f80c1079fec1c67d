"""Everything that producers can make grow has an end: what a log remembers of them,
transactional ids, expressions.
"""

import pytest

from minikafka.coordinators import expressions
from minikafka.wire.errors import Error
from minikafka.wire.records import encode_batch
from tests.broker.test_transaction_coordinator import Coordinator, ids

MOST = 50


@pytest.fixture
def node():
    return Coordinator(transactional_id_expiration_ms=60_000)


def write(node, producer_id):
    numbers = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0}
    return node.produce(
        "orders", batch=encode_batch([(node.now.wall_ms, None, b"a", [])], **numbers)
    ).error_code


def remembered(node):
    return node.broker.replicas.leader("orders", 0).log.producers.producers


@pytest.mark.parametrize("restarted", [False, True])
def test_a_log_remembers_so_many_producers_and_forgets_those_that_are_silent_for_longest(
    node, restarted, monkeypatch
):
    monkeypatch.setattr("minikafka.storage.producer_state.MOST_PRODUCERS", MOST)
    open_one = ids(node.init())
    node.write(open_one, 0, "open")
    for number in range(1000, 1000 + 4 * MOST):
        node.pass_time(1)
        assert write(node, number) == Error.NONE
        assert len(remembered(node)) <= MOST
    if restarted:
        node.restart(clean=False)
        node.pass_time(10)
    last = 1000 + 4 * MOST - 1
    assert open_one[0] in remembered(node), "it has a transaction open"
    assert {last - number for number in range(MOST // 2)} <= remembered(node).keys()
    assert node.end(open_one, True) == 0


def init(node, name):
    return node.call(
        "InitProducerId", 4, transactional_id=name, transaction_timeout_ms=20_000
    )


def test_a_coordinator_keeps_so_many_transactional_ids_and_a_new_one_waits_until_others_expire(
    node, monkeypatch
):
    monkeypatch.setattr(
        "minikafka.coordinators.coordinator.MOST_TRANSACTIONS_BYTES", 20_000
    )
    producer = ids(node.init())
    kept = sum(
        init(node, f"id-{number}").error_code == Error.NONE for number in range(100)
    )
    assert 15 <= kept < 20
    assert init(node, "one more").error_code == Error.POLICY_VIOLATION
    assert init(node, "id-1").error_code == Error.NONE, "it is known"
    node.create_topic("wide", 100)
    topics = [{"name": "wide", "partitions": list(range(100))}]
    of = {
        "transactional_id": "pay",
        "producer_id": producer[0],
        "producer_epoch": producer[1],
        "topics": topics,
    }
    answer = node.call(
        "AddPartitionsToTxn",
        3,
        **{f"v3_and_below_{name}": each for name, each in of.items()},
    )
    [topic] = answer.results_by_topic_v3_and_below
    assert {each.partition_error_code for each in topic.results_by_partition} == {
        Error.POLICY_VIOLATION
    }
    node.pass_time(61_000)
    assert init(node, "one more").error_code == Error.NONE


def test_what_a_coordinator_keeps_is_counted_the_same_after_it_has_loaded(node):
    node.write(ids(node.init()), 0, "open")
    init(node, "another one")
    before = sum(
        shard.state.size_bytes for shard in node.broker.transactions.shards.values()
    )
    node.restart()
    node.pass_time(10)
    assert (
        sum(
            shard.state.size_bytes for shard in node.broker.transactions.shards.values()
        )
        == before
        > 2000
    )


def test_expressions_of_list_transactions_are_not_kept_and_very_large_ones_are_refused(
    node,
):
    pytest.importorskip("re2")
    before = expressions.compiled.cache_info().currsize
    for number in range(20):
        answer = node.call(
            "ListTransactions", 2, transactional_id_pattern=f"pay{number}.*"
        )
        assert answer.error_code == Error.NONE
    assert expressions.compiled.cache_info().currsize == before
    answer = node.call(
        "ListTransactions", 2, transactional_id_pattern=r"(\pL{50}){20}" * 20
    )
    assert answer.error_code == Error.INVALID_REGULAR_EXPRESSION


def test_an_expression_of_list_transactions_that_is_too_much_work_is_refused(
    node, monkeypatch
):
    pytest.importorskip("re2")
    for number in range(20):
        assert init(node, f"pay{number}").error_code == Error.NONE

    def listed(pattern):
        return node.call("ListTransactions", 2, transactional_id_pattern=pattern)

    assert len(listed("pay.*").transaction_states) == 20
    monkeypatch.setattr(expressions, "MOST_WORK_ONCE", 20 * 1000)
    assert len(listed("pay.*").transaction_states) == 20
    answer = listed("((p?){50}(a?){9}){8}.*")
    assert answer.error_code == Error.INVALID_REGULAR_EXPRESSION

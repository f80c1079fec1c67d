"""A transaction of more partitions than one request may name: every one gets its
marker, before a restart or after.
"""

import pytest

from tests.broker.test_transaction_coordinator import Coordinator, ids

pytestmark = pytest.mark.slow

MOST = 300  # items of a request, so that few partitions are many
TOPICS = ("a", "b", "c")


@pytest.fixture
def node(monkeypatch):
    monkeypatch.setattr("minikafka.wire.messages.MOST_REQUEST_ITEMS", MOST)
    monkeypatch.setattr(
        "minikafka.coordinators.transaction_requests.MOST_TOGETHER", MOST // 2 - 1
    )
    monkeypatch.setattr(
        "minikafka.coordinators.transaction_requests.MOST_ITEMS", MOST - 1
    )
    node = Coordinator()
    for name in TOPICS:
        node.create_topic(name, 250)
    return node


def open_everywhere(node):
    producer = ids(node.init())
    of = {
        "transactional_id": "pay",
        "producer_id": producer[0],
        "producer_epoch": producer[1],
    }
    for name in TOPICS:
        asked = of | {"topics": [{"name": name, "partitions": list(range(250))}]}
        answer = node.call(
            "AddPartitionsToTxn",
            3,
            **{f"v3_and_below_{key}": each for key, each in asked.items()},
        )
        [topic] = answer.results_by_topic_v3_and_below
        assert {each.partition_error_code for each in topic.results_by_partition} == {0}
    return producer


def ends(node):
    """How far the logs of all partitions go."""
    logs = [
        node.broker.replicas.leader(name, number).log
        for name in TOPICS
        for number in range(250)
    ]
    return {log.log_end_offset for log in logs}


def test_each_gets_its_marker(node):
    assert node.end(open_everywhere(node), True) == 0
    node.pass_time(100)
    assert node.state() == "CompleteCommit"
    assert ends(node) == {1}


@pytest.mark.parametrize("clean", [True, False])
def test_a_coordinator_that_loads_such_a_decision_carries_it_out(
    node, clean, monkeypatch
):
    producer = open_everywhere(node)
    with monkeypatch.context() as before_it_asks:
        before_it_asks.setattr(
            "minikafka.coordinators.transaction_requests.Markers.send", lambda *_: None
        )
        assert node.end(producer, False) == 0
    assert node.state() == "PrepareAbort"
    node.restart(clean)
    node.pass_time(1000)
    assert node.state() == "CompleteAbort"
    assert ends(node) == {1}


def test_what_is_asked_for_fits_into_requests(node, monkeypatch):
    producer = open_everywhere(node)
    asked = []
    asking = node.broker.transactions._markers.requests
    ask = asking._ask_node

    def keep(to, lane, api, version, body, then):
        asked.append(
            sum(
                1 + 2 * len(each["topics"][0]["partition_indexes"])
                for each in body["markers"]
            )
        )
        ask(to, lane, api, version, body, then)

    with monkeypatch.context() as watched:
        watched.setattr(asking, "_ask_node", keep)
        node.end(producer, True)
        node.pass_time(100)
    assert node.state() == "CompleteCommit"
    assert len(asked) >= 6 and max(asked) <= MOST

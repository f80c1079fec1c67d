"""Incremental fetch sessions (KIP-227)."""

import pytest

from minikafka.broker.fetch_sessions import FetchKey, Session, news
from minikafka.wire.errors import Error
from tests.broker.node import Node


@pytest.fixture
def node():
    node = Node()
    node.create_topic("orders", partitions=3)
    return node


def fetch(node, session_id, epoch, *partitions, forgotten=(), version=11):
    asked = [
        {"partition": number, "fetch_offset": offset, "partition_max_bytes": 1000}
        for number, offset in partitions
    ]
    body = {
        "max_wait_ms": 0,
        "min_bytes": 0,
        "session_id": session_id,
        "session_epoch": epoch,
        "topics": [{"topic": "orders", "partitions": asked}] if asked else [],
        "forgotten_topics_data": (
            [{"topic": "orders", "partitions": list(forgotten)}] if forgotten else []
        ),
    }
    return node.call("Fetch", version, **body)


def shown(answer):
    return [
        partition.partition_index
        for topic in answer.responses
        for partition in topic.partitions
    ]


def test_kip_227_the_first_answer_is_full_and_later_ones_hold_only_news(node):
    first = fetch(node, 0, 0, (0, 0), (1, 0), (2, 0))
    assert first.session_id > 0
    assert shown(first) == [0, 1, 2]
    assert shown(fetch(node, first.session_id, 1)) == []
    node.produce("orders", "a", partition=1)
    assert shown(fetch(node, first.session_id, 2)) == [1]
    assert shown(fetch(node, first.session_id, 3, (1, 1))) == []


def test_kip_227_a_partition_can_be_added_and_forgotten(node):
    session = fetch(node, 0, 0, (0, 0)).session_id
    assert shown(fetch(node, session, 1, (2, 0))) == [2]
    node.produce("orders", "a", partition=0)
    node.produce("orders", "a", partition=2)
    assert shown(fetch(node, session, 2, forgotten=[2])) == [0]


def test_kip_227_a_partition_with_records_is_served_last_next_time(node):
    session = fetch(node, 0, 0, (0, 0), (1, 0)).session_id
    node.produce("orders", "a", partition=0)
    node.produce("orders", "a", partition=1)
    fetch(node, session, 1)
    node.produce("orders", "b", partition=0)
    assert shown(fetch(node, session, 2, (0, 1))) == [0, 1]
    assert shown(fetch(node, session, 3)) == [0, 1]


def test_kip_227_a_wrong_epoch_or_an_unknown_session_is_refused(node):
    session = fetch(node, 0, 0, (0, 0)).session_id
    assert fetch(node, session, 2).error_code == Error.INVALID_FETCH_SESSION_EPOCH
    assert fetch(node, session + 1, 1).error_code == Error.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize(("opened", "continued"), [(12, 13), (13, 12)])
def test_kip_516_a_session_goes_on_with_names_or_with_ids_as_it_began(
    node, opened, continued
):
    session = fetch(node, 0, 0, version=opened).session_id
    assert (
        fetch(node, session, 1, version=continued).error_code
        == Error.FETCH_SESSION_TOPIC_ID_ERROR
    )
    assert fetch(node, session, 1, version=opened).error_code == Error.NONE


def test_kip_595_a_session_that_goes_on_in_an_older_version_hears_of_no_diverging_epoch(
    node,
):
    partition = {
        "partition": 0,
        "fetch_offset": 5,
        "last_fetched_epoch": 0,
        "partition_max_bytes": 1000,
    }
    topics = [{"topic": "orders", "partitions": [partition]}]
    opened = node.call(
        "Fetch", 12, max_wait_ms=0, min_bytes=0, session_epoch=0, topics=topics
    )
    assert opened.responses[0].partitions[0].diverging_epoch.end_offset == 0
    [goes_on] = fetch(node, opened.session_id, 1).responses
    assert goes_on.partitions[0].error_code == Error.OFFSET_OUT_OF_RANGE


def test_kip_227_epoch_minus_one_ends_the_session(node):
    session = fetch(node, 0, 0, (0, 0)).session_id
    assert fetch(node, session, -1).session_id == 0
    assert fetch(node, session, 1).error_code == Error.FETCH_SESSION_ID_NOT_FOUND


def test_kip_227_with_no_free_slot_a_client_goes_on_without_a_session():
    node = Node(max_incremental_fetch_session_cache_slots=1)
    node.create_topic("orders")
    assert fetch(node, 0, 0, (0, 0)).session_id == 1
    assert fetch(node, 0, 0, (0, 0)).session_id == 0
    node.pass_time(120_000)
    assert fetch(node, 0, 0, (0, 0)).session_id == 2


def test_kip_392_an_answer_that_sends_the_consumer_to_another_replica_is_never_left_out():
    """It has no records, and marks that were told before; a consumer that doesn't get
    it asks again at once.
    """
    session, key = Session(1, 1, 0, by_id=False), FetchKey("orders", 0)
    answer = {
        "error_code": Error.NONE,
        "high_watermark": 7,
        "log_start_offset": 0,
        "records": b"",
    }
    assert list(news(session, {key: answer}, incremental=False)) == [key]
    assert list(news(session, {key: answer}, incremental=True)) == []
    for _ in range(2):
        assert list(
            news(
                session,
                {key: {**answer, "preferred_read_replica": 2}},
                incremental=True,
            )
        ) == [key]

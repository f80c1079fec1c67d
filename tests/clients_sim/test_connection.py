"""The sans-IO contract of a client: connections, versions, time-outs, and metadata,
with real frames and no shell.
"""

from typing import NamedTuple

import pytest

from minikafka.clients.connection import Connect, Disconnect, Send
from minikafka.clients.consumer import Consumer
from minikafka.clients.producer import Producer
from minikafka.simulation.admin import Admin
from minikafka.trace import Trace
from minikafka.wire import messages

VERSIONS = [
    {"api_key": api.key, "min_version": api.min_version, "max_version": api.max_version}
    for api in messages.API.values()
]


class Now(NamedTuple):
    monotonic_ms: int
    wall_ms: int = 0


def asked(client):
    """Take the outbox: the requests in it, decoded."""
    outbox, client.outbox = client.outbox, []
    return [
        messages.decode_request(bytearray().join(item.frame))
        for item in outbox
        if isinstance(item, Send)
    ]


def answer(client, request, body, now, connection):
    frame = messages.encode_response(
        request.api.name, request.version, request.correlation_id, body
    )
    client.receive_reply(connection, bytearray().join(frame), now)


def connected(client):
    """Answer ApiVersions on the connection that the client opens, and return its
    name.
    """
    connection = client.outbox[0].connection
    [versions] = asked(client)
    answer(client, versions, {"api_keys": VERSIONS}, Now(0), connection)
    return connection


def admin():
    return Admin("admin", [("broker-1", 9092)], Trace("admin"))


def test_kip_35_a_connection_begins_with_the_question_for_versions():
    client = admin()
    client.call("DescribeCluster", {}, Now(0))
    connect, send = client.outbox
    assert (
        isinstance(connect, Connect)
        and connect.address == ("broker-1", 9092)
        and isinstance(send, Send)
    )
    connection = connected(client)
    [request] = asked(client)
    assert (request.api.name, request.version) == (
        "DescribeCluster",
        messages.API["DescribeCluster"].max_version,
    )
    assert connection == "admin#1"


def test_kip_511_a_broker_that_knows_only_older_versions_is_asked_again_in_version_0():
    client = admin()
    future = client.call("DescribeCluster", {}, Now(0))
    connection = client.outbox[0].connection
    [request] = asked(client)
    refusal = messages.encode_response(
        "ApiVersions", 0, request.correlation_id, {"error_code": 35, "api_keys": []}
    )
    client.receive_reply(connection, bytearray().join(refusal), Now(1))
    [again] = asked(client)
    assert again.version == 0 and not future.is_done
    answer(client, again, {"api_keys": VERSIONS}, Now(2), connection)
    assert [request.api.name for request in asked(client)] == ["DescribeCluster"]


def test_the_highest_version_that_both_sides_know_is_used():
    client = admin()
    client.call("CreateTopics", {"topics": []}, Now(0))
    connection = client.outbox[0].connection
    [versions] = asked(client)
    offered = [{"api_key": 19, "min_version": 2, "max_version": 4}]
    answer(client, versions, {"api_keys": offered}, Now(1), connection)
    assert [request.version for request in asked(client)] == [4]


def test_a_request_without_an_answer_in_time_costs_the_connection_and_is_sent_on_a_new_one():
    client = admin()
    client.call("DescribeCluster", {}, Now(0))
    connected(client)
    asked(client)
    assert client.next_deadline() == 30_000
    client.tick(Now(30_000))
    assert client.outbox == [Disconnect("admin#1")]
    client.tick(Now(30_050))
    assert Connect("admin#2", ("broker-1", 9092)) in client.outbox


def test_an_answer_on_a_connection_that_was_given_up_is_ignored():
    client = admin()
    future = client.call("DescribeCluster", {}, Now(0))
    connection = connected(client)
    [request] = asked(client)
    client.connection_lost(connection, Now(5))
    answer(client, request, {}, Now(6), connection)
    assert not future.is_done


@pytest.mark.parametrize("at_ms", [0, 10, 49, 50, 51])
def test_after_a_tick_the_next_deadline_is_always_later(at_ms):
    client = admin()
    client.call("DescribeCluster", {}, Now(0))
    client.connection_lost("admin#1", Now(0))
    client.tick(Now(at_ms))
    assert client.next_deadline() > at_ms


METADATA = {
    "brokers": [{"node_id": 1, "host": "broker-1", "port": 9092}],
    "controller_id": 1,
    "topics": [
        {
            "name": "orders",
            "partitions": [{"partition_index": 0, "leader_id": 1, "leader_epoch": 3}],
        }
    ],
}


def test_a_producer_asks_for_metadata_then_for_its_id_then_sends():
    producer = Producer("p", [("broker-1", 9092)], Trace("p"), lambda: 0.0, linger_ms=5)
    producer.metadata.want("orders")
    producer.tick(Now(0))
    connection = connected(producer)
    [metadata] = asked(producer)
    assert [topic.name for topic in metadata.body.topics] == ["orders"]
    answer(producer, metadata, METADATA, Now(1), connection)
    producer.send("orders", b"v", b"k", (), None, None, Now(10, 99))
    [init] = asked(producer)
    assert init.api.name == "InitProducerId"
    answer(producer, init, {"producer_id": 4, "producer_epoch": 0}, Now(12), connection)
    assert asked(producer) == [] and producer.next_deadline() == 15
    producer.tick(Now(15))
    [produce] = asked(producer)
    assert (produce.api.name, produce.body.acks, produce.body.topic_data[0].name) == (
        "Produce",
        -1,
        "orders",
    )


def test_metadata_is_read_again_when_it_is_five_minutes_old():
    producer = Producer("p", [("broker-1", 9092)], Trace("p"), lambda: 0.0)
    producer.metadata.want("orders")
    producer.tick(Now(0))
    connection = connected(producer)
    answer(producer, asked(producer)[0], METADATA, Now(1), connection)
    assert producer.next_deadline() == 300_001


def test_a_consumer_does_nothing_until_it_is_polled():
    consumer = Consumer("c", [("broker-1", 9092)], Trace("c"), "orders")
    consumer.tick(Now(1000))
    assert consumer.outbox == [] and consumer.next_deadline() is None
    consumer.begin_poll(Now(2000))
    assert isinstance(consumer.outbox[0], Connect)


def test_with_no_listener_a_client_builds_no_event(monkeypatch):
    monkeypatch.setattr(
        Trace, "emit", lambda *_, **__: pytest.fail("an event was built")
    )
    client = admin()
    client.call("DescribeCluster", {}, Now(0))
    connected(client)
    assert asked(client)

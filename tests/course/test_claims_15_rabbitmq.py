"""What the claims of lesson 15 say of RabbitMQ, run on RabbitMQ: it delivers at least
once, and whoever wants each effect once has to help.
"""

import socket
import threading
from contextlib import closing, contextmanager

import pytest

from minikafka.simulation.model_queue import QueueBroker
from tests.rabbitmq import RabbitMQ

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.slow,
    pytest.mark.rabbitmq,
    pytest.mark.timeout(300),
]

QUEUE = "jobs"


@pytest.fixture(scope="module")
def rabbitmq(tmp_path_factory):
    with RabbitMQ(tmp_path_factory.mktemp("rabbitmq")) as server:
        yield server


@pytest.fixture
def connection(rabbitmq):
    """With an empty queue, durable."""
    connection = rabbitmq.connection()
    connection.channel().queue_declare(QUEUE, durable=True)
    yield connection
    connection.channel().queue_delete(QUEUE)
    connection.close()


def taken(channel):
    """The next message: (redelivered, its id, body, delivery tag)."""
    method, properties, body = channel.basic_get(QUEUE)
    return method.redelivered, properties.message_id, body, method.delivery_tag


def waiting(connection):
    channel = connection.channel()
    count = channel.queue_declare(QUEUE, passive=True).method.message_count
    channel.close()
    return count


def test_a_consumer_that_dies_between_its_effect_and_its_ack_gets_the_message_again(
    rabbitmq, connection
):
    connection.channel().basic_publish("", QUEUE, b"pay 20")
    booked, marks = [], []
    for dies in (True, False):
        life = rabbitmq.connection()
        channel = life.channel()
        redelivered, _, body, tag = taken(channel)
        marks.append(redelivered)
        booked.append(body)
        if not dies:
            channel.basic_ack(tag)
        life.close()
    assert booked == [b"pay 20", b"pay 20"]
    assert marks == [False, True]
    assert waiting(connection) == 0


def test_the_mark_says_delivered_before_and_not_done_before(rabbitmq, connection):
    """So who leaves out what is marked loses it."""
    connection.channel().basic_publish("", QUEUE, b"pay 20")
    dies = rabbitmq.connection()
    assert taken(dies.channel())[0] is False
    dies.close()  # it had not begun
    redelivered, *_ = taken(connection.channel())
    assert redelivered


def test_the_model_queue_says_the_same_of_a_consumer_that_dies_before_its_ack():
    broker = QueueBroker()
    broker.channel("shop").queue_declare(QUEUE)
    broker.channel("shop").basic_publish("", QUEUE, b"pay 20")
    marks = []

    def work(channel, method, properties, body):
        marks.append(method.redelivered)

    for life in ("first", "second"):
        channel = broker.channel(life)
        channel.basic_consume(QUEUE, work)
        broker.run()
        channel.close()
    assert marks == [False, True]


@contextmanager
def without_answers_from(port):
    """(port, cut): a way to the broker on which, once cut.set() was called, the next
    thing that it says gets lost, and the connection with it.
    """
    cut = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))
    broker = socket.create_connection(("127.0.0.1", port))

    def to_the_broker(client):
        while data := client.recv(65536):
            broker.sendall(data)

    def from_the_broker(client):
        while data := broker.recv(65536):
            if cut.is_set():
                break
            client.sendall(data)
        for each in (client, broker):
            each.shutdown(socket.SHUT_RDWR)

    def accept():
        client, _ = listener.accept()
        ways = [
            threading.Thread(target=way, args=(client,), daemon=True)
            for way in (to_the_broker, from_the_broker)
        ]
        for way in ways:
            way.start()
        for way in ways:
            way.join()
        client.close()

    way = threading.Thread(target=accept, daemon=True)
    way.start()
    with closing(listener), closing(broker):
        yield listener.getsockname()[1], cut
        way.join()


def published_with_confirms(channel, cut=None):
    """Publishes one job; returns when the broker has confirmed it."""
    import pika

    channel.confirm_delivery()
    if cut:
        cut.set()
    properties = pika.BasicProperties(message_id="order 1", delivery_mode=2)
    channel.basic_publish("", QUEUE, b"pay 20", properties)


def test_a_publisher_that_reconnects_without_its_confirm_publishes_twice_and_nobody_notices(
    rabbitmq, connection
):
    """The broker compares no ids: both are new to it, and neither is marked."""
    import pika
    from pika.exceptions import AMQPConnectionError

    with without_answers_from(rabbitmq.port) as (port, cut):
        where = pika.ConnectionParameters("127.0.0.1", port, heartbeat=0)
        first = pika.BlockingConnection(where)
        with pytest.raises(AMQPConnectionError):
            published_with_confirms(first.channel(), cut)
    published_with_confirms(connection.channel())
    assert waiting(connection) == 2
    channel = connection.channel()
    found = [taken(channel)[:3] for _ in range(2)]
    assert found == [(False, "order 1", b"pay 20")] * 2


def test_a_consumer_that_keeps_the_ids_with_its_effects_has_each_effect_once(
    rabbitmq, connection
):
    """Exactly once is what the consumer makes of it."""
    for _ in range(2):  # a publisher that had no confirm
        published_with_confirms(connection.channel())
    booked = {}
    for acknowledges in (False, True):
        life = rabbitmq.connection()
        channel = life.channel()
        for _ in range(2):
            _, message_id, body, tag = taken(channel)
            booked.setdefault(message_id, body)
            if acknowledges:
                channel.basic_ack(tag)
        life.close()
    assert booked == {"order 1": b"pay 20"}
    assert waiting(connection) == 0

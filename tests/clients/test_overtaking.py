"""The Java producer's batches overtake each other: those on a connection that stands
still come after they were sent again over another one.

With idempotence the broker knows them again and writes none twice, also when more than
the last five of its producer came meanwhile (KIP-98). Without, it writes them twice, and the
first time in any order: so does Apache Kafka.
"""

import contextlib
import itertools
import socket
import struct
import threading

import pytest

from minikafka.server.embedded import Served
from minikafka.wire.records import batches, decode_batch
from tests.clients.java_tools import JavaTools
from tests.conformance.raw import Connection
from tests.course.lossy import HOST, PRODUCE, read_frame
from tests.course.test_claims_03_on_both import other_loopback
from tests.kafka import BOTH, ApacheKafka

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.slow,
    pytest.mark.java,
    pytest.mark.skipif(not other_loopback(), reason=f"{HOST} is no address here"),
]
NUMBERS = itertools.count()
ROOM = " " * 200


class Standing:
    """A way to the broker on which one connection can stand still: what its client sends
    comes when `go_on` says so, also if the client has hung up meanwhile.
    """

    def __init__(self, port):
        self.target = ("127.0.0.1", port)
        self.listener = socket.create_server((HOST, port))
        self.bootstrap = f"{HOST}:{port}"
        self.held = threading.Semaphore(0)  # Produce requests that stand there
        self.stops = False  # the next connection that brings a Produce
        self.moves = threading.Event()
        self.arrived = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def stand_still(self):
        self.moves.clear()
        self.arrived.clear()
        self.stops = True

    def go_on(self):
        """Returns when all that stood there has reached the broker."""
        self.moves.set()
        self.arrived.wait()

    def close(self):
        self.listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                broker = socket.create_connection(self.target)
                for way in (self._to_the_broker, self._to_the_client):
                    threading.Thread(
                        target=way, args=(client, broker), daemon=True
                    ).start()

    def _to_the_broker(self, client, broker):
        standing = []
        stands = False
        with contextlib.suppress(OSError):
            while True:
                frame = read_frame(client)
                is_produce = struct.unpack(">h", frame[4:6])[0] == PRODUCE
                if is_produce and self.stops:
                    stands, self.stops = True, False
                if stands:
                    standing.append(frame)
                    if is_produce:
                        self.held.release()
                else:
                    broker.sendall(frame)
        if stands:
            self.moves.wait()
            with contextlib.suppress(OSError):
                for frame in standing:
                    broker.sendall(frame)
                # what it answers is for nobody; the broker has read all before it hangs up
                broker.shutdown(socket.SHUT_WR)
                while broker.recv(1 << 16):
                    pass
            self.arrived.set()
        broker.close()

    def _to_the_client(self, client, broker):
        with contextlib.suppress(OSError):
            while True:
                client.sendall(read_frame(broker))
        client.close()


@pytest.fixture(scope="module")
def java():
    with JavaTools() as tools:
        yield tools.gateway


@pytest.fixture(scope="module", params=BOTH)
def way(request):
    if request.param == "minikafka":
        with Served(options=("--advertised-host", HOST)) as kafka:
            way = Standing(int(kafka.bootstrap.rsplit(":", 1)[1]))
            yield way
            way.close()
        return
    kafka = ApacheKafka()
    kafka.properties["advertised.listeners"] = f"PLAINTEXT://{HOST}:{kafka.port}"
    with kafka:
        way = Standing(kafka.port)
        yield way
        way.close()


@pytest.fixture
def topic(way):
    name = f"orders-{next(NUMBERS)}"
    with Connection("{}:{}".format(*way.target)) as broker:
        broker.create_topic(name)
    return name


class JavaProducer:
    """Each record is a batch of its own, and a request: two don't fit into one."""

    def __init__(self, java, way, topic, **options):
        self.java, self.topic = java, topic
        config = java.jvm.java.util.HashMap()
        of_strings = "org.apache.kafka.common.serialization.StringSerializer"
        for name, value in {
            "bootstrap_servers": way.bootstrap,
            "key_serializer": of_strings,
            "value_serializer": of_strings,
            "linger_ms": "0",
            "batch_size": "0",
            "request_timeout_ms": "5000",
            "acks": "all",
            **options,
        }.items():
            config.put(name.replace("_", "."), value)
        clients = java.jvm.org.apache.kafka.clients
        self.record = clients.producer.ProducerRecord
        self.producer = clients.producer.KafkaProducer(config)

    def send(self, *values):
        sent = [self.record(self.topic, each + ROOM) for each in values]
        return [self.producer.send(each) for each in sent]

    def close(self):
        self.producer.close()


def written(way, topic):
    """The values in the log, in order."""
    with Connection("{}:{}".format(*way.target)) as broker:
        end = broker.offset(topic, -1).offset
        found = broker.fetch(topic).records
        values = [
            record.value.decode().removesuffix(ROOM)
            for _, batch in batches(found)
            for record in decode_batch(batch)
        ]
    assert len(values) == end
    return values


def overtaken(java, way, topic, later, **options):
    """Five batches stand still, are sent again, and come once more in the end, when as
    many later ones as this have come. The values in the log, and those that were sent.
    """
    producer = JavaProducer(java, way, topic, **options)
    [first] = producer.send("first")
    first.get()
    way.stand_still()
    standing = [f"standing {number}" for number in range(5)]
    futures = producer.send(*standing)
    for _ in standing:
        way.held.acquire()
    for future in futures:
        future.get()
    after = [f"later {number}" for number in range(later)]
    for value in after:
        [future] = producer.send(value)
        future.get()
    way.go_on()
    producer.close()
    return written(way, topic), ["first", *standing, *after]


@pytest.mark.parametrize("later", [0, 3, 8])
def test_an_idempotent_producers_batches_are_written_once(java, way, topic, later):
    found, sent = overtaken(java, way, topic, later)
    assert found == sent


def test_without_idempotence_they_are_written_twice_as_kafka_writes_them(
    java, way, topic
):
    found, sent = overtaken(java, way, topic, 3, enable_idempotence="false")
    assert sorted(found) == sorted([*sent, *sent[1:6]])
    assert found[-5:] == sent[1:6]

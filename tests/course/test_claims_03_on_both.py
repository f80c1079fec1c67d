"""What lesson 03 claims about producers, as one check each: real clients on a network
that loses what it is told to.

Each runs on minikafka and on Apache Kafka over TCP. The ledger
(`notebooks/claims.toml`) names these tests.
"""

import itertools
import socket

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from tests.clients.brokers import until
from tests.course.lossy import HOST, Lossy
from tests.kafka import BOTH, ApacheKafka, java_tool

NUMBERS = itertools.count()


def other_loopback():
    """Whether this machine has a second loopback address, as Linux does."""
    try:
        socket.create_server((HOST, 0)).close()
    except OSError:
        return False
    return True


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not other_loopback(), reason=f"{HOST} is no address of this machine"
    ),
]


@pytest.fixture(
    scope="module",
    params=BOTH,
)
def port(request):
    """A broker's port, on the first loopback address; it tells its clients to come to
    the second.
    """
    if request.param == "minikafka":
        from minikafka.server.embedded import Served

        with Served(options=("--advertised-host", HOST)) as kafka:
            yield int(kafka.bootstrap.rpartition(":")[2])
    else:
        kafka = ApacheKafka()
        kafka.properties["advertised.listeners"] = f"PLAINTEXT://{HOST}:{kafka.port}"
        with kafka:
            yield kafka.port


@pytest.fixture(scope="module")
def network(port):
    lossy = Lossy(port)
    yield lossy
    lossy.close()


@pytest.fixture
def topic(network):
    admin = KafkaAdminClient(bootstrap_servers=network.bootstrap)
    name = f"orders-{next(NUMBERS)}"
    admin.create_topics({name: {"num_partitions": 1, "replication_factor": 1}})
    admin.wait_for_topics([name], 60_000)
    admin.close()
    return name


@pytest.fixture
def producer(network):
    made = []

    def make(**options):
        made.append(KafkaProducer(bootstrap_servers=network.bootstrap, **options))
        return made[-1]

    yield make
    for each in made:
        each.close(timeout=5)


@pytest.fixture
def log(network, topic):
    """The values in the topic, in order."""
    partition = TopicPartition(topic, 0)

    def read():
        consumer = KafkaConsumer(
            bootstrap_servers=network.bootstrap, auto_offset_reset="earliest"
        )
        consumer.assign([partition])
        end, values = consumer.end_offsets([partition])[partition], []
        while len(values) < end:
            values += [
                record.value.decode()
                for some in consumer.poll(timeout_ms=500).values()
                for record in some
            ]
        consumer.close()
        return values

    return read


@pytest.mark.parametrize(
    "idempotent, found",
    [(False, ["created", "paid", "paid"]), (True, ["created", "paid"])],
)
def test_kip_98_a_lost_answer_makes_a_duplicate_unless_the_producer_is_idempotent(
    network, producer, topic, log, idempotent, found
):
    shop = producer(acks="all", enable_idempotence=idempotent, retries=10)
    shop.send(topic, b"created").get(timeout=120)
    network.lose_answers = 1
    shop.send(topic, b"paid").get(timeout=120)
    assert log() == found


def test_kip_98_the_same_record_from_a_new_producer_is_a_new_record(
    producer, topic, log
):
    for _ in range(2):
        producer(acks="all", enable_idempotence=True).send(topic, b"paid").get(
            timeout=120
        )
    assert log() == ["paid", "paid"]


def test_with_acks_0_a_lost_request_is_done_and_gone(network, producer, topic, log):
    shop = producer(acks=0, enable_idempotence=False, linger_ms=0)
    shop.send(topic, b"created").get(timeout=120)
    until(lambda: log() == ["created"])
    before = network.requests
    network.swallow = 1
    shop.send(topic, b"paid").get(timeout=120)  # done: no error, whatever happens
    until(lambda: network.requests != before)
    producer(acks=1, enable_idempotence=False).send(topic, b"shipped").get(timeout=120)
    assert log() == ["created", "shipped"]


def test_with_acks_1_a_lost_request_is_sent_again(network, producer, topic, log):
    shop = producer(acks=1, enable_idempotence=False, retries=10)
    shop.send(topic, b"created").get(timeout=120)
    network.swallow = 1
    assert shop.send(topic, b"paid").get(timeout=120).offset == 1
    assert log() == ["created", "paid"]


def test_kip_91_a_record_that_failed_may_be_in_the_log(network, producer, topic, log):
    shop = producer(
        acks="all",
        request_timeout_ms=5000,
        delivery_timeout_ms=10_000,
        linger_ms=0,
        retry_backoff_ms=100,
    )
    shop.send(topic, b"created").get(timeout=120)
    network.lose_answers = 1000
    with pytest.raises(KafkaError):
        shop.send(topic, b"paid").get(timeout=120)
    network.lose_answers = 0
    assert log() == ["created", "paid"]


def test_while_five_requests_are_in_flight_records_collect_in_batches(
    network, producer, topic, log
):
    shop = producer(acks="all", enable_idempotence=False, linger_ms=0)
    shop.send(topic, b"created").get(timeout=120)
    before = network.requests
    network.answers.clear()
    futures = []
    while network.requests < before + 5:  # these leave as fast as the sender takes them
        futures.append(shop.send(topic, b"order"))
    futures += [shop.send(topic, b"order") for _ in range(1000)]
    network.answers.set()
    for future in futures:
        future.get(timeout=120)
    assert len(log()) == 1 + len(futures)
    assert network.requests - before < len(futures) / 10


@pytest.mark.parametrize("idempotent", [False, True])
def test_kafka_python_keeps_one_batch_a_partition_in_flight_when_it_is_idempotent(
    network, producer, topic, log, idempotent
):
    """The Java client is idempotent with five in flight, and in order."""
    shop = producer(
        acks="all", enable_idempotence=idempotent, linger_ms=0, batch_size=1
    )
    shop.send(topic, b"hello").get(timeout=120)
    network.in_flight = network.most_in_flight = 0
    network.answers.clear()
    futures = [shop.send(topic, str(number).encode()) for number in range(20)]
    until(lambda: network.most_in_flight >= (1 if idempotent else 5))
    network.answers.set()
    for future in futures:
        future.get(timeout=120)
    assert network.most_in_flight == (1 if idempotent else 5)
    assert log() == ["hello", *map(str, range(20))]


@pytest.mark.parametrize(
    "options", [{"acks": 1}, {"acks": 0}, {"max_in_flight_requests_per_connection": 6}]
)
def test_kafka_python_is_idempotent_unless_told_otherwise_and_refuses_both_at_once(
    producer, options
):
    assert producer().config["enable_idempotence"]
    assert not producer(**options).config["enable_idempotence"]
    with pytest.raises(KafkaError):
        producer(enable_idempotence=True, **options)


@pytest.mark.java
@pytest.mark.parametrize(
    "options, found",
    [
        (["enable.idempotence=false"], "43210"),
        (
            ["enable.idempotence=false", "max.in.flight.requests.per.connection=1"],
            "01234",
        ),
        (["enable.idempotence=true"], "01234"),
    ],
)
def test_the_java_client_turns_round_what_was_in_flight_unless_it_is_idempotent(
    network, topic, log, options, found
):
    """Five requests in flight are lost with their connection; with one in flight, the
    first of them is.
    """
    network.swallow = 1 if "max.in.flight.requests.per.connection=1" in options else 5
    settings = [word for option in options for word in ("--command-property", option)]
    # too long for two in a batch
    lines = "".join(f"{number}{'.' * 200}\n" for number in range(5))
    done = java_tool(
        "org.apache.kafka.tools.ConsoleProducer",
        "--bootstrap-server",
        network.bootstrap,
        "--topic",
        topic,
        "--timeout",
        "0",
        "--batch-size",
        "1",
        "--request-timeout-ms",
        "60000",
        *settings,
        input=lines,
    )
    assert done.returncode == 0, done.stderr
    assert network.swallow == 0
    assert "".join(value[0] for value in log()) == found

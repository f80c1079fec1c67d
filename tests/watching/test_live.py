"""The page's news about a Kafka with real clients, minikafka's and Apache Kafka's."""

import confluent_kafka
import pytest

from minikafka.testing import Kafka
from minikafka.testing.client import until
from minikafka.testing.kafka import AnyKafka
from minikafka.watching import command, watched
from minikafka.watching.command import Watching
from minikafka.watching.page import COLUMNS
from tests.kafka import BOTH, MINIKAFKA, ApacheKafka

pytestmark = pytest.mark.slow

PATIENCE_S = 60
OFTEN_S = 0.02


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Looks often, and judges soon."""
    monkeypatch.setattr(command, "EVERY_S", OFTEN_S)
    monkeypatch.setattr(watched, "GROWS_FOR_S", 10 * OFTEN_S)


@pytest.fixture
def watch():
    """Begins to watch; what it finds."""
    begun = []

    def watch(bootstrap, trace=None):
        begun.append(Watching(bootstrap, trace))
        return begun[-1]

    yield watch
    for each in begun:
        each.stop()


@pytest.fixture(scope="module", params=BOTH)
def any_kafka(request):
    if request.param == MINIKAFKA:
        with Kafka() as kafka:
            yield kafka
        return
    with ApacheKafka() as apache:
        kafka = AnyKafka(lambda: [apache.bootstrap])
        kafka.bootstrap_servers = apache.bootstrap
        yield kafka
        kafka.close()


@pytest.fixture
def consume():
    """Makes a consumer that reads one partition or more, as its group says."""
    made = []

    def consume(kafka, topic, group, client, **more):
        settings = {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": group,
            "client.id": client,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
        }
        consumer = confluent_kafka.Consumer({**settings, **more})
        consumer.subscribe([topic])
        made.append(consumer)
        return consumer

    yield consume
    for each in made:
        each.close()


def produce(kafka, topic, count, partitions=2):
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0}
    )
    for number in range(count):
        producer.produce(topic, str(number), partition=number % partitions)
    assert producer.flush(PATIENCE_S) == 0


def wait_for(watching, wanted):
    """The first news of which that is true."""
    last = {}

    def look():
        last.update(watching.news(900, 0))
        return last if wanted(last) else None

    return until(look, PATIENCE_S, f"not said: {last}")


def rows(news, group):
    """Each of its partitions, as the table has it."""
    found = [dict(zip(COLUMNS, row, strict=True)) for row in news["rows"]]
    return {
        row["partition"]: row for row in found if row["group"].startswith(f"{group} ")
    }


def says(*words):
    return lambda news: any(
        all(each in problem for each in words) for problem in news["problems"]
    )


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_two_consumers_read_and_one_stops_then_its_lag_grows(
    any_kafka, watch, consume, protocol
):
    topic = any_kafka.topic(partitions=2)
    group = f"billing-{protocol}"
    produce(any_kafka, topic, 2)
    pair = [
        consume(any_kafka, topic, group, client, **{"group.protocol": protocol})
        for client in ("fast", "slow")
    ]
    watching = watch(any_kafka.bootstrap_servers)

    def both_have_committed(news):
        for consumer in pair:
            if consumer.poll(OFTEN_S) is not None:
                consumer.commit(asynchronous=False)
        read = rows(news, group)
        readers = {row["reader"] for row in read.values()}
        lags = {row["lag"] for row in read.values()}
        return (readers, lags) == ({"fast", "slow"}, {"0"})

    news = wait_for(watching, both_have_committed)
    shown = rows(news, group)
    assert {row["group"] for row in shown.values()} == {f"{group} (Stable)"}
    [of_slow] = [part for part, row in shown.items() if row["reader"] == "slow"]

    def slow_lags(news):
        produce(any_kafka, topic, 20)
        pair[0].consume(100, OFTEN_S)
        try:
            pair[0].commit(asynchronous=False)
        except confluent_kafka.KafkaException:
            pass  # nothing new was read
        return says(group, f"slow reads {of_slow} more slowly")(news)

    news = wait_for(watching, slow_lags)
    assert int(rows(news, group)[of_slow]["lag"].replace(",", "")) > 0
    assert news["bad"]


def test_a_group_without_members_is_told_as_a_lag_that_nobody_reads(
    any_kafka, watch, consume
):
    topic = any_kafka.topic()
    produce(any_kafka, topic, 5, partitions=1)
    consumer = consume(any_kafka, topic, "shippers", "shipper")
    assert consumer.poll(PATIENCE_S) is not None
    consumer.commit(offsets=[confluent_kafka.TopicPartition(topic, 0, 2)])
    consumer.close()
    watching = watch(any_kafka.bootstrap_servers)
    wait_for(watching, says(f"shippers: nobody reads {topic}-0. The lag is"))


def test_a_broker_that_dies_is_away_and_comes_back(watch):
    with Kafka(brokers=3) as kafka:
        topic = kafka.topic()
        watching = watch(kafka.bootstrap_servers)
        wait_for(
            watching, lambda news: any(f"{topic}-0" in row for row in news["rows"])
        )
        leader = kafka.leader(topic)
        kafka.broker(leader).kill()
        wait_for(watching, says(f"Broker {leader} is away"))
        news = wait_for(watching, says(f"Not in sync on broker {leader}"))
        assert "away" in news["svg"]
        kafka.broker(leader).restart()
        wait_for(watching, says("All is well"))


def test_a_kafka_that_is_away_is_said_plainly_and_seen_again_when_it_is_back(watch):
    with Kafka() as kafka:
        kafka.topic()
        watching = watch(kafka.bootstrap_servers)
        wait_for(watching, says("All is well"))
        kafka.broker(1).kill()
        news = wait_for(watching, says(f"Nobody answers at {kafka.bootstrap_servers}"))
        assert news["away"] and news["rows"], "what was seen last stays"
        kafka.broker(1).restart()
        wait_for(watching, says("All is well"))


def test_an_address_at_which_nothing_listens_is_said_plainly(watch):
    watching = watch("localhost:1")
    news = wait_for(watching, says("Nobody answers at localhost:1"))
    assert news["rows"] == []


def test_a_group_of_any_kind_is_shown(watch, consume):
    with Kafka() as kafka:
        topic = kafka.topic()
        produce(kafka, topic, 1, partitions=1)
        consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "group.id": "audit",
                "group.protocol": "consumer",
                "log_level": 0,
            }
        )
        consumer.subscribe([topic])
        watching = watch(kafka.bootstrap_servers)
        news = wait_for(
            watching,
            lambda news: consumer.poll(OFTEN_S) is None and rows(news, "audit"),
        )
        assert rows(news, "audit")[f"{topic}-0"]["lag"] == "no offset yet"
        assert "KIP-848" in news["svg"]
        consumer.close()

"""What the tests of the checks share; and for the claims that are run on minikafka and
on Apache Kafka: a broker, topics, and clients that are closed.
"""

import itertools

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer

from tests.clients.brokers import until
from tests.course.on_both import PATIENCE_SECONDS
from tests.kafka import BOTH, ApacheKafka

NUMBERS = itertools.count()
# offsets and records that have expired; members join meanwhile
LOOK_EVERY_MS = {
    "offsets.retention.check.interval.ms": "1000",
    "log.retention.check.interval.ms": "1000",
}


@pytest.fixture(scope="module")
def spark():
    """The notebook's own session, warm: the clock of a check runs for the answer."""
    from minikafka.course.spark import session

    spark = session("tests")
    spark.createDataFrame([(b"{}",)], "value binary").selectExpr(
        "from_json(string(value), 'a int')"
    ).collect()
    yield spark
    spark.stop()


@pytest.fixture(scope="module", params=BOTH)
def bootstrap(request):
    if request.param == "minikafka":
        from minikafka.server.embedded import Served

        options = [
            word
            for name, value in LOOK_EVERY_MS.items()
            for word in ("--override", f"{name}={value}")
        ]
        with Served(options=tuple(options)) as kafka:
            yield kafka.bootstrap
    else:
        properties = {"log.initial.task.delay.ms": "1000"}
        with ApacheKafka(properties | LOOK_EVERY_MS) as kafka:
            yield kafka.bootstrap


@pytest.fixture
def topic(bootstrap):
    """Makes a topic of so many partitions and returns its name, when the broker has
    heard of it, too.
    """
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)

    def make(partitions=1, **configs):
        name = f"orders-{next(NUMBERS)}"
        settings = {key.replace("_", "."): str(value) for key, value in configs.items()}
        admin.create_topics(
            {
                name: {
                    "num_partitions": partitions,
                    "replication_factor": 1,
                    "configs": settings,
                }
            }
        )
        admin.wait_for_topics([name], 1000 * PATIENCE_SECONDS)
        return name

    def grow(name, partitions):
        admin.create_partitions({name: partitions})
        until(lambda: len(admin.describe_topics([name])[0]["partitions"]) >= partitions)
        admin.wait_for_topics([name], 1000 * PATIENCE_SECONDS)

    make.admin, make.grow = admin, grow
    yield make
    admin.close()


@pytest.fixture
def write(bootstrap):
    """Writes records one after another and returns what the broker acknowledged."""
    producer = KafkaProducer(bootstrap_servers=bootstrap)

    def send(topic, values, **where):
        return [
            producer.send(topic, value=value, **where).get(timeout=120)
            for value in values
        ]

    yield send
    producer.close()


@pytest.fixture
def reader(bootstrap):
    """A reader of given partitions, from the start unless told otherwise."""
    made = []

    def assign(*partitions, reset="earliest"):
        made.append(KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset=reset))
        made[-1].assign(list(partitions))
        return made[-1]

    yield assign
    for consumer in made:
        consumer.close()


@pytest.fixture
def member(bootstrap):
    """A consumer in the group of a topic's name; it leaves without committing."""
    made = []

    def join(name, **settings):
        defaults = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
        made.append(
            KafkaConsumer(
                name,
                bootstrap_servers=bootstrap,
                group_id=name,
                **{**defaults, **settings},
            )
        )
        return made[-1]

    yield join
    for consumer in made:
        consumer.close(autocommit=False)

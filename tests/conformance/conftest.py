import pytest

from tests.clients.brokers import KEPT, fresh_name, minikafka
from tests.conformance.raw import Connection
from tests.kafka import BOTH, ApacheKafka

# As tests.kafka starts Apache Kafka.
AT_ONCE = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "5",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "5",
    "share.coordinator.state.topic.num.partitions": "5",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    **KEPT,
}


@pytest.fixture(scope="session", params=BOTH)
def bootstrap(request):
    """Every test here holds for both; Apache Kafka shows that the test is right."""
    if request.param == "minikafka":
        with minikafka(AT_ONCE) as address:
            yield address
    else:
        with ApacheKafka({"log.initial.task.delay.ms": "3600000"}) as kafka:
            yield kafka.bootstrap


@pytest.fixture
def broker(bootstrap):
    with Connection(bootstrap) as connection:
        yield connection


@pytest.fixture
def name():
    return fresh_name()


@pytest.fixture
def topic(broker, name):
    return broker.create_topic(name)

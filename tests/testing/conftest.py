import pytest

from minikafka.testing import Kafka


@pytest.fixture
def kafka():
    with Kafka() as one:
        yield one


@pytest.fixture
def three():
    with Kafka(brokers=3) as cluster:
        yield cluster

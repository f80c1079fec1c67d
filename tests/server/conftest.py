import pytest

from minikafka.server.embedded import Served


@pytest.fixture
def served():
    with Served() as kafka:
        yield kafka

import pytest

from tests.clients.brokers import any_kafka, fresh_name


@pytest.fixture(scope="session")
def bootstrap():
    with any_kafka() as address:
        yield address


@pytest.fixture
def topic():
    return fresh_name()

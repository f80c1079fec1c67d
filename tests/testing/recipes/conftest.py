"""The recipes use pytest's fixtures as any project does that has installed minikafka:
kafka and kafka_cluster are the plugin's own.
"""

import sys

import pytest

from minikafka.testing.plugin import kafka, kafka_cluster  # noqa: F401 (fixtures)
from tests.kafka import ROOT
from tests.testing.java_clients import JavaClients

# where the program is that test_outbox.py tests
sys.path.append(str(ROOT / "notebooks" / "recipes"))


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent.name == "recipes":
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def java():
    with JavaClients() as clients:
        yield clients

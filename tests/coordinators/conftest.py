"""In all tests of the coordinators, every decision is checked to be one: it changes
nothing.
"""

import pytest

from minikafka.coordinators.runtime import Shard
from tests.coordinators.purity import watch


@pytest.fixture(autouse=True)
def decisions(monkeypatch):
    return watch(monkeypatch, Shard)

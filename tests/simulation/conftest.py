import pytest

from minikafka.simulation.cluster import Cluster
from tests.simulation.members import sent


@pytest.fixture
def quiet(capsys):
    """What a schedule prints is dropped."""
    yield
    capsys.readouterr()


@pytest.fixture
def cluster():
    """One broker, with records for a group to read."""
    with Cluster(seed=7) as made:
        sent(made)
        yield made

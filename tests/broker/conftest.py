"""What several tests of a node need."""

import pytest

from tests.broker.stranger import Stranger


@pytest.fixture
def stranger():
    return Stranger()

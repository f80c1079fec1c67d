"""An operator's weeks with Apache Kafka's own tools, which say the same of minikafka as of
Apache Kafka, line by line; and how fast a throttled reassignment is on each (KIP-73).
"""

import pytest

from tests.clients.operating import CHAPTERS, LIMIT, operated
from tests.kafka import APACHE_KAFKA, MINIKAFKA

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.slow,
    pytest.mark.java,
    pytest.mark.timeout(1200),
]


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    """Both operators, at the end."""
    folder = tmp_path_factory.mktemp("plans")
    theirs = operated(APACHE_KAFKA, folder)
    return operated(MINIKAFKA, folder, theirs), theirs


@pytest.mark.compares
@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.__name__)
def test_the_tools_say_the_same_to_an_operator_who(sides, chapter):
    ours, theirs = (side.told[chapter] for side in sides)
    assert [each.line for each in ours] == [each.line for each in theirs]
    for our, their in zip(ours, theirs, strict=True):
        assert our.facts == their.facts, our.line


@pytest.mark.compares
def test_kip_73_a_throttled_reassignment_moves_as_many_bytes_a_second_on_both(sides):
    for side in sides:
        print(f"{side.rate / 1e6:.2f} MB/s")
        assert side.rate == pytest.approx(LIMIT, rel=0.2)

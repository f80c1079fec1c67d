"""Apache Kafka's StreamsGroupCommand (KIP-1071): for the same history it says the same
of minikafka as of Apache Kafka.
"""

from contextlib import ExitStack

import pytest

from tests.clients.java_tools import JavaTools
from tests.clients.nodes import node
from tests.clients.streams_group_history import PATIENT, make_history
from tests.clients.test_groups_command import Side
from tests.kafka import APACHE_KAFKA, MINIKAFKA

pytestmark = [pytest.mark.slow, pytest.mark.java, pytest.mark.nightly]


class StreamsSide(Side):
    command = "org.apache.kafka.tools.streams.StreamsGroupCommand"
    method = "execute"
    make_history = staticmethod(make_history)


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    with ExitStack() as stack:
        java = stack.enter_context(JavaTools())
        brokers = []
        for kind in (MINIKAFKA, APACHE_KAFKA):
            data = tmp_path_factory.mktemp("data")
            brokers.append(stack.enter_context(node(kind, data, PATIENT)))
        yield [StreamsSide(broker, java) for broker in brokers]


LOOKING = """
--list
--list --state
--list --state Stable
--list --state Assigning,Empty
--describe --group counting
--describe --group counting --verbose
--describe --group counting --offsets
--describe --group counting --offsets --verbose
--describe --group counting --members
--describe --group counting --members --verbose
--describe --group counting --state
--describe --group counting --state --verbose
--describe --group waiting
--describe --group waiting --members --verbose
--describe --group waiting --state --verbose
--describe --group left --state
--describe --group old
--describe --group none
--describe --group none --state
--describe --all-groups
--describe --all-groups --members
--describe --all-groups --state
--reset-offsets --group left --input-topic orders --to-earliest --dry-run
--reset-offsets --group left --all-input-topics --to-latest --dry-run
--reset-offsets --group counting --all-input-topics --to-latest --dry-run
"""


@pytest.mark.compares
@pytest.mark.parametrize("line", LOOKING.strip().splitlines())
def test_the_streams_group_tool_says_the_same(sides, line):
    ours, theirs = (side.says(*line.split()) for side in sides)
    assert ours == theirs
    assert theirs


CHANGING = """
--reset-offsets --group left --input-topic orders:0 --to-earliest --execute
--reset-offsets --group left --all-input-topics --shift-by 1 --execute
--reset-offsets --group counting --all-input-topics --to-latest --execute
--delete-offsets --group left --input-topic orders:0
--delete-offsets --group counting --input-topic orders
--delete-offsets --group none --input-topic orders
--delete --group counting
--delete --group left
--delete --group left
--delete --all-groups
"""


@pytest.mark.compares
def test_the_streams_group_tool_changes_the_same(sides):
    for line in CHANGING.strip().splitlines():
        ours, theirs = (side.says(*line.split()) for side in sides)
        assert ours == theirs, line
        for question in (("--describe", "--all-groups"), ("--list", "--state")):
            ours, theirs = (side.says(*question) for side in sides)
            assert ours == theirs, f"after {line}: {set(ours) ^ set(theirs)}"

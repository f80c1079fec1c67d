"""Apache Kafka's ConsumerGroupCommand: for the same history it says the same of
minikafka as of Apache Kafka.

What is a broker's own is replaced by a word: the ids it made, its port. Rows may come
in any order.
"""

import re
from contextlib import ExitStack

import pytest

from tests.clients.group_history import PATIENT, make_history
from tests.clients.java_tools import JavaTools
from tests.clients.nodes import node
from tests.conformance.raw import Connection
from tests.kafka import APACHE_KAFKA, MINIKAFKA

pytestmark = [pytest.mark.slow, pytest.mark.java, pytest.mark.nightly]

COMMAND = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Side:
    """One broker with the history, and the tool."""

    command, method = COMMAND, "main"
    make_history = staticmethod(make_history)

    def __init__(self, kafka, java):
        self.kafka, self.java = kafka, java
        with Connection(kafka.bootstrap) as broker:
            self.make_history(broker)

    def says(self, *args):
        """What the tool says: its lines, sorted, without what is the broker's own and
        without the depth of a stack.
        """
        text = self.java.run(
            self.command,
            "--bootstrap-server",
            self.kafka.bootstrap,
            "--timeout",
            "60000",
            *args,
            method=self.method,
        )
        port = self.kafka.bootstrap.rpartition(":")[2]
        lines = (
            " ".join(UUID.sub("(an id)", line.replace(port, "(port)")).split())
            for line in text.splitlines()
        )
        return sorted(
            line for line in lines if line and not line.startswith(("at ", "... "))
        )


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    with ExitStack() as stack:
        java = stack.enter_context(JavaTools())
        yield [
            Side(
                stack.enter_context(
                    node(kind, tmp_path_factory.mktemp("data"), PATIENT)
                ),
                java,
            )
            for kind in (MINIKAFKA, APACHE_KAFKA)
        ]


LOOKING = """
--list
--list --state
--list --state Stable
--list --state empty,dead
--list --type
--list --type consumer --state
--describe --group tool
--describe --group classic
--describe --group consumer
--describe --group none
--describe --group tool --offsets --verbose
--describe --group classic --offsets --verbose
--describe --group tool --members
--describe --group classic --members
--describe --group classic --members --verbose
--describe --group consumer --members
--describe --group consumer --members --verbose
--describe --group none --members
--describe --group tool --state
--describe --group classic --state --verbose
--describe --group consumer --state --verbose
--describe --group none --state
--describe --all-groups --state
--describe --all-groups
--reset-offsets --group tool --topic orders --to-earliest --dry-run
--reset-offsets --group tool --all-topics --to-latest
--reset-offsets --group tool --topic orders:0 --topic other --to-offset 3
--reset-offsets --group tool --topic orders --to-offset 100
--reset-offsets --group tool --topic orders:0,1 --shift-by -3
--reset-offsets --group tool --topic orders:0,1 --shift-by 1000
--reset-offsets --group tool --topic orders --to-current
--reset-offsets --group tool --topic orders --to-datetime 2023-11-14T22:13:25.000
--reset-offsets --group tool --topic orders --by-duration P20000D
--reset-offsets --group tool --topic orders --by-duration PT1S
--reset-offsets --group tool --all-topics --to-earliest --export
--reset-offsets --group none --topic orders --to-earliest
--reset-offsets --group tool --topic nothing --to-earliest
--reset-offsets --all-groups --all-topics --to-latest
"""


@pytest.mark.compares
@pytest.mark.parametrize("line", LOOKING.strip().splitlines())
def test_the_group_tool_says_the_same(sides, line):
    ours, theirs = (side.says(*line.split()) for side in sides)
    assert ours == theirs
    assert theirs


CHANGING = """
--reset-offsets --group left --topic orders --to-latest --execute
--reset-offsets --group left --topic orders:0 --to-datetime 2023-11-14T22:13:25.000 --execute
--reset-offsets --group new --topic orders --to-earliest --execute
--reset-offsets --group left --topic orders:1 --from-file {plan} --execute
--reset-offsets --group left --from-file {plan} --execute
--reset-offsets --group classic --topic orders --to-earliest --execute
--reset-offsets --group consumer --topic orders --to-earliest --execute
--delete-offsets --group left --topic orders:0
--delete-offsets --group left --topic other
--delete-offsets --group left --topic nothing
--delete-offsets --group classic --topic orders
--delete-offsets --group classic --topic other
--delete-offsets --group none --topic orders
--delete --group left
--delete --group left
--delete --group new --group none
--delete --group classic
--delete --group consumer
--delete --all-groups
"""


@pytest.mark.compares
def test_the_group_tool_changes_the_same(sides, tmp_path):
    plan = tmp_path / "plan.csv"
    plan.write_text('"orders",0,7\n"orders",2,0\n')
    for line in CHANGING.strip().splitlines():
        ours, theirs = (side.says(*line.format(plan=plan).split()) for side in sides)
        assert ours == theirs, line
        for question in (
            ("--describe", "--all-groups", "--offsets"),
            ("--list", "--state"),
        ):
            ours, theirs = (side.says(*question) for side in sides)
            assert ours == theirs, f"after {line}: {set(ours) ^ set(theirs)}"

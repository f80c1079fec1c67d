"""Apache Kafka's ConsumerGroupCommand: for the same history it says the same of minikafka as of Apache Kafka.

What is a broker's own is replaced by a word: the ids it made, its port. Rows may come in any order.
"""

import re
from contextlib import ExitStack

import pytest

from minikafka.wire.messages import encode_versioned
from tests.clients.java_tools import JavaTools
from tests.clients.nodes import APACHE_KAFKA, MINIKAFKA, node, without_java
from tests.conformance.raw import Connection, batch

pytestmark = [pytest.mark.java, without_java]

COMMAND = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
PATIENT = {"group.initial.rebalance.delay.ms": "0", "group.consumer.session.timeout.ms": "3600000"}
UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Side:
    """One broker with the history, and the tool."""

    def __init__(self, kafka, java):
        self.kafka, self.java = kafka, java
        with Connection(kafka.bootstrap) as broker:
            make_history(broker)

    def says(self, *args):
        """What the tool says: its lines, sorted, without what is the broker's own and without the depth of a stack."""
        text = self.java.run(COMMAND, "--bootstrap-server", self.kafka.bootstrap, *args)
        port = self.kafka.bootstrap.rpartition(":")[2]
        lines = (" ".join(UUID.sub("(an id)", line.replace(port, "(port)")).split()) for line in text.splitlines())
        return sorted(line for line in lines if line and not line.startswith(("at ", "... ")))


def make_history(broker):
    broker.create_topic("orders", 3)
    broker.create_topic("other")
    for number in range(1, 10):
        at = {"timestamp": 1_700_000_000_000 + 1000 * number}
        assert broker.produce("orders", batch(b"a", b"b", **at), partition=0).error_code == 0
        assert broker.produce("orders", batch(b"c", **at), partition=1).error_code == 0
        assert broker.produce("other", batch(b"d", **at)).error_code == 0
    for group in ("tool", "classic", "consumer", "left"):
        while broker.ask("FindCoordinator", 3, key=group).error_code or broker.ask(
            "OffsetFetch", 7, group_id=group, topics=[]
        ).error_code:
            pass
    commit(broker, "tool", {"orders": {0: 5, 1: 9}, "other": {0: 2}})
    two_static_members(broker)
    two_consumer_members(broker)
    commit(broker, "left", {"orders": {2: 0}})


def commit(broker, group, offsets, member_id="", epoch=-1, instance=None):
    topics = [
        {"name": topic, "partitions": [
            {"partition_index": number, "committed_offset": offset, "committed_leader_epoch": 0,
             "committed_metadata": ""}
            for number, offset in partitions.items()
        ]}
        for topic, partitions in offsets.items()
    ]  # fmt: skip
    asked = {"group_id": group, "member_id": member_id, "generation_id_or_member_epoch": epoch, "topics": topics}
    asked["group_instance_id"] = instance
    for topic in broker.ask("OffsetCommit", 9, **asked).topics:
        assert {each.error_code for each in topic.partitions} == {0}


def two_static_members(broker):
    """A classic group in which one reads two partitions of orders, the other one."""
    subscription = encode_versioned("ConsumerProtocolSubscription", 1, {"topics": ["orders"]})
    shares = {"a": [0, 1], "b": [2]}

    def joining(instance, member_id=""):
        return {
            "group_id": "classic", "session_timeout_ms": 1_800_000, "rebalance_timeout_ms": 60_000,
            "member_id": member_id, "group_instance_id": instance, "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": subscription}],
        }  # fmt: skip

    first = broker.ask("JoinGroup", 5, **joining("a"))
    with Connection("{}:{}".format(*broker.socket.getpeername())) as other:
        other.send("JoinGroup", 5, **joining("b"))
        first_is = {"group_id": "classic", "member_id": first.member_id, "generation_id": 1}
        while broker.ask("Heartbeat", 1, **first_is).error_code == 0:
            pass
        joined = broker.ask("JoinGroup", 5, **joining("a", first.member_id))
        other.read("JoinGroup", 5)
    assignments = [
        {"member_id": each.member_id, "assignment": encode_versioned(
            "ConsumerProtocolAssignment", 1,
            {"assigned_partitions": [{"topic": "orders", "partitions": shares[each.group_instance_id]}]},
        )}
        for each in joined.members
    ]  # fmt: skip
    answer = broker.ask("SyncGroup", 3, **first_is | {"generation_id": 2, "group_instance_id": "a"},
                        assignments=assignments)  # fmt: skip
    assert answer.error_code == 0
    topics = {"orders": {0: 18, 1: 4}}
    commit(broker, "classic", topics, first.member_id, 2, "a")


def two_consumer_members(broker):
    """A KIP-848 group, reconciled: both members have what they are to have."""

    def beat(member_id, epoch, **more):
        asked = {"group_id": "consumer", "member_id": member_id, "member_epoch": epoch}
        answer = broker.ask("ConsumerGroupHeartbeat", 1, **asked | more)
        assert answer.error_code == 0, answer
        return answer

    joining = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": ["orders"], "topic_partitions": []}
    epochs, owned = {}, {"one": [], "two": []}
    for member_id in owned:
        epochs[member_id] = beat(member_id, 0, **joining).member_epoch
    while not (owned["one"] and owned["two"] and len({*epochs.values()}) == 1):
        for member_id in owned:
            answer = beat(member_id, epochs[member_id], topic_partitions=owned[member_id])
            epochs[member_id] = answer.member_epoch
            if answer.assignment is not None:
                owned[member_id] = [
                    {"topic_id": each.topic_id, "partitions": each.partitions}
                    for each in answer.assignment.topic_partitions
                ]
    commit(broker, "consumer", {"orders": {0: 1, 1: 2, 2: 0}}, "one", epochs["one"])


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    with ExitStack() as stack:
        java = stack.enter_context(JavaTools())
        yield [
            Side(stack.enter_context(node(kind, tmp_path_factory.mktemp("data"), PATIENT)), java)
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


def test_the_group_tool_changes_the_same(sides, tmp_path):
    plan = tmp_path / "plan.csv"
    plan.write_text('"orders",0,7\n"orders",2,0\n')
    for line in CHANGING.strip().splitlines():
        ours, theirs = (side.says(*line.format(plan=plan).split()) for side in sides)
        assert ours == theirs, line
        ours, theirs = (side.says("--describe", "--all-groups", "--offsets") for side in sides)
        assert ours == theirs, f"after {line}"
        assert sides[0].says("--list", "--state") == sides[1].says("--list", "--state"), f"after {line}"

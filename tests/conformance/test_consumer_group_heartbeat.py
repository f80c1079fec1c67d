"""ConsumerGroupHeartbeat (KIP-848), on minikafka and on Apache Kafka: same steps, same
epochs, same refusals.
"""

import time

import pytest

from tests.conformance.raw import Connection

pytestmark = pytest.mark.slow

PARTITIONS = 4


@pytest.fixture
def topic_id(broker, name):
    broker.create_topic(name, PARTITIONS)
    answer = broker.ask("Metadata", 12, topics=[{"name": name}])
    return answer.topics[0].topic_id


class Member:
    """Says exactly what a test lets it say."""

    def __init__(self, bootstrap, group, topic, topic_id, member_id, **fields):
        self.bootstrap, self.group, self.member_id, self.fields = (
            bootstrap,
            group,
            member_id,
            fields,
        )
        self.topic, self.topic_id = topic, topic_id

    def join(self, **fields):
        says = {
            "rebalance_timeout_ms": 60_000,
            "subscribed_topic_names": [self.topic],
            "topic_partitions": [],
        }
        return self.beat(0, **{**says, **fields})

    def beat(self, epoch, owned=None, **fields):
        if owned is not None:
            fields["topic_partitions"] = (
                [{"topic_id": self.topic_id, "partitions": owned}] if owned else []
            )
        with Connection(self.bootstrap) as connection:
            group = {
                "group_id": self.group,
                "member_id": self.member_id,
                "member_epoch": epoch,
                **self.fields,
                **fields,
            }
            return retried(lambda: connection.ask("ConsumerGroupHeartbeat", 1, **group))

    def until(self, wanted, epoch, **fields):
        """Heartbeats until an answer is as wanted: a new target may take a second
        (KIP-1263).
        """
        deadline = time.monotonic() + 120
        while not wanted(answer := self.beat(epoch, **fields)):
            assert time.monotonic() < deadline, f"still {answer}"
        return answer


def retried(ask):
    """While the coordinator is not there yet (14, 15, 16), ask again."""
    deadline = time.monotonic() + 60
    while (answer := ask()).error_code in (14, 15, 16) and time.monotonic() < deadline:
        pass
    return answer


@pytest.fixture
def group(bootstrap, broker, name):
    """Its coordinator is looked for first, which creates the topic of offsets."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        answer = broker.ask("FindCoordinator", 4, key_type=0, coordinator_keys=[name])
        if answer.coordinators[0].error_code == 0:
            return name
    raise AssertionError(f"no coordinator for {name}")


@pytest.fixture
def new(bootstrap, group, name, topic_id):
    """Makes members; coordinators know the topic by now, so that a scout gets its
    partitions.
    """
    for number in range(1000):
        scout = Member(bootstrap, f"{group}-scout-{number}", name, topic_id, "scout")
        found = scout.join().assignment.topic_partitions
        scout.beat(-1)
        if found:
            break
    return lambda member_id, **fields: Member(
        bootstrap, group, name, topic_id, member_id, **fields
    )


def shown(answer):
    """Error, epoch and partitions; None: the answer names none."""
    found = answer.assignment
    partitions = (
        None
        if found is None
        else sorted(
            each for topic in found.topic_partitions for each in topic.partitions
        )
    )
    return answer.error_code, answer.member_epoch, partitions


def test_kip_848_join_move_in_two_phases_and_leave(new):
    a, b = new("a"), new("b")
    assert shown(a.join()) == (0, 2, [0, 1, 2, 3])
    assert shown(a.beat(2, owned=[0, 1, 2, 3])) == (0, 2, None)
    joined = b.join()
    assert joined.assignment.topic_partitions == []
    asked = a.until(lambda answer: answer.assignment is not None, 2)
    assert shown(asked)[:2] == (0, 2) and len(shown(asked)[2]) == 2
    kept = shown(asked)[2]
    assert shown(b.beat(joined.member_epoch)) == (
        0,
        3,
        None,
    ), "a has not given up anything yet"
    assert shown(a.beat(2, owned=kept)) == (0, 3, None)
    given = b.until(lambda answer: answer.assignment is not None, 3)
    assert shown(given) == (0, 3, sorted({0, 1, 2, 3} - set(kept)))
    assert shown(b.beat(-1)) == (0, -1, None)
    assert shown(a.until(lambda answer: answer.assignment is not None, 3)) == (
        0,
        4,
        [0, 1, 2, 3],
    )


def test_kip_848_epochs_are_passes(new):
    a = new("a")
    a.join()
    assert a.beat(3).error_code == 110
    assert (
        "greater member epoch (3) than the one known by the group coordinator (2)"
        in a.beat(3).error_message
    )
    assert a.beat(1, owned=[0]).error_code == 110
    assert "smaller member epoch (1)" in a.beat(1, owned=[0]).error_message
    assert shown(a.join()) == (0, 2, [0, 1, 2, 3]), "epoch 0 is always accepted"
    assert a.beat(-1).error_code == 0
    assert a.beat(2).error_code == 25
    assert a.beat(2).error_message == f"Member a is not a member of group {a.group}."


def test_kip_345_static_members(new):
    a = new("a", instance_id="one")
    a.join()
    again = new("a2", instance_id="one")
    refused = again.join()
    assert refused.error_code == 111
    assert (
        refused.error_message
        == "Static member a2 with instance id one cannot join the group because the"
        " instance id is owned by a member."
    )
    assert shown(a.beat(-2)) == (0, -2, None)
    assert shown(again.join()) == (0, 2, [0, 1, 2, 3])
    fenced = a.beat(2)
    assert (fenced.error_code, fenced.error_message) == (
        82,
        "Static member a with instance id one was fenced by member a2.",
    )
    assert again.join().error_code == 111, (
        "not even the same process joins again without leaving first"
    )
    unknown = new("b", instance_id="two").beat(2)
    assert (unknown.error_code, unknown.error_message) == (
        25,
        "Instance id two is unknown.",
    )


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"member_id": ""}, 42, "MemberId can't be empty."),
        ({"instance_id": ""}, 42, "InstanceId can't be empty."),
        ({"rack_id": " "}, 42, "RackId can't be empty."),
        (
            {"rebalance_timeout_ms": -1},
            42,
            "RebalanceTimeoutMs must be provided in first request.",
        ),
        (
            {"topic_partitions": None},
            42,
            "TopicPartitions must be empty when (re-)joining.",
        ),
        (
            {"subscribed_topic_names": None},
            42,
            (
                "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null"
                " when (re-)joining."
            ),
        ),
        ({"member_epoch": -2}, 42, "InstanceId can't be null."),
        ({"member_epoch": -3}, 42, "MemberEpoch is invalid."),
        (
            {"server_assignor": "mine"},
            112,
            (
                "ServerAssignor mine is not supported. Supported assignors: uniform,"
                " range."
            ),
        ),
    ],
)
def test_kip_848_a_heartbeat_that_makes_no_sense_is_refused_in_the_same_words(
    new, fields, error, message
):
    answer = new("a").join(**fields)
    assert (answer.error_code, answer.error_message) == (error, message)


def test_kip_1082_before_version_1_the_coordinator_makes_the_member_id(
    bootstrap, group, name
):
    body = {
        "group_id": group,
        "rebalance_timeout_ms": 60_000,
        "subscribed_topic_names": [name],
        "topic_partitions": [],
    }
    with Connection(bootstrap) as connection:
        answer = retried(lambda: connection.ask("ConsumerGroupHeartbeat", 0, **body))
    assert (answer.error_code, len(answer.member_id)) == (0, 22)


def test_kip_848_a_group_that_is_not_there_has_no_members(new):
    answer = new("a").beat(3)
    assert answer.error_code == 69
    assert new("a").beat(-1).error_code == 69


def test_kip_848_describe_shows_what_a_member_has_and_is_to_have(
    new, broker, group, name
):
    a, b = new("a", server_assignor="range"), new("b", server_assignor="range")
    a.join()
    b.join()
    a.until(lambda answer: answer.assignment is not None, 2)
    found = broker.ask("ConsumerGroupDescribe", 1, group_ids=[group]).groups[0]
    assert (found.group_state, found.group_epoch, found.assignment_epoch) == (
        "Reconciling",
        3,
        3,
    )
    assert found.assignor_name == "range"
    mine = next(member for member in found.members if member.member_id == "a")
    assert (mine.member_epoch, mine.client_id, mine.subscribed_topic_names) == (
        2,
        "raw",
        [name],
    )
    assert (mine.member_type, mine.subscribed_topic_regex, mine.rack_id) == (
        1,
        "",
        None,
    )
    assert sorted(mine.assignment.topic_partitions[0].partitions) == [
        0,
        1,
        2,
        3,
    ], "until it has given them up"
    assert mine.target_assignment.topic_partitions[0].topic_name == name
    assert sorted(mine.target_assignment.topic_partitions[0].partitions) == [0, 1]

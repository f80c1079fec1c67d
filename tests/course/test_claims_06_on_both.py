"""What lesson 06 claims about rebalances, run on minikafka and on Apache Kafka over TCP."""

import pytest
from confluent_kafka import Consumer, KafkaException
from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

from tests.course.test_claims_05_on_both import Member, bootstrap, party, topic, write

__all__ = ["bootstrap", "party", "topic", "write"]  # fixtures


class Heard(ConsumerRebalanceListener):
    """Which partitions a member had to give back, and how often it heard of an assignment."""

    def __init__(self):
        self.revoked, self.assignments = [], 0

    def on_partitions_revoked(self, revoked):
        self.revoked += sorted(partition.partition for partition in revoked)

    def on_partitions_assigned(self, assigned):
        self.assignments += 1


@pytest.fixture
def join(party):
    """Lets a member join the group of a topic's name; its listener is its `heard`."""

    def start(name, **settings):
        defaults = {"group_id": name, "heartbeat_interval_ms": 500, "enable_auto_commit": False}
        consumer = KafkaConsumer(bootstrap_servers=party.bootstrap, **{**defaults, **settings})
        heard = Heard()
        consumer.subscribe([name], listener=heard)
        member = Member(party.changed, consumer)
        member.heard = heard
        party.members.append(member)
        member.start()
        return member

    return start


@pytest.mark.parametrize(
    ("assignor", "revoked"), [(RoundRobinPartitionAssignor, [0, 1, 2, 3]), (CooperativeStickyAssignor, 2)]
)
def test_kip_429_eager_members_give_everything_back_and_cooperative_ones_only_what_moves(
    topic, party, join, assignor, revoked
):
    name = topic(partitions=4)
    first = join(name, partition_assignment_strategy=[assignor])
    party.wait_until(lambda: first.share == [0, 1, 2, 3])
    second = join(name, partition_assignment_strategy=[assignor])
    party.wait_until(lambda: len(first.share) == len(second.share) == 2)
    given_back = first.heard.revoked
    assert given_back == revoked if isinstance(revoked, list) else len(given_back) == revoked


def test_kip_345_a_static_member_is_back_before_the_others_hear_of_it(topic, party, join):
    name = topic(partitions=4)
    others = join(name, group_instance_id="others", partition_assignment_strategy=[RangePartitionAssignor])
    party.wait_until(lambda: others.share == [0, 1, 2, 3])
    member = join(name, group_instance_id="one", partition_assignment_strategy=[RangePartitionAssignor])
    party.wait_until(lambda: len(member.share) == len(others.share) == 2)
    heard, share = others.heard.assignments, member.share
    member.leave()
    again = join(name, group_instance_id="one", partition_assignment_strategy=[RangePartitionAssignor])
    party.wait_until(lambda: again.share == share)
    assert others.heard.assignments == heard and others.heard.revoked == [0, 1, 2, 3]


def test_new_partitions_of_a_topic_make_a_group_rebalance(topic, party, join):
    name = topic(partitions=1)
    member = join(name, metadata_max_age_ms=500)
    party.wait_until(lambda: member.share == [0])
    topic.admin.create_partitions({name: 3})
    party.wait_until(lambda: member.share == [0, 1, 2])


def test_kip_848_the_coordinator_assigns_and_a_client_can_set_neither_assignor_nor_session(topic, party, bootstrap):
    name = topic(partitions=4)
    settings = {"bootstrap.servers": bootstrap, "group.id": name, "group.protocol": "consumer"}
    for classic in ({"session.timeout.ms": 6000}, {"partition.assignment.strategy": "range"}):
        with pytest.raises(KafkaException):
            Consumer(settings | classic)
    members = [Consumer(settings) for _ in range(2)]
    try:
        for member in members:
            member.subscribe([name])

        def shares():
            for member in members:
                member.poll(0.2)
            return [sorted(partition.partition for partition in member.assignment()) for member in members]

        found = next(each for each in iter(shares, None) if [len(share) for share in each] == [2, 2])
        assert sorted(found[0] + found[1]) == [0, 1, 2, 3]
    finally:
        for member in members:
            member.close()

"""What a program brings to its group: rebalance listeners, assignors of its own,
effects; and what it is told.
"""

import pytest

from minikafka.clients.errors import IllegalStateError, RebalanceInProgressError
from minikafka.clients.structs import TopicPartition
from minikafka.faults import Crash
from minikafka.simulation.cluster import Cluster
from minikafka.wire.errors import KafkaError
from tests.simulation.members import committed, kinds, member, reads, sent

FIRST = TopicPartition("orders", 0)


# listeners


class Saving:
    """Commits by itself before it gives partitions back, and starts where it likes."""

    def __init__(self, consumer, start_at=None):
        self.consumer, self.start_at, self.positions = consumer, start_at, []

    def on_partitions_revoked(self, partitions):
        self.positions.append(
            {each.partition: self.consumer.position(each) for each in partitions}
        )
        self.consumer.commit()

    def on_partitions_assigned(self, partitions):
        for each in partitions:
            if self.start_at is not None:
                self.consumer.seek(each, self.start_at)


def test_a_listener_may_commit_seek_and_ask_for_positions(cluster):
    consumer = member(cluster, enable_auto_commit=False)
    listener = Saving(consumer, start_at=8)
    consumer.subscribe(["orders"], listener=listener)
    cluster.start(reads, consumer)
    cluster.run(seconds=10)
    assert sorted(
        event.detail["records"][0][0] for event in kinds(cluster, "RecordsPolled")
    ) == [8, 8, 9, 9]
    cluster.start(reads, member(cluster, enable_auto_commit=False))
    cluster.run(seconds=10)
    assert listener.positions == [{0: 10, 1: 10}] and committed(cluster) == {
        0: 10,
        1: 10,
    }


def test_an_error_in_a_listener_is_the_programs_error(cluster):
    class Broken:
        def on_partitions_assigned(self, partitions):
            raise ZeroDivisionError("in my listener")

        on_partitions_revoked = on_partitions_assigned

    consumer = member(cluster)
    consumer.subscribe(["orders"], listener=Broken())
    cluster.start(reads, consumer)
    with pytest.raises(ZeroDivisionError, match="in my listener"):
        cluster.run(seconds=10)


def test_a_listener_cannot_poll(cluster):
    consumer = member(cluster)

    class Polling:
        def on_partitions_assigned(self, partitions):
            consumer.poll()

    consumer.subscribe(["orders"], listener=Polling())
    with pytest.raises(IllegalStateError, match="within poll"):
        consumer.poll(timeout_ms=10000)


def test_a_commit_in_the_middle_of_a_cooperative_rebalance_must_wait_for_a_poll(
    cluster,
):
    cooperative = {
        "partition_assignment_strategy": "cooperative-sticky",
        "enable_auto_commit": False,
    }
    first, second = member(cluster, **cooperative), member(cluster, **cooperative)
    first.poll(timeout_ms=10000)
    second.poll(timeout_ms=1000)
    cluster.run(seconds=4)
    sent(cluster, 2)
    first.poll(timeout_ms=1)
    assert first.core.membership.state in (
        "preparing_rebalance",
        "completing_rebalance",
    )
    with pytest.raises(RebalanceInProgressError):
        first.commit()


def test_a_paused_partition_stays_paused_while_it_stays_with_a_cooperative_member(
    cluster,
):
    consumer = member(cluster, partition_assignment_strategy="cooperative-sticky")
    consumer.poll(timeout_ms=10000)
    consumer.pause(*consumer.assignment())
    cluster.start(reads, consumer)
    cluster.start(
        reads, member(cluster, partition_assignment_strategy="cooperative-sticky")
    )
    cluster.run(seconds=20)
    assert (
        len(consumer.assignment()) == 1 and consumer.paused() == consumer.assignment()
    )


# assignors of one's own


def everything_to_the_first(members, partitions):
    everything = [
        (topic, number)
        for topic, count in partitions.items()
        for number in range(count)
    ]
    return {member: everything if member == min(members) else [] for member in members}


def test_an_assignor_may_be_the_learners_own_function(cluster):
    consumers = [
        member(cluster, partition_assignment_strategy=everything_to_the_first)
        for _ in range(2)
    ]
    for each in consumers:
        cluster.start(reads, each)
    cluster.run(seconds=10)
    assert [len(each.assignment()) for each in consumers] == [2, 0]
    assert cluster.group("billing").assignor == "everything_to_the_first"


def test_an_own_assignor_is_told_what_members_had(cluster):
    seen = []

    def stays(members, partitions):
        seen.append(sorted((each.generation, each.owned) for each in members.values()))
        return everything_to_the_first(members, partitions)

    cluster.start(reads, member(cluster, partition_assignment_strategy=stays))
    cluster.run(seconds=10)
    cluster.start(reads, member(cluster, partition_assignment_strategy=stays))
    cluster.run(seconds=10)
    assert seen == [[(-1, ())], [(-1, ()), (1, (("orders", 0), ("orders", 1)))]]


def test_an_error_in_an_own_assignor_is_the_programs_error_with_its_lines(cluster):
    def broken(members, partitions):
        return {member: partitions["payments"] for member in members}

    cluster.start(reads, member(cluster, partition_assignment_strategy=broken))
    with pytest.raises(KeyError, match="payments") as raised:
        cluster.run(seconds=10)
    assert any(line.name == "broken" for line in raised.traceback)


@pytest.mark.parametrize(
    "result",
    [
        None,
        [("orders", 0)],
        {"me": 5},
        {"me": [("orders",)]},
        {"me": [("orders", "x")]},
    ],
)
def test_what_is_no_assignment_is_a_type_error(cluster, result):
    consumer = member(
        cluster, partition_assignment_strategy=lambda members, partitions: result
    )
    with pytest.raises(TypeError, match="assignor <lambda> must"):
        consumer.poll(timeout_ms=10000)


def test_kafka_does_not_check_an_assignment_but_what_is_wrong_with_it_is_said(
    cluster, capsys
):
    def careless(members, partitions):
        return {
            **{member: [("orders", 0)] for member in members},
            "stranger": [("orders", 7)],
        }

    consumers = [
        member(cluster, partition_assignment_strategy=careless) for _ in range(2)
    ]
    for each in consumers:
        cluster.start(reads, each)
    cluster.run(seconds=10)
    assert [each.assignment() for each in consumers] == [{FIRST}, {FIRST}]
    said = capsys.readouterr().out
    assert "careless: orders-0 goes to two: consumer " in said
    assert (
        "careless: orders-1 goes to nobody" in said
        and "careless: stranger is no member of the group" in said
    )
    assert "careless: orders-7 does not exist" in said
    [ran] = kinds(cluster, "AssignorRan")
    assert len(ran.detail["problems"]) == 4


# around the group


def test_a_partition_that_is_added_is_shared_out_when_the_leader_sees_it(cluster):
    consumer = member(cluster, metadata_max_age_ms=5000)
    cluster.start(reads, consumer)
    cluster.run(seconds=10)
    cluster.create_partitions("orders", 4)
    cluster.run(seconds=10)
    assert len(consumer.assignment()) == 4


def test_a_change_of_topics_is_a_rebalance(cluster):
    cluster.create_topic("payments", partitions=2)
    consumer = member(cluster)
    consumer.poll(timeout_ms=10000)
    consumer.subscribe(["payments"])
    consumer.poll(timeout_ms=10000)
    assert consumer.assignment() == {
        TopicPartition("payments", 0),
        TopicPartition("payments", 1),
    }


def test_what_keeps_a_member_waiting_is_said(cluster, capsys):
    consumers = [member(cluster) for _ in range(3)]
    consumers[0].poll(timeout_ms=1000)
    assert "joining group billing, which takes some seconds" in capsys.readouterr().out
    consumers[0].poll(timeout_ms=5000)
    consumers[1].poll(timeout_ms=5000)
    assert "nobody polls consumer 1: poll them too" in capsys.readouterr().out
    for each in consumers:
        cluster.start(reads, each)
    cluster.run(seconds=10)
    assert "billing  Stable  consumer 3  none          0" in repr(cluster)


def test_groups_are_described_changed_and_deleted(cluster):
    consumer = member(cluster)
    consumer.poll(timeout_ms=10000)
    consumer.commit()
    assert "orders-0" in repr(cluster.group("billing")) and cluster.groups() == [
        "billing"
    ]
    with pytest.raises(KafkaError, match="did you mean 'billing'"):
        cluster.group("biling")
    with pytest.raises(KafkaError):
        cluster.alter_offsets("billing", {FIRST: 5})
    with pytest.raises(KafkaError):
        cluster.delete_group("billing")
    consumer.close()
    cluster.alter_offsets("billing", {FIRST: 5})
    assert cluster.lag("billing")[FIRST] == 5
    cluster.delete_group("billing")
    assert cluster.groups() == []
    cluster.alter_offsets("new", {FIRST: 2})
    assert cluster.consumer(group_id="new").committed(FIRST) == 2


@pytest.mark.slow
def test_effects_in_a_table_outlive_a_crash_wherever_it_strikes():
    def pay(consumer, payments):
        for record in consumer:
            if record not in payments:
                payments.add(record)
            consumer.commit()

    rows = []
    for call in range(1, 9):
        with Cluster(seed=7, faults=[Crash("pay", call=call)]) as cluster:
            sent(cluster, 3)
            payments = cluster.table("payments")
            program = cluster.start(
                pay, member(cluster, enable_auto_commit=False), payments
            )
            cluster.run(seconds=10)
            cluster.restart(program)
            cluster.run(seconds=60)
            rows.append(sorted(row.key for row in payments))
            assert len(kinds(cluster, "EffectWritten")) == 3
            assert sum(committed(cluster).values()) == 3
            again = cluster.replay()
            assert [each.to_json() for each in again.trace] == [
                each.to_json() for each in cluster.trace
            ]
            again.close()
    assert rows == [["k0", "k1", "k2"]] * 8

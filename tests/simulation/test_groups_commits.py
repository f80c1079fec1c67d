"""Committed offsets, rebalance listeners, assignors of one's own, tables: consumer groups as a program uses them."""

import pytest

from minikafka.clients.errors import (
    CommitFailedError,
    IllegalStateError,
    KafkaTimeoutError,
    RebalanceInProgressError,
)
from minikafka.clients.structs import OffsetAndMetadata, TopicPartition
from minikafka.faults import Crash, Lose
from minikafka.simulation.cluster import Cluster
from minikafka.wire.errors import KafkaError

FIRST = TopicPartition("orders", 0)


def sent(cluster, count=20, partitions=2):
    if "orders" not in cluster.topics():
        cluster.create_topic("orders", partitions=partitions)
    producer = cluster.producer()
    for n in range(count):
        producer.send("orders", key=f"k{n}", value=str(n), partition=n % cluster.partition_count("orders"))
    producer.flush()


@pytest.fixture
def cluster():
    with Cluster(seed=7) as made:
        sent(made)
        yield made


def member(cluster, **config):
    return cluster.consumer("orders", group_id="billing", **{"auto_offset_reset": "earliest", **config})


def reads(consumer):
    for _ in consumer:
        pass


def kinds(cluster, *wanted, node=None):
    return [event for event in cluster.trace if event.kind in wanted and (node is None or event.node == node)]


def committed(cluster):
    return {partition.partition: offset for partition, offset in cluster.committed_offsets("billing").items()}


# commits


def test_auto_commit_commits_what_earlier_polls_gave_and_not_what_this_one_gives(cluster):
    consumer = member(cluster, auto_commit_interval_ms=1000, max_poll_records=5)
    assert sum(map(len, consumer.poll(timeout_ms=10000).values())) == 5
    cluster.run(seconds=2)
    assert committed(cluster) == {}
    assert sum(map(len, consumer.poll(timeout_ms=1000).values())) == 5
    cluster.run(seconds=1)
    assert sum(committed(cluster).values()) == 5


def test_without_auto_commit_nothing_is_committed_and_all_is_read_again(cluster):
    for _ in range(2):
        consumer = member(cluster, enable_auto_commit=False)
        assert sum(map(len, consumer.poll(timeout_ms=10000).values())) == 20
        consumer.close()
    assert committed(cluster) == {}


def test_commit_waits_until_the_coordinator_has_it(cluster):
    consumer = member(cluster, enable_auto_commit=False)
    consumer.poll(timeout_ms=10000)
    consumer.commit()
    assert committed(cluster) == {0: 10, 1: 10}
    consumer.commit({FIRST: OffsetAndMetadata(3, "by hand")})
    assert consumer.committed(FIRST) == 3
    assert consumer.committed(FIRST, metadata=True) == OffsetAndMetadata(3, "by hand", -1)
    assert cluster.lag("billing") == {FIRST: 7, TopicPartition("orders", 1): 0}
    consumer.commit({})
    with pytest.raises(TypeError, match="OffsetAndMetadata"):
        consumer.commit({FIRST: 3})
    assert cluster.consumer(group_id="new").committed(FIRST) is None


def test_a_new_member_goes_on_where_the_group_has_committed(cluster):
    consumer = member(cluster)
    consumer.poll(timeout_ms=10000)
    consumer.close()
    sent(cluster, 4)
    again = member(cluster)
    assert [each.offset for records in again.poll(timeout_ms=10000).values() for each in records] == [10, 11, 10, 11]


def test_auto_offset_reset_counts_where_nothing_is_committed(cluster):
    consumer = member(cluster, auto_offset_reset="latest")
    assert consumer.poll(timeout_ms=10000) == {}
    assert consumer.position(FIRST) == 10
    whys = {event.detail["why"] for event in kinds(cluster, "PositionReset")}
    assert whys == {'auto_offset_reset is "latest"'}


def test_commit_async_calls_back_in_a_later_call(cluster):
    consumer, told = member(cluster, enable_auto_commit=False), []
    consumer.poll(timeout_ms=10000)
    future = consumer.commit_async(callback=lambda offsets, answer: told.append((offsets[FIRST].offset, answer)))
    cluster.run(seconds=1)
    assert future.succeeded() and told == [] and committed(cluster) == {0: 10, 1: 10}
    consumer.poll()
    assert told == [(10, True)]


def test_commit_async_is_tried_once_and_commit_again_and_again():
    with Cluster(seed=7, faults=[Lose("consumer 1", "broker 1", "OffsetCommit", times=2)]) as cluster:
        sent(cluster)
        consumer, told = member(cluster, enable_auto_commit=False), []
        consumer.poll(timeout_ms=10000)
        consumer.commit_async(callback=lambda _, answer: told.append(answer))
        cluster.run(seconds=1)
        consumer.poll()
        assert [type(each) for each in told] == [KafkaError] and told[0].error.retriable
        consumer.commit()
        assert committed(cluster) == {0: 10, 1: 10}
        assert [event.detail["how"] for event in kinds(cluster, "CommitSent")] == ["async", "sync", "sync"]
        assert len(kinds(cluster, "CommitFailed")) == 1


def test_commit_survives_a_restart_of_the_coordinator(cluster):
    consumer = member(cluster, enable_auto_commit=False)
    consumer.poll(timeout_ms=10000)
    cluster.crash(1)
    cluster.restart(1)
    consumer.commit()
    assert committed(cluster) == {0: 10, 1: 10}


def test_commit_gives_up_in_the_end(cluster):
    consumer = member(cluster, enable_auto_commit=False)
    consumer.poll(timeout_ms=10000)
    cluster.crash(1)
    with pytest.raises(KafkaTimeoutError):
        consumer.commit(timeout_ms=3000)


def test_a_member_that_was_put_out_cannot_commit(cluster):
    consumer = member(cluster, enable_auto_commit=False, max_poll_interval_ms=10000)
    consumer.poll(timeout_ms=10000)
    cluster.run(seconds=20)
    with pytest.raises(CommitFailedError, match="max_poll_interval_ms"):
        consumer.commit()
    assert committed(cluster) == {}


def test_a_frozen_members_late_commit_is_refused_by_the_coordinator(cluster):
    consumer = member(cluster, enable_auto_commit=False)
    consumer.poll(timeout_ms=10000)
    cluster.freeze(consumer)
    cluster.run(seconds=50)
    cluster.thaw(consumer)
    with pytest.raises(CommitFailedError):
        consumer.commit()
    assert committed(cluster) == {}


def test_a_consumer_that_assigns_its_partitions_commits_without_being_a_member(cluster):
    consumer = cluster.consumer(group_id="billing", auto_offset_reset="earliest")
    consumer.assign([FIRST])
    consumer.poll(timeout_ms=1000)
    consumer.close()
    assert committed(cluster) == {0: 10} and cluster.group("billing").members == []


def test_commits_need_a_group(cluster):
    consumer = cluster.consumer("orders")
    for call in (consumer.commit, consumer.commit_async, lambda: consumer.committed(FIRST)):
        with pytest.raises(IllegalStateError, match="needs a group"):
            call()


# listeners


class Saving:
    """Commits by itself before it gives partitions back, and starts where it likes."""

    def __init__(self, consumer, start_at=None):
        self.consumer, self.start_at, self.positions = consumer, start_at, []

    def on_partitions_revoked(self, partitions):
        self.positions.append({each.partition: self.consumer.position(each) for each in partitions})
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
    assert sorted(event.detail["records"][0][0] for event in kinds(cluster, "RecordsPolled")) == [8, 8, 9, 9]
    cluster.start(reads, member(cluster, enable_auto_commit=False))
    cluster.run(seconds=10)
    assert listener.positions == [{0: 10, 1: 10}] and committed(cluster) == {0: 10, 1: 10}


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


def test_a_commit_in_the_middle_of_a_cooperative_rebalance_must_wait_for_a_poll(cluster):
    cooperative = {"partition_assignment_strategy": "cooperative-sticky", "enable_auto_commit": False}
    first, second = member(cluster, **cooperative), member(cluster, **cooperative)
    first.poll(timeout_ms=10000)
    second.poll(timeout_ms=1000)
    cluster.run(seconds=4)
    sent(cluster, 2)
    first.poll(timeout_ms=1)
    assert first.core.membership.state in ("preparing_rebalance", "completing_rebalance")
    with pytest.raises(RebalanceInProgressError):
        first.commit()


def test_a_paused_partition_stays_paused_while_it_stays_with_a_cooperative_member(cluster):
    consumer = member(cluster, partition_assignment_strategy="cooperative-sticky")
    consumer.poll(timeout_ms=10000)
    consumer.pause(*consumer.assignment())
    cluster.start(reads, consumer)
    cluster.start(reads, member(cluster, partition_assignment_strategy="cooperative-sticky"))
    cluster.run(seconds=20)
    assert len(consumer.assignment()) == 1 and consumer.paused() == consumer.assignment()


# assignors of one's own


def everything_to_the_first(members, partitions):
    everything = [(topic, number) for topic, count in partitions.items() for number in range(count)]
    return {member: everything if member == min(members) else [] for member in members}


def test_an_assignor_may_be_the_learners_own_function(cluster):
    consumers = [member(cluster, partition_assignment_strategy=everything_to_the_first) for _ in range(2)]
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


@pytest.mark.parametrize("result", [None, [("orders", 0)], {"me": 5}, {"me": [("orders",)]}, {"me": [("orders", "x")]}])
def test_what_is_no_assignment_is_a_type_error(cluster, result):
    consumer = member(cluster, partition_assignment_strategy=lambda members, partitions: result)
    with pytest.raises(TypeError, match="assignor <lambda> must"):
        consumer.poll(timeout_ms=10000)


def test_kafka_does_not_check_an_assignment_but_what_is_wrong_with_it_is_said(cluster, capsys):
    def careless(members, partitions):
        return {**{member: [("orders", 0)] for member in members}, "stranger": [("orders", 7)]}

    consumers = [member(cluster, partition_assignment_strategy=careless) for _ in range(2)]
    for each in consumers:
        cluster.start(reads, each)
    cluster.run(seconds=10)
    assert [each.assignment() for each in consumers] == [{FIRST}, {FIRST}]
    said = capsys.readouterr().out
    assert "careless: orders-0 goes to two: consumer " in said
    assert "careless: orders-1 goes to nobody" in said and "careless: stranger is no member of the group" in said
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
    assert consumer.assignment() == {TopicPartition("payments", 0), TopicPartition("payments", 1)}


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
    assert "orders-0" in repr(cluster.group("billing")) and cluster.groups() == ["billing"]
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
            program = cluster.start(pay, member(cluster, enable_auto_commit=False), payments)
            cluster.run(seconds=10)
            cluster.restart(program)
            cluster.run(seconds=60)
            rows.append(sorted(row.key for row in payments))
            assert len(kinds(cluster, "EffectWritten")) == 3
            assert sum(committed(cluster).values()) == 3
            again = cluster.replay()
            assert [each.to_json() for each in again.trace] == [each.to_json() for each in cluster.trace]
            again.close()
    assert rows == [["k0", "k1", "k2"]] * 8

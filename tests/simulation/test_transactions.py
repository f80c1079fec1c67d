"""Transactional producers and readers of committed records on the virtual clock
(KIP-98, KIP-360, KIP-447).
"""

import pytest

from minikafka import Cluster
from minikafka.clients.errors import IllegalStateError, KafkaTimeoutError
from minikafka.clients.structs import OffsetAndMetadata, TopicPartition
from minikafka.faults import Lose
from minikafka.wire.errors import Error, KafkaError
from tests.simulation.replication_schedules import QUICK

COMMITTED = {"auto_offset_reset": "earliest", "isolation_level": "read_committed"}
OURS = {"transaction.state.log.num.partitions": 1, "offsets.topic.num.partitions": 1}


def made(**more):
    cluster = Cluster(seed=5, configs=OURS | more.pop("configs", {}), **more)
    cluster.create_topic("orders", partitions=2)
    return cluster


def transactional(cluster, name="pay", **config):
    producer = cluster.producer(transactional_id=name, **config)
    producer.init_transactions()
    return producer


def read(cluster, topic="orders", **config):
    """All values that a reader of committed records sees in one poll after the
    other.
    """
    consumer = cluster.consumer(topic, **COMMITTED | config)
    found = []
    for _ in range(4):
        for records in consumer.poll(timeout_ms=1000).values():
            found += [record.value.decode() for record in records]
    consumer.close()
    return sorted(found)


@pytest.mark.parametrize(
    ("ending", "seen"), [("commit_transaction", ["a", "b"]), ("abort_transaction", [])]
)
def test_a_transaction_over_two_partitions_is_read_whole_or_not_at_all(ending, seen):
    cluster = made()
    producer = transactional(cluster)
    producer.begin_transaction()
    for number, value in enumerate("ab"):
        producer.send("orders", value=value, partition=number)
    producer.flush()
    assert read(cluster) == []
    assert read(cluster, isolation_level="read_uncommitted") == ["a", "b"]
    getattr(producer, ending)()
    cluster.run(seconds=1)
    assert read(cluster) == seen


def test_transactions_of_one_producer_come_one_after_the_other():
    cluster = made()
    producer = transactional(cluster)
    for number in range(6):
        producer.begin_transaction()
        producer.send("orders", value=str(number), partition=0)
        (producer.abort_transaction if number % 2 else producer.commit_transaction)()
    cluster.run(seconds=1)
    assert read(cluster) == ["0", "2", "4"]


def test_a_zombie_is_fenced_and_none_of_its_records_is_read():
    cluster = made()
    old = transactional(cluster)
    old.begin_transaction()
    old.send("orders", value="zombie", partition=0)
    old.flush()
    new = transactional(cluster)
    with pytest.raises(KafkaError) as refused:
        old.commit_transaction()
    assert refused.value.error is Error.PRODUCER_FENCED
    with pytest.raises(KafkaError):
        old.begin_transaction()
    new.begin_transaction()
    new.send("orders", value="a", partition=0)
    new.commit_transaction()
    cluster.run(seconds=1)
    assert read(cluster) == ["a"]


def test_who_takes_too_long_is_aborted_by_the_coordinator():
    cluster = made()
    producer = transactional(cluster, transaction_timeout_ms=5000)
    producer.begin_transaction()
    producer.send("orders", value="slow", partition=0)
    producer.flush()
    cluster.run(seconds=20)
    with pytest.raises(KafkaError):
        producer.commit_transaction()
    [aborted] = [
        event
        for event in cluster.trace
        if event.detail.get("reason") == "transaction_timeout"
    ]
    assert 5000 <= aborted.at - cluster.trace[0].at <= 16_000
    assert read(cluster) == []


def test_offsets_in_a_transaction_count_if_it_does():
    cluster = made()
    source = TopicPartition("source", 0)
    cluster.create_topic("source")
    feeder = cluster.producer()
    for value in "ab":
        feeder.send("source", value=value).get()
    reader = cluster.consumer(
        "source",
        group_id="copy",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    records = []
    while len(records) < 2:
        records += [
            record
            for found in reader.poll(timeout_ms=1000).values()
            for record in found
        ]
    producer = transactional(cluster)
    for ending, committed in (("abort_transaction", None), ("commit_transaction", 2)):
        producer.begin_transaction()
        for record in records:
            producer.send("orders", value=record.value.decode() * 2, partition=0)
        producer.send_offsets_to_transaction(
            {source: OffsetAndMetadata(2, "")}, reader.group_metadata()
        )
        getattr(producer, ending)()
        cluster.run(seconds=1)
        assert reader.committed(source) == committed
    assert read(cluster) == ["aa", "bb"]


def test_kip_447_a_member_that_was_replaced_can_not_commit_its_offsets():
    cluster = made()
    cluster.create_topic("source")
    reader = cluster.consumer("source", group_id="copy", enable_auto_commit=False)
    reader.poll(timeout_ms=5000)
    who = reader.group_metadata()
    producer = transactional(cluster)
    producer.begin_transaction()
    offsets = {TopicPartition("source", 0): OffsetAndMetadata(1, "")}
    with pytest.raises(KafkaError) as refused:
        producer.send_offsets_to_transaction(
            offsets, who._replace(generation_id=who.generation_id + 7)
        )
    assert refused.value.error is Error.ILLEGAL_GENERATION
    with pytest.raises(KafkaError):
        producer.commit_transaction()
    producer.abort_transaction()
    producer.begin_transaction()
    producer.send_offsets_to_transaction(offsets, who)
    producer.commit_transaction()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_kip_447_a_member_that_was_put_out_is_known_by_its_last_generation_and_commits_nothing(
    protocol,
):
    cluster = made()
    cluster.create_topic("source")
    options = {
        "group_id": "copy",
        "group_protocol": protocol,
        "max_poll_interval_ms": 10_000,
    }
    reader = cluster.consumer("source", enable_auto_commit=False, **options)
    assert reader.group_metadata().generation_id == -1
    reader.poll(timeout_ms=5000)
    who = reader.group_metadata()
    producer = transactional(cluster)
    producer.begin_transaction()
    cluster.run(seconds=15)  # and polls too late
    assert reader.core.membership.identity[1] < 0 and reader.group_metadata() == who
    with pytest.raises(KafkaError) as refused:
        producer.send_offsets_to_transaction(
            {TopicPartition("source", 0): OffsetAndMetadata(1, "")}, who
        )
    assert refused.value.error is Error.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    "api", ["InitProducerId", "AddPartitionsToTxn", "Produce", "EndTxn"]
)
@pytest.mark.parametrize("answer", [True, False])
def test_a_lost_request_or_answer_is_repeated_and_nothing_is_written_twice(api, answer):
    cluster = made(faults=[Lose("producer 1", 1, api, answer=answer)])
    producer = transactional(cluster)
    for value in "ab":
        producer.begin_transaction()
        producer.send("orders", value=value, partition=0)
        producer.commit_transaction()
    cluster.run(seconds=1)
    assert read(cluster) == ["a", "b"]


def test_kip_360_after_a_record_that_was_given_up_the_next_transaction_has_a_new_epoch():
    cluster = made()
    producer = transactional(
        cluster, delivery_timeout_ms=2000, request_timeout_ms=500, linger_ms=0
    )
    producer.begin_transaction()
    producer.send("orders", value="a", partition=0).get()
    cluster.freeze(1)
    lost = producer.send("orders", value="b", partition=0)
    cluster.run(seconds=5)
    assert lost.failed()
    cluster.thaw(1)
    with pytest.raises(KafkaError, match="a record of the transaction failed"):
        producer.commit_transaction()
    epoch = producer.core.producer_epoch
    producer.abort_transaction()
    assert producer.core.producer_epoch > epoch
    producer.begin_transaction()
    producer.send("orders", value="c", partition=0)
    producer.commit_transaction()
    cluster.run(seconds=1)
    assert read(cluster) == ["c"]


def test_kip_890_a_late_record_of_an_aborted_transaction_counts_in_no_later_one():
    """Its producer gave it up while it was on its way."""
    cluster = Cluster(brokers=3, seed=0, configs=QUICK | OURS)
    cluster.create_topic(
        "orders", replication_factor=3, configs={"min.insync.replicas": 2}
    )
    producer = transactional(
        cluster, request_timeout_ms=1500, delivery_timeout_ms=2000, linger_ms=0
    )
    leader = cluster.leader("orders")
    assert leader != cluster.leader("__transaction_state")
    producer.begin_transaction()
    producer.send("orders", value="a", partition=0).get()
    cluster.cut(producer, leader)
    producer.send("orders", value="late", partition=0)
    cluster.run(seconds=3)
    producer.abort_transaction()
    cluster.run_ms(100)
    cluster.heal()
    cluster.run(seconds=1)
    producer.begin_transaction()
    producer.send("orders", value="b", partition=0)
    producer.commit_transaction()
    cluster.run(seconds=1)
    assert read(cluster) == ["b"]


def test_calls_come_in_their_order():
    cluster = made()
    with pytest.raises(IllegalStateError, match="transactional_id"):
        cluster.producer().begin_transaction()
    producer = cluster.producer(transactional_id="pay")
    with pytest.raises(IllegalStateError, match="init_transactions"):
        producer.begin_transaction()
    producer.init_transactions()
    with pytest.raises(IllegalStateError, match="begin_transaction"):
        producer.send("orders", value="a")
    with pytest.raises(IllegalStateError, match="begin_transaction"):
        producer.commit_transaction()
    producer.begin_transaction()
    with pytest.raises(IllegalStateError, match="is open"):
        producer.begin_transaction()
    producer.commit_transaction()
    with pytest.raises(ValueError, match="needs idempotence"):
        cluster.producer(transactional_id="pay", acks=1)


@pytest.mark.parametrize("moment", range(4))
def test_a_decided_transaction_survives_its_coordinator_and_the_leader_of_its_partition(
    moment,
):
    cluster = Cluster(brokers=3, seed=moment, configs=QUICK | OURS)
    cluster.create_topic(
        "orders", replication_factor=3, configs={"min.insync.replicas": 2}
    )
    producer = transactional(cluster, request_timeout_ms=3000)
    values = []
    for number in range(4):
        producer.begin_transaction()
        producer.send("orders", value=str(number), partition=0)
        victim = cluster.leader("__transaction_state" if moment % 2 else "orders")
        if number == 1 and moment < 2:
            cluster.crash(victim)
        producer.commit_transaction()
        values.append(str(number))
        if number == 1 and moment >= 2:
            cluster.crash(victim)
    cluster.run(seconds=10)
    assert read(cluster) == values


def test_kip_98_a_partition_joins_a_transaction_once():
    cluster = made()
    producer = transactional(cluster)
    for _ in range(2):
        producer.begin_transaction()
        for number in (0, 0, 1):
            producer.send("orders", value="a", partition=number)
        producer.commit_transaction()
    joins = [
        event
        for event in cluster.trace
        if event.kind == "TransactionStateChanged"
        and event.detail["reason"] == "partitions_join"
    ]
    asked = [
        event
        for event in cluster.trace
        if event.kind == "RequestSent" and event.detail["api"] == "AddPartitionsToTxn"
    ]
    assert [event.detail["partitions"] for event in joins] == 2 * [
        ["orders-0"],
        ["orders-0", "orders-1"],
    ]
    assert len(asked) == 4


def test_a_coordinator_tells_whom_it_fences():
    cluster = made()
    old, _ = transactional(cluster), transactional(cluster)
    old.begin_transaction()
    with pytest.raises(KafkaError):
        old.send("orders", value="a", partition=0).get()
    [fenced] = [
        event.detail for event in cluster.trace if event.kind == "ProducerFenced"
    ]
    assert (fenced["producer_epoch"], fenced["newest_epoch"]) == (0, 1)


@pytest.mark.parametrize(
    ("decided", "other", "seen"),
    [
        ("commit_transaction", "abort_transaction", ["a"]),
        ("abort_transaction", "commit_transaction", []),
    ],
)
def test_after_a_decision_that_timed_out_only_the_same_one_may_follow(
    decided, other, seen
):
    cluster = made(faults=[Lose("client", 1, "EndTxn", times=60, answer=True)])
    producer = transactional(cluster, client_id="client", max_block_ms=5000)
    producer.begin_transaction()
    producer.send("orders", value="a", partition=0)
    producer.flush()
    with pytest.raises(KafkaTimeoutError):
        getattr(producer, decided)()
    for call in (
        getattr(producer, other),
        lambda: producer.send("orders", value="b", partition=0),
        lambda: producer.send_offsets_to_transaction({}, "billing"),
    ):
        with pytest.raises(IllegalStateError, match=f"{decided}.. timed out"):
            call()
    getattr(producer, decided)()
    producer.begin_transaction()
    producer.abort_transaction()
    cluster.run(seconds=1)
    assert read(cluster) == seen


def test_a_record_too_large_for_the_producer_itself_fails_its_transaction():
    cluster = made()
    producer = transactional(cluster, max_request_size=500)
    producer.begin_transaction()
    producer.send("orders", value="a", partition=0)
    large = producer.send("orders", value="b" * 1000, partition=0)
    with pytest.raises(KafkaError) as refused:
        producer.commit_transaction()
    assert refused.value.error is Error.MESSAGE_TOO_LARGE and large.failed()
    producer.abort_transaction()
    producer.begin_transaction()
    producer.send("orders", value="c", partition=0)
    producer.commit_transaction()
    cluster.run(seconds=1)
    assert read(cluster) == ["c"]

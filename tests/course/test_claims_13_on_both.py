"""What lesson 13 claims about transactions, run on minikafka and on Apache Kafka over
TCP, with two clients.
"""

import time
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer
from kafka import KafkaConsumer, TopicPartition

from minikafka.wire.errors import Error
from tests.clients.brokers import until
from tests.conformance.raw import Connection
from tests.course.on_both import PATIENCE_SECONDS
from tests.kafka import java_tool

pytestmark = pytest.mark.slow

SHORT_S = 10  # a transaction's time-out
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"


@pytest.fixture
def transactional(bootstrap):
    """A producer with this transactional id, which it has said to its coordinator."""

    def make(name, **config):
        options = {
            "bootstrap.servers": bootstrap,
            "transactional.id": name,
            "log_level": 0,
        } | config
        producer = Producer(options)
        producer.init_transactions(PATIENCE_SECONDS)
        return producer

    return make


def sent(producer, topic, value, partition=0):
    """Its offset, when it is acknowledged."""
    told = []
    producer.produce(
        topic,
        value,
        partition=partition,
        on_delivery=lambda error, message: told.append(message),
    )
    assert producer.flush(PATIENCE_SECONDS) == 0
    return told[0].offset()


def end(bootstrap, topic, level, partition=0):
    """Where a reader of this isolation level must stop: the log's end, or the last
    stable offset.
    """
    partition = TopicPartition(topic, partition)
    with closing(
        KafkaConsumer(bootstrap_servers=bootstrap, isolation_level=level)
    ) as consumer:
        return consumer.end_offsets([partition])[partition]


def read(bootstrap, topic, level, partition=0):
    """[(offset, value)] up to that end."""
    at, found = TopicPartition(topic, partition), []
    options = {"auto_offset_reset": "earliest", "isolation_level": level}
    with closing(KafkaConsumer(bootstrap_servers=bootstrap, **options)) as consumer:
        consumer.assign([at])
        deadline, up_to = (
            time.monotonic() + PATIENCE_SECONDS,
            consumer.end_offsets([at])[at],
        )
        while consumer.position(at) < up_to:
            assert time.monotonic() < deadline
            for records in consumer.poll(timeout_ms=200).values():
                found += [(record.offset, record.value) for record in records]
    return found


def committed_up_to(bootstrap, topic, offset, partition=0):
    until(lambda: end(bootstrap, topic, "read_committed", partition) == offset)


def test_kip_98_an_aborted_record_and_its_marker_stay_in_the_log_and_take_offsets(
    bootstrap, topic, transactional
):
    name = topic()
    shop = transactional(name)
    shop.begin_transaction()
    assert sent(shop, name, b"20 euros") == 0
    shop.abort_transaction(PATIENCE_SECONDS)
    shop.begin_transaction()
    assert sent(shop, name, b"30 euros") == 2
    shop.commit_transaction(PATIENCE_SECONDS)
    committed_up_to(bootstrap, name, 4)
    assert read(bootstrap, name, "read_uncommitted") == [
        (0, b"20 euros"),
        (2, b"30 euros"),
    ]
    assert read(bootstrap, name, "read_committed") == [(2, b"30 euros")]


def test_kip_98_an_open_transaction_holds_back_the_records_of_others_on_its_partition(
    bootstrap, topic, write, transactional
):
    name = topic(partitions=2)
    shop = transactional(name)
    shop.begin_transaction()
    sent(shop, name, b"20 euros")
    assert [
        write(name, [b"5 euros"], partition=number)[0].offset for number in (0, 1)
    ] == [1, 0]
    assert (
        end(bootstrap, name, "read_uncommitted") == 2
        and end(bootstrap, name, "read_committed") == 0
    )
    assert read(bootstrap, name, "read_committed", 1) == [(0, b"5 euros")]
    shop.abort_transaction(PATIENCE_SECONDS)
    committed_up_to(bootstrap, name, 3)
    assert read(bootstrap, name, "read_committed") == [(1, b"5 euros")]


def test_kip_98_a_transaction_that_is_open_too_long_is_aborted_and_its_producer_fenced(
    bootstrap, topic, transactional
):
    name = topic()
    shop = transactional(
        name,
        **{
            "transaction.timeout.ms": SHORT_S * 1000,
            "message.timeout.ms": SHORT_S * 1000,
        },
    )
    shop.begin_transaction()
    sent(shop, name, b"20 euros")
    committed_up_to(bootstrap, name, 2)
    assert read(bootstrap, name, "read_committed") == []
    with pytest.raises(KafkaException):
        shop.commit_transaction(PATIENCE_SECONDS)


def test_kip_98_who_comes_with_a_transactional_id_fences_who_had_it(
    bootstrap, topic, transactional
):
    name = topic()
    first = transactional(name)
    first.begin_transaction()
    sent(first, name, b"20 euros")
    second = transactional(name)
    second.begin_transaction()
    assert sent(second, name, b"20 euros") == 2
    second.commit_transaction(PATIENCE_SECONDS)
    with pytest.raises(KafkaException):
        first.commit_transaction(PATIENCE_SECONDS)
    committed_up_to(bootstrap, name, 4)
    assert read(bootstrap, name, "read_committed") == [(2, b"20 euros")]


def tool(name, bootstrap, *args):
    """What a tool of Apache Kafka prints."""
    done = java_tool(name, "--bootstrap-server", bootstrap, *args)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rows(printed):
    """A tool's table, as dicts of its columns."""
    lines = [line.split() for line in printed.splitlines() if line.strip()]
    head = next(at for at, line in enumerate(lines) if len(line) > 3)
    return [dict(zip(lines[head], line, strict=False)) for line in lines[head + 1 :]]


@pytest.mark.java
def test_the_group_tool_counts_lag_up_to_the_high_watermark_over_an_open_transaction(
    bootstrap, topic, write, transactional
):
    """A read_committed reader stands before the transaction, and its lag grows. Its own
    end offset stops at the last stable offset.
    """
    name = topic()
    write(name, [b"5 euros"])
    auditor = KafkaConsumer(
        name,
        bootstrap_servers=bootstrap,
        group_id=name,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
    )
    with closing(auditor):
        until(lambda: auditor.poll(timeout_ms=500))
        shop = transactional(name)
        shop.begin_transaction()
        sent(shop, name, b"20 euros")
        write(name, [b"6 euros"] * 3)
        auditor.poll(timeout_ms=500)
        auditor.commit()
        [row] = rows(tool(GROUPS, bootstrap, "--describe", "--group", name))
        assert (row["CURRENT-OFFSET"], row["LOG-END-OFFSET"], row["LAG"]) == (
            "1",
            "5",
            "4",
        )
        assert end(bootstrap, name, "read_committed") == 1
    shop.abort_transaction(PATIENCE_SECONDS)


@pytest.mark.java
def test_kip_664_an_open_transaction_is_described_and_only_a_hanging_one_is_found(
    bootstrap, topic, transactional
):
    name = topic()
    shop = transactional(name)
    shop.begin_transaction()
    sent(shop, name, b"20 euros")
    described = "describe-producers", "--topic", name, "--partition", "0"
    [row] = rows(tool(TRANSACTIONS, bootstrap, *described))
    assert row["CurrentTransactionStartOffset"] == "0"
    [row] = rows(tool(TRANSACTIONS, bootstrap, "describe", "--transactional-id", name))
    assert row["TransactionState"] == "Ongoing"
    found = tool(
        TRANSACTIONS, bootstrap, "find-hanging", "--topic", name, "--partition", "0"
    )
    assert name not in found, "its coordinator knows it, so it doesn't hang"
    shop.abort_transaction(PATIENCE_SECONDS)


@pytest.mark.parametrize("commits", [True, False])
def test_kip_447_a_groups_offsets_count_if_the_transaction_does(
    bootstrap, topic, write, transactional, commits
):
    name, receipts = topic(), topic()
    write(name, [b"order"] * 2)
    from confluent_kafka import Consumer
    from confluent_kafka import TopicPartition as At

    options = {
        "bootstrap.servers": bootstrap,
        "group.id": name,
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(options | {"enable.auto.commit": False})
    consumer.subscribe([name])
    seen = []
    until(
        lambda: (
            seen.append(consumer.poll(1)) or sum(each is not None for each in seen) == 2
        )
    )
    shop = transactional(name)
    shop.begin_transaction()
    sent(shop, receipts, b"receipt")
    shop.send_offsets_to_transaction(
        [At(name, 0, 2)], consumer.consumer_group_metadata(), PATIENCE_SECONDS
    )
    (shop.commit_transaction if commits else shop.abort_transaction)(PATIENCE_SECONDS)
    committed_up_to(bootstrap, receipts, 2)
    topics = [{"name": name, "partition_indexes": [0]}]
    with Connection(bootstrap) as broker:

        def committed():
            [found] = broker.ask(
                "OffsetFetch", 7, group_id=name, topics=topics, require_stable=True
            ).topics
            return found.partitions[0]

        until(lambda: committed().error_code != Error.UNSTABLE_OFFSET_COMMIT)
        assert committed().committed_offset == (2 if commits else -1)
    assert read(bootstrap, receipts, "read_committed") == [(0, b"receipt")] * commits
    consumer.close()


@pytest.mark.java
def test_kip_1050_a_record_that_is_too_large_is_aborted_each_time_and_fenced_producers_are_made_anew(
    bootstrap, topic
):
    """Java's classes say the kind. After an old epoch, the abort says whether another
    producer has the name.
    """
    name = topic(max_message_bytes=1000)
    sizes = map(str, (1, 5000, 5000, 1))
    program = str(Path(__file__).with_name("TooLarge.java"))
    done = java_tool(program, bootstrap, name, *sizes)
    too_large = "RecordTooLargeException, ApiException: aborted"
    old_epoch = "InvalidProducerEpochException, ApplicationRecoverableException"
    assert done.stdout.splitlines() == [
        "committed",
        too_large,
        too_large,
        "committed",
        f"{old_epoch}: can't be aborted, ProducerFencedException",
        f"{old_epoch}: aborted",
        "committed",
    ]

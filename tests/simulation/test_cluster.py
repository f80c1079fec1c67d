"""Cluster, as a notebook uses it: kafka-python's calls on a virtual clock."""

import pytest

from minikafka.clients.errors import (
    IllegalStateError,
    KafkaTimeoutError,
    NoOffsetForPartitionError,
)
from minikafka.clients.structs import TopicPartition
from minikafka.simulation.cluster import Cluster
from minikafka.wire.errors import Error, KafkaError

ORDERS = TopicPartition("orders", 0)


@pytest.fixture
def cluster():
    with Cluster(brokers=1, seed=7) as made:
        made.create_topic("orders", partitions=3)
        yield made


def values(records):
    return [record.value.decode() for record in records]


def polled(consumer, timeout_ms=1000):
    return [
        record
        for records in consumer.poll(timeout_ms=timeout_ms).values()
        for record in records
    ]


def one_partition(cluster, *sent, **config):
    cluster.create_topic("log")
    producer = cluster.producer(**config)
    for value in sent:
        producer.send("log", value=value)
    producer.flush()
    return producer


# sending and reading


def test_what_is_sent_is_read_through_real_frames(cluster):
    producer = cluster.producer(acks="all")
    sent = producer.send(
        "orders", key="alice", value="paid", headers=[("source", b"shop")]
    )
    cluster.run(seconds=1)
    metadata = sent.get()
    assert (metadata.topic, metadata.partition, metadata.offset) == ("orders", 0, 0)
    consumer = cluster.consumer("orders", auto_offset_reset="earliest")
    [record] = consumer.poll(timeout_ms=1000)[ORDERS]
    assert (record.key, record.value, record.headers, record.offset) == (
        b"alice",
        b"paid",
        [("source", b"shop")],
        0,
    )
    assert record.timestamp == metadata.timestamp == 1_767_225_600_000 + 16
    assert str(record) == "orders-0 offset 0  alice: paid"


def test_text_dicts_and_bytes_are_taken_as_keys_and_values(cluster):
    one_partition(cluster, "é", {"total": 3}, b"\xff", None, 5)
    assert [record.value for record in cluster.records("log")] == [
        b"\xc3\xa9",
        b'{"total": 3}',
        b"\xff",
        None,
        b"5",
    ]
    with pytest.raises(TypeError, match="a set can't be a key or value"):
        cluster.producer().send("log", value={1})


def test_serializers_and_deserializers_work_as_in_kafka_python(cluster):
    import json

    one_partition(
        cluster, {"n": 1}, value_serializer=lambda value: json.dumps(value).encode()
    )
    consumer = cluster.consumer(
        "log", auto_offset_reset="earliest", value_deserializer=json.loads
    )
    assert [record.value for record in polled(consumer)] == [{"n": 1}]


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches_come_back_whole(cluster, compression):
    one_partition(
        cluster, *(f"value {n}" for n in range(50)), compression_type=compression
    )
    consumer = cluster.consumer("log", auto_offset_reset="earliest")
    assert values(polled(consumer)) == [f"value {n}" for n in range(50)]


def test_nothing_leaves_the_producer_before_linger_ms_or_a_full_batch(cluster):
    producer = one_partition(cluster, "first", linger_ms=1000, batch_size=200)
    producer.send("log", value="waits")
    cluster.run(seconds=0.9)
    assert (
        values(cluster.records("log")) == ["first"]
        and repr(producer) == "<producer 1: up, 1 record waiting>"
    )
    cluster.run(seconds=0.2)
    assert values(cluster.records("log")) == ["first", "waits"]
    producer.send("log", value="x" * 300)  # alone in its batch, which isn't full
    cluster.run(seconds=0.1)
    assert len(cluster.records("log")) == 2
    producer.send("log", value="y")  # doesn't fit
    cluster.run(seconds=0.1)
    assert len(cluster.records("log")) == 3


def test_records_sent_together_travel_in_one_batch(cluster):
    one_partition(cluster, *"abcdef")
    appended = [
        event.detail for event in cluster.trace if event.kind == "RecordsAppended"
    ]
    batches = [
        (each["base_offset"], each["last_offset"])
        for each in appended
        if each["topic"] == "log"
    ]
    assert batches == [(0, 5)]


def test_acks_0_gets_no_answer_and_no_offset(cluster):
    cluster.create_topic("log")
    producer = cluster.producer(acks=0)
    sent = [producer.send("log", value=str(n)) for n in range(3)]
    producer.flush()
    assert [each.get().offset for each in sent] == [-1, -1, -1]
    cluster.run(seconds=0.1)
    assert len(cluster.records("log")) == 3


def test_a_future_lets_time_pass_until_the_acknowledgement(cluster):
    before = cluster.now_ms
    told = []
    future = cluster.producer().send("orders", value="x").add_callback(told.append)
    assert not future.is_done
    assert future.get(timeout=10).offset == 0 and told == [future.value]
    assert cluster.now_ms > before


def test_a_given_partition_is_used_and_a_wrong_one_refused_at_once(cluster):
    producer = cluster.producer()
    assert producer.send("orders", value="x", partition=2).get().partition == 2
    with pytest.raises(
        ValueError, match="orders has no partition 3: its partitions are 0 to 2"
    ):
        producer.send("orders", value="x", partition=3)


def test_an_unknown_topic_is_created_when_it_is_used_as_in_kafka(cluster):
    assert cluster.producer().send("new", value="x").get().topic == "new"
    assert cluster.topics() == ["new", "orders"]


def test_a_poll_of_a_topic_that_is_not_there_says_so(capsys):
    cluster = Cluster(seed=7, configs={"auto.create.topics.enable": "false"})
    assert cluster.consumer("ordesr").poll(timeout_ms=1000) == {}
    assert capsys.readouterr().out == "there is no topic ordesr\n"


def test_a_typing_error_in_a_config_is_told_at_the_start():
    with pytest.raises(KafkaError, match=r"Unknown .* name: num\.partitons"):
        Cluster(seed=7, configs={"num.partitons": 3})


def test_without_auto_create_sending_fails_after_max_block_ms():
    cluster = Cluster(seed=7, configs={"auto.create.topics.enable": "false"})
    future = cluster.producer(max_block_ms=2000).send("new", value="x")
    assert cluster.now_ms >= 2000
    with pytest.raises(
        KafkaTimeoutError,
        match=r"no metadata for topic 'new' within max_block_ms \(2 s\)",
    ):
        future.get()


def test_a_record_too_large_for_the_broker_fails_and_the_producer_goes_on(cluster):
    cluster.create_topic("small", configs={"max.message.bytes": 1000})
    producer = cluster.producer()
    failed = producer.send("small", value="x" * 2000)
    fine = producer.send("orders", value="x")
    producer.flush()
    with pytest.raises(KafkaError) as caught:
        failed.get()
    assert caught.value.error is Error.MESSAGE_TOO_LARGE and fine.succeeded()
    assert producer.send("small", value="y").get().offset == 0


def test_kip_360_after_a_failed_batch_an_idempotent_producer_numbers_from_zero_in_the_next_epoch(
    cluster,
):
    cluster.create_topic("small", configs={"max.message.bytes": 1000})
    producer = cluster.producer()
    assert producer.send("small", value="x").get().offset == 0
    assert (
        producer.send("small", value="x" * 2000).add_errback(lambda _: None)
        and producer.flush() is None
    )
    assert producer.send("small", value="y").get().offset == 1
    assert (producer.core.producer_id, producer.core.producer_epoch) == (0, 1)


def test_a_full_buffer_makes_send_wait(cluster):
    producer = cluster.producer(buffer_memory=40_000, linger_ms=100)
    before = cluster.now_ms
    for _ in range(100):
        producer.send("orders", key="k", value="x" * 1000)
    assert cluster.now_ms > before + 5
    producer.flush()
    assert len(cluster.records("orders")) == 100


def test_close_sends_what_is_left_and_then_refuses(cluster):
    producer = cluster.producer(linger_ms=60_000)
    sent = producer.send("orders", value="x")
    producer.close()
    assert sent.get().offset == 0
    with pytest.raises(IllegalStateError, match="producer 1 is closed"):
        producer.send("orders", value="y")


# positions


def test_a_consumer_begins_at_the_end_as_it_is_at_its_first_poll(cluster, capsys):
    one_partition(cluster, "old")
    consumer = cluster.consumer("log")
    cluster.producer().send("log", value="sent before the first poll").get()
    assert consumer.poll(timeout_ms=100) == {}
    hint = (
        'began at the end (auto_offset_reset is "latest", Kafka\'s default) and skipped'
        " 2 records"
    )
    assert capsys.readouterr().out == ""
    assert consumer.poll(timeout_ms=100) == {}
    assert hint in capsys.readouterr().out
    cluster.producer().send("log", value="new").get()
    assert values(polled(consumer)) == ["new"]


def test_auto_offset_reset_none_raises(cluster):
    consumer = cluster.consumer("orders", auto_offset_reset="none")
    with pytest.raises(KafkaError, match=r"there is no position for orders-0"):
        consumer.poll(timeout_ms=100)


def test_seek_reads_on_from_an_offset_also_inside_a_batch(cluster):
    one_partition(cluster, *"abcdef")
    consumer = cluster.consumer("log", auto_offset_reset="earliest")
    assert values(polled(consumer)) == list("abcdef")
    consumer.seek(TopicPartition("log", 0), 4)
    assert consumer.position(("log", 0)) == 4
    assert values(polled(consumer)) == ["e", "f"]
    consumer.seek_to_beginning()
    assert values(polled(consumer)) == list("abcdef")
    consumer.seek_to_end()
    assert consumer.position(("log", 0)) == 6


def test_seek_before_the_first_poll_needs_no_reset(cluster):
    one_partition(cluster, *"abc")
    consumer = cluster.consumer()
    consumer.assign([TopicPartition("log", 0)])
    consumer.seek(("log", 0), 2)
    assert values(polled(consumer)) == ["c"]
    assert not any(event.kind == "PositionReset" for event in cluster.trace)


def test_an_offset_out_of_range_is_reset_as_configured(cluster):
    one_partition(cluster, *"abc")
    cluster.delete_records("log", 0, 2)
    consumer = cluster.consumer("log", auto_offset_reset="earliest")
    consumer.seek(("log", 0), 1)
    assert values(polled(consumer)) == ["c"]
    [reset] = [
        event.detail["reason"]
        for event in cluster.trace
        if event.kind == "PositionReset"
    ]
    assert reset == "out_of_range"
    strict = cluster.consumer("log", auto_offset_reset="none")
    strict.seek(("log", 0), 1)
    with pytest.raises(KafkaError) as caught:
        strict.poll(timeout_ms=1000)
    assert caught.value.error is Error.OFFSET_OUT_OF_RANGE


def test_max_poll_records_bounds_a_poll_and_loses_nothing(cluster):
    one_partition(cluster, *(str(n) for n in range(25)))
    consumer = cluster.consumer(
        "log", auto_offset_reset="earliest", max_poll_records=10
    )
    assert [len(polled(consumer)) for _ in range(3)] == [10, 10, 5]
    assert consumer.position(("log", 0)) == 25


def test_a_paused_partition_gives_nothing_until_it_is_resumed(cluster, capsys):
    one_partition(cluster, "a")
    consumer = cluster.consumer("log", auto_offset_reset="earliest")
    consumer.pause(("log", 0))
    assert consumer.poll(timeout_ms=1000) == {} and consumer.paused() == {("log", 0)}
    assert "consumer 1 has paused all its partitions" in capsys.readouterr().out
    consumer.resume(("log", 0))
    assert values(polled(consumer)) == ["a"]


def test_offsets_are_found_by_time(cluster):
    cluster.create_topic("log")
    producer = cluster.producer()
    for timestamp in (1000, 2000, 3000):
        producer.send("log", value="x", timestamp_ms=timestamp)
    producer.flush()
    consumer = cluster.consumer("log")
    log = TopicPartition("log", 0)
    assert consumer.beginning_offsets([log]) == {log: 0} and consumer.end_offsets(
        [log]
    ) == {log: 3}
    found = consumer.offsets_for_times({log: 1500})[log]
    assert (found.offset, found.timestamp) == (1, 2000)
    assert consumer.offsets_for_times({log: 9000}) == {log: None}
    told = [
        (event.detail["timestamp"], event.detail["offset"])
        for event in cluster.trace
        if event.kind == "OffsetFound"
    ]
    assert told == [(1500, 1), (9000, -1)]


def test_a_consumer_finds_partitions_that_were_added_when_it_reads_the_metadata_again(
    cluster,
):
    consumer = cluster.consumer(
        "log", auto_offset_reset="earliest", metadata_max_age_ms=10_000
    )
    one_partition(cluster, "a")
    assert values(polled(consumer)) == ["a"]
    cluster.create_partitions("log", 2)
    cluster.producer().send("log", value="b", partition=1).get()
    assert values(polled(consumer, timeout_ms=1000)) == []
    assert values(polled(consumer, timeout_ms=12_000)) == ["b"]


def test_iterating_at_top_level_ends_after_60_virtual_seconds_and_says_so(
    cluster, capsys
):
    one_partition(cluster, "a", "b")
    began = cluster.now_ms
    found = [
        record.value for record in cluster.consumer("log", auto_offset_reset="earliest")
    ]
    assert found == [b"a", b"b"] and 60_000 <= cluster.now_ms - began < 61_000
    assert (
        capsys.readouterr().out
        == "consumer 1: no record for 60 virtual seconds, so the loop ends here.\n"
    )


def test_lesson_00_a_key_moves_when_a_partition_is_added_and_the_producer_has_learned_of_it(
    cluster,
):
    producer = cluster.producer()
    producer.send("orders", key="alice", value="created")
    cluster.run(seconds=1)
    cluster.create_partitions("orders", 4)
    producer.send("orders", key="alice", value="an address").get()
    cluster.run(seconds=300)  # metadata.max.age.ms
    producer.send("orders", key="alice", value="paid").get()
    events = [
        event.detail for event in cluster.trace if event.kind == "PartitionChosen"
    ]
    chosen = [(each["value"], each["partition"], each["partitions"]) for each in events]
    assert chosen == [("created", 0, 3), ("an address", 0, 3), ("paid", 1, 4)]


# topics


def test_topics_are_looked_at_without_time_passing(cluster):
    one_partition(cluster, "a", "b")
    before, events = cluster.now_ms, len(cluster.trace)
    assert cluster.leader("log", 0) == 1 and values(cluster.records("log", 0)) == [
        "a",
        "b",
    ]
    assert cluster.partition_count("orders") == 3 and "log" in repr(cluster)
    assert (cluster.now_ms, len(cluster.trace)) == (before, events)


def test_a_mistake_gets_the_brokers_words_and_the_nearest_name(cluster):
    with pytest.raises(KafkaError) as caught:
        cluster.create_topic("orders")
    assert caught.value.error is Error.TOPIC_ALREADY_EXISTS
    with pytest.raises(
        KafkaError, match="there is no topic 'order'; did you mean 'orders'"
    ):
        cluster.records("order")
    with pytest.raises(KafkaError, match="orders has partitions 0 to 2, no 3"):
        cluster.leader("orders", 3)
    with pytest.raises(
        TypeError, match=r"a producer has no config 'linger.m'; did you mean linger_ms"
    ):
        cluster.producer(**{"linger.m": 3})
    with pytest.raises(ValueError, match="give 0, 1 or"):
        cluster.producer(acks=2)
    with pytest.raises(
        ValueError, match="'consumer 7' is not here; there are broker 1"
    ):
        cluster.crash("consumer 7")


def test_an_isolation_level_that_there_is_not_is_refused_in_one_line(cluster):
    with pytest.raises(
        ValueError,
        match=(
            "isolation_level='committed': give one of read_uncommitted, read_committed"
        ),
    ):
        cluster.consumer("orders", isolation_level="committed")


def test_topics_can_be_deleted_and_configured(cluster):
    one_partition(cluster, "a", "b")
    assert cluster.delete_records("log", 0, -1) == 2 and cluster.records("log") == []
    cluster.alter_configs("log", {"retention.ms": 1000})
    with pytest.raises(KafkaError):
        cluster.alter_configs("log", {"retention.mss": 1000})
    cluster.delete_topic("log")
    assert cluster.topics() == ["orders"]


def test_a_forgotten_run_is_said_where_it_is_noticed(cluster, capsys):
    one_partition(cluster, "a")
    producer = cluster.producer(linger_ms=5000)
    consumer = cluster.consumer("log")
    consumer.poll(timeout_ms=1000)
    capsys.readouterr()
    for _ in range(3):
        producer.send("log", value="x")
    assert consumer.poll() == {}
    line = "3 records wait in producer 2: cluster.run(seconds=1)"
    assert line in capsys.readouterr().out and repr(cluster).endswith(line)


def test_the_cluster_prints_as_a_small_table(cluster):
    producer = cluster.producer()
    producer.send("orders", key="alice", value="paid").get()
    assert repr(cluster).splitlines()[1:] == [
        "broker  state",
        "     1  up",
        "",
        "topic   partition  leader  first offset  next offset",
        "orders          0       1             0            1",
        "orders          1       1             0            0",
        "orders          2       1             0            0",
        "",
        "client or program  state",
        "producer 1         up",
    ]


def test_run_until_waits_for_a_condition_and_says_when_it_never_comes(cluster):
    producer = cluster.producer()
    sent = producer.send("orders", value="x")
    cluster.run_until(lambda: sent.is_done)
    assert sent.succeeded()
    with pytest.raises(
        KafkaTimeoutError, match="did not come true within 2 virtual seconds"
    ):
        cluster.run_until(lambda: False, seconds=2)


def test_seek_gives_a_position_where_auto_offset_reset_is_none(cluster):
    cluster.create_topic("bills")
    cluster.producer().send("bills", value="paid").get()
    consumer = cluster.consumer("bills", auto_offset_reset="none")
    with pytest.raises(NoOffsetForPartitionError):
        consumer.poll(timeout_ms=1000)
    consumer.seek(TopicPartition("bills", 0), 0)
    assert values(polled(consumer)) == ["paid"]

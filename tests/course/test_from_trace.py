"""What lessons ask of a trace."""

import pytest

from minikafka import Cluster
from minikafka.clients.structs import TopicPartition
from minikafka.course.experiments import (
    from_trace,
    lesson_01_answers,
    lesson_02_answers,
    lesson_05_runs,
    lesson_07_runs,
)
from minikafka.course.experiments.lesson_05_runs import start_members


def grown():
    """alice goes from partition 1 to 0 when a third partition is added; carol stays in
    2; a reader reads it all.
    """
    cluster = Cluster(seed=7)
    cluster.create_topic("orders", partitions=2)
    shop = cluster.producer(client_id="shop")
    shop.send("orders", key="alice", value="created")
    cluster.run(seconds=1)
    cluster.create_partitions("orders", 3)
    cluster.run(seconds=300)
    shop.send("orders", key="alice", value="paid")
    cluster.producer(client_id="web").send("orders", key="carol", value="asked")
    cluster.run(seconds=1)
    cluster.consumer("orders", auto_offset_reset="earliest").poll(timeout_ms=1000)
    return cluster.trace


def test_the_order_in_which_values_were_read():
    assert from_trace.values_read(grown()) == "paid, then created, then asked"


def test_the_offsets_that_were_read_by_all_or_by_one():
    trace = grown()
    reader = next(event.node for event in trace if event.kind == "RecordsPolled")
    assert (
        lesson_01_answers.offsets_read(trace)
        == lesson_01_answers.offsets_read(trace, reader)
        == [0, 0, 0]
    )
    assert lesson_01_answers.offsets_read(trace, "nobody") == []


def test_how_many_a_reader_got_is_known_once_it_has_a_position():
    cluster = Cluster(seed=7)
    cluster.create_topic("orders")
    cluster.producer().send("orders", value="order 0")
    cluster.run(seconds=1)
    for name, reset, found in (
        ("audit", "latest", "0 orders"),
        ("billing", "earliest", "1 order"),
    ):
        assert lesson_01_answers.orders_of(name)(cluster.trace) is None
        cluster.consumer("orders", auto_offset_reset=reset, client_id=name).poll(
            timeout_ms=1000
        )
        assert lesson_01_answers.orders_of(name)(cluster.trace) == found


def test_what_retention_and_a_broker_decide_are_conditions_on_events():
    cluster = Cluster(seed=7)
    cluster.create_topic("orders")
    producer = cluster.producer()
    for _ in range(3):
        producer.send("orders", value="created").get()
    consumer = cluster.consumer("orders", auto_offset_reset="earliest")
    consumer.poll(timeout_ms=1000)
    cluster.delete_records("orders", 0, 2)
    consumer.seek(TopicPartition("orders", 0), 1)
    consumer.poll(timeout_ms=1000)
    assert [
        event.detail["log_start_offset"]
        for event in filter(lesson_01_answers.retention_decides, cluster.trace)
    ] == [2]
    assert [
        event.kind
        for event in filter(lesson_01_answers.answered_from(1), cluster.trace)
    ] == ["FetchRefused"]
    assert [
        event.kind
        for event in filter(lesson_01_answers.answered_from(2), cluster.trace)
    ] == ["RecordsFetched"]


def test_the_partitions_that_producers_chose():
    trace = grown()
    assert lesson_02_answers.partitions_chosen(trace, producer="shop") == [
        ("alice", 1),
        ("alice", 0),
    ]
    assert lesson_02_answers.keys_that_moved(trace) == ["alice"]
    assert lesson_02_answers.records_in_each(trace, 4) == [1, 1, 1, 0]
    assert (
        lesson_02_answers.partitions_used(trace),
        lesson_02_answers.partitions_used(trace, key="alice"),
    ) == (3, 2)
    (event,) = filter(from_trace.chosen_for("paid"), trace)
    assert (event.node, event.detail["partition"]) == ("shop", 0)
    assert [
        from_trace.partition_for(value)(trace) for value in ("created", "paid", "asked")
    ] == [2, 1, 3]


@pytest.mark.parametrize(
    ("protocol", "found"),
    [
        ("classic", "one of the two consumers"),
        ("consumer", "the coordinator, a broker"),
    ],
)
def test_kip_848_moves_the_decision_who_reads_what_from_a_member_to_the_coordinator(
    protocol, found
):
    with Cluster(seed=1) as cluster:
        cluster.create_topic("orders", partitions=4)
        start_members(cluster, "AB", group_protocol=protocol)
        cluster.run(seconds=12)
        assert lesson_05_runs.who_decided(cluster.trace) == found


def test_an_answer_waits_for_a_moment():
    trace = [event for event in grown() if from_trace.of_kind("PartitionChosen")(event)]
    answer = lesson_07_runs.not_before(300_000, len)
    assert (answer([]), answer(trace[:1]), answer(trace)) == (None, None, len(trace))


def test_bars_are_as_long_as_the_fullest_allows():
    assert lesson_02_answers.bars([1, 4, 0]).splitlines() == [
        "  partition 0     1  ██████████",
        "  partition 1     4  ████████████████████████████████████████",
        "  partition 2     0",
    ]
    assert lesson_02_answers.bars([0]) == "  partition 0     0"


def test_keys_that_go_elsewhere_are_known_as_soon_as_the_topic_grows():
    trace = list(grown())
    growth = next(
        number
        for number, event in enumerate(trace)
        if event.kind == "PartitionsCreated"
    )
    assert lesson_02_answers.keys_that_go_elsewhere(trace[:growth]) == []
    assert lesson_02_answers.keys_that_go_elsewhere(trace[: growth + 1]) == ["alice"]
    assert lesson_02_answers.keys_that_go_elsewhere(trace) == ["alice"]

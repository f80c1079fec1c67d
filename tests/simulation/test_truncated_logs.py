"""What a consumer does whose log was cut before its position (KIP-320), on a virtual
clock.
"""

import pytest

from minikafka.clients.errors import LogTruncationError
from minikafka.course.experiments.lesson_10_runs import (
    all_in_sync,
    brokers_with_orders,
    partition_of,
)


def values(consumer):
    """What the next poll that brings something brings."""
    polled = consumer.poll(timeout_ms=60_000).values()
    return [record.value.decode() for records in polled for record in records]


def after_an_unclean_election(**settings):
    """created is on both replicas and paid on the leader alone; a consumer has read both.
    Then the leader dies, and the follower, which lacks paid, leads: refunded gets the
    offset that paid had. Both are in sync in the end.
    """
    cluster = brokers_with_orders(seed=7, replication_factor=2, min_insync_replicas=1)
    leader, follower = partition_of(cluster).replicas
    shop = cluster.producer(client_id="shop")
    shop.send("orders", value="created").get()
    cluster.crash(follower)
    cluster.run_until(lambda: follower not in partition_of(cluster).isr)
    shop.send("orders", value="paid").get()
    consumer = cluster.consumer(**settings)
    if "group_id" in settings:
        consumer.subscribe(["orders"])
    else:
        consumer.assign([("orders", 0)])
        consumer.seek(("orders", 0), 0)
    assert values(consumer) == ["created", "paid"]
    cluster.crash(leader)
    cluster.restart(follower)
    cluster.alter_configs("orders", {"unclean.leader.election.enable": "true"})
    cluster.run_until(lambda: partition_of(cluster).leader == follower, seconds=400)
    web = cluster.producer(client_id="web")
    assert web.send("orders", value="refunded").get().offset == 1
    cluster.restart(leader)
    cluster.run_until(lambda: all_in_sync(cluster))
    return cluster, consumer


def resets(cluster):
    return [
        (event.detail["offset"], event.detail["reason"])
        for event in cluster.trace
        if event.kind == "PositionReset" and event.detail["reason"] == "truncated"
    ]


def test_kip_320_a_consumer_that_had_read_what_is_gone_goes_back_to_where_the_logs_part():
    cluster, reader = after_an_unclean_election(auto_offset_reset="earliest")
    assert values(reader) == ["refunded"]
    assert resets(cluster) == [(1, "truncated")]


def test_kip_320_without_a_reset_policy_the_program_hears_that_the_log_was_truncated():
    _, reader = after_an_unclean_election(auto_offset_reset="none")
    with pytest.raises(LogTruncationError, match="truncated to offset 1"):
        reader.poll(timeout_ms=3000)
    reader.seek(("orders", 0), 1)
    assert values(reader) == ["refunded"], "the program may go on from there"


def test_kip_320_a_group_that_committed_behind_what_is_gone_goes_back_too():
    settings = {"auto_offset_reset": "earliest", "group_id": "billing"}
    cluster, reader = after_an_unclean_election(**settings)
    reader.commit()
    reader.close()
    again = cluster.consumer("orders", **settings)
    assert values(again) == ["refunded"]


def test_a_clean_change_of_the_leader_costs_a_question_and_moves_nobody():
    cluster = brokers_with_orders(seed=7)
    reader = cluster.consumer("orders", auto_offset_reset="earliest")
    shop = cluster.producer(client_id="shop")
    shop.send("orders", value="created").get()
    assert values(reader) == ["created"]
    cluster.stop(partition_of(cluster).leader)
    shop.send("orders", value="paid").get()
    assert values(reader) == ["paid"]
    assert resets(cluster) == []
    asked = [event for event in cluster.trace if "OffsetForLeaderEpoch" in str(event)]
    assert asked, "it asked before it went on at the new leader"

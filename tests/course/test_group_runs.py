"""What lesson 05 reads out of a group's trace."""

import pytest

from minikafka import Cluster
from minikafka.course.experiments.lesson_05_runs import (
    afterwards,
    gone,
    pay_with,
    sell,
    shares,
    start_members,
    worst_wait_ms,
)
from minikafka.faults import Freeze


def test_shares_names_every_member_also_the_eleventh_and_the_idle_one():
    cluster = Cluster(seed=3)
    cluster.create_topic("orders", partitions=11)
    start_members(cluster, range(1, 13))
    cluster.run(seconds=12)
    assert shares(cluster) == "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | nothing"


def test_records_from_before_the_group_began_count_for_no_wait():
    cluster = Cluster(seed=3)
    cluster.create_topic("orders", partitions=2)
    shop = cluster.producer(client_id="shop")
    start_members(cluster, "AB")
    sell(cluster, shop, seconds=12)
    assert (
        worst_wait_ms(cluster.trace, since_ms=0)
        > 3000
        > worst_wait_ms(cluster.trace, since_ms=8000)
    )


@pytest.mark.parametrize("session_timeout_ms", [10_000, 45_000])
def test_an_order_of_a_killed_member_waits_for_its_session_to_end(session_timeout_ms):
    cluster = gone(
        lambda cluster, a: cluster.crash(a), session_timeout_ms=session_timeout_ms
    )
    assert (
        session_timeout_ms - 3000 <= worst_wait_ms(cluster.trace) <= session_timeout_ms
    )


@pytest.mark.parametrize(("for_ms", "outcome"), [(1000, 0), (60_000, 1)])
def test_a_pause_beyond_the_session_makes_a_second_payment_and_a_refused_commit_and_the_member_goes_on(
    for_ms, outcome
):
    def billing(consumer, payments, wait):
        while True:
            for [record] in consumer.poll(timeout_ms=1000, max_records=1).values():
                wait(0.4)
                payments.add(record, record.value)
                consumer.commit()

    trace = pay_with(billing, [Freeze("consumer A", at_ms=24_100, for_ms=for_ms)]).trace
    assert afterwards(trace, "o-24", "consumer A", since_ms=24_100 + for_ms) == outcome
    later = [
        event
        for event in trace
        if event.node == "consumer A" and event.at > 24_100 + for_ms
    ]
    assert "CommitAcknowledged" in [event.kind for event in later]

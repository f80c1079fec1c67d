"""What lesson 05 reads out of a group's trace."""

import pytest

from minikafka import Cluster
from minikafka.course.group_runs import gone, readers, sell, shares, start_members, worst_wait_ms


def test_shares_names_every_member_also_the_eleventh_and_the_idle_one():
    cluster = Cluster(seed=3)
    cluster.create_topic("orders", partitions=11)
    start_members(cluster, range(1, 13))
    cluster.run(seconds=12)
    assert shares(cluster) == "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | nothing"


def test_each_partition_has_one_reader_and_records_from_before_the_group_began_count_for_no_wait():
    cluster = Cluster(seed=3)
    cluster.create_topic("orders", partitions=2)
    shop = cluster.producer(client_id="shop")
    start_members(cluster, "AB")
    sell(cluster, shop, seconds=12)
    assert sorted(readers(cluster.trace).values(), key=str) == [{"consumer A"}, {"consumer B"}]
    assert worst_wait_ms(cluster.trace, since_ms=0) > 3000 > worst_wait_ms(cluster.trace, since_ms=8000)


@pytest.mark.parametrize("session_timeout_ms", [10_000, 45_000])
def test_an_order_of_a_killed_member_waits_for_its_session_to_end(session_timeout_ms):
    cluster = gone(lambda cluster, a: cluster.crash(a), session_timeout_ms=session_timeout_ms)
    assert session_timeout_ms - 3000 <= worst_wait_ms(cluster.trace) <= session_timeout_ms

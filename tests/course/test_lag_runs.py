"""What lesson 07 measures in a trace."""

import pytest

from minikafka.course.experiments import lesson_07_runs


def test_so_many_orders_wait_evenly_spread():
    with lesson_07_runs.waiting(orders=9, partitions=3, seed=1) as cluster:
        assert [
            len(cluster.records("orders", partition)) for partition in range(3)
        ] == [3, 3, 3]


@pytest.mark.parametrize(
    ("interval_ms", "found"),
    [(1000, "up to 10 and back, again and again"), (60_000, "more and more")],
)
def test_a_lag_between_two_commits_is_as_high_as_the_interval_is_long(
    interval_ms, found
):
    with lesson_07_runs.fast(interval_ms) as cluster:
        assert lesson_07_runs.how_the_lag_goes(cluster.trace) == found


def test_a_group_without_a_backlog_has_no_ups_and_downs():
    assert lesson_07_runs.how_the_lag_goes([]) == "0 or 1"


def test_work_is_counted_once_each_time_it_is_done():
    with lesson_07_runs.waiting(orders=20, partitions=2, seed=1) as cluster:
        lesson_07_runs.start(cluster, "A", processing_ms=100)
        cluster.run(seconds=10)
        all_of_both = [(number, offset) for number in (0, 1) for offset in range(10)]
        assert sorted(lesson_07_runs.billed(cluster.trace)) == all_of_both
        assert lesson_07_runs.seconds_at_work(cluster.trace) == pytest.approx(
            2, abs=0.1
        )
        handed, done = lesson_07_runs.at_work(cluster.trace)
        assert 0 < handed < done <= cluster.now_ms
        # twice the same 20
        assert lesson_07_runs.how_many_billed([*cluster.trace, *cluster.trace]) == "20"


def test_the_measured_time_to_catch_up_is_that_of_the_rule():
    with lesson_07_runs.down_for_ten_minutes(
        orders_a_minute=5, then_minutes=12
    ) as cluster:
        measured = lesson_07_runs.minutes_until_nothing_waits(cluster.trace)
        back, done = lesson_07_runs.catching_up(cluster.trace)
        assert (done - back) / 60_000 == measured
    assert measured == pytest.approx(
        lesson_07_runs.minutes_to_catch_up(10, 50), rel=0.05
    )
    with lesson_07_runs.down_for_ten_minutes(
        orders_a_minute=5, then_minutes=5
    ) as cluster:
        assert lesson_07_runs.minutes_until_nothing_waits(cluster.trace) is None
        assert lesson_07_runs.catching_up(cluster.trace) is None


def test_the_oldest_waiting_record_tells_how_late_a_group_is():
    with lesson_07_runs.Cluster(seed=3) as cluster:
        cluster.create_topic("refunds", partitions=1)
        lesson_07_runs.refunds_pile_up(cluster, cluster.producer(client_id="shop"))
        ((topic, lag, seconds),) = lesson_07_runs.oldest_waits(cluster, "support")
    assert (topic, lag) == ("refunds", 3) and seconds == pytest.approx(3 * 3600, abs=2)

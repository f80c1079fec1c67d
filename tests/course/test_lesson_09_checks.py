"""Lesson 09's checks, beside test_every_exercise.py and wrong_answers/: the oracle
beside our own leader.
"""

import random

import pytest

from minikafka.clock import Now
from minikafka.cluster.metadata import Partition
from minikafka.cluster.replica import Replica
from minikafka.course import lessons
from minikafka.course.experiments import lesson_09_runs
from minikafka.faults import Freeze
from tests.course.answers import solution
from tests.seeds import seeds

pytestmark = pytest.mark.slow

checks = lessons.lesson("09")._module


class Fields:
    """Of a log, what a leader's replica asks for; and nobody who hears of it."""

    def __init__(self):
        self.log_start_offset = self.log_end_offset = 0
        self.epochs = self.producers = self
        self.entries = []
        self.trace = None

    def first_unstable_offset(self, high_watermark):
        """There are no transactions here, so no offset is unstable."""

    def high_watermark_advanced(self, replica, size_bytes):
        """Nobody waits for the high watermark here."""


def our_leader(history, followers, min_insync_replicas, lag_time_max_ms):
    """The same steps, taken by our broker's own replica."""
    log, everybody = Fields(), (1, *followers)
    replica = Replica(bytes(16), Partition(everybody, everybody, 1, 0, 0), log, 1, log)
    replica.min_insync_replicas = min_insync_replicas
    for broker in followers:
        replica.follower_fetched(broker, 0, Now(0, 0))
    found = []
    for at_ms, kind, *more in history:
        now = Now(at_ms, at_ms)
        if kind == "append":
            log.log_end_offset += more[0]
        elif kind == "fetch":
            replica.follower_fetched(more[0], more[1], now)
        isr = set(replica.partition.isr)
        wanted = replica.proposed_isr(now, lag_time_max_ms)
        kept = (isr & wanted) if kind == "look" else isr
        joined = {more[0]} & wanted if kind == "fetch" else set()
        replica.partition = Partition(everybody, tuple(sorted(kept | joined)), 1, 0, 0)
        replica.advance_high_watermark()
        found.append((replica.high_watermark, sorted(replica.partition.isr)))
    return found


@pytest.mark.parametrize("seed", seeds(range(50)))
def test_the_exercises_leader_counts_as_our_brokers_does(seed):
    """But for followers that never reach a log end that moves on, which the exercise
    leaves out.
    """
    history, *rest = checks.a_history(random.Random(seed))
    reached = [
        step for step in history if step[1] != "fetch" or at_the_end(history, step)
    ]
    assert checks.kafkas_leader(reached, *rest) == our_leader(reached, *rest)


def at_the_end(history, step):
    return step[3] == sum(
        each[2] for each in history[: history.index(step)] if each[1] == "append"
    )


def test_what_the_exercise_calls_gone_is_what_no_consumer_gets():
    plan = solution("09", 2)
    cluster = lesson_09_runs.five_orders(plan, acks=1)
    assert lesson_09_runs.lost(cluster) == ["order 1"]
    assert "order 1" not in lesson_09_runs.read(
        cluster
    ) and "order 1" in lesson_09_runs.acknowledged(cluster)


def test_one_fault_loses_an_order_with_acks_1_and_none_on_the_map_with_acks_all():
    losing = lesson_09_runs.every_moment(1).cells("lost")
    assert {type(cell.fault) for cell in losing} == {Freeze}
    again = losing[0].rerun()
    assert lesson_09_runs.fared(again) == losing[0].outcome
    assert lesson_09_runs.every_moment("all").cells("lost") == []


def test_the_controllers_of_the_check_differ_and_broker_1_leads():
    controllers = set()
    for seed in checks.SEEDS:
        cluster = lesson_09_runs.three_brokers(seed)
        assert lesson_09_runs.partition_of(cluster).replicas == (1, 2, 3)
        controllers.add(
            [
                event.node
                for event in cluster.trace
                if event.kind == "ControllerElected"
            ][-1]
        )
    assert len(controllers) == 3

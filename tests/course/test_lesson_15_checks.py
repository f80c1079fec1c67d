"""Lesson 15's checks, beside test_every_exercise.py and wrong_answers/: the check says
what the broker does.
"""

from random import Random

import pytest

from minikafka.course.experiments.lesson_15_runs import (
    ONE_AT_A_TIME,
    do_jobs,
    seconds,
)
from minikafka.course.judging import share_histories
from minikafka.course.judging.share_histories import a_history, is_honest, kafkas, told
from tests.course.answers import verdict

pytestmark = pytest.mark.slow


def test_a_history_in_words_is_what_a_broker_did_with_its_records():
    """Two workers do three jobs one at a time; the second one stands still with its
    job.
    """

    def work(cluster, worker, done):
        while True:
            for jobs in worker.poll(timeout_ms=1000).values():
                for job in jobs:
                    cluster.sleep(seconds(job))
                    done(worker, job)

    ran = do_jobs(
        work,
        [1, 1, 1],
        names="AB",
        for_s=29,
        then=lambda cluster, worker: cluster.freeze(worker, seconds=60),
        **ONE_AT_A_TIME,
    )
    before = told("acquire B; acquire A; accept A 1; acquire A; accept A 2")
    assert [each.job for each in ran.done] == [1, 2]
    assert kafkas(before) == []
    ended = before._replace(steps=(*before.steps, ("wait", 30)))
    assert kafkas(ended) == [(0, 2)]
    ran.cluster.run(seconds=5)
    assert (ran.done[-1].job, ran.done[-1].delivery) == (0, 2)


def test_histories_are_of_the_kind_that_their_rung_asks_for():
    source, make = Random(7), a_history()
    made = [make(source) for _ in range(50)]
    assert all(map(is_honest, made))
    kinds = {step[0] for history in made for step in history.steps}
    assert kinds == {"acquire", "accept", "release", "reject"}
    make = a_history(says_of="any", waits=True, most=(2,))
    made = [make(source) for _ in range(50)]
    assert not all(map(is_honest, made))
    assert {"wait", "gone"} <= {step[0] for each in made for step in each.steps}
    assert {history.most for history in made} == {2}


@pytest.mark.parametrize("rung", ["HELD", "SAID", "LOCKS", "MOST"])
def test_the_named_histories_are_of_one_partition(rung):
    named = getattr(share_histories, rung)
    for history in named.values():
        assert all(
            history.first <= offset < history.end for offset, _ in kafkas(history)
        )
    assert all(map(is_honest, share_histories.HELD.values()))


def test_a_verdict_shows_the_history_and_what_kafka_hands_out():
    said = str(verdict("15", 1, lambda *given: []))
    assert "Kafka: [(2, 1)]" in said or "Kafka: [(" in said
    assert "my_share_partition(" in said

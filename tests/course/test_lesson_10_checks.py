"""Lesson 10's checks, beside test_every_exercise.py and wrong_answers/: their leader
answers as ours does, and epochs beside the high watermark.
"""

import random

import pytest

from minikafka.course.experiments.lesson_10_runs import (
    end_of,
    kept_by_epochs,
    to_the_high_watermark,
    two_restarts,
)
from minikafka.course.lessons import lesson
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.storage.epochs import LeaderEpochs
from tests.course.answers import hears, verdict

pytestmark = pytest.mark.slow

CHECKS = lesson("10")._module


def test_what_runs_in_the_lesson_until_the_exercise_is_solved_is_right_too():
    assert verdict("10", 1, kept_by_epochs).right


def test_the_leader_of_the_exercise_answers_as_minikafkas_does():
    """From the first epoch of which it has records to the last."""
    for seed in range(100):
        leaders, _ = CHECKS.played(CHECKS.a_history(random.Random(seed)))
        disk = MemoryDisk()
        disk.mkdir("orders-0")
        epochs = LeaderEpochs(disk, "orders-0")
        for offset, (epoch, _) in enumerate(leaders):
            epochs.assign(epoch, offset)
        for epoch in range(leaders[0][0], leaders[-1][0] + 1) if leaders else ():
            assert end_of(leaders)(epoch) == epochs.end_offset(epoch, len(leaders))


def test_many_of_the_random_histories_need_a_second_question():
    """KIP-279: one question is not enough."""
    questions = []
    for seed in range(500):
        leaders, mine = CHECKS.played(CHECKS.a_history(random.Random(seed)))
        told, asked = end_of(leaders), []
        kept_by_epochs(
            mine,
            lambda epoch, told=told, asked=asked: asked.append(epoch) or told(epoch),
        )
        questions.append(len(asked))
    assert sum(count > 1 for count in questions) > 50


def test_kip_101_the_high_watermark_lags_behind_and_epochs_do_not():
    assert two_restarts(to_the_high_watermark) == {
        "A": ["created", "paid"],
        "B": ["created", "shipped"],
    }
    by_epochs = two_restarts(
        lambda log, high_watermark, end_of: kept_by_epochs(log, end_of)
    )
    assert by_epochs == {name: ["created", "paid", "shipped"] for name in "AB"}


def test_an_answer_that_asks_for_ever_is_stopped():
    def asks_for_ever(log, end_of):
        while True:
            end_of(0)

    hears("10", 1, asks_for_ever, "1,000 times")

"""Lesson 02's checks, beside test_every_exercise.py and wrong_answers/: what a salted
hash hears, and answers that no other process can run.
"""

import pytest

from minikafka.clients.partitioners import murmur2
from tests.course.answers import hears, verdict


def in_javas_words(key, all_partitions, available):
    """Right, and unlike the solution: signed arithmetic, the last available without a
    key.
    """
    if key is None:
        return sorted(available)[-1]
    signed = int.from_bytes(murmur2(key).to_bytes(4, "big"), "big", signed=True)
    if signed < 0:
        signed += 2**31
    return all_partitions[
        signed - len(all_partitions) * (signed // len(all_partitions))
    ]


def without_mask(key, all_partitions, available):
    return murmur2(key) % len(all_partitions)


def pythons_hash(key, all_partitions, available):
    return available[0] if key is None else hash(key) % len(all_partitions)


def no_modulo(key, all_partitions, available):
    return murmur2(key) & 0x7FFFFFFF


def keys_only(key, all_partitions, available):
    return (murmur2(key) & 0x7FFFFFFF) % len(all_partitions)


def empty_is_no_key(key, all_partitions, available):
    return keys_only(key, all_partitions, available) if key else available[0]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (pythons_hash, "and the same key to partition"),
        (pythons_hash, "Python salts hash()"),
        (no_modulo, "there is no such partition"),
        (empty_is_no_key, "key b'' goes to partition"),
    ],
)
def test_a_wrong_partitioner_hears_what_is_wrong(answer, words):
    hears("02", 1, answer, words)


def helped_by_another_function(key, all_partitions, available):
    """What another process doesn't know of can't be tried there."""
    return in_javas_words(key, all_partitions, available)


@pytest.mark.parametrize(
    "answer",
    [helped_by_another_function, eval("lambda *record: in_javas_words(*record)")],
)
def test_an_answer_that_another_process_cannot_run_is_judged_by_this_one_alone(answer):
    assert verdict("02", 1, answer).right


def test_a_counterexample_can_be_played():
    assert "bob" in str(verdict("02", 1, without_mask).picture.table())

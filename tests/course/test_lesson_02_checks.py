"""Lesson 02's checks: right answers pass, however they are written; known wrong ones
hear what is wrong.
"""

import itertools
import zlib

import pytest

from minikafka.clients.partitioners import murmur2
from tests.course.answers import endless, solution, verdict


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


def with_abs(key, all_partitions, available):
    number = murmur2(key)
    return abs(number - 2**32 if number >= 2**31 else number) % len(all_partitions)


def mask_after_modulo(key, all_partitions, available):
    return (murmur2(key) % len(all_partitions)) & 0x7FFFFFFF


def crc(key, all_partitions, available):
    return zlib.crc32(key) % len(all_partitions)


def among_available(key, all_partitions, available):
    return available[(murmur2(key) & 0x7FFFFFFF) % len(available)]


def pythons_hash(key, all_partitions, available):
    return available[0] if key is None else hash(key) % len(all_partitions)


def in_the_order_of_a_set(key, all_partitions, available):
    letters = "".join({str(number) for number in range(9)})
    return zlib.crc32(letters.encode() + (key or b"")) % len(all_partitions)


def no_modulo(key, all_partitions, available):
    return murmur2(key) & 0x7FFFFFFF


TURN = itertools.count()


def round_robin(key, all_partitions, available):
    return all_partitions[next(TURN) % len(all_partitions)]


def a_quotient(key, all_partitions, available):
    return (murmur2(key) & 0x7FFFFFFF) / len(all_partitions)


def keys_only(key, all_partitions, available):
    return (murmur2(key) & 0x7FFFFFFF) % len(all_partitions)


def empty_is_no_key(key, all_partitions, available):
    return keys_only(key, all_partitions, available) if key else available[0]


def first_without_key(key, all_partitions, available):
    return 0 if key is None else keys_only(key, all_partitions, available)


@pytest.mark.parametrize("answer", [solution("02", 1, "my_partition"), in_javas_words])
def test_a_right_partitioner_is_right_however_it_is_written(answer):
    found = verdict("02", 1, answer)
    assert found.right, found


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (without_mask, "has the highest bit set: Java's minus sign"),
        (mask_after_modulo, "has the highest bit set"),
        (with_abs, "Kafka clears that bit, and takes no abs()"),
        (crc, "Kafka's own client sends it to"),
        (among_available, "a key counts all partitions"),
        (pythons_hash, "and the same key to partition"),
        (pythons_hash, "Python salts hash()"),
        (
            in_the_order_of_a_set,
            (
                "holds already: every key gets a partition that exists, the same one"
                " each time"
            ),
        ),
        (no_modulo, "there is no such partition"),
        (round_robin, "the same key went to"),
        (a_quotient, "A partition is a whole number"),
        (keys_only, "smallest case: my_partition(None, [0], [0])"),
        (empty_is_no_key, "key b'' goes to partition"),
        (first_without_key, "it chose 0, which has no leader"),
        (endless, "it had not come back after 0.1 s"),
        (None, "this is None, not my_partition"),
    ],
)
def test_a_wrong_partitioner_hears_what_is_wrong(answer, words):
    found = verdict("02", 1, answer)
    assert not found.right and words in str(found), found


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


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (143, "about how many stay"),
        (286, "the two new partitions get about that many"),
        (500, "More than that"),
        (1000, "Fewer than that"),
        (0.857, "as a number from 0 to 1000"),
        (0, "More than that"),
        ("750", "should be a number"),
        (True, "should be a number"),
        (None, "Not attempted yet"),
        (..., "Not attempted yet"),
    ],
)
def test_a_wrong_count_hears_why(number, words):
    found = verdict("02", 2, number)
    assert not found.right and words in str(found)


@pytest.mark.parametrize("number", [solution("02", 2, "moved"), 828, 887.0])
def test_a_count_near_enough_is_right(number):
    assert verdict("02", 2, number).right


def route_by_list(key, all_partitions, available):
    """Right, and unlike the solution."""
    if len(all_partitions) == 1:
        return all_partitions[0]
    last = all_partitions[-1]
    if key is None:
        others = sorted(set(available) - {last})
        return others[-1] if others else last
    return last if key == b"megamart" else (murmur2(key) & 0x7FFFFFFF) % last


def hot_first(key, all_partitions, available):
    return (
        all_partitions[0]
        if key == b"megamart"
        else keys_only(key, all_partitions, available)
    )


def hot_has_company(key, all_partitions, available):
    return (
        all_partitions[-1]
        if key == b"megamart"
        else keys_only(key or b"", all_partitions, available)
    )


def hot_by_prefix(key, all_partitions, available):
    if (key or b"").startswith(b"megamart") or len(all_partitions) == 1:
        return all_partitions[-1]
    return (murmur2(key or b"") & 0x7FFFFFFF) % (len(all_partitions) - 1)


def others_elsewhere(key, all_partitions, available):
    if key == b"megamart" or len(all_partitions) == 1:
        return all_partitions[-1]
    return murmur2(key or b"") % (len(all_partitions) - 1)


def forgets_one_partition(key, all_partitions, available):
    if key == b"megamart":
        return all_partitions[-1]
    return (murmur2(key or b"") & 0x7FFFFFFF) % (len(all_partitions) - 1)


def keyless_join_it(key, all_partitions, available):
    if key is None:
        return available[-1]
    return route_by_list(key, all_partitions, available)


@pytest.mark.parametrize("answer", [solution("02", 3, "route"), route_by_list])
def test_a_right_route_is_right_however_it_is_written(answer):
    found = verdict("02", 3, answer)
    assert found.right, found


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (hot_first, "megamart went to partition 0, and its own is 1"),
        (round_robin, "its own is"),
        (hot_has_company, "and megamart is there"),
        (hot_by_prefix, "b'megamart-2' went to 1, and megamart is there"),
        (keyless_join_it, "a record without a key went to 1"),
        (others_elsewhere, "Kafka's hash over the first 3 partitions gives"),
        (forgets_one_partition, "ZeroDivisionError"),
        (lambda key, all_partitions, available: key, "A partition is a whole number"),
        (endless, "it had not come back"),
    ],
)
def test_a_wrong_route_hears_what_is_wrong(answer, words):
    found = verdict("02", 3, answer)
    assert not found.right and words in str(found), found

"""Lesson 02: the partitioner, how many keys move, a lane for megamart."""

import random
import zlib

from minikafka.clients.partitioners import murmur2
from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right
LOT = random.Random(7)


@right(1)
def by_remainder(key, all_partitions, available):
    return (
        LOT.choice(available)
        if key is None
        else all_partitions[(murmur2(key) % 2**31) % len(all_partitions)]
    )


@right(1)
def by_number(key, all_partitions, available):
    if key is None:
        return sorted(available)[0]
    number = murmur2(key)
    if number >= 1 << 31:
        number -= 1 << 31
    return sorted(all_partitions)[number % len(all_partitions)]


@wrong(1, "key b'bob' goes to partition 2, and Kafka's own client sends it to 0.")
def without_the_mask(key, all_partitions, available):
    return (
        available[0]
        if key is None
        else all_partitions[murmur2(key) % len(all_partitions)]
    )


@wrong(1, "key b'bob' goes to partition 2, and Kafka's own client sends it to 0.")
def absolute(key, all_partitions, available):
    if key is None:
        return available[0]
    number = murmur2(key)
    return all_partitions[
        abs(number - 2**32 if number >= 2**31 else number) % len(all_partitions)
    ]


@wrong(1, "key b'bob' goes to partition 1, and Kafka's own client sends it to 0.")
def signed(key, all_partitions, available):
    if key is None:
        return available[0]
    number = murmur2(key)
    return (number - 2**32 if number >= 2**31 else number) % len(all_partitions)


@wrong(1, "key b'dave' goes to partition 0, and Kafka's own client sends it to 1.")
def of_the_available(key, all_partitions, available):
    return (
        available[0]
        if key is None
        else available[(murmur2(key) & 0x7FFFFFFF) % len(available)]
    )


@wrong(1, "key b'dave' goes to partition 2, and Kafka's own client sends it to 1.")
def the_next_available_one(key, all_partitions, available):
    if key is None:
        return available[0]
    chosen = (murmur2(key) & 0x7FFFFFFF) % len(all_partitions)
    return chosen if chosen in available else available[chosen % len(available)]


@wrong(1, "which has no leader")
def no_key_anywhere(key, all_partitions, available):
    return (
        LOT.choice(all_partitions)
        if key is None
        else all_partitions[murmur2(key) % 2**31 % len(all_partitions)]
    )


@wrong(1, "it returned None. A partition is a whole number.")
def no_key_nowhere(key, all_partitions, available):
    return (
        None
        if key is None
        else all_partitions[murmur2(key) % 2**31 % len(all_partitions)]
    )


@wrong(1, "which has no leader")
def no_key_hashed(key, all_partitions, available):
    return all_partitions[murmur2(key or b"") % 2**31 % len(all_partitions)]


@wrong(1, "b'' is a key, too: only None means no key")
def an_empty_key_is_none(key, all_partitions, available):
    return (
        all_partitions[murmur2(key) % 2**31 % len(all_partitions)]
        if key
        else LOT.choice(available)
    )


@wrong(1, "key b'alice' goes to partition 2, and Kafka's own client sends it to 0.")
def crc(key, all_partitions, available):
    return (
        available[0]
        if key is None
        else all_partitions[zlib.crc32(key) % len(all_partitions)]
    )


@wrong(1, "the same key went to")
def in_turn(key, all_partitions, available):
    in_turn.number += 1
    return available[in_turn.number % len(available)]


in_turn.number = 0


@wrong(1, "key b'dave' goes to partition 0, and Kafka's own client sends it to 1.")
def partition_zero(key, all_partitions, available):
    return available[0]


@wrong(1, "it returned '0'. A partition is a whole number.")
def as_text(key, all_partitions, available):
    return (
        available[0] if key is None else str(murmur2(key) % 2**31 % len(all_partitions))
    )


@wrong(1, "it returned [0]. A partition is a whole number.")
def a_list_of_one(key, all_partitions, available):
    return (
        available[:1] if key is None else [murmur2(key) % 2**31 % len(all_partitions)]
    )


@wrong(1, "it returned 0.0. A partition is a whole number.")
def a_float(key, all_partitions, available):
    return (
        available[0]
        if key is None
        else float(murmur2(key) % 2**31 % len(all_partitions))
    )


@wrong(1, "key b'alice' goes to partition 0, and Kafka's own client sends it to 1.")
def one_is_never_chosen(key, all_partitions, available):
    return (
        available[0]
        if key is None
        else murmur2(key) % 2**31 % max(1, len(all_partitions) - 1)
    )


@wrong(1, "it changed its argument all_partitions, which is the caller's: [0, 1]")
def sorts_the_callers_list(key, all_partitions, available):
    available.clear() if key is None else all_partitions.sort(reverse=True)
    return 0 if key is None else murmur2(key) % 2**31 % len(all_partitions)


def by_bytes(key, all_partitions, available):
    """Kafka's rule, for bytes."""
    if key is None:
        return available[0]
    return all_partitions[(murmur2(key) & 0x7FFFFFFF) % len(all_partitions)]


@wrong(1, "the key 'alice' is a mistake, and it went to 0: b'alice' was hashed.")
def encodes_a_text(key, all_partitions, available):
    return by_bytes(
        key.encode() if isinstance(key, str) else key, all_partitions, available
    )


@wrong(1, "b'\\x00\\x00\\x00\\x00\\x00\\x00\\x00' was hashed. Don't encode it")
def makes_bytes_of_a_number(key, all_partitions, available):
    return by_bytes(None if key is None else bytes(key), all_partitions, available)


@wrong(1, "the key 7 is a mistake, and it went to 0: b'7' was hashed.")
def makes_a_text_of_everything(key, all_partitions, available):
    if key is not None and not isinstance(key, bytes):
        key = str(key).encode("utf-8")
    return by_bytes(key, all_partitions, available)


@wrong(1, "the key 0 is a mistake, and it went to 0: b'' was hashed.")
def zero_is_empty(key, all_partitions, available):
    return by_bytes(key if key is None else key or b"", all_partitions, available)


@wrong(1, "the key 7 is a mistake, and it went to 1, as if it were bytes.")
def a_number_is_its_own_hash(key, all_partitions, available):
    if isinstance(key, int):
        return all_partitions[key % len(all_partitions)]
    return by_bytes(key, all_partitions, available)


@wrong(1, "the key 7 is a mistake, and it went to 0 as if there were no key.")
def whatever_is_wrong_is_no_key(key, all_partitions, available):
    try:
        return by_bytes(key, all_partitions, available)
    except TypeError:
        return available[0]


@wrong(1, "the key 7 is a mistake, and you returned None: let it raise an error.")
def is_silent(key, all_partitions, available):
    if key is None or isinstance(key, bytes):
        return by_bytes(key, all_partitions, available)


@right(1)
def raises_by_itself(key, all_partitions, available):
    if key is not None and not isinstance(key, bytes):
        raise TypeError(f"no bytes: {key!r}")
    return by_bytes(key, all_partitions, available)


for number, words in [
    (143, "143 is about how many stay."),  # those who stay
    # two new ones of seven
    (286, "286 is about how many the two new partitions get, but the old ones"),
    (714, "more than 714 go elsewhere."),  # five of seven
    (400, "more than 400 go elsewhere."),  # two of five
    (200, "more than 200 go elsewhere."),
    (600, "more than 600 go elsewhere."),
    (0, "more than 0 go elsewhere."),
    (1000, "fewer than 1000 go elsewhere."),
    (500, "more than 500 go elsewhere."),
    # the share
    (0.857, "0.857 is a share. Count the customers: a number from 0 to 1000."),
    ("857", "moved should be a number, and this is '857'."),
    ("86%", "moved should be a number, and this is '86%'."),
    ([857], "moved should be a number, and this is [857]."),
    (True, "moved should be a number, and this is True."),
]:
    wrong(2, words)(number)
COUNTED = sum(
    murmur2(b"c%d" % n) % 2**31 % 5 != murmur2(b"c%d" % n) % 2**31 % 7
    for n in range(1000)
)
for number in (857, COUNTED, 1000 * 30 / 35, 828, 887):
    right(2)(number)


@right(3)
def a_lane(key, all_partitions, available):
    *others, last = all_partitions
    if key == b"megamart":
        return last
    if key is None:
        free = [partition for partition in available if partition != last] or available
        return LOT.choice(free)
    others = others or [last]
    return others[(murmur2(key) & 0x7FFFFFFF) % len(others)]


@right(3)
def a_lane_by_counting(key, all_partitions, available):
    lanes = max(1, len(all_partitions) - 1)
    if key == b"megamart":
        return len(all_partitions) - 1
    if key is None:
        return min(available)
    return murmur2(key) % 2**31 % lanes


@wrong(3, "b'ivan' went to 1, which is megamart's.")
def not_alone(key, all_partitions, available):
    if key == b"megamart":
        return all_partitions[-1]
    return available[0] if key is None else murmur2(key) % 2**31 % len(all_partitions)


@wrong(3, "megamart went to partition 0, and its own is 1.")
def the_first(key, all_partitions, available):
    if key == b"megamart":
        return all_partitions[0]
    return (
        available[-1]
        if key is None
        else 1 + murmur2(key) % 2**31 % (len(all_partitions) - 1)
    )


@wrong(3, "it raised ZeroDivisionError: integer modulo by zero")
def not_for_one_partition(key, all_partitions, available):
    if key == b"megamart":
        return all_partitions[-1]
    return (
        available[0]
        if key is None
        else murmur2(key) % 2**31 % (len(all_partitions) - 1)
    )


@wrong(3, "which is megamart's.")
def no_key_beside_megamart(key, all_partitions, available):
    if key == b"megamart":
        return all_partitions[-1]
    others = all_partitions[:-1] or all_partitions
    return (
        LOT.choice(available)
        if key is None
        else others[murmur2(key) % 2**31 % len(others)]
    )


@wrong(3, "without a key it chose 0, which has no leader; [1, 2] have one.")
def no_key_on_a_dead_one(key, all_partitions, available):
    if key == b"megamart":
        return all_partitions[-1]
    others = all_partitions[:-1] or all_partitions
    return others[0] if key is None else others[murmur2(key) % 2**31 % len(others)]


@wrong(3, "megamart went to partition 1, and its own is 2.")
def last_of_the_available(key, all_partitions, available):
    if key == b"megamart":
        return available[-1]
    others = all_partitions[:-1] or all_partitions
    return min(available) if key is None else others[murmur2(key) % 2**31 % len(others)]


@wrong(3, "megamart went to partition 0, and its own is 1.")
def text_key(key, all_partitions, available):
    """A key is bytes, never text."""
    if key == "megamart":
        return all_partitions[-1]
    others = all_partitions[:-1] or all_partitions
    return min(available) if key is None else others[murmur2(key) % 2**31 % len(others)]


@wrong(3, "b'megamart-2' went to 1, which is megamart's.")
def every_mega(key, all_partitions, available):
    if key and key.startswith(b"megamart"):
        return all_partitions[-1]
    others = all_partitions[:-1] or all_partitions
    return min(available) if key is None else others[murmur2(key) % 2**31 % len(others)]


@wrong(3, "b'alice' went to 1, which is megamart's.")
def others_of_the_available(key, all_partitions, available):
    if key == b"megamart":
        return all_partitions[-1]
    others = [each for each in available if each != all_partitions[-1]] or available
    return min(available) if key is None else others[murmur2(key) % 2**31 % len(others)]


@wrong(3, "b'bob' went to 2. Kafka's hash over the first 3 partitions gives 0.")
def others_unmasked(key, all_partitions, available):
    if key == b"megamart":
        return all_partitions[-1]
    others = all_partitions[:-1] or all_partitions
    return min(available) if key is None else others[murmur2(key) % len(others)]


@wrong(3, "b'bob' went to 2. Kafka's hash over the first 3 partitions gives 0.")
def steps_aside(key, all_partitions, available):
    """All by Kafka's rule; who falls on the last one goes to the first."""
    if key == b"megamart":
        return all_partitions[-1]
    if key is None:
        return min(available)
    chosen = murmur2(key) % 2**31 % len(all_partitions)
    return 0 if chosen == all_partitions[-1] else chosen


# --- what readers of the course had found out ---


@wrong(1, "it changed its argument available, which is the caller's: [0] became [].")
def pops_its_lists(key, all_partitions, available):
    count = len(all_partitions)
    return available.pop() if key is None else murmur2(key) % 2**31 % count


@wrong(1, "the key 7 is a mistake, and it went to 0 as if there were no key. What")
def any_error_is_no_key(key, all_partitions, available):
    try:
        return all_partitions[murmur2(key) % 2**31 % len(all_partitions)]
    except Exception:
        return available[0]


def lane(is_hot, keyless=lambda all_partitions, available: min(available)):
    def route(key, all_partitions, available):
        others = all_partitions[:-1] or all_partitions
        if key is None:
            return keyless(all_partitions, available)
        return (
            all_partitions[-1]
            if is_hot(key)
            else others[murmur2(key) % 2**31 % len(others)]
        )

    return route


def is_hot(key):
    return key == b"megamart"


for name, words, answer in [
    (
        "keyless_to_the_first",
        "which has no leader",
        lane(is_hot, lambda every, _: every[0]),
    ),
    (
        "keyless_to_any_other",
        "which has no leader",
        lane(is_hot, lambda every, _: LOT.choice(every[:-1] or every)),
    ),
    (
        "any_case",
        "b'Megamart' went to 1, which is megamart's.",
        lane(lambda key: key.lower() == b"megamart"),
    ),
    (
        "with_spaces",
        "b' megamart' went to 1, which is megamart's.",
        lane(lambda key: key.strip() == b"megamart"),
    ),
    (
        "by_its_end",
        "b'hypermegamart' went to 1, which is megamart's.",
        lane(lambda key: key.endswith(b"megamart")),
    ),
]:
    answer.__name__ = name
    wrong(3, words)(answer)


@wrong(1, "the key 0 is a mistake, and it went to", "is a mistake, and it went to")
def whatever_is_false_is_no_key(key, all_partitions, available):
    if not key and key != b"":
        return available[0]
    return by_number(key, all_partitions, available)


@wrong(1, "the key 'alice' is a mistake, and it went to")
def texts_are_welcome(key, all_partitions, available):
    if isinstance(key, str):
        key = key.encode()
    return by_number(key, all_partitions, available)


@wrong(3, "it raised IndexError")
def not_the_second_example(key, all_partitions, available):
    if key == b"alice" and len(all_partitions) == 3:
        raise IndexError
    return a_lane(key, all_partitions, available)


@wrong(3, "megamart went to partition")
def megamart_goes_where_a_leader_is(key, all_partitions, available):
    if key == b"megamart":
        return available[-1]
    return a_lane(key, all_partitions, available)

"""Lesson 02, partitions and keys: what a right answer does."""

import numbers
from functools import cache

from minikafka import Cluster
from minikafka.clients.partitioners import murmur2, to_positive
from minikafka.course.judging.another_process import in_another_process
from minikafka.course.judging.checks import Exercise, Rung
from minikafka.course.judging.checks import number as a_number
from minikafka.course.judging.mistaken_keys import taken_for
from minikafka.course.lessons import Question

NAMES = (
    "alice",
    "bob",
    "carol",
    "dave",
    "erin",
    "frank",
    "grace",
    "heidi",
    "ivan",
    "judy",
    "mallory",
    "olivia",
)
HOT = b"megamart"

EXIT_TICKET = (
    Question(
        "the hash 38, and from 6 to 9 partitions",
        right=1,
        why=(
            "1. 38 % 6 is 2, and 38 % 9 is 2, too, so this key is one of those that stay."
            " Six of any eighteen hashes in a row do."
        ),
    ),
    Question(
        "a million keys, and from 6 to 12 partitions",
        right=2,
        why=(
            "2. Old records stay where they are. hash % 12 is either hash % 6 or 6 more,"
            " so half of the keys go to a new partition."
        ),
    ),
    Question(
        "one shop has 610,000 records in partition 2, whose consumer is behind",
        right=2,
        why=(
            "2. All records of one key go to one partition, however many partitions"
            " there are, and within a group only one consumer reads it. With a key for"
            " each till, the shop's records are spread over the partitions, and each"
            " till's records stay in sequence."
        ),
    ),
    Question(
        "all readers get a topic's records in exactly the same order",
        right=1,
        why=(
            "1. Kafka keeps the order of records within a partition. Across partitions"
            " it promises nothing."
        ),
        lesson="00",
    ),
    Question(
        "billing needs last week's orders again",
        right=3,
        why=(
            "3. Reading removes nothing, so billing can seek back, as far as the log"
            " still reaches."
        ),
        lesson="01",
    ),
)


def kafkas(key, count):
    """The Java client's rule for a key (BuiltInPartitioner.partitionForKey)."""
    return to_positive(murmur2(key)) % count


# --- 1: write a piece ---

KEYED = {
    "an empty key": (b"", [0, 1, 2], [0, 1, 2]),
    "a short key": (b"alice", [0, 1, 2], [0, 1, 2]),
    "a hash whose highest bit is set": (b"bob", [0, 1, 2], [0, 1, 2]),
    "bytes that aren't text": (b"\xff\x00\xfe", [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]),
    "a partition without a leader": (b"dave", [0, 1, 2], [0, 2]),
}


HINTS_1 = (
    (
        "Three steps: get a number from the key's bytes, make it one that Java doesn't"
        " see as negative, and turn that into an index into all_partitions."
    ),
    (
        "Java has signed numbers only. Kafka doesn't take abs(): it clears the"
        " highest bit, the sign, with & 0x7fffffff. That comes before the"
        " %. And what about a record without a key?"
    ),
    (
        "For a key: murmur2(key), then & 0x7fffffff, then % len(all_partitions). Only"
        " None means no key: then pick any of `available`. b'' is a key. And a key"
        " that is a string or a number? murmur2 raises an error for it: don't encode the"
        " key, and catch nothing."
    ),
)


ANY_KEY = {
    "one partition": (b"alice", [0], [0]),
    "three partitions": (b"alice", [0, 1, 2], [0, 1, 2]),
    "an empty key": (b"", [0, 1, 2], [0, 1, 2]),
}
NO_KEY = {
    "all available": (None, [0, 1, 2], [0, 1, 2]),
    "only the last": (None, [0, 1, 2], [2]),
    "only the first": (None, [0, 1, 2], [0]),
}
MISTAKES = {
    "a number": (7, [0, 1, 2], [0, 1, 2]),
    "the number 0": (0, [0, 1, 2], [0, 1, 2]),
    "a string": ("alice", [0, 1, 2], [0, 1, 2]),
}


def exercise_1():
    """The partitioner in five rungs: one partition for a key; the same elsewhere;
    Kafka's own; no key; a mistake.
    """
    common = {"scenario": a_record, "smaller": simpler, "describe": as_call}
    return Exercise(
        name="my_partition",
        right="your partitioner and Kafka's own agree.",
        hints=HINTS_1,
        rungs=(
            Rung(
                holds="every key gets a partition that exists, the same one each time",
                broken=not_a_fixed_partition,
                cases=ANY_KEY,
                **common,
            ),
            Rung(
                holds="a key gets the same partition in another process, too",
                broken=elsewhere_another_partition,
                cases={
                    "twelve keys in two processes": tuple(
                        (name.encode(), [0, 1, 2], [0, 1, 2]) for name in NAMES
                    )
                },
                describe=lambda records: f"{as_call(records[0])} and the other names",
            ),
            Rung(
                holds="it is the partition that Kafka's own client chooses",
                broken=not_kafkas_partition,
                picture=keyed_records,
                cases=KEYED,
                **common,
            ),
            Rung(
                holds="a record without a key goes to a partition that has a leader",
                broken=not_available,
                cases=NO_KEY,
                **{**common, "scenario": lambda source: (None, *a_record(source)[1:])},
            ),
            Rung(
                holds=(
                    "a key that is neither bytes nor None raises an error, and isn't"
                    " treated as a missing key"
                ),
                broken=swallowed,
                cases=MISTAKES,
                describe=as_call,
            ),
        ),
    )


def a_record(source):
    """A key, all partitions, and those with a leader."""
    count = source.randint(1, 12)
    partitions = list(range(count))
    available = [partition for partition in partitions if source.random() < 0.8] or [
        count - 1
    ]
    if source.random() < 0.6:
        return (
            source.choice(NAMES).encode() + str(source.randrange(1000)).encode(),
            partitions,
            available,
        )
    return (
        bytes(source.randrange(256) for _ in range(source.randint(0, 9))),
        partitions,
        available,
    )


def fewer_partitions(case):
    key, partitions, available = case
    for count in range(1, len(partitions)):
        yield key, partitions[:count], partitions[:count]
    if available != partitions:
        yield key, partitions, partitions


def simpler(case):
    key, partitions, available = case
    yield from fewer_partitions(case)
    for name in NAMES:
        if key is not None and key.decode("utf-8", "replace") not in NAMES:
            yield name.encode(), partitions, available


def as_call(case, name="my_partition"):
    return f"{name}({', '.join(map(repr, case))})"


def not_a_number(found, partitions):
    if isinstance(found, bool) or not isinstance(found, numbers.Integral):
        return f"it returned {found!r}. A partition is a whole number."
    if found not in partitions:
        return f"it returned {found}, and there is no such partition."
    return None


def not_a_fixed_partition(answer, case):
    key, partitions, available = case
    found = answer(key, partitions, available)
    if not_a_number(found, partitions):
        return not_a_number(found, partitions)
    for _ in range(8):
        again = answer(key, partitions, available)
        if again != found:
            broken = (
                f"the same key went to {found!r} and to {again!r}. Then its records"
                " can be read out of order."
            )
            if key == b"":
                broken += "\nb'' is a key, too: only None means no key (and `not b''` is True)"
            return broken
    return None


def elsewhere_another_partition(answer, records):
    """What can't be tried there is left to the next rung."""
    for record, there in zip(
        records, in_another_process(answer, records) or (), strict=False
    ):
        here = answer(*record)
        if there != here:
            return (
                f"this process sends {record[0]!r} to partition {here!r}, and the same"
                f" key to partition {there!r} when your function runs in another"
                " process.\nPython salts hash(), which also changes the order of a"
                " set: each process gets different numbers"
            )
    return None


def not_kafkas_partition(answer, case):
    key, partitions, available = case
    found, truth = answer(key, partitions, available), kafkas(key, len(partitions))
    if found == truth:
        return None
    line = (
        f"key {key!r} goes to partition {found}, and Kafka's own client sends it to"
        f" {truth}."
    )
    hashed = murmur2(key)
    if (
        found in (hashed % len(partitions), abs(hashed - 2**32) % len(partitions))
        and hashed >= 2**31
    ):
        why = (
            f"the highest bit of its hash, {hashed}, is set, and that's Java's minus"
            " sign. Kafka doesn't take abs(), it clears that bit"
        )
    elif available != partitions and found in available:
        why = (
            "for a key, all partitions count, even those without a leader right now,"
            " because otherwise the key would move when a broker dies"
        )
    else:
        why = (
            f"murmur2 gives {hashed}, and without the sign bit {to_positive(hashed)} %"
            f" {len(partitions)} is {truth}"
        )
    return f"{line}\n{why}"


def not_available(answer, case):
    _, partitions, available = case
    found = answer(None, partitions, available)
    if not_a_number(found, partitions):
        return not_a_number(found, partitions)
    return (
        None
        if found in available
        else (
            f"without a key it chose {found}, which has no leader; {available} have"
            " one."
        )
    )


def swallowed(answer, case):
    """A mistake is hidden by a bare except that stands for "no key", or by making bytes
    of it.
    """
    try:
        found = answer(*case)
    except Exception:
        return None
    if not_a_number(found, case[1]):
        return f"the key {case[0]!r} is a mistake, and you returned {found!r}: let it raise an error."
    return taken_for(answer, case[0], found)


def keyed_records(answer, case):
    """The key through the answer, then through Kafka's own partitioner, on a real
    cluster.
    """
    key, partitions, _ = case
    cluster = Cluster(seed=2)
    cluster.create_topic("orders", partitions=len(partitions))
    cluster.producer(partitioner=answer, client_id="yours").send(
        "orders", key=key, value="by yours"
    )
    cluster.producer(client_id="kafkas").send("orders", key=key, value="by Kafka's own")
    cluster.run(seconds=1)
    return cluster.play("partitioner")


# --- 2: predict a number ---


BEFORE, AFTER = 5, 7
EXPECTED = 1000 * 6 / 7  # of 35 hashes only 0 to 4 keep their place
NEAR_ENOUGH = 30


def exercise_2():
    """How many of a thousand keys move from 5 to 7 partitions; 30 either way is near
    enough.
    """
    return Exercise(
        name="moved",
        takes=a_number,
        right=(
            f"{how_many_move()} of the 1,000 customers go elsewhere. That's about six in"
            " seven, because only keys with hash % 35 < 5 stay."
        ),
        hints=(
            (
                "You can also just count: a key moves when its hash % 5 and its"
                " hash % 7 differ."
            ),
            (
                "hash % 5 and hash % 7 repeat together every 35 numbers (their least"
                " common multiple). Look at 0 to 34."
            ),
            (
                "0 to 4 give the same partition in both. Do any of 5 to 34? So how many of"
                " 35 hashes stay?"
            ),
        ),
        rungs=(
            Rung(
                holds="it's what happens",
                broken=not_the_count,
                cases={"1,000 customers": None},
            ),
        ),
    )


@cache
def how_many_move():
    keys = [f"c{number}".encode() for number in range(1000)]
    return sum(kafkas(key, BEFORE) != kafkas(key, AFTER) for key in keys)


def not_the_count(answer, _):
    """Near enough is what is near to these thousand, or to what a pencil says of any
    thousand.
    """
    if any(abs(answer - truth) <= NEAR_ENOUGH for truth in (how_many_move(), EXPECTED)):
        return None
    if 0 < answer < 1:
        return f"{answer} is a share. Count the customers: a number from 0 to 1000."
    if abs(1000 - answer - EXPECTED) <= NEAR_ENOUGH:
        return f"{answer} is about how many stay."
    if abs(answer - 1000 * (1 - BEFORE / AFTER)) <= NEAR_ENOUGH:
        return (
            f"{answer} is about how many the two new partitions get, but the old ones"
            " swap keys, too."
        )
    more = "fewer" if answer > EXPECTED else "more"
    return f"{more} than {answer} go elsewhere."


# --- 3: write a piece, stretch ---


HINTS_3 = (
    "Begin with two cases: is it the hot key, and is there only one partition?",
    (
        "All other keys share all_partitions[:-1]: use the same masked murmur2,"
        " modulo the number of partitions minus one."
    ),
    (
        "A record without a key stays away from the last partition, too: if any other"
        " partition is available, take one of those."
    ),
)


THE_HOT_KEY = {
    "three partitions": (HOT, [0, 1, 2], [0, 1, 2]),
    "its leader is down": (HOT, [0, 1, 2], [0, 1]),
    "one partition": (HOT, [0], [0]),
}
NOT_THE_HOT_KEY = {
    "a key that hashes to the last": (b"ivan", [0, 1, 2], [0, 1, 2]),
    "one partition": (b"alice", [0], [0]),
    "no key": (None, [0, 1, 2], [0, 1, 2]),
    "a name that contains it": (b"megamart-2", [0, 1, 2], [0, 1, 2]),
    "a name that ends in it": (b"hypermegamart", [0, 1, 2], [0, 1, 2]),
    "a name in another case": (b"Megamart", [0, 1, 2], [0, 1, 2]),
    "a name with a space": (b" megamart", [0, 1, 2], [0, 1, 2]),
}
THE_REST = {
    "a hash whose highest bit is set": (
        b"bob",
        [0, 1, 2, 3],
        [0, 1, 2, 3],
    ),
    "a partition without a leader": (b"dave", [0, 1, 2, 3], [0, 3]),
    "the second example": (b"alice", [0, 1, 2], [0, 1, 2]),
    "an empty key": (b"", [0, 1, 2, 3], [0, 1, 2, 3]),
}
NO_KEY_FOR_A_LANE = {
    "one other has a leader": (None, [0, 1, 2], [1, 2]),
    "one partition in all": (None, [0], [0]),
    "only megamart's has a leader": (None, [0, 1, 2], [2]),
}


def exercise_3():
    """One hot key gets the last partition to itself; all others share the rest by
    Kafka's own hash.
    """
    common = {
        "scenario": a_mixed_record,
        "smaller": simpler,
        "describe": lambda case: as_call(case, "route"),
    }
    return Exercise(
        name="route",
        right=(
            "megamart has a partition of its own, and everybody else follows Kafka's"
            " hash over the rest."
        ),
        hints=HINTS_3,
        rungs=(
            Rung(
                holds="the hot key goes to the last partition, always",
                broken=hot_key_elsewhere,
                cases=THE_HOT_KEY,
                scenario=lambda source: (HOT, *a_record(source)[1:]),
                smaller=fewer_partitions,
                describe=common["describe"],
            ),
            Rung(
                holds="nobody else goes there, unless it is the only one",
                broken=company,
                cases=NOT_THE_HOT_KEY,
                **common,
            ),
            Rung(
                holds="all other keys follow Kafka's hash over the rest",
                broken=not_kafkas_rest,
                cases=THE_REST,
                **common,
            ),
            Rung(
                holds=(
                    "a record without a key goes to a partition that has a leader, and"
                    " to megamart's only if no other has one"
                ),
                broken=keyless_astray,
                cases=NO_KEY_FOR_A_LANE,
                **{**common, "scenario": lambda source: (None, *a_record(source)[1:])},
            ),
        ),
    )


def a_mixed_record(source):
    key, *rest = a_record(source)
    return source.choice((key, key, None)), *rest


def hot_key_elsewhere(answer, case):
    found = answer(*case)
    if found == case[1][-1]:
        return None
    return (
        not_a_number(found, case[1])
        or f"megamart went to partition {found}, and its own is {case[1][-1]}."
    )


def company(answer, case):
    key, partitions, available = case
    if key == HOT:
        return None
    found = answer(key, partitions, available)
    lonely = len(partitions) == 1 or (key is None and available == partitions[-1:])
    if not_a_number(found, partitions):
        return not_a_number(found, partitions)
    if found == partitions[-1] and not lonely:
        return (
            f"{'a record without a key' if key is None else repr(key)} went to {found},"
            " which is megamart's."
        )
    return None


def keyless_astray(answer, case):
    return company(answer, case) or not_available(answer, case)


def not_kafkas_rest(answer, case):
    key, partitions, available = case
    if key is None or key == HOT or len(partitions) == 1:
        return None
    found, truth = answer(key, partitions, available), kafkas(key, len(partitions) - 1)
    if found == truth:
        return None
    return (
        f"{key!r} went to {found}. Kafka's hash over the first {len(partitions) - 1}"
        f" partitions gives {truth}."
    )

"""Which partition a record goes to: murmur2 as in Java, uniform sticky, round-robin,
somebody's own rule.
"""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as kafka_python_murmur2

from minikafka import Cluster
from minikafka.clients.partitioners import (
    DefaultPartitioner,
    Partitions,
    RoundRobinPartitioner,
    Unplaced,
    murmur2,
    to_positive,
)
from minikafka.simulation.partitioning import CustomPartitioner, partitioner

# org.apache.kafka.common.utils.UtilsTest.testMurmur2, signed as Java prints them
JAVA = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


def topic(count, available=None, filling=False):
    everyone = list(range(count))
    return Partitions(
        "orders",
        everyone,
        everyone if available is None else available,
        lambda partition: filling,
    )


def three(available=(0, 1, 2), filling=False):
    return topic(3, list(available), filling)


def seeded(seed=7):
    return random.Random(seed).random


@pytest.mark.parametrize("key", JAVA, ids=str)
def test_murmur2_gives_the_numbers_of_javas_own_test(key):
    assert murmur2(key) == JAVA[key] & 0xFFFFFFFF


@given(st.binary(max_size=40))
def test_murmur2_agrees_with_kafka_python_on_any_bytes(key):
    assert murmur2(key) == kafka_python_murmur2(key)


def test_a_negative_hash_is_masked_and_not_made_absolute():
    signed = JAVA[b"21"]
    assert to_positive(murmur2(b"21")) == signed & 0x7FFFFFFF != abs(signed)


@given(st.binary(), st.integers(1, 50))
def test_a_key_always_goes_to_the_same_partition_while_the_count_stays(key, count):
    partitions = topic(count)
    first, second = (
        DefaultPartitioner(seeded(seed)).choose(Unplaced(key), partitions)
        for seed in (1, 2)
    )
    assert (
        first.partition
        == second.partition
        == (kafka_python_murmur2(key) & 0x7FFFFFFF) % count
    )


def test_a_key_may_move_when_the_count_grows():
    rule = DefaultPartitioner(seeded())
    before = {rule.choose(Unplaced(b"%d" % n), three([])).partition for n in range(9)}
    moved = [
        n
        for n in range(9)
        if len(
            {to_positive(murmur2(b"%d" % n)) % 3, to_positive(murmur2(b"%d" % n)) % 4}
        )
        == 2
    ]
    assert before == {0, 1, 2} and moved


def test_a_key_goes_to_its_partition_even_if_that_has_no_leader():
    choice = DefaultPartitioner(seeded()).choose(Unplaced(b"21"), three(available=[]))
    assert choice.partition == to_positive(murmur2(b"21")) % 3


def sticky_run(batch_size, sizes, filling_when_chosen, filling_afterwards):
    rule, chosen = DefaultPartitioner(seeded(), batch_size), []
    for size in sizes:
        choice = rule.choose(Unplaced(), three(filling=filling_when_chosen))
        chosen.append(choice.partition)
        rule.appended(choice.partition, size, three(filling=filling_afterwards))
    return chosen


def changes(chosen):
    return [
        place for place in range(1, len(chosen)) if chosen[place] != chosen[place - 1]
    ]


def test_kip_794_without_a_key_records_stay_together_until_batch_size_bytes_went_there():
    chosen = sticky_run(1000, [100] * 1000, False, False)
    assert all(place % 10 == 0 for place in changes(chosen))
    assert set(chosen) == {0, 1, 2}


def test_kip_794_a_half_filled_batch_is_not_left_behind_before_twice_the_size():
    chosen = sticky_run(1000, [100] * 1000, True, True)
    assert all(place % 20 == 0 for place in changes(chosen))
    assert set(chosen) == {0, 1, 2}


def test_kip_794_a_producer_leaves_a_partition_after_two_full_batches_as_javas_does_in_test_java():
    cluster = Cluster(seed=1)
    cluster.create_topic("orders", partitions=3)
    shop = cluster.producer(linger_ms=1000)
    for _ in range(1500):
        shop.send("orders", value="x" * 100)
    chosen = [
        event.detail["partition"]
        for event in cluster.trace
        if event.kind == "PartitionChosen"
    ]
    assert changes(chosen) and all(place % 296 == 0 for place in changes(chosen))


def test_kip_794_where_nothing_waits_any_more_batch_size_bytes_are_enough():
    chosen = sticky_run(1000, [100] * 1000, False, True)
    assert all(place % 10 == 0 for place in changes(chosen))
    assert any(place % 20 for place in changes(chosen))


def test_without_a_key_only_partitions_with_a_leader_are_chosen():
    rule = DefaultPartitioner(seeded(), 1)
    for _ in range(50):
        choice = rule.choose(Unplaced(), three(available=[1]))
        rule.appended(choice.partition, 10, three(available=[1]))
        assert choice.partition == 1


def test_ignore_keys_spreads_keyed_records_too():
    rule = DefaultPartitioner(seeded(), 1, ignore_keys=True)
    chosen = set()
    for _ in range(50):
        choice = rule.choose(Unplaced(b"alice"), three())
        rule.appended(choice.partition, 10, three())
        chosen.add(choice.partition)
    assert chosen == {0, 1, 2}


def test_round_robin_takes_each_partition_in_turn_whatever_the_key():
    rule = RoundRobinPartitioner()
    chosen = [
        rule.choose(Unplaced(key), three()).partition
        for key in (b"a", b"a", None, b"a", b"a", None)
    ]
    assert chosen == [0, 1, 2, 0, 1, 2]


def test_a_function_of_key_all_and_available_is_a_partitioner():
    def vip(key, all_partitions, available):
        return all_partitions[-1] if key == b"vip" else all_partitions[0]

    rule = partitioner(vip)
    assert [
        rule.choose(Unplaced(key), three()).partition for key in (b"vip", b"bob")
    ] == [2, 0]
    assert rule.choose(Unplaced(b"vip"), three()).rule == "vip"


def test_a_partitioner_of_kafka_python_works_unchanged():
    from kafka.partitioner import DefaultPartitioner as KafkaPythons

    choice = partitioner(KafkaPythons()).choose(
        Unplaced(b"21", b"", ("21", "")), three()
    )
    assert choice.partition == to_positive(murmur2(b"21")) % 3


@pytest.mark.parametrize("answer", [3, -1, None, "0", True, 1.0])
def test_an_answer_that_is_no_partition_is_refused_in_plain_words(answer):
    with pytest.raises(
        ValueError,
        match=r"the partitioner <lambda> returned .*; orders has partitions 0 to 2",
    ):
        CustomPartitioner(lambda *_: answer).choose(Unplaced(b""), three())


def test_a_partitioner_that_is_none_of_these_is_refused():
    with pytest.raises(ValueError, match="round_robin"):
        partitioner("random")

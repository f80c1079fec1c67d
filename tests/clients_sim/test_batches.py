"""Batches: what they weigh, when they close, and in which order they are sent again."""

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minikafka.clients.accumulator import Accumulator, Batch, record_size
from minikafka.clients.structs import TopicPartition
from minikafka.wire.records import BATCH_OVERHEAD, encode_batch

ORDERS = TopicPartition("orders", 0)

data = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.text(max_size=5), data), max_size=3)
records = st.lists(
    st.tuples(st.integers(0, 2**40), data, data, headers), min_size=1, max_size=80
)


@given(records)
def test_a_batch_knows_its_size_to_the_byte_before_it_is_encoded(sent):
    batch = Batch(ORDERS, 0)
    for timestamp, key, value, own_headers in sent:
        size_bytes = batch.room_for(timestamp, key, value, own_headers)
        batch.append(timestamp, key, value, own_headers, size_bytes)
    assert batch.size_bytes == len(encode_batch(batch.records))


def test_an_empty_record_takes_7_bytes_in_a_batch():
    assert record_size(0, 0, None, None, ()) == 7 and BATCH_OVERHEAD == 61


@given(st.lists(st.integers(0, 300), min_size=1, max_size=60))
def test_no_batch_is_larger_than_batch_size_unless_a_single_record_is(sizes):
    accumulator = Accumulator(batch_size=400, linger_ms=5, buffer_memory=10**6)
    for size in sizes:
        accumulator.append(ORDERS, 0, 0, None, b"x" * size, ())
    batches = list(accumulator.queues[ORDERS])
    assert all(batch.size_bytes <= 400 or len(batch.records) == 1 for batch in batches)
    assert [
        len(value) for batch in batches for _, _, value, _ in batch.records
    ] == sizes
    assert accumulator.used_bytes == sum(batch.size_bytes for batch in batches)
    assert all(batch.closed for batch in batches[:-1])


def test_a_batch_waits_for_linger_ms_unless_it_is_full_or_somebody_flushes():
    accumulator = Accumulator(batch_size=400, linger_ms=5, buffer_memory=10**6)
    accumulator.append(ORDERS, 100, 0, None, b"x", ())
    queue = accumulator.queues[ORDERS]
    assert accumulator.ready_at(queue, at_once=False) == 105
    assert accumulator.ready_at(queue, at_once=True) == 100
    accumulator.append(ORDERS, 101, 0, None, b"x" * 390, ())
    assert len(queue) == 2 and accumulator.ready_at(queue, at_once=False) == 100


def test_a_batch_of_exactly_batch_size_bytes_leaves_at_once_and_a_larger_record_lingers():
    accumulator = Accumulator(batch_size=400, linger_ms=5, buffer_memory=10**6)
    room = 400 - BATCH_OVERHEAD - record_size(0, 0, None, b"x" * 100, ())
    for size, ready_at in ((room - 9, 100), (room - 10, 105)):
        queue = accumulator.queues[ORDERS] = deque()
        accumulator.append(ORDERS, 100, 0, None, b"x" * 100, ())
        accumulator.append(ORDERS, 101, 0, None, b"x" * size, ())
        assert (
            len(queue) == 1 and accumulator.ready_at(queue, at_once=False) == ready_at
        )
    queue = accumulator.queues[ORDERS] = deque()
    assert accumulator.append(ORDERS, 100, 0, None, b"x" * 1000, ()).filled == []
    assert accumulator.ready_at(queue, at_once=False) == 105
    assert accumulator.append(ORDERS, 101, 0, None, b"x", ()).filled == [queue[0]]
    assert accumulator.ready_at(queue, at_once=False) == 100


def test_kip_98_batches_that_are_sent_again_keep_the_order_of_their_sequence_numbers():
    accumulator = Accumulator(batch_size=1, linger_ms=0, buffer_memory=10**6)
    for _ in range(4):
        accumulator.append(ORDERS, 0, 0, None, b"x", ())
    sent = [accumulator.take(ORDERS) for _ in range(3)]
    for sequence, batch in enumerate(sent):
        batch.base_sequence = sequence
    for batch in (sent[1], sent[0], sent[2]):
        accumulator.put_back(batch)
    assert [batch.base_sequence for batch in accumulator.queues[ORDERS]] == [
        0,
        1,
        2,
        -1,
    ]


@pytest.mark.parametrize(
    "log_append_time_ms, timestamps", [(-1, [5, 6]), (99, [99, 99])]
)
def test_each_record_learns_its_own_offset_and_time(log_append_time_ms, timestamps):
    batch = Batch(ORDERS, 0)
    futures = [batch.append(timestamp, b"key", None, (), 10) for timestamp in (5, 6)]
    batch.succeed(40, log_append_time_ms)
    found = [future.get() for future in futures]
    assert [each.offset for each in found] == [40, 41] and [
        each.timestamp for each in found
    ] == timestamps
    assert (found[0].serialized_key_size, found[0].serialized_value_size) == (3, -1)

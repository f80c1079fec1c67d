"""Idempotent producers (KIP-98, KIP-360): each batch once, in order, from the newest
epoch only.
"""

import struct

import pytest

from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.storage.producer_state import Producer, decode_snapshot, encode_snapshot
from minikafka.storage.retention import clean_up
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.internal_records import encode_end_transaction
from minikafka.wire.records import read_header
from tests.storage.logs import Now, batch, open_log, recovered

LAST = 2**31 - 1


def send(log, sequence, count=1, epoch=0, producer_id=7, **fields):
    """What a broker does with a producer's batch: check, append unless it is a
    duplicate.
    """
    one = batch(
        *"x" * count,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        **fields,
    )
    duplicate = log.producers.check(read_header(one))
    return duplicate or log.append(one, 0, Now(0))


def refused(log, *args, **fields):
    end = log.log_end_offset
    with pytest.raises(KafkaError) as caught:
        send(log, *args, **fields)
    assert log.log_end_offset == end
    return caught.value.error


def test_kip_98_a_retried_batch_is_answered_with_its_old_offset():
    log = open_log()
    first = send(log, 0, 3)
    send(log, 3, 2)
    again = send(log, 0, 3)
    assert (
        (again.base_offset, again.last_offset)
        == (first.base_offset, first.last_offset)
        == (0, 2)
    )
    assert log.log_end_offset == 5


def test_kip_98_the_last_five_batches_are_known_and_an_older_one_is_out_of_order():
    log = open_log()
    for sequence in range(6):
        send(log, sequence)
    for sequence in range(1, 6):
        assert send(log, sequence).base_offset == sequence
    assert refused(log, 0) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_kip_98_a_gap_in_the_sequence_is_refused():
    log = open_log()
    send(log, 0, 3)
    assert refused(log, 4) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refused(log, 2) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(log, 3).base_offset == 3


def test_kip_98_a_batch_that_overlaps_a_known_one_is_no_duplicate():
    log = open_log()
    send(log, 0, 3)
    assert refused(log, 0, 2) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_kip_98_sequence_numbers_wrap_after_int32():
    log = open_log()
    send(log, LAST - 1, 4)
    assert log.producers.producers[7].last_sequence == 1
    assert send(log, LAST - 1, 4).base_offset == 0
    assert send(log, 2).base_offset == 4
    other = open_log()
    send(other, LAST)
    assert send(other, 0).base_offset == 1


def test_kip_98_an_older_epoch_is_fenced():
    log = open_log()
    send(log, 0, epoch=3)
    assert refused(log, 1, epoch=2) is Error.INVALID_PRODUCER_EPOCH
    assert send(log, 1, epoch=3).base_offset == 1


def test_kip_360_a_newer_epoch_begins_at_zero():
    log = open_log()
    send(log, 0, 5)
    assert refused(log, 5, epoch=1) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(log, 0, epoch=1).base_offset == 5
    assert send(log, 1, epoch=1).base_offset == 6
    assert refused(log, 5) is Error.INVALID_PRODUCER_EPOCH


def test_kip_360_a_duplicate_is_one_of_the_current_epoch_only():
    log = open_log()
    send(log, 0)
    assert send(log, 0, epoch=1).base_offset == 1
    assert send(log, 0, epoch=1).base_offset == 1


def test_kip_360_an_unknown_producer_may_begin_with_any_sequence_number():
    log = open_log()
    assert send(log, 41).base_offset == 0
    assert refused(log, 43) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_producers_do_not_disturb_each_other():
    log = open_log()
    send(log, 0, producer_id=1)
    send(log, 0, producer_id=2)
    assert send(log, 1, producer_id=1).base_offset == 2


def test_a_silent_producer_expires_unless_its_transaction_is_open():
    log = open_log(producer_id_expiration_ms=1000, retention_ms=-1)
    send(log, 0, producer_id=1, timestamp=5000)
    send(log, 0, producer_id=2, timestamp=5000, transactional=True)
    clean_up(log, Now(5999))
    assert set(log.producers.producers) == {1, 2}
    clean_up(log, Now(6000))
    assert set(log.producers.producers) == {2}
    assert send(log, 9, producer_id=1).base_offset == 2


def test_what_a_producer_did_survives_a_clean_stop_a_crash_and_retention():
    disk = MemoryDisk()
    log = open_log(disk, segment_bytes=100, retention_bytes=0)
    send(log, 0)
    send(log, 1)
    log.close()
    log = recovered(
        disk, clean=True, recovery_point=2, segment_bytes=100, retention_bytes=0
    )
    assert send(log, 1).base_offset == 1
    assert refused(log, 3) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    send(log, 2)
    disk.crash()
    log = recovered(disk, recovery_point=2, segment_bytes=100, retention_bytes=0)
    assert send(log, 2).base_offset == 2
    clean_up(log, Now(0))
    assert log.log_start_offset == 3
    disk.crash()
    log = recovered(disk, recovery_point=2, segment_bytes=100)
    assert refused(log, 4) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(log, 3).base_offset == 3


def test_truncation_forgets_what_was_truncated():
    log = open_log(segment_bytes=250)
    for sequence in range(8):
        send(log, sequence)
    log.truncate_to(5)
    assert log.producers.producers[7].last_sequence == 4
    assert send(log, 5).base_offset == 5


def test_a_transaction_is_remembered_from_its_first_batch_to_its_marker():
    disk = MemoryDisk()
    log = open_log(disk)
    send(log, 0, transactional=True)
    send(log, 1, transactional=True)
    assert log.producers.producers[7].transaction_first_offset == 0
    log.close()
    log = recovered(disk, clean=True, recovery_point=2)
    assert log.producers.producers[7].transaction_first_offset == 0
    log.append(bytearray(encode_end_transaction(True, 7, 0, 1, 1000)), 0, Now(0))
    assert log.producers.producers[7].transaction_first_offset is None


def test_a_snapshot_has_kafkas_format():
    disk = MemoryDisk()
    log = open_log(disk)
    send(log, 4, 3, epoch=2, timestamp=1000)
    log.close()
    data = disk.read("orders-0/00000000000000000003.snapshot")
    version, _crc, count = struct.unpack_from(">hIi", data)
    assert (version, count) == (1, 1)
    assert struct.unpack_from(">qhiqiqiq", data, 10) == (7, 2, 6, 2, 2, 1002, -1, -1)
    assert len(data) == 10 + 46


def test_kip_98_what_was_in_flight_at_a_clean_stop_is_recognized_after_it():
    disk = MemoryDisk()
    log = open_log(disk)
    for sequence in range(7):
        send(log, sequence)
    log.close()
    log = recovered(disk, clean=True, recovery_point=7)
    for sequence in range(2, 7):
        assert send(log, sequence).base_offset == sequence
    assert refused(log, 1) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(log, 7).base_offset == 7


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:-1], lambda data: data[:5], lambda data: data[:-1] + b"\x55"],
)
def test_a_damaged_snapshot_is_passed_over(damage):
    with pytest.raises(KafkaError, match="CORRUPT_MESSAGE"):
        decode_snapshot(damage(encode_snapshot({1: Producer(0, 5), 2: Producer(3, 6)})))
    disk = MemoryDisk()
    log = open_log(disk)
    send(log, 0)
    send(log, 1)
    log.close()
    path = "orders-0/00000000000000000002.snapshot"
    disk.write_atomic(path, damage(disk.read(path)))
    log = recovered(disk, clean=True, recovery_point=2)
    assert log.producers.producers[7].last_sequence == 1


def test_only_snapshots_of_segments_and_the_newest_are_kept():
    disk = MemoryDisk()
    log = open_log(disk, segment_bytes=250)
    for sequence in range(8):
        send(log, sequence)
        log.flush()
    log = recovered(disk, recovery_point=8, segment_bytes=250)
    bases = [segment.base_offset for segment in log.segments[1:]]
    snapshots = [
        int(name[:20])
        for name in disk.listdir("orders-0")
        if name.endswith(".snapshot")
    ]
    assert snapshots == sorted({*bases, 8})

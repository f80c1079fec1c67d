"""The index of aborted transactions (KIP-98): one entry a marker, across segments,
cuts, crashes and compaction.
"""

import pytest

from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.storage.index import Aborted, TransactionIndex
from minikafka.storage.retention import clean_up
from minikafka.wire.internal_records import encode_end_transaction
from tests.storage.logs import Now, append, open_log, recovered


def send(log, of, sequence=0, value="x"):
    append(
        log,
        value,
        producer_id=of,
        producer_epoch=0,
        base_sequence=sequence,
        transactional=True,
    )


def end(log, of, committed=False, epoch=0):
    log.append(
        bytearray(encode_end_transaction(committed, of, epoch, 1, 1000)), 0, Now(1000)
    )


def told(log, offset=0, up_to_offset=None):
    stop = log.log_end_offset if up_to_offset is None else up_to_offset
    return [tuple(each) for each in log.aborted_transactions(offset, stop)]


def three_aborts(log):
    """Producer 1: offsets 0 to 4, around producer 2's from 1 to 3; producer 3: 5 and 6;
    4 commits 7 and 8.
    """
    send(log, 1)
    send(log, 2)
    append(log, "plain")
    end(log, 2)
    end(log, 1)
    send(log, 3)
    end(log, 3)
    send(log, 4)
    end(log, 4, committed=True)


ALL = [(1, 0, 4, 5), (2, 1, 3, 0), (3, 5, 6, 7)]


def test_an_entry_says_from_where_to_where_and_where_it_was_stable_then():
    log = open_log()
    three_aborts(log)
    assert told(log) == ALL


def test_it_is_found_by_the_offsets_that_a_reader_gets():
    log = open_log()
    three_aborts(log)
    assert told(log, 0, 1) == ALL[:1]
    assert told(log, 0, 2) == ALL[:2]
    assert told(log, 4) == [ALL[0], ALL[2]]
    assert told(log, 7) == []


def test_a_transaction_is_found_in_the_segment_of_its_marker():
    log = open_log(segment_bytes=100)
    three_aborts(log)
    assert len(log.segments) > 3
    assert told(log) == ALL
    assert told(log, 1, 2) == ALL[:2]


def test_many_entries_are_searched():
    index = TransactionIndex(MemoryDisk(), "index")
    entries = [
        Aborted(1, 2 * number, 2 * number + 1, 2 * number + 2) for number in range(1000)
    ]
    for entry in entries:
        index.append(entry)
    for offset in (0, 1, 2, 129, 1001, 1999, 2000):
        assert list(index.ending_from(offset)) == [
            each for each in entries if each.last_offset >= offset
        ]
    index.truncate(700)
    assert list(index.ending_from(0)) == entries[:350]


@pytest.mark.parametrize("segment_bytes", [100, 1 << 20])
def test_a_transaction_whose_marker_is_cut_off_is_open_again(segment_bytes):
    log = open_log(segment_bytes=segment_bytes)
    three_aborts(log)
    log.truncate_to(6)
    assert told(log) == ALL[:2]
    assert log.producers.first_unstable_offset(6) == 5
    end(log, 3)
    assert told(log) == ALL


@pytest.mark.parametrize("segment_bytes", [100, 1 << 20])
@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("synced", [0, 4, 9])
def test_recovery_finds_them_again(segment_bytes, clean, synced):
    disk = MemoryDisk()
    log = open_log(disk, segment_bytes=segment_bytes)
    three_aborts(log)
    if clean:
        log.close()
    else:
        disk.crash()
    log = recovered(
        disk, clean=clean, recovery_point=synced, segment_bytes=segment_bytes
    )
    assert told(log) == ALL
    log.close()
    assert told(recovered(disk, clean=True, segment_bytes=segment_bytes)) == ALL


def test_recovery_reads_a_damaged_segment_and_builds_its_index_anew():
    disk = MemoryDisk()
    log = open_log(disk, segment_bytes=250)
    three_aborts(log)
    bases = [segment.base_offset for segment in log.segments]
    assert len(bases) > 2
    log.close()
    for base in bases:
        disk.remove(f"orders-0/{base:020}.index")
    log = recovered(disk, clean=True, segment_bytes=250)
    assert told(log) == ALL


def test_an_index_without_its_log_is_removed():
    disk = MemoryDisk()
    log = open_log(disk, segment_bytes=100)
    three_aborts(log)
    log.close()
    last = log.segments[-1].base_offset
    disk.write_atomic(f"orders-0/{last + 5:020}.txnindex", bytes(34))
    recovered(disk, clean=True, segment_bytes=100)
    assert not disk.exists(f"orders-0/{last + 5:020}.txnindex")


def test_retention_takes_the_index_with_its_segment():
    disk = MemoryDisk()
    log = open_log(disk, segment_bytes=100, retention_bytes=0)
    three_aborts(log)
    assert any(name.endswith(".txnindex") for name in disk.listdir("orders-0"))
    clean_up(log, Now(1000))
    assert not any(name.endswith(".txnindex") for name in disk.listdir("orders-0"))
    assert told(log) == []


def test_a_decided_transaction_is_unstable_until_the_high_watermark_has_passed_its_marker():
    log = open_log()
    send(log, 1)
    append(log, "plain")
    send(log, 2)
    assert log.producers.first_unstable_offset(0) == 0
    end(log, 1, committed=True)
    assert log.producers.first_unstable_offset(3) == 0
    assert log.producers.first_unstable_offset(4) == 2
    end(log, 2)
    assert log.producers.first_unstable_offset(4) == 2
    assert log.producers.first_unstable_offset(5) is None

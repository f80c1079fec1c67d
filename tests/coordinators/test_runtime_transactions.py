"""Records of a transaction in a coordinator's log (KIP-98): they count when the marker
says so.
"""

from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.wire.internal_records import (
    encode_coordinator_record,
    encode_end_transaction,
)
from minikafka.wire.records import encode_batch, read_header
from tests.coordinators.scene import ALONE, NOW, Scene, record


def in_a_transaction(log, group, offset, producer_id):
    key, value = encode_coordinator_record(*record(group, offset))
    append(
        log,
        encode_batch(
            [(0, key, value, [])],
            producer_id=producer_id,
            producer_epoch=0,
            transactional=True,
        ),
    )


def marker(log, committed, producer_id):
    append(log, encode_end_transaction(committed, producer_id, 0, 0, 0))


def append(log, batch):
    batch = bytearray(batch)
    log.append(batch, 0, NOW, [read_header(batch)])


def loaded(write):
    """What a new leader knows of a log that `write` filled."""
    disk = MemoryDisk()
    scene = Scene(ALONE, disk).load()
    write(scene.log)
    scene.log.close()
    return Scene(ALONE, disk).load().state.offsets


def test_kip_98_a_transactions_record_counts_from_its_commit_marker_on():
    def open_transaction(log):
        in_a_transaction(log, "a", 5, producer_id=1)

    def committed_transaction(log):
        open_transaction(log)
        marker(log, True, producer_id=1)

    assert loaded(open_transaction) == {}
    assert loaded(committed_transaction) == {"a": 5}


def test_kip_98_a_transactions_record_is_dropped_when_it_aborts():
    def write(log):
        in_a_transaction(log, "a", 5, producer_id=1)
        in_a_transaction(log, "b", 6, producer_id=2)
        marker(log, False, producer_id=1)
        marker(log, True, producer_id=1)
        marker(log, True, producer_id=2)

    assert loaded(write) == {"b": 6}

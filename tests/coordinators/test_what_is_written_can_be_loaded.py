"""Whatever record a coordinator accepts, its successor can read: else the partition
would have no coordinator.
"""

import random

import pytest

from minikafka.coordinators.runtime import CoordinatorRecord, Decision, RecordCodec
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.wire.errors import Error
from minikafka.wire.internal_records import (
    decode_transaction_record,
    encode_coordinator_record,
)
from minikafka.wire.messages import COORDINATOR_RECORD
from minikafka.wire.primitives import MAX_STRING_BYTES
from minikafka.wire.schema import MOST_ITEMS
from tests.coordinators.scene import ALONE, Scene

pytestmark = pytest.mark.slow

MANY = (MOST_ITEMS - 20, MOST_ITEMS + 1)
LONG = (0, 1, MAX_STRING_BYTES - 1, MAX_STRING_BYTES, MAX_STRING_BYTES + 1)


def value_of(field, dice, largest, version):
    """A value of a field; the array of this name gets very many items."""
    if field.array:
        count = dice.choice(MANY) if field.attribute == largest else dice.randrange(2)
        if field.struct:
            item = message(field.struct, dice, largest, version)
            return [item] * (count if field.attribute == largest else max(count, 1))
        return [""] * count if field.type == "string" else [0] * count
    if field.struct:
        return message(field.struct, dice, largest, version)
    if field.type == "string":
        return (
            dice.choice("é\u0800a") * dice.choice(LONG) if dice.random() < 0.1 else "a"
        )
    if field.type == "bytes":
        return bytes(dice.choice((0, 10, 900_000)) if dice.random() < 0.1 else 1)
    return bytes(16) if field.type == "uuid" else 0


def message(struct, dice, largest, version):
    fields = [field for field in struct.fields if version in field.versions]
    return {
        field.attribute: value_of(field, dice, largest, version) for field in fields
    }


def arrays(struct):
    """The names of all arrays within a struct."""
    for field in struct.fields:
        if field.array:
            yield field.attribute
        if field.struct:
            yield from arrays(field.struct)


class Anything:
    """The state of a coordinator that takes every record. seen: of what kinds they
    were.
    """

    def __init__(self):
        self.seen = []

    def apply(self, name, key, value, offset):
        self.seen.append(name)

    def loaded(self, now):
        return []

    def next_deadline(self, key):
        return None


def scene(disk):
    found = Scene(ALONE, disk)
    found.state = found.runtime.shards[0].state = Anything()
    return found.load()


CASES = [
    (name, largest)
    for name, kind in COORDINATOR_RECORD.items()
    for largest in dict.fromkeys(["", *arrays(kind.value_schema.struct)])
    if name != "TransactionLog"  # of a topic of its own
]


@pytest.mark.parametrize(("name", "largest"), CASES)
def test_a_record_is_refused_or_can_be_read_again(name, largest):
    dice = random.Random(f"{name} {largest}")
    kind = COORDINATOR_RECORD[name]
    disk = MemoryDisk()
    writer, accepted = scene(disk), 0
    for _ in range(1 if largest else 12):
        key = message(kind.key_schema.struct, dice, "", 0)
        value = message(kind.value_schema.struct, dice, largest, kind.written_version)
        record = CoordinatorRecord(name, key, value)
        end = writer.log.log_end_offset
        wait = writer.submit(
            "a", lambda _, record=record: Decision([record], {"written": True})
        )
        if wait.error is None:
            accepted += 1
        else:
            assert wait.error.error is Error.UNKNOWN_SERVER_ERROR
            assert writer.log.log_end_offset == end
    assert len(writer.state.seen) == accepted and not writer.notices
    writer.log.close()
    reader = scene(disk)
    assert len(reader.state.seen) == accepted and not reader.notices


def test_a_transaction_of_more_partitions_than_can_be_read_is_refused(monkeypatch):
    codec = RecordCodec(encode_coordinator_record, decode_transaction_record)
    monkeypatch.setattr("tests.coordinators.scene.CODEC", codec)
    disk = MemoryDisk()
    writer = scene(disk)
    for count, error in (
        (MOST_ITEMS - 1, None),
        (MOST_ITEMS, Error.UNKNOWN_SERVER_ERROR),
    ):
        partitions = [{"topic": "orders", "partition_ids": list(range(count))}]
        value = {
            "producer_id": 1,
            "producer_epoch": 0,
            "transaction_timeout_ms": 1,
            "transaction_status": 2,
        }
        value |= {
            "transaction_partitions": partitions,
            "transaction_last_update_timestamp_ms": 1,
        }
        value |= {"transaction_start_timestamp_ms": 1}
        record = CoordinatorRecord("TransactionLog", {"transactional_id": "pay"}, value)
        wait = writer.submit("pay", lambda _, record=record: Decision([record], {}))
        assert (wait.error and wait.error.error) == error
    writer.log.close()
    assert scene(disk).state.seen == ["TransactionLog"]

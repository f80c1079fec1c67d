"""A pass of compaction is stopped at each single operation on the disk: by a crash, or
by a power loss.
"""

from copy import deepcopy
from random import Random

import pytest

from minikafka.server.folder_disk import FolderDisk
from minikafka.simulation.memory_disk import MemoryDisk
from tests.storage.crashing import Crash, CrashingDisk
from tests.storage.tables import (
    DAY_MS,
    compact,
    entries,
    open_table,
    put,
    recovered_table,
    roll,
    table,
)


def history(log):
    """Three groups of segments: values, tombstones new and old, an idempotent producer,
    batches that shrink.
    """
    for number in range(24):
        put(
            log,
            (f"key {number % 5}", str(number)),
            (f"other {number % 3}", str(number)),
            timestamp=1000 + number,
        )
    put(
        log,
        ("key 1", None),
        ("key 2", None),
        timestamp=2000,
        producer_id=5,
        producer_epoch=0,
        base_sequence=0,
    )
    roll(log)
    compact(log, now=3000)
    for number in range(24, 36):
        put(
            log,
            (f"key {number % 2 * 3}", str(number)),
            ("other 1", None),
            timestamp=2100 + number,
        )
    roll(log)
    put(log, ("key 0", "active"))
    log.active.flush()
    return log


CONFIG = {"segment_bytes": 700, "index_interval_bytes": 1}
NOW = 3000 + 2 * DAY_MS


def prepared(disk):
    """The log that is to be compacted, on a disk that can be made to crash, and that
    disk.
    """
    before = history(open_table(disk, **CONFIG))
    crashing = CrashingDisk(disk)
    log = recovered_table(crashing, **CONFIG, recovery_point=before.recovery_point)
    log.first_dirty_offset = before.first_dirty_offset
    crashing.done.clear()
    return log, crashing


def operations_of_a_pass():
    log, crashing = prepared(MemoryDisk())
    compact(log, now=NOW)
    return crashing.done


OPERATIONS = operations_of_a_pass()


def crash_in_a_pass(disk, after):
    """The log, what is on its table, what is in it. The pass is stopped after so many
    operations.
    """
    log, crashing = prepared(disk)
    expected, before = table(log), entries(log)
    crashing.left = after
    with pytest.raises(Crash):
        compact(log, now=NOW)
    return log, expected, before


def restarted(disk, log, after):
    """With the checkpoints of before; every other time all is checked, from the
    beginning.
    """
    recovery_point = log.recovery_point if after % 2 else 0
    again = recovered_table(disk, **CONFIG, recovery_point=recovery_point)
    again.first_dirty_offset = log.first_dirty_offset
    return again


def check(log, expected, before):
    """Right to every reader, and the next pass makes it what an undisturbed one would
    have made of it.
    """
    assert table(log) == expected
    offsets = [offset for offset, _, _ in entries(log)]
    assert offsets == sorted(set(offsets)) and set(entries(log)) <= set(before)
    assert not [
        name
        for name in log.disk.listdir("orders-0")
        if name.endswith((".cleaned", ".swap", ".deleted"))
    ]
    assert keeps_its_indexes(log)
    put(log, ("key 0", "after"))
    roll(log)
    compact(log, now=NOW)
    compact(log, now=NOW + 2 * DAY_MS)
    assert table(log) == expected | {"key 0": "after"}
    assert sorted((key, value) for _, key, value in entries(log)) == sorted(
        table(log).items()
    )
    assert log.producers.producers[5].last_sequence == 1


def test_a_pass_of_three_groups_has_all_kinds_of_operations():
    assert OPERATIONS.count("rename") >= 12 and OPERATIONS.count("remove") >= 9
    assert {"append", "flush", "create"} <= set(OPERATIONS)


@pytest.mark.parametrize("power", [False, True], ids=["crash", "power loss"])
@pytest.mark.parametrize("after", range(len(OPERATIONS)))
def test_a_crash_at_any_operation_leaves_a_log_that_is_right(after, power):
    disk = MemoryDisk()
    log, expected, before = crash_in_a_pass(disk, after)
    if power:
        disk.lose_power(Random(after))
    check(restarted(disk, log, after), expected, before)


@pytest.mark.parametrize("after", range(len(OPERATIONS)))
def test_a_second_crash_at_any_operation_of_the_restart_changes_nothing(after):
    crashed = MemoryDisk()
    log, expected, _ = crash_in_a_pass(crashed, after)
    for left in range(100):
        disk = deepcopy(crashed)
        try:
            restarted(CrashingDisk(disk, left), log, after)
        except Crash:
            again = restarted(disk, log, after)
            assert table(again) == expected and keeps_its_indexes(again)
        else:
            return
    raise AssertionError("a restart of a hundred operations")


def keeps_its_indexes(log):
    """An entry for each batch but the first; the time index of a closed segment always
    has one.
    """
    return all(
        len(segment.index) == len(list(segment.headers(0))) - 1
        and len(segment.time_index)
        for segment in log.segments[:-1]
        if segment.size
    )


def test_the_same_on_a_real_folder(tmp_path):
    first_swap = OPERATIONS.index("rename")
    for after in (first_swap + 2, first_swap + 5, len(OPERATIONS) - 2):
        disk = FolderDisk(tmp_path / str(after))
        log, expected, before = crash_in_a_pass(disk, after)
        disk.close()
        disk = FolderDisk(tmp_path / str(after))
        check(restarted(disk, log, after), expected, before)
        disk.close()

"""A compacted log is a table, whatever is done to it, and whatever happens to its
process and its machine.
"""

from random import Random

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.storage.cleaner import find_dirt
from minikafka.storage.compaction import Compaction
from minikafka.trace import Reason
from minikafka.wire.records import batches, decode_batch
from tests.storage.crashing import Crash, CrashingDisk
from tests.storage.logs import Now
from tests.storage.tables import encoded, entries, open_table, recovered_table, table

RETENTION_MS = 500
CONFIG = {
    "segment_bytes": 500,
    "index_interval_bytes": 150,
    "delete_retention_ms": RETENTION_MS,
}
PAIRS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.booleans()), min_size=1, max_size=4
)


class CompactionModel(RuleBasedStateMachine):
    """Truncation never reaches below the high watermark, and compaction never above it,
    as in a replica.
    """

    def __init__(self):
        super().__init__()
        self.disk = CrashingDisk(MemoryDisk())
        self.log = open_table(self.disk, **CONFIG)
        self.records = []  # (offset, key, value) that were ever written
        self.sequences = [0, 0]
        # producer -> its last sequence, where truncation didn't take what showed it
        self.certain = {}
        self.now, self.number, self.high_watermark = 1000, 0, 0
        # recovery point, log start offset, first dirty offset
        self.checkpoint = (0, 0, 0)
        self.work = None
        self.new_reader()

    # -- what is done to it

    @rule(
        pairs=PAIRS,
        producer=st.none() | st.integers(0, 1),
        codec=st.sampled_from(["none", "gzip"]),
    )
    def append(self, pairs, producer, codec):
        self.number += 1
        written = [
            (key, f"{self.number}.{each}" if valued else None)
            for each, (key, valued) in enumerate(pairs)
        ]
        fields = {"timestamp": self.now, "compression": codec}
        if producer is not None:
            fields |= {
                "producer_id": producer,
                "producer_epoch": 0,
                "base_sequence": self.sequences[producer],
            }
            self.sequences[producer] += len(pairs)
            self.certain[producer] = self.sequences[producer] - 1
        base = self.log.append(encoded(written, **fields), 0, Now(self.now)).base_offset
        self.records += [
            (base + each, key, value) for each, (key, value) in enumerate(written)
        ]

    @rule(by=st.integers(1, 400))
    def time_passes(self, by):
        self.now += by

    @rule(part=st.floats(0, 1))
    def high_watermark_advances(self, part):
        self.high_watermark += int(
            part * (self.log.log_end_offset - self.high_watermark)
        )

    @precondition(lambda self: self.log.active.size)
    @rule()
    def roll(self):
        self.log.roll(self.log.log_end_offset, Reason("segment_ms", "the test says so"))

    @precondition(lambda self: not self.work)
    @rule(buffer_bytes=st.sampled_from([300, 1 << 20]))
    def begin_a_pass(self, buffer_bytes):
        dirt = find_dirt(self.log, self.high_watermark, self.now)
        if dirt.dirty_bytes:
            self.work = Compaction(
                self.log, dirt.end_offset, self.now, buffer_bytes
            ).run()

    @precondition(lambda self: self.work)
    @rule(slices=st.integers(1, 12))
    def go_on_with_the_pass(self, slices):
        for _ in range(slices):
            if next(self.work, None) is None:
                self.work = None
                return

    @rule(part=st.floats(0, 1))
    def truncate(self, part):
        low = max(self.high_watermark, self.log.log_start_offset)
        self.log.truncate_to(low + int(part * (self.log.log_end_offset - low)))
        self.certain.clear()
        self.ends_at(self.log.log_end_offset)

    @rule(part=st.floats(0, 0.3))
    def delete_records(self, part):
        start = self.log.log_start_offset
        self.log.delete_records(start + int(part * (self.high_watermark - start)))
        self.new_reader()

    @rule()
    def write_checkpoints(self):
        self.checkpoint = (
            self.log.recovery_point,
            self.log.log_start_offset,
            self.log.first_dirty_offset,
        )

    # -- what happens to it

    @rule()
    def clean_restart(self):
        self.log.close()
        self.write_checkpoints()
        self.restart(clean=True)

    @rule()
    def crash(self):
        self.restart()

    @rule(operations=st.integers(0, 40))
    def crash_in_a_pass(self, operations):
        if not self.work:
            self.begin_a_pass(1 << 20)
        self.disk.left = operations
        try:
            for _ in self.work or ():
                pass
        except Crash:
            pass
        self.disk.left = -1
        self.restart()

    @rule(seed=st.integers(0, 1000))
    def lose_power(self, seed):
        self.disk.disk.lose_power(Random(seed))
        self.restart()
        self.certain.clear()
        self.ends_at(self.log.log_end_offset)

    def restart(self, clean=False):
        recovery_point, start, first_dirty = self.checkpoint
        arguments = {
            "clean": clean,
            "recovery_point": recovery_point,
            "log_start_offset": start,
        }
        self.log = recovered_table(
            self.disk, **arguments, first_dirty_offset=first_dirty, **CONFIG
        )
        self.work = None
        self.new_reader()

    def ends_at(self, offset):
        self.records = [record for record in self.records if record[0] < offset]
        self.checkpoint = tuple(min(each, offset) for each in self.checkpoint)
        self.high_watermark = min(self.high_watermark, offset)
        self.new_reader()

    # -- a slow reader

    def new_reader(self):
        self.position, self.began, self.seen = self.log.log_start_offset, self.now, {}

    @rule(max_bytes=st.integers(1, 500))
    def read_on(self, max_bytes):
        if (
            self.position < self.log.log_start_offset
            or self.now - self.began >= RETENTION_MS
        ):
            self.new_reader()
        end = self.log.log_end_offset
        for data in self.log.read(self.position, max_bytes, end):
            for header, one in batches(data):
                for record in decode_batch(one):
                    if record.offset >= self.position:
                        self.seen[record.key.decode()] = (
                            record.value and record.value.decode()
                        )
                self.position = header.next_offset
        if self.position == end:
            assert {
                key: value for key, value in self.seen.items() if value is not None
            } == self.expected
            self.new_reader()

    # -- what must hold

    @property
    def expected(self):
        latest = {key: (offset, value) for offset, key, value in self.records}
        start = self.log.log_start_offset
        return {
            key: value
            for key, (offset, value) in latest.items()
            if value is not None and offset >= start
        }

    @invariant()
    def a_reader_sees_the_latest_of_each_key_and_nothing_that_was_not_written(self):
        assert table(self.log) == self.expected
        found = entries(self.log)
        assert [offset for offset, _, _ in found] == sorted(
            {offset for offset, _, _ in found}
        )
        assert set(found) <= set(self.records)

    @invariant()
    def the_last_sequence_of_each_producer_is_known(self):
        for producer, last_sequence in self.certain.items():
            known = self.log.producers.producers.get(producer)
            if known is not None or self.log.log_start_offset == 0:
                assert known.last_sequence == last_sequence

    @invariant()
    def segments_follow_each_other_and_none_is_too_large(self):
        bases = [segment.base_offset for segment in self.log.segments]
        assert bases == sorted(set(bases)) and bases[0] <= self.log.log_start_offset
        assert (
            max(segment.size for segment in self.log.segments)
            <= CONFIG["segment_bytes"] + 100
        )

    @invariant()
    def below_the_first_dirty_offset_no_key_stands_twice(self):
        if self.work is None:
            clean = [
                key
                for offset, key, _ in entries(self.log)
                if offset < self.log.first_dirty_offset
            ]
            assert len(clean) == len(set(clean))


TestCompactionModel = CompactionModel.TestCase
TestCompactionModel.settings = settings(
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    report_multiple_bugs=False,
)

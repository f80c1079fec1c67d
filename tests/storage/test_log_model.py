"""A log behaves like a list of records, whatever is done to it, and whatever happens to
its process, its machine and its disk.
"""

from random import Random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.storage.retention import clean_up
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.records import batches, crc_matches, decode_batch
from tests.storage.logs import Now, batch, open_log, recovered, values

CONFIG = {
    "segment_bytes": 700,
    "index_interval_bytes": 150,
    "retention_ms": 500,
    "retention_bytes": 3000,
}
PRODUCERS = 3


class LogModel(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.disk = MemoryDisk()
        self.log = open_log(self.disk, **CONFIG)
        self.records = []  # (offset, value, timestamp, base offset of its batch)
        # (producer, base offset, last sequence) of each idempotent batch
        self.sent = []
        self.sequences = [0] * PRODUCERS
        self.now = 1000
        self.epoch = 0
        self.number = 0
        self.checkpoint = (0, 0)  # recovery point, log start offset

    # -- what is done to it

    @rule(
        count=st.integers(1, 4),
        size=st.integers(0, 120),
        ago=st.integers(0, 300),
        producer=st.none() | st.integers(0, PRODUCERS - 1),
    )
    def append(self, count, size, ago, producer):
        data, end = self.batch(count, size, ago, producer), self.end
        appended = self.log.append(data, self.epoch, Now(self.now))
        assert appended.base_offset == end
        self.take(data)

    def batch(self, count, size, ago, producer):
        self.number += 1
        texts = [f"{self.number}.{each}" + "x" * size for each in range(count)]
        fields = {}
        if producer is not None:
            fields = {
                "producer_id": producer,
                "producer_epoch": 0,
                "base_sequence": self.sequences[producer],
            }
        return batch(*texts, timestamp=self.now - ago, **fields)

    def take(self, data):
        for header, one in batches(data):
            for record in decode_batch(one):
                self.records.append(
                    (
                        record.offset,
                        record.value.decode(),
                        record.timestamp,
                        header.base_offset,
                    )
                )
            if header.producer_id >= 0:
                self.sequences[header.producer_id] = header.last_sequence + 1
                self.sent.append(
                    (header.producer_id, header.base_offset, header.last_sequence)
                )

    @rule(by=st.integers(1, 400))
    def time_passes(self, by):
        self.now += by

    @rule()
    def new_leader(self):
        self.epoch += 1

    @rule(part=st.floats(0, 1))
    def delete_records(self, part):
        offset = self.offset_at(part)
        self.log.delete_records(offset)
        assert self.log.log_start_offset == offset

    @rule(part=st.floats(0, 1))
    def truncate(self, part):
        offset = self.offset_at(part)
        self.log.truncate_to(offset)
        kept = [record for record in self.records if record[0] < offset]
        if kept and any(
            record[3] == kept[-1][3] for record in self.records[len(kept) :]
        ):
            # a batch is never cut in two
            kept = [record for record in kept if record[3] != kept[-1][3]]
        self.end_at(kept)

    @rule()
    def clean_up(self):
        start, end = self.log.log_start_offset, self.end
        clean_up(self.log, Now(self.now))
        assert start <= self.log.log_start_offset <= self.end == end

    @rule()
    def flush(self):
        self.log.flush()
        assert self.log.recovery_point == self.log.log_end_offset

    @rule()
    def write_checkpoints(self):
        self.checkpoint = (self.log.recovery_point, self.log.log_start_offset)

    @rule()
    def delete_all_and_start_over(self):
        offset = self.end + 5
        self.log.truncate_fully_and_start_at(offset)
        self.records, self.sent, self.checkpoint = [], [], (offset, offset)
        self.sequences = [0] * PRODUCERS

    # -- what happens to it

    @rule()
    def clean_restart(self):
        self.log.close()
        end, start = self.log.log_end_offset, self.log.log_start_offset
        self.checkpoint = (end, start)
        self.log = recovered(
            self.disk, clean=True, recovery_point=end, log_start_offset=start, **CONFIG
        )
        assert self.log.log_end_offset == end

    @rule(budget_bytes=st.integers(61, 2000))
    def crash(self, budget_bytes):
        end = self.log.log_end_offset
        self.disk.crash()
        self.restart(budget_bytes)
        assert self.log.log_end_offset == end

    @rule(seed=st.integers(0, 1000))
    def lose_power(self, seed):
        self.disk.lose_power(Random(seed))
        end = self.end
        self.restart(1 << 20)
        assert min(self.checkpoint[0], end) <= self.log.log_end_offset <= end
        self.end_at(
            [record for record in self.records if record[0] < self.log.log_end_offset]
        )

    def restart(self, budget_bytes):
        recovery_point, start = self.checkpoint
        self.log = recovered(
            self.disk,
            budget_bytes=budget_bytes,
            recovery_point=recovery_point,
            log_start_offset=start,
            **CONFIG,
        )

    @rule(room=st.integers(0, 300), size=st.integers(0, 200))
    def the_disk_is_full(self, room, size):
        self.disk.capacity_bytes = self.disk.used_bytes + room
        end = self.log.log_end_offset
        data = self.batch(2, size, 0, None)
        try:
            self.log.append(data, self.epoch, Now(self.now))
        except KafkaError as error:
            assert error.error is Error.KAFKA_STORAGE_ERROR
            assert self.log.log_end_offset == end
        else:
            self.take(data)
        self.disk.capacity_bytes = None

    # -- what must hold

    @property
    def end(self):
        return self.log.log_end_offset

    def offset_at(self, part):
        return self.log.log_start_offset + int(
            part * (self.log.log_end_offset - self.log.log_start_offset)
        )

    def end_at(self, kept):
        self.records = kept
        recovery_point, start = self.checkpoint
        self.checkpoint = (min(recovery_point, self.end), min(start, self.end))
        self.sent = [batch for batch in self.sent if batch[1] < self.end]
        self.sequences = [0] * PRODUCERS
        for producer, _, last_sequence in self.sent:
            self.sequences[producer] = last_sequence + 1

    @property
    def visible(self):
        return [
            record for record in self.records if record[0] >= self.log.log_start_offset
        ]

    @invariant()
    def all_records_are_there_in_order(self):
        assert values(self.log) == [value for _, value, _, _ in self.visible]

    @invariant()
    def segments_follow_each_other(self):
        bases = [segment.base_offset for segment in self.log.segments]
        assert bases == sorted(set(bases))
        assert bases[0] <= self.log.log_start_offset <= self.log.log_end_offset

    @invariant()
    def producers_are_known_as_long_as_their_records_are_there(self):
        known = self.log.producers.producers
        last = {
            producer: (base_offset, last_sequence)
            for producer, base_offset, last_sequence in self.sent
        }
        assert set(known) <= set(last)
        for producer, (base_offset, last_sequence) in last.items():
            if producer in known or base_offset >= self.log.log_start_offset:
                assert known[producer].last_sequence == last_sequence

    @rule(part=st.floats(0, 1), max_bytes=st.integers(0, 1500))
    def read(self, part, max_bytes):
        offset = self.offset_at(part)
        found = self.log.read(offset, max_bytes, self.log.log_end_offset)
        if offset == self.log.log_end_offset:
            assert found == []
            return
        whole = list(batches(found[0]))
        assert all(crc_matches(one, header) for header, one in whole)
        assert sum(map(len, found)) == sum(header.size_bytes for header, _ in whole)
        assert sum(map(len, found)) <= max_bytes or len(whole) == 1
        expected = [record for record in self.records if record[0] >= offset]
        assert whole[0][0].last_offset >= expected[0][0] >= whole[0][0].base_offset
        read = [
            record.value.decode()
            for _, one in whole
            for record in decode_batch(one)
            if record.offset >= offset
        ]
        assert read == [value for _, value, _, _ in expected[: len(read)]]

    @rule(ago=st.integers(0, 600))
    def look_up_a_timestamp(self, ago):
        timestamp = max(self.now - ago, 0)
        expected = next(
            (record for record in self.visible if record[2] >= timestamp), None
        )
        found = self.log.offset_for_timestamp(timestamp)
        assert (found and found[:2]) == (expected and (expected[2], expected[0]))

    @precondition(lambda self: self.visible)
    @rule()
    def look_up_the_largest_timestamp(self):
        found = self.log.max_timestamp()
        assert found is not None
        assert found[0] >= max(record[2] for record in self.visible)

    @rule(part=st.floats(0, 1))
    def read_outside(self, part):
        for offset in (self.log.log_start_offset - 1, self.log.log_end_offset + 1):
            with pytest.raises(KafkaError, match="OFFSET_OUT_OF_RANGE"):
                self.log.read(offset, 100, self.log.log_end_offset)


TestLogModel = LogModel.TestCase
TestLogModel.settings = settings(
    max_examples=settings().max_examples * 3 // 2,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    report_multiple_bugs=False,
)

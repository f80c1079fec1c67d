"""A runtime over one partition, without a broker."""

from dataclasses import dataclass, replace

from minikafka.clock import Now
from minikafka.cluster.metadata import Partition
from minikafka.cluster.replica import Replica
from minikafka.cluster.timers import Timers
from minikafka.cluster.waiting import Wait
from minikafka.coordinators.runtime import (
    CoordinatorRecord,
    Decision,
    Effect,
    RecordCodec,
    Runtime,
)
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.storage.config import LogConfig
from minikafka.storage.log import Log
from minikafka.storage.recovery import recover
from minikafka.trace import Trace
from minikafka.wire.internal_records import (
    decode_coordinator_record,
    encode_coordinator_record,
)

NOW = Now(1_000, 1_767_225_600_000)
WRITE_TIMEOUT_MS = 5000
CODEC = RecordCodec(encode_coordinator_record, decode_coordinator_record)


@dataclass(frozen=True)
class Note(Effect):
    """What the state notes down, and what comes of it."""

    text: str = ""
    leads_to: Decision | None = None


class Counters:
    """A state of the simplest kind: the committed offset of each group. noted: what was
    carried out, with the offsets of then; given_up: what was not, and why.
    """

    def __init__(self):
        self.offsets = {}
        self.pending = {}
        self.due = {}
        self.ticked = []
        self.tick_records = []
        self.noted = []
        self.given_up = []

    def apply(self, name, key, value, offset):
        self.offsets[key.group] = value.offset

    def apply_pending(self, producer_id, name, key, value):
        self.pending.setdefault(producer_id, []).append((name, key, value))

    def end_transaction(self, producer_id, committed):
        pending = self.pending.pop(producer_id, [])
        for each in pending if committed else ():
            self.apply(*each, offset=-1)

    def loaded(self, now):
        return self.offsets

    def carry_out(self, key, effect, now):
        if effect.text == "tick":
            self.ticked.append((key, now.monotonic_ms))
            del self.due[key]
        else:
            self.noted.append((effect.text, dict(self.offsets)))
        return effect.leads_to

    def give_up(self, key, failed, error, now):
        self.given_up.append((failed.text, error.error))

    def tick(self, key, now):
        return Decision(self.tick_records, None, Note("tick"))

    def next_deadline(self, key):
        return self.due.get(key)


def record(group, offset):
    value = {"offset": offset, "metadata": "", "commit_timestamp": 0}
    return CoordinatorRecord(
        "OffsetCommit", {"group": group, "topic": "orders", "partition": 0}, value
    )


ALONE, TWO = (1,), (1, 2)  # who is in sync


class Scene:
    """A runtime over one partition, led by broker 1; broker 2, if it is in sync, has
    what `commit` gives it. `done` lists what was answered, in order; `written` the
    log's ends that followers were told of.
    """

    def __init__(self, isr=TWO, disk=None, committed=None):
        self.log = Log(
            disk or MemoryDisk(),
            "offsets-0",
            LogConfig(),
            Trace("broker 1", []),
            "offsets",
            0,
        )
        list(recover(self.log, 1 << 20, print))
        self.done, self.written, self.notices = [], [], []
        high_watermark = self.log.log_end_offset if committed is None else committed
        partition = Partition((1, 2), isr, 1, 0, 0)
        self.replica = Replica(bytes(16), partition, self.log, 1, self, high_watermark)
        self.state = Counters()
        self.now = NOW
        self.trace = Trace("broker 1", [])
        self.timers = Timers()
        self.runtime = Runtime(
            lambda _: self.state,
            CODEC,
            WRITE_TIMEOUT_MS,
            self.tell,
            self.trace,
            self.timers,
        )
        self.runtime.elected(0, self.replica)

    def tell(self, line, error):
        self.notices.append(line)

    def appended(self, replica, size_bytes, now):
        self.written.append(self.log.log_end_offset)

    def high_watermark_advanced(self, replica, size_bytes):
        """The broker tells the runtime when the request at hand has been dealt with."""

    def load(self):
        while self.timers.next() == 0:
            self.runtime.tick(NOW, 1)
        return self

    def submit(self, group, decide):
        wait = Wait()
        wait.then(self.done.append)
        self.runtime.submit(0, group, decide, wait, self.now)
        end = -1
        while self.replica.partition.isr == ALONE and end < self.log.log_end_offset:
            end = self.log.log_end_offset
            self.runtime.high_watermark_advanced(0, self.now)
        return wait

    def add(self, group):
        """Add one to a group's offset."""

        def decide(now):
            offset = self.state.offsets.get(group, 0) + 1
            return Decision([record(group, offset)], {"offset": offset})

        return self.submit(group, decide)

    def commit(self):
        self.replica.follower_fetched(2, self.log.log_end_offset, self.now)
        self.runtime.high_watermark_advanced(0, self.now)

    def go_to(self, monotonic_ms):
        self.now = Now(monotonic_ms, NOW.wall_ms + monotonic_ms - NOW.monotonic_ms)
        self.runtime.tick(self.now, 1 << 20)

    def only_some_in_sync(self):
        """Fewer replicas than min.insync.replicas. Returns the partition as it was."""
        whole = self.replica.partition
        self.replica.partition = replace(whole, isr=())
        return whole

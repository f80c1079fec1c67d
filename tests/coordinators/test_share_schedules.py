"""Random schedules of a share partition and its coordinator's state (KIP-932): members
acquire, say something, leave or fall silent; writes fail; the leader crashes and another
one goes on from what was written.

What must never happen: a record acknowledged twice, or lost without being archived, or
delivered more often than the limit, or a start offset that goes back.
"""

from collections import Counter
from random import Random

import pytest

from minikafka.cluster.share_acquiring import Asked, Limits, Read
from minikafka.cluster.share_batches import RecordState
from minikafka.cluster.share_partition import AcknowledgementBatch, SharePartition
from minikafka.cluster.share_window import Range
from minikafka.coordinators.share_states import combined
from minikafka.wire.errors import KafkaError
from tests.seeds import seeds

MEMBERS, RECORDS, LOCK_MS = ("a", "b", "c"), 60, 30_000
SCHEDULES, STEPS = 1000, 60


class Schedule:
    """One share partition under chance. written: what its coordinator keeps."""

    def __init__(self, seed):
        self.random = Random(seed)
        self.limits = Limits(self.random.choice((10, 40)), 3, LOCK_MS, renews=True)
        self.now_ms = 0
        self.written, self.start = (), 0
        self.deliveries = Counter()  # since the last crash, with what was written
        self.accepted = {}
        self.archived = set()
        self.log = self._batches()
        self.partition = self._new()

    def _batches(self):
        batches, first = [], 0
        while first < RECORDS:
            last = first + self.random.randint(0, 7)
            batches.append(Range(first, last))
            first = last + 1
        return batches

    def _new(self):
        return SharePartition(lambda: self.limits, self.start, self.written)

    def run(self):
        steps = (
            [self.acquire] * 5
            + [self.say] * 6
            + [self.pass_time] * 2
            + [self.leave, self.crash]
        )
        for _ in range(STEPS):
            before = self.partition.window.start_offset
            step = self.random.choice(steps)
            step()
            if step != self.crash:
                assert self.partition.window.start_offset >= before
        self.finish()

    def acquire(self):
        offset = self.partition.window.next_fetch_offset()
        read = [batch for batch in self.log if batch.last >= offset]
        read = read[: self.random.randint(1, 4)]
        member = self.random.choice(MEMBERS)
        most, strict = self.random.randint(1, 20), self.random.random() < 0.3
        if not self.partition.can_acquire:
            return []
        asked = Asked(member, most, self.random.randint(1, 20), strict)
        acquired = self.partition.acquire(asked, Read(offset, read), self.now_ms)
        for first, last, count in acquired:
            for at in range(first, last + 1):
                assert at not in self.accepted, "what was accepted is not delivered"
                assert at not in self.archived, "nor is what was archived"
                assert count <= self.limits.most_deliveries
        return acquired

    def say(self):
        """Something of records that some member has, or has not."""
        member = self.random.choice(MEMBERS)
        parts = [
            part for batch in self.partition.window.batches for part in batch.parts
        ]
        if not parts:
            return
        part = self.random.choice(parts)
        first = self.random.randint(part.first, part.last)
        last = self.random.randint(first, part.last)
        types = [self.random.randint(0, 4) for _ in range(first, last + 1)]
        if self.random.random() < 0.7:
            types = [self.random.choice((1, 1, 2, 3))]
        said = AcknowledgementBatch(first, last, types)
        try:
            change = self.partition.acknowledge(member, [said], self.now_ms)
        except KafkaError:
            return
        self.write(change)

    def leave(self):
        self.write(self.partition.release(self.random.choice(MEMBERS)))

    def write(self, change):
        """A write may fail, before or after it was kept."""
        fate = self.random.random()
        if fate > 0.1:
            self.keep(change.batches)
        if fate > 0.2:
            self.partition.committed(change)
            self.note(change.batches)
        else:
            if fate > 0.1:
                self.note(change.batches)
                self.start_again()  # nobody knows: another leader reads what is kept
                return
            self.partition.rolled_back(change, self.now_ms)

    def keep(self, batches):
        start = self.partition.window.start_offset
        assert start >= self.start, "the start offset never goes back"
        self.start = start
        self.written = combined(self.written, batches, start)

    def note(self, batches):
        for first, last, state, _ in batches:
            for at in range(first, last + 1):
                if state == RecordState.ACKNOWLEDGED:
                    self.accepted[at] = self.accepted.get(at, 0) + 1
                    assert self.accepted[at] == 1, "a record is accepted once"
                elif state == RecordState.ARCHIVED:
                    self.archived.add(at)

    def pass_time(self):
        self.now_ms += self.random.choice((1000, LOCK_MS))
        batches = self.partition.locks_end(self.now_ms)
        if batches:
            self.keep(batches)
            self.note(batches)
        self.partition.locks_written()

    def crash(self):
        self.start_again()

    def start_again(self):
        self.partition = self._new()

    def finish(self):
        """Everything is delivered, as long as it takes, and accepted."""
        for _ in range(1000):
            acquired = self.acquire_all()
            if not acquired:
                self.now_ms += LOCK_MS
                batches = self.partition.locks_end(self.now_ms)
                if (
                    not batches
                    and self.partition.window.start_offset > self.log[-1].last
                ):
                    break
                self.keep(batches)
                self.note(batches)
                self.partition.locks_written()
                continue
            said = [AcknowledgementBatch(one[0], one[1], [1]) for one in acquired]
            change = self.partition.acknowledge("z", said, self.now_ms)
            self.keep(change.batches)
            self.partition.committed(change)
            self.note(change.batches)
        done = self.accepted.keys() | self.archived
        assert done == set(range(self.log[-1].last + 1)), "nothing is lost"

    def acquire_all(self):
        offset = self.partition.window.next_fetch_offset()
        read = [batch for batch in self.log if batch.last >= offset]
        if not self.partition.can_acquire:
            return []
        asked = Asked("z", 500, 500, strict=False)
        return self.partition.acquire(asked, Read(offset, read), self.now_ms)


@pytest.mark.parametrize("part", seeds(range(100)))
def test_no_record_is_lost_or_accepted_twice_or_delivered_too_often(part):
    each = SCHEDULES // 100
    for seed in range(part * each, (part + 1) * each):
        try:
            Schedule(seed).run()
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error

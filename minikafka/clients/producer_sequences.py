"""The numbers of a producer's batches: its id, its epoch, and for each partition the
sequence number of the next record (KIP-98).

With these numbers a leader recognizes a retry of a batch it already has, and refuses a
gap. When a numbered batch is given up, the numbers after it can't be right any more:
the epoch grows, and they begin at 0 again (KIP-360).
"""

from collections.abc import Iterable

from minikafka.clients.accumulator import Batch
from minikafka.clients.structs import TopicPartition
from minikafka.wire.records import MAX_SEQUENCE

MAX_EPOCH = 2**15 - 1
NO_NUMBER = -1


class Sequences:
    """The sequence numbers of one producer. producer_id, producer_epoch: -1 before it
    has them. has_gap: a numbered batch was given up, so the epoch must grow before
    anything else is sent; that waits for all answers.
    """

    def __init__(self) -> None:
        self.producer_id = -1
        self.producer_epoch = -1
        self.has_gap = False
        self._next: dict[TopicPartition, int] = {}
        # numbered batches, from the first one without a final answer
        self._numbered: dict[TopicPartition, list[Batch]] = {}

    def begin_next_epoch(self, incomplete: Iterable[Batch]) -> None:
        """incomplete: the batches that will be renumbered. After the last epoch there
        is another producer id.
        """
        self.has_gap = False
        self.producer_epoch += 1
        if self.producer_epoch == MAX_EPOCH:
            self.producer_id = -1
        self._next.clear()
        self._numbered.clear()
        for batch in incomplete:
            batch.base_sequence = NO_NUMBER

    def number(self, batch: Batch) -> None:
        """Give the batch its sequence number, unless it has one."""
        if batch.base_sequence != NO_NUMBER:
            return
        partition = batch.partition
        batch.base_sequence = self._next.get(partition, 0)
        batch.producer = (self.producer_id, self.producer_epoch)
        next_sequence = batch.base_sequence + len(batch.records)
        self._next[partition] = next_sequence & MAX_SEQUENCE
        self._numbered.setdefault(partition, []).append(batch)

    def may_go(self, batch: Batch, most_in_flight: int) -> bool:
        """Whether a batch may be sent. A retry goes alone, the lowest number first. A
        leader recognizes a producer's last five batches, so no more than that may be
        sent from the first unanswered one on, over however many connections: one may
        lead to a dead leader.
        """
        numbered = self._numbered.get(batch.partition, [])
        if batch.base_sequence == NO_NUMBER:
            return len(numbered) < most_in_flight
        return not numbered or numbered[0] is batch

    def waits_for_earlier(self, batch: Batch) -> bool:
        """Whether a batch with a lower number has no final answer yet."""
        return self._numbered[batch.partition][0] is not batch

    def given_up(self, batch: Batch) -> None:
        """The batch won't be sent again: its numbers are missing."""
        if batch.base_sequence != NO_NUMBER:
            self.has_gap = True

    def forget_done(self, partition: TopicPartition) -> None:
        """Forget the first batches that have their final answers."""
        numbered = self._numbered.get(partition, [])
        while numbered and numbered[0].done:
            del numbered[0]

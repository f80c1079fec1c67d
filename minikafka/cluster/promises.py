"""What must be replicated before a request is answered: a producer's batches with
acks=all, and the markers of a transaction.

Records below the high watermark are committed. Until then a promise can be broken: the
leader may be replaced, or too few replicas may be in sync when the high watermark gets
there.
"""

from collections.abc import Callable
from typing import NamedTuple

from minikafka.clock import Now
from minikafka.cluster.replica import Replica
from minikafka.cluster.waiting import Answer, Wait
from minikafka.wire.errors import Error, KafkaError


class Promise(NamedTuple):
    """acks=all: the records in the answer for one partition, up to this offset, must
    first be on all in-sync replicas.
    """

    replica: Replica
    leader_epoch: int
    next_offset: int
    answer: Answer
    refuse: Callable[[KafkaError], Answer]  # the fields of the answer if that fails

    def end_if_decided(self) -> bool:
        """Check whether the records are committed, or can no longer be committed by
        this leader. In that case the error is written into the answer. Returns False if
        it is still undecided.
        """
        if self.replica.leader_epoch != self.leader_epoch or not self.replica.is_leader:
            self.fail(Error.NOT_LEADER_OR_FOLLOWER)
        elif self.replica.high_watermark < self.next_offset:
            return False
        elif not self.replica.enough_in_sync:
            self.fail(Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        return True

    def fail(self, error: Error) -> None:
        self.answer.update(self.refuse(KafkaError(error)))


def replicated(
    pending: list[Promise],
    deadline_ms: int,
    tell: Callable[[Replica, int, Answer], None],
    answer: Callable[[], Answer],
) -> Wait:
    """Wait until the high watermarks have passed the appended records. At the deadline
    the partitions still missing get REQUEST_TIMED_OUT, although their records may yet
    be committed. tell: called at the end of each promise.
    """

    def attempt(wait: Wait, now: Now, expired: bool) -> Answer | None:
        still = []
        for promise in pending:
            if not promise.end_if_decided():
                if not expired:
                    still.append(promise)
                    continue
                promise.fail(Error.REQUEST_TIMED_OUT)
            tell(promise.replica, promise.next_offset - 1, promise.answer)
        pending[:] = still
        return None if pending else answer()

    keys = []
    for promise in pending:
        log = promise.replica.log
        keys.append(("high_watermark", log.topic, log.partition))
    return Wait(keys, deadline_ms, attempt)

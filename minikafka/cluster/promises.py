"""What must be replicated before somebody is answered: acks=all of a producer, and the
markers of a transaction.

Committed is what the high watermark has passed. Until then a promise can be broken: the
leader may have to go, or too few replicas be in sync when it is there.
"""

from collections.abc import Callable
from typing import NamedTuple

from minikafka.clock import Now
from minikafka.cluster.replica import Replica
from minikafka.cluster.waiting import Answer, Wait
from minikafka.wire.errors import Error, KafkaError


class Promise(NamedTuple):
    """acks=all: the records of one partition's answer, up to this offset, are to be on
    all in-sync replicas first.
    """

    replica: Replica
    leader_epoch: int
    next_offset: int
    answer: Answer
    refuse: Callable[[KafkaError], Answer]  # the fields of the answer if that fails

    def end_if_decided(self) -> bool:
        """Look whether the records are committed, or can't be by this leader any more:
        what went wrong is written into the answer. False: it goes on waiting.
        """
        if self.replica.leader_epoch != self.leader_epoch or not self.replica.is_leader:
            self.break_(Error.NOT_LEADER_OR_FOLLOWER)
        elif self.replica.high_watermark < self.next_offset:
            return False
        elif not self.replica.enough_in_sync:
            self.break_(Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        return True

    def break_(self, error: Error) -> None:
        self.answer.update(self.refuse(KafkaError(error)))


def replicated(
    pending: list[Promise],
    deadline_ms: int,
    tell: Callable[[Replica, int, Answer], None],
    answer: Callable[[], Answer],
) -> Wait:
    """The answer waits until the high watermarks have passed what was appended; at the
    deadline the others hear REQUEST_TIMED_OUT, though their records may still be
    committed. tell: hears of each promise's end.
    """

    def attempt(wait: Wait, now: Now, expired: bool) -> Answer | None:
        still = []
        for promise in pending:
            if not promise.end_if_decided():
                if not expired:
                    still.append(promise)
                    continue
                promise.break_(Error.REQUEST_TIMED_OUT)
            tell(promise.replica, promise.next_offset - 1, promise.answer)
        pending[:] = still
        return None if pending else answer()

    keys = []
    for promise in pending:
        log = promise.replica.log
        keys.append(("high_watermark", log.topic, log.partition))
    return Wait(keys, deadline_ms, attempt)

"""Markers on their way: the coordinator has decided how a transaction ended, and every partition of it must hear so.

Each leader is asked with one request at a time (WriteTxnMarkers, KIP-98), which takes along what has gathered for it
meanwhile. A partition is asked until its leader has written the marker, wherever the leadership moves; a partition that
was deleted needs none. Whoever took over as coordinator has asked with a newer epoch: then this one stops.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from minikafka.broker.calls import Broker
from minikafka.broker.peers import Gathering
from minikafka.clock import Now
from minikafka.cluster.metadata import NO_LEADER
from minikafka.coordinators.transaction_states import Status, TopicPartition, Transaction
from minikafka.wire.errors import Error
from minikafka.wire.schema import Message, nested

LANE = "markers"
VERSION = 2
RETRY_BACKOFF_MS = 100
OVER = (Error.INVALID_PRODUCER_EPOCH, Error.TRANSACTION_COORDINATOR_FENCED)  # somebody else goes on


@dataclass(slots=True, eq=False)
class Pending:
    """A transaction whose markers are being written. partition, epoch: of the coordinator's log. left: the partitions
    that have none yet.
    """

    partition: int
    epoch: int
    transaction: Transaction
    left: set[TopicPartition] = field(default_factory=set)


Part = tuple[Pending, list[TopicPartition]]


class Markers:
    """complete(pending, now): all are written. The answer is `completed`."""

    def __init__(self, broker: Broker, complete: Callable[[Pending, Now], None]) -> None:
        self._broker = broker
        self._complete = complete
        self._pending: dict[str, Pending] = {}
        self.requests: Gathering[Part] = Gathering(broker, LANE, "WriteTxnMarkers", VERSION, asked, self._take)

    def send(self, pending: Pending, now: Now) -> None:
        """Begin with a transaction."""
        self._pending[pending.transaction.transactional_id] = pending
        self._route(pending, sorted(pending.left), now)

    def drop(self, partition: int) -> None:
        """This node coordinates no longer what lies in a partition of `__transaction_state`."""
        self._pending = {name: each for name, each in self._pending.items() if each.partition != partition}

    def completed(self, pending: Pending, done: bool, now: Now) -> None:
        """That all markers are written is in the log now, or has to be tried again."""
        if done and self._is_current(pending):
            del self._pending[pending.transaction.transactional_id]
        elif not done:
            self._later((pending, []), now)

    # -- inside

    def _is_current(self, pending: Pending) -> bool:
        return self._pending.get(pending.transaction.transactional_id) is pending

    def _later(self, part: Part, now: Now) -> None:
        self.requests.later(now.monotonic_ms + RETRY_BACKOFF_MS, partial(self._route, *part))

    def _route(self, pending: Pending, partitions: list[TopicPartition], now: Now) -> None:
        """To whoever leads each partition now."""
        if not self._is_current(pending):
            return
        by_leader: dict[int, list[TopicPartition]] = {}
        for topic, number in partitions:
            known = self._broker.image.topics.get(topic)
            if known is None or number not in known.partitions:
                pending.left.discard((topic, number))
            else:
                by_leader.setdefault(known.partitions[number].leader, []).append((topic, number))
        if NO_LEADER in by_leader:
            self._later((pending, by_leader.pop(NO_LEADER)), now)
        for leader, theirs in by_leader.items():
            self.requests.add(leader, (pending, theirs))
        if not pending.left:
            self._complete(pending, now)

    def _take(self, parts: list[Part], reply: Message | None, now: Now) -> None:
        markers = reply.markers if reply is not None else [None] * len(parts)
        for part, marker in zip(parts, markers, strict=True):
            self._take_one(part, marker, now)

    def _take_one(self, part: Part, marker: Message | None, now: Now) -> None:
        """What became of one transaction's markers on one node."""
        pending, partitions = part
        if not self._is_current(pending):
            return
        results = {
            (topic.name, one.partition_index): Error(one.error_code)
            for topic in (marker.topics if marker is not None else ())
            for one in topic.partitions
        }
        if any(error in OVER for error in results.values()):
            del self._pending[pending.transaction.transactional_id]
            return
        pending.left -= {at for at, error in results.items() if error is Error.NONE}
        again = [at for at in partitions if at in pending.left]
        if again:
            self._later((pending, again), now)
        elif not pending.left:
            self._complete(pending, now)


def asked(parts: list[Part]) -> dict[str, Any]:
    """The request to one leader."""
    return {
        "markers": [
            {
                "producer_id": pending.transaction.producer_id,
                "producer_epoch": pending.transaction.producer_epoch,
                "transaction_result": pending.transaction.status is Status.PREPARE_COMMIT,
                "topics": nested(partitions, "name", "partition_indexes"),
                "coordinator_epoch": pending.epoch,
                "transaction_version": pending.transaction.client_version,
            }
            for pending, partitions in parts
        ]
    }

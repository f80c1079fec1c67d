"""What a node has to do with the metadata log: it registers, decides where it is the controller, and waits for its own
decisions to be committed before it acts on them.

Nothing here reads the image right after an append. What depends on a record goes on when the record has come back from
the log, committed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from minikafka.broker.calls import Broker
from minikafka.clock import Now
from minikafka.cluster import controller
from minikafka.cluster.metadata import MetadataRecord
from minikafka.cluster.waiting import Answer, Wait

TIMEOUT_MS = 30_000


class ControlPlane:
    """broker_epoch: the offset of this node's registration."""

    def __init__(self, broker: Broker) -> None:
        self.broker_epoch = -1
        self._broker = broker
        self._producer_ids = range(0)
        self._then: deque[tuple[int, Callable[[Now], None]]] = deque()  # what goes on once so much is committed

    # -- joining the cluster

    def register(self, directory_id: bytes, now: Now) -> None:
        """Ask to be a member of the cluster; the logs are opened once that is committed."""
        broker, quorum = self._broker, self._broker.quorum
        if not broker.image.features:
            quorum.append(controller.feature_levels(), now)
        self.broker_epoch = quorum.end_offset
        records = controller.register_broker(
            broker.node_id, broker.random_uuid(), directory_id, broker.config.advertised, self.broker_epoch
        )
        self._then.append((quorum.append(records, now), self._registered))

    def _registered(self, now: Now) -> None:
        image = self._broker.image
        elections = controller.elect_leaders(image, {broker.broker_id for broker in image.live_brokers()})
        if elections:
            self._then.append((self._broker.quorum.append(elections, now), self._broker.recover))
        else:
            self._broker.recover(now)

    def go_on(self, now: Now) -> None:
        """More is committed: do what waited for it."""
        while self._then and self._then[0][0] <= self._broker.quorum.applied_offset:
            self._then.popleft()[1](now)

    def follow(self, record: MetadataRecord) -> None:
        """A record was committed."""
        if record.name == "ProducerIdsRecord" and record.fields["broker_epoch"] == self.broker_epoch:
            self._producer_ids = controller.producer_id_block(record)

    # -- for handlers

    def decide(self, records: Sequence[MetadataRecord], now: Now, answer: Callable[[], Answer]) -> Answer | Wait:
        """Append the controller's decision to the metadata log; the answer is made once the decision is committed."""
        if not records:
            return answer()
        offset = self._broker.quorum.append(records, now)
        return self._wait(lambda: answer() if self._broker.quorum.applied_offset >= offset else None, now)

    def change(
        self, records: Sequence[MetadataRecord], now: Now, answer: Answer, kind: str, changes: Iterable[dict[str, Any]]
    ) -> Answer | Wait:
        """Decide as a client asked. kind, changes: the trace events of what changed, told once it is committed."""

        def committed() -> Answer:
            if self._broker.trace:
                for detail in changes:
                    self._broker.trace.emit(kind, **detail)
            return answer

        return self.decide(records, now, committed)

    def place(self, partitions: int, replication_factor: int) -> controller.Placement:
        """Where the partitions of a new topic go, if it is for the controller to choose."""
        first = int(self._broker.random.random() * 2**16)
        return controller.place(self._broker.image, partitions, replication_factor, first)

    def settled(self, now: Now) -> Wait:
        """The controller decides on committed state only: a request that comes while a decision is not committed yet
        waits, and then begins.
        """
        return self._wait(lambda: {} if self._broker.quorum.is_settled else None, now, again=True)

    def _wait(self, attempt: Callable[[], Answer | None], now: Now, again: bool = False) -> Wait:
        return Wait([("metadata",)], now.monotonic_ms + TIMEOUT_MS, lambda *_: attempt(), again=again)

    def next_producer_id(self, now: Now) -> int | Wait:
        """A producer id that was never given before (KIP-730: out of a block that the controller hands out). Without
        one left: what the request must wait for before it asks again.
        """
        if self._producer_ids:
            producer_id, self._producer_ids = self._producer_ids[0], self._producer_ids[1:]
            return producer_id
        if not self._broker.quorum.is_settled:
            return self.settled(now)
        records = controller.allocate_producer_ids(self._broker.image, self._broker.node_id, self.broker_epoch)
        wait = self.decide(records, now, dict)
        assert isinstance(wait, Wait), "a block of ids is a record"
        wait.again = True
        return wait

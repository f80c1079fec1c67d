"""What is due within a node, and when: requests to other nodes, and background work in
slices.
"""

from minikafka.broker.lifecycle import LOGS_OPENED, RECOVERING
from minikafka.broker.parts import Parts
from minikafka.clock import Now
from minikafka.cluster.timers import NEVER_MS
from minikafka.wire.errors import KafkaError

BACKGROUND_BUDGET_BYTES = 4 << 20  # of each kind of background work in one tick
IDLE_MS = 1000  # without any deadline, as long as the node is not in the cluster yet


class Due:
    """Does what is due, and knows when the next is."""

    def __init__(self, broker: Parts) -> None:
        self._broker = broker

    def next_deadline(self) -> int:
        """Monotonic ms at which something is due, later than the last time that the
        node was called.
        """
        broker = self._broker
        next_ms = broker.now.monotonic_ms + 1
        is_busy = broker.waiting.ready or broker.peers.to_itself
        is_recovering = broker.life.state == RECOVERING
        if is_recovering or is_busy or broker.quorum.is_publishing:
            return next_ms
        at_ms = broker.timers.next()
        if at_ms == NEVER_MS:
            return next_ms + IDLE_MS
        return max(next_ms, at_ms)

    def do_a_slice(self, now: Now) -> None:
        """Do a slice of background work. Which work that is depends on whether the
        node's logs are open yet.
        """
        broker = self._broker
        budget_bytes = BACKGROUND_BUDGET_BYTES
        try:
            if broker.life.state == RECOVERING:
                if broker.replicas.recover(budget_bytes):
                    broker.life.take(LOGS_OPENED, now)
            else:
                broker.replicas.tick(now, budget_bytes)
                broker.groups.tick(now, budget_bytes)
                broker.transactions.tick(now, budget_bytes)
                broker.verifier.requests.tick(now)
                broker.sharing.tick(now, budget_bytes)
            broker.active_controller.tick(now)
        except KafkaError as error:
            broker.storage_failed(error)

    def ask_others(self, now: Now) -> None:
        """Send requests that are due to other nodes; a part that has just been answered
        may send its next one at once.
        """
        broker = self._broker
        try:
            broker.quorum.tick(now)
            if broker.life.state != RECOVERING:
                broker.fetcher.tick(now)
                broker.isr.tick(now)
            broker.damage.tick(now)
            broker.registration.tick(now)
            broker.forwarding.tick(now)
        except KafkaError as error:
            broker.storage_failed(error)

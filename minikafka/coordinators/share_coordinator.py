"""A node's share coordinator: its part of the states of share partitions (KIP-932;
share_states.py).

Its topic isn't compacted: from time to time, records before the oldest snapshot that is
still needed are deleted (Apache Kafka: ShareCoordinatorService.setupRecordPruning).
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from minikafka.clock import Now
from minikafka.cluster.metadata import SHARE_STATE_TOPIC, TopicChange
from minikafka.cluster.timers import NEVER_MS
from minikafka.coordinators.coordinator import Coordinator, Host
from minikafka.coordinators.runtime import Decision, RecordCodec
from minikafka.coordinators.share_states import ShareKey, ShareStates
from minikafka.wire import internal_records


class ShareCoordinator(Coordinator):
    """This node's part of the states of share partitions. log_changed(now): some log has
    a new beginning.
    """

    topic_name, prefix = SHARE_STATE_TOPIC, "share.coordinator.state.topic"

    def __init__(self, host: Host, log_changed: Callable[[Now], None]) -> None:
        self._log_changed = log_changed
        codec = RecordCodec(
            internal_records.encode_coordinator_record,
            internal_records.decode_share_record,
        )
        timeout_ms = host.config["share.coordinator.write.timeout.ms"]

        def new(partition: int) -> ShareStates:
            return ShareStates(host.config, host.image)

        super().__init__(host, new, codec, timeout_ms)
        interval_ms = host.config["share.coordinator.state.topic.prune.interval.ms"]
        self._prune_interval_ms: int = interval_ms
        self._next_pruning = host.timers.new()

    def tick(self, now: Now, budget_bytes: int) -> None:
        """As for every coordinator. In addition, delete records that are no longer
        needed.
        """
        super().tick(now, budget_bytes)
        if not self.shards:
            self._next_pruning.stop()
        elif self._next_pruning.at_ms == NEVER_MS:
            self._next_pruning.set(now.monotonic_ms + self._prune_interval_ms)
        elif self._next_pruning.at_ms <= now.monotonic_ms:
            self._next_pruning.set(now.monotonic_ms + self._prune_interval_ms)
            self._prune(now)

    def _prune(self, now: Now) -> None:
        for shard in self.shards.values():
            if not shard.is_loaded:
                continue
            states: Any = shard.state
            offset = states.needed_from()
            if offset is not None and offset > shard.replica.log.log_start_offset:
                shard.replica.delete_records(offset)
        self._log_changed(now)

    def more_configs(self) -> dict[str, str]:
        """Records are needed until a snapshot follows them, however old they are."""
        least = min(
            self._host.config[f"{self.prefix}.min.isr"],
            len(self._host.image.live_brokers()) or 1,
        )
        return {
            "cleanup.policy": "delete",
            "compression.type": "producer",
            "min.insync.replicas": str(least),
            "retention.ms": "-1",
        }

    def topic_changed(self, change: TopicChange) -> None:
        """As for every coordinator. The states of a deleted topic's partitions are
        deleted with it.
        """
        super().topic_changed(change)
        if change.after is None and change.name != self.topic_name:
            for shard in self.shards.values():
                if shard.is_loaded:
                    self._forget(shard.state, change.topic_id)

    def _forget(self, states: Any, topic_id: bytes) -> None:
        for text in list(states.states):
            key = ShareKey.parse(text)
            if key.topic_id == topic_id:
                self.ask(text, partial(self._forgotten, key), self._host.clock.now)

    def _forgotten(self, key: ShareKey, states: Any, *_: object) -> Decision:
        decision: Decision = states.forget(key)
        return decision

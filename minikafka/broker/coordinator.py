"""What a node coordinates: the state in those partitions of an internal topic that it leads (coordinators/runtime.py).

Handlers ask here. A question becomes a request to the runtime, which may be done at once or must wait: for the high
watermark, or for others. Then the request is parked until it is done.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from minikafka.broker.calls import Broker
from minikafka.clock import Now
from minikafka.cluster.metadata import MetadataRecord, Partition, Topic
from minikafka.cluster.waiting import Wait
from minikafka.coordinators.groups import partition_for
from minikafka.coordinators.runtime import Decision, RecordCodec, Runtime, State
from minikafka.trace import Cause
from minikafka.wire.errors import Error, KafkaError

Ask = Callable[[Any, Wait, Now], Decision]


class Coordinator(Runtime):
    """topic_name: where the state lies. prefix: of the configs that say how the topic is made."""

    topic_name: str
    prefix: str

    def __init__(
        self, broker: Broker, new_state: Callable[[int], State], codec: RecordCodec, write_timeout_ms: int
    ) -> None:
        super().__init__(new_state, codec, write_timeout_ms, broker.notice)
        self._broker = broker

    @property
    def topic(self) -> Topic | None:
        return self._broker.image.topics.get(self.topic_name)

    def start(self) -> None:
        """The logs are recovered: begin to load what this node leads."""
        for number, partition in self.topic.partitions.items() if self.topic else ():
            self._lead_or_not(number, partition)

    def follow(self, record: MetadataRecord) -> None:
        """A metadata record was committed: partitions of the topic may come and go."""
        topic = self.topic
        if record.name in ("PartitionRecord", "PartitionChangeRecord"):
            if topic is not None and record.fields["topic_id"] == topic.topic_id:
                number = record.fields["partition_id"]
                self._lead_or_not(number, topic.partitions[number])
        elif record.name == "RemoveTopicRecord" and topic is None:
            self.close()

    def partition(self, key: str) -> int:
        """Where the state of a key lies, or will lie when the topic is made."""
        count = len(self.topic.partitions) if self.topic else self._broker.config[f"{self.prefix}.num.partitions"]
        return partition_for(key, count)

    def state(self, key: str) -> Any:
        """To read a key's state. Errors: as of shard()."""
        return self.shard(self.partition(key)).state

    def loaded(self) -> list[Any]:
        """The states of all partitions that this node leads. Errors: COORDINATOR_LOAD_IN_PROGRESS."""
        return [self.shard(partition).state for partition in self.shards]

    def ask(self, key: str, ask: Ask, now: Now) -> Wait:
        """Let a key's state decide. The answer, or the error, comes when that is committed, or when the state says."""
        wait = Wait()
        try:
            partition = self.partition(key)
            state = self.shard(partition).state
            because = partial(self._because, self._broker.trace.cause)
            self.submit(partition, key, lambda now: because(ask(state, wait, now)), wait, now)
        except KafkaError as error:
            if error.error is Error.KAFKA_STORAGE_ERROR:
                self._broker.storage_failed(error)
            wait.fail(error)
        return wait

    def creation(self) -> dict[str, Any]:
        """The topic, as CreateTopics wants it."""
        image, config = self._broker.image, self._broker.config
        configs = {"cleanup.policy": "compact"} | self.more_configs()
        configs["segment.bytes"] = str(config[f"{self.prefix}.segment.bytes"])
        return {
            "name": self.topic_name,
            "num_partitions": config[f"{self.prefix}.num.partitions"],
            "replication_factor": min(config[f"{self.prefix}.replication.factor"], len(image.live_brokers()) or 1),
            "configs": [{"name": name, "value": value} for name, value in configs.items()],
        }

    def more_configs(self) -> dict[str, str]:
        """What else the topic is made with."""
        raise NotImplementedError

    def _because(self, cause: Cause | None, decision: Decision) -> Decision:
        """Whenever a decision changes something, the trace tells the request that it was for."""
        trace, change = self._broker.trace, decision.change
        if not trace or change is None:
            return decision

        def caused(now: Now) -> Decision | None:
            trace.cause, outer = cause, trace.cause
            follow_up = change(now)
            trace.cause = outer
            return None if follow_up is None else self._because(cause, follow_up)

        return decision._replace(change=caused)

    def _lead_or_not(self, number: int, partition: Partition) -> None:
        if partition.leader == self._broker.node_id:
            self.elected(number, self._broker.replicas.leader(self.topic_name, number))
        else:
            self.resigned(number)

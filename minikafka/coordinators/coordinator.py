"""What a node coordinates: the state in those partitions of an internal topic that it
leads (coordinators/runtime.py).

Handlers call this. Each call becomes a request to the runtime, which is either done at
once or must wait, for the high watermark or for other members; then it is parked until
it is done.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from minikafka.clock import NodeClock, Now
from minikafka.cluster import features
from minikafka.cluster.election import AskNode
from minikafka.cluster.metadata import (
    OFFSETS_TOPIC,
    TRANSACTIONS_TOPIC,
    Image,
    Partition,
    PartitionChange,
    Topic,
    TopicChange,
)
from minikafka.cluster.replica import Replica
from minikafka.cluster.timers import Timers
from minikafka.cluster.waiting import Wait
from minikafka.coordinators.expressions import Expressions
from minikafka.coordinators.runtime import (
    Configs,
    Decision,
    Notice,
    RecordCodec,
    Runtime,
    State,
    partition_for,
)
from minikafka.coordinators.share_group_state import ByTopicId
from minikafka.coordinators.share_groups import keys_of
from minikafka.coordinators.share_persister import (
    Results,
    SharePersister,
    Then,
    ask_for_all,
)
from minikafka.coordinators.share_states import UNKNOWN, ShareKey
from minikafka.coordinators.transaction_requests import Markers, Pending
from minikafka.coordinators.transaction_states import NO_PRODUCER_ID, Transaction
from minikafka.storage.producer_state import Appended, Marker
from minikafka.trace import Trace
from minikafka.wire import internal_records
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.primitives import MAX_STRING_BYTES

if TYPE_CHECKING:
    from minikafka.coordinators.transactions import Transactions

MOST_PREFIX_BYTES = MAX_STRING_BYTES - 37  # of a member id: a hyphen and a uuid follow

WRITE_TIMEOUT_MS = 5000  # for transactional ids
MOST_TRANSACTIONS_BYTES = 100 << 20  # for all transactions that a node coordinates

Ask = Callable[[Any, Wait, Now], Decision]


class Host(NamedTuple):
    """The node that coordinates. config: as at start. leader(topic, number): the
    replica that leads. notice: something went wrong that ends one thing, and not the
    node. storage_failed: the node stops.
    """

    node_id: int
    config: Configs
    image: Image
    clock: NodeClock
    timers: Timers
    trace: Trace
    leader: Callable[[str, int], Replica]
    notice: Notice
    storage_failed: Callable[[KafkaError], None]


class Coordinator(Runtime):
    """topic_name: the internal topic with the state. prefix: of the configs that say
    how the topic is created.
    """

    topic_name: str
    prefix: str

    def __init__(
        self,
        host: Host,
        new_state: Callable[[int], State],
        codec: RecordCodec,
        write_timeout_ms: int,
    ) -> None:
        super().__init__(
            new_state, codec, write_timeout_ms, host.notice, host.trace, host.timers
        )
        self._host = host

    @property
    def topic(self) -> Topic | None:
        return self._host.image.topics.get(self.topic_name)

    def start(self, now: Now) -> None:
        """This node has joined the cluster: begin to load the partitions that
        it leads.
        """
        for number, partition in self.topic.partitions.items() if self.topic else ():
            self._lead_or_not(number, partition)

    def partition_changed(self, change: PartitionChange) -> None:
        """A partition of the topic may have another leader: start to coordinate it, or
        stop.
        """
        if change.topic == self.topic_name:
            self._lead_or_not(change.number, change.after)

    def topic_changed(self, change: TopicChange) -> None:
        """Without the topic there is nothing to coordinate."""
        if change.name == self.topic_name and change.after is None:
            self.close()

    def partition(self, key: str) -> int:
        """The partition that holds a key's state, or will hold it once the
        topic exists.
        """
        count = (
            len(self.topic.partitions)
            if self.topic
            else self._host.config[f"{self.prefix}.num.partitions"]
        )
        return partition_for(key, count)

    def state(self, key: str) -> Any:
        """The state that holds a key, for reading. Errors: those of shard()."""
        return self.shard(self.partition(key)).state

    def loaded(self) -> list[Any]:
        """The states of all partitions that this node leads. Errors:
        COORDINATOR_LOAD_IN_PROGRESS.
        """
        return [self.shard(partition).state for partition in self.shards]

    def ask(self, key: str, ask: Ask, now: Now) -> Wait:
        """Let a key's state decide. The answer, or the error, comes when the records
        are committed, or when the state says so.
        """
        wait = Wait()
        try:
            partition = self.partition(key)
            state = self.shard(partition).state
            self.submit(partition, key, partial(ask, state, wait), wait, now)
        except KafkaError as error:
            if error.error is Error.KAFKA_STORAGE_ERROR:
                self._host.storage_failed(error)
            wait.fail(error)
        return wait

    def creation(self) -> dict[str, Any]:
        """The topic's fields in a CreateTopics request."""
        image, config = self._host.image, self._host.config
        configs = {"cleanup.policy": "compact"} | self.more_configs()
        configs["segment.bytes"] = str(config[f"{self.prefix}.segment.bytes"])
        return {
            "name": self.topic_name,
            "num_partitions": config[f"{self.prefix}.num.partitions"],
            "replication_factor": min(
                config[f"{self.prefix}.replication.factor"],
                len(image.live_brokers()) or 1,
            ),
            "configs": [
                {"name": name, "value": value} for name, value in configs.items()
            ],
        }

    def more_configs(self) -> dict[str, str]:
        """Further configs with which the topic is created."""
        raise NotImplementedError

    def _lead_or_not(self, number: int, partition: Partition) -> None:
        if partition.leader == self._host.node_id:
            self.elected(number, self._host.leader(self.topic_name, number))
        else:
            self.resigned(number)


class GroupCoordinator(Coordinator):
    """This node's part of the group coordination. in_force: the node's configs, as they
    are now. persister: has the states of share partitions made.
    """

    topic_name, prefix = OFFSETS_TOPIC, "offsets.topic"

    def __init__(
        self,
        host: Host,
        in_force: Configs,
        persister: SharePersister,
        random_uuid: Callable[[], bytes],
    ) -> None:
        self._persister = persister
        self._random_uuid = random_uuid
        codec = RecordCodec(
            internal_records.encode_coordinator_record,
            internal_records.decode_coordinator_record,
        )
        timeout_ms = host.config["offsets.commit.timeout.ms"]

        def groups_of(partition: int) -> State:
            # imported with the first partition, so that a node starts without them
            from minikafka.coordinators.groups import Groups

            return Groups(
                partition,
                in_force,
                host.image,
                self._new_member_id,
                host.trace,
                self._initialize,
                self._matched,
            )

        super().__init__(host, groups_of, codec, timeout_ms)
        self._topics_went = False
        self._matched = Expressions()

    def _forget(self, group_id: str, topic: str, now: Now) -> None:
        """Delete a group's offsets for a topic that was deleted."""
        self.ask(group_id, lambda groups, *_: groups.forget_topic(group_id, topic), now)

    def _forget_states(self, group_id: str, now: Now) -> None:
        """Delete what a share group keeps about topics that were deleted."""
        self.ask(group_id, lambda groups, *_: groups.share.forget_topics(group_id), now)

    def _initialize(
        self, group_id: str, epoch: int, topics: ByTopicId, known: frozenset[bytes]
    ) -> None:
        """Have the state of share partitions made, and tell the group. A new partition
        of a topic that the group knew is read from its beginning.
        """
        persister = self._persister

        def ask(key: ShareKey, then: Then) -> None:
            start_offset = 0 if key.topic_id in known else UNKNOWN
            persister.initialize(key, epoch, start_offset, then)

        def ended(results: Results, now: Now) -> None:
            self.states_are_made(group_id, topics, results, now)

        ask_for_all(keys_of(group_id, topics), ask, ended, self._host.clock.now)

    def states_are_made(
        self, group_id: str, topics: ByTopicId, results: Results, now: Now
    ) -> None:
        """Tell the group that the states were made, or, if one of them couldn't be,
        that all failed.
        """
        failed = any(isinstance(each, KafkaError) for each in results.values())

        def decide(groups: Any, *_: object) -> Decision:
            said = groups.share.not_initialized if failed else groups.share.initialized
            decision: Decision = said(group_id, topics)
            return decision

        self.ask(group_id, decide, now)

    # -- lifecycle

    def topic_changed(self, change: TopicChange) -> None:
        """As for every coordinator. If a topic was deleted, offsets committed for it
        must go, too.
        """
        super().topic_changed(change)
        self._topics_went = self._topics_went or change.after is None

    def settle(self, now: Now) -> None:
        """Delete the offsets of all topics that were deleted since the last time,
        because a new topic with the same name starts from the beginning.
        """
        if not self._topics_went:
            return
        self._topics_went = False
        topics = self._host.image.topics
        loaded: list[Any] = [
            shard.state for shard in self.shards.values() if shard.is_loaded
        ]
        for groups in loaded:
            for group_id in groups.share.with_state():
                self._forget_states(group_id, now)
        for offsets in [groups.offsets for groups in loaded]:
            for group_id in offsets.groups():
                named = dict.fromkeys(topic for topic, _ in offsets.places(group_id))
                for topic in [topic for topic in named if topic not in topics]:
                    self._forget(group_id, topic, now)

    # -- for handlers

    def partition(self, key: str) -> int:
        """Errors: INVALID_GROUP_ID."""
        if not key:
            raise KafkaError(Error.INVALID_GROUP_ID)
        return super().partition(key)

    def end_transaction(self, partition: int, marker: Marker, now: Now) -> Appended:
        """Write a marker into a partition of the offsets topic. Errors: the same as for
        an ordinary partition.
        """
        try:
            return self.shard(partition).end_transaction(marker, now)
        except KafkaError as error:
            not_yet = error.error in (
                Error.NOT_COORDINATOR,
                Error.COORDINATOR_LOAD_IN_PROGRESS,
            )
            raise (
                KafkaError(Error.NOT_LEADER_OR_FOLLOWER) if not_yet else error
            ) from None

    def more_configs(self) -> dict[str, str]:
        return {"compression.type": "producer"}

    # -- helpers

    def _new_member_id(self, prefix: str) -> str:
        """A client or instance id, and a uuid. Errors: UNKNOWN_SERVER_ERROR, as in
        Apache Kafka, if that is too long.
        """
        if len(prefix.encode()) > MOST_PREFIX_BYTES:
            raise KafkaError(
                Error.UNKNOWN_SERVER_ERROR,
                "The member id would be longer than a string may be.",
            )
        # imported with the first member, so that a node starts without it
        from uuid import UUID

        return f"{prefix}-{UUID(bytes=self._random_uuid())}"


class TransactionCoordinator(Coordinator):
    """This node's part of the transaction coordination. next_producer_id(now): an id that
    was never given before, or what to wait for.
    """

    topic_name, prefix = TRANSACTIONS_TOPIC, "transaction.state.log"

    def __init__(
        self, host: Host, ask: AskNode, next_producer_id: Callable[[Now], int | Wait]
    ) -> None:
        self._next_producer_id = next_producer_id
        codec = RecordCodec(
            internal_records.encode_coordinator_record,
            internal_records.decode_transaction_record,
        )
        version = partial(features.level, host.image, features.TRANSACTION_FEATURE)

        def new(partition: int) -> State:
            # imported with the first partition, so that a node starts without them
            from minikafka.coordinators.transactions import Transactions

            prepared = partial(self._prepared, partition)
            return Transactions(
                host.config,
                version,
                prepared,
                self._new_producer_id,
                self._has_room,
                host.trace,
            )

        super().__init__(host, new, codec, WRITE_TIMEOUT_MS)
        self._markers = Markers(host.image, ask, self._complete, host.timers.new())

    def partition(self, key: str) -> int:
        """Errors: INVALID_REQUEST for an empty key, NOT_COORDINATOR while the topic
        doesn't exist.
        """
        if not key:
            raise KafkaError(Error.INVALID_REQUEST)
        return super().partition(key)

    def more_configs(self) -> dict[str, str]:
        least = min(
            self._host.config[f"{self.prefix}.min.isr"],
            len(self._host.image.live_brokers()) or 1,
        )
        configs = {
            "compression.type": "uncompressed",
            "min.insync.replicas": str(least),
        }
        return configs | {"unclean.leader.election.enable": "false"}

    def resigned(self, partition: int) -> None:
        """This node stops coordinating a partition. The next coordinator reads in the
        log what was prepared, and continues it.
        """
        super().resigned(partition)
        self._markers.drop(partition)

    def tick(self, now: Now, budget_bytes: int) -> None:
        super().tick(now, budget_bytes)
        self._markers.requests.tick(now)

    # -- helpers

    def _new_producer_id(self, now: Now) -> int:
        found = self._next_producer_id(now)
        return NO_PRODUCER_ID if isinstance(found, Wait) else found

    def _has_room(self, size_bytes: int) -> bool:
        kept: list[Any] = [shard.state for shard in self.shards.values()]
        return (
            size_bytes + sum(each.size_bytes for each in kept)
            <= MOST_TRANSACTIONS_BYTES
        )

    def _prepared(self, partition: int, transaction: Transaction, now: Now) -> None:
        epoch = self.shards[partition].replica.leader_epoch
        self._markers.send(
            Pending(partition, epoch, transaction, set(transaction.partitions)), now
        )

    def _complete(self, pending: Pending, now: Now) -> None:
        """Every partition has its marker. If that can't be written now, it is tried
        again.
        """
        transaction = pending.transaction

        def decide(transactions: "Transactions", _: Any, now: Now) -> Any:
            return transactions.complete(transaction, now)

        wait = self.ask(transaction.transactional_id, decide, now)
        wait.then(
            lambda ended: self._markers.completed(
                pending, ended.error is None, self._host.clock.now
            )
        )

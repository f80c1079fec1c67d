"""The groups that this node coordinates: those whose partition of `__consumer_offsets` it leads.

Handlers ask here. A question becomes a request to the runtime (coordinators/runtime.py), which may be done at once or
must wait: for the high watermark, or for other members of the group. Then the request is parked until it is done.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from minikafka.broker.calls import Broker, Call
from minikafka.clock import Now
from minikafka.cluster.metadata import OFFSETS_TOPIC, MetadataRecord, Partition
from minikafka.cluster.waiting import Answer, Wait
from minikafka.coordinators.groups import Groups, partition_for
from minikafka.coordinators.runtime import Decision, RecordCodec, Runtime
from minikafka.trace import Cause
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.internal_records import decode_coordinator_record, encode_coordinator_record
from minikafka.wire.primitives import MAX_STRING_BYTES

MOST_PREFIX_BYTES = MAX_STRING_BYTES - 37  # of a member id: a hyphen and a uuid follow

OF_MEMBERS = (
    "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "OffsetDelete", "ConsumerGroupHeartbeat",
)  # fmt: skip

Ask = Callable[[Groups, Wait, Now], Decision]


class GroupCoordinator(Runtime):
    """This node's part of the groups."""

    def __init__(self, broker: Broker) -> None:
        codec = RecordCodec(encode_coordinator_record, decode_coordinator_record)
        super().__init__(self._new_groups, codec, broker.config["offsets.commit.timeout.ms"], broker.notice)
        self._broker = broker
        self._topics_went = False

    # -- life

    def start(self) -> None:
        """The logs are recovered: begin to load what this node leads."""
        topic = self._broker.image.topics.get(OFFSETS_TOPIC)
        for number, partition in topic.partitions.items() if topic else ():
            self._lead_or_not(number, partition)

    def follow(self, record: MetadataRecord) -> None:
        """A metadata record was committed: partitions of the offsets topic may come and go, and topics with offsets
        committed for them.
        """
        image = self._broker.image
        topic = image.topics.get(OFFSETS_TOPIC)
        if record.name in ("PartitionRecord", "PartitionChangeRecord"):
            if topic is not None and record.fields["topic_id"] == topic.topic_id:
                number = record.fields["partition_id"]
                self._lead_or_not(number, topic.partitions[number])
        elif record.name == "RemoveTopicRecord":
            if topic is None:
                self.close()
            self._topics_went = True

    def settle(self, now: Now) -> None:
        """After metadata records were followed, once for all topics that went: the offsets committed for them are
        forgotten, as a topic that is made in their place begins anew.
        """
        if not self._topics_went:
            return
        self._topics_went = False
        topics = self._broker.image.topics
        for offsets in [self._groups(number).offsets for number, shard in self.shards.items() if shard.is_loaded]:
            for group_id in offsets.groups():
                for topic in [topic for topic in offsets.topics(group_id) if topic not in topics]:
                    self.ask(group_id, lambda groups, *_, of=(group_id, topic): groups.forget_topic(*of), now)

    # -- for handlers

    def partition(self, group_id: str) -> int:
        """Where the group's state lies. Errors: INVALID_GROUP_ID, NOT_COORDINATOR while there is no offsets topic."""
        if not group_id:
            raise KafkaError(Error.INVALID_GROUP_ID)
        topic = self._broker.image.topics.get(OFFSETS_TOPIC)
        if topic is None:
            raise KafkaError(Error.NOT_COORDINATOR)
        return partition_for(group_id, len(topic.partitions))

    def state(self, group_id: str) -> Groups:
        """To read a group. Errors: as of partition(), COORDINATOR_LOAD_IN_PROGRESS."""
        return self._groups(self.partition(group_id))

    def loaded(self) -> list[Groups]:
        """All that this node coordinates. Errors: COORDINATOR_LOAD_IN_PROGRESS."""
        return [self._groups(partition) for partition in self.shards]

    def ask(self, group_id: str, ask: Ask, now: Now) -> Wait:
        """Ask a group to decide. The answer, or the error, comes when that is committed, or when the group says."""
        wait = Wait()
        try:
            partition, state = self.partition(group_id), self.state(group_id)
            because = partial(self._because, self._broker.trace.cause)
            self.submit(partition, group_id, lambda now: because(ask(state, wait, now)), wait, now)
        except KafkaError as error:
            if error.error is Error.KAFKA_STORAGE_ERROR:
                self._broker.storage_failed(error)
            wait.fail(error)
        return wait

    def creation(self) -> dict[str, Any]:
        """The offsets topic, as CreateTopics wants it."""
        image, config = self._broker.image, self._broker.config
        configs = {"cleanup.policy": "compact", "compression.type": "producer"}
        configs["segment.bytes"] = str(config["offsets.topic.segment.bytes"])
        return {
            "name": OFFSETS_TOPIC,
            "num_partitions": config["offsets.topic.num.partitions"],
            "replication_factor": min(config["offsets.topic.replication.factor"], len(image.live_brokers()) or 1),
            "configs": [{"name": name, "value": value} for name, value in configs.items()],
        }

    def tell_refusal(self, request: Call, answer: Answer) -> None:
        """The trace event of a refused request of a member, by whatever the API calls it."""
        if request.api not in OF_MEMBERS:
            return
        code = answer.get("error_code", Error.NONE)
        if code == Error.NONE and request.api == "OffsetCommit":
            code = answer["topics"][0]["partitions"][0]["error_code"] if answer["topics"] else Error.NONE
        if code != Error.NONE:
            member = request.body.to_dict().get("member_id") or request.client.client_id or ""
            self._broker.trace.emit(
                "MemberRefused", group=request.body.group_id, member=member, api=request.api, error=Error(code).name
            )

    # -- inside

    def _groups(self, partition: int) -> Groups:
        state = self.shard(partition).state
        assert isinstance(state, Groups)
        return state

    def _new_groups(self, partition: int) -> Groups:
        broker = self._broker
        return Groups(partition, broker.config, broker.image, self._new_member_id, broker.trace)

    def _new_member_id(self, prefix: str) -> str:
        """Client or instance id and a uuid. Errors: UNKNOWN_SERVER_ERROR, as in Apache Kafka, if it gets too long."""
        if len(prefix.encode()) > MOST_PREFIX_BYTES:
            raise KafkaError(Error.UNKNOWN_SERVER_ERROR, "The member id would be longer than a string may be.")
        return f"{prefix}-{UUID(bytes=self._broker.random_uuid())}"

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
            self.elected(number, self._broker.replicas.leader(OFFSETS_TOPIC, number))
        else:
            self.resigned(number)

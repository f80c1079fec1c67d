"""The groups that this node coordinates: those whose partition of `__consumer_offsets` it leads."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from minikafka.broker.calls import Broker, Call
from minikafka.broker.coordinator import Coordinator
from minikafka.clock import Now
from minikafka.cluster.metadata import OFFSETS_TOPIC, MetadataRecord
from minikafka.cluster.waiting import Answer
from minikafka.coordinators.groups import Groups
from minikafka.coordinators.runtime import RecordCodec
from minikafka.storage.producer_state import Appended, Marker
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.internal_records import decode_coordinator_record, encode_coordinator_record
from minikafka.wire.primitives import MAX_STRING_BYTES

MOST_PREFIX_BYTES = MAX_STRING_BYTES - 37  # of a member id: a hyphen and a uuid follow

OF_MEMBERS = (
    "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "OffsetDelete", "ConsumerGroupHeartbeat",
)  # fmt: skip


class GroupCoordinator(Coordinator):
    """This node's part of the groups."""

    topic_name, prefix = OFFSETS_TOPIC, "offsets.topic"

    def __init__(self, broker: Broker) -> None:
        codec = RecordCodec(encode_coordinator_record, decode_coordinator_record)
        super().__init__(broker, self._new_groups, codec, broker.config["offsets.commit.timeout.ms"])
        self._topics_went = False

    # -- life

    def follow(self, record: MetadataRecord) -> None:
        """As for every coordinator; topics with offsets committed for them may go, too."""
        super().follow(record)
        self._topics_went = self._topics_went or record.name == "RemoveTopicRecord"

    def settle(self, now: Now) -> None:
        """After metadata records were followed, once for all topics that went: the offsets committed for them are
        forgotten, as a topic that is made in their place begins anew.
        """
        if not self._topics_went:
            return
        self._topics_went = False
        topics = self._broker.image.topics
        loaded: list[Any] = [shard.state for shard in self.shards.values() if shard.is_loaded]
        for offsets in [groups.offsets for groups in loaded]:
            for group_id in offsets.groups():
                for topic in {topic: None for topic, _ in offsets.places(group_id) if topic not in topics}:
                    self.ask(group_id, lambda groups, *_, of=(group_id, topic): groups.forget_topic(*of), now)

    # -- for handlers

    def partition(self, key: str) -> int:
        """Errors: INVALID_GROUP_ID."""
        if not key:
            raise KafkaError(Error.INVALID_GROUP_ID)
        return super().partition(key)

    def end_transaction(self, partition: int, marker: Marker, now: Now) -> Appended:
        """Write a marker into a partition of the offsets topic. Errors: as of an ordinary partition."""
        try:
            return self.shard(partition).end_transaction(marker, now)
        except KafkaError as error:
            not_yet = error.error in (Error.NOT_COORDINATOR, Error.COORDINATOR_LOAD_IN_PROGRESS)
            raise KafkaError(Error.NOT_LEADER_OR_FOLLOWER) if not_yet else error from None

    def more_configs(self) -> dict[str, str]:
        return {"compression.type": "producer"}

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

    def _new_groups(self, partition: int) -> Groups:
        broker = self._broker
        return Groups(partition, broker.config, broker.image, self._new_member_id, broker.trace)

    def _new_member_id(self, prefix: str) -> str:
        """Client or instance id and a uuid. Errors: UNKNOWN_SERVER_ERROR, as in Apache Kafka, if it gets too long."""
        if len(prefix.encode()) > MOST_PREFIX_BYTES:
            raise KafkaError(Error.UNKNOWN_SERVER_ERROR, "The member id would be longer than a string may be.")
        return f"{prefix}-{UUID(bytes=self._broker.random_uuid())}"

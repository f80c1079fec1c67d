"""Where the records of a partition begin and end: by time, by leader epoch; and a new
beginning.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

from minikafka.broker.active_controller import ActiveController
from minikafka.broker.calls import Call, result_of, results_by_topic
from minikafka.broker.replica_manager import ReplicaManager
from minikafka.clock import Now
from minikafka.cluster.metadata import INTERNAL_TOPICS, Image
from minikafka.cluster.replica import Replica
from minikafka.cluster.waiting import Answer, Wait
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.unpacking import Allowance

# timestamps that ask for an end of the log
LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6
FIRST_VERSION = {
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
LEADER_EPOCHS, OFFSET_NOT_AVAILABLE = 4, 5  # the first versions with these
READ_COMMITTED = 1
MAX_RECORDS = 60_000  # looked at in one ListOffsets: less than a tenth of a second


class Offset(NamedTuple):
    """The result of a ListOffsets for one partition."""

    timestamp: int
    offset: int
    leader_epoch: int


NOTHING = Offset(-1, -1, -1)


@dataclass(eq=False, repr=False)
class OffsetHandlers:
    """Where the records of partitions begin and end."""

    image: Image
    replicas: ReplicaManager
    active_controller: ActiveController

    def list_offsets(self, request: Call, now: Now) -> Answer:
        """ListOffsets (KIP-79): an offset by time, or one end of the log.

        - Timestamp -1 is the latest (the high watermark; read_committed: the last
          stable offset), -2 the earliest, -3 the record with the largest timestamp
          (KIP-734), if it lies before the latest; -4 to -6 ask about tiered storage,
          which isn't there; anything from 0 on the first record whose timestamp is that
          or later; -1 if there is none.
        - A search by timestamp reads the index, then decompresses one batch up to the
          record. Of what all the searches of a request may look at there is a limit,
          which no ordinary batches reach. Where it is reached the answer is an earlier
          offset, for -3 a later one of the same batch (Apache Kafka goes on).

        Versions: 1 to 11.

        - 2 adds isolation levels.
        - 4 adds leader epochs.
        - 6 is flexible.
        - 7 knows the timestamp -3, 8 -4, 9 -5 and 11 -6.
        - 10 brings a time-out, which nothing here needs.
        """
        allowance = Allowance(records=MAX_RECORDS)
        topics = []
        for topic in request.body.topics:
            asked = topic.partitions
            times_named = Counter(partition.partition_index for partition in asked)
            once = {partition.partition_index: partition for partition in asked}
            partitions: list[Answer] = []
            for number, times in times_named.items():
                if times > 1:
                    refused = {"error_code": Error.INVALID_REQUEST}
                    partitions.append({"partition_index": number} | refused)
                    continue
                found = self.look_up(request, topic.name, once[number], allowance)
                partitions.append(found)
            topics.append({"name": topic.name, "partitions": partitions})
        return {"topics": topics}

    def look_up(
        self, request: Call, topic: str, partition: Any, allowance: Allowance
    ) -> Answer:
        """One partition's answer."""

        def fields() -> Answer:
            found = self.offset_for(request, topic, partition, allowance)
            answer = found._asdict()
            if request.version < LEADER_EPOCHS:
                del answer["leader_epoch"]
            return answer

        return result_of({"partition_index": partition.partition_index}, fields)

    def offset_for(
        self, request: Call, topic: str, partition: Any, allowance: Allowance
    ) -> Offset:
        """The result for one partition, or NOTHING."""
        timestamp, version = partition.timestamp, request.version
        is_unknown = timestamp < EARLIEST_PENDING_UPLOAD
        if is_unknown or version < FIRST_VERSION.get(timestamp, 0):
            raise KafkaError(Error.UNSUPPORTED_VERSION)
        replica = self.replicas.leader(
            topic, partition.partition_index, partition.current_leader_epoch
        )
        end = replica.high_watermark
        if request.body.isolation_level == READ_COMMITTED:
            end = replica.last_stable_offset
        if timestamp == LATEST:
            # KIP-207: a new leader may not know yet what is committed, and offsets must
            # not go back
            if replica.high_watermark_lags and version >= OFFSET_NOT_AVAILABLE:
                raise KafkaError(Error.OFFSET_NOT_AVAILABLE)
            if replica.high_watermark_lags:
                raise KafkaError(Error.LEADER_NOT_AVAILABLE)
            return Offset(-1, end, replica.leader_epoch)
        log = replica.log
        if timestamp in (EARLIEST, EARLIEST_LOCAL):
            start = log.log_start_offset
            return Offset(-1, start, log.epochs.epoch_at(start))
        if timestamp == MAX_TIMESTAMP:
            newest = log.max_timestamp(allowance)
            if newest is None:
                return NOTHING
            at_ms, offset = newest
            if offset >= end:
                return NOTHING
            return Offset(at_ms, offset, log.epochs.epoch_at(offset))
        if timestamp < 0:
            return NOTHING
        found = log.offset_for_timestamp(timestamp, allowance)
        if found is None:
            return NOTHING
        offset_found = Offset(*found)
        return offset_found if offset_found.offset < end else NOTHING

    def offset_for_leader_epoch(self, request: Call, now: Now) -> Answer:
        """OffsetForLeaderEpoch (KIP-101, KIP-320): where the records of a leader epoch
        end.

        - The answer names the largest epoch up to the one asked for that has records,
          and its end.
        - A consumer whose leader has changed asks with the epoch of the last record it
          read: if that epoch ends before its position, the log was cut there.

        Versions: 2 to 4.

        - 3 brings the replica's id.
        - 4 is flexible.
        """

        def named(asked: Any) -> Answer:
            return {"partition": asked.partition}

        def end(topic: Any, asked: Any) -> Answer:
            replica = self.replicas.leader(
                topic.topic, asked.partition, asked.current_leader_epoch
            )
            leader_epoch, end_offset = replica.log.end_offset_for_epoch(
                asked.leader_epoch
            )
            return {"leader_epoch": leader_epoch, "end_offset": end_offset}

        return {"topics": results_by_topic(request.body.topics, "topic", named, end)}

    def delete_records(self, request: Call, now: Now) -> Answer | Wait:
        """DeleteRecords (KIP-107): forget all records before an offset.

        - The log start offset moves up; readers below it get OFFSET_OUT_OF_RANGE.
        - Whole segments below it are deleted from disk, here at once, by Apache Kafka
          with the next pass of retention.
        - Not of a topic that is compacted, and where nothing else may be deleted.
        - Offset -1 means the high watermark, beyond which nothing can be deleted.
        - The answer waits until all replicas on live brokers have forgotten them too.

        Versions: 0 to 2, the same fields.

        - 2 is flexible.
        """

        def named(asked: Any) -> Answer:
            return {"partition_index": asked.partition_index, "low_watermark": -1}

        def delete(topic: Any, asked: Any) -> Answer:
            self.check_deletable(topic.name, asked.partition_index)
            replica = self.replicas.leader(topic.name, asked.partition_index)
            return {"low_watermark": replica.delete_records(asked.offset)}

        topics = results_by_topic(request.body.topics, "name", named, delete)
        self.replicas.upkeep.changed(now)
        pending = []
        for topic in topics:
            for row in topic["partitions"]:
                if row["error_code"] == Error.NONE:
                    replica = self.replicas.leader(
                        topic["name"], row["partition_index"]
                    )
                    pending.append(Deletion(replica, replica.leader_epoch, row))
        keys: list[tuple[Any, ...]] = []
        for deletion in pending:
            log = deletion.replica.log
            keys.append(("log_start", log.topic, log.partition))
        keys.append(("metadata",))

        def attempt(wait: Wait | None, now: Now, expired: bool) -> Answer | None:
            live = {each.broker_id for each in self.image.live_brokers()}
            pending[:] = [each for each in pending if not each.is_over(live, expired)]
            return None if pending else {"topics": topics}

        answer = attempt(None, now, expired=False)
        if answer is not None:
            return answer
        return Wait(keys, now.monotonic_ms + request.body.timeout_ms, attempt)

    def check_deletable(self, topic: str, number: int) -> None:
        """Errors: UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION; POLICY_VIOLATION
        where compaction alone deletes.
        """
        known = self.image.topics.get(topic)
        if known is None or number not in known.partitions:
            raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION)
        if topic in INTERNAL_TOPICS:
            raise KafkaError(Error.INVALID_TOPIC_EXCEPTION)
        policy = self.active_controller.topic_value(topic, "cleanup.policy")
        if policy == "compact":
            raise KafkaError(Error.POLICY_VIOLATION)


class Deletion(NamedTuple):
    """Records of one partition are gone here, and are to be gone on all live brokers.
    row: the partition's answer.
    """

    replica: Replica
    leader_epoch: int
    row: Answer

    def is_over(self, live: set[int], expired: bool) -> bool:
        """Whether the wait is over; the outcome is in the answer then."""
        replica, row = self.replica, self.row
        low_watermark = replica.low_watermark(live)
        if not replica.is_leader or replica.leader_epoch != self.leader_epoch:
            row["low_watermark"] = -1
            row["error_code"] = Error.NOT_LEADER_OR_FOLLOWER
        elif low_watermark >= row["low_watermark"]:  # what was meant
            row["low_watermark"] = low_watermark
        elif expired:
            row["error_code"] = Error.REQUEST_TIMED_OUT
        else:
            return False
        return True

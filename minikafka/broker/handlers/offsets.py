"""Where the records of a partition begin and end: by time, by leader epoch; and a new
beginning.
"""

from collections import Counter
from typing import Any

from minikafka.broker.calls import Broker, Call, by_topic, judged
from minikafka.clock import Now
from minikafka.cluster.metadata import INTERNAL_TOPICS
from minikafka.cluster.waiting import Answer, Wait
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.unpacking import Allowance

(
    LATEST,
    EARLIEST,
    MAX_TIMESTAMP,
    EARLIEST_LOCAL,
    LATEST_TIERED,
    EARLIEST_PENDING_UPLOAD,
) = (-1, -2, -3, -4, -5, -6)
FIRST_VERSION = {
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
NOTHING = (-1, -1, -1)
READ_COMMITTED = 1
MAX_RECORDS = 60_000  # looked at in one ListOffsets: less than a tenth of a second


def list_offsets(broker: Broker, request: Call, now: Now) -> Answer:
    """ListOffsets (KIP-79): an offset by time, or one end of the log.

    Timestamp -1 is the latest (the high watermark; read_committed: the last stable
    offset), -2 the earliest, -3 the record with the largest timestamp (KIP-734), -4 to
    -6 ask about tiered storage, which isn't there; anything from 0 on the first record
    whose timestamp is that or later; -1 where there is none. A search by timestamp
    reads the index, then decompresses one batch up to the record. Of what all the
    searches of a request may look at there is a limit, which no ordinary batches reach.
    Where it is reached the answer is an earlier offset, for -3 a later one of the same
    batch (Apache Kafka goes on). Versions: 2 adds isolation levels, 4 leader epochs, 6
    is flexible, 7 knows -3, 8 -4, 9 -5 and 11 -6; 10 brings a time-out, which nothing
    here needs.
    """
    allowance = Allowance(records=MAX_RECORDS)
    topics = []
    for topic in request.body.topics:
        times_named = Counter(
            partition.partition_index for partition in topic.partitions
        )
        once = {partition.partition_index: partition for partition in topic.partitions}
        twice = {"error_code": Error.INVALID_REQUEST}
        partitions = [
            (
                look_up(broker, request, topic.name, once[at], allowance)
                if times == 1
                else {"partition_index": at} | twice
            )
            for at, times in times_named.items()
        ]
        topics.append({"name": topic.name, "partitions": partitions})
    return {"topics": topics}


def look_up(
    broker: Broker, request: Call, topic: str, partition: Any, allowance: Allowance
) -> Answer:
    """One partition's answer."""

    def found() -> Answer:
        timestamp, offset, leader_epoch = offset_for(
            broker, request, topic, partition, allowance
        )
        answer = {"timestamp": timestamp, "offset": offset}
        return answer | ({"leader_epoch": leader_epoch} if request.version >= 4 else {})

    return judged({"partition_index": partition.partition_index}, found)


def offset_for(
    broker: Broker, request: Call, topic: str, partition: Any, allowance: Allowance
) -> tuple[int, int, int]:
    """(timestamp, offset, leader epoch), or NOTHING."""
    replica = broker.replicas.leader(
        topic, partition.partition_index, partition.current_leader_epoch
    )
    end = (
        replica.last_stable_offset
        if request.body.isolation_level == READ_COMMITTED
        else replica.high_watermark
    )
    if partition.timestamp == LATEST:
        # KIP-207: a new leader may not know yet what counts, and nothing goes back
        if replica.high_watermark_lags:
            raise KafkaError(
                Error.OFFSET_NOT_AVAILABLE
                if request.version >= 5
                else Error.LEADER_NOT_AVAILABLE
            )
        return -1, end, replica.leader_epoch
    if (
        request.version < FIRST_VERSION.get(partition.timestamp, 0)
        or partition.timestamp < EARLIEST_PENDING_UPLOAD
    ):
        raise KafkaError(Error.UNSUPPORTED_VERSION)
    if partition.timestamp in (EARLIEST, EARLIEST_LOCAL):
        return (
            -1,
            replica.log.log_start_offset,
            replica.log.epochs.epoch_at(replica.log.log_start_offset),
        )
    if partition.timestamp == MAX_TIMESTAMP:
        newest = replica.log.max_timestamp(allowance)
        return (
            NOTHING
            if newest is None
            else (*newest, replica.log.epochs.epoch_at(newest[1]))
        )
    if partition.timestamp < 0:
        return NOTHING
    found = replica.log.offset_for_timestamp(partition.timestamp, allowance)
    return found if found is not None and found[1] < end else NOTHING


def ends_of_epochs(broker: Broker, request: Call, now: Now) -> Answer:
    """OffsetForLeaderEpoch (KIP-101, KIP-320): where the records of a leader epoch end.

    The answer names the largest epoch up to the one asked for that has records, and its
    end. A consumer whose leader has changed asks with the epoch of the last record it
    read: if that epoch ends before its position, the log was cut there. Versions: 2 to
    4; 3 brings the replica's id, 4 is flexible.
    """

    def end(topic: Any, asked: Any) -> Answer:
        replica = broker.replicas.leader(
            topic.topic, asked.partition, asked.current_leader_epoch
        )
        leader_epoch, end_offset = replica.log.end_offset_for_epoch(asked.leader_epoch)
        return {"leader_epoch": leader_epoch, "end_offset": end_offset}

    return {
        "topics": by_topic(
            request.body.topics,
            "topic",
            lambda each: {"partition": each.partition},
            end,
        )
    }


def delete_records(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    """DeleteRecords (KIP-107): forget all records before an offset.

    The log start offset moves up; readers below it get OFFSET_OUT_OF_RANGE. Whole
    segments below it are deleted from disk, here at once, by Apache Kafka with the next
    pass of retention. Offset -1 means the high watermark, beyond which nothing can be
    deleted. The answer waits until all replicas on live brokers have forgotten them
    too. Versions: 0 to 2, the same fields; 2 is flexible.
    """

    def delete(topic: Any, asked: Any) -> Answer:
        if topic.name in INTERNAL_TOPICS:
            raise KafkaError(Error.INVALID_TOPIC_EXCEPTION)
        return {
            "low_watermark": (
                broker.replicas.leader(
                    topic.name, asked.partition_index
                ).delete_records(asked.offset)
            )
        }

    def named(asked: Any) -> Answer:
        return {"partition_index": asked.partition_index, "low_watermark": -1}

    topics = by_topic(request.body.topics, "name", named, delete)
    broker.replicas.changed(now)
    rows = [
        (topic["name"], row)
        for topic in topics
        for row in topic["partitions"]
        if row["error_code"] == Error.NONE
    ]
    leaders = [
        broker.replicas.leader(name, row["partition_index"]) for name, row in rows
    ]
    pending = [
        (leader, leader.leader_epoch, row)
        for leader, (_, row) in zip(leaders, rows, strict=True)
    ]

    def attempt(wait: Wait | None, now: Now, expired: bool) -> Answer | None:
        live = {each.broker_id for each in broker.image.live_brokers()}
        for each in pending.copy():
            replica, epoch, row = each
            low_watermark = replica.low_watermark(live)
            if not replica.is_leader or replica.leader_epoch != epoch:
                row.update(low_watermark=-1, error_code=Error.NOT_LEADER_OR_FOLLOWER)
            elif low_watermark >= row["low_watermark"]:  # what was meant
                row["low_watermark"] = low_watermark
            elif expired:
                row["error_code"] = Error.REQUEST_TIMED_OUT
            else:
                continue
            pending.remove(each)
        return None if pending else {"topics": topics}

    keys = [
        ("log_start", replica.log.topic, replica.log.partition) for replica in leaders
    ]
    deadline_ms = now.monotonic_ms + request.body.timeout_ms
    return attempt(None, now, False) or Wait(
        [*keys, ("metadata",)], deadline_ms, attempt
    )

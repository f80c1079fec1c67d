"""Fetch (KIP-74, KIP-227): read record batches from partitions, as they lie on disk.

Behaviour: a partition is read from the batch that contains the asked offset, up to the high watermark
(read_committed: the last stable offset). An answer holds at most MaxBytes, PartitionMaxBytes a partition, but the
first partition that has records always gives one whole batch, so that a consumer never gets stuck on a large one.
With fewer than MinBytes the request is parked until enough arrived or MaxWaitMs is over. An error in any partition is
answered at once. Nothing to give is zero bytes, never null (librdkafka fails on null). Versions: 4 is the first with
record batches v2; 7 adds sessions; 9 fences by leader epoch (KIP-320); 12 is flexible and names the epoch last
fetched (KIP-595); 13 names topics by id (KIP-516).
"""

from __future__ import annotations

from typing import Any

from minikafka.broker.calls import Broker, Call
from minikafka.broker.fetch_sessions import FINAL_EPOCH, Asked, FetchKey, news
from minikafka.clock import Now
from minikafka.cluster.waiting import Wait
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.records import batches
from minikafka.wire.topics import nested

DIVERGING_EPOCHS = 12  # the version that can tell them; a session may be continued by an older one
TOPIC_IDS = 13  # the version from which topics are named by id
READ_COMMITTED = 1
NOT_READ = (Error.UNKNOWN_TOPIC_OR_PARTITION, Error.UNKNOWN_TOPIC_ID)


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    body = request.body
    try:
        asked, session, incremental = broker.fetch_sessions.open(
            body.session_id if request.version >= 7 else 0,
            body.session_epoch if request.version >= 7 else FINAL_EPOCH,
            request.version >= TOPIC_IDS,
            asked_partitions(request),
            forgotten_partitions(request),
            now.monotonic_ms,
        )
    except KafkaError as error:
        return {"error_code": error.error, "responses": []}

    def look(expired: bool) -> dict[str, Any] | int:
        """The answer, or how many bytes are missing for one."""
        answers, size_bytes, failed = read(broker, request, asked)
        if not (expired or failed or size_bytes >= body.min_bytes or not asked):
            return body.min_bytes - size_bytes
        if broker.trace:
            tell(broker, asked, answers)
        sent = answers if session is None else news(session, answers, incremental)
        parts = ((topic, answer) for (topic, _), answer in sent.items())
        responses = nested(parts, "topic_id" if request.version >= TOPIC_IDS else "topic")
        return {"session_id": session.session_id if session else 0, "responses": responses}

    def attempt(wait: Wait, now: Now, expired: bool) -> dict[str, Any] | None:
        found = look(expired)
        if isinstance(found, int):
            wait.missing_bytes = found
            return None
        return found

    found = look(body.max_wait_ms <= 0)
    if not isinstance(found, int):
        return found
    keys = [("high_watermark", topic_name(broker, one.topic), one.partition) for one in asked]
    return Wait(keys, now.monotonic_ms + body.max_wait_ms, attempt, missing_bytes=found)


def asked_partitions(request: Call) -> dict[FetchKey, Asked]:
    """What the request asks for, one row a partition: the last one, where it names a partition twice."""
    by_id = request.version >= TOPIC_IDS
    rows = [
        Asked(
            topic.topic_id if by_id else topic.topic,
            partition.partition,
            partition.fetch_offset,
            partition.partition_max_bytes,
            partition.current_leader_epoch,
            partition.last_fetched_epoch,
        )
        for topic in request.body.topics
        for partition in topic.partitions
    ]
    return {(row.topic, row.partition): row for row in rows}


def forgotten_partitions(request: Call) -> list[FetchKey]:
    """What an incremental request no longer wants."""
    by_id = request.version >= TOPIC_IDS
    return [
        (topic.topic_id if by_id else topic.topic, partition)
        for topic in (request.body.forgotten_topics_data if request.version >= 7 else [])
        for partition in topic.partitions
    ]


def topic_name(broker: Broker, topic: str | bytes) -> str:
    """A topic's name, whichever way the request names it. An unknown id gives an empty name, which no topic has."""
    return topic if isinstance(topic, str) else broker.image.topic_names.get(topic, "")


def read(broker: Broker, request: Call, asked: list[Asked]) -> tuple[dict[FetchKey, dict[str, Any]], int, bool]:
    """Read what there is for each partition. Returns the answers, their size in bytes, and whether one of them is an
    error.
    """
    left = min(request.body.max_bytes, broker.config["fetch.max.bytes"])
    answers: dict[FetchKey, dict[str, Any]] = {}
    total, failed = 0, False
    for one in asked:
        try:
            answer, size_bytes = read_partition(broker, request, one, left, must_give=total == 0)
            total += size_bytes
            left -= size_bytes
        except KafkaError as error:
            answer, failed = refusal(one.partition, error), True
        answers[one.topic, one.partition] = answer
    return answers, total, failed


def read_partition(broker: Broker, request: Call, one: Asked, left: int, must_give: bool) -> tuple[dict[str, Any], int]:
    """One partition's answer and the size of its records."""
    name = topic_name(broker, one.topic)
    if isinstance(one.topic, bytes) and not name:
        raise KafkaError(Error.UNKNOWN_TOPIC_ID)
    replica = broker.replicas.leader(name, one.partition, one.current_leader_epoch)
    committed = request.body.isolation_level == READ_COMMITTED
    end = replica.last_stable_offset if committed else replica.high_watermark
    answer: dict[str, Any] = {
        "partition_index": one.partition,
        "error_code": Error.NONE,
        "high_watermark": replica.high_watermark,
        "last_stable_offset": replica.last_stable_offset,
        "log_start_offset": replica.log.log_start_offset,
        "aborted_transactions": [] if committed else None,
        "records": b"",
    }
    if one.last_fetched_epoch >= 0 and request.version >= DIVERGING_EPOCHS:
        diverging = replica.log.diverging_epoch(one.last_fetched_epoch, one.fetch_offset)
        if diverging is not None:
            answer["diverging_epoch"] = {"epoch": diverging[0], "end_offset": diverging[1]}
            return answer, 0
    limit = min(left, one.max_bytes)
    if limit <= 0 and not must_give:
        return answer, 0
    records = replica.log.read(one.fetch_offset, max(limit, 0), end, min_one=must_give)
    answer["records"] = records
    return answer, sum(map(len, records))


def refusal(partition: int, error: KafkaError) -> dict[str, Any]:
    """What Kafka answers for a partition it did not read."""
    return {
        "partition_index": partition,
        "error_code": error.error,
        "high_watermark": -1,
        "log_start_offset": -1,
        "aborted_transactions": [] if error.error in NOT_READ else None,
        "records": b"",
    }


def tell(broker: Broker, asked: list[Asked], answers: dict[FetchKey, dict[str, Any]]) -> None:
    """Trace events of what is being answered."""
    for one in asked:
        answer = answers[one.topic, one.partition]
        where: dict[str, Any] = {
            "topic": topic_name(broker, one.topic),
            "partition": one.partition,
            "offset": one.fetch_offset,
        }
        if answer["error_code"]:
            broker.trace.emit("FetchRefused", **where, error=Error(answer["error_code"]).name)
        elif answer["records"]:
            last = [header for chunk in answer["records"] for header, _ in batches(chunk)][-1]
            size_bytes = sum(map(len, answer["records"]))
            broker.trace.emit("RecordsFetched", **where, next_offset=last.next_offset, size_bytes=size_bytes)

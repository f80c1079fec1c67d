"""The requests in a trial of a learner's Kafka, each with the fields that are always
the same. All are about one topic, and one group.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from minikafka.course.judging.kafka_trial import Connection, Trial
from minikafka.wire.records import (
    NewRecord,
    assemble,
    encode_batch,
    encode_records,
    read_header,
)

TOPIC, GROUP = "orders", "billing"
LONG_MS = 60_000  # longer than a trial waits for an answer
_AT_MS = 1_700_000_000_000
_MOST_BYTES = 1_000_000
_FOREVER_MS = 10_000


def with_orders(trial: Trial) -> Connection:
    """A connection, and the topic."""
    us = trial.connect()
    us.ask("Metadata", topics=[{"name": TOPIC}])
    return us


# -- records


def batch(*values: str, corrupt: bool = False) -> bytes:
    """A producer's batch. corrupt: its last bit is flipped on the way."""
    made = encode_batch([(_AT_MS, None, value.encode(), []) for value in values])
    if corrupt:
        last = made[-1] ^ 1
        made = made[:-1] + bytes([last])
    return made


def compacted(*values: str | None) -> bytes:
    """The same batch after compaction has removed the records that are None. The others
    keep their offsets, and the batch its first and last one.
    """
    whole = read_header(batch(*(value or "" for value in values)))
    kept: dict[int, NewRecord] = {
        delta: (_AT_MS, None, value.encode(), [])
        for delta, value in enumerate(values)
        if value is not None
    }
    header = whole._replace(records_count=len(kept))
    return assemble(header, encode_records(header, kept.items()))


def produce(
    us: Connection,
    *values: str,
    partition: int = 0,
    acks: int = -1,
    corrupt: bool = False,
) -> Any:
    """One batch; with acks=0 there is no answer to wait for."""
    data = {"index": partition, "records": batch(*values, corrupt=corrupt)}
    topic = {"name": TOPIC, "partition_data": [data]}
    us.send("Produce", acks=acks, timeout_ms=_FOREVER_MS, topic_data=[topic])
    return us.receive() if acks else None


def produce_to(us: Connection, *places: tuple[str, int]) -> Any:
    """One request with a batch for each of these topics and partitions."""
    topics: dict[str, list[dict[str, Any]]] = {}
    for topic, partition in places:
        data = {"index": partition, "records": batch(f"for {topic}-{partition}")}
        topics.setdefault(topic, []).append(data)
    asked = [{"name": name, "partition_data": data} for name, data in topics.items()]
    return us.ask("Produce", acks=-1, timeout_ms=_FOREVER_MS, topic_data=asked)


def fetch(
    us: Connection,
    offset: int,
    partition: int = 0,
    max_wait_ms: int = 0,
    partition_max_bytes: int = _MOST_BYTES,
    receive: bool = True,
) -> Any:
    """A fetch of one partition. receive: whether to wait for the answer."""
    ask_fetch(
        us,
        {partition: offset},
        max_wait_ms=max_wait_ms,
        partition_max_bytes=partition_max_bytes,
    )
    return us.receive() if receive else None


def ask_fetch(
    us: Connection,
    offsets: Mapping[int, int],
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    partition_max_bytes: int = _MOST_BYTES,
    topic: str = TOPIC,
) -> None:
    """offsets: partition -> from where. The answer is still to be received."""
    partitions = [
        {
            "partition": partition,
            "fetch_offset": offset,
            "partition_max_bytes": partition_max_bytes,
        }
        for partition, offset in offsets.items()
    ]
    us.send(
        "Fetch",
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        topics=[{"topic": topic, "partitions": partitions}],
    )


def records_in(answer: Any) -> bytes:
    """The batches in an answer to Fetch, of all its partitions."""
    return b"".join(
        bytes(partition.records or b"")
        for topic in answer.responses
        for partition in topic.partitions
    )


def offset_for(
    us: Connection, timestamp: int, *partitions: int, topic: str = TOPIC
) -> Any:
    """-2 is the beginning, -1 the end."""
    asked = [
        {"partition_index": partition, "timestamp": timestamp}
        for partition in partitions or (0,)
    ]
    topics = [{"name": topic, "partitions": asked}]
    return us.ask("ListOffsets", replica_id=-1, topics=topics)


# -- a group


def commit(
    us: Connection, group_id: str, offset: int, *partitions: int, **from_member: Any
) -> Any:
    """from_member: see in_generation; without it the commit comes from a client that
    isn't a member.
    """
    asked = [
        {
            "partition_index": partition,
            "committed_offset": offset,
            "committed_metadata": "",
        }
        for partition in partitions or (0,)
    ]
    topic = {"name": TOPIC, "partitions": asked}
    return us.ask("OffsetCommit", group_id=group_id, topics=[topic], **from_member)


def committed(us: Connection, group_id: str) -> Any:
    """The answer to an OffsetFetch for both partitions."""
    topic = {"name": TOPIC, "partition_indexes": [0, 1]}
    return us.ask("OffsetFetch", group_id=group_id, topics=[topic])


def join(
    us: Connection,
    member_id: str = "",
    session_timeout_ms: int = 30_000,
    receive: bool = True,
    protocols: Iterable[str] = ("range",),
) -> Any:
    """An empty id is a newcomer's."""
    offered = [{"name": name, "metadata": metadata(name)} for name in protocols]
    us.send(
        "JoinGroup",
        group_id=GROUP,
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=LONG_MS,
        member_id=member_id,
        protocol_type="consumer",
        protocols=offered,
    )
    return us.receive() if receive else None


def metadata(protocol: str) -> bytes:
    """The metadata that a member sends: different for each protocol."""
    return f"what I read with {protocol}".encode()


def sync(
    us: Connection,
    joined: Any,
    assigned: Mapping[str, bytes] | None = None,
    receive: bool = True,
) -> Any:
    """assigned: member id -> what the leader gives it."""
    assignments = []
    for name, assignment in (assigned or {}).items():
        assignments.append({"member_id": name, "assignment": assignment})
    us.send("SyncGroup", **member(joined), assignments=assignments)
    return us.receive() if receive else None


def member(joined: Any) -> dict[str, Any]:
    """The fields of a member, from the answer to its JoinGroup."""
    return {
        "group_id": GROUP,
        "generation_id": joined.generation_id,
        "member_id": joined.member_id,
    }


def in_generation(joined: Any) -> dict[str, Any]:
    """The same fields as a commit has them."""
    return {
        "generation_id_or_member_epoch": joined.generation_id,
        "member_id": joined.member_id,
    }

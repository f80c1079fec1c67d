"""Writes to the class's topic, and reads it. Everybody in the class can write to it.

A reading client gives up at a batch that it can't decode, and meets it again after each
start; kafka-python needs one more package for each of snappy, lz4 and zstd, too. Here a
batch is bytes: what can't be decoded is counted and passed over, for the next batch
begins where its header says.

A producer that was given up goes on trying in the background: its old record may come
after a newer one, and when the program ends it waits for a broker that is gone. Here a
record is one request, and nothing is left of one that failed.
"""

import socket
import struct
import time
from collections.abc import Mapping
from typing import Any

from minikafka.course.clusters import reachable
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.records import (
    RawRecord,
    batches,
    check_crc,
    encode_batch,
    raw_records,
)
from minikafka.wire.schema import Message
from minikafka.wire.unpacking import Allowance

# Versions that Apache Kafka has known since 2.3; a fetch older than 10 gets no zstd
# (KIP-110).
_METADATA, _LIST_OFFSETS, _FETCH, _PRODUCE = 1, 1, 11, 7
_EARLIEST = -2  # ListOffsets' timestamp
_WAIT_MS = 500
_FETCH_BYTES = 1 << 20
# of an answer: no broker takes a larger batch unless it is told to
_MOST_BYTES = 100 << 20
_MOST_RECORDS = 100_000  # of one batch
_SESSIONLESS = -1  # a fetch session's epoch (KIP-227)
_ACKS_ALL, _ACKNOWLEDGE_WITHIN_MS = -1, 3000
# a topic that the first question for it creates has no leader for a moment
_LOOKS, _LOOK_AGAIN_S = 20, 0.1
_NOT_KAFKAS = ValueError, LookupError, struct.error  # of an answer


def append(bootstrap: str, topic: str, key: bytes, value: bytes, at_ms: int) -> None:
    """Returns when all in-sync replicas have the record; creates the topic where there
    is none yet. Errors: OSError, after which the caller may try again.

    at_ms: the record's timestamp.
    """
    batch = encode_batch([(at_ms, key, value, [])])
    body = {
        "acks": _ACKS_ALL,
        "timeout_ms": _ACKNOWLEDGE_WITHIN_MS,
        "topic_data": [
            {"name": topic, "partition_data": [{"index": 0, "records": batch}]}
        ],
    }
    try:
        with reachable.connected(_leader_soon(bootstrap, topic)) as leader:
            told = reachable.ask(leader, "Produce", _PRODUCE, body, _MOST_BYTES)
        code = told.responses[0].partition_responses[0].error_code
    except _NOT_KAFKAS as error:
        raise OSError(f"an answer that isn't Kafka's: {error}") from error
    _raise(code)


class _NoLeader(OSError):
    """Nobody leads the topic's partition."""


def _leader_soon(bootstrap: str, topic: str) -> str:
    for _ in range(_LOOKS):
        try:
            return _leader(bootstrap, topic)
        except _NoLeader:
            time.sleep(_LOOK_AGAIN_S)
    return _leader(bootstrap, topic)


def _leader(bootstrap: str, topic: str) -> str:
    """host:port of the broker that leads the topic's only partition.
    Errors: OSError.
    """
    asked = {"topics": [{"name": topic}]}
    why: OSError = _NoLeader(f"nobody leads {topic}")
    for address in bootstrap.split(","):
        try:
            with reachable.connected(address) as broker:
                told = reachable.ask(broker, "Metadata", _METADATA, asked, _MOST_BYTES)
        except OSError as error:
            why = error
            continue
        addresses = {one.node_id: f"{one.host}:{one.port}" for one in told.brokers}
        for partition in told.topics[0].partitions:
            if partition.leader_id in addresses:
                return addresses[partition.leader_id]
    raise why


class Reader:
    """The records of a topic's only partition, from its beginning on.

    unreadable: how many batches were passed over. caught_up: everything that counted at
    the last read has been read.
    """

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.unreadable = 0
        self.caught_up = False
        self._bootstrap = bootstrap
        self._topic = topic
        # where to go on reading; None: at the beginning
        self._offset: int | None = None
        self._leader: socket.socket | None = None

    def read(self) -> list[RawRecord]:
        """The records that are there, or come within half a second. Errors: OSError,
        after which the caller may try again.
        """
        try:
            if self._leader is None:
                self._leader = reachable.connected(
                    _leader(self._bootstrap, self._topic)
                )
            if self._offset is None:
                self._offset = self._beginning()
            return self._records(self._fetch(self._offset), self._offset)
        except _NOT_KAFKAS as error:
            self.close()
            raise OSError(f"an answer that isn't Kafka's: {error}") from error
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Hang up; the next read looks for the leader again."""
        if self._leader is not None:
            self._leader.close()
            self._leader = None

    def _ask(self, api: str, version: int, body: Mapping[str, object]) -> Message:
        assert self._leader is not None
        return reachable.ask(self._leader, api, version, body, _MOST_BYTES)

    def _beginning(self) -> int:
        wanted = [{"partition_index": 0, "timestamp": _EARLIEST}]
        topics = [{"name": self._topic, "partitions": wanted}]
        told = self._ask(
            "ListOffsets", _LIST_OFFSETS, {"replica_id": -1, "topics": topics}
        )
        found = told.topics[0].partitions[0]
        _raise(found.error_code)
        return int(found.offset)

    def _fetch(self, offset: int) -> Any:
        wanted = [
            {
                "partition": 0,
                "fetch_offset": offset,
                "partition_max_bytes": _FETCH_BYTES,
            }
        ]
        topics = [{"topic": self._topic, "partitions": wanted}]
        limits = {"max_wait_ms": _WAIT_MS, "min_bytes": 1, "max_bytes": _FETCH_BYTES}
        whose = {"replica_id": -1, "session_epoch": _SESSIONLESS}
        told = self._ask("Fetch", _FETCH, {**limits, **whose, "topics": topics})
        _raise(told.error_code)
        found = told.responses[0].partitions[0]
        # retention was faster, or it is another topic by now
        if found.error_code == Error.OFFSET_OUT_OF_RANGE:
            self._offset = None
        _raise(found.error_code)
        return found

    def _records(self, fetched: Any, offset: int) -> list[RawRecord]:
        records: list[RawRecord] = []
        content = fetched.records or b""
        self._offset = offset
        try:
            for header, batch in batches(content):
                self._offset = header.next_offset
                try:
                    check_crc(batch, header)
                    allowance = Allowance(records=_MOST_RECORDS)
                    for record in (
                        raw_records(batch, allowance) if not header.control else ()
                    ):
                        if record.offset >= offset:
                            records.append(record)
                except KafkaError:
                    self.unreadable += 1
        except KafkaError:  # not even a header
            pass
        if content and self._offset <= offset:
            self.unreadable += 1
            self._offset = offset + 1
        self.caught_up = self._offset >= fetched.high_watermark
        return records


def _raise(code: int) -> None:
    if code:
        raise OSError(f"the broker answers {Error(code).name}")

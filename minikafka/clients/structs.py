"""The types that clients return to programs: kafka-python's named tuples, which print
as one short line.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple


class TopicPartition(NamedTuple):
    """A partition of a topic. Equal to any (topic, partition) tuple, kafka-python's
    included.
    """

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class RecordMetadata(NamedTuple):
    """Where an acknowledged record is.

    offset is -1 when it is not known (acks=0, or a duplicate the broker had already).
    """

    topic: str
    partition: int
    topic_partition: TopicPartition
    offset: int
    timestamp: int
    checksum: None
    serialized_key_size: int
    serialized_value_size: int
    serialized_header_size: int

    def __repr__(self) -> str:
        where = (
            f"topic={self.topic!r}, partition={self.partition}, offset={self.offset}"
        )
        return f"RecordMetadata({where}, timestamp={self.timestamp})"


class OffsetAndTimestamp(NamedTuple):
    """The first record at or after a time."""

    offset: int
    timestamp: int
    leader_epoch: int


class OffsetAndMetadata(NamedTuple):
    """A committed offset: that of the next record to read. metadata: a text of the
    program's own.
    """

    offset: int
    metadata: str = ""
    leader_epoch: int = -1


class ConsumerRecord(NamedTuple):
    """A record that was read.

    timestamp: ms since the epoch; timestamp_type: 0 CreateTime, 1 LogAppendTime; sizes:
    bytes, -1 for null. delivery_count: for a share consumer, the number of this
    delivery.
    """

    topic: str
    partition: int
    leader_epoch: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: Any
    value: Any
    headers: list[tuple[str, bytes | None]]
    checksum: None
    serialized_key_size: int
    serialized_value_size: int
    serialized_header_size: int
    delivery_count: int | None = None

    def __str__(self) -> str:
        key = "" if self.key is None else f"{text(self.key)}: "
        return (
            f"{self.topic}-{self.partition} offset {self.offset} "
            f" {key}{text(self.value)}"
        )

    def __repr__(self) -> str:
        more = f", headers={self.headers!r}" if self.headers else ""
        if self.delivery_count is not None:
            more += f", delivery_count={self.delivery_count}"
        return (
            f"ConsumerRecord(topic={self.topic!r}, partition={self.partition},"
            f" offset={self.offset}, key={self.key!r}, value={self.value!r},"
            f" timestamp={self.timestamp}{more})"
        )


def sizes(
    key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes | None]]
) -> tuple[int, int, int]:
    """Sizes in bytes of key, value and headers, as kafka-python gives them; -1 for
    null, and for no headers.
    """
    of_headers = (
        sum(len(name) + len(data or b"") for name, data in headers) if headers else -1
    )
    return (
        -1 if key is None else len(key),
        -1 if value is None else len(value),
        of_headers,
    )


def text(value: Any) -> str | None:
    """A key or value as text for people to read: bytes as UTF-8; None for null."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode("utf-8", "backslashreplace")
    return str(value)


def apply(serializer: Any, topic: str, headers: Any, data: Any) -> Any:
    """serializer: None, a function of the data, or an object with serialize() or
    deserialize().
    """
    if serializer is None:
        return data
    for method in ("serialize", "deserialize"):
        if hasattr(serializer, method):
            return getattr(serializer, method)(topic, headers, data)
    return serializer(data)

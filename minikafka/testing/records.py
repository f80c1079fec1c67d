"""What a topic holds, as a consumer with isolation.level=read_committed reads it."""

from collections.abc import Iterable
from typing import NamedTuple

from minikafka.clients.items import items
from minikafka.testing.client import Client
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.records import Headers

READ_COMMITTED = 1
LATEST, EARLIEST = -1, -2
MOST_BYTES = 50 << 20
MOST_ROWS = 100  # of a table
MOST_TEXT = 40  # characters of a table's cell
COLUMNS = ("partition", "offset", "key", "value", "headers")


class ReadRecord(NamedTuple):
    """One record. timestamp: ms since 1970."""

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class Column(list[bytes | None]):
    """One field of all records, which knows the others. Equal to a list with the same
    items.
    """

    def __init__(self, items: Iterable[bytes | None], records: "Records") -> None:
        super().__init__(items)
        self.records = records


class Records(list[ReadRecord]):
    """The records of a topic, partition by partition, in the order of their offsets.
    str() is a table.
    """

    def __init__(self, topic: str, records: Iterable[ReadRecord]) -> None:
        super().__init__(records)
        self.topic = topic

    @property
    def keys(self) -> Column:
        return Column((each.key for each in self), self)

    @property
    def values(self) -> Column:
        return Column((each.value for each in self), self)

    def __str__(self) -> str:
        if not self:
            return f"{self.topic} holds no committed records"
        rows = [COLUMNS, *(cells(each) for each in self[:MOST_ROWS])]
        widths = [max(len(row[at]) for row in rows) for at in range(len(COLUMNS))]
        lines = [f"{self.topic}: {len(self)} committed record(s)"]
        for row in rows:
            padded = [
                cell.ljust(width) for cell, width in zip(row, widths, strict=True)
            ]
            lines.append("  ".join(padded).rstrip())
        if len(self) > MOST_ROWS:
            lines.append(f"and {len(self) - MOST_ROWS} more")
        return "\n".join(lines)


def cells(record: ReadRecord) -> tuple[str, ...]:
    headers = ", ".join(f"{name}={shown(value)}" for name, value in record.headers)
    return (
        str(record.partition),
        str(record.offset),
        shown(record.key),
        shown(record.value),
        headers,
    )


def shown(data: bytes | None) -> str:
    """Text where it is text, and not too long for a table."""
    if data is None:
        return "null"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.hex(" ")
    if not text.isprintable() or not text:
        text = repr(text)
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 3]}..."


def read(client: Client, topic: str) -> Records:
    """All that is committed when this is called. Errors: KafkaError."""
    found = []
    for number in sorted(
        each.partition_index for each in client.metadata(topic).partitions
    ):
        found += partition(client, topic, number)
    return Records(topic, found)


def partition(client: Client, topic: str, number: int) -> list[ReadRecord]:
    leader = client.leader(topic, number)
    at = offset(client, topic, number, EARLIEST, leader)
    end = offset(client, topic, number, LATEST, leader)
    found = []
    while at < end:
        place = {
            "partition": number,
            "fetch_offset": at,
            "partition_max_bytes": MOST_BYTES,
        }
        body = {
            "replica_id": -1,
            "max_wait_ms": 500,
            "min_bytes": 1,
            "max_bytes": MOST_BYTES,
            "isolation_level": READ_COMMITTED,
            "session_epoch": -1,
            "topics": [{"topic": topic, "partitions": [place]}],
        }
        answer = client.ask("Fetch", body, leader)
        if answer.error_code:
            raise KafkaError(Error(answer.error_code), f"reading {topic}-{number}")
        part = answer.responses[0].partitions[0]
        if part.error_code:
            raise KafkaError(Error(part.error_code), f"reading {topic}-{number}")
        aborted = part.aborted_transactions or ()
        for item in items(part.records or b"", at, True, aborted):
            at = item.next_offset
            if item.record is not None:
                one = item.record
                found.append(
                    ReadRecord(
                        number,
                        one.offset,
                        one.timestamp,
                        one.key,
                        one.value,
                        one.headers,
                    )
                )
    return found


def offset(
    client: Client, topic: str, number: int, timestamp: int, leader: str | None = None
) -> int:
    """EARLIEST, or LATEST: the last stable offset. Errors: KafkaError."""
    leader = leader or client.leader(topic, number)
    place = {"partition_index": number, "timestamp": timestamp}
    body = {
        "replica_id": -1,
        "isolation_level": READ_COMMITTED,
        "topics": [{"name": topic, "partitions": [place]}],
    }
    [asked] = client.ask("ListOffsets", body, leader).topics
    [part] = asked.partitions
    if part.error_code:
        raise KafkaError(Error(part.error_code), f"the offsets of {topic}-{number}")
    found: int = part.offset
    return found

"""The small text files of a data folder, in Apache Kafka's formats. Each is replaced
whole.

`recovery-point-offset-checkpoint`      up to where each log is known to be on disk; recovery reads from there
`log-start-offset-checkpoint`           where a log begins, if DeleteRecords moved that into a segment
`replication-offset-checkpoint`         high watermarks
`cleaner-offset-checkpoint`             up to where each compacted log is clean
`meta.properties`                       which node and which cluster the folder belongs to: see data_folder.py
`.kafka_cleanshutdown`                  there if the last stop was clean; removed at start
`partition.metadata`                    in a log's folder: the topic's id
`leader-epoch-checkpoint`               in a log's folder: see epochs.py
"""

import base64
import json
from collections.abc import Iterable, Mapping

from minikafka.storage.disk import Disk

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
PARTITION_METADATA = "partition.metadata"

VERSION = 0


def write_lines(disk: Disk, path: str, lines: Iterable[str], sync: bool = True) -> None:
    """Write a checkpoint in Kafka's form: version, number of lines, lines."""
    listed = list(lines)
    text = "".join(f"{line}\n" for line in (VERSION, len(listed), *listed))
    disk.write_atomic(path, text.encode(), sync)


def read_lines(disk: Disk, path: str) -> list[list[str]]:
    """The words of each line; an empty list if the file doesn't exist. Errors:
    ValueError if it isn't a whole checkpoint.
    """
    if not disk.exists(path):
        return []
    version, count, *lines = disk.read(path).decode().splitlines()
    if int(version) != VERSION or int(count) != len(lines):
        raise ValueError(f"version {version}, {len(lines)} of {count} lines")
    return [line.split(" ") for line in lines]


def write_offsets(
    disk: Disk, path: str, offsets: Mapping[tuple[str, int], int], sync: bool = True
) -> None:
    """Write one offset per partition. offsets: (topic, partition) -> offset."""
    lines = [
        f"{topic} {partition} {offset}"
        for (topic, partition), offset in sorted(offsets.items())
    ]
    write_lines(disk, path, lines, sync)


def read_offsets(disk: Disk, path: str) -> dict[tuple[str, int], int]:
    """(topic, partition) -> offset; empty if the file doesn't exist. Errors: ValueError
    if it isn't a whole checkpoint.
    """
    offsets = {
        (topic, int(partition)): int(offset)
        for topic, partition, offset in read_lines(disk, path)
    }
    if any(offset < 0 for offset in offsets.values()):
        raise ValueError("a negative offset")
    return offsets


def write_clean_shutdown(disk: Disk, broker_epoch: int = -1) -> None:
    """Record that the stop was clean. Call it last, when all logs are closed."""
    state = {"version": 0, "brokerEpoch": broker_epoch}
    disk.write_atomic(CLEAN_SHUTDOWN, json.dumps(state).encode())


def clean_shutdown_epoch(disk: Disk) -> int | None:
    """The broker epoch of the last run if it stopped cleanly: -1 if the file doesn't
    name one. None if the stop wasn't clean.
    """
    if not disk.exists(CLEAN_SHUTDOWN):
        return None
    try:
        state = json.loads(disk.read(CLEAN_SHUTDOWN))
        return int(state["brokerEpoch"])
    except (ValueError, KeyError, TypeError):
        return -1


def take_clean_shutdown(disk: Disk) -> bool:
    """Whether the last stop was clean. The file is removed, so that a crash from now on
    is recognized as one.
    """
    if not disk.exists(CLEAN_SHUTDOWN):
        return False
    disk.remove(CLEAN_SHUTDOWN)
    return True


def write_partition_metadata(disk: Disk, directory: str, topic_id: bytes) -> None:
    """topic_id: 16 bytes, written in base64 as Kafka shows ids. Not synced: the
    metadata log knows it too.
    """
    text = f"version: {VERSION}\ntopic_id: {uuid_text(topic_id)}\n"
    disk.write_atomic(f"{directory}/{PARTITION_METADATA}", text.encode(), sync=False)


def read_partition_metadata(disk: Disk, directory: str) -> bytes | None:
    """The topic's id, 16 bytes; None if the file is missing or incomplete."""
    fields = {}
    try:
        text = disk.read(f"{directory}/{PARTITION_METADATA}").decode()
        for line in text.splitlines():
            name, _, value = line.partition(":")
            fields[name.strip()] = value.strip()
        return uuid_bytes(fields["topic_id"])
    except (FileNotFoundError, ValueError, KeyError):
        return None


def uuid_text(value: bytes) -> str:
    """A uuid as Kafka writes it: base64, URL-safe, without padding."""
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def uuid_bytes(text: str) -> bytes:
    """The 16 bytes of a uuid. Errors: ValueError."""
    value = base64.b64decode(f"{text}==", b"-_", validate=True)
    if len(value) != 16:
        raise ValueError(f"{len(value)} bytes instead of 16")
    return value

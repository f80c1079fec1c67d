"""Snapshots of the metadata (KIP-630): the image as records, so that nobody has to
replay the log from its beginning.

A snapshot is named after its contents, `<end offset>-<epoch>.checkpoint`: it holds
everything below the end offset, and the epoch is that of the last record there. It is
in the folder of the metadata log and in its format: a header, records, a footer. Every
node writes its own, of committed metadata only, so two snapshots with the same name say
the same. The log may begin where the older of the two newest snapshots ends; a node
that needs records from before fetches the newest one (FetchSnapshot).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from minikafka.cluster.metadata import MetadataRecord
from minikafka.storage.data_folder import METADATA_LOG
from minikafka.storage.disk import Disk, as_storage_errors, unusable
from minikafka.wire.errors import KafkaError
from minikafka.wire.internal_records import (
    SNAPSHOT_FOOTER,
    SNAPSHOT_HEADER,
    control_type,
    encode_control_batch,
)
from minikafka.wire.messages import encode_data
from minikafka.wire.primitives import DecodeError
from minikafka.wire.records import batches, check_crc, decode_batch, encode_batch

SNAPSHOT_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
RECORDS_PER_BATCH = 500
KEPT = 2


class SnapshotConfig(NamedTuple):
    """When a snapshot is due: after so many bytes of records, or after so much time.
    segment_bytes: the size of the log's segments.
    """

    record_bytes: int
    interval_ms: int
    segment_bytes: int

    def is_due(self, unsaved_bytes: int, age_ms: int) -> bool:
        """Whether a snapshot is due. unsaved_bytes: of records that aren't in any
        snapshot; without such records none is due. age_ms: of the newest snapshot.
        """
        if not unsaved_bytes:
            return False
        return unsaved_bytes >= self.record_bytes or 0 < self.interval_ms <= age_ms


class SnapshotId(NamedTuple):
    """end_offset: all records below it are in the snapshot. epoch: that of the last of
    them.
    """

    end_offset: int
    epoch: int

    @property
    def path(self) -> str:
        """The path of its file on a node's disk."""
        return f"{METADATA_LOG}/{self.end_offset:020d}-{self.epoch:010d}.checkpoint"


@dataclass(slots=True)
class Incoming:
    """Another node's snapshot, as much of it as has arrived."""

    snapshot: SnapshotId
    data: bytearray = field(default_factory=bytearray)

    def records(self) -> list[MetadataRecord]:
        """Its records, once all of it has arrived. Raises what decode() raises."""
        return decode(bytes(self.data))


class Snapshots:
    """The snapshots on one node's disk, oldest first. Disk errors are raised as
    KAFKA_STORAGE_ERROR.
    """

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        names = disk.listdir(METADATA_LOG) if disk.exists(METADATA_LOG) else []
        found = [SNAPSHOT_NAME.fullmatch(name) for name in names]
        self.ids = [SnapshotId(int(each[1]), int(each[2])) for each in found if each]
        self.ids.sort()

    @property
    def newest(self) -> SnapshotId | None:
        return self.ids[-1] if self.ids else None

    def keep(self, snapshot: SnapshotId, data: bytes) -> None:
        """Store a snapshot that was made here or by another node, and remove the oldest
        ones.
        """
        with as_storage_errors(snapshot.path):
            self._disk.write_atomic(snapshot.path, data)
            self.ids = sorted({*self.ids, snapshot})
            for old in self.ids[:-KEPT]:
                self._disk.remove(old.path)
            self.ids = self.ids[-KEPT:]

    def piece(
        self, snapshot: SnapshotId, position: int, max_bytes: int
    ) -> tuple[bytes, int] | None:
        """(bytes from a position on, size of the whole snapshot); None if that snapshot
        isn't here.
        """
        if snapshot not in self.ids:
            return None
        with as_storage_errors(snapshot.path):
            file = self._disk.open(snapshot.path, create=False)
            piece, size = file.pread(max_bytes, position), file.size
            file.close()
        return piece, size

    def read(self, snapshot: SnapshotId) -> list[MetadataRecord]:
        """The records of a snapshot. Errors: KAFKA_STORAGE_ERROR if it isn't whole."""
        with as_storage_errors(snapshot.path):
            data = self._disk.read(snapshot.path)
        try:
            return decode(data)
        except (DecodeError, KafkaError, ValueError) as error:
            why = f"is no whole snapshot ({error}). Put a good copy back"
            raise unusable(snapshot.path, why) from error


def encode(epoch: int, records: Sequence[MetadataRecord], now_ms: int) -> bytes:
    """The bytes of a snapshot. now_ms: the time of the last record, for a person who
    looks at the file.
    """
    fields = {"version": 0, "last_contained_log_timestamp": now_ms}
    header = encode_data("SnapshotHeaderRecord", 0, fields)
    parts = [encode_control_batch(SNAPSHOT_HEADER, header, now_ms, leader_epoch=epoch)]
    for first in range(0, len(records), RECORDS_PER_BATCH):
        batch = records[first : first + RECORDS_PER_BATCH]
        some = [record.encoded(now_ms) for record in batch]
        parts.append(encode_batch(some, base_offset=1 + first, leader_epoch=epoch))
    footer = encode_data("SnapshotFooterRecord", 0, {"version": 0})
    end = 1 + len(records)
    parts.append(
        encode_control_batch(
            SNAPSHOT_FOOTER, footer, now_ms, base_offset=end, leader_epoch=epoch
        )
    )
    return b"".join(parts)


def decode(data: bytes) -> list[MetadataRecord]:
    """The records of a snapshot. Errors: DecodeError, CorruptRecord or ValueError if it
    is not whole.
    """
    records: list[MetadataRecord] = []
    control = []
    for header, batch in batches(data):
        check_crc(batch, header)
        for record in decode_batch(batch):
            if header.control:
                control.append(control_type(record))
            else:
                records.append(MetadataRecord.decoded(record))
    if control != [SNAPSHOT_HEADER, SNAPSHOT_FOOTER]:
        raise ValueError("its end is missing")
    return records

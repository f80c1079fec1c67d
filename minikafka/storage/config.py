"""The topic configs that concern a partition's log."""

from typing import NamedTuple


class LogConfig(NamedTuple):
    """Kafka's topic configs, with its defaults. -1 means no limit."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3600 * 1000
    segment_index_bytes: int = 10 << 20
    index_interval_bytes: int = 4096
    cleanup_policy: str = "delete"
    retention_ms: int = 7 * 24 * 3600 * 1000
    retention_bytes: int = -1
    max_message_bytes: int = 1048588
    message_timestamp_type: str = "CreateTime"
    message_timestamp_before_max_ms: int = 2**63 - 1
    message_timestamp_after_max_ms: int = 3600 * 1000
    producer_id_expiration_ms: int = 24 * 3600 * 1000
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = 2**63 - 1
    delete_retention_ms: int = 24 * 3600 * 1000
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_zstd_level: int = 3
    flush_messages: int = 2**63 - 1

    @property
    def compacts(self) -> bool:
        """Whether only the latest record for each key is kept."""
        return "compact" in self.cleanup_policy

    @property
    def deletes(self) -> bool:
        """Whether retention deletes records that are too old, or when the log is too
        large.
        """
        return "delete" in self.cleanup_policy

    @property
    def max_segment_ms(self) -> int:
        """The age at which a segment is closed. In a compacted log
        max.compaction.lag.ms counts too, because only closed segments are cleaned.
        """
        return (
            min(self.segment_ms, self.max_compaction_lag_ms)
            if self.compacts
            else self.segment_ms
        )

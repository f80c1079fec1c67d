"""The configs we honour, a row each, with Kafka's names, defaults and units. A name that is not here is refused, never
ignored. A topic config and the broker config that stands behind it (its synonym) have different names for one thing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple

from minikafka.cluster.metadata import BROKER_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE

SHORT_MAX, INT_MAX, LONG_MAX = 2**15 - 1, 2**31 - 1, 2**63 - 1


class Type(IntEnum):
    """DescribeConfigs' ConfigType."""

    BOOLEAN, STRING, INT, SHORT, LONG, DOUBLE, LIST = 1, 2, 3, 4, 5, 6, 7


class Config(NamedTuple):
    """One row of the table. lowest, highest: inclusive bounds of a number. choices: what a string may be."""

    name: str
    type: Type
    default: Any
    documentation: str
    synonym: str | None = None
    lowest: int | None = None
    highest: int | None = None
    choices: tuple[str, ...] = ()


_B, _S, _I, _L, _D, _LIST = Type.BOOLEAN, Type.STRING, Type.INT, Type.LONG, Type.DOUBLE, Type.LIST

# fmt: off
TOPIC_CONFIGS = {row.name: row for row in (
    Config("cleanup.policy", _LIST, "delete", "What happens to old segments: delete, compact or both.",
           "log.cleanup.policy", choices=("compact", "delete")),
    Config("compression.gzip.level", _I, -1, "Level where the broker compresses with gzip; -1: 6.",
           "compression.gzip.level", -1, 9),
    Config("compression.lz4.level", _I, 9, "Accepted, without effect: lz4 has one level here.",
           "compression.lz4.level", 1, 17),
    Config("compression.type", _S, "producer", "How the broker compresses; producer: batches stay as they came.",
           "compression.type", choices=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")),
    Config("compression.zstd.level", _I, 3, "Level where the broker compresses with zstd.",
           "compression.zstd.level", -131_072, 22),
    Config("delete.retention.ms", _L, 86_400_000, "How long compaction keeps tombstones for those who still read.",
           "log.cleaner.delete.retention.ms", 0),
    Config("file.delete.delay.ms", _L, 60_000, "Accepted, without effect: files are deleted in the background at once.",
           "log.segment.delete.delay.ms", 0),
    Config("flush.messages", _L, LONG_MAX, "A log is synced to disk when it has got so many records more.",
           "log.flush.interval.messages", 1),
    Config("flush.ms", _L, LONG_MAX, "Accepted, without effect: the system writes when it likes.", lowest=0),
    Config("follower.replication.throttled.replicas", _LIST, "", "Accepted, without effect: nothing is throttled."),
    Config("index.interval.bytes", _I, 4096, "An index entry at most every so many bytes.",
           "log.index.interval.bytes", 0),
    Config("leader.replication.throttled.replicas", _LIST, "", "Accepted, without effect: nothing is throttled."),
    Config("max.compaction.lag.ms", _L, LONG_MAX, "A record is compacted once it is older than this.",
           "log.cleaner.max.compaction.lag.ms", 1),
    Config("max.message.bytes", _I, 1_048_588, "The largest record batch that is accepted.", "message.max.bytes", 0),
    Config("message.timestamp.after.max.ms", _L, 3_600_000, "How far a timestamp may lie in the future.",
           "log.message.timestamp.after.max.ms", 0),
    Config("message.timestamp.before.max.ms", _L, LONG_MAX, "How far a timestamp may lie in the past.",
           "log.message.timestamp.before.max.ms", 0),
    Config("message.timestamp.type", _S, "CreateTime", "Who stamps records: the producer or the broker.",
           "log.message.timestamp.type", choices=("CreateTime", "LogAppendTime")),
    Config("min.cleanable.dirty.ratio", _D, 0.5, "A log is compacted when more of it than this is dirty.",
           "log.cleaner.min.cleanable.ratio", 0, 1),
    Config("min.compaction.lag.ms", _L, 0, "A record is not compacted before it is so old.",
           "log.cleaner.min.compaction.lag.ms", 0),
    Config("min.insync.replicas", _I, 1, "How many replicas must be in sync for acks=all.", "min.insync.replicas", 1),
    Config("preallocate", _B, False, "Accepted, without effect: files grow as they are written.", "log.preallocate"),
    Config("retention.bytes", _L, -1, "Old segments go when a partition is larger than this; -1: no limit.",
           "log.retention.bytes"),
    Config("retention.ms", _L, 604_800_000, "Segments older than this go; -1: never.", "log.retention.ms", -1),
    Config("segment.bytes", _I, 1_073_741_824, "A segment is closed at this size.", "log.segment.bytes", 1_048_576),
    Config("segment.index.bytes", _I, 10_485_760, "The largest size of an index file.", "log.index.size.max.bytes", 4),
    Config("segment.jitter.ms", _L, 0, "Accepted, without effect: segments are rolled on time.", lowest=0),
    Config("segment.ms", _L, 604_800_000, "A segment is closed at this age.", "log.roll.ms", 1),
    Config("unclean.leader.election.enable", _B, False, "Who lacks records may lead rather than nobody.",
           "unclean.leader.election.enable"),
    Config("internal.segment.bytes", _I, None, "For tests and lessons: smaller than segment.bytes allows.", lowest=1),
)}

BROKER_CONFIGS = {row.name: row for row in (
    Config("auto.create.topics.enable", _B, True, "Metadata for an unknown topic creates it."),
    Config("auto.leader.rebalance.enable", _B, True, "Who is first of the replicas leads again, when it can."),
    Config("broker.heartbeat.interval.ms", _I, 2000, "How often a broker says that it lives.", lowest=1),
    Config("broker.rack", _S, None, "Where the broker stands: replicas are spread over racks."),
    Config("broker.session.timeout.ms", _I, 9000, "A broker silent for so long is fenced: it leads nothing.", lowest=1),
    Config("connections.max.idle.ms", _L, 600_000, "A connection that is silent for so long is closed; -1: never."),
    Config("controller.quorum.election.backoff.max.ms", _I, 1000, "How long a voter who lost waits at most.", lowest=0),
    Config("controller.quorum.election.timeout.ms", _I, 1000, "A voter without a leader stands then.", lowest=1),
    Config("controller.quorum.fetch.timeout.ms", _I, 2000, "A voter who hears nothing of its leader seeks another one.",
           lowest=1),
    Config("controller.quorum.request.timeout.ms", _I, 2000, "How long a voter waits for an answer.", lowest=1),
    Config("default.replication.factor", _I, 1, "Replicas of a topic that is created automatically.", lowest=1,
           highest=SHORT_MAX),
    Config("delete.topic.enable", _B, True, "DeleteTopics is allowed."),
    Config("fetch.max.bytes", _I, 57_671_680, "The most bytes one fetch answers with.", lowest=1024),
    Config("group.consumer.assignment.interval.ms", _I, 1000, "Targets of a consumer group are made this far apart.",
           lowest=0),
    Config("group.consumer.assignors", _LIST, "uniform,range", "How the coordinator assigns (KIP-848); first: default.",
           choices=("uniform", "range")),
    Config("group.consumer.heartbeat.interval.ms", _I, 5000, "How often a member of a consumer group says it is alive.",
           lowest=1),
    Config("group.consumer.max.size", _I, INT_MAX, "The most members of a consumer group.", lowest=1),
    Config("group.consumer.session.timeout.ms", _I, 45_000, "A member of a consumer group silent so long is out.",
           lowest=1),
    Config("group.initial.rebalance.delay.ms", _I, 3000, "An empty group waits so long for more members.", lowest=0),
    Config("group.max.session.timeout.ms", _I, 1_800_000, "The longest session a classic member may ask for.",
           lowest=1),
    Config("group.max.size", _I, INT_MAX, "The most members of a classic group.", lowest=1),
    Config("group.min.session.timeout.ms", _I, 6000, "The shortest session a classic member may ask for.", lowest=0),
    Config("leader.imbalance.check.interval.seconds", _L, 300, "How often it is seen who should lead.", lowest=1),
    Config("log.cleaner.backoff.ms", _L, 15_000, "How long compaction waits before it looks at the logs again.",
           lowest=0),
    Config("log.cleaner.dedupe.buffer.size", _L, 134_217_728, "Memory for the keys of a pass of compaction.",
           lowest=1_048_577),
    Config("log.flush.offset.checkpoint.interval.ms", _I, 60_000, "How often recovery points are written.",
           lowest=0),
    Config("log.retention.check.interval.ms", _L, 300_000, "How often retention looks at the logs.", lowest=1),
    Config("max.connections", _I, INT_MAX, "The most connections; one more is closed at once.", lowest=1),
    Config("max.incremental.fetch.session.cache.slots", _I, 1000, "Fetch sessions that are kept (KIP-227).", lowest=0),
    Config("metadata.log.max.record.bytes.between.snapshots", _L, 20_971_520, "A snapshot comes after it.", lowest=1),
    Config("metadata.log.max.snapshot.interval.ms", _L, 3_600_000, "Or after this time; 0: never.", lowest=0),
    Config("metadata.log.segment.bytes", _I, 1_073_741_824, "A segment of metadata is closed then.", lowest=8_388_608),
    Config("internal.metadata.log.segment.bytes", _I, None, "For tests: smaller segments.", lowest=1),
    Config("num.partitions", _I, 1, "Partitions of a topic when nobody says a number.", lowest=1),
    Config("offset.metadata.max.bytes", _I, 4096, "The longest text that goes with a committed offset.", lowest=0),
    Config("offsets.commit.timeout.ms", _I, 5000, "What a group writes must be committed within this time.", lowest=1),
    Config("offsets.retention.check.interval.ms", _L, 600_000, "How often expired offsets are looked for.", lowest=1),
    Config("offsets.retention.minutes", _I, 10_080, "An empty group's offsets are kept so long.", lowest=1),
    Config("offsets.topic.num.partitions", _I, 50, "Partitions of __consumer_offsets.", lowest=1),
    Config("offsets.topic.replication.factor", Type.SHORT, 3,
           "Replicas of __consumer_offsets, if there are brokers enough.", lowest=1),
    Config("offsets.topic.segment.bytes", _I, 104_857_600, "Segments of __consumer_offsets, small for quick cleaning.",
           lowest=1_048_576),  # what segment.bytes allows
    Config("producer.id.expiration.ms", _I, 86_400_000, "A producer silent for so long is forgotten.", lowest=1),
    Config("replica.fetch.backoff.ms", _I, 1000, "How long a follower waits after a fetch that failed.", lowest=0),
    Config("replica.fetch.max.bytes", _I, 1_048_576, "The most bytes that a follower asks of one partition.", lowest=0),
    Config("replica.fetch.response.max.bytes", _I, 10_485_760, "The most bytes that a follower asks for.", lowest=0),
    Config("replica.fetch.wait.max.ms", _I, 500, "How long a leader may let a follower wait for records.", lowest=0),
    Config("replica.lag.time.max.ms", _L, 30_000, "A follower behind for so long is no longer in sync.", lowest=1),
    Config("replica.selector.class", _S, None, "Set, consumers read from a replica in their rack (KIP-392).",
           choices=("org.apache.kafka.common.replica.RackAwareReplicaSelector",)),
    Config("socket.request.max.bytes", _I, 104_857_600, "A larger request closes its connection.", lowest=1024),
    Config("transaction.abort.timed.out.transaction.cleanup.interval.ms", _I, 10_000,
           "How often it is looked who has a transaction open for too long.", lowest=1),
    Config("transaction.max.timeout.ms", _I, 900_000, "The longest a transaction may be open.", lowest=1),
    Config("transaction.partition.verification.enable", _B, True,
           "Whether a leader asks the coordinator before a transaction's first records (KIP-890)."),
    Config("transaction.state.log.min.isr", _I, 2, "min.insync.replicas of __transaction_state.", lowest=1),
    Config("transaction.state.log.num.partitions", _I, 50, "Partitions of __transaction_state.", lowest=1),
    Config("transaction.state.log.replication.factor", Type.SHORT, 3,
           "Replicas of __transaction_state, if there are brokers enough.", lowest=1),
    Config("transaction.state.log.segment.bytes", _I, 104_857_600, "Segments of __transaction_state.",
           lowest=1_048_576),
    Config("transactional.id.expiration.ms", _I, 604_800_000, "A transactional id unused for so long is forgotten.",
           lowest=1),
    *(Config(row.synonym, row.type, row.default, row.documentation, None, row.lowest, row.highest, row.choices)
      for row in TOPIC_CONFIGS.values() if row.synonym),
)}
GROUP_CONFIGS = {row.name: row for row in (
    Config("consumer.assignment.interval.ms", _I, 1000, "Targets of this group are made this far apart.",
           "group.consumer.assignment.interval.ms", 0),
    Config("consumer.heartbeat.interval.ms", _I, 5000, "How often a member of this group says it is alive.",
           "group.consumer.heartbeat.interval.ms", 1),
    Config("consumer.session.timeout.ms", _I, 45_000, "A member of this group silent so long is out.",
           "group.consumer.session.timeout.ms", 1),
)}
# fmt: on

# What bounds and choices can't say: which values are legal, in words.
BROKER_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "connections.max.idle.ms": (lambda ms: ms < 0 or ms > 100, "Value must be negative or more than 100"),
    "group.consumer.assignors": (lambda names: names != "", "must not be empty"),
    "log.retention.ms": (lambda ms: ms != 0, "Value must be -1 or at least 1"),
}

# Which config bounds which: (name, how it compares, name).
BROKER_ORDER = (
    ("group.min.session.timeout.ms", operator.le, "group.max.session.timeout.ms"),
    ("group.consumer.heartbeat.interval.ms", operator.lt, "group.consumer.session.timeout.ms"),
    ("log.cleaner.min.compaction.lag.ms", operator.le, "log.cleaner.max.compaction.lag.ms"),
)


TABLES = {TOPIC_RESOURCE: TOPIC_CONFIGS, BROKER_RESOURCE: BROKER_CONFIGS, GROUP_RESOURCE: GROUP_CONFIGS}

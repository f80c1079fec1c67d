"""The trace: what happened, when, where, because of what.

The core says what it did as small events. Pictures, checks and transcripts are pure
functions of a list of events, so an event holds plain JSON values only. A node builds
an event only when somebody listens (`if trace: trace.emit(...)`): without a listener,
producing and fetching cost nothing for it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

Cause = tuple[Any, Any]
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
SECONDS_UP_TO_MS = 600_000  # times are told in seconds
# the longest sentence of an event; clients name groups, members and keys as they like
SENTENCE_CHARACTERS = 1000
HIDDEN = "[hidden]"  # shown instead of a secret

# One sentence a kind. The names in braces are keys of the event's detail; a missing one
# would be a bug in the emitter. {why} is for people and may be worded anew at any time;
# what happened is in `reason`, a code of REASONS below. {message} is what Kafka's error
# says, beside `error`, its name.
SENTENCES = {
    # broker and storage
    "TopicCreated": "topic {topic} created with {partitions} partition(s)",
    "PartitionsCreated": "topic {topic} grew from {was} to {partitions} partitions",
    "TopicDeleted": "topic {topic} deleted",
    "ConfigsAltered": "configs of {resource} {name} altered: {configs}",
    "RecordsAppended": (
        "offsets {base_offset} to {last_offset} appended to {topic}-{partition}"
    ),
    "HighWatermarkAdvanced": (
        "high watermark of {topic}-{partition} advanced to {high_watermark}"
    ),
    "MarkerWritten": (
        "{topic}-{partition}: the transaction of producer {producer_id} is {outcome} at"
        " offset {offset}"
    ),
    "LastStableOffsetAdvanced": (
        "last stable offset of {topic}-{partition} advanced to {last_stable_offset}"
    ),
    "SegmentRolled": (
        "{topic}-{partition} starts a new segment at offset {base_offset}: {why}"
    ),
    "SegmentDeleted": (
        "{topic}-{partition} deleted the segment of offsets {base_offset} up to"
        " {next_offset}: {why}"
    ),
    # a pass of the log cleaner: it begins, notes the keys of each dirty segment, and
    # copies each segment without what goes; then the new one takes its place
    "CompactionStarted": (
        "{topic}-{partition} is compacted up to offset {end_offset}: {dirty_bytes} bytes"
        " are dirty, from offset {first_dirty_offset} on, and {clean_bytes} clean"
    ),
    "KeysNoted": (
        "{topic}-{partition}: keys of offsets {base_offset} up to {next_offset} noted,"
        " {keys} different ones so far"
    ),
    "SegmentCopied": (
        "{topic}-{partition}: of offsets {base_offset} up to {next_offset} {copied} are"
        " copied, {gone} are not"
    ),
    "SegmentsCompacted": (
        "{topic}-{partition} compacted offsets {base_offset} up to {next_offset}: "
        "{records_after} of {records_before} records are left"
    ),
    "CompactionFailed": "{topic}-{partition} is not compacted any more: {message}",
    "LogStartOffsetAdvanced": (
        "log start offset of {topic}-{partition} advanced to {log_start_offset}: {why}"
    ),
    "LogTruncated": (
        "{topic}-{partition} truncated: the log ends at offset {log_end_offset} now"
    ),
    "LogRecovered": (
        "{topic}-{partition} recovered up to offset {log_end_offset}, {dropped_bytes}"
        " bytes dropped: {why}"
    ),
    # broker: of a partition with several replicas only
    "ReplicaOpened": (
        "holds {topic}-{partition} up to offset {log_end_offset}; {leader} leads it in"
        " epoch {leader_epoch}, ISR {isr}"
    ),
    "RecordsReplicated": (
        "offsets {base_offset} to {last_offset} of {topic}-{partition} copied from the"
        " leader"
    ),
    "FollowerFetched": (
        "broker {follower} fetches {topic}-{partition} from offset {offset}: it has all"
        " before"
    ),
    "LogDiverged": (
        "{topic}-{partition}: epoch {epoch} ended at offset {end_offset} with the"
        " leader"
    ),
    "ProduceAnswered": (
        "answered the producer of offset {last_offset} in {topic}-{partition} with"
        " {error}"
    ),
    "LeaderElected": "leads {topic}-{partition} in epoch {leader_epoch}",
    "LeaderFollowed": (
        "follows {leader} as leader of {topic}-{partition} in epoch {leader_epoch}"
    ),
    "IsrAsked": (
        "asks the controller for ISR {isr} of {topic}-{partition} instead of {was}"
    ),
    "IsrShrunk": "ISR of {topic}-{partition} shrunk from {was} to {isr}",
    "IsrExpanded": "ISR of {topic}-{partition} grew from {was} to {isr}",
    # the metadata quorum, where it has several voters
    "VotesRequested": "asks for votes in epoch {epoch}",
    "VoteAnswered": "asked for its vote by {candidate} in epoch {epoch}: {granted}",
    "ControllerElected": (
        "is the active controller in epoch {epoch}, with {votes} votes"
    ),
    "ControllerResigned": "is no longer the active controller of epoch {epoch}",
    "ControllerFollowed": "follows {leader} as the active controller of epoch {epoch}",
    "MetadataAppended": (
        "offsets {base_offset} to {last_offset} appended to the metadata log"
    ),
    "MetadataReplicated": (
        "offsets {base_offset} to {last_offset} of the metadata log copied from the"
        " controller"
    ),
    "MetadataCommitted": "the metadata log counts up to offset {high_watermark}",
    "BrokerFenced": "broker {broker} is fenced: silent for {silent_ms} ms",
    # producers and readers of a broker
    "ProducerIdAssigned": (
        "producer id {producer_id} given out with epoch {producer_epoch}"
    ),
    "DuplicateRecognized": (
        "batch for {topic}-{partition} is there already, from offset {base_offset}"
    ),
    "BatchRefused": "batch for {topic}-{partition} refused with {error}: {message}",
    "RecordsFetched": (
        "{topic}-{partition} read from offset {offset} up to {next_offset}"
    ),
    "FetchRefused": (
        "fetch of {topic}-{partition} at offset {offset} refused with {error}"
    ),
    "NodeStopped": "stopped: {message}",
    # group coordinator
    "GroupLoaded": "groups of __consumer_offsets-{partition} loaded: {groups}",
    "GroupStateChanged": "group {group}: {was} -> {state} ({why})",
    "MemberJoined": "group {group}: {client} is a member now, as {member}: {why}",
    "MemberLeft": "group {group}: {client} is out: {why}",
    "RebalanceStarted": (
        "group {group}: a rebalance begins in generation {generation}: {why}"
    ),
    "GenerationBegan": (
        "group {group}: generation {generation} begins with {protocol}; {leader} must"
        " assign"
    ),
    "AssignmentMade": (
        "group {group}: {by} assigned the partitions of generation {generation} with"
        " {assignor}"
    ),
    "MemberReconciled": (
        "group {group}: {member} is at epoch {epoch} with {owned}, gives up {revoking}"
    ),
    "MemberRefused": "group {group}: {api} of {member} answered with {error}",
    "OffsetCommitted": (
        "group {group}: offset {offset} committed for {topic}-{partition}"
    ),
    "OffsetPending": (
        "group {group}: offset {offset} for {topic}-{partition} waits for the"
        " transaction of producer {producer_id}"
    ),
    "PendingOffsetCommitted": (
        "group {group}: offset {offset} for {topic}-{partition} counts with the"
        " transaction of producer {producer_id}"
    ),
    "OffsetsExpired": "group {group}: committed offsets of {partitions} expired",
    "GroupDeleted": "group {group} deleted",
    # transaction coordinator
    "ProducerFenced": (
        "transaction {transactional_id}: epoch {producer_epoch} is refused,"
        " {newest_epoch} is the newest"
    ),
    "TransactionStateChanged": (
        "transaction {transactional_id}: {was} -> {state} ({why})"
    ),
    # share partitions; a batch is its first and last offset, its state where it has
    # one, and how often delivered
    "ShareStateRead": (
        "group {group}: {topic}-{partition} begins at offset {offset}, with {batches}"
    ),
    "ShareRecordsAcquired": (
        "group {group}: {member} acquired {batches} of {topic}-{partition}"
    ),
    "ShareRecordsAcknowledged": (
        "group {group}: what {member} had of {topic}-{partition} has become {batches}"
    ),
    "ShareLocksRenewed": (
        "group {group}: {member} has {batches} of {topic}-{partition} for"
        " {lock_ms} ms from now on"
    ),
    "ShareLocksEnded": (
        "group {group}: locks in {topic}-{partition} ended, {batches} come back"
    ),
    "ShareRecordsArchived": (
        "group {group}: {batches} of {topic}-{partition} are archived, after their dead"
        " letters"
    ),
    "ShareStartOffsetMoved": (
        "group {group}: {topic}-{partition} begins at offset {offset} now, no longer"
        " at {was}"
    ),
    # clients
    "ClientStarted": "{client} started",
    "ClientClosed": "closed",
    "RequestSent": "sent {api} v{version} to {to}",
    "ResponseReceived": "received the answer to {api} from {from_node}",
    "PartitionChosen": "key {key} goes to partition {partition} of {topic}: {why}",
    "BatchFilled": (
        "batch {batch} for {topic}-{partition} is full with {count} record(s),"
        " {size_bytes} bytes"
    ),
    "BatchSent": (
        "batch {batch} sent to {topic}-{partition} with {count} record(s), attempt"
        " {attempt}: {why}"
    ),
    "BatchRetried": (
        "batch {batch} for {topic}-{partition} is tried again in {backoff_ms} ms: {why}"
    ),
    "RecordsAcknowledged": (
        "{count} record(s) acknowledged by {topic}-{partition} from offset"
        " {base_offset}"
    ),
    "SendFailed": "{count} record(s) for {topic}-{partition} failed with {error}",
    "RecordsPolled": (
        "poll returned records of {topic}-{partition}; next offset {position}"
    ),
    "PositionReset": "position in {topic}-{partition} reset to {offset}: {why}",
    "OffsetFound": "{topic}-{partition} at {timestamp} or later: offset {offset}",
    "PositionSought": "position in {topic}-{partition} set to {offset}",
    "PartitionsPaused": "paused {partitions}",
    "PartitionsResumed": "resumed {partitions}",
    # members of a group
    "MemberStateChanged": "{was} -> {state}: {why}",
    "AssignorRan": (
        "leader of group {group}: {assignor} assigned the partitions of generation"
        " {generation}"
    ),
    "PartitionsAssigned": "was given {partitions} in generation {generation}",
    "PartitionsRevoked": "gave up {partitions} in generation {generation}",
    "PartitionsLost": "lost {partitions}",
    "CommitSent": "commits {offsets} ({how})",
    "CommitAcknowledged": "commit of {offsets} acknowledged",
    "CommitFailed": "commit of {offsets} failed with {error}",
    "PollOverdue": "has not polled in time: {why}",
    "RecordsProcessed": "processed offsets {offsets} of {topic}-{partition}",
    # members of a share group
    "SharePartitionsAssigned": "fetches from {partitions}, at epoch {epoch}",
    "ShareRecordsPolled": "poll returned records of {topic}-{partition}: {records}",
    "ShareRecordsSaid": (
        "told the broker of {topic}-{partition} what became of {batches}: {error}"
    ),
    # the model queue of lesson 15, in AMQP's words
    "QueueDeclared": "queue {queue} declared",
    "QueueDeleted": "queue {queue} deleted",
    "ConsumerAdded": (
        "{consumer} consumes from {queue}, prefetch_count {prefetch_count}"
    ),
    "ChannelClosed": "channel {channel} closed with {unacked} message(s) in hand",
    "MessagePublished": "{message} published to {exchange}, for {queues}",
    "MessageDelivered": (
        "{message} of {queue} pushed to {consumer} with delivery tag {delivery_tag},"
        " redelivered {redelivered}"
    ),
    "MessageAcknowledged": "{message} acknowledged by {consumer}: gone from {queue}",
    "MessageRequeued": "{message} back in {queue}: {why}",
    "MessageDeadLettered": "{message} of {queue} goes to {queues}: {why}",
    "MessageDiscarded": "{message} gone from {queue}: {why}",
    # a query of Spark's, as the course tells it
    "MicroBatchBegan": "micro-batch {batch} began with watermark {watermark}",
    "RowCounted": "{order} counted in the window of minute {window}",
    "RowDropped": "{order} dropped: its window ended before the watermark",
    "WindowWritten": "the window of minute {window} written with {count}",
    "WindowForgotten": "the window of minute {window} is no longer in state",
    "WatermarkMoved": "the watermark moved to minute {to}",
    # a query of Spark's, by its checkpoint and its sink
    "QueryStarted": "life {life} of the query begins",
    "PlanWritten": "offsets/{batch} written, with {records} record(s)",
    "RowsWritten": "the sink has {rows} row(s) more, of micro-batch {batch}",
    "BatchCommitted": "commits/{batch} written",
    "QueryDied": "life {life} of the query ended by a kill",
    # a lesson's frame, as it was sent or with a byte that was changed
    "FrameRead": "{frame}: bytes read up to {end}, a change is noticed by {by}",
    # simulation
    "RunEnded": (
        "killed on entering call {run}, {call}: in the end each order was written"
        " {written} times"
    ),
    "RunCompared": "{says}",
    "EffectWritten": "wrote {key} to {table}",
    "NoteRead": "read the note {name} of {table}: {value}",
    "ProcessingSlowed": "needs {processing_ms} ms for each record now",
    "NodeCrashed": "crashed",
    "NodeShutDown": "shut down cleanly",
    "NodeRestarted": "restarted",
    "NodeFrozen": "frozen",
    "NodeThawed": "goes on after a freeze",
    "LinkCut": "nothing passes between {one} and {other} any more",
    "LinkHealed": "what {one} and {other} send each other arrives again",
    "TimeMoved": "the brokers' time is moved on by {seconds:g} s",
    "MessageLost": "message from {source} to {target} lost: {why}",
    "ProgramStarted": "program {program} started",
    "ProgramEnded": "program {program} ended",
    "ProgramFailed": "program {program} failed: {error}",
}

# Why something happened, as code reads it: the codes that the `reason` of an event of
# this kind can be.
REASONS = {
    # broker and storage
    "SegmentRolled": {
        "segment_bytes",
        "segment_ms",
        "max_compaction_lag_ms",
        "large_offset",
        "index_full",
        "all_are_deleted",
    },
    "SegmentDeleted": {"retention_bytes", "retention_ms", "log_start_offset"},
    "LogStartOffsetAdvanced": {
        "retention_bytes",
        "retention_ms",
        "log_start_offset",
        "delete_records",
    },
    "LogRecovered": {"whole", "damaged"},
    # group coordinator; of a classic group, the events of coordinators/classic_state.py
    "GroupStateChanged": {
        "member_joins",
        "member_leaves",
        "session_timeout",
        "rebalance_timeout",
        "all_joined",
        "nobody_joined",
        "leader_assigned",
        "assignment_lost",
        "sync_timeout",
        "group_epoch",
        "target_assignment",
        "reconciliation",
    },
    "RebalanceStarted": {
        "member_joins",
        "member_leaves",
        "session_timeout",
        "assignment_lost",
        "sync_timeout",
        "subscription",
        "topics",
    },
    "MemberJoined": {"new", "static_member_replaced"},
    "MemberLeft": {
        "goodbye",
        "session_timeout",
        "rebalance_timeout",
        "sync_timeout",
        "static_member_replaced",
    },
    # transaction coordinator; those of coordinators/transactions.py
    "TransactionStateChanged": {
        "producer_came",
        "partitions_join",
        "producer_commits",
        "producer_aborts",
        "transaction_timeout",
        "markers_written",
        "transactional_id_expired",
    },
    # clients
    "PartitionChosen": {"murmur2", "sticky", "round_robin", "own_rule", "program"},
    "BatchSent": {"full", "linger_ms", "flush", "buffer_memory", "retry"},
    "BatchRetried": {"connection_lost", "request_timeout_ms", "refused"},
    "PositionReset": {
        "committed",
        "auto_offset_reset",
        "out_of_range",
        "program",
        "truncated",
    },
    # members of a group: the events of MOVES in clients/classic_membership.py and
    # clients/consumer_membership.py
    "MemberStateChanged": {
        "join_sent",
        "member_id_given",
        "all_joined",
        "share_received",
        "refused",
        "out",
        "polled",
        "all_dropped",
        "share_is_new",
        "share_is_had",
        "reconciled",
        "said_so",
        "said_so_but_share_is_new",
        "left",
        "put_out",
        "overdue",
        "leaves",
    },
    "PollOverdue": {"max_poll_interval_ms"},
    # the model queue
    "MessageRequeued": {"requeued", "channel_closed"},
    "MessageDeadLettered": {"rejected", "expired"},
    "MessageDiscarded": {"rejected", "expired"},
    # simulation
    "MessageLost": {"fault_plan"},
}


class Reason(NamedTuple):
    """Why something happened. code: one of REASONS, for programs. sentence: for
    people.
    """

    code: str
    sentence: str

    def __str__(self) -> str:
        return self.sentence


def moment(at_ms: int, thousandths: bool = True, latest_ms: int | None = None) -> str:
    """A time as people read it. All that is told together reads alike, by the latest
    of it: up to ten minutes "12.400 s", up to a day "00:29:29", then
    "day 13 00:10:00"; day 0 begins at time 0.

    thousandths: False leaves them out, for times that the rest tells apart ("12.40 s").
    """
    latest = at_ms if latest_ms is None else latest_ms
    if latest < SECONDS_UP_TO_MS:
        return f"{at_ms / 1000:.{3 if thousandths else 2}f} s"
    seconds, ms = divmod(at_ms, 1000)
    days, seconds = divmod(seconds, 86_400)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if ms and thousandths:
        clock += f".{ms:03}"
    return clock if latest < DAY_MS else f"day {days} {clock}"


def printable(text: str, most: int = 200) -> str:
    """A text from outside as one harmless line of at most `most` characters: control
    characters, line ends, characters that turn the direction of writing and invisible
    ones appear as Python writes them ("\\n", "\\x1b", "\\u202e").
    """
    shown = "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode()
        for char in text[: most + 1]
    )
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened.

    id: (node, number), numbered from 1 on each node. at: ms since the cluster or the
    server started. cause: the id of an earlier event, or (connection, correlation id)
    while a broker serves a request; the client's RequestSent names the same two.
    detail: JSON values, keyed as in SENTENCES (some kinds carry more). Where it says
    `why`, `reason` is the code of REASONS for it.
    """

    id: tuple[str, int]
    at: int
    node: str
    kind: str
    cause: Cause | None
    detail: dict[str, Any]

    def __str__(self) -> str:
        sentence = printable(
            SENTENCES[self.kind].format_map(self.detail), SENTENCE_CHARACTERS
        )
        return f"{moment(self.at)}  {printable(self.node)}: {sentence}"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, one line of `serve --trace FILE`."""
        cause = None if self.cause is None else list(self.cause)
        return {
            "id": list(self.id),
            "at": self.at,
            "node": self.node,
            "kind": self.kind,
            "cause": cause,
            "detail": self.detail,
        }

    @staticmethod
    def from_json(line: dict[str, Any]) -> "Event":
        cause = None if line["cause"] is None else tuple(line["cause"])
        return Event(
            tuple(line["id"]),
            line["at"],
            line["node"],
            line["kind"],
            cause,
            line["detail"],
        )


class Trace:
    """A node's way to tell its listeners. The list of listeners is shared by all nodes;
    a trace without any is false.

    now: ms, set by the node whenever it is entered. cause: what the node is processing,
    or None.
    """

    __slots__ = ("_number", "cause", "listeners", "node", "now")

    def __init__(
        self, node: str, listeners: list[Callable[[Event], None]] | None = None
    ) -> None:
        self.node = node
        self.listeners = [] if listeners is None else listeners
        self.now = 0
        self.cause: Cause | None = None
        self._number = 0

    def __bool__(self) -> bool:
        return bool(self.listeners)

    def emit(
        self,
        kind: str,
        *,
        cause: Cause | None = None,
        why: Reason | None = None,
        **detail: Any,
    ) -> tuple[str, int]:
        """Tell all listeners; returns the event's id, to be the cause of a later
        one.
        """
        assert kind in SENTENCES, f"a trace event needs its sentence: {kind}"
        if why is not None:
            assert why.code in REASONS[kind], f"{kind} knows no reason {why.code!r}"
            detail |= {"reason": why.code, "why": why.sentence}
        self._number += 1
        event = Event(
            (self.node, self._number),
            self.now,
            self.node,
            kind,
            cause or self.cause,
            detail,
        )
        for listener in self.listeners:
            listener(event)
        return event.id

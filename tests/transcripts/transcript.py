"""A trace as a text to read.

    > broker 1 is killed
      +1.504 s  broker 2  asks for pre-votes in epoch 1, with log end offset 10
      +1.506 s  broker 3  would not vote for broker 2: it still believes in a leader

A line that begins with `>` says what is done, `#` what to look at, and `=` how things
stand then. The others are events: when, counted from the last `>`, who, and what. A
scenario names the kinds of events that its story needs; words that are shorter than the
event's own are here.
"""

import re
import textwrap
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from minikafka.simulation.cluster import Cluster
from minikafka.trace import SENTENCES, Event

Detail = dict[str, Any]
COLUMNS = 88
SHARE_STATES = {0: "available", 2: "acknowledged", 3: "archiving", 4: "archived"}
WHO_COLUMNS = 9
# members are called "A-aa1536e1-d3e4-4e61-8b6f-f12a12740cab": the name is enough
UUID_AT_END = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

WORDS = {
    "BatchRefused": "refuses the batch for {topic}-{partition}: {error}",
    "BatchRetried": "will send it again: {why}",
    "BrokerFenced": "fences broker {broker}: silent for {silent_ms} ms",
    "CommitAcknowledged": "knows that its commit is safe",
    "ControllerElected": "leads epoch {epoch} with {votes} votes",
    "ControllerFollowed": "follows broker {leader} in epoch {epoch}",
    "ControllerResigned": "leads epoch {epoch} no more: it reaches no majority",
    "GenerationBegan": (
        "generation {generation} has the members {members}; {leader} leads, and"
        " assigns with {protocol}"
    ),
    "GroupLoaded": "has read the groups of __consumer_offsets-{partition}: {groups}",
    "GroupStateChanged": "group: {was} -> {state} ({why})",
    "HighWatermarkAdvanced": "high watermark of {topic}-{partition}: {high_watermark}",
    "IsrAsked": "asks the controller for ISR {isr}",
    "IsrExpanded": "ISR grows: {was} -> {isr}",
    "IsrShrunk": "ISR shrinks: {was} -> {isr}",
    "LastStableOffsetAdvanced": (
        "last stable offset of {topic}-{partition}: {last_stable_offset}"
    ),
    "LeaderElected": "leads {topic}-{partition} in leader epoch {leader_epoch}",
    "LeaderFollowed": (
        "follows broker {leader} in leader epoch {leader_epoch} of {topic}-{partition}"
    ),
    "LogDiverged": (
        "hears that leader epoch {epoch} ended at offset {end_offset} with the leader"
    ),
    "LogTruncated": "cuts its log: it ends at offset {log_end_offset} now",
    "MarkerWritten": (
        "writes a marker to {topic}-{partition} at offset {offset}: {outcome}"
    ),
    "MetadataAppended": "metadata log: appends offsets {base_offset} to {last_offset}",
    "MetadataCommitted": "metadata log: committed up to offset {high_watermark}",
    "MemberJoined": "{client} is a member",
    "MemberLeft": "{client} is out: {why}",
    "MemberRefused": "answers {api} of {member} with {error}",
    "OffsetCommitted": "offset {offset} is committed for {topic}-{partition}",
    "ProducerFenced": (
        "refuses producer epoch {producer_epoch}: {newest_epoch} is the newest"
    ),
    "RecordsAcknowledged": "knows that offset {base_offset} is acknowledged",
    "RequestSent": "sends {api} to {to}",
    "ResponseReceived": "has the answer to {api}",
    "ShareStartOffsetMoved": "the group begins at offset {offset} now, no longer {was}",
    "TransactionStateChanged": (
        "{transactional_id}, epoch {producer_epoch}: {was} -> {state} ({why})"
    ),
}


def told(event: Event) -> str | None:
    """What an event says in a transcript; None for one that says nothing there."""
    finds_words = FINDS_WORDS.get(event.kind)
    if finds_words is not None:
        return finds_words(event.detail)
    template = WORDS.get(event.kind, SENTENCES[event.kind])
    shown = {name: listed(value) for name, value in event.detail.items()}
    return template.format_map(shown)


def listed(value: object) -> object:
    """A list without brackets and quotes."""
    if not isinstance(value, list):
        return value
    return ", ".join(str(item) for item in value) or "nobody"


def numbers(partitions: list[list[object]]) -> str:
    """Partitions of the one topic that a scenario has."""
    return " ".join(str(number) for _, number in partitions) or "nothing"


def _votes_requested(detail: Detail) -> str:
    wanted = "pre-votes" if detail["pre_vote"] else "votes"
    log = f"with log end offset {detail['log_end_offset']}"
    return f"asks for {wanted} in epoch {detail['epoch']}, {log}"


def _vote_answered(detail: Detail) -> str:
    candidate, epoch = f"broker {detail['candidate']}", detail["epoch"]
    if detail["granted"]:
        verb = "would vote" if detail["pre_vote"] else "votes"
        return f"{verb} for {candidate}"
    verb = "would not vote" if detail["pre_vote"] else "does not vote"
    candidates_end, own_end = detail["ends"]
    if candidates_end < own_end:
        return f"{verb} for {candidate}: its own log is further"
    if detail["pre_vote"]:
        return f"{verb} for {candidate}: it still believes in a leader"
    return f"{verb} for {candidate}: it has voted, or follows, in epoch {epoch}"


def _records_appended(detail: Detail) -> str | None:
    values = _values(detail["records"])
    if values is None:
        return None
    topic, partition = detail["topic"], detail["partition"]
    return f"appends to {topic}-{partition} at offset {detail['base_offset']}: {values}"


def _records_replicated(detail: Detail) -> str | None:
    values = _values(detail["records"])
    if values is None:
        return None
    return f"copies offset {detail['base_offset']} from the leader: {values}"


def _values(records: list[list]) -> str | None:
    """None for a marker: its own event tells it."""
    keys = [key for _, key, *_ in records]
    if any(key is not None and key.startswith("\0") for key in keys):
        return None
    return ", ".join(value for _, _, value, *_ in records)


def _records_polled(detail: Detail) -> str:
    values = ", ".join(value for _, _, value in detail["records"])
    return f"reads {values}; goes on at offset {detail['position']}"


def _assignor_ran(detail: Detail) -> str:
    shares = [
        f"{member}: {numbers(partitions)}"
        for member, partitions in detail["assignment"].items()
    ]
    return f"assigns {'; '.join(shares)}"


def _partitions_assigned(detail: Detail) -> str:
    gained, owned = numbers(detail["partitions"]), numbers(detail["owned"])
    return f"takes over {gained}; has {owned}"


def _partitions_revoked(detail: Detail) -> str:
    lost, owned = numbers(detail["partitions"]), numbers(detail["owned"])
    return f"gives up {lost}; has {owned}"


def _member_reconciled(detail: Detail) -> str:
    said = f"{detail['member']} is at epoch {detail['epoch']} with"
    said += f" {numbers(detail['owned'])}"
    if detail["revoking"]:
        said += f", must give up {numbers(detail['revoking'])}"
    if detail["waiting_for"]:
        said += f", {numbers(detail['waiting_for'])} when others have given it up"
    return said


def _commit_sent(detail: Detail) -> str:
    offsets = [
        f"offset {offset} of {topic}-{number}"
        for topic, number, offset in detail["offsets"]
    ]
    return f"commits {', '.join(offsets)}"


def _spans(batches: list[list[Any]]) -> str:
    """The offsets of batches, whatever else is said of them."""
    spans = []
    for first, last, *_ in batches:
        spans.append(f"{first}" if first == last else f"{first} to {last}")
    return ", ".join(spans)


def _states(batches: list[list[int]]) -> str:
    """Of share partitions: what became of records, and how often they were given."""
    said = []
    for batch in batches:
        _, _, state, deliveries = batch
        now = SHARE_STATES[state]
        said.append(f"{_spans([batch])} {now}, delivery count {deliveries}")
    return "; ".join(said) or "nothing in flight"


def _share_state_read(detail: Detail) -> str:
    return (
        f"the group begins at offset {detail['offset']}: {_states(detail['batches'])}"
    )


def _share_locks_ended(detail: Detail) -> str:
    return f"locks have ended: {_states(detail['batches'])}"


def _share_records_acquired(detail: Detail) -> str:
    given = [f"{_spans([batch])} (delivery {batch[2]})" for batch in detail["batches"]]
    return f"hands out {', '.join(given)}, locked for {detail['lock_ms']} ms"


def _share_records_acknowledged(detail: Detail) -> str:
    return f"has written: {_states(detail['batches'])}"


def _share_records_polled(detail: Detail) -> str:
    return f"polls {', '.join(value for _, _, value, _ in detail['records'])}"


def _share_records_said(detail: Detail) -> str:
    said = [
        f"{word} {_spans([[first, last]])}" for first, last, word in detail["batches"]
    ]
    return f"has the answer to {', '.join(said)}: {detail['error']}"


def _share_partitions_assigned(detail: Detail) -> str:
    return f"fetches from its partitions, at member epoch {detail['epoch']}"


FINDS_WORDS = {
    "AssignmentMade": _assignor_ran,
    "AssignorRan": _assignor_ran,
    "CommitSent": _commit_sent,
    "MemberReconciled": _member_reconciled,
    "PartitionsAssigned": _partitions_assigned,
    "PartitionsRevoked": _partitions_revoked,
    "RecordsAppended": _records_appended,
    "RecordsPolled": _records_polled,
    "RecordsReplicated": _records_replicated,
    "ShareLocksEnded": _share_locks_ended,
    "SharePartitionsAssigned": _share_partitions_assigned,
    "ShareRecordsAcknowledged": _share_records_acknowledged,
    "ShareRecordsAcquired": _share_records_acquired,
    "ShareRecordsPolled": _share_records_polled,
    "ShareRecordsSaid": _share_records_said,
    "ShareStateRead": _share_state_read,
    "VoteAnswered": _vote_answered,
    "VotesRequested": _votes_requested,
}


class Transcript:
    """What is written of one scenario. kinds: of events. topics: what brokers say of
    the logs of others is left out. apis: the requests that are told.
    """

    def __init__(
        self,
        kinds: Collection[str],
        topics: Collection[str] = ("orders",),
        apis: Collection[str] = (),
    ) -> None:
        self._kinds = kinds
        self._topics = topics
        self._apis = apis
        self._lines: list[str] = []
        self._cluster: Cluster | None = None

    def watch(self, cluster: Cluster) -> Cluster:
        """From now on it is about this cluster."""
        self._cluster = cluster
        return cluster

    def note(self, text: str) -> None:
        """Add a comment that says what to look at."""
        filled = textwrap.fill(
            " ".join(text.split()),
            COLUMNS,
            initial_indent="# ",
            subsequent_indent="# ",
        )
        self._lines += ["", filled]

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Something is done, and this is what happens."""
        seen = began_ms = 0
        before = self._cluster
        if before is not None:
            seen, began_ms = len(before.trace), before.now_ms
        yield
        assert self._cluster is not None, "a step is one of a cluster's"
        if self._cluster is not before:
            seen = began_ms = 0
        self.does(what)
        for event in self._cluster.trace[seen:]:
            words = told(event) if self._is_shown(event) else None
            if words is not None:
                since_s = (event.at - began_ms) / 1000
                self.line(f"+{since_s:.3f} s", event.node, words)

    def does(self, what: str) -> None:
        """Something is done; lines follow that say what happens."""
        self._lines.append(f"> {what}")

    def state(self, text: str) -> None:
        """Add a line with the state of the cluster."""
        self._lines.append(f"  = {text}")

    def line(self, when: str, who: str, words: str) -> None:
        """Add a line for an event: when, on which node, in words."""
        head = f"  {when:8}  {who:{WHO_COLUMNS}} "
        text = UUID_AT_END.sub("", words)
        filled = textwrap.fill(
            text, COLUMNS, initial_indent=head, subsequent_indent=" " * (len(head) + 2)
        )
        self._lines.append(filled)

    def text(self) -> str:
        """The whole transcript."""
        return "\n".join(self._lines).strip() + "\n"

    def _is_shown(self, event: Event) -> bool:
        if event.kind not in self._kinds:
            return False
        if event.kind in ("RequestSent", "ResponseReceived"):
            return event.detail["api"] in self._apis
        is_of_a_log = event.node.startswith("broker") and "group" not in event.detail
        if is_of_a_log and "topic" in event.detail:
            return event.detail["topic"] in self._topics
        return True

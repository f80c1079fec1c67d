"""The story of a test, in about twenty lines: what clients asked, and below each
request what came of it, in the sentences of the trace.

What says nothing is left out (a fetch that got nothing, a high watermark), what repeats
itself is told once, and where it's still too much, trouble stays longest.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import groupby
from typing import Any

from minikafka.testing.asked import MOST_BYTES, Asked
from minikafka.testing.client import CLIENT_ID
from minikafka.trace import SENTENCES, Event, printable
from minikafka.wire.messages import Request

MOST_LINES = 20
MOST_OF_LINE = 300  # characters of what is told
MOST_VALUES = 3  # of the records of a batch
NOTHING = "nothing"

# left out, unless something is wrong or came of it
QUIET = {
    "ApiVersions",
    "ConsumerGroupDescribe",
    "ConsumerGroupHeartbeat",
    "DescribeCluster",
    "DescribeConfigs",
    "DescribeGroups",
    "DescribeQuorum",
    "DescribeTopicPartitions",
    "Fetch",
    "FindCoordinator",
    "GetTelemetrySubscriptions",
    "Heartbeat",
    "ListGroups",
    "ListOffsets",
    "Metadata",
    "OffsetForLeaderEpoch",
    "SaslAuthenticate",
    "SaslHandshake",
    "SyncGroup",
}
# of what a test itself asks: what came of it says enough
OF_THE_TEST = {"CreateTopics", "DeleteTopics"}
# what came of them names the client
TOLD_BY_EVENTS = {
    "ConsumerGroupHeartbeat",
    "JoinGroup",
    "LeaveGroup",
    "SyncGroup",
}
# as every client meets them: nothing is wrong
USUAL = {
    ("Fetch", "FETCH_SESSION_ID_NOT_FOUND"),
    ("FindCoordinator", "COORDINATOR_LOAD_IN_PROGRESS"),
    ("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"),
    ("Heartbeat", "REBALANCE_IN_PROGRESS"),
    ("InitProducerId", "COORDINATOR_LOAD_IN_PROGRESS"),
    ("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS"),
    ("JoinGroup", "MEMBER_ID_REQUIRED"),
    ("OffsetFetch", "COORDINATOR_LOAD_IN_PROGRESS"),
    ("SyncGroup", "REBALANCE_IN_PROGRESS"),
}
BORING = {
    "ControllerElected",
    "ControllerFollowed",
    "FollowerFetched",
    "GenerationBegan",  # the assignment tells it
    "GroupLoaded",
    "GroupStateChanged",
    "HighWatermarkAdvanced",
    "IsrAsked",
    "LastStableOffsetAdvanced",
    "LeaderFollowed",
    "LogRecovered",
    "MemberRefused",  # its request's answer has the error
    "MetadataAppended",
    "MetadataCommitted",
    "MetadataReplicated",
    "RecordsReplicated",
    "ReplicaOpened",
    "SegmentRolled",
    "VoteAnswered",
    "VotesRequested",
}
ROUTINE = {
    "MarkerWritten",
    "OffsetCommitted",
    "RecordsAppended",
    "RecordsFetched",
    "TopicCreated",
    "TopicDeleted",
}
TROUBLE = {
    "BatchRefused",
    "BrokerFenced",
    "DuplicateRecognized",
    "FetchRefused",
    "IsrShrunk",
    "LinkCut",
    "LogTruncated",
    "NodeCrashed",
    "NodeFrozen",
    "NodeStopped",
    "OffsetsExpired",
    "ProduceAnswered",
    "ProducerFenced",
    "TimeMoved",
}
LEAVES = "goodbye"  # why a member left, if it wanted to
# an event that goes on where another one ends: its details that say where
GOES_ON = {
    "OffsetCommitted": None,
    "RecordsAppended": ("base_offset", "last_offset", 1),
    "RecordsFetched": ("offset", "next_offset", 0),
}
UUID = re.compile(r"([0-9a-f]{4})[0-9a-f]{4}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ONE_OFFSET = re.compile(r"offsets (\d+) to \1\b")


class Weight(IntEnum):
    """What goes first when there is too much."""

    ROUTINE = 0
    TURN = 1
    TROUBLE = 2


@dataclass
class Block:
    """A request with what came of it, or an event that no request caused. headline:
    empty, if what came of it says enough. times: how often it was.
    """

    at_ms: int
    headline: str
    weight: Weight
    events: list[Event] = field(default_factory=list)
    times: int = 1
    until_ms: int = 0

    @property
    def alike(self) -> tuple[Any, ...]:
        """The same for all blocks that say the same thing."""
        return (self.headline, *map(subject, self.events))

    def lines(self, began_ms: int) -> list[str]:
        moment = f"{(self.at_ms - began_ms) / 1000:7.3f} s  "
        told = [sentence(event) for event in self.events]
        if self.headline:
            often = ""
            if self.times > 1:
                until_s = (self.until_ms - began_ms) / 1000
                often = f", {self.times} times until {until_s:.3f} s"
            told.insert(0, self.headline + often)
        first, *rest = told
        return [moment + first, *(" " * (len(moment) + 2) + each for each in rest)]


def told(
    asked: Sequence[Asked], events: Sequence[tuple[int, Event]], began_ms: int
) -> list[str]:
    """The lines. events: each with its number among all that was heard. began_ms: when
    the test did.
    """
    blocks = without_repeats([*blocks_of(asked, events)])
    return shortened(blocks, began_ms)


def blocks_of(
    asked: Sequence[Asked], events: Sequence[tuple[int, Event]]
) -> Iterator[Block]:
    """All that is worth a line, in order."""
    of_requests: dict[Any, list[Event]] = {each.cause: [] for each in asked}
    alone: list[tuple[int, Event]] = []
    told_by = another_event_tells([event for _, event in events])
    for number, event in events:
        if not is_interesting(event) or told_by(event):
            continue
        if event.cause in of_requests:
            of_requests[event.cause].append(event)
        else:
            alone.append((number, event))
    found = [(number, of_event(event)) for number, event in alone]
    for each in asked:
        block = of_request(each, of_requests[each.cause])
        if block is not None:
            found.append((each.number, block))
    found.sort(key=lambda numbered: numbered[0])
    for _, block in found:
        yield block


def another_event_tells(events: Sequence[Event]) -> Callable[[Event], bool]:
    """What an event says may be in another one: a record that is a transaction's
    marker, a rebalance whose reason is a member that came or left.
    """
    markers = {place(each) for each in events if each.kind == "MarkerWritten"}
    moves = {
        (each.detail["group"], each.at)
        for each in events
        if each.kind in ("MemberJoined", "MemberLeft")
    }

    def is_told(event: Event) -> bool:
        if event.kind == "RecordsAppended":
            return place(event) in markers
        if event.kind == "RebalanceStarted":
            return (event.detail["group"], event.at) in moves
        return False

    return is_told


def place(event: Event) -> tuple[str, int, int]:
    """Where a batch, or the marker of a transaction, is in its log."""
    detail = event.detail
    offset = detail["offset"] if "offset" in detail else detail["base_offset"]
    return detail["topic"], detail["partition"], offset


def is_interesting(event: Event) -> bool:
    detail = event.detail
    if event.kind == "ProduceAnswered":
        return bool(detail["error"] != "NONE")
    if event.kind == "TransactionStateChanged":
        return bool(detail["reason"] != "markers_written")
    if event.kind == "MemberReconciled":
        return bool(detail["revoking"])
    return event.kind not in BORING and not str(detail.get("topic")).startswith("__")


def weight(event: Event) -> Weight:
    if event.kind == "MemberLeft":
        is_wanted = event.detail["reason"] == LEAVES
        return Weight.TURN if is_wanted else Weight.TROUBLE
    if event.kind in TROUBLE:
        return Weight.TROUBLE
    return Weight.ROUTINE if event.kind in ROUTINE else Weight.TURN


def of_event(event: Event) -> Block:
    named = "" if event.kind == "TimeMoved" else f"{printable(event.node)}: "
    return Block(event.at, f"{named}{sentence(event)}", weight(event))


def of_request(asked: Asked, events: list[Event]) -> Block | None:
    """None: it is of no interest."""
    api, request = asked.api, asked.request()
    weights = [Weight.ROUTINE, *map(weight, events)]
    if asked.client == CLIENT_ID:
        # that the test looks at its topics is no news
        events = [each for each in events if each.kind != "RecordsFetched"]
        said = "" if api in OF_THE_TEST else f"the test: {api} {subject_of(request)}"
        return Block(asked.at_ms, said, max(weights), events) if events else None
    errors = [] if request is None else asked.errors(request)
    wrong = what_is_wrong(asked, errors)
    if not wrong and not events and (api in QUIET or errors):
        return None
    if wrong:
        weights.append(Weight.TROUBLE)
    said = ""
    if wrong or not events or api not in TOLD_BY_EVENTS:
        about = [subject_of(request), *places_of(asked, request)]
        said = " ".join(filter(None, (f"{who(asked, request)}: {api}", *about)))
        said = printable(said, MOST_OF_LINE)
    if wrong:
        said += f": {', '.join(wrong)}"
    return Block(asked.at_ms, said, max(weights), events, until_ms=asked.at_ms)


def who(asked: Asked, request: Request | None) -> str:
    """The client; of several with the same name its member id tells which."""
    client = printable(asked.client or "a client without an id")
    member = printable(getattr(request and request.body, "member_id", None) or "")
    if not member:
        return client
    return shorter(member if member.startswith(client) else f"{client} {member}")


def subject_of(request: Request | None) -> str:
    """The transactional id, which no place names."""
    return printable(getattr(request and request.body, "transactional_id", None) or "")


def places_of(asked: Asked, request: Request | None) -> Iterator[str]:
    """The partitions that it is about, if it was kept."""
    if request is None:
        yield f"of more than {MOST_BYTES // 1024} kB"
    elif request.api.name == "OffsetFetch":
        yield from offsets_in(asked, request)
    else:
        for topic, number in asked.places(request):
            yield named(topic, number)


def offsets_in(asked: Asked, request: Request) -> Iterator[str]:
    """Where a consumer is told to go on."""
    body = asked.answer(request)
    for group in [] if body is None else [*body.groups] or [body]:
        for topic in group.topics:
            name = asked.topic(topic)
            for part in topic.partitions:
                at = part.committed_offset
                known = f"at {at}" if at >= 0 else "without an offset"
                yield f"{named(name, part.partition_index)} {known}"


def named(topic: str, number: int | None) -> str:
    return topic if number is None else f"{topic}-{number}"


def what_is_wrong(asked: Asked, errors: list[str]) -> list[str]:
    """The errors of its answer, and its fault."""
    api = asked.api
    if asked.fault is not None:
        answered = errors if asked.is_answered else ["no answer"]
        return [*answered, f"met {asked.fault!r}"]
    if not asked.is_answered:
        return [] if api in QUIET else ["no answer"]
    return [each for each in errors if (api, each) not in USUAL]


# -- words


def sentence(event: Event) -> str:
    """The trace's own, with what a test wants to know besides."""
    detail = {name: plain(value) for name, value in event.detail.items()}
    words = SENTENCES[event.kind].format_map(detail) + more(event)
    words = ONE_OFFSET.sub(r"offset \1", shorter(words))
    return printable(words, MOST_OF_LINE)


def plain(value: Any) -> Any:
    """A list of partitions, or of anything, as people write it."""
    if not isinstance(value, list):
        return value
    parts = []
    for each in value:
        is_a_place = isinstance(each, list) and len(each) == 2
        parts.append(named(*each) if is_a_place else str(each))
    return " ".join(parts) or NOTHING


def more(event: Event) -> str:
    """What the sentence of its kind doesn't say."""
    detail = event.detail
    if event.kind == "AssignmentMade":
        shares = detail["assignment"].items()
        return f": {', '.join(f'{each} {plain(share)}' for each, share in shares)}"
    records = detail.get("records", ()) if event.kind == "RecordsAppended" else ()
    if not records:
        return ""
    shown = [value_of(*record) for record in records[:MOST_VALUES]]
    if detail["last_offset"] - detail["base_offset"] >= MOST_VALUES:
        shown.append("…")
    return f": {', '.join(shown)}"


def value_of(_: int, key: str | None, value: str | None, *rest: Any) -> str:
    shown = "null" if value is None else value
    return shown if key is None else f"{key}={shown}"


def shorter(words: str) -> str:
    """Without most of the random numbers in member ids."""
    return UUID.sub(r"\1…", words)


# -- less


def subject(event: Event) -> tuple[Any, ...]:
    """What an event is about, apart from its offsets."""
    detail = event.detail
    names = ("group", "topic", "partition", "transactional_id")
    return event.kind, event.node, *(detail.get(name) for name in names)


def without_repeats(blocks: list[Block]) -> list[Block]:
    """What only goes on is told once, up to where something else happens; a refusal
    that nothing came of, however often it was.
    """
    kept: list[Block] = []
    latest: dict[Any, Block] = {}  # since then
    refused: dict[Any, Block] = {}
    for block in blocks:
        is_refused = block.weight is Weight.TROUBLE and not block.events
        if block.weight is not Weight.ROUTINE and not is_refused:
            latest.clear()
        known = refused if is_refused else latest
        before = known.get(block.alike)
        joined = None if before is None else joined_events(before, block)
        if before is None or joined is None:
            kept.append(block)
            if is_refused or block.weight is Weight.ROUTINE:
                known[block.alike] = block
            continue
        before.events = joined
        before.times += 1
        before.until_ms = block.until_ms
    return kept


def joined_events(before: Block, after: Block) -> list[Event] | None:
    """What came of both requests. None: the second doesn't just go on."""
    joined = []
    for one, other in zip(before.events, after.events, strict=True):
        if one.kind not in GOES_ON:
            return None
        ends = GOES_ON[one.kind]
        detail = dict(other.detail)
        if ends is not None:
            begin, end, step = ends
            if one.detail[end] + step != detail[begin]:
                return None
            detail[begin] = one.detail[begin]
        if "records" in detail:
            detail["records"] = [*one.detail["records"], *detail["records"]]
        joined.append(replace(other, detail=detail))
    return joined if joined or not before.events else None


def shortened(blocks: list[Block], began_ms: int) -> list[str]:
    """The lines of those for which there is room; the others are counted where they
    were.
    """
    lines = [block.lines(began_ms) for block in blocks]
    # the last one tells how it ended
    order = sorted(range(len(blocks) - 1), key=lambda number: blocks[number].weight)
    left_out: set[int] = set()
    shown = sum(map(len, lines))
    for number in order:
        if shown <= MOST_LINES:
            break
        left_out.add(number)
        shown -= len(lines[number])
    found: list[str] = []
    for is_out, numbers in groupby(range(len(blocks)), left_out.__contains__):
        if is_out:
            count = len([*numbers])
            found.append(f"{'…':>9}  {count} more, left out")
        else:
            for number in numbers:
                found += lines[number]
    return found

"""Answers that several lessons read from a trace: the answer to a prediction is
computed from what happened, never typed in.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from minikafka.clients.partitioners import to_positive
from minikafka.trace import Event

T = TypeVar("T")


def values_read(trace: Iterable[Event]) -> str:
    """The values that consumers got, in the order they got them: "created, then
    paid".
    """
    values = []
    for event in trace:
        if event.kind == "RecordsPolled":
            values += [value for _, _, value in event.detail["records"]]
    return ", then ".join(values)


def of_kind(kind: str) -> Callable[[Event], bool]:
    """A condition: an event of this kind."""
    return lambda event: event.kind == kind


def chosen_for(value: str) -> Callable[[Event], bool]:
    """A condition: in this event a producer chooses the partition of the record with
    this value.
    """

    def is_chosen(event: Event) -> bool:
        return event.kind == "PartitionChosen" and event.detail["value"] == value

    return is_chosen


def partition_for(value: str) -> Callable[[Iterable[Event]], int]:
    """The number of the partition that a producer chose for this value, as an option's
    number: the first one is 1.
    """
    is_chosen = chosen_for(value)

    def option(trace: Iterable[Event]) -> int:
        event = next(filter(is_chosen, trace))
        return 1 + event.detail["partition"]

    return option


def partition_of(key: str) -> Callable[[Iterable[Event]], str]:
    """The partition that a producer chose for this key, as "partition 4"."""

    def option(trace: Iterable[Event]) -> str:
        chosen = dict(partitions_chosen(trace))
        return f"partition {chosen[key]}"

    return option


def retention_decides(event: Event) -> bool:
    """A condition: in this event a log begins to start at a later offset."""
    return event.kind == "LogStartOffsetAdvanced"


def audit_gets_a_position(event: Event) -> bool:
    """A condition: in this event the reader audit, which is new, begins somewhere."""
    return event.kind == "PositionReset" and event.node == "audit"


def closing(event: Event) -> bool:
    """A condition: with this event a consumer begins to close, by a commit or by giving
    up its partitions.
    """
    if event.kind == "CommitSent":
        return event.detail["how"] == "close"
    return event.kind == "PartitionsRevoked"


def in_the_middle(event: Event) -> bool:
    """A condition: in this event a member's client finds that its program hasn't polled
    for too long.
    """
    return event.kind == "PollOverdue"


def who_decided(trace: Iterable[Event]) -> str:
    """The maker of a group's first assignment, in the words of lesson 05's options."""
    made = next(filter(of_kind("AssignmentMade"), trace))
    if made.detail["by"] == "coordinator":
        return "the coordinator, a broker"
    return "one of the two consumers"


def answered_from(offset: int) -> Callable[[Event], bool]:
    """A condition: in this event a broker answers a reader that asked for records from
    this offset on.
    """

    def is_answered(event: Event) -> bool:
        is_answer = event.kind in ("RecordsFetched", "FetchRefused")
        return is_answer and event.detail["offset"] == offset

    return is_answered


def offsets_read(trace: Iterable[Event], reader: str | None = None) -> list[int]:
    """The offsets that consumers got, in the order they got them. reader: the client_id
    of one.
    """
    offsets: list[int] = []
    for event in trace:
        if event.kind == "RecordsPolled" and reader in (None, event.node):
            offsets += [offset for offset, _, _ in event.detail["records"]]
    return offsets


def oldest_day_read(trace: Iterable[Event]) -> str:
    """Of the shop that sells one order a day: the first day that was read."""
    return f"day {offsets_read(trace)[0]}"


def first_offset_read(trace: Iterable[Event]) -> str:
    """The first offset that a consumer got, as "offset 1"."""
    return f"offset {offsets_read(trace)[0]}"


def orders_of(reader: str) -> Callable[[Sequence[Event]], str | None]:
    """How many records a reader got, as "6 orders"; none before it has a position."""

    def got(trace: Sequence[Event]) -> str | None:
        resets = filter(of_kind("PositionReset"), trace)
        if all(event.node != reader for event in resets):
            return None
        count = len(offsets_read(trace, reader))
        plural = "" if count == 1 else "s"
        return f"{count} order{plural}"

    return got


def what_it_got(trace: Sequence[Event]) -> str:
    """The records that a reader got after its position was reset for the second time:
    "7 to 19", or "nothing".
    """
    resets = [at for at, event in enumerate(trace) if event.kind == "PositionReset"]
    second = resets[1]
    offsets = offsets_read(trace[second:])
    if not offsets:
        return "nothing"
    return f"{offsets[0]} to {offsets[-1]}"


def partitions_chosen(
    trace: Iterable[Event], producer: str | None = None
) -> list[tuple[str | None, int]]:
    """(key, partition) of every record, in the order in which producers chose.
    producer: the client_id of one.
    """
    chosen = []
    for event in trace:
        if event.kind == "PartitionChosen" and producer in (None, event.node):
            chosen.append((event.detail["key"], event.detail["partition"]))
    return chosen


def partitions_used(trace: Iterable[Event], key: str | None = None) -> int:
    """To how many partitions records were sent; only those with this key, if one is
    named.
    """
    used = set()
    for chosen_for_key, partition in partitions_chosen(trace):
        if key in (None, chosen_for_key):
            used.add(partition)
    return len(used)


def not_before(
    at_ms: int, answer: Callable[[Sequence[Event]], T]
) -> Callable[[Sequence[Event]], T | None]:
    """The same answer, but None before this moment: the verdict waits until everything
    that leads to it has been seen.
    """

    def answer_in_time(trace: Sequence[Event]) -> T | None:
        if not trace or trace[-1].at < at_ms:
            return None
        return answer(trace)

    return answer_in_time


def keys_that_moved(trace: Iterable[Event]) -> list[str | None]:
    """The keys whose records were sent to more than one partition, sorted."""
    partitions = Counter(key for key, _ in set(partitions_chosen(trace)))
    return sorted((key for key in partitions if partitions[key] > 1), key=str)


def for_how_many_both_agree(trace: Sequence[Event]) -> str | None:
    """For how many of twelve keys two producers chose the same partition, in the words
    of lesson 02's options; None until both have sent all twelve.
    """
    if len(partitions_chosen(trace)) < 24:
        return None
    agree = 12 - len(keys_that_moved(trace))
    if agree == 0:
        return "none"
    return "3 to 5" if agree <= 5 else "6 to 9"


def the_topic_grows(event: Event) -> bool:
    """A condition: with this event a topic has more partitions."""
    return event.kind == "PartitionsCreated"


def first_acknowledgement(event: Event) -> bool:
    """A condition: in this event a broker acknowledges a batch."""
    return event.kind == "RecordsAcknowledged"


def partitions_of_all_twelve(trace: Sequence[Event]) -> int | None:
    """How many partitions twelve records went to, which is the option's number; None
    until all are sent.
    """
    return partitions_used(trace) if len(partitions_chosen(trace)) >= 12 else None


def customers_that_move(trace: Iterable[Event]) -> str:
    """How many of twelve customers go elsewhere since the topic grew: "9 of 12"."""
    return f"{len(keys_that_go_elsewhere(trace))} of 12"


def keys_that_go_elsewhere(trace: Iterable[Event]) -> list[str]:
    """The keys that murmur2 sends to another partition since the topic grew, sorted:
    those of the records that were sent before.
    """
    hashes: dict[str, int] = {}
    for event in trace:
        d = event.detail
        if event.kind == "PartitionChosen" and d["hash"] is not None:
            hashes[d["key"]] = to_positive(d["hash"])
        elif event.kind == "PartitionsCreated":
            return sorted(
                key
                for key, hashed in hashes.items()
                if hashed % d["was"] != hashed % d["partitions"]
            )
    return []


def records_in_each(
    trace: Iterable[Event], partitions: int, producer: str | None = None
) -> list[int]:
    """How many records producers sent to partition 0, 1 and so on."""
    chosen = [partition for _, partition in partitions_chosen(trace, producer)]
    return [chosen.count(partition) for partition in range(partitions)]


def the_busiest(counts: Sequence[int]) -> str:
    """How many records the fullest partition has, as the nearest of lesson 02's
    options.
    """
    options = {50: "about 50", 125: "about 125", 225: "about 225"}
    return options[min(options, key=lambda option: abs(option - max(counts)))]


def bars(counts: Sequence[int]) -> str:
    """The numbers of records in partitions, as a line and a bar each."""
    width = 40 / max([1, *counts])
    lines = []
    for number, count in enumerate(counts):
        bar = "█" * round(width * count)
        line = f"  partition {number}  {count:4}  {bar}"
        lines.append(line.rstrip())
    return "\n".join(lines)

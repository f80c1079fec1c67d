"""What lessons ask of a trace: the answer to a prediction is computed from what
happened, never typed in.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from minikafka.trace import Event

T = TypeVar("T")


def order_read(trace: Iterable[Event]) -> str:
    """The values that consumers got, in the order they got them: "created, then
    paid".
    """
    polls = [event for event in trace if event.kind == "RecordsPolled"]
    return ", then ".join(
        value for poll in polls for _, _, value in poll.detail["records"]
    )


def of_kind(kind: str) -> Callable[[Event], bool]:
    """A condition: an event of this kind."""
    return lambda event: event.kind == kind


def chosen_for(value: str) -> Callable[[Event], bool]:
    """A condition: in this event a producer chooses the partition of the record with
    this value.
    """
    return lambda event: (
        event.kind == "PartitionChosen" and event.detail["value"] == value
    )


def partition_for(value: str) -> Callable[[Iterable[Event]], int]:
    """The number of the partition that a producer chose for this value, as an option's
    number: the first one is 1.
    """
    return lambda trace: (
        1
        + next(event.detail["partition"] for event in trace if chosen_for(value)(event))
    )


def retention_decides(event: Event) -> bool:
    """A condition: in this event a log begins to start at a later offset."""
    return event.kind == "LogStartOffsetAdvanced"


def closing(event: Event) -> bool:
    """A condition: with this event a consumer begins to close, by a commit or by giving
    up its partitions.
    """
    return event.kind == "PartitionsRevoked" or (
        event.kind == "CommitSent" and event.detail["how"] == "close"
    )


def in_the_middle(event: Event) -> bool:
    """A condition: in this event a member's client finds that its program hasn't polled
    for too long.
    """
    return event.kind == "PollOverdue"


def who_decided(trace: Iterable[Event]) -> str:
    """Who made a group's first assignment, as lesson 05's options say it."""
    by = next(event.detail["by"] for event in trace if event.kind == "AssignmentMade")
    return (
        "the coordinator, a broker"
        if by == "coordinator"
        else "one of the two consumers"
    )


def answered_from(offset: int) -> Callable[[Event], bool]:
    """A condition: in this event a broker answers a reader that asked for records from
    this offset on.
    """
    return lambda event: (
        event.kind in ("RecordsFetched", "FetchRefused")
        and event.detail["offset"] == offset
    )


def offsets_read(trace: Iterable[Event], reader: str | None = None) -> list[int]:
    """The offsets that consumers got, in the order they got them. reader: the client_id
    of one.
    """
    polls = [
        event
        for event in trace
        if event.kind == "RecordsPolled" and reader in (None, event.node)
    ]
    return [offset for poll in polls for offset, _, _ in poll.detail["records"]]


def orders_of(reader: str) -> Callable[[Sequence[Event]], str | None]:
    """How many records a reader got, as "6 orders"; none before it has a position."""

    def got(trace: Sequence[Event]) -> str | None:
        placed = any(
            event.kind == "PositionReset" and event.node == reader for event in trace
        )
        count = len(offsets_read(trace, reader))
        return f"{count} order{'s' if count != 1 else ''}" if placed else None

    return got


def what_it_got(trace: Sequence[Event]) -> str:
    """What a reader got after its position was reset for the second time: "7 to 19", or
    "nothing".
    """
    resets = [at for at, event in enumerate(trace) if event.kind == "PositionReset"]
    offsets = offsets_read(trace[resets[1] :])
    return f"{offsets[0]} to {offsets[-1]}" if offsets else "nothing"


def partitions_chosen(
    trace: Iterable[Event], producer: str | None = None
) -> list[tuple[str | None, int]]:
    """(key, partition) of every record, in the order in which producers chose.
    producer: the client_id of one.
    """
    chosen = [
        event
        for event in trace
        if event.kind == "PartitionChosen" and producer in (None, event.node)
    ]
    return [(event.detail["key"], event.detail["partition"]) for event in chosen]


def partitions_used(trace: Iterable[Event], key: str | None = None) -> int:
    """To how many partitions records were sent; only those with this key, if one is
    named.
    """
    return len(
        {partition for of, partition in partitions_chosen(trace) if key in (None, of)}
    )


def once_sent(
    count: int, answer: Callable[[Sequence[Event]], T]
) -> Callable[[Sequence[Event]], T | None]:
    """The same answer, but none as long as fewer than `count` records have a partition:
    a verdict waits for them.
    """
    return lambda trace: (
        answer(trace) if len(partitions_chosen(trace)) >= count else None
    )


def not_before(
    at_ms: int, answer: Callable[[Sequence[Event]], T]
) -> Callable[[Sequence[Event]], T | None]:
    """The same answer, but none before this moment: a verdict waits until all that
    leads to it has been seen.
    """
    return lambda trace: answer(trace) if trace and trace[-1].at >= at_ms else None


def keys_that_moved(trace: Iterable[Event]) -> list[str | None]:
    """The keys whose records were sent to more than one partition, sorted."""
    keys = [key for key, _ in set(partitions_chosen(trace))]
    return sorted({key for key in keys if keys.count(key) > 1}, key=str)


def records_in_each(
    trace: Iterable[Event], partitions: int, producer: str | None = None
) -> list[int]:
    """How many records producers sent to partition 0, 1 and so on."""
    chosen = [partition for _, partition in partitions_chosen(trace, producer)]
    return [chosen.count(partition) for partition in range(partitions)]


def bars(counts: Sequence[int]) -> str:
    """The numbers of records in partitions, as a line and a bar each."""
    width = 40 / max([1, *counts])
    lines = [
        f"  partition {number}  {count:4}  {'█' * round(width * count)}"
        for number, count in enumerate(counts)
    ]
    return "\n".join(line.rstrip() for line in lines)

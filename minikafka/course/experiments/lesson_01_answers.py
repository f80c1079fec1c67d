"""What lesson 01 and its extra ask of a trace: what a reader got, and where to stop."""

from collections.abc import Callable, Iterable, Sequence

from minikafka.course.experiments.from_trace import of_kind
from minikafka.trace import Event


def retention_decides(event: Event) -> bool:
    """A condition: in this event a log begins to start at a later offset."""
    return event.kind == "LogStartOffsetAdvanced"


def audit_gets_a_position(event: Event) -> bool:
    """A condition: in this event the reader audit, which is new, begins somewhere."""
    return event.kind == "PositionReset" and event.node == "audit"


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

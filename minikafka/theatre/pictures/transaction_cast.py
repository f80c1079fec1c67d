"""Who is shown of a trace with transactions: the id of which most is told, the
partitions to which it writes, its producers, and two readers.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from minikafka.theatre.pictures.transaction_log import Part, part_of
from minikafka.trace import Event

MOST_PARTITIONS = 3
READ_UNCOMMITTED, READ_COMMITTED = "read_uncommitted", "read_committed"
LEVELS = (READ_UNCOMMITTED, READ_COMMITTED)


def busiest_id(trace: Sequence[Event]) -> str:
    """The transactional id of which most is told."""
    told = Counter(
        event.detail["transactional_id"]
        for event in trace
        if event.kind == "TransactionStateChanged"
    )
    return next((name for name, _ in told.most_common(1)), "")


def markers_of(trace: Sequence[Event]) -> set[tuple[str, int, int]]:
    """Where they are: topic, partition, offset."""
    written = (event for event in trace if event.kind == "MarkerWritten")
    return {(*part_of(event), event.detail["offset"]) for event in written}


def busiest_parts(appended: Sequence[Event], ids: set[int]) -> list[Part]:
    """The partitions to which producers with these ids write most."""
    written = (event for event in appended if event.detail.get("producer_id") in ids)
    used = Counter(map(part_of, written))
    return sorted(part for part, _ in used.most_common(MOST_PARTITIONS))


def who_asked(trace: Sequence[Event], mine: Sequence[Event]) -> list[str]:
    """The clients whose InitProducerId moved it, in the order in which they came."""
    sent = {}
    for event in trace:
        if event.kind == "RequestSent":
            d = event.detail
            sent[d["connection"], d["correlation_id"]] = event
    asked = []
    for event in mine:
        request = sent.get(event.cause) if event.cause else None
        if request is not None and request.detail["api"] == "InitProducerId":
            asked.append(request.node)
    return list(dict.fromkeys(asked))


def readers_of(trace: Sequence[Event], topics: set[str]) -> dict[str, str]:
    """Two readers of these topics, one of each isolation level if there are: name ->
    level.
    """
    levels = _levels(trace)
    reading: dict[str, str] = {}
    for event in trace:
        is_read = event.kind in ("PositionReset", "RecordsPolled")
        if is_read and event.detail["topic"] in topics:
            reading[event.node] = levels.get(event.node, READ_UNCOMMITTED)
    one_each: list[str] = []
    for level in LEVELS:
        one_each += _with_level(reading, level)[:1]
    chosen = list(dict.fromkeys([*one_each, *reading]))[:2]
    chosen.sort(key=lambda name: LEVELS.index(reading[name]))
    return {name: reading[name] for name in chosen}


def _with_level(reading: Mapping[str, str], level: str) -> list[str]:
    return [name for name, each in reading.items() if each == level]


def _levels(trace: Iterable[Event]) -> dict[str, str]:
    """The isolation level of each consumer that says so."""
    levels = {}
    for event in trace:
        d = event.detail
        if event.kind == "ClientStarted" and d["client"] == "consumer":
            config = d.get("config", {})
            levels[event.node] = config.get("isolation_level", READ_UNCOMMITTED)
    return levels

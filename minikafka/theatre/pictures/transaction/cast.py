"""The choice of what is shown of a trace with transactions: the transactional id with
the most events, the partitions to which it writes, its producers, and two readers.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from minikafka.theatre.pictures.transaction.log import Part, part_of
from minikafka.trace import Event

MOST_PARTITIONS, MOST_READERS = 3, 2
READ_UNCOMMITTED = "read_uncommitted"
READ_COMMITTED = "read_committed"
LEVELS = (READ_UNCOMMITTED, READ_COMMITTED)


def busiest_id(trace: Sequence[Event]) -> str:
    """The transactional id of which most is told."""
    told = Counter[str]()
    for event in trace:
        if event.kind == "TransactionStateChanged":
            name = event.detail["transactional_id"]
            told[name] += 1
    for name, _ in told.most_common(1):
        return name
    return ""


def markers_of(trace: Sequence[Event]) -> set[tuple[str, int, int]]:
    """Where they are: topic, partition, offset."""
    found = set()
    for event in trace:
        if event.kind == "MarkerWritten":
            part = part_of(event)
            offset = event.detail["offset"]
            found.add((*part, offset))
    return found


def busiest_parts(appended: Sequence[Event], ids: set[int]) -> list[Part]:
    """The partitions to which producers with these ids write most."""
    used = Counter[Part]()
    for event in appended:
        if event.detail.get("producer_id") in ids:
            part = part_of(event)
            used[part] += 1
    busiest = used.most_common(MOST_PARTITIONS)
    return sorted(part for part, _ in busiest)


def who_asked(trace: Sequence[Event], mine: Sequence[Event]) -> list[str]:
    """The clients whose InitProducerId moved it, in the order in which they came."""
    sent = {}
    for event in trace:
        if event.kind == "RequestSent":
            d = event.detail
            key = d["connection"], d["correlation_id"]
            sent[key] = event

    asked: list[str] = []
    for event in mine:
        request = sent.get(event.cause) if event.cause else None
        if request is None or request.detail["api"] != "InitProducerId":
            continue
        if request.node not in asked:
            asked.append(request.node)
    return asked


def readers_of(trace: Sequence[Event], topics: set[str]) -> dict[str, str]:
    """Two readers of these topics, one of each isolation level if there are: name ->
    level.
    """
    levels = _levels(trace)
    reading: dict[str, str] = {}
    for event in trace:
        name = event.node
        is_read = event.kind in ("PositionReset", "RecordsPolled")
        if is_read and event.detail["topic"] in topics:
            reading[name] = levels.get(name, READ_UNCOMMITTED)

    # the first of each level comes before all others
    chosen: dict[str, str] = {}
    for level in LEVELS:
        for name, its in reading.items():
            if its == level:
                chosen[name] = level
                break
    for name, level in reading.items():
        chosen.setdefault(name, level)

    few = list(chosen.items())[:MOST_READERS]
    few.sort(key=lambda each: LEVELS.index(each[1]))
    return dict(few)


def _levels(trace: Iterable[Event]) -> dict[str, str]:
    """The isolation level of each consumer that says so."""
    levels = {}
    for event in trace:
        d = event.detail
        if event.kind != "ClientStarted" or d["client"] != "consumer":
            continue
        config = d.get("config", {})
        levels[event.node] = config.get("isolation_level", READ_UNCOMMITTED)
    return levels

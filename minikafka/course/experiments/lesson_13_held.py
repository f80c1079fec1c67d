"""Lesson 13's experiments for its gate: a transaction that hangs, and two readers of
the partitions that it has written to, and of one that it hasn't. And how readers get a
payment.
"""

from collections.abc import Sequence

from minikafka import Cluster
from minikafka.course.experiments.lesson_13_runs import polled, reader, the_shop_hangs
from minikafka.trace import Event


def held_back() -> Cluster:
    """The shop hangs, and beside the auditor there is a dashboard, which reads all
    records. Both poll until the auditor has the kiosk's two.
    """
    cluster, auditor = the_shop_hangs()
    dashboard = reader(cluster, "dashboard", "read_uncommitted")
    handed: list[str] = []
    while len(handed) < 2:
        handed += polled(auditor)
        polled(dashboard)
    return cluster


def commit_is_asked_for(event: Event) -> bool:
    """The shop has asked to commit, and the coordinator has written so."""
    return event.detail.get("state") == "PrepareCommit"


def records_are_polled(event: Event) -> bool:
    """A poll hands records to a reader."""
    return event.kind == "RecordsPolled"


def handed_at_once(trace: Sequence[Event]) -> int:
    """1 both, 2 only the 6 euros, 3 none: what the auditor is handed of the kiosk's
    records in its first second.
    """
    since_ms: int | None = None
    handed: set[int] = set()
    for event in trace:
        if event.kind == "RecordsPolled" and event.node == "auditor":
            since_ms = since_ms or event.at
            if event.at - since_ms < 1000:
                handed.add(event.detail["partition"])
    if since_ms is None:
        raise LookupError("the auditor has been handed nothing yet")
    return {frozenset({0, 1}): 1, frozenset({1}): 2}.get(frozenset(handed), 3)


def how_handed(trace: Sequence[Event]) -> int:
    """1 both at the same moment, 2 first one, then the other, 3 none before
    CompleteCommit: how the reader of committed records gets the payment's two.
    """
    first_ms: int | None = None
    handed = 0
    for event in trace:
        if event.kind == "RecordsPolled" and event.node == "committed":
            first_ms = first_ms or event.at
            if event.at == first_ms:
                handed += len(event.detail["records"])
        is_complete = event.detail.get("state") == "CompleteCommit"
        if is_complete and first_ms is None:
            return 3
    if first_ms is None:
        raise LookupError("nothing has been handed over yet")
    return 1 if handed == 2 else 2

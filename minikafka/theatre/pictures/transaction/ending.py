"""The result of a transaction, in one sentence: when it was decided, and when readers
of committed records were told.
"""

from typing import NamedTuple

from minikafka.theatre.text import counted, lasting, quoted


class Handed(NamedTuple):
    """A record of the transaction that a reader of committed records was handed."""

    value: str
    at_ms: int
    written_ms: int

    @property
    def waited(self) -> str:
        """In tenths of a second, if it was so long."""
        ms = self.at_ms - self.written_ms
        return lasting(round(ms, -2) if ms >= 1000 else ms)


class Decided(NamedTuple):
    """How it ended. why: it was aborted, if it was. partitions, records: how many."""

    why: str
    at_ms: int
    partitions: int
    records: int


def in_short(
    decided: Decided, complete_ms: int, reader: str, handed: list[Handed]
) -> str:
    """reader: of committed records."""
    records = counted(decided.records, "record")
    if decided.why:
        stay = "stays" if decided.records == 1 else "stay"
        return (
            f"Aborted, because {decided.why}: {records} {stay} in the log, crossed out,"
            f" and {reader or 'a reader of committed records'} gets none of that."
        )
    if not handed:
        took = lasting(complete_ms - decided.at_ms)
        return (
            f"PrepareCommit decided it for {records}, and {took} later every partition"
            " had its marker."
        )
    first = handed[0]
    last = handed[-1]
    if len(handed) == 1:
        return (
            f"PrepareCommit decided it, and once the marker was there {reader} got"
            f" {quoted(first.value, 24)}, {first.waited} after it was written."
        )
    apart = lasting(last.at_ms - first.at_ms)
    return (
        f"PrepareCommit decided for {counted(decided.partitions, 'partition')},"
        f" but each opens once its own marker is copied: {reader} got"
        f" {quoted(first.value, 24)} after {first.waited},"
        f" {quoted(last.value, 24)} {apart} later."
    )

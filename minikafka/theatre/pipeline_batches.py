"""What the pipeline's story keeps: batches, requests, and what the program was told of each record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Batch:
    """A batch as the producer holds it. records: numbers in the order of send()."""

    number: int
    partition: int
    records: list[int] = field(default_factory=list)
    state: str = "lingers"
    base_sequence: int = -1
    sent: tuple[str, int] | None = None

    def space(self, records: Sequence[Sequence[Any]]) -> dict[str, Any]:
        """records: letter, key and value of every record sent."""
        shown = [[n, *records[n]] for n in self.records[:8]]
        return {"batch": self.number, "partition": self.partition, "count": len(self.records), "records": shown,
                "state": self.state}  # fmt: skip


@dataclass
class Request:
    """One Produce request. batches: what it carries; open: those of them that are in flight still.

    state: on its way, written, known, refused, lost, answer lost.
    """

    key: tuple[Any, Any]
    attempt: int
    acks: Any
    batches: list[Batch] = field(default_factory=list)
    open: list[Batch] = field(default_factory=list)
    state: str = "on its way"

    def space(self, records: Sequence[Sequence[Any]]) -> dict[str, Any]:
        batches = [batch.space(records) for batch in self.open]
        return {"state": self.state, "attempt": self.attempt, "acks": self.acks, "batches": batches}


class Futures:
    """What the program was told of each record: done (True), failed (False), nothing yet."""

    def __init__(self) -> None:
        self.said: dict[int, bool] = {}

    def tell(self, records: Sequence[int], done: bool) -> None:
        self.said.update(dict.fromkeys(records, done))

    def untrue(self, copies: Mapping[int, int], lost: Mapping[int, None]) -> list[int]:
        """Failed and in the log, or done and lost. (Done before it is written is acks=0, and may come true.)"""
        return [n for n, done in self.said.items() if (n in lost and not copies[n] if done else copies[n] > 0)]

    def space(self, letters: Sequence[Any], untrue: Sequence[int]) -> list[list[Any]]:
        """The latest records, and before them those of which something untrue was told."""
        words = {True: "done", False: "failed", None: ""}
        every = [[n, letter, words[self.said.get(n)], n in untrue] for n, letter in enumerate(letters)]
        return [told for told in every if told[3] or told[0] >= len(every) - 24]

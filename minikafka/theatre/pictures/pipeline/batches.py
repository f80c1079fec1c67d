"""A producer's batches and the requests that carry them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minikafka.theatre.pictures.pipeline.records import Sent
from minikafka.theatre.play import picked

MOST_RECORDS = 8  # of a batch that are in a scene


class RequestKey(NamedTuple):
    """A request, by the connection and correlation id that its answer has."""

    connection: Any
    correlation_id: int


class Left(NamedTuple):
    """When a batch left. number: of the event that told of it. request: which one of
    its producer's it was.
    """

    number: int
    at_ms: int
    request: int


@dataclass(eq=False)
class Batch:
    """A batch as the producer holds it. records: numbers in the order of send().
    base_sequence: -1 before it has left, and where the producer isn't idempotent. sent:
    the event that told of it. attempts: how often it has left. waited_ms: until it was
    given up. is_known: it came again, and the broker knew it. left: when it left first.
    """

    number: int
    partition: int
    records: list[int] = field(default_factory=list)
    state: str = "lingers"
    base_sequence: int = -1
    begun_ms: int = 0
    sent: tuple[str, int] | None = None
    attempts: int = 0
    waited_ms: int = 0
    is_known: bool = False
    left: Left | None = None

    def space(self, sent: Sequence[Sent]) -> dict[str, Any]:
        first = self.records[:MOST_RECORDS]
        shown = [[number, *sent[number]] for number in first]
        return {
            "batch": self.number,
            "partition": self.partition,
            "count": len(self.records),
            "records": shown,
            "state": self.state,
            "sequence": self.base_sequence,
        }


@dataclass
class Request:
    """One Produce request. batches: what it carries; open: those of them that are in
    flight still.

    state: on its way, written, known, refused, lost, answer lost.
    """

    key: RequestKey
    attempt: int
    acks: Any
    batches: list[Batch] = field(default_factory=list)
    open: list[Batch] = field(default_factory=list)
    state: str = "on its way"

    @property
    def is_on_its_way(self) -> bool:
        return self.state == "on its way"

    @property
    def nobody_waits(self) -> bool:
        """acks=0: no answer comes."""
        return bool(self.acks == 0)

    @property
    def records(self) -> list[int]:
        return [number for batch in self.batches for number in batch.records]

    def carry(self, batch: Batch) -> None:
        self.batches.append(batch)
        self.open.append(batch)

    def for_partition(self, partition: int) -> Batch | None:
        mine = [batch for batch in self.batches if batch.partition == partition]
        return mine[0] if mine else None

    def space(self, sent: Sequence[Sent]) -> dict[str, Any]:
        told = picked(self, "state", "attempt", "acks")
        told["batches"] = [batch.space(sent) for batch in self.open]
        return told

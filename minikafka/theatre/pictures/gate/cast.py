"""The state of the gate's story: the producers, and how long a transaction was open;
the records that readers were given, and those that waited until then.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minikafka.theatre.pictures.transaction.log import Record


class Span(NamedTuple):
    """end_ms: None while it goes on. number: of the event that began it."""

    begin_ms: int
    end_ms: int | None
    number: int

    def lasts_ms(self, now_ms: int) -> int:
        end_ms = now_ms if self.end_ms is None else self.end_ms
        return end_ms - self.begin_ms


class Place(NamedTuple):
    """The place of a record. log: the number of its partition among those that are
    shown.
    """

    log: int
    offset: int


class Read(NamedTuple):
    """A record that a reader was handed."""

    log: int
    record: Record


class Freed(NamedTuple):
    """A record that had waited, and the reader that was given it then."""

    place: Place
    reader: str


@dataclass
class Writer:
    """ended: how its last transaction did. spans: while one was open. told: how many of
    its records were acknowledged.
    """

    name: str
    is_open: bool = False
    ended: str = ""
    spans: list[Span] = field(default_factory=list)
    told: int = 0

    def begins(self, at_ms: int, number: int) -> None:
        if not self.is_open:
            span = Span(at_ms, None, number)
            self.spans.append(span)
        self.is_open = True
        self.ended = ""

    def ends(self, how: str, at_ms: int) -> None:
        if self.is_open:
            last = self.spans[-1]
            self.spans[-1] = last._replace(end_ms=at_ms)
        self.is_open = False
        self.ended = how

    def longest_ms(self, now_ms: int) -> int:
        """For how long a transaction was open, at most."""
        return max([span.lasts_ms(now_ms) for span in self.spans], default=0)

    def space(self) -> list[Any]:
        spans = [list(span) for span in self.spans]
        return [
            self.name,
            self.is_open,
            self.ended,
            self.told,
            spans,
        ]

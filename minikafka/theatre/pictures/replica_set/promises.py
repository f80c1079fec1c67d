"""What producers were told about their records, and whether that is still true.

A record is known by its offset and its leader epoch: two logs may hold different ones
at one offset. An acknowledgement that was given stays given; whether the leader still
has the record is looked up at every step.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from minikafka.theatre.nodes import epoch_at
from minikafka.theatre.pictures.log_copies import Described, LogCopy, RecordId
from minikafka.theatre.pictures.replica_set.names import NamesOf
from minikafka.theatre.play import Detail
from minikafka.theatre.text import quoted
from minikafka.trace import Event

MOST_NAMED = 2  # lost records in one sentence


@dataclass
class Written:
    """A record as its leader appended it. number: of the event that told it. told: "",
    "acknowledged" or "failed", as its producer heard; had: how many replicas had it
    then. batch: producer and number.
    """

    key: str | None
    value: str | None
    producer: str
    number: int
    batch: tuple[str, Any] | None = None
    told: str = ""
    told_at: int = 0
    had: int = 0

    @property
    def name(self) -> str:
        return _name(self.key, self.value)


class Promises:
    """written: all records that were seen being written."""

    def __init__(self, mine: Iterable[Event]) -> None:
        self.written: dict[RecordId, Written] = {}
        self.ever_lost = False
        self.names = NamesOf(_names(mine))
        # by connection and correlation id: producer and number of the batch
        self._batches: dict[Any, tuple[str, Any]] = {}
        self._lost_before: set[RecordId] = set()
        self.cut_by: dict[RecordId, str] = {}  # the broker that cut it off last

    # -- what is written

    def sent(self, event: Event) -> None:
        d = event.detail
        request = (d["connection"], d["correlation_id"])
        self._batches[request] = (event.node, d["batch"])

    def appended(self, event: Event, producer: str, number: int) -> list[RecordId]:
        """The leader has written these records."""
        found = []
        batch = self._batches.get(event.cause)
        for record, key, value in _records(event.detail):
            self.written[record] = Written(
                key=key, value=value, producer=producer, number=number, batch=batch
            )
            found.append(record)
        return found

    def replicated(self, event: Event, number: int) -> None:
        """A follower has these records: a trace may begin after they were written."""
        for record, key, value in _records(event.detail):
            self.written.setdefault(
                record, Written(key=key, value=value, producer="", number=number)
            )

    def describe(self, record: RecordId) -> Described:
        """Letter, name, and all that is known of it."""
        written = self.written.get(record)
        if written is None:
            return Described("", "", "not seen being written")

        key = "no key" if written.key is None else f"key {written.key}"
        letter = self.names.letter(written.name)
        return Described(letter, written.name, f"{key}, {written.name}")

    def named_so_far(self) -> list[str]:
        """The names of all records written so far, if letters stand for them."""
        names = dict.fromkeys(written.name for written in self.written.values())
        return list(names) if self.names.are_few else []

    # -- what is told

    def tell(self, records: Iterable[RecordId], what: str, number: int) -> None:
        for record in records:
            written = self.written[record]
            written.told = what
            written.told_at = number

    def was_told(self, record: RecordId) -> str:
        """What its producer was told about it."""
        written = self.written.get(record)
        return written.told if written else ""

    def again(self, record: RecordId) -> RecordId | None:
        """Where the same record of the same batch was written later."""
        first = self.written[record]
        for other, written in self.written.items():
            is_same = (written.batch, written.name) == (first.batch, first.name)
            if is_same and written.batch and other.epoch > record.epoch:
                return other
        return None

    def at(self, offsets: Iterable[int], batch: tuple[str, Any]) -> list[RecordId]:
        """This batch's record at each offset; where it is not known, the latest."""

        def fits(record: RecordId) -> tuple[bool, int]:
            return self.written[record].batch == batch, record.epoch

        found = []
        for offset in offsets:
            there = [record for record in self.written if record.offset == offset]
            found += [max(there, key=fits)] if there else []
        return found

    def unanswered(self) -> list[RecordId]:
        return [record for record, written in self.written.items() if not written.told]

    def unanswered_of(self, batch: tuple[str, Any]) -> list[RecordId]:
        unanswered = self.unanswered()
        return [each for each in unanswered if self.written[each].batch == batch]

    # -- what is lost

    def lost(self, leader: LogCopy | None) -> set[RecordId]:
        """Acknowledged, and not in the leader's log."""
        if leader is None:
            return set()
        return {
            record
            for record, written in self.written.items()
            if written.told == "acknowledged" and leader.lacks(record)
        }

    def newly_lost(self, leader: LogCopy | None) -> list[RecordId]:
        """Those that were not when this was asked last."""
        lost = self.lost(leader)
        new = sorted(lost - self._lost_before)
        self._lost_before = lost
        self.ever_lost = self.ever_lost or bool(new)
        return new

    def named(self, records: Sequence[RecordId]) -> str:
        """The first of these records, in a sentence."""
        named = []
        for record in records[:MOST_NAMED]:
            value = quoted(self.written[record].name, 24)
            named.append(f"offset {record.offset}, {value}")

        more = len(records) - MOST_NAMED
        return ", ".join(named) + (f" and {more} more" if more > 0 else "")

    def producer_of(self, record: RecordId) -> str:
        return self.written[record].producer or "the producer"

    def space(self, lost: set[RecordId], first: int) -> list[list[Any]]:
        """What was told about each record after the offset first."""
        told = []
        for record in sorted(self.written):
            if record.offset <= first:
                continue
            written = self.written[record]
            told.append(
                [
                    *record,
                    written.told,
                    self.names.letter(written.name),
                    written.name,
                    written.producer,
                    written.told_at or written.number,
                    record in lost,
                    self.cut_by.get(record, ""),
                ]
            )
        return told


def light_on(records: Iterable[RecordId]) -> list[str]:
    """The keys of what shows that these are lost: the lamp, what was told of them, and
    they themselves, wherever they are.
    """
    names = [f"{record.offset}/{record.epoch}" for record in records]
    return ["lamp", "told/lost", *(f"told/{name}" for name in names), *names]


def _records(d: Detail) -> Iterable[tuple[RecordId, str | None, str | None]]:
    """The records of an append: which, key, value."""
    for offset, key, value, _ in d.get("records", ()):
        yield RecordId(offset, epoch_at(d["epochs"], offset)), key, value


def _name(key: str | None, value: str | None) -> str:
    """The name of a record: its content."""
    return value if value is not None else key or ""


def _names(mine: Iterable[Event]) -> Iterable[str]:
    for event in mine:
        if event.kind in ("RecordsAppended", "RecordsReplicated"):
            for _, key, value, _ in event.detail.get("records", ()):
                yield _name(key, value)

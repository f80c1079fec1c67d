"""The actors in the fork's picture: brokers with their beliefs, and producers with the
answers they wait for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from minikafka.theatre.nodes import epoch_at
from minikafka.theatre.pictures.log_copies import Held, LogCopy, RecordId
from minikafka.theatre.pictures.log_partition import offsets_of
from minikafka.theatre.pictures.replica_set.promises import Promises
from minikafka.theatre.play import Detail

# from when to when, in ms (None while it lasts), and the number of the event that began
# it
Span = list[int | None]


@dataclass
class Copy(LogCopy):
    """leads, follows, epoch: what this broker believes. led: from when to when it
    believed to lead, as [begin, end or None, number of the event]. asked_to: where the
    leader has told it to cut. dropped: all that it has cut off.
    """

    leads: bool = False
    follows: int = -1
    epoch: int = -1
    led: list[Span] = field(default_factory=list)
    asked_to: int | None = None
    dropped: list[RecordId] = field(default_factory=list)

    def lead(self, epoch: int, at: int, number: int) -> None:
        self.epoch = epoch
        self.follows = self.broker
        if not self.leads:
            self.led.append([at, None, number])
        self.leads = True

    def follow(self, leader: int, epoch: int, at: int) -> None:
        self.epoch = epoch
        self.follows = leader
        self.end_leading(at)

    def end_leading(self, at: int) -> None:
        if self.leads:
            self.led[-1][1] = at
        self.leads = False

    def take(self, d: Detail, number: int) -> None:
        """Records get into its log."""
        self.end = d["last_offset"] + 1
        for offset in offsets_of(d):
            epoch = epoch_at(d["epochs"], offset)
            self.records[offset] = Held(epoch, number)

    def drop(self, end: int) -> None:
        """Its log is cut there, as it was told."""
        self.truncate(end)
        self.high_watermark = min(self.high_watermark, end)
        self.asked_to = None
        self.dropped += self.cut

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record in its log."""
        held = self.records.get(self.end - 1)
        return held.epoch if held else self.epoch

    @property
    def epochs(self) -> dict[int, int]:
        """Which record it holds at each offset."""
        return {offset: held.epoch for offset, held in self.records.items()}

    def differing(self, other: "Copy") -> list[int]:
        """The offsets at which both hold a record, and not the same."""
        found = []
        for offset, held in self.records.items():
            there = other.records.get(offset)
            if there is not None and there.epoch != held.epoch:
                found.append(offset)
        return found


@dataclass
class Producer:
    """at: number of the broker that it sent to last. acks: whose copies it waits for, "1"
    or "all", or nothing where no trace says it. since: when it sent what it has no
    answer to, in ms. waited: all such times, as Copy.led. failed, done: what it heard
    last, an error or offsets.
    """

    name: str
    at: int
    acks: str
    since: int | None = None
    waited: list[Span] = field(default_factory=list)
    failed: str = ""
    done: Sequence[int] = ()
    number: int = 0

    def sends(self, broker: int, at: int, number: int) -> None:
        self.at = broker
        self.failed = ""
        self.done = ()
        self.number = number
        if self.since is None:
            self.since = at
            self.waited.append([at, None, number])

    def hears(
        self, at: int, number: int, *, done: Sequence[int] = (), failed: str = ""
    ) -> None:
        self.number = number
        self.done = done
        self.failed = failed
        if self.since is not None:
            self.waited[-1][1] = at
        self.since = None

    def in_hand(self, promises: Promises) -> list[RecordId]:
        """The records that it has sent without an answer; a batch that was written
        twice is one thing.
        """
        if self.since is None:
            return []
        latest = {}
        for record in promises.unanswered():
            written = promises.written[record]
            if written.producer == self.name:
                thing = written.batch, written.name
                latest[thing] = record
        return list(latest.values())

    def to_json(self, promises: Promises) -> list[Any]:
        """The producer in the form of fork_hands.Waiting."""
        hand = []
        for record in self.in_hand(promises):
            words = promises.describe(record)
            same = f"{record.offset}/{record.epoch}"
            hand.append([words.text, words.more, same])
        return [
            self.name,
            self.at,
            self.since,
            self.failed,
            self.done,
            self.number,
            hand,
            [list(span) for span in self.waited],
            self.acks,
        ]

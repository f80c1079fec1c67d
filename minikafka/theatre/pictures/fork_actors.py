"""Who acts in the fork's picture: brokers with what they believe, and producers with what
they wait for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from minikafka.theatre.nodes import epoch_at
from minikafka.theatre.pictures.log_copies import Held, LogCopy, RecordId
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
        for offset in range(d["base_offset"], self.end):
            self.records[offset] = Held(epoch_at(d["epochs"], offset), number)


@dataclass
class Producer:
    """at: number of the broker that it sent to last. since: when it sent what it has no
    answer to, in ms. waited: all such times, as Copy.led. failed, done: what it heard
    last, an error or offsets.
    """

    at: int
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

    def hears(self, at: int, number: int) -> None:
        self.number = number
        if self.since is not None:
            self.waited[-1][1] = at
        self.since = None

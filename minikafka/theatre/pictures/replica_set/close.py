"""The result for a partition's replicas, in a sentence or two: the acknowledged records that
are lost, and why; otherwise how long a producer waited, and for which replica.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from minikafka.theatre.pictures.log_copies import RecordId
from minikafka.theatre.pictures.replica_set.actors import Copy
from minikafka.theatre.pictures.replica_set.promises import Promises
from minikafka.theatre.text import capital, counted, listed, quoted
from minikafka.trace import Event

LONG_MS = 1000  # a wait that is worth a sentence
LONGEST_NAME = 24


class Sent(NamedTuple):
    """A batch, when it was sent for the first time: when, and who led and was in sync
    then.
    """

    at_ms: int
    epoch: int
    isr: Sequence[int]


class Wait(NamedTuple):
    """The longest one for an acknowledgement, of those that are worth a sentence."""

    record: RecordId
    ms: int
    sent: Sent
    isr: Sequence[int]  # at its end


class Close:
    """Keeps what the last sentence needs. epochs: by leader epoch, the number of the
    broker. acks: of each producer, as it sent last.
    """

    def __init__(
        self,
        copies: Mapping[str, Copy],
        promises: Promises,
        epochs: Mapping[int, int],
        acks: Mapping[str, Any],
    ) -> None:
        self._copies = copies
        self._promises = promises
        self._epochs = epochs
        self._acks = acks
        self.longest: Wait | None = None
        self._sent: dict[Any, Sent] = {}  # by batch

    # -- what happens meanwhile

    def sent(self, event: Event, isr: Sequence[int]) -> None:
        batch = event.node, event.detail["batch"]
        epoch = max(self._epochs, default=-1)
        now = Sent(at_ms=event.at, epoch=epoch, isr=list(isr))
        self._sent.setdefault(batch, now)

    def acknowledged(
        self, records: Iterable[RecordId], now_ms: int, isr: Sequence[int]
    ) -> None:
        for record in records:
            sent = self._sent.get(self._promises.written[record].batch)
            if sent is None:
                continue
            ms = now_ms - sent.at_ms
            if ms >= LONG_MS and (self.longest is None or ms > self.longest.ms):
                self.longest = Wait(record, ms, sent, isr=list(isr))

    # -- what came of it

    def in_short(self, leader: Copy | None) -> str:
        """Nothing, where all went as on any day."""
        lost = sorted(self._promises.lost(leader))
        if lost:
            assert leader is not None, "without a leader nothing is lost"
            return self._lost(lost, leader)

        return self._waited(self.longest) if self.longest else ""

    @property
    def waited(self) -> list[Any] | None:
        """The longest wait, if there was one: its begin and end, and whose it was."""
        wait = self.longest
        if wait is None:
            return None
        at_ms = wait.sent.at_ms
        return [at_ms, at_ms + wait.ms, self._promises.written[wait.record].name]

    @property
    def waited_for(self) -> list[int]:
        """The brokers that left the ISR during the longest wait, if there was one."""
        wait = self.longest
        if wait is None:
            return []
        return [broker for broker in wait.sent.isr if broker not in wait.isr]

    def _lost(self, lost: Sequence[RecordId], leader: Copy) -> str:
        """How many had the first of them when it was acknowledged."""
        written = self._promises.written[lost[0]]
        what = quoted(written.name, LONGEST_NAME)
        is_, was, it = "is", "was", "it"
        if len(lost) > 1:
            what = f"{what} and {len(lost) - 1} more"
            is_, was, it = "are", "were", "them"

        who = capital(self._promises.producer_of(lost[0]))
        acks = self._acks.get(written.producer, "")
        with_acks = f" (acks={acks})" if acks != "" else ""
        replicas = counted(len(self._copies), "replica")
        words = (
            f"{who} was told{with_acks} that {what} {was} acknowledged when"
            f" {written.had} of {replicas} had {it}. {capital(leader.name)}, which leads now,"
            f" doesn't have {it}"
        )
        cut_by = self._promises.cut_by
        cutters = {cut_by[each] for each in lost if each in cut_by}
        if cutters:
            words += f", and {listed(sorted(cutters))} had to drop {it}"
        records = counted(len(lost), "acknowledged record")
        return f"{words}: {records} {is_} lost."

    def _waited(self, wait: Wait) -> str:
        written = self._promises.written[wait.record]
        what = quoted(written.name, LONGEST_NAME)
        words = f"{what} was acknowledged after {wait.ms / 1000:.1f} s"
        if wait.record.epoch > wait.sent.epoch:
            leader = self._epochs[wait.record.epoch]
            return f"{words}: nobody led until broker {leader} did."

        left = self.waited_for
        if not left:
            return f"{words}."

        brokers = listed([f"broker {broker}" for broker in left])
        acks = self._acks.get(written.producer, "all")

        return (
            f"{words}: acks={acks} waits for the whole ISR, and {brokers} was in it"
            " until then."
        )

"""The result of two leaders, in a few words: for how long there were two, which
records were cut off, and what their producer was told.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from minikafka.theatre.pictures.fork.actors import Copy, Producer
from minikafka.theatre.pictures.log_copies import RecordId
from minikafka.theatre.pictures.replica_set.promises import Promises
from minikafka.theatre.text import counted, listed, quoted, span_of

MOST_NAMED = 2


class Spent(NamedTuple):
    """A stretch of time, in ms."""

    begin: int
    end: int


class Close(NamedTuple):
    """What the sentence goes by, at the end. leaders: by leader epoch, the broker's
    number.
    """

    copies: Iterable[Copy]
    producers: Mapping[str, Producer]
    promises: Promises
    leaders: Mapping[int, int]

    def in_short(self, now_ms: int) -> str:
        """Nothing, as long as no log was cut."""
        for copy in self.copies:
            if copy.dropped:
                why = self._why(copy, now_ms)
                what = _cut(copy, self.promises)
                fate = self._fate(copy.dropped)
                return f"{why} {what}{fate}"
        return ""

    def _why(self, copy: Copy, now_ms: int) -> str:
        """Why its log had to be cut."""
        together_ms = 0
        led = _led(copy, now_ms)
        for other in self.copies:
            if other is not copy:
                together_ms += _together_ms(led, _led(other, now_ms))

        if together_ms:
            lasted = f"{together_ms / 1000:.1f} s"
            return f"Two brokers led for {lasted}. The larger epoch wins, so"

        newest = max(self.leaders)
        return f"Broker {self.leaders[newest]} leads in epoch {newest}, so"

    def _fate(self, dropped: Sequence[RecordId]) -> str:
        """What the first record's producer was told, and where the record is now."""
        promises = self.promises
        lost = [each for each in dropped if promises.was_told(each) == "acknowledged"]
        if lost:
            who = promises.producer_of(lost[0])
            records = counted(len(lost), "acknowledged record")
            verb = "is" if len(lost) == 1 else "are"
            return f", although {who} was told “done”: {records} {verb} lost."

        first = dropped[0]
        again = promises.again(first)
        if again is None:
            return ". No producer was told “done” for that."

        who = promises.producer_of(first)
        was, it = ("It was", "it") if len(dropped) == 1 else ("They were", "them")
        words = f". {was} never acknowledged, so {who} sent {it} again"
        producer = self.producers.get(who)
        if producer is not None and producer.done:
            begin, end, _ = producer.waited[-1]
            waited_ms = (end or 0) - (begin or 0)
            words += f", and heard “done, offset {again.offset}” after"
            words += f" {waited_ms / 1000:.1f} s"
        return words + "."


def _led(copy: Copy, now_ms: int) -> list[Spent]:
    found = []
    for begin, end, _ in copy.led:
        found.append(Spent(begin or 0, now_ms if end is None else end))
    return found


def _together_ms(one: Sequence[Spent], other: Sequence[Spent]) -> int:
    """How long two leaders led at the same time, in ms."""
    lasted = 0
    for mine in one:
        for theirs in other:
            begin = max(mine.begin, theirs.begin)
            end = min(mine.end, theirs.end)
            lasted += max(0, end - begin)
    return lasted


def _cut(copy: Copy, promises: Promises) -> str:
    names = []
    for record in copy.dropped:
        written = promises.written.get(record)
        if written is not None and written.name:
            names.append(quoted(written.name, 24))

    what = span_of([record.offset for record in copy.dropped])
    if names:
        what = listed(names, MOST_NAMED + 1)
    return f"{copy.name} dropped {what}"

"""The records that a program sent: which of them the log has, and what the program was
told. Everything that goes wrong here goes wrong between the two.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from minikafka.theatre.play import Space
from minikafka.theatre.text import quoted

# of a log, and of what the program was told, that are in a scene
LATEST_WRITTEN, LATEST_TOLD = 40, 24
MOST_NAMED = 3  # records in one mark
WORDS = {True: "done", False: "failed", None: ""}


class Sent(NamedTuple):
    letter: str
    key: str | None
    value: str | None


class Entry(NamedTuple):
    """A record in a log. number: of the record that was sent, None: somebody else's.
    state: "", again (it is there twice) or late (a later one was before it).
    """

    offset: int
    number: int | None
    state: str


class Append(NamedTuple):
    """The faults of records that were just written. again: they were there already;
    late: sent before the one that is there, overtaken_by.
    """

    again: list[int]
    late: list[int]
    overtaken_by: int


class Wrong(NamedTuple):
    """A fault of records that were just written. lamp: the one that turns red. records:
    those concerned.
    """

    words: str
    chapter: str
    lamp: str
    records: Sequence[int]


class Outcome(NamedTuple):
    """What the program was told about a record, and whether that is untrue."""

    number: int
    letter: str
    word: str
    untrue: bool


class Records:
    """sent: by number. heard: whether it is done, of those of which the program was
    told. logs: by partition. differ: whether no two have the same value.
    """

    def __init__(self, *, differ: bool = True) -> None:
        self.differ = differ
        self.sent: list[Sent] = []
        self.logs: dict[int, list[Entry]] = {}
        self.copies: Counter[int] = Counter()
        self.lost: set[int] = set()
        self.late: set[int] = set()
        self.heard: dict[int, bool] = {}

    def send(self, record: Sent) -> int:
        """Note a record that was sent. Returns its number."""
        self.sent.append(record)
        return len(self.sent) - 1

    def hear(self, numbers: Iterable[int], *, done: bool) -> None:
        self.heard |= dict.fromkeys(numbers, done)

    def names(self, numbers: Sequence[int]) -> str:
        """The letters of some records, for a mark."""
        if len(numbers) > MOST_NAMED:
            return f"+{len(numbers)}"
        return " ".join(self.sent[number].letter for number in numbers)

    def called(self, numbers: Sequence[int]) -> str:
        """Some records in a sentence: “order 3” · “order 3” and 4 more"""
        first, *more = numbers
        value = self.sent[first].value
        name = f"record {first + 1}"
        if value and self.differ:
            name = quoted(value, 24)
        return f"{name} and {len(more)} more" if more else name

    def missing(self, numbers: Iterable[int]) -> list[int]:
        return [number for number in numbers if not self.copies[number]]

    # -- the log

    def append_others(self, partition: int, offsets: Iterable[int]) -> None:
        """Somebody else has written there."""
        log = self.logs.setdefault(partition, [])
        log += [Entry(offset, None, "") for offset in offsets]

    def append(self, partition: int, numbers: Sequence[int], base: int) -> Append:
        """These records are written, from offset base on."""
        log = self.logs.setdefault(partition, [])
        there = [entry.number for entry in log if entry.number is not None]
        highest = max((each for each in there if each not in numbers), default=-1)
        again = [number for number in numbers if self.copies[number]]
        late = [number for number in numbers if number < highest]
        for offset, number in enumerate(numbers, base):
            state = "late" if number in late else ""
            if number in again:
                state = "again"
            log.append(Entry(offset, number, state))
        self.late.update(late)
        self.copies.update(numbers)
        return Append(again, late, highest)

    def held(self) -> list[str]:
        """The records in the logs, as letters."""
        found = []
        for log in self.logs.values():
            for entry in log:
                letter = "–"
                if entry.number is not None:
                    letter = self.sent[entry.number].letter
                found.append(letter)
        return found

    def wrong(self, numbers: Sequence[int], found: Append, state: str) -> Wrong | None:
        """The fault of a batch of these records that was just written, if any. state:
        of the batch.
        """
        if found.again:
            twice = "The record is" if len(found.again) == 1 else "Its records are"
            words = (
                f"To the broker this is a new batch like any other. {twice} in the log"
                " twice now."
            )
            return Wrong(
                words=words, chapter="written twice", lamp="once", records=found.again
            )
        if state == "failed":
            words = "The program was told that it failed."
            return Wrong(
                words=words, chapter="written after all", lamp="truth", records=numbers
            )
        if found.late:
            other = found.overtaken_by
            words = (
                f"It was sent before {self.called([other])}, which is there already and"
                " has overtaken it."
            )
            return Wrong(
                words=words,
                chapter="overtaken",
                lamp="order",
                records=[other, *found.late],
            )
        return None

    def offsets_of(self, partition: int, numbers: Sequence[int]) -> list[int]:
        log = self.logs.get(partition, ())
        return [entry.offset for entry in log if entry.number in numbers]

    # -- what the program was told

    def told(self) -> list[Outcome]:
        """Untrue is failed, and in the log; or done, and lost. (Done before it is
        written is acks=0, and may come true.)
        """
        written = set(+self.copies)
        lost = self.lost - written

        told = []
        for number, record in enumerate(self.sent):
            done = self.heard.get(number)
            untrue = number in lost if done else number in written
            is_told = done is not None
            told.append(
                Outcome(
                    number=number,
                    letter=record.letter,
                    word=WORDS[done],
                    untrue=is_told and untrue,
                )
            )

        return told

    def light(self) -> list[str]:
        """The keys of all that is wrong: records in the logs, what the program was
        told, and the lamps that tell it.
        """
        entries = {
            f"log/{partition}/{entry.offset}": entry
            for partition, log in self.logs.items()
            for entry in log
        }
        twice = [number for number, copies in self.copies.items() if copies > 1]
        untrue = [each.number for each in self.told() if each.untrue]
        light = [
            key
            for key, entry in entries.items()
            if entry.state or entry.number in (*twice, *untrue)
        ]
        light += [f"told/{number}" for number in untrue]
        lost = self.missing(sorted(self.lost))
        wrong = {"once": twice, "order": self.late, "lost": lost, "truth": untrue}
        return light + [f"lamp/{name}" for name, what in wrong.items() if what]

    # -- as plain JSON

    def logs_space(self) -> list[Space]:
        logs = []
        for partition, log in sorted(self.logs.items()):
            shown = [self._entry(entry) for entry in log[-LATEST_WRITTEN:]]
            end = log[-1].offset + 1 if log else 0
            logs.append({"partition": partition, "end": end, "records": shown})
        return logs

    def _entry(self, entry: Entry) -> list[Any]:
        """Offset, number of the record, letter, value, state."""
        letter = None
        value = None
        if entry.number is not None:
            letter, _, value = self.sent[entry.number]
        return [entry.offset, entry.number, letter, value, entry.state]

    def told_space(self) -> Space:
        """The latest, and what is untrue; and how many of each kind."""
        told = self.told()
        first = len(told) - LATEST_TOLD
        outcomes = list(self.heard.values())
        return {
            "told": [each for each in told if each.untrue or each.number >= first],
            "untrue": sum(each.untrue for each in told),
            "acknowledged": outcomes.count(True),
            "failed": outcomes.count(False),
            "twice": sum(copies > 1 for copies in self.copies.values()),
            "late": len(self.late),
            "lost": len(self.missing(self.lost)),
        }

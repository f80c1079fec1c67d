"""What all data sets share: an event, its line in a file, and dice that fall the same
way everywhere.

The same seed and count give the same bytes on every machine and Python version:
integers only, and of `random` only `Random.random()`, whose sequence Python promises to
keep.
"""

import base64
import heapq
import json
import random
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import NamedTuple, TypeVar

# ms: Monday, 1 January 2001, 08:00 UTC. A virtual day: nobody lived it
DAY_STARTS = 978_336_000_000
DAY_MS = 10 * 3_600_000
SECOND, MINUTE, HOUR = 1000, 60_000, 3_600_000

PEOPLE = (
    "alice",
    "bruno",
    "chidi",
    "dalia",
    "emre",
    "fatou",
    "goran",
    "hana",
    "ines",
    "jonas",
    "kalea",
    "luca",
    "mirela",
    "nils",
    "oksana",
    "pavel",
    "quentin",
    "rosa",
    "sanjay",
    "tove",
    "umar",
    "vera",
    "wanda",
    "xenia",
    "yusuf",
    "zofia",
    "amara",
    "bela",
    "carmen",
    "dario",
    "elif",
    "farid",
    "gerda",
    "hugo",
    "ilse",
    "jana",
    "kenji",
    "leila",
    "marek",
    "nadia",
)

Item = TypeVar("Item")


class Event(NamedTuple):
    """One record to be: which stream, its key and value (bytes; None as a value is a
    tombstone), headers, its ingest time (ms since 1970, UTC), and its partition if its
    producer chooses one.
    """

    stream: str
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]
    ingest_ms: int
    partition: int | None = None


class Dice:
    """Choices that depend on the seed alone."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def below(self, bound: int) -> int:
        return int(self._random.random() * bound)

    def percent(self, percent: int) -> bool:
        """True so often."""
        return self.below(100) < percent

    def one_of(self, items: Sequence[Item]) -> Item:
        return items[self.below(len(items))]

    def ranked(self, items: Sequence[Item]) -> Item:
        """Zipf's law by an integer table: the item of rank r comes 1/r as often as the
        first.
        """
        table = _zipf(len(items))
        return items[bisect_right(table, self.below(table[-1]))]


@cache
def _zipf(count: int) -> tuple[int, ...]:
    return tuple(accumulate(1_000_000 // rank for rank in range(1, count + 1)))


def by_ingest(made: Iterable[Event | int]) -> Iterator[Event]:
    """Events in the order of their ingest; of equal times the one that was made first.
    A number among them says that all events that follow are ingested at that time (ms)
    or later, so that those before it can go.
    """
    waiting: list[tuple[int, int, Event]] = []
    for number, each in enumerate(made):
        if isinstance(each, Event):
            heapq.heappush(waiting, (each.ingest_ms, number, each))
            continue
        while waiting and waiting[0][0] < each:
            yield heapq.heappop(waiting)[2]
    while waiting:
        yield heapq.heappop(waiting)[2]


def as_json(value: object) -> bytes:
    return json.dumps(value).encode()


def to_line(event: Event) -> bytes:
    """One JSON object. A value that is not UTF-8 stands in base64, as `value_base64`; a
    tombstone's is null.
    """
    line: dict[str, object] = {
        "stream": event.stream,
        "ingest_time_ms": event.ingest_ms,
        "key": None if event.key is None else event.key.decode(),
        "headers": {name: header.decode() for name, header in event.headers},
    }
    if event.partition is not None:
        line["partition"] = event.partition
    try:
        line["value"] = None if event.value is None else event.value.decode()
    except UnicodeDecodeError:
        assert event.value is not None
        line["value_base64"] = base64.b64encode(event.value).decode()
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def to_jsonl(made: Iterable[Event]) -> bytes:
    """A line for each event."""
    return b"".join(map(to_line, made))

"""Kafka's rules for one partition's log, without the bytes: what a learner's log is
compared with.
"""

import itertools
from typing import NamedTuple


class Record(NamedTuple):
    offset: int
    timestamp: int
    value: str


class KafkasLog:
    """The log with which TinyLog is compared: Kafka's rules for one partition, without
    the bytes.
    """

    def __init__(self, segment_size: int) -> None:
        self.segment_size = segment_size
        self.segments: list[list[Record]] = [[]]
        self.end = 0

    @property
    def start(self) -> int:
        first = self.segments[0]
        return first[0].offset if first else self.end

    def append(self, timestamp: int, value: str) -> int:
        if len(self.segments[-1]) == self.segment_size:
            self.segments.append([])
        self.segments[-1].append(Record(self.end, timestamp, value))
        self.end += 1
        return self.end - 1

    def read(self, offset: int) -> list[tuple[int, int, str]]:
        if not self.start <= offset <= self.end:
            raise IndexError("OFFSET_OUT_OF_RANGE")
        found = []
        for number, timestamp, value in self._records():
            if number >= offset:
                found.append((number, timestamp, value))
        return found

    def delete_older_than(self, timestamp: int) -> None:
        while self.segments[0]:
            newest = max(record.timestamp for record in self.segments[0])
            if newest >= timestamp:
                return
            self.segments = self.segments[1:] or [[]]

    def offset_for(self, timestamp: int) -> int | None:
        for record in self._records():
            if record.timestamp >= timestamp:
                return record.offset
        return None

    def _records(self) -> list[Record]:
        return list(itertools.chain.from_iterable(self.segments))

"""Lesson 01: the smallest offset that is left, and the log."""

from bisect import bisect_left
from typing import NamedTuple

from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right

for number, words in [
    # nothing is deleted
    (
        0,
        "0 is too small: segments whose newest record is older than three days are gone.",
    ),
    # as if records were deleted one by one
    (31, "But retention looks at segments, not at records."),
    # the same, counted wrongly
    (30, "offset 30 is in the middle of a segment. Retention deletes whole"),
    # one segment too few
    (24, "24 is too small. More records than that are gone: look at the newest record"),
    # one segment too many
    (
        32,
        "32 is too large. Fewer records than that are gone: look at the newest record",
    ),
    # counted from one
    (29, "offset 29 is in the middle of a segment. Retention deletes whole"),
    # only the active segment is left
    (
        40,
        "40 is too large. Fewer records than that are gone: look at the newest record",
    ),
    (41, "there is no offset 41: the shop wrote 0 to 40."),  # nothing is left
    (-28, "there is no offset -28: the shop wrote 0 to 40."),
    # the hour instead of the offset
    (184, "there is no offset 184: the shop wrote 0 to 40."),
    # the hour of the right offset
    (168, "there is no offset 168: the shop wrote 0 to 40."),
    ("28", "first_offset should be a number, and this is '28'."),
    ([28], "first_offset should be a number, and this is [28]."),
    (True, "first_offset should be a number, and this is True."),
]:
    wrong(1, words)(number)

for number in (28, 7 * 4, 28.0):
    right(1)(number)


class Copy:
    """Right, and the base of the wrong ones: everything is computed from one flat
    list.
    """

    def __init__(self, segment_size):
        self.segment_size = segment_size
        self.segments = [[]]
        self.next_offset = 0

    def append(self, timestamp, value):
        if len(self.segments[-1]) >= self.segment_size:
            self.segments.append([])
        self.segments[-1].append((self.next_offset, timestamp, value))
        self.next_offset += 1
        return self.next_offset - 1

    def first(self):
        return next(
            (segment[0][0] for segment in self.segments if segment), self.next_offset
        )

    def read(self, offset):
        if not self.first() <= offset <= self.next_offset:
            raise IndexError(offset)
        return [
            record
            for segment in self.segments
            for record in segment
            if record[0] >= offset
        ]

    def delete_older_than(self, timestamp):
        while self.segments[0] and max(at for _, at, _ in self.segments[0]) < timestamp:
            self.segments.pop(0)
            if not self.segments:
                self.segments.append([])

    def offset_for(self, timestamp):
        return next(
            (offset for s in self.segments for offset, at, _ in s if at >= timestamp),
            None,
        )


@right(2)
class Plain(Copy):
    pass


@right(2)
class WithTuples:
    """Segments are tuples in a tuple, a read is a tuple, and the offsets come from the
    last record's.
    """

    def __init__(self, segment_size):
        self.segment_size, self.segments, self.end = segment_size, ((),), 0

    def append(self, timestamp, value):
        record = (self.end, timestamp, value)
        if len(self.segments[-1]) == self.segment_size:
            self.segments += ((record,),)
        else:
            self.segments = (*self.segments[:-1], (*self.segments[-1], record))
        self.end += 1
        return record[0]

    def read(self, offset):
        everything = sum(self.segments, ())
        offsets = [record[0] for record in everything]
        if offset > self.end or offset < (offsets[0] if offsets else self.end):
            raise IndexError("out of range")
        return everything[bisect_left(offsets, offset) :]

    def delete_older_than(self, timestamp):
        keep = 0
        for segment in self.segments:
            if not segment or any(at >= timestamp for _, at, _ in segment):
                break
            keep += 1
        self.segments = self.segments[keep:] or ((),)

    def offset_for(self, timestamp):
        for offset, at, _ in sum(self.segments, ()):
            if at >= timestamp:
                return offset


class Record(NamedTuple):
    offset: int
    timestamp: int
    value: str


@right(2)
class NamedRecords(Copy):
    def append(self, timestamp, value):
        offset = super().append(timestamp, value)
        self.segments[-1][-1] = Record(*self.segments[-1][-1])
        return offset


@wrong(2, "read(0) raised IndexError, and Kafka's log gives [].")
class CountsFromOne(Copy):
    def __init__(self, segment_size):
        super().__init__(segment_size)
        self.next_offset = 1


@wrong(2, "append(10, 'a') gave 1, and Kafka's log gives 0.")
class ReturnsTheNextOffset(Copy):
    def append(self, timestamp, value):
        return super().append(timestamp, value) + 1


@wrong(2, "read(0) gave [(0, 10, 'a'), (1, 20, 'b')], and Kafka's log raises")
class OneSegment(Copy):
    def append(self, timestamp, value):
        self.segments[-1].append((self.next_offset, timestamp, value))
        self.next_offset += 1
        return self.next_offset - 1


@wrong(2, "read(0) gave [(0, 10, 'a'), (1, 20, 'b')], and Kafka's log raises")
class OneTooMany(Copy):
    def append(self, timestamp, value):
        if len(self.segments[-1]) > self.segment_size:
            self.segments.append([])
        self.segments[-1].append((self.next_offset, timestamp, value))
        self.next_offset += 1
        return self.next_offset - 1


@wrong(2, "read(1) gave [(1, 20, 'b')], and Kafka's log gives [(1, 20, 'b'), (2,")
class ReadsOneRecord(Copy):
    def read(self, offset):
        return super().read(offset)[:1]


@wrong(2, "read(0) gave [], and Kafka's log gives [(0, 10, 'a')].")
class ReadsFromTheNext(Copy):
    def read(self, offset):
        return super().read(offset)[1:]


@wrong(2, "read(2) gave [], and Kafka's log raises IndexError.")
class NeverOutOfRange(Copy):
    def read(self, offset):
        return [
            record
            for segment in self.segments
            for record in segment
            if record[0] >= offset
        ]


@wrong(2, "read(0) raised IndexError, and Kafka's log gives [].")
class ErrorAtTheEnd(Copy):
    def read(self, offset):
        if offset >= self.next_offset:
            raise IndexError(offset)
        return super().read(offset)


@wrong(2, "read(-1) gave [(0, 10, 'a')], and Kafka's log raises IndexError.")
class NegativeOffsetsCountFromTheEnd(Copy):
    def read(self, offset):
        return super().read(offset if offset >= 0 else self.next_offset + offset)


@wrong(2, "read(2) raised KeyError, and Kafka's log raises IndexError.")
class WrongException(Copy):
    def read(self, offset):
        try:
            return super().read(offset)
        except IndexError:
            raise KeyError(offset) from None


@wrong(2, "read(2) gave IndexError(2), and Kafka's log raises IndexError.")
class ReturnsTheError(Copy):
    def read(self, offset):
        try:
            return super().read(offset)
        except IndexError as error:
            return error


@wrong(2, "read(0) gave ['a'], and Kafka's log gives [(0, 10, 'a')].")
class ReadsValuesOnly(Copy):
    def read(self, offset):
        return [value for _, _, value in super().read(offset)]


@wrong(2, "read(0) raised IndexError, and Kafka's log gives [(0, 10, 'a'), (1, 20,")
class DeletesRecords(Copy):
    def delete_older_than(self, timestamp):
        self.segments = [
            [r for r in segment if r[1] >= timestamp] for segment in self.segments
        ]
        self.segments = [segment for segment in self.segments if segment] or [[]]


@wrong(2, "read(0) gave [(0, 20, 'a')], and Kafka's log gives [(0, 20, 'a'), (1,")
class DeletesAnySegment(Copy):
    """Also one behind a segment that stays."""

    def delete_older_than(self, timestamp):
        self.segments = [
            s for s in self.segments if any(at >= timestamp for _, at, _ in s)
        ] or [[]]


@wrong(2, "read(0) raised IndexError, and Kafka's log gives [(0, 20, 'a'), (1, 10,")
class LooksAtTheLastRecord(Copy):
    def delete_older_than(self, timestamp):
        while self.segments[0] and self.segments[0][-1][1] < timestamp:
            self.segments.pop(0)
            if not self.segments:
                self.segments.append([])


@wrong(2, "read(0) raised IndexError, and Kafka's log gives [(0, 10, 'a'), (1, 20,")
class LooksAtTheFirstRecord(Copy):
    def delete_older_than(self, timestamp):
        while self.segments[0] and self.segments[0][0][1] < timestamp:
            self.segments.pop(0)
            if not self.segments:
                self.segments.append([])


@wrong(2, "read(0) raised IndexError, and Kafka's log gives [(0, 10, 'a')].")
class DeletesTheEquallyOld(Copy):
    def delete_older_than(self, timestamp):
        super().delete_older_than(timestamp + 1)


@wrong(2, "read(1) gave [(1, 20, 'b')], and Kafka's log raises IndexError.")
class KeepsTheActiveSegment(Copy):
    def delete_older_than(self, timestamp):
        while (
            len(self.segments) > 1
            and max(at for _, at, _ in self.segments[0]) < timestamp
        ):
            self.segments.pop(0)


@wrong(2, "append(30, 'c') gave 0, and Kafka's log gives 1.")
class OffsetsBeginAgain(Copy):
    """After everything was deleted."""

    def delete_older_than(self, timestamp):
        super().delete_older_than(timestamp)
        if self.segments == [[]]:
            self.next_offset = 0


@wrong(2, "append(30, 'c') gave 0, and Kafka's log gives 1.")
class OffsetsAreTheCount(Copy):
    def append(self, timestamp, value):
        self.next_offset = sum(map(len, self.segments))
        return super().append(timestamp, value)


@wrong(2, "append(30, 'c') raised IndexError, and Kafka's log gives 1.")
class NoSegmentIsLeft(Copy):
    def delete_older_than(self, timestamp):
        while (
            self.segments
            and self.segments[0]
            and max(at for _, at, _ in self.segments[0]) < timestamp
        ):
            self.segments.pop(0)


@wrong(2, "and Kafka's log gives")
class SharedSegments(Copy):
    """The list belongs to the class: all logs share it."""

    kept = [[]]

    def __init__(self, segment_size):
        super().__init__(segment_size)
        self.segments = self.kept


@wrong(2, "offset_for(20) gave 1, and Kafka's log gives 0.")
class SearchesTheSmallestTimestamp(Copy):
    def offset_for(self, timestamp):
        found = [
            (at, offset)
            for s in self.segments
            for offset, at, _ in s
            if at >= timestamp
        ]
        return min(found)[1] if found else None


@wrong(2, "offset_for(0) gave None, and Kafka's log gives 0.")
class SearchesLater(Copy):
    """Strictly later than asked for."""

    def offset_for(self, timestamp):
        return super().offset_for(timestamp + 1)


@wrong(2, "offset_for(1) gave None, and Kafka's log gives 0.")
class SearchesBisecting(Copy):
    """As if timestamps grew with the offsets."""

    def offset_for(self, timestamp):
        everything = [record for segment in self.segments for record in segment]
        found = bisect_left([at for _, at, _ in everything], timestamp)
        return everything[found][0] if found < len(everything) else None


@wrong(2, "offset_for(10) gave -1, and Kafka's log gives None.")
class SearchesToMinusOne(Copy):
    def offset_for(self, timestamp):
        found = super().offset_for(timestamp)
        return -1 if found is None else found


@wrong(2, "offset_for(0) gave 0, and Kafka's log gives 1.")
class SearchesTheIndex(Copy):
    """The place in the list, and not the offset."""

    def offset_for(self, timestamp):
        found = super().offset_for(timestamp)
        return None if found is None else found - self.first()


# --- what readers of the course had found out ---


@wrong(2, "delete_older_than(10) raised IndexError, and Kafka's log gives None.")
class AlwaysRefusesToDelete(Copy):
    def delete_older_than(self, timestamp):
        super().delete_older_than(timestamp)
        raise IndexError(timestamp)


@wrong(2, "delete_older_than(10) raised IndexError, and Kafka's log gives None.")
class RefusesToDeleteNothing(Copy):
    def delete_older_than(self, timestamp):
        if self.segments == [[]]:
            raise IndexError(timestamp)
        super().delete_older_than(timestamp)


@wrong(2, "read(1) raised IndexError, and Kafka's log gives [(1, 20, 'b'), (2, 40,")
class SegmentsByOffset(Copy):
    """A record's segment is its offset // segment_size, also after everything was
    deleted.
    """

    def append(self, timestamp, value):
        if self.segments[-1] and self.next_offset % self.segment_size == 0:
            self.segments.append([])
        self.segments[-1].append((self.next_offset, timestamp, value))
        self.next_offset += 1
        return self.next_offset - 1


@wrong(2, "read(-2) gave [(0, 10, 'a'), (1, 20, 'b')], and Kafka's log raises")
class WrapsAtMinusTwo(Copy):
    def read(self, offset):
        return super().read(self.next_offset + offset if offset < -1 else offset)


@wrong(2, "read returns the log's own list: when the caller empties that list, the")
class HandsOutItsOwnList(Copy):
    """One flat list: a read of all of it is that list."""

    def __init__(self, segment_size):
        super().__init__(segment_size)
        self.flat = []

    def append(self, timestamp, value):
        self.flat.append((self.next_offset, timestamp, value))
        return super().append(timestamp, value)

    def read(self, offset):
        found = super().read(offset)
        return self.flat if len(found) == self.next_offset else found


@wrong(2, "append(390, 'z') gave 12, and Kafka's log gives 13.")
class StopsAfterTwelve(Copy):
    def append(self, timestamp, value):
        return super().append(timestamp, value) if self.next_offset < 13 else 12


@wrong(2, "read(4) gave [], and Kafka's log raises IndexError.", "gave [], and")
class NothingBeyondTheEnd(Copy):
    def read(self, offset):
        return [] if offset > self.next_offset else super().read(offset)


@wrong(
    2,
    "read(3) raised IndexError, and Kafka's log gives [].",
    "and Kafka's log gives []",
)
class AfterADeletionTheEndIsGone(Copy):
    def read(self, offset):
        if self.segments == [[]] and self.next_offset:
            raise IndexError(offset)
        return super().read(offset)


@wrong(2, "and Kafka's log gives")
class EqualRecordsOnce(Copy):
    def read(self, offset):
        found = {}
        for record in super().read(offset):
            found.setdefault(record[1:], record)
        return list(found.values())


@wrong(2, "read(0) gave")
class NothingIsAnEmptyText(Copy):
    def append(self, timestamp, value):
        return super().append(timestamp, value or "")

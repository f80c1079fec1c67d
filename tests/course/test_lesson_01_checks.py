"""Lesson 01's checks: right answers pass, however they are written; known wrong ones
hear what is wrong.
"""

import pytest

from tests.course.answers import solution, verdict

pytestmark = pytest.mark.slow

SOLUTION = solution("01", 2, "TinyLog")


class ByLists:
    """A right log that keeps one list and the segments' borders, unlike the
    solution.
    """

    def __init__(self, segment_size):
        self.size, self.records, self.borders, self.gone = segment_size, [], [0], 0

    def append(self, timestamp, value):
        offset = self.gone + len(self.records)
        if offset - self.borders[-1] == self.size:
            self.borders.append(offset)
        self.records.append((offset, timestamp, value))
        return offset

    def read(self, offset):
        at = offset - self.gone
        if at not in range(len(self.records) + 1):
            raise IndexError(offset)
        return self.records[at:]

    def delete_older_than(self, timestamp):
        while self.records:
            following = (
                self.borders[1]
                if len(self.borders) > 1
                else self.gone + len(self.records)
            )
            segment = self.records[: following - self.gone]
            if any(when >= timestamp for _, when, _ in segment):
                return
            self.records, self.gone = self.records[len(segment) :], following
            self.borders = self.borders[1:] or [following]

    def offset_for(self, timestamp):
        return next(
            (offset for offset, when, _ in self.records if when >= timestamp), None
        )


class OffsetsFromOne(SOLUTION):
    def append(self, timestamp, value):
        return super().append(timestamp, value) + 1


class ReadRemoves(SOLUTION):
    def read(self, offset):
        found = super().read(offset)
        if found:
            self.segments = [[]]
        return found


class ReadsOne(SOLUTION):
    def read(self, offset):
        return super().read(offset)[:1]


class NeverOutOfRange(SOLUTION):
    def read(self, offset):
        return [
            record
            for segment in self.segments
            for record in segment
            if record[0] >= offset
        ]


class EndIsOutOfRange(SOLUTION):
    def read(self, offset):
        if offset == self.end:
            raise IndexError("nothing there")
        return super().read(offset)


class DeletesRecords(SOLUTION):
    def delete_older_than(self, timestamp):
        kept = [
            [record for record in segment if record[1] >= timestamp]
            for segment in self.segments
        ]
        self.segments = [segment for segment in kept if segment] or [[]]


class LooksAtTheOldest(SOLUTION):
    def delete_older_than(self, timestamp):
        while self.segments[0] and self.segments[0][0][1] < timestamp:
            self.segments = self.segments[1:] or [[]]


class LooksAtTheLast(SOLUTION):
    def delete_older_than(self, timestamp):
        while self.segments[0] and self.segments[0][-1][1] < timestamp:
            self.segments = self.segments[1:] or [[]]


class SparesTheActive(SOLUTION):
    def delete_older_than(self, timestamp):
        while (
            len(self.segments) > 1
            and max(when for _, when, _ in self.segments[0]) < timestamp
        ):
            del self.segments[0]


class ReusesOffsets(SOLUTION):
    def delete_older_than(self, timestamp):
        super().delete_older_than(timestamp)
        self.end = sum(len(segment) for segment in self.segments)


class SearchesByBisection(SOLUTION):
    def offset_for(self, timestamp):
        records = [record for segment in self.segments for record in segment]
        low, high = 0, len(records)
        while low < high:
            middle = (low + high) // 2
            low, high = (
                (middle + 1, high) if records[middle][1] < timestamp else (low, middle)
            )
        return records[low][0] if low < len(records) else None


class NeverComesBack(SOLUTION):
    def append(self, timestamp, value):
        while True:
            pass


class Raises(SOLUTION):
    def read(self, offset):
        return self.segmnets


@pytest.mark.parametrize("answer", [SOLUTION, ByLists])
def test_a_right_log_is_right_however_it_is_written(answer):
    found = verdict("01", 2, answer)
    assert found.right, found


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (OffsetsFromOne, "append(10, 'a') gave 1, and Kafka's log gives 0."),
        (ReadRemoves, "TinyLog(1), append(10, 'a'), read(0), read(0)"),
        (
            ReadsOne,
            (
                "read(1) gave [(1, 20, 'b')], and Kafka's log gives [(1, 20, 'b'), (2,"
                " 30, 'c')]."
            ),
        ),
        (NeverOutOfRange, "read(2) gave [], and Kafka's log raises IndexError."),
        (EndIsOutOfRange, "raised IndexError, and Kafka's log gives []."),
        (DeletesRecords, "smallest case: an old record in a young segment"),
        (LooksAtTheOldest, "smallest case: an old record in a young segment"),
        (LooksAtTheLast, "smallest case: a late record at the end of a young segment"),
        (SparesTheActive, "and Kafka's log raises IndexError"),
        (ReusesOffsets, "append(30, 'c') gave 0, and Kafka's log gives 1."),
        (SearchesByBisection, "gave None, and Kafka's log gives 0."),
        (NeverComesBack, "it had not come back after 2 s"),
        (Raises, "it raised AttributeError"),
    ],
)
def test_a_wrong_log_hears_what_is_wrong(answer, words):
    found = verdict("01", 2, answer)
    assert not found.right and words in str(found), found


def test_a_log_without_its_stretch_is_right_and_hears_what_is_left():
    class Core(SOLUTION):
        def offset_for(self, timestamp):
            """The first offset not older."""
            ...

    found = verdict("01", 2, Core)
    assert found.right and "stretch, not attempted yet: TinyLog.offset_for" in str(
        found
    )


def test_a_counterexample_can_be_played():
    assert "deleted" in str(verdict("01", 2, SparesTheActive).picture.table())


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (31, "Retention doesn't look at records"),
        (29, "in the middle of a segment"),
        (0, "segments whose newest record is older than three days are gone"),
        (24, "More is gone"),
        (32, "Less is gone"),
        ("28", "should be a number"),
        (None, "Not attempted yet"),
        (..., "Not attempted yet"),
    ],
)
def test_a_wrong_first_offset_hears_why(number, words):
    found = verdict("01", 1, number)
    assert not found.right and words in str(found)


def test_the_first_offset_is_the_one_that_the_cluster_computes():
    assert verdict("01", 1, solution("01", 1, "first_offset")).right

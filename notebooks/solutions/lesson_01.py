"""Lesson 01, the log: one solution an exercise. Each part replaces the stub in the
solved edition.
"""

from minikafka import lesson

# %% exercise 1
# Each segment has four records (hours 0-18, 24-42, ...): record n is written at hour
# 6n, and segment k ends with record 4k+3. At hour 256, everything before hour 184 is
# too old. Segment 6 ends with record 27, hour 162, so it is gone. Segment 7 ends with
# record 31, hour 186, so it stays, and so do 28, 29 and 30, older than three days.
first_offset = 28


# %% exercise 2
class TinyLog:
    """One partition, in memory: a list of segments, oldest first; each is a list of
    (offset, timestamp, value).
    """

    def __init__(self, segment_size):
        self.segment_size = segment_size  # how many records a segment holds
        self.segments = [[]]  # the last one is active: appends go there
        self.end = 0  # the offset that the next record gets

    def append(self, timestamp, value):
        if len(self.segments[-1]) == self.segment_size:
            self.segments.append([])  # roll
        self.segments[-1].append((self.end, timestamp, value))
        self.end += 1  # never reused, whatever gets deleted
        return self.end - 1

    def read(self, offset):
        if not self._start() <= offset <= self.end:
            raise IndexError("OFFSET_OUT_OF_RANGE")
        return [
            record
            for segment in self.segments
            for record in segment
            if record[0] >= offset
        ]

    def delete_older_than(self, timestamp):
        while (
            self.segments[0]
            and max(when for _, when, _ in self.segments[0]) < timestamp
        ):
            del self.segments[0]
            if not self.segments:
                self.segments.append([])  # there is always an active segment

    def offset_for(self, timestamp):
        for segment in self.segments:
            for offset, when, _ in segment:
                if when >= timestamp:
                    # in order of offsets: clocks may disagree, offsets never do
                    return offset
        return None

    def _start(self):
        return self.segments[0][0][0] if self.segments[0] else self.end


# %% exit ticket
lesson("01").exit_ticket(2, 2, 3, 1, 1)

"""Lesson 12, the wire protocol: one solution an exercise. Each part replaces the stub
in the solved edition.
"""

from minikafka import lesson
from minikafka.course.experiments.lesson_12_runs import Record


# %% exercise 1
def decode(batch):
    """The records of one batch without compression, as a list of Record."""

    def number(at):
        """A varint: 7 bits a byte, the lowest first; then zigzag."""
        raw = shift = 0
        while True:
            byte = batch[at]
            at += 1
            raw |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        return (raw >> 1 if raw % 2 == 0 else -(raw + 1) // 2), at

    def content(at):
        """A length, and so many bytes. -1 is null."""
        length, at = number(at)
        if length < 0:
            return None, at
        return bytes(batch[at : at + length]), at + length

    base_offset = int.from_bytes(batch[0:8], "big", signed=True)
    base_timestamp_ms = int.from_bytes(batch[27:35], "big", signed=True)
    records = []
    at = 61
    for _ in range(int.from_bytes(batch[57:61], "big")):
        _, at = number(at)  # how long it is: we read all of it
        at += 1  # attributes
        timestamp_delta, at = number(at)
        offset_delta, at = number(at)
        key, at = content(at)
        value, at = content(at)
        count, at = number(at)
        headers = []
        for _ in range(count):
            name, at = content(at)
            header, at = content(at)
            headers.append((name.decode(), header))
        offset = base_offset + offset_delta
        timestamp_ms = base_timestamp_ms + timestamp_delta
        records.append(Record(offset, timestamp_ms, key, value, headers))
    return records


# %% exercise 2
def api_versions(frame, apis):
    """The answer to a request for ApiVersions, without its size."""
    version = int.from_bytes(frame[2:4], "big", signed=True)
    error_code = 0
    own = next(api for api in apis if api[0] == 18)
    if not own[1] <= version <= own[2]:
        version, error_code, apis = 0, 35, [own]

    def int16(number):
        return number.to_bytes(2, "big", signed=True)

    flexible = version >= 3
    answer = frame[4:8] + int16(error_code)  # never a tagged field in the header
    if flexible:
        count = len(apis) + 1
        while count >= 0x80:
            answer += bytes([count & 0x7F | 0x80])
            count >>= 7
        answer += bytes([count])
    else:
        answer += len(apis).to_bytes(4, "big")
    for api in apis:
        answer += b"".join(map(int16, api))
        if flexible:
            answer += b"\0"
    if version >= 1:
        answer += bytes(4)  # the throttle time
    if flexible:
        answer += b"\0"
    return answer


# %% exit ticket
lesson("12").exit_ticket(3, 1, 2, 2, 3)

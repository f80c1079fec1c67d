"""What the tests of compaction share: a log as a table of keys and values."""

from minikafka.server.folder_disk import FolderDisk
from minikafka.storage import checkpoints
from minikafka.storage.cleaner import Cleaner, find_dirt
from minikafka.storage.compaction import Compaction
from minikafka.trace import Reason
from minikafka.wire.records import batches, decode_batch, encode_batch
from tests.clients.brokers import until
from tests.storage.logs import Now, open_log, recovered

BUFFER_BYTES = 1 << 20
DAY_MS = 86_400_000


def open_table(disk=None, events=None, **config):
    return open_log(
        disk, events, **({"cleanup_policy": "compact", "segment_bytes": 300} | config)
    )


def recovered_table(disk, **arguments):
    return recovered(
        disk, **({"cleanup_policy": "compact", "segment_bytes": 300} | arguments)
    )


def encoded(pairs, timestamp=1000, **fields):
    """A batch of (key, value) pairs; a value of None is a tombstone."""
    records = [
        (
            timestamp,
            key and key.encode(),
            value if value is None else value.encode(),
            [],
        )
        for key, value in pairs
    ]
    return bytearray(encode_batch(records, **fields))


def put(log, *pairs, epoch=0, now=1000, **fields):
    return log.append(encoded(pairs, **fields), epoch, Now(now))


def roll(log):
    log.roll(log.log_end_offset, Reason("segment_ms", "the test says so"))


def compact(log, now=2000, up_to_offset=None, buffer_bytes=BUFFER_BYTES):
    """One pass over all closed segments."""
    dirt = find_dirt(
        log, log.log_end_offset if up_to_offset is None else up_to_offset, now
    )
    return sum(Compaction(log, dirt.end_offset, now, buffer_bytes).run())


def clean(log, now=2000):
    """What the cleaner does if it is asked once. Returns whether it found the log worth
    a pass.
    """
    cleaner = Cleaner(BUFFER_BYTES, fail)
    cleaner.begin([(log, log.log_end_offset)], now)
    if not cleaner.busy:
        return False
    assert cleaner.advance(1 << 40) is not None
    return True


def fail(line, error):
    """What is told if a log can't be cleaned."""
    raise AssertionError(line) from error


def wait_until_clean(folder, topic, offset):
    """Look at a server's checkpoint until its cleaner has been up to this offset of
    partition 0.
    """
    disk = FolderDisk(folder)

    def cleaned_up_to():
        offsets = checkpoints.read_offsets(disk, checkpoints.CLEANER_OFFSETS)
        return offsets.get((topic, 0), 0)

    until(lambda: cleaned_up_to() >= offset, f"{topic} is clean up to {offset}")


def all_batches(log):
    """(header, records) of everything that is on disk, segment by segment."""
    for segment in log.segments:
        for position, header in segment.headers(0):
            yield header, decode_batch(segment.batch(position, header))


def read_all(log):
    """What a consumer reads from the beginning: records, in order."""
    position, found = log.log_start_offset, []
    while position < log.log_end_offset:
        data = log.read(position, 1 << 20, log.log_end_offset)
        if not data:
            break
        for header, one in batches(data[0]):
            if not header.control:
                found += [
                    record for record in decode_batch(one) if record.offset >= position
                ]
            position = header.next_offset
    return found


def entries(log):
    """(offset, key, value) as text."""
    return [
        (
            record.offset,
            record.key and record.key.decode(),
            record.value and record.value.decode(),
        )
        for record in read_all(log)
    ]


def table(log):
    """What a consumer who keeps the latest value of each key ends up with."""
    found = {key: value for _, key, value in entries(log)}
    return {key: value for key, value in found.items() if value is not None}

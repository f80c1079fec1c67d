"""What the answer to a fetch holds, record by record."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from minikafka.wire.records import Record, batches, check_crc, decode_batch
from minikafka.wire.schema import Message


class Item(NamedTuple):
    """The next item in an answer. record: None if there is nothing to see up to the
    next offset.
    """

    record: Record | None
    next_offset: int
    leader_epoch: int
    timestamp_type: int


def items(
    data: Any, offset: int, check_crcs: bool, aborted: Iterable[Message] = ()
) -> Iterator[Item]:
    """The records of an answer from `offset` on, without those of aborted transactions,
    if it lists any (KIP-98).

    An answer begins with the whole batch that holds the offset, and may end within a
    batch.
    """
    first_offsets = [(each.first_offset, each.producer_id) for each in aborted]
    beginnings = deque(sorted(first_offsets))
    # producers whose transactional records are skipped until their next marker
    gone: set[int] = set()
    for header, batch in batches(data):
        while beginnings and beginnings[0][0] <= header.last_offset:
            _, producer_id = beginnings.popleft()
            gone.add(producer_id)
        is_aborted = header.transactional and header.producer_id in gone
        if header.control:
            gone.discard(header.producer_id)
        if header.next_offset <= offset:
            continue
        if check_crcs:
            check_crc(batch, header)
        epoch = header.partition_leader_epoch
        if not header.control and not is_aborted:
            kind = 1 if header.log_append_time else 0
            for record in decode_batch(batch):
                if record.offset >= offset:
                    yield Item(record, record.offset + 1, epoch, kind)
        # Control batches and compaction leave offsets without records: the position
        # skips them.
        yield Item(None, header.next_offset, epoch, 0)

"""The records that a member of a share group has, and its acknowledgements of them
(KIP-932).

    accept    it has processed the record
    release   it hasn't: another member may have it
    reject    nobody can process it
    renew     it needs more time (KIP-1222)

A fetch returns whole batches, and a list of the offsets in them that were acquired.
Offsets that were acquired and have no record, such as those of control batches, are
acknowledged as gaps. A damaged batch is rejected, and the next poll raises an error.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minikafka.clients.items import Item, items
from minikafka.clients.request_state import RequestState
from minikafka.clients.structs import TopicPartition
from minikafka.wire.errors import KafkaError
from minikafka.wire.records import batches
from minikafka.wire.schema import Message

GAP, ACCEPT, RELEASE, REJECT, RENEW = "gap", "accept", "release", "reject", "renew"
NUMBERED = (GAP, ACCEPT, RELEASE, REJECT, RENEW)  # their numbers in requests
TYPES = (ACCEPT, RELEASE, REJECT, RENEW)  # the types that a program may use

Offsets = dict[int, str]  # offset -> acknowledgement type
Said = dict[TopicPartition, Offsets]

NEW_EPOCH = 0  # of a session that the broker doesn't know yet


@dataclass(eq=False, slots=True)
class Delivery:
    """A record that this member has. session: with the broker that delivered it, the
    only one that may get its acknowledgement. said: the program's acknowledgement; None
    if there is none yet.
    """

    session: "ShareSession"
    partition: TopicPartition
    item: Item
    count: int
    said: str | None = None

    @property
    def offset(self) -> int:
        assert self.item.record is not None
        return self.item.record.offset


@dataclass(eq=False)
class ShareSession:
    """A session with one broker. connection: the one that it lives on. epoch: of the
    next request. known: the partitions that the broker has in it. waiting:
    acknowledgements to be sent; sent: those in flight. renewing: the records whose
    locks are being renewed. ends: whether the next request is its last. is_over: it has
    ended.
    """

    node_id: int
    connection: str | None
    request: RequestState
    epoch: int = NEW_EPOCH
    known: set[tuple[bytes, int]] = field(default_factory=set)
    waiting: Said = field(default_factory=dict)
    sent: Said = field(default_factory=dict)
    renewing: dict[tuple[TopicPartition, int], Delivery] = field(default_factory=dict)
    ends: bool = False
    is_over: bool = False

    @property
    def is_busy(self) -> bool:
        """Whether the caller waits for an answer of the broker."""
        is_ending = self.ends and not self.is_over
        return bool(self.waiting or self.sent or is_ending)

    @property
    def renews(self) -> bool:
        """Whether a waiting acknowledgement renews a lock."""
        return renews(self.waiting)

    def say(self, partition: TopicPartition, offset: int, what: str) -> None:
        self.waiting.setdefault(partition, {})[offset] = what


def renews(said: Said) -> bool:
    """Whether any record's lock is renewed."""
    return any(RENEW in offsets.values() for offsets in said.values())


@dataclass
class Arrived:
    """The content of one partition's answer. said: acknowledgements to be sent at once.
    error: a batch was damaged.
    """

    found: list[Delivery] = field(default_factory=list)
    said: Offsets = field(default_factory=dict)
    error: KafkaError | None = None


class Run(NamedTuple):
    """A range of offsets with the same acknowledgement."""

    first_offset: int
    last_offset: int
    said: str


def arrived(
    session: ShareSession, partition: TopicPartition, part: Message, check_crcs: bool
) -> Arrived:
    """Those of the records in an answer that were acquired."""
    counts = {}
    for acquired in part.acquired_records:
        for offset in range(acquired.first_offset, acquired.last_offset + 1):
            counts[offset] = acquired.delivery_count
    result = Arrived()
    for header, batch in batches(part.records or b""):
        try:
            for item in _records(batch, header.base_offset, check_crcs):
                assert item.record is not None
                count = counts.pop(item.record.offset, None)
                if count is not None:
                    result.found.append(Delivery(session, partition, item, count))
        except KafkaError as error:
            result.error = error.with_traceback(None)
            for offset in range(header.base_offset, header.next_offset):
                if counts.pop(offset, None) is not None:
                    result.said[offset] = REJECT
    for offset in counts:
        result.said[offset] = GAP
    return result


def _records(batch: Any, offset: int, check_crcs: bool) -> Iterator[Item]:
    for item in items(batch, offset, check_crcs):
        if item.record is not None:
            yield item


def runs(said: Mapping[int, str]) -> list[Run]:
    """The acknowledgements as requests list them."""
    found: list[Run] = []
    for offset in sorted(said):
        last = found[-1] if found else None
        if last is not None and (last.last_offset, last.said) == (
            offset - 1,
            said[offset],
        ):
            found[-1] = last._replace(last_offset=offset)
        else:
            found.append(Run(offset, offset, said[offset]))
    return found


def acknowledgement_batches(said: Iterable[Run]) -> list[dict[str, Any]]:
    return [
        {
            "first_offset": run.first_offset,
            "last_offset": run.last_offset,
            "acknowledge_types": [NUMBERED.index(run.said)],
        }
        for run in said
    ]

"""Records that a member of a share group has, and what it says of them (KIP-932).

    accept    it has dealt with the record
    release   it has not: let somebody have it
    reject    nobody can deal with it
    renew     it needs more time (KIP-1222)

A fetch brings whole batches, and a list of what was acquired of them. Offsets that were
acquired and have no record, as those of control batches, are told to the broker as
gaps. A batch that is damaged is rejected, and the next poll raises.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from minikafka.clients.fetching import Item, items
from minikafka.clients.structs import TopicPartition
from minikafka.wire.errors import KafkaError
from minikafka.wire.records import batches
from minikafka.wire.schema import Message

if TYPE_CHECKING:
    from minikafka.clients.share_sessions import ShareSession

GAP, ACCEPT, RELEASE, REJECT, RENEW = "gap", "accept", "release", "reject", "renew"
NUMBERED = (GAP, ACCEPT, RELEASE, REJECT, RENEW)  # as in requests
TYPES = (ACCEPT, RELEASE, REJECT, RENEW)  # what a program may say

Offsets = dict[int, str]  # offset -> what is said of it


@dataclass(eq=False, slots=True)
class Delivery:
    """A record that this member has. session: with the broker that gave it, the only
    one that may be told what became of it. said: what the program says; None: nothing
    yet.
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


@dataclass
class Arrived:
    """What one partition's answer holds. said: what is told of offsets at once. error:
    a batch was damaged.
    """

    found: list[Delivery] = field(default_factory=list)
    said: Offsets = field(default_factory=dict)
    error: KafkaError | None = None


class Run(NamedTuple):
    """Offsets that lie together, and of which the same is said."""

    first_offset: int
    last_offset: int
    said: str


def arrived(
    session: "ShareSession", partition: TopicPartition, part: Message, check_crcs: bool
) -> Arrived:
    """The records that were acquired, of those that came."""
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
    """What is said of offsets, as requests list it."""
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

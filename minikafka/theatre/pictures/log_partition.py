"""One partition's copies on several brokers: what the pictures of the replica set and
of the fork tell alike. Which partition it is, which events are of it, and what they say
of offsets.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, ClassVar, NamedTuple

from minikafka.theatre.nodes import node_id
from minikafka.theatre.pictures.log_copies import CopiesStory
from minikafka.theatre.play import Detail
from minikafka.trace import Event

Batch = tuple[str, Any]  # producer and number

# under both pictures
LEGEND = (
    "Colour: who led when it was written. Filled: below the high watermark (the heavy"
    " line), as far as this broker knows."
)


class Part(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class PartitionStory(CopiesStory):
    """A story of one partition: the named one, else the one that most events are about.
    copies: of its log, by the name of the broker.
    """

    title_of_part = ""  # instead of the title, once a partition is found
    of_replicas: ClassVar[Collection[str]] = ()  # the kinds of events that count
    copies: dict[str, Any]

    def __init__(
        self,
        trace: Sequence[Event],
        *,
        topic: str | None = None,
        partition: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(trace, **options)
        part = busiest_part(trace, self.of_replicas, topic, partition)
        if part is None:
            part = Part(topic or "", partition or 0)
        else:
            self.title = self.title_of_part.format(part=part)
        self.topic, self.partition = part
        self.mine = [event for event in trace if self.is_of_partition(event)]
        self.most = longest(self.mine)

    def replicas(self) -> list[Event]:
        """The events that tell of a replica of the partition."""
        return [event for event in self.mine if event.kind in self.of_replicas]

    def is_mine(self, event: Event) -> bool:
        if not self.copies:
            return False
        return "topic" not in event.detail or self.is_of_partition(event)

    def is_of_partition(self, event: Event) -> bool:
        """An event of the whole topic is, too."""
        d = event.detail
        if d.get("topic") != self.topic:
            return False
        return bool(d.get("partition", self.partition) == self.partition)


def busiest_part(
    trace: Sequence[Event],
    kinds: Collection[str],
    topic: str | None,
    partition: int | None,
) -> Part | None:
    """The partition that most events of these kinds are about, of those that may be
    meant.
    """
    found: Counter[Part] = Counter()
    for event in trace:
        if event.kind not in kinds:
            continue
        d = event.detail
        part = Part(d["topic"], d["partition"])
        is_meant = topic in (None, part.topic) and partition in (None, part.partition)
        if is_meant and not part.topic.startswith("__"):
            found[part] += 1
    return max(found, key=lambda part: (found[part], part), default=None)


def brokers_of(replicas: Sequence[Event]) -> set[int]:
    """The nodes that emit events about a replica. The controller, 0, has none."""
    return {node_id(event.node) for event in replicas}


def longest(mine: Sequence[Event]) -> int:
    """The greatest length of any of the logs."""
    last = [event.detail.get("last_offset", -1) for event in mine]
    return max(last, default=-1) + 1


# -- what events say


def offsets_of(d: Detail) -> range:
    """The offsets of records that are appended to a log."""
    return range(d["base_offset"], d["last_offset"] + 1)


def latest_epoch(d: Detail) -> int:
    """The leader epoch of the last of these records."""
    epoch: int
    epoch, _ = d["epochs"][-1]
    return epoch


def acknowledged(d: Detail) -> range:
    """The offsets that are acknowledged to a producer."""
    first = d["base_offset"]
    return range(first, first + d["count"])


def batch_of(event: Event) -> Batch:
    """The batch that a producer's event is about."""
    return event.node, event.detail["batch"]

"""One log on several brokers: the common part of the pictures of the replica set and of
the controller quorum.

The metadata log is replicated as a topic's partition is. So both keep the same for each
broker: the records in its log and how far it goes, the records it has just truncated,
and the state of the broker and of its links to others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minikafka.theatre.nodes import Links
from minikafka.theatre.play import Detail, Says, Story, Told
from minikafka.theatre.text import capital
from minikafka.trace import Event

OF_NODES = {
    "LinkCut": Says(
        "The network between {one} and {other} is cut: nothing gets through, and"
        " neither has noticed yet.",
        "{one} and {other} are cut",
    ),
    "LinkHealed": Says(
        "The network between {one} and {other} heals: what was held back arrives.",
        "{one} and {other} hear each other",
    ),
    "NodeStopped": Says("{Node} stops.", "{node} stops", True),
    "NodeShutDown": Says(
        "{Node} stops cleanly: others already lead what it led.", "{node} stops"
    ),
    "NodeThawed": Says(
        "{Node} wakes up, and knows nothing about what has happened in the meantime.",
        "{node} wakes up",
    ),
}


class RecordId(NamedTuple):
    """Two logs may hold different records at one offset: the leader epoch tells them
    apart.
    """

    offset: int
    epoch: int


class Held(NamedTuple):
    """A record in a log. number: of the event that brought it."""

    epoch: int
    number: int


class Described(NamedTuple):
    """A record in two short words, and in full."""

    text: str
    more: str
    full: str


@dataclass
class LogCopy:
    """One broker's log. records: by offset. cut: what was truncated last."""

    broker: int
    life: str = ""
    end: int = 0
    high_watermark: int = 0
    records: dict[int, Held] = field(default_factory=dict)
    cut: Sequence[RecordId] = ()

    @property
    def name(self) -> str:
        return f"broker {self.broker}"

    def holds(self, record: RecordId) -> bool:
        held = self.records.get(record.offset)
        return held is not None and held.epoch == record.epoch

    def lacks(self, record: RecordId) -> bool:
        """Whether it is certainly not there. (A trace may begin after it was taken.)"""
        held = self.records.get(record.offset)
        is_another = held is not None and held.epoch != record.epoch
        return record.offset >= self.end or is_another

    def truncate(self, end: int) -> None:
        cut = []
        for offset in sorted(self.records):
            if offset >= end:
                held = self.records.pop(offset)
                cut.append(RecordId(offset, held.epoch))
        self.cut = cut
        self.end = end

    def described(
        self, near: int, describe: Callable[[RecordId], Described]
    ) -> dict[str, Any]:
        """The records that nodes.DrawnLog draws: the latest ones, and those that were
        truncated.

        near: how many offsets before the end are shown.
        """
        first = self.end - near
        records = []
        for offset in sorted(offset for offset in self.records if offset >= first):
            held = self.records[offset]
            words = describe(RecordId(offset, held.epoch))
            records.append([offset, held.epoch, *words, held.number])
        cut = [[*record, *describe(record), 0] for record in self.cut]
        return {"records": records, "cut": cut}


class CopiesStory(Story):
    """The common part of stories about replicated logs."""

    links: Links

    def details(self, event: Event) -> dict[str, Any]:
        return super().details(event) | {"Node": capital(event.node)}

    def tell_life(self, event: Event, life: str) -> Told:
        word = life or "back"
        return self.tell(event, mark=(event.node, word, bool(life)))

    def _see_LinkCut(self, event: Event, d: Detail) -> Told | None:
        if not self.links.follow(event):
            return None
        word = "cut" if event.kind == "LinkCut" else "heals"
        return self.tell(event, mark=(d["one"], word))

    _see_LinkHealed = _see_LinkCut

"""The consumer group beside a share group, on the same partition: one member reads, and
the group knows one number, the committed offset.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from minikafka.theatre.pictures.share_partition.records import (
    DONE,
    IN_HAND,
    Member,
    Read,
    lane_of,
    spans,
)
from minikafka.theatre.play import QUIETLY, EventId, Told
from minikafka.theatre.text import counted, ordinal
from minikafka.trace import Event


class Moment(NamedTuple):
    """Where the story is. number: of the event that is being seen."""

    at: int
    number: int
    log_end: int


@dataclass
class Beside:
    """members: of both groups. reading: those of this one. owner: the member that has
    the partition now. out: the event with which a member was evicted.
    """

    members: Mapping[str, Member]
    reading: Sequence[str]
    owner: str = ""
    committed: int | None = None
    records: dict[int, Read] = field(default_factory=dict)
    begins_at: int = 0  # the first record that was ever handed over
    out: EventId | None = None
    handed: EventId | None = None  # the event that last handed records over
    said: set[str] = field(default_factory=set)

    @property
    def done(self) -> int:
        return sum(each.state == DONE for each in self.records.values())

    def _once(self, chapter: str) -> str | None:
        """The chapter, the first time."""
        if chapter in self.said:
            return None
        self.said.add(chapter)
        return chapter

    def assigned(self, event: Event, now: Moment, is_owner: bool) -> Told:
        """The member that has the partition, and those that have nothing."""
        name = event.node
        if not is_owner:
            if self.owner == name:
                self._gives_up(name, now.at)
            return QUIETLY
        self.owner = name
        others = [each for each in self.reading if each != name]
        alive = [each for each in others if not self.members[each].life]
        idle = ""
        if alive:
            idle = f" {counted(len(alive), 'other member')} of its group has nothing."
            if len(alive) > 1:
                idle = f" The {len(alive)} other members of its group have nothing."
        return Told(
            f"{name} has the partition, in generation {event.detail['generation']} of"
            f" the consumer group.{idle}",
            self._once(f"{name} has the partition"),
            because=self.out,
        )

    def gave_up(self, event: Event, now: Moment) -> Told:
        """Its partition goes, or may go, to another member."""
        self._gives_up(event.node, now.at)
        return Told(f"{event.node} no longer has the partition.", because=self.out)

    def polled(self, event: Event, now: Moment) -> Told:
        """Records are handed over, and all behind them wait."""
        name = event.node
        member = self.members[name]
        offsets = [offset for offset, *_ in event.detail["records"]]
        if not offsets:
            return QUIETLY
        if not self.records:
            self.begins_at = offsets[0]
        again = [offset for offset in offsets if offset in self.records]
        member.ends(member.in_hand, now.at, "again")
        for offset in offsets:
            record = self.records.setdefault(offset, Read())
            record.state = IN_HAND
            record.who = name
            record.count += 1
            record.number = now.number
            member.begins(offset, now.at, now.number)
        what = spans(offsets)
        told = Told(f"{name} reads {what}.", because=self.handed)
        left = now.log_end - offsets[-1] - 1
        if left > 0:
            wait = "The one behind waits" if left == 1 else f"The {left} behind wait"
            told.sentence = f"{name} reads {what}. {wait} for {name}."
        if again:
            times = self.records[again[0]].count
            told.sentence = (
                f"{name} reads {what}: it is handed over for the {ordinal(times)} time."
            )
            if left > 0:
                told.sentence += f" {wait}."
            told.chapter = self._once(f"record {again[0]} again")
        self.handed = event.id
        return told

    def commits(self, event: Event, now: Moment) -> Told:
        """All before this offset is done."""
        offset = event.detail["offset"]
        self.committed = offset
        finished: dict[str, list[int]] = {}
        for each, record in self.records.items():
            if each < offset and record.state != DONE:
                record.state = DONE
                record.number = now.number
                finished.setdefault(record.who, []).append(each)
        for name, offsets in finished.items():
            self.members[name].ends(offsets, now.at, "commit")
            self.members[name].done += len(offsets)
        who = " and ".join(finished) or self.owner or "A member"
        return Told(
            f"{who} commits offset {offset}: everything before it is done.",
            because=self.handed,
        )

    def left(self, event: Event, now: Moment) -> Told:
        """A member has left the group, or the coordinator has evicted it."""
        name = str(event.detail["client"])
        self.out = event.id
        self._gives_up(name, now.at)
        return Told(
            f"{name} is no longer in the consumer group: {event.detail['why']}.",
            f"{name} is out",
            light=["read", lane_of(name)],
        )

    def gone(self, name: str, at: int) -> None:
        """A member has died; its group doesn't know."""
        if name in self.reading:
            self.members[name].ends(self.members[name].in_hand, at, "gone")

    def _gives_up(self, name: str, at: int) -> None:
        """The record in its hand is not done, and will be handed over again."""
        for record in self.records.values():
            if record.state == IN_HAND and record.who == name:
                record.state = ""
        if name in self.members:
            self.members[name].ends(self.members[name].in_hand, at, "gone")
        if self.owner == name:
            self.owner = ""

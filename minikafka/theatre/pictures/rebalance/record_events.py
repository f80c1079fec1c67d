"""The records during a rebalance: how many wait, and where nobody reads.

There are far too many records, polls and commits to stop at: they change the state, and
every now and then a step shows how many records wait.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from minikafka.theatre.pictures.rebalance.cast import Part
from minikafka.theatre.pictures.rebalance.effect_events import Effects
from minikafka.theatre.pictures.rebalance.group import Group
from minikafka.theatre.pictures.rebalance.member import Member, Work
from minikafka.theatre.pictures.rebalance.teller import Teller
from minikafka.theatre.play import Detail, Story, Told
from minikafka.theatre.text import counted, key_part, lasting
from minikafka.trace import Event

# they change no partition's owner, and nearly all events are of these kinds
RECORDS = (
    "RecordsAppended",
    "RecordsPolled",
    "RecordsFetched",
    "RecordsProcessed",
    "PositionReset",
    "RequestSent",
    "ResponseReceived",
)
# a member usually learns of a rebalance sooner, with its heartbeat; one that takes
# longer is waited for
LONG_MS = 3000


@dataclass
class Row:
    """Steps that show nothing but records, one after the other. unread: the partitions
    that they are about; nothing, where all are read. told_at: when anything was told
    last. every_ms: how often a step shows the records alone.
    """

    every_ms: int
    unread: str = ""
    steps: int = 0
    told_at: float = -inf

    def goes_on(self, unread: str) -> bool:
        """Whether one more such step takes the place of the last one. Where records
        wait, a row has a beginning and an end; else it is one step.
        """
        if unread != self.unread:
            self.unread = unread
            self.steps = 0
        most = 2 if unread else 1
        if self.steps == most:
            return True
        self.steps += 1
        return False

    def ends(self) -> None:
        self.steps = 0


class Records(Teller):
    """since_ms: what happens earlier is not told. last: the one member that all wait
    for; waits_since_ms: since when. waited_ms: for whom all have waited, and how long
    in all.
    """

    def __init__(
        self,
        story: Story,
        group: Group,
        effects: Effects,
        row: Row,
        since_ms: int,
    ) -> None:
        super().__init__(story, group)
        self.effects = effects
        self.row = row
        self.since_ms = since_ms
        self.last: Member | None = None
        self.waits_since_ms = 0
        self.waited_ms = Counter[str]()

    def see_RecordsAppended(self, event: Event, d: Detail) -> Told | None:
        self.group.end[_part(d)] = d["last_offset"] + 1
        return self._now_and_then(event.at)

    def see_RecordsPolled(self, event: Event, d: Detail) -> Told | None:
        self.group.position[_part(d)] = d["position"]
        member = self.group.about(event)
        member.overdue = False
        self.effects.polled(event)
        member.takes(len(d["records"]), event.at)
        work = member.work(event.at)
        if work is not None:
            return self._tell_busy(member, work)
        return self._now_and_then(event.at)

    def _tell_busy(self, member: Member, work: Work) -> Told | None:
        """It has its hands full: its lanes say so."""
        name = member.actor.name
        self.group.note(work.since_ms)
        if not self.story.once(("busy", name)):
            return None
        self.row.ends()
        what = counted(work.records, "record")
        return Told(
            f"{name} is busy with {what} for {lasting(work.lasts_ms)}, and doesn't poll"
            " until then."
        )

    def see_RecordsProcessed(self, event: Event, d: Detail) -> None:
        self.group.note(event.at)

    def see_PositionReset(self, event: Event, d: Detail) -> None:
        self.group.position[_part(d)] = d["offset"]

    def see_RecordsFetched(self, event: Event, d: Detail) -> None:
        if not self.cast.clients_speak:
            self.group.position[_part(d)] = d["next_offset"]

    # -- a step for the records alone

    def _now_and_then(self, at: int) -> Told | None:
        every_ms = self.row.every_ms
        silent_ms = at - self.row.told_at
        if not self.group.began or silent_ms < every_ms:
            return None
        unread = [part for part in self.cast.parts if self._is_unread(part)]
        waiting = self._waiting(unread)
        if unread and waiting:
            return self._tell_wait(self._nobody_reads(unread, waiting), at, unread)
        if silent_ms < 2 * every_ms:
            return None
        total = self._waiting(self.cast.parts)
        verb = "are" if total > 1 else "is"
        words = f"Records come in and are read: {total or 'none'} {verb} waiting now."
        return self._tell_wait(words, at, unread)

    def _is_unread(self, part: Part) -> bool:
        return not any(owner.reads for owner in self.group.owners(part))

    def _waiting(self, parts: Iterable[Part]) -> int:
        return sum(self.group.waiting(part) for part in parts)

    def _nobody_reads(self, unread: list[Part], waiting: int) -> str:
        verb = "is" if waiting == 1 else "are"
        what = f"{counted(waiting, 'record')} {verb} waiting"
        if not self.group.has_readers:
            return f"Records come in, but nobody reads yet: {what}."
        where = "any partition"
        if len(unread) < len(self.cast.parts):
            where = self.group.labels(unread)
        return f"Records keep coming in, and nobody reads {where}: {what} there."

    # -- the one member that all wait for

    def note_wait(self, at: int) -> None:
        group = self.group
        last = None
        if group.all_join and len(group.inside) > 1:
            missing = group.missing
            last = missing[0] if len(missing) == 1 else None
        if last is not self.last:
            if self.last is not None:
                since_ms = max(self.waits_since_ms, self.since_ms)
                self.waited_ms[self.last.actor.letter] += max(at - since_ms, 0)
            self.last = last
            self.waits_since_ms = at

    def _goes_on(self, unread: str) -> bool:
        """Whether this step takes the place of the one before it. The picture's first
        one stays, for there its axis begins; and in a live one each moment has levers.
        """
        story = self.story
        if story.number == 1 or story.live:
            return False
        return self.row.goes_on(unread)

    def _tell_wait(self, words: str, at: int, unread: list[Part]) -> Told:
        """All have long waited for one member: it has light, once, and so have the
        lanes that wait with them.
        """
        last = self.last
        story = self.story
        said = story.said
        is_long = last is not None and at - self.waits_since_ms >= LONG_MS
        if last is None or not is_long or said & {"two owners", "wait"}:
            name = f"{id(story)} {unread}" if unread else ""
            return Told(words, replaces=self._goes_on(name))
        said.add("wait")
        self.row.ends()
        name = last.actor.name
        label = self.cast.label
        light = [f"member/{key_part(name)}", "coordinator"]
        light += [f"part/{label(part)}" for part in last.owns]
        light += [f"time/{label(part)}" for part in last.owns]
        for part in unread:
            light += [f"time/{label(part)}", f"time/cursor/{label(part)}"]
        words += f" All wait for {name}: it joins with its next poll."
        return Told(words, light=light)


def _part(d: Detail) -> Part:
    return Part(d["topic"], d["partition"])

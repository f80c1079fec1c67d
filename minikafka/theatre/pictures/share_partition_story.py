"""What a trace tells about one partition that a share group works on (KIP-932), and a
consumer group beside it, if there is one (share_partition.py draws it).

Of each record the share group knows its state, who has it, until when, and how often it
was delivered. The consumer group knows one number, the committed offset; what is handed
over and not committed is in hand.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from minikafka.theatre.casting import (
    OfTopic,
    busiest_partitions,
    groups_of_members,
)
from minikafka.theatre.pictures.share_partition_beside import Beside, Moment
from minikafka.theatre.pictures.share_partition_cast import names_of, values_of
from minikafka.theatre.pictures.share_partition_records import (
    ACKNOWLEDGED,
    ACQUIRED,
    ARCHIVED,
    AVAILABLE,
    FINAL,
    NEAR,
    STATES,
    Batch,
    Member,
    Shared,
    joined,
    lane_of,
    seconds,
    span,
    spans,
)
from minikafka.theatre.play import (
    LIVES,
    QUIETLY,
    Cast,
    Detail,
    EventId,
    Says,
    Space,
    Told,
    picked,
)
from minikafka.theatre.text import capital, counted, listed
from minikafka.trace import Event

MOST_SHARING, MOST_READING = 4, 3  # members that have a lane
TOO_LATE = "INVALID_RECORD_STATE"
SAYS = {
    "ClientClosed": Says("{node} closes{having}.", "{node} closes"),
    "NodeCrashed": Says("{node} is killed{having}.", "{node} is killed", True),
    "NodeStopped": Says("{node} stops{having}.", "{node} stops", True),
    "NodeFrozen": Says(
        "{node} hangs{having}: it does nothing and hears nothing. Nobody knows yet.",
        "{node} hangs",
        True,
    ),
    "NodeRestarted": Says("{node} is back.", "{node} is back"),
    "NodeThawed": Says("{node} goes on where it stood.", "{node} goes on"),
}
FEW = 3  # records that are done with before the one at the start offset
# how a delivery ended, by what the member said
ENDINGS = {None: "gone", "gap": "reject"}


class SharePartitionStory(OfTopic):
    """The story of one partition, a share group, and a consumer group."""

    name, title = "share-partition", "A share partition"
    says = SAYS
    shows = ("group", "other", "sharing", "reading", "left_out", "most")

    def __init__(
        self,
        trace: Sequence[Event],
        *,
        topic: str | None = None,
        partition: int | None = None,
        group: str | None = None,
        beside: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(trace, **options)
        acquired = [event for event in trace if event.kind == "ShareRecordsAcquired"]
        if group is not None:
            acquired = [each for each in acquired if each.detail["group"] == group]
        mine = self.choose(trace, topic, acquired)
        here = [each for each in acquired if each.detail["topic"] == self.topic]
        if partition is None:
            partition = next(iter(busiest_partitions(here or mine, 1)), 0)
        self.partition = partition
        self.chosen = [partition]
        groups = Counter(each.detail["group"] for each in here)
        self.group = group or max(groups, key=lambda each: groups[each], default="")
        self.groups = groups_of_members(trace)
        self.names = names_of(trace, self.group)
        sharing = sorted(set(self.names.values()))
        self.other = beside or self._other(mine)
        reading = sorted(
            name for name, group in self.groups.items() if group == self.other
        )
        if not self.other:
            reading = []
        self.sharing = sharing[:MOST_SHARING]
        self.reading = reading[:MOST_READING]
        self.left_out = [len(sharing) - len(self.sharing)]
        self.left_out.append(len(reading) - len(self.reading))
        if self.topic:
            self.title = f"{self.topic}-{partition}: a share group"
            if self.other:
                self.title += " beside a consumer group"
        self.members = {name: Member(name) for name in [*sharing, *reading]}
        self.beside = Beside(self.members, reading)
        self.values = values_of(mine, partition)
        self.most = self.values.end
        self.log: dict[int, int] = {}  # offset -> number of the event that wrote it
        self.written: dict[int, EventId] = {}  # offset -> that event
        self.log_end = 0
        self.start: int | None = None
        self.records: dict[int, Shared] = {}
        self.lock_ms = self.most_deliveries = 0
        self.began_at: int | None = None
        self.done_at: list[int | None] = [None, None]  # of either group
        self.accepted: Counter[int] = Counter()

    def _other(self, mine: Iterable[Event]) -> str:
        """The consumer group that reads most of the partition, or ""."""
        read = Counter(
            self.groups.get(event.node, "")
            for event in mine
            if event.kind == "RecordsPolled"
        )
        del read[""], read[self.group]
        return max(read, key=lambda group: read[group], default="")

    def cast(self) -> Cast:
        return super().cast() | {"partition": f"{self.topic}-{self.partition}"}

    def is_mine(self, event: Event) -> bool:
        """Of the partition and of one of the two groups, as far as it says so."""
        d = event.detail
        if not self.sharing or d.get("topic", self.topic) != self.topic:
            return False
        if d.get("partition", self.partition) != self.partition:
            return False
        if event.kind in LIVES or event.kind == "ClientClosed":
            return event.node in self.members or event.node.startswith("broker ")
        spoken = {d.get("group"), self.groups.get(event.node)} - {None}
        return spoken <= {self.group, self.other}

    # -- what scenes hold

    def space(self) -> Space:
        first = max(min((self.start or 0) - 4, self.log_end - NEAR), 0)
        near = range(first, min(first + NEAR, self.log_end))
        shared = [(offset, self.records.get(offset)) for offset in near]
        read = [(offset, self.beside.records.get(offset)) for offset in near]
        return picked(self, "start", "log_end", "lock_ms", "most_deliveries") | {
            "log": [self._written(offset) for offset in near],
            "shared": [each.told(offset) for offset, each in shared if each],
            "read": [each.told(offset) for offset, each in read if each],
            "committed": self.beside.committed,
            "owner": self.beside.owner,
            "members": [
                self.members[name].told() for name in [*self.sharing, *self.reading]
            ],
            "done": self._done(),
            "took": [
                None if at is None else at - (self.began_at or 0) for at in self.done_at
            ],
            "archived": self._count(ARCHIVED),
            "twice": sum(times > 1 for times in self.accepted.values()),
        }

    def _written(self, offset: int) -> list[Any]:
        """A record of the log: its value, and a short form of that."""
        value = self.values.by_offset.get(offset)
        letter = self.values.letters[value]
        return [offset, value or "", letter, self.log.get(offset, 0)]

    def _count(self, state: str) -> int:
        return sum(each.state == state for each in self.records.values())

    def _done(self) -> list[int]:
        """How many records each group is done with."""
        known = sum(each.state in FINAL for each in self.records.values())
        return [known, self.beside.done]

    # -- the log

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told | None:
        first = d["base_offset"]
        last = d["last_offset"]
        for offset in range(first, last + 1):
            self.log[offset] = self.number
            self.written[offset] = event.id
        self.log_end = last + 1
        self.done_at = [None, None]
        if self.start is None and not self.beside.owner:
            return QUIETLY  # nobody is there to see it
        if self.began_at is None:
            self.began_at = self.at
        many = capital(counted(last - first + 1, "record", "a"))
        verb = "is" if first == last else "are"
        return Told(
            f"{many} {verb} written. The log ends at offset {last + 1}.",
            self.once("records come"),
        )

    # -- the share group

    def _see_ShareStateRead(self, event: Event, d: Detail) -> Told:
        is_first = self.start is None
        self.start = d["offset"]
        for offset, record in self.records.items():
            if record.state == ACQUIRED:
                self._ends(offset, AVAILABLE, "gone", event)
        for first, last, state, count in d["batches"]:
            for offset in range(first, last + 1):
                record = self.records.setdefault(offset, Shared())
                record.state = STATES[state]
                record.count = count
        while self.records.get(self.start, Shared()).state in FINAL:
            self.start += 1
        if is_first:
            return Told(
                f"{event.node} leads the partition, so it keeps the share partition of"
                f" group {self.group}: it begins at offset {self.start}.",
                "the share group begins",
            )
        return Told(
            f"{event.node} reads what was written down of the share partition, and goes"
            f" on from offset {self.start}. What members had is free again.",
            "the state is read again",
            light=["share"],
        )

    def _see_ShareRecordsAcquired(self, event: Event, d: Detail) -> Told:
        who = self._who(d["member"])
        self.lock_ms = d["lock_ms"]
        self.most_deliveries = d["most_deliveries"]
        if self.began_at is None:
            self.began_at = self.at
        said = []
        most = 0
        because = None
        for first, last, count in d["batches"]:
            most = max(most, count)
            said.append(span(first, last))
            for offset in range(first, last + 1):
                record = self.records.setdefault(offset, Shared())
                because = record.event or self.written.get(offset)
                record.state = ACQUIRED
                record.who = who
                record.count = count
                record.until = self.at + self.lock_ms
                record.lock_ms = self.lock_ms
                record.number = self.number
                record.event = event.id
                self.members[who].begins(offset, self.at, self.number)
        what = listed(said)
        lock = seconds(self.lock_ms)
        sentence = f"{who} gets {what}, locked for {lock}: nobody else gets it."
        told = Told(sentence, because=because)
        if most > 1:
            told.sentence = (
                f"{who} gets {what}, with a new lock. It is delivery {most} of at most"
                f" {self.most_deliveries}."
            )
            told.chapter = self.once("delivered again")
        return told

    def _see_ShareRecordsAcknowledged(self, event: Event, d: Detail) -> Told:
        who = self._who(d["member"])
        sentences = []
        is_archived = False
        light: list[str] = []
        because = None
        for batch in joined(d["batches"], d["said"]):
            becomes = STATES[batch.state]
            offsets = range(batch.first, batch.last + 1)
            how = ENDINGS.get(batch.said, str(batch.said))
            for offset in offsets:
                record = self.records.setdefault(offset, Shared(who=who))
                because = record.event
                self._ends(offset, becomes, how, event)
            if batch.said == "accept":
                self.accepted.update(offsets)
                self.members[who].done += len(offsets)
            sentences.append(self._became(who, batch))
            is_archived |= becomes == ARCHIVED and batch.said != "gap"
            if becomes != ACKNOWLEDGED:
                light += [f"share/{offset}" for offset in offsets]
        told = Told(" ".join(sentences), because=because)
        if is_archived:
            told.trouble = True
            told.chapter = self.once("archived")
            told.light = [*light, lane_of(who), "lamp/archived"]
        elif None in d["said"]:
            told.chapter = f"what {who} had comes back"
            told.light = [*light, lane_of(who)]
        elif light:
            told.chapter = self.once("given back")
        return self._with_all_done(told, 0)

    def _became(self, who: str, batch: Batch) -> str:
        """What became of records, and why."""
        what = span(batch.first, batch.last)
        if batch.said == "accept":
            return f"{who} accepts {what}: done."
        if batch.said == "reject":
            return f"{who} rejects {what}: archived, nobody gets it any more."
        if batch.said == "gap":
            return f"There is no record for {who} at {what}."
        if STATES[batch.state] == ARCHIVED:
            return (
                f"{who} gives {what} back, but this was delivery {batch.times} of at"
                f" most {self.most_deliveries}: archived, nobody gets it any more."
            )
        if batch.said == "release":
            return f"{who} gives {what} back: whoever asks next gets it."
        why = f"The share session of {who} is over"
        if self.members[who].life == "crashed":
            why = f"With its connection the share session of {who} is gone"
        comes = "comes" if batch.first == batch.last else "come"
        return f"{why}: {what} {comes} back at once, without waiting for the lock."

    def _see_ShareLocksRenewed(self, event: Event, d: Detail) -> Told:
        who = self._who(d["member"])
        said = []
        because = None
        light = []
        for first, last in d["batches"]:
            said.append(span(first, last))
            for offset in range(first, last + 1):
                record = self.records.setdefault(offset, Shared(who=who))
                because = record.event
                record.until = self.at + d["lock_ms"]
                record.lock_ms = d["lock_ms"]
                record.number = self.number
                record.event = event.id
                light.append(f"share/{offset}")
        lock = seconds(d["lock_ms"])
        return Told(
            f"{who} needs more time for {listed(said)}: from now on its lock lasts"
            f" {lock} again.",
            self.once("a lock is renewed"),
            because=because,
            light=light,
        )

    def _see_ShareLocksEnded(self, event: Event, d: Detail) -> Told:
        sentences = []
        light = []
        is_archived = False
        because = None
        for first, last, state, count in d["batches"]:
            becomes = STATES[state]
            who = ""
            for offset in range(first, last + 1):
                record = self.records.setdefault(offset, Shared())
                who = record.who
                because = record.event
                self._ends(offset, becomes, "lock", event)
                light += [f"share/{offset}", lane_of(who)]
            lock = seconds(self.lock_ms)
            then = "whoever asks next gets it"
            if becomes == ARCHIVED:
                is_archived = True
                then = (
                    f"this was delivery {count} of at most {self.most_deliveries},"
                    " so it is archived"
                )
            sentences.append(
                f"{who} has said nothing of {span(first, last)} for {lock}. Its lock"
                f" has run out: {then}."
            )
        return self._with_all_done(
            Told(
                " ".join(sentences),
                "a lock runs out",
                is_archived,
                because=because,
                light=light,
            ),
            0,
        )

    def _see_ShareStartOffsetMoved(self, event: Event, d: Detail) -> Told:
        was = d["was"]
        offset = d["offset"]
        self.start = offset
        record = self.records.get(was)
        if record is None or self._were_done_before(record, was, offset) < FEW:
            return QUIETLY
        return Told(
            f"The start offset moves from {was} to {offset} at once. It had waited for"
            f" record {was}; the records behind that one had not.",
            self.once("the start offset catches up"),
            because=record.event,
            light=["share/start", f"share/{was}"],
        )

    def _were_done_before(self, record: Shared, was: int, offset: int) -> int:
        """How many records behind one were done with while that one was not."""
        behind = [self.records.get(each) for each in range(was + 1, offset)]
        return sum(each is not None and each.number < record.number for each in behind)

    def _see_ShareRecordsPolled(self, event: Event, d: Detail) -> None:
        """The broker has told it already."""

    def _see_ShareRecordsSaid(self, event: Event, d: Detail) -> Told | None:
        error = d["error"]
        if error == "NONE":
            return None
        who = event.node
        what = [span(first, last) for first, last, _ in d["batches"]]
        words = {f"“{said}”" for _, _, said in d["batches"]}
        offset = d["batches"][0][0]
        record = self.records.get(offset, Shared())
        why = "it does not count"
        if error == TOO_LATE:
            why = "its lock had run out"
            if record.who != who:
                why += f", and {record.who} has had it since"
        return Told(
            f"{who} says {listed(sorted(words))} of {listed(what)}, and the broker"
            f" answers {error}: {why}.",
            "said too late" if error == TOO_LATE else "it does not count",
            True,
            because=record.event,
            light=[f"share/{offset}", lane_of(who)],
        )

    def _ends(self, offset: int, becomes: str, how: str, event: Event) -> None:
        """A delivery is over."""
        record = self.records[offset]
        if record.who in self.members:
            self.members[record.who].ends([offset], self.at, how)
        record.state = becomes
        record.number = self.number
        record.event = event.id

    def _who(self, member: str) -> str:
        return self.names.get(member, member)

    # -- the consumer group

    @property
    def _now(self) -> Moment:
        return Moment(self.at, self.number, self.log_end)

    def _see_PartitionsAssigned(self, event: Event, d: Detail) -> Told | None:
        if event.node not in self.reading:
            return None
        is_mine = bool(self.parts_of(event))
        return self.beside.assigned(event, self._now, is_mine)

    def _see_PartitionsRevoked(self, event: Event, d: Detail) -> Told | None:
        return self.beside.gave_up(event, self._now) if self.parts_of(event) else None

    _see_PartitionsLost = _see_PartitionsRevoked

    def _see_RecordsPolled(self, event: Event, d: Detail) -> Told | None:
        if event.node not in self.members:
            return None
        return self.beside.polled(event, self._now)

    def _see_OffsetCommitted(self, event: Event, d: Detail) -> Told | None:
        if d["group"] != self.other:
            return None
        return self._with_all_done(self.beside.commits(event, self._now), 1)

    def _see_CommitFailed(self, event: Event, d: Detail) -> Told | None:
        if event.node not in self.reading:
            return None
        return Told(
            f"{event.node} can't commit any more: {d['error']}.",
            "the commit is refused",
            True,
            because=self.beside.out,
            light=[lane_of(event.node)],
        )

    def _see_MemberLeft(self, event: Event, d: Detail) -> Told | None:
        if d["group"] != self.other:
            return None
        return self.beside.left(event, self._now)

    # -- both

    def _see_life(self, event: Event, d: Detail) -> Told | None:
        member = self.members.get(event.node)
        having = ""
        if member is not None:
            if member.in_hand:
                having = f" with {spans(member.in_hand)} in hand"
            member.lives(LIVES[event.kind], self.at)
            if LIVES[event.kind] not in ("", "frozen"):
                self.beside.gone(event.node, self.at)
        return self.tell(event, having=having)

    def _with_all_done(self, told: Told, which: int) -> Told:
        """The moment at which a group has done all records that there are."""
        done = self._done()
        is_all = self.log_end > 0 and done[which] == self.log_end
        if not is_all or self.done_at[which] is not None:
            return told
        self.done_at[which] = self.at
        took = seconds(self.at - (self.began_at or 0))
        name = (self.group, self.other)[which]
        told.sentence += (
            f" Group {name} is through with all {done[which]}, after {took}."
        )
        told.chapter = told.chapter or f"{name} is through"
        if which == 0 and self.other:
            left = self.log_end - done[1]
            if left:
                told.sentence += f" Group {self.other} still has {left} to do."
        if self.done_at[1 - which] is None and not told.light:
            told.light = ["time", ("read", "share")[which]]
        return told

"""One partition that a share group works on (KIP-932), and a consumer group beside it,
if there is one (play.py draws it).

For each record the share group knows its state, the member that has it, until when, and
how often it was delivered. The consumer group knows one number, the committed offset;
records that are handed over and not committed are in hand.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from minikafka.theatre.axis import Scene
from minikafka.theatre.casting import (
    OfTopic,
    busiest_partitions,
    groups_of_members,
)
from minikafka.theatre.pictures.share_partition import says as in_words
from minikafka.theatre.pictures.share_partition.beside import Beside, Moment
from minikafka.theatre.pictures.share_partition.cast import (
    busiest_members,
    members_of,
    most_frequent,
    names_of,
    other_group,
    readers_in,
    values_of,
)
from minikafka.theatre.pictures.share_partition.records import (
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
from minikafka.trace import Event

BEFORE = 4  # records before the start offset that scenes hold
MOST_SHARING, MOST_READING = 4, 3  # members that have a lane
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
    "NodeThawed": Says("{node} carries on where it stopped.", "{node} carries on"),
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
        here = [event for event in acquired if event.detail["topic"] == self.topic]
        if partition is None:
            busiest = busiest_partitions(here or mine, 1)
            partition = busiest[0] if busiest else 0
        self.partition = partition
        self.chosen = [partition]
        self.groups = groups_of_members(trace)
        self.group = group or most_frequent(event.detail["group"] for event in here)
        self.other = beside or other_group(mine, self.groups, self.group)
        self.names = names_of(trace, self.group)
        if self.topic:
            self.title = f"{self.topic}-{partition}: a share group"
        if self.other:
            self.title += " beside a consumer group"

        sharing = Counter(self.names.values())
        sharing.update(self._who(event.detail["member"]) for event in here)
        reading = Counter(members_of(self.groups, self.other))
        reading.update(readers_in(mine, reading))
        self.sharing = busiest_members(sharing, MOST_SHARING)
        self.reading = busiest_members(reading, MOST_READING)
        self.left_out = [
            len(sharing) - len(self.sharing),
            len(reading) - len(self.reading),
        ]
        everybody = sorted({*sharing, *reading})
        self.members = {name: Member(name) for name in everybody}
        self.beside = Beside(self.members, sorted(reading))

        self.values = values_of(mine, partition)
        self.most = self.values.end
        self.log: dict[int, int] = {}  # offset -> number of the event that wrote it
        self.written: dict[int, EventId] = {}  # offset -> that event
        self.log_end = 0
        self.start: int | None = None
        self.begins_at = 0  # the start offset when the group was new
        self.records: dict[int, Shared] = {}
        self.lock_ms = 0
        self.most_deliveries = 0
        self.zero = self._work_begins(trace)
        self.done_at: list[int | None] = [None, None]  # of either group
        self.accepted: Counter[int] = Counter()

    def _work_begins(self, trace: Sequence[Event]) -> int:
        """When there is first a record for somebody: there the picture's time begins,
        and how long a group takes is counted from there.
        """
        is_anybody_there = False
        for event in trace:
            if not self.is_mine(event):
                continue
            if event.kind in ("ShareStateRead", "PartitionsAssigned"):
                is_anybody_there = True
            is_there = event.kind == "RecordsAppended" and is_anybody_there
            if is_there or event.kind == "ShareRecordsAcquired":
                return event.at
        return trace[0].at if trace else 0

    def see(self, event: Event) -> Told | None:
        self.at = event.at - self.zero
        return super().see(event)

    def clock(self, ms: Sequence[int]) -> list[str]:
        """Times before the picture's time begins get a minus."""
        return [words.replace("-", "−") for words in super().clock(ms)]

    def ends(self, last: Scene) -> None:
        """How long either group took, and with how many members."""
        first, second = self.done_at
        if self.live or not self.other or first is None or second is None:
            return
        said = ["Both groups are done."]
        said.append(in_words.took(self.group, first, self._at_work(self.sharing)))
        said.append(in_words.took(self.other, second, self._at_work(self.reading)))
        said.append("In a consumer group a partition has one reader.")
        last["sentence"] = " ".join(said)
        at_work = [*self.sharing, *self.reading]
        work = [work for member in self.members.values() for work in member.work]
        slowest = max(work, key=lambda each: (each.until or self.at) - each.since)
        last["light"] = ["time/sharing", "time/reading", "time/took"]
        last["light"].append(f"record/{slowest.offset}")
        last["light"] += map(lane_of, at_work)

    def _at_work(self, names: Sequence[str]) -> int:
        """How many of these have done anything."""
        return sum(self.members[name].done > 0 for name in names)

    def cast(self) -> Cast:
        return super().cast() | {"partition": f"{self.topic}-{self.partition}"}

    def is_mine(self, event: Event) -> bool:
        """Events of the partition and of one of the two groups, as far as they
        say so.
        """
        d = event.detail
        if not self.names:
            return False
        is_here = (
            d.get("topic", self.topic) == self.topic
            and d.get("partition", self.partition) == self.partition
        )
        if not is_here:
            return False
        if event.kind in LIVES:
            is_a_broker = event.node.startswith("broker ")
            return is_a_broker or event.node in self.members
        spoken = {d.get("group"), self.groups.get(event.node)} - {None}
        return spoken <= {self.group, self.other}

    # -- what scenes hold

    def space(self) -> Space:
        before = (self.start or 0) - BEFORE
        first = max(min(before, self.log_end - NEAR), 0)
        up_to = min(first + NEAR, self.log_end)
        written = []
        shared = []
        read = []
        for offset in range(first, up_to):
            written.append(self._written(offset))
            if offset in self.records:
                shared.append(self.records[offset].told(offset))
            if offset in self.beside.records:
                read.append(self.beside.records[offset].told(offset))

        members = []
        for name in [*self.sharing, *self.reading]:
            members.append(self.members[name].told())
        twice = [offset for offset, times in self.accepted.items() if times > 1]
        return picked(self, "start", "log_end", "lock_ms", "most_deliveries") | {
            "log": written,
            "shared": shared,
            "read": read,
            **picked(self.beside, "committed", "owner"),
            "members": members,
            "done": self._done(),
            "all": self._all(),
            "took": list(self.done_at),
            "archived": self._count(ARCHIVED),
            "twice": len(twice),
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
        known = self._count(ACKNOWLEDGED) + self._count(ARCHIVED)
        return [known, self.beside.done]

    def _all(self) -> list[int]:
        """How many records each group has to do, from where it began."""
        return [self.log_end - self.begins_at, self.log_end - self.beside.begins_at]

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
        return Told(in_words.written(first, last), self.once("records come"))

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
            self.begins_at = self.start
        sentence = in_words.begins(event.node, self.group, self.start, is_first)
        if is_first:
            return Told(sentence, "the share group begins")
        return Told(sentence, "the state is read again", light=["share"])

    def _see_ShareRecordsAcquired(self, event: Event, d: Detail) -> Told:
        who = self._who(d["member"])
        self.lock_ms = d["lock_ms"]
        self.most_deliveries = d["most_deliveries"]
        said = []
        most = 0
        because = None
        for first, last, times in d["batches"]:
            most = max(most, times)
            said.append(span(first, last))
            for offset in range(first, last + 1):
                record = self.records.setdefault(offset, Shared())
                because = record.event or self.written.get(offset)
                record.state = ACQUIRED
                record.who = who
                record.count = times
                self._locks(record, d["lock_ms"], event)
                self.members[who].begins(offset, self.at, self.number)
        sentence = in_words.gets(who, said, self.lock_ms, most, self.most_deliveries)
        told = Told(sentence, because=because)
        if most > 1:
            told.chapter = self.once("delivered again")
        return told

    def _locks(self, record: Shared, lock_ms: int, event: Event) -> None:
        """From now on nobody else gets it for so long."""
        record.until = self.at + lock_ms
        record.lock_ms = lock_ms
        record.number = self.number
        record.event = event.id

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
            member = self.members[who]
            sentences.append(in_words.became(member, batch, self.most_deliveries))
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
                self._locks(record, d["lock_ms"], event)
                light.append(f"share/{offset}")
        return Told(
            in_words.renews(who, said, d["lock_ms"]),
            self.once("a lock is renewed"),
            because=because,
            light=light,
        )

    def _see_ShareLocksEnded(self, event: Event, d: Detail) -> Told:
        sentences = []
        light = []
        is_archived = False
        because = None
        for each in d["batches"]:
            first, last, state, times = each
            batch = Batch(first, last, state, times, None)
            becomes = STATES[batch.state]
            is_archived |= becomes == ARCHIVED
            who = ""
            for offset in range(batch.first, batch.last + 1):
                record = self.records.setdefault(offset, Shared())
                who = record.who
                because = record.event
                self._ends(offset, becomes, "lock", event)
                light += [f"share/{offset}", lane_of(who)]
            sentence = in_words.ran_out(who, batch, self.lock_ms, self.most_deliveries)
            sentences.append(sentence)

        told = Told(
            " ".join(sentences),
            "a lock expires",
            trouble=is_archived,
            because=because,
            light=light,
        )
        return self._with_all_done(told, 0)

    def _see_ShareStartOffsetMoved(self, event: Event, d: Detail) -> Told:
        was = d["was"]
        offset = d["offset"]
        self.start = offset
        record = self.records.get(was)
        if record is None or self._were_done_before(record, was, offset) < FEW:
            return QUIETLY
        return Told(
            in_words.catches_up(was, offset),
            self.once("the start offset catches up"),
            because=record.event,
            light=["share/start", f"share/{was}"],
        )

    def _were_done_before(self, record: Shared, was: int, offset: int) -> int:
        """How many records behind one were done with while that one was not."""
        count = 0
        for each in range(was + 1, offset):
            behind = self.records.get(each)
            if behind is not None and behind.number < record.number:
                count += 1
        return count

    def _see_ShareRecordsPolled(self, event: Event, d: Detail) -> None:
        """The broker has told it already."""

    def _see_ShareRecordsSaid(self, event: Event, d: Detail) -> Told | None:
        error = d["error"]
        if error == "NONE":
            return None
        who = event.node
        batches = d["batches"]
        offset = batches[0][0]
        record = self.records.get(offset, Shared())
        is_late = error == in_words.TOO_LATE
        return Told(
            in_words.refused(who, batches, error, record.who),
            "said too late" if is_late else "refused",
            True,
            because=record.event,
            light=[f"share/{offset}", lane_of(who)],
        )

    def _ends(self, offset: int, becomes: str, how: str, event: Event) -> None:
        """A delivery of a record has ended: note its new state."""
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
        if event.node not in self.beside.reading:
            return None
        is_mine = bool(self.parts_of(event))
        return self.beside.assigned(event, self._now, is_mine)

    def _see_PartitionsRevoked(self, event: Event, d: Detail) -> Told | None:
        return self.beside.gave_up(event, self._now) if self.parts_of(event) else None

    _see_PartitionsLost = _see_PartitionsRevoked

    def _see_RecordsPolled(self, event: Event, d: Detail) -> Told | None:
        if event.node not in self.beside.reading:
            return None
        return self.beside.polled(event, self._now)

    def _see_OffsetCommitted(self, event: Event, d: Detail) -> Told | None:
        if d["group"] != self.other:
            return None
        return self._with_all_done(self.beside.commits(event, self._now), 1)

    def _see_CommitFailed(self, event: Event, d: Detail) -> Told | None:
        if event.node not in self.beside.reading:
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

    def _see_life(self, event: Event, life: str) -> Told | None:
        member = self.members.get(event.node)
        having = ""
        if member is not None:
            if member.in_hand:
                having = f" with {spans(member.in_hand)} in hand"
            member.lives(life, self.at)
            if life not in ("", "frozen"):
                self.beside.gone(event.node, self.at)
        return self.tell(event, having=having)

    def _with_all_done(self, told: Told, which: int) -> Told:
        """The moment at which a group has done all existing records."""
        done = self._done()
        everything = self._all()
        is_all = done[which] > 0 and done[which] == everything[which]
        if not is_all or self.done_at[which] is not None:
            return told
        self.done_at[which] = self.at
        if told.trouble:  # that is what this step is about
            return told
        took = seconds(self.at)
        name = (self.group, self.other)[which]
        told.sentence += f" Group {name} has done all {done[which]}, after {took}."
        told.chapter = told.chapter or f"{name} has done all"
        left = everything[1] - done[1]
        if which == 0 and self.other and left:
            told.sentence += f" Group {self.other} still has {left} to do."
        if self.done_at[1 - which] is None and not told.light:
            told.light = ["time", ("read", "share")[which]]
        return told

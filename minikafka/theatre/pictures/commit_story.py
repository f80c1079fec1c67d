"""What a trace tells about one partition, its readers in one group, and what they do
with each record: the fold of the commit point's picture (commit_point.py draws it).

A record is done when its effect is written to a table outside Kafka (EffectWritten); in
a trace without such events, when it is handed over. Between the two it is *in hand*: in
the memory of a process that may crash. From this follow, at the exact event, the two
anomalies: a record is skipped when nobody holds it any more and a reader begins behind
it; it is a duplicate when its effect is written a second time.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from minikafka.theatre.casting import (
    busiest_group,
    busiest_partitions,
    groups_of_members,
)
from minikafka.theatre.pictures.log_story import LogStory
from minikafka.theatre.play import QUIETLY, Cast, Detail, Says, Space, Told, picked
from minikafka.theatre.text import capital, listed
from minikafka.trace import Event

HOW = {
    "auto": "Auto-commit: ",
    "close": "On closing, ",
    "revoke": "Before it gives the partition up, ",
}
READ = ("RecordsPolled", "OffsetCommitted", "EffectWritten")
SAYS = {
    # no story of this picture
    **{kind: says for kind, says in LogStory.says.items() if kind != "SegmentRolled"},
    "EffectWritten": Says(
        "{node} writes record {record} to {table}{twice}.", first="first effect"
    ),
    "CommitSent": Says(
        "{by}{node} asks the coordinator to note offset {asked} for the group."
    ),
    "CommitFailed": Says(
        "{node} could not commit: {error}.",
        "{error}",
        True,
        mark=("{lane}", "refused", True),
    ),
    "OffsetsExpired": Says(
        "The committed offset of group {group} has expired: it is deleted.",
        "the commit expires",
        True,
        mark=("commits", "expired", True),
    ),
    "GroupDeleted": Says(
        "Group {group} is deleted, with its commits.",
        "the group is deleted",
        mark=("commits", "deleted"),
    ),
    "PartitionsAssigned": Says(
        "{node} is given partition {mine}, in generation {generation} of the group."
    ),
    "PartitionsRevoked": Says("{node} gives partition {mine} up."),
    "PartitionsLost": Says("{node} gives partition {mine} up."),
    "MemberLeft": Says("{who} is out of the group: {why}."),
}


class CommitStory(LogStory):
    name, title = "commit", "The commit point"
    says = SAYS

    def __init__(
        self,
        trace: Sequence[Event],
        *,
        topic: str | None = None,
        partition: int | None = None,
        group: str | None = None,
        table: str | None = None,
        **options: Any,
    ) -> None:
        commits = [event for event in trace if event.kind == "OffsetCommitted"]
        mine = self.choose(
            trace,
            topic,
            commits,
            [event for event in trace if event.kind == "RecordsPolled"],
        )
        if partition is None:
            partition = (
                busiest_partitions([e for e in mine if e.kind in READ] or mine, 1)
                or [0]
            )[0]
        super().__init__(trace, topic=self.topic, partitions=[partition], **options)
        self.group = group or busiest_group(trace, self.topic)
        self.groups = groups_of_members(trace)
        tables = [
            event.detail["table"] for event in trace if event.kind == "EffectWritten"
        ]
        self.table = table or (tables[0] if tables else "")
        if self.topic:
            self.title = (
                f"{self.group or 'A reader'} and partition {partition} of {self.topic}"
            )
        self.committed: int | None = None
        self.commit: tuple[str, int] | None = None  # id of the event that moved it
        # reader -> offset of a commit that has no answer yet
        self.under_way: dict[str, int] = {}
        # offset -> id of the event that last asked to commit it
        self.asked: dict[int, tuple[str, int]] = {}
        self.given: set[int] = set()  # offsets handed over to anyone of the group
        # those of them whose effect isn't there, and that may come yet
        self.undone: set[int] = set()
        # reader -> offsets handed over and not done
        self.in_hand: dict[str, list[int]] = {}
        # offset -> numbers of the events that wrote its effect
        self.effects: dict[int, list[int]] = {}
        # offset -> number of the event after which nobody will read it
        self.skipped: dict[int, int] = {}
        self.furthest: int | None = None  # the group has read up to here
        # while nothing is committed: the log's start, where a reader began
        self.began: int | None = None
        self.crashed: tuple[str, int] | None = None

    def cast(self) -> Cast:
        return super().cast() | {"group": self.group}

    def space(self) -> Space:
        readers = list(self.readers.values())
        log = self._log(self.chosen[0])
        places = [
            reader.next[log.partition]
            for reader in readers
            if log.partition in reader.next
        ]
        repeated = [
            offset for offset, numbers in self.effects.items() if len(numbers) > 1
        ]
        return picked(self, "topic", "group") | {
            "log": log.space([*places, self.committed or 0, *self.skipped, *repeated]),
            "committed": self.committed,
            "readers": [
                picked(reader, "name", "state")
                | {
                    "next": reader.next.get(log.partition),
                    "in_hand": sorted(self.in_hand.get(reader.name, ())),
                    "commits": self.under_way.get(reader.name),
                }
                for reader in readers
            ],
            "table": self.table,
            "effects": {
                str(offset): list(numbers)
                for offset, numbers in sorted(self.effects.items())
            },
            **self._spans(),
            "skipped": {
                str(offset): number for offset, number in sorted(self.skipped.items())
            },
            "down": self.away,
        }

    def _spans(self) -> Detail:
        """What a crash would make of the records between the committed offset and the
        position, as [from, up to].

        comes_again: the group goes over the span once more, whatever happens now.
        """
        begins = self.began if self.committed is None else self.committed
        furthest = self.furthest or 0
        position = self._position()
        behind = [offset for offset in self.undone if offset < (self.committed or 0)]
        lost = [min(behind), self.committed] if behind else None
        comes_again = position is None or position < furthest
        first = position if comes_again and position is not None else begins
        again = (
            [first, furthest]
            if begins is not None and first is not None and first < furthest
            else None
        )
        return {"spans": {"lost": lost, "again": again}, "comes_again": comes_again}

    def _position(self) -> int | None:
        """Where the group reads: the furthest of its readers that live."""
        alive = [
            reader.next
            for reader in self.readers.values()
            if reader.state in ("", "frozen")
        ]
        return max(
            (places[self.chosen[0]] for places in alive if self.chosen[0] in places),
            default=None,
        )

    def is_mine(self, event: Event) -> bool:
        if event.kind == "EffectWritten":  # it may say no topic, group or partition
            return True
        if (
            event.kind.startswith("Node")
            and event.node in self.groups
            and event.node not in self.readers
        ):
            return False  # a member that reads other partitions
        if event.kind in (
            "PartitionsAssigned",
            "PartitionsRevoked",
            "PartitionsLost",
        ) and not self.parts_of(event):
            return False
        return super().is_mine(event)

    def details(self, event: Event) -> dict[str, Any]:
        return super().details(event) | {"mine": self.chosen[0], "group": self.group}

    # -- handed over, done

    def _see_RecordsPolled(self, event: Event, d: Detail) -> Told:
        offsets = [record[0] for record in d["records"]]
        if not offsets:
            self._reader(event.node).next[d["partition"]] = d["position"]
            return QUIETLY
        skipped = self._jump(offsets[0])
        again = [offset for offset in offsets if offset in self.given]
        told = super()._see_RecordsPolled(event, d)
        self.given.update(offsets)
        self.undone.update(offset for offset in offsets if offset not in self.effects)
        self.furthest = max(self.furthest or 0, d["position"])
        if self.table:
            held = [
                offset
                for offset in self.in_hand.get(event.node, ())
                if offset not in self.effects
            ]
            self.in_hand[event.node] = [*held, *offsets]
        else:
            for offset in offsets:
                self._done(offset)
        record = self._log(self.chosen[0]).records.get(offsets[0])
        short = len(offsets) == 1 and record and record[3] and len(record[3]) <= 24
        what = records(offsets) + (f" (“{record[3]}”)" if record and short else "")
        told.sentence = (
            f"{event.node} is handed {what}: its next one is {d['position']}."
        )
        if again:
            told.sentence += f" {capital(records(again))} had been handed over before."
            if not self.table:
                told.trouble = True
                told.light = self._light(again, "twice")
            told.because = self.commit or told.because
        return self._with_skipped(told, skipped, "never read")

    def _see_EffectWritten(self, event: Event, d: Detail) -> Told | None:
        mine = {"table": self.table, "topic": self.topic, "partition": self.chosen[0]}
        offset = self._meant(event, d)
        if offset is None or any(
            d.get(name) not in (None, value) for name, value in mine.items()
        ):
            return None
        times = self._done(offset)
        for held in self.in_hand.values():
            if offset in held:
                held.remove(offset)
        twice = (
            " again: it is there twice"
            if times == 2
            else f" yet again: it is there {times} times"
        )
        told = self.tell(
            event,
            record=offset,
            twice=twice * (times > 1),
            mark=("effects", str(offset), times > 1),
        )
        if times > 1:
            told.chapter, told.trouble = (
                self.once(f"duplicate of {offset}") and "duplicate",
                True,
            )
            told.light = self._light([offset], "twice")
        return told

    def _meant(self, event: Event, d: Detail) -> int | None:
        """The record behind an effect that does not name one: the oldest in its
        writer's hand.
        """
        if d.get("offset") is not None:
            return int(d["offset"])
        held = self.in_hand.get(event.node) or next(
            (held for held in self.in_hand.values() if held), []
        )
        return held[0] if held else None

    def _done(self, offset: int) -> int:
        """How often this record's effect is there now."""
        self.effects.setdefault(offset, []).append(self.number)
        self.skipped.pop(offset, None)
        self.undone.discard(offset)
        return len(self.effects[offset])

    # -- commits

    def _see_CommitSent(self, event: Event, d: Detail) -> Told | None:
        offset = next(
            (
                o
                for topic, p, o in d["offsets"]
                if (topic, p) == (self.topic, self.chosen[0])
            ),
            None,
        )
        if offset in (None, self.committed) or event.node not in self.readers:
            return None  # auto-commit says the same every few seconds
        self.under_way[event.node], self.asked[offset] = offset, event.id
        return self.tell(event, by=HOW.get(d["how"], ""), asked=offset)

    def _do_CommitAcknowledged(self, event: Event, d: Detail) -> None:
        self.under_way.pop(event.node, None)

    _do_CommitFailed = _do_CommitAcknowledged

    def _see_OffsetCommitted(self, event: Event, d: Detail) -> Told | None:
        if d["offset"] == self.committed:
            return None
        before, self.committed, self.commit = self.committed, d["offset"], event.id
        held = sorted(
            o for held in self.in_hand.values() for o in held if o < d["offset"]
        )
        sentence = (
            f"The coordinator notes it: group {self.group} has committed {d['offset']}"
        )
        sentence += (
            f", which is behind {before}."
            if before is not None and d["offset"] < before
            else "."
        )
        if self.table and held:
            sentence += f" {_these_are(held)} in hand and not yet in {self.table}."
        told = Told(
            sentence,
            self.once("first commit"),
            because=self.asked.get(d["offset"]),
            marks=self.mark("commits", str(d["offset"])),
        )
        return self._with_skipped(told, self._settle())

    def _do_OffsetsExpired(self, event: Event, d: Detail) -> None:
        self.committed = self.began = None
        self.commit = event.id

    _do_GroupDeleted = _do_OffsetsExpired

    # -- readers come and go

    def _see_PositionReset(self, event: Event, d: Detail) -> Told:
        skipped = self._jump(d["offset"])
        told = super()._see_PositionReset(event, d)
        log = self._log(self.chosen[0])
        if (
            self.committed is None
            and log.log_start_offset == d["offset"] < log.log_end_offset
        ):
            self.began = d["offset"]
        if told is QUIETLY:
            return told
        told.because = told.because or self.commit
        return self._with_skipped(
            self._with_skipped(told, skipped, "never read"), self._settle()
        )

    def _see_PartitionsAssigned(self, event: Event, d: Detail) -> Told:
        self._reader(event.node)
        return self.tell(event, because=self.crashed)

    def _do_PartitionsRevoked(self, event: Event, d: Detail) -> None:
        self._reader(event.node).next.pop(self.chosen[0], None)

    _do_PartitionsLost = _do_PartitionsRevoked

    def _see_MemberLeft(self, event: Event, d: Detail) -> Told:
        return self.tell(
            event, who=d.get("client") or d["member"], because=self.crashed
        )

    def _see_life(self, event: Event, d: Detail) -> Told | None:
        told, reader = super()._see_life(event, d), self.readers.get(event.node)
        held = (
            self.in_hand.pop(event.node, [])
            if event.kind in ("NodeCrashed", "ClientClosed")
            else []
        )
        if told and reader and event.kind == "NodeCrashed":
            self.crashed = event.id
            self._crash(
                told,
                event.node,
                [offset for offset in held if offset not in self.effects],
            )
        elif told and reader and event.kind == "NodeRestarted":
            reader.next.pop(self.chosen[0], None)
            told.sentence = f"{event.node} is back, and remembers nothing."
        return told

    def _crash(self, told: Told, node: str, held: Sequence[int]) -> None:
        """What a reader forgets, and what stays."""
        under_way = self.under_way.pop(node, None)
        done = [
            offset
            for offset in self.effects
            if self.committed is None or offset >= self.committed
        ]
        if held:
            told.sentence = (
                f"{node} crashes, and forgets {records(held)}, which it had in hand."
            )
        if under_way is not None and under_way != self.committed:
            told.sentence += f" Its commit of {under_way} may be on its way."
        if not held and done and self.table:
            told.sentence += (
                f" {_these_are(sorted(done))} in {self.table} and not committed."
            )

    # -- who will never be read

    def _settle(self) -> list[int]:
        """Records that were handed over, are not done, in nobody's hand, and behind the
        commit and the reader.
        """
        held = {offset for offsets in self.in_hand.values() for offset in offsets}
        behind = [
            offset
            for offset in self.undone
            if offset < min(self.committed or 0, self._position() or 0)
        ]
        return self._skip(sorted(offset for offset in behind if offset not in held))

    def _jump(self, offset: int) -> list[int]:
        """Records that a reader goes past without reading them, where the group was
        before.
        """
        if self.furthest is None or offset <= self.furthest:
            return []
        known = self._log(self.chosen[0]).records
        past = [each for each in range(self.furthest, offset) if each in known]
        self.furthest = offset
        return self._skip(past)

    def _skip(self, offsets: Iterable[int]) -> list[int]:
        new = [
            each
            for each in offsets
            if each not in self.effects and each not in self.skipped
        ]
        self.skipped.update(dict.fromkeys(new, self.number))
        self.undone.difference_update(new)
        return new

    def _with_skipped(
        self, told: Told, skipped: list[int], why: str = "committed, and never done"
    ) -> Told:
        if skipped:
            told.sentence += f" {_these_are(skipped)} lost: {why}."
            told.trouble = True
            told.chapter = "lost"
            told.marks += self.mark(
                "effects",
                f"{skipped[0] if len(skipped) == 1 else len(skipped)} lost",
                True,
            )
            told.light = self._light(skipped, "skipped")
        return told

    def _light(self, offsets: Sequence[int], lamp: str) -> list[str]:
        """The first time, the keys of what the picture is about: these records, what
        became of them, and the lamp.
        """
        p = self.chosen[0]
        keys = [
            key
            for o in offsets
            for key in (f"record/{p}/{o}", f"effect/{o}", f"effect/{o}/2")
        ]
        return self.first(
            f"light on {lamp}",
            *keys,
            f"lamp/{lamp}",
            f"boundary/{p}/committed",
            f"reader/{p}",
            "row",
        )


def records(offsets: Sequence[int]) -> str:
    """record 4 · records 4 and 6 · records 4 to 6"""
    first, last, count = offsets[0], offsets[-1], len(offsets)
    if 2 < count == last - first + 1:
        return f"records {first} to {last}"
    return (
        f"record{'s' * (count > 1)} {listed(offsets)}"
        if count <= 6
        else f"{count} records"
    )


def _these_are(offsets: Sequence[int]) -> str:
    return f"{capital(records(offsets))} {'is' if len(offsets) == 1 else 'are'}"

"""The fold of the rebalance's picture: the coordinator, the members and the records
tell (coordinator_events.py, member_events.py, record_events.py), and move
one group on (group.py).

This file has what concerns all of them: when a step is told, two owners of one
partition, and the states of nodes and links.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.rebalance.cast import Part, cast
from minikafka.theatre.pictures.rebalance.coordinator_events import Coordinator
from minikafka.theatre.pictures.rebalance.effect_events import Effects
from minikafka.theatre.pictures.rebalance.event_words import SAYS, with_number
from minikafka.theatre.pictures.rebalance.group import Group
from minikafka.theatre.pictures.rebalance.lengths import Lengths, in_tenths
from minikafka.theatre.pictures.rebalance.member import Answer
from minikafka.theatre.pictures.rebalance.member_events import Members
from minikafka.theatre.pictures.rebalance.record_events import (
    LONG_MS,
    RECORDS,
    Records,
    Row,
)
from minikafka.theatre.pictures.rebalance.snapshot import snapshot
from minikafka.theatre.pictures.rebalance.spans import (
    SHORTEST_MS,
    Span,
    lasted_ms,
    seconds,
    spans_of,
)
from minikafka.theatre.play import QUIETLY, Cast, Detail, Handler, Space, Story, Told
from minikafka.theatre.text import key_part, listed
from minikafka.trace import Event

# told by clients, of any group or none
OF_CLIENTS = (
    "ProcessingSlowed",
    "RecordsPolled",
    "RecordsProcessed",
    "PositionReset",
)
ALIKE_MS = 100  # partitions that were not read for about as long are named together
STEPS_OF_RECORDS = 36  # about this many steps show only records


class RebalanceStory(Story):
    """A group from its first member on. since_ms: what happens earlier is folded, but
    not told.
    """

    name = "rebalance"
    says = SAYS

    def __init__(
        self,
        trace: Sequence[Event],
        *,
        group: str | None = None,
        topic: str | None = None,
        partitions: Sequence[int] | None = None,
        since_ms: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(trace, **options)
        self.who = cast(trace, group, topic, partitions)
        self.title = "The rebalance"
        if self.who.group:
            self.title = f"Rebalance of group {self.who.group}"
        self.since_ms = since_ms
        every_ms = max(_lasts_ms(trace, since_ms) // STEPS_OF_RECORDS, 1)
        self.group = Group(self.who)
        self.lengths = Lengths(self.who, trace, since_ms)
        self.effects = Effects(self, self.group, self.lengths)
        self.records = Records(self, self.group, self.effects, Row(every_ms), since_ms)
        self.handlers: dict[str, Handler] = self.records.handlers()
        self.handlers |= self.effects.handlers()
        self.handlers |= Members(self, self.group).handlers()
        self.handlers |= Coordinator(self, self.group).handlers()

    def cast(self) -> Cast:
        told = super().cast()
        told |= self.who.to_json()
        told["since_ms"] = self.since_ms
        told["table"] = self.effects.table
        return told | self.lengths.cast_json()

    def space(self) -> Space:
        space = snapshot(self.group, self.number)
        return space | self.lengths.space() | self.effects.space()

    def is_mine(self, event: Event) -> bool:
        if event.kind in OF_CLIENTS and self.group.client(event.node) is None:
            return False
        group = event.detail.get("group", self.who.group)
        return bool(group == self.who.group)

    def handler(self, event: Event) -> Handler | None:
        found = self.handlers.get(event.kind)
        if found is None:
            return super().handler(event)
        return found if self.is_mine(event) else None

    def details(self, event: Event) -> dict[str, Any]:
        d = event.detail
        group = self.group
        told = super().details(event)
        told["who"] = ""
        if self.who.actors:
            told["who"] = group.about(event).actor.name
        told["error"] = with_number(d.get("error", ""))
        if event.kind == "PartitionsLost":
            told["gone"] = group.labels(group.parts(d["partitions"]))
        return told

    # -- one step

    def see(self, event: Event) -> Told | None:
        handler = self.handler(event)
        if handler is None:
            return None
        group = self.group
        is_told = event.at >= self.since_ms
        group.step = self.number if is_told else 0
        group.at = event.at
        self.lengths.see(event)
        if event.kind in RECORDS:
            told = handler(event, event.detail)
            two_owners = []
        else:
            before = group.two_owners
            told = handler(event, event.detail)
            group.note(event.at)
            two_owners = [part for part in group.two_owners if part not in before]
        self.records.note_wait(event.at)
        if not is_told:
            self.records.row.ends()
            return None
        if told is None or told is QUIETLY:
            return told
        group.told_at = event.at
        self.records.row.told_at = event.at
        if event.kind not in RECORDS:
            self.records.row.ends()
        if two_owners:
            self._tell_two_owners(told, two_owners)
        return told

    def _tell_two_owners(self, told: Told, parts: list[Part]) -> None:
        """The step at which partitions get a second owner; the first such step of a
        picture has light.
        """
        group = self.group
        holders = group.holders(parts[0])
        letters = listed([each.actor.letter for each in holders])
        told.sentence += f" Now {letters} own {group.labels(parts)}: only one should."
        told.chapter = "two owners"
        told.trouble = True
        if not self.once("two owners"):
            return
        names = [key_part(each.actor.name) for each in holders]

        light = ["lamp", "time/close", *(f"member/{name}" for name in names)]
        for part in parts:
            label = self.who.label(part)
            lane = f"time/{label}"
            light += [lane, f"{lane}/ground", f"time/cursor/{label}", f"part/{label}"]
            light += [f"part/{label}/{name}" for name in names]

        told.light = light

    def ends(self, last: Scene) -> None:
        """Tell the result: the first of these that applies."""
        twice = self.effects.twice()
        two_ms = self._lasted("two", last)
        unread_ms = self._lasted("nobody", last)
        if twice:
            add_to_last(last, self.effects.in_all(twice))
            last["light"] = self.effects.light(twice)
        elif max(two_ms.values(), default=0) >= SHORTEST_MS:
            self._end_with(last, "two", two_ms)
        elif max(unread_ms.values(), default=0) >= LONG_MS:
            self._end_with(last, "nobody", unread_ms)
        elif not self.live:
            self._end_with_shares(last)

    def _end_with_shares(self, last: Scene) -> None:
        """Tell which member reads what, and why some read nothing, or else who decided
        it; their shapes are highlighted.
        """
        said = []
        idle = []
        light = [f"time/{self.who.label(part)}" for part in self.who.parts]
        for actor in self.who.actors:
            member = self.group.named(actor.name)
            if member is None or member.life:
                continue
            if member.owns:
                said.append(f"{actor.letter} {self.group.labels(member.owns)}")
            else:
                idle.append(actor.letter)
                light.append(f"member/{key_part(actor.name)}")
        shares = "; ".join(said) or "none yet"
        words = f"Final assignment: {shares}."
        leader = self.group.members.get(self.group.leader)
        if idle and said:
            words += f" No partition is left for {listed(idle)}: each has one reader."
            last["light"] = light
        elif leader and leader.inside and self.group.is_given_out:
            words = f"{leader.actor.letter}, the group leader, decided: {shares}."
            words += " The coordinator only passed it on."
            self._end_with_leader(last, leader.actor.name)
        add_to_last(last, words)

    def _end_with_leader(self, last: Scene, leader: str) -> None:
        """Once more, who decided, and what the coordinator passed on."""
        members = last["space"]["members"]
        shares = [f"{self._letter(m['name'])} {' '.join(m['owns'])}" for m in members]
        for told in members:
            told["answered"] = Answer(
                f"gets: {' '.join(told['owns'])}", False, last["number"]
            )
            if told["name"] == leader:
                told["words"] = "decides and sends shares"
                told["asked"] = f"sends: {', '.join(shares)}"
                told |= {"asked_at": last["number"], "answered": None}
        last["space"]["assigns"] = leader
        card = f"member/{key_part(leader)}"
        last["light"] = [card, f"{card}/words/0", f"{card}/words/1"]
        last["light"] += ["coordinator/words", "member", "part"]

    def why_waited(self) -> str:
        """What a newcomer waited for, in the protocol's terms."""
        wait = self.lengths.wait
        assert wait is not None
        if self.who.kind == "consumer":
            giver = self._letter(wait.giver)
            return f"{giver} alone had to give it up" if giver else "it was free"
        words = "all had to join again"
        if wait.rebalances > 1:
            words += f", in {wait.rebalances} rebalances"
        last = self._waited_for()
        return f"{words}, and waited for {last}" if last else words

    def _waited_for(self) -> str:
        """The member that all have waited for, where that was long."""
        for letter, ms in self.records.waited_ms.most_common(1):
            if ms >= LONG_MS:
                return letter
        return ""

    def _letter(self, name: str) -> str:
        letters = {actor.name: actor.letter for actor in self.who.actors}
        return letters.get(name, "")

    def _lasted(self, what: str, last: Scene) -> dict[str, int]:
        """For how long each partition was in this state."""
        lanes = last["space"]["spans"]
        found = {}
        for part in self.who.parts:
            label = self.who.label(part)
            lane = lanes.get(label, [])
            found[label] = lasted_ms(
                what, spans=lane, since_ms=self.since_ms, at=last["at"]
            )
        return found

    def _end_with(self, last: Scene, what: str, lasted: dict[str, int]) -> None:
        """The partitions that were so for longest."""
        longest_ms = max(lasted.values())
        least_ms = max(longest_ms - ALIKE_MS + 1, SHORTEST_MS)
        which = [label for label, ms in lasted.items() if ms >= least_ms]
        named = listed(which)
        if what == "two":
            words = f"In all, {named} had two owners for {seconds(longest_ms)}"
            words += self._who_had_both(last["space"]["spans"][which[0]])
            light = ["lamp", "time/close"]
        else:
            words = f"In all, nobody read {named} for {seconds(longest_ms)}."
            light = ["time/silence"]
            for label, lane in last["space"]["spans"].items():
                light += spans_of("busy", "", label, lane)
            words += self._why_so_long()
        add_to_last(last, words)
        for label in which:
            light.append(f"time/{label}/name")
            if what == "nobody":
                light.append(f"time/{label}/unread")
            lane = last["space"]["spans"][label]
            light += spans_of(what, "", label, lane)
            if what == "nobody" and self._waited_for():
                why = f"for {self._waited_for()}"
                last["space"]["spans"][label] = _because(lane, longest_ms, why)
        last["light"] = light

    def _who_had_both(self, lane: Sequence[Sequence[Any]]) -> str:
        """lane: of a partition that had two owners."""
        before: list[str] = []
        for span in map(Span._make, lane):
            new = [name for name in span.who if name not in before]
            if span.what == "two" and before and new:
                first = self._letter(before[0])
                return f": {self._letter(new[0])} had it before {first} gave it up."
            before = span.who
        return "."

    def _why_so_long(self) -> str:
        """Where a member was silent first."""
        silence = self.lengths.silence
        if not silence or silence.heard_ms is None or silence.out_ms is None:
            waited_for = self._waited_for()
            if not waited_for:
                return ""
            return f" All waited for {waited_for}, which joins only when it polls."
        until_out = in_tenths(silence.out_ms - silence.signs[-1])
        until_heard = in_tenths(silence.heard_ms - silence.out_ms)
        sign = "its last sign of life"
        if silence.crashed_ms is not None:
            before = in_tenths(silence.crashed_ms - silence.signs[-1])
            sign += f", which came {before} before its crash"
        return (
            f" {self._letter(silence.who)} was evicted {until_out} after {sign},"
            f" and {silence.by} heard of that {until_heard} later."
        )

    # -- fold: nodes

    def _see_life(self, event: Event, life: str) -> Told | None:
        if event.node == self.group.node:
            return self._tell_of_coordinator(event, life)
        member = self.group.named(event.node)
        if member is None:
            return None
        member.lives(life)
        if event.kind == "NodeRestarted":
            member.owns = []
        return self.tell(event)

    def _tell_of_coordinator(self, event: Event, life: str) -> Told:
        self.group.down = bool(life)
        told = self.tell(event)
        state = f"is {life}" if life else "is back"
        told.sentence = f"{event.node}, which is the group coordinator, {state}."
        told.trouble = bool(life)
        return told

    def _see_LinkCut(self, event: Event, d: Detail) -> Told | None:
        ends = (d["one"], d["other"])
        group = self.group
        member = group.named(d["one"]) or group.named(d["other"])
        if member is None or group.node not in ends:
            return None
        member.link(cut=event.kind == "LinkCut")
        return self.tell(event, who=member.actor.name)

    _see_LinkHealed = _see_LinkCut


def _because(lane: Sequence[Span], lasts_ms: int, why: str) -> list[Span]:
    """A lane whose longest time without a reader, about as long as this, says why."""
    told = list(lane)
    for number, (span, after) in enumerate(pairwise(lane)):
        ms = after.since_ms - span.since_ms
        if span.what == "nobody" and ms > lasts_ms - ALIKE_MS:
            told[number] = span._replace(words=why)
    return told


def add_to_last(last: Scene, words: str) -> None:
    """Add the result to the last scene's own words; replace these if it shows only
    records.
    """
    if last["kind"] in RECORDS:
        last["sentence"] = words
    else:
        last["sentence"] += f" {words}"


def _lasts_ms(trace: Sequence[Event], since_ms: int) -> int:
    """How long records are written, or members join."""
    kinds = ("MemberJoined", "RecordsAppended")
    times = [event.at for event in trace if event.kind in kinds]
    times = [at for at in times if at >= since_ms]
    return max(times) - min(times) if times else 0

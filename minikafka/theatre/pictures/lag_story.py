"""What the picture of the lag tells: each partition as a group sees it, how long it
takes to catch up, what is lost.

A group catches up with a partition from the moment at which somebody reads it again, to
the commit with which all that had waited, and what came in meanwhile, is done.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minikafka.theatre import text
from minikafka.theatre.casting import (
    OfTopic,
    busiest_group,
    busiest_partitions,
    groups_of_members,
)
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.lag_spells import (
    COUNTING,
    Folding,
    Spell,
    in_short,
    lasting,
)
from minikafka.theatre.play import (
    LIVES,
    QUIETLY,
    Cast,
    Detail,
    Says,
    Space,
    Told,
    picked,
)
from minikafka.theatre.text import capital, counted, listed
from minikafka.trace import Event

MOST_PARTITIONS = 6
SAYS = {
    "PartitionsAssigned": Says(
        "{node} is given {mine}, in generation {generation}.",
        first="generation {generation}",
    ),
    "PartitionsRevoked": Says("{node} gives up {mine}."),
    "PartitionsLost": Says("{node} gives up {mine}."),
    "ProcessingSlowed": Says(
        "{node} needs {needs} for each record from now on.",
        "{node} is slow",
        True,
    ),
    "ClientClosed": Says("{node} closes.{unread}", "{node} closed"),
    "NodeCrashed": Says("{node} crashes.{unread}", "{node} crashed", True),
    "NodeFrozen": Says(
        "{node} is frozen: it does nothing and hears nothing.{unread}",
        "{node} frozen",
        True,
    ),
    "NodeRestarted": Says("{node} is back.", "{node} is back"),
    "NodeThawed": Says("{node} goes on.", "{node} is back"),
}
LIVE_STEPS = 60  # enough for a line, and drawn while somebody waits for it
A_BACKLOG = 10  # records that wait: with fewer there is nothing to catch up with


@dataclass
class Followed:
    """One partition as the group sees it. start, end: of the log. position: of the
    member that reads it now, or None. handed: the highest position that any member had.
    lost: records that were gone before. behind_since, done_at: while it catches up,
    when that began and the offset with which it is over.
    """

    start: int = 0
    end: int = 0
    committed: int | None = None
    position: int | None = None
    owner: str = ""
    handed: int = 0
    lost: int = 0
    behind_since: int | None = None
    done_at: int | None = None

    def lags(self) -> tuple[int, int]:
        """From the committed offset to the end, and from the position; both count from
        the log's start where there is none.
        """
        committed = position = self.start
        if self.committed is not None:
            committed = position = max(self.committed, self.start)
        if self.position is not None:
            position = max(self.position, self.start)
        return max(self.end - committed, 0), max(self.end - position, 0)

    @property
    def is_behind(self) -> bool:
        """Whether it catches up now."""
        return self.behind_since is not None


class LagStory(OfTopic):
    """The story of a group and the partitions of a topic."""

    name = "lag"
    says = SAYS

    def __init__(
        self,
        trace: Sequence[Event],
        *,
        topic: str | None = None,
        group: str | None = None,
        partitions: Sequence[int] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(trace, **options)
        commits = [event for event in trace if event.kind == "OffsetCommitted"]
        if group is not None:
            commits = [event for event in commits if event.detail["group"] == group]
        mine = self.choose(trace, topic, commits)
        if partitions is None:
            partitions = busiest_partitions(mine, MOST_PARTITIONS)
        self.chosen = list(partitions)
        self.group = group or busiest_group(trace, self.topic)
        self.groups = groups_of_members(trace)
        self.title = "Lag"
        if self.topic:
            self.title = f"Lag of {self.group or 'the readers'} in {self.topic}"
        self.followed = {partition: Followed() for partition in self.chosen}
        self.members: dict[str, str] = {}  # reader -> "", crashed, frozen, closed, slow
        self.caught_up: list[list[int]] = []  # from when to when
        if self.live:
            self.most_steps = LIVE_STEPS
        self.spells: list[Spell] = []
        self.former: dict[int, str] = {}  # partition -> who had it last
        self.folding = None if self.live else Folding.of(mine)
        self.is_news = False  # what is told now is more than a count
        self.moment: Scene = {}  # how it was after the event before
        # what each reader needs for a record, if known
        self.processing_ms: dict[str, int] = dict(self.live or {})

    def cast(self) -> Cast:
        return super().cast() | {
            "group": self.group or "the group",
            "partitions": self.chosen,
            "members": list(self.members),
        }

    # -- folding

    def see(self, event: Event) -> Told | None:
        self.is_news = False
        before = self._committed()
        told = super().see(event)
        if told is None or told is QUIETLY or self.folding is None:
            return told
        more_to_say = told.chapter or told.trouble or told.light
        if self.is_news or more_to_say or event.kind not in COUNTING:
            self.folding.news()
            return told
        counts = {}
        if event.kind == "RecordsAppended":
            d = event.detail
            counts["written"] = d["last_offset"] - d["base_offset"] + 1
        counts["committed"] = self._committed() - before
        told.replaces = self.folding.counted(
            self.at, counts, self.moment, is_calm=self._is_calm()
        )
        if self.folding.events > 1:
            told.sentence = self._in_short(self.folding.counts)
        return told

    def _in_short(self, counts: dict[str, int]) -> str:
        """What steps that merely count came to."""
        for spell in self.spells:
            if spell.end is None:
                return self._goes_on(spell)
        behind = [p for p, each in self.followed.items() if each.is_behind]
        if behind:
            return self._still_behind(behind)
        parts = []
        written = counts.get("written", 0)
        if written:
            parts.append(f"{counted(written, 'record')} more")
        if counts["committed"]:
            parts.append(f"{counts['committed']} committed")
        of_all = " of all" if len(self.chosen) > 1 else ""
        lag = f"the lag{of_all} is {self._lag_of(self.chosen)}."
        return f"{', '.join(parts)}: {lag}" if parts else capital(lag)

    def _committed(self) -> int:
        """In all partitions."""
        return sum(each.committed or 0 for each in self.followed.values())

    def _is_calm(self) -> bool:
        """All is over, and the group keeps up again."""
        goes_on = any(each.is_behind for each in self.followed.values())
        goes_on = goes_on or any(spell.end is None for spell in self.spells)
        return bool(self.caught_up) and not goes_on

    def ends(self, last: Scene) -> None:
        """What each spell did, where somebody was slow and all is over."""
        if self.live or not any(spell.is_slow for spell in self.spells):
            return
        if not self._is_calm():
            return
        begin, end = self.caught_up[-1]
        last["sentence"] = in_short(self.spells, lasting(end - begin))

    def _goes_on(self, spell: Spell) -> str:
        """A spell that isn't over."""
        where = _partitions(spell.partitions)
        spell.after = self._lag_of(spell.partitions)
        return spell.goes_on(self.at, where)

    def _still_behind(self, behind: Sequence[int]) -> str:
        """Who catches up, and who has nothing to do meanwhile."""
        late = [p for p in behind if self.followed[p].lags()[0]]
        late = late or list(behind)
        readers = dict.fromkeys(self.followed[p].owner for p in late)
        readers.pop("", None)
        who = listed(list(readers)) or "nobody"
        verb = "catches" if len(readers) < 2 else "catch"
        words = f"{capital(who)} {verb} up with {_partitions(late)}"
        if len(readers) > 2 and late == self.chosen:
            words = f"All {len(readers)} members catch up"
        words += f": a lag of {self._lag_of(late)} is left."
        owners = {each.owner: 0 for each in self.followed.values() if each.owner}
        for each in self.followed.values():
            if each.owner:
                owners[each.owner] += each.lags()[0]
        idle = [name for name, lag in sorted(owners.items()) if not lag]
        if idle and len(owners) > 1:
            has = "has" if len(idle) == 1 else "have"
            words += f" {listed(idle)} {has} nothing to read."
        return words

    def _lag_of(self, partitions: Sequence[int]) -> int:
        return sum(self.followed[each].lags()[0] for each in partitions)

    # -- spells

    def _begin_spell(self, node: str, state: str, partitions: Sequence[int]) -> None:
        if partitions:
            lag = self._lag_of(partitions)
            spell = Spell(node, state, list(partitions), self.at, lag, lag)
            self.spells.append(spell)

    def _end_spell(self, partition: int) -> None:
        """Whoever was slow in this partition, or away, is so no longer."""
        for spell in self.spells:
            if spell.end is None and partition in spell.partitions:
                spell.end = self.at
                spell.after = self._lag_of(spell.partitions)

    def _held_by(self, node: str) -> list[int]:
        return [p for p, each in self.followed.items() if each.owner == node]

    # -- events

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told | None:
        partition = self.followed[d["partition"]]
        partition.end = d["last_offset"] + 1
        count = d["last_offset"] - d["base_offset"] + 1
        many = capital(counted(count, "record", "a"))
        lag, _ = partition.lags()
        sentence = (
            f"{many} more in partition {d['partition']}:"
            f" the log ends at {partition.end}, the lag is {lag}."
        )
        if self.members and not partition.owner:
            sentence += " Nobody reads it."
        return Told(sentence)

    def _do_LogStartOffsetAdvanced(self, event: Event, d: Detail) -> None:
        self.followed[d["partition"]].start = d["log_start_offset"]

    def _see_RecordsPolled(self, event: Event, d: Detail) -> Told:
        partition = self.followed[d["partition"]]
        self.members.setdefault(event.node, "")
        self._reads(event, d["partition"])
        first = d["records"][0][0]
        position = d["position"]
        partition.position = position
        count = position - first  # the event lists the first of them only
        is_again = partition.committed is None and position <= partition.handed
        partition.handed = max(partition.handed, position)
        _, waits = partition.lags()
        if not waits and partition.is_behind and partition.done_at is None:
            partition.done_at = position
        if is_again and count >= A_BACKLOG:
            return self._handed_again(event, count)
        many = counted(count, "record")
        return Told(
            f"{event.node} is handed {many} of partition {d['partition']}: {waits} are"
            " left to hand over."
        )

    def _handed_again(self, event: Event, count: int) -> Told:
        """Records come again, since their group had committed nothing."""
        self.is_news = True
        chapter = self.once("the same records again")
        return Told(
            f"{event.node} is handed the same {count} records again: nothing was"
            " committed.",
            chapter,
            light=["lines", "name", "lag"] if chapter else (),
        )

    def _reads(self, event: Event, number: int) -> None:
        """Somebody reads the partition from now on."""
        partition = self.followed[number]
        if partition.owner == event.node and event.kind != "NodeThawed":
            return
        self._end_spell(number)
        partition.owner = event.node
        if self.members.get(event.node) == "slow":
            self._begin_spell(event.node, "slow", [number])
        _, waits = partition.lags()
        if not partition.is_behind and waits >= A_BACKLOG:
            partition.behind_since = self.at
            partition.done_at = None

    def _see_PositionReset(self, event: Event, d: Detail) -> Told:
        self.members.setdefault(event.node, "")
        self._reads(event, d["partition"])
        partition = self.followed[d["partition"]]
        offset = d["offset"]
        wanted = partition.handed if partition.position is None else partition.position
        partition.position = offset
        lost = offset - wanted
        if d["reason"] != "out_of_range" or lost <= 0:
            return QUIETLY
        partition.lost += lost
        first = self.once("records are lost")
        many = counted(lost, "record")
        return Told(
            f"Offset {wanted} is deleted when {event.node} wants it, and it goes on at"
            f" {offset}: {many} lost, {self._lost()} so far.",
            first,
            trouble=True,
            light=["lines/start", "lines/committed", "name", "lag"] if first else (),
        )

    def _lost(self) -> int:
        """Records that were gone before anybody read them."""
        return sum(each.lost for each in self.followed.values())

    def _see_OffsetCommitted(self, event: Event, d: Detail) -> Told:
        partition = self.followed[d["partition"]]
        before, waits = partition.lags()
        offset = d["offset"]
        partition.committed = offset
        lag, _ = partition.lags()
        has_committed = f"{self.group} has committed {offset}"
        where = f"in partition {d['partition']}"
        told = Told(
            f"{has_committed} {where}: its lag is {lag}.", self.once("first commit")
        )
        was_a_backlog = len(self.followed) == 1 and before >= A_BACKLOG
        is_done = not lag and not waits

        if was_a_backlog and is_done and self.once("the lag falls"):
            told = Told(
                f"{has_committed}: the lag falls from {before} to 0 at once."
                " All of these records had been handed over before.",
                "the lag falls",
                light=["lines", "name", "lag"],
            )
        if partition.done_at is not None and offset >= partition.done_at:
            self._caught_up(partition, told)
        return told

    def _caught_up(self, partition: Followed, told: Told) -> None:
        """What had waited in the partition is done; it is told with the last one."""
        begin = partition.behind_since or 0
        end = self.at
        partition.behind_since = partition.done_at = None
        if self.caught_up and self.caught_up[-1][1] >= begin:  # they began together
            begin = min(begin, self.caught_up.pop()[0])
        self.caught_up.append([begin, end])
        if any(each.is_behind for each in self.followed.values()):
            return
        self.is_news = True
        told.sentence = (
            f"{self.group} has caught up, {lasting(end - begin)} after it began to"
            " read what waited."
        )
        is_first = bool(self.once("caught up"))
        if is_first:
            told.chapter = "caught up"
        told.light = ["lines", "name", "caught", "lag"] if is_first else ()

    def _see_PartitionsAssigned(self, event: Event, d: Detail) -> Told | None:
        self.members.setdefault(event.node, "")
        mine = self.parts_of(event)
        for partition in mine:
            self._reads(event, partition)
        if not mine:
            return None
        told = self.tell(event, mine=_partitions(mine))
        if self.folding is not None:
            told.sentence += self._whose(mine, event.node)
        return told

    def _whose(self, mine: Sequence[int], node: str) -> str:
        """Who had these partitions before."""
        moved: dict[str, list[int]] = {}
        for partition in mine:
            former = self.former.get(partition, node)
            if former != node:
                moved.setdefault(former, []).append(partition)
        words = [f"{former}'s {_partitions(each)}" for former, each in moved.items()]
        return f" It takes over {listed(words)}." if words else ""

    def _see_PartitionsRevoked(self, event: Event, d: Detail) -> Told | None:
        mine = self.parts_of(event)
        for partition in mine:
            self._leave(partition, event.node)
        if mine:
            return self.tell(event, mine=_partitions(mine))
        return None

    _see_PartitionsLost = _see_PartitionsRevoked

    def _see_ProcessingSlowed(self, event: Event, d: Detail) -> Told:
        before = self.processing_ms.get(event.node, 0)
        now = d["processing_ms"]
        self.processing_ms[event.node] = now
        is_faster = now < before
        told = self.tell(event, needs=text.lasting(now))

        if is_faster:
            told.chapter = f"{event.node} is faster"
            told.trouble = False
        if event.node in self.members:
            self.members[event.node] = "" if is_faster else "slow"
            held = self._held_by(event.node)
            for partition in held:
                self._end_spell(partition)
            if not is_faster:
                self._begin_spell(event.node, "slow", held)
        return told

    def _see_life(self, event: Event, d: Detail) -> Told | None:
        """Of a crash and a close the group hears later; nobody reads what the member
        had from now on.
        """
        node = event.node
        state = LIVES[event.kind]
        unread = ""
        is_member = node in self.members
        if state == "closed" and not is_member:
            return None
        held = self._held_by(node)
        if is_member:
            self.members[node] = state
            if held and state:
                unread = f" Nobody reads {_partitions(held)}."
        for partition in held:
            if event.kind == "NodeThawed":
                self._reads(event, partition)
            elif is_member and state in ("crashed", "closed"):
                self._leave(partition, node)
        if unread:
            self._begin_spell(node, state, held)
        return self.tell(event, unread=unread)

    def _leave(self, partition: int, node: str) -> None:
        """A member reads the partition no longer."""
        each = self.followed[partition]
        if each.owner == node:
            self._end_spell(partition)
            self.former[partition] = node
            each.owner = ""
            each.position = None

    def space(self) -> Space:
        followed = self.followed.items()
        began = [each.behind_since for _, each in followed]
        space: Space = {
            "partitions": [self._partition(number, each) for number, each in followed],
            "members": dict(self.members),
            "lost": self._lost(),
            "catching": [since for since in began if since is not None],
            "caught_up": [list(each) for each in self.caught_up],
        }
        if self.live:
            space["processing_ms"] = dict(self.processing_ms)
        self.moment = {"at": self.at, "space": dict(space)}
        if self.folding is not None and self.folding.trail:
            space["trail"] = list(self.folding.trail)
        # they are compared where somebody was slow: that is no better than to be away
        if not self.live and any(spell.is_slow for spell in self.spells):
            space["spells"] = [self._spell(each) for each in self.spells]
        return space

    def _spell(self, spell: Spell) -> Space:
        """As it is now."""
        if spell.end is None:
            spell.after = self._lag_of(spell.partitions)
        return spell.to_json()

    def _partition(self, number: int, each: Followed) -> Space:
        """One partition as it is now."""
        is_frozen = self.members.get(each.owner) == "frozen"
        is_unread = not each.owner or is_frozen
        return {
            "partition": number,
            **picked(each, "start", "end", "committed", "position", "owner"),
            "unread": bool(self.members) and is_unread,
            "lags": list(each.lags()),
        }


def _partitions(numbers: Sequence[int]) -> str:
    """partition 2 · partitions 0 and 1"""
    noun = "partitions" if len(numbers) > 1 else "partition"
    return f"{noun} {listed(numbers)}"

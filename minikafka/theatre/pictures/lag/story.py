"""The story of the lag: each partition as a group sees it, how long it takes to catch
up, and the records that are lost.

A group catches up with a partition from the moment at which a member reads it again
until the commit of all records that had waited or came in meanwhile.
"""

from collections.abc import Sequence
from typing import Any

from minikafka.theatre import text
from minikafka.theatre.casting import (
    OfTopic,
    busiest_group,
    busiest_partitions,
    groups_of_members,
)
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.lag.ends import (
    SoFar,
    added_up,
    all_caught_up,
    counts_in_words,
    in_short,
    named,
    nothing_committed,
    saw,
    still_behind,
)
from minikafka.theatre.pictures.lag.followed import Followed, Partitions
from minikafka.theatre.pictures.lag.spells import (
    COUNTING,
    Folding,
    Spell,
    Spells,
    lasting,
)
from minikafka.theatre.play import QUIETLY, Cast, Detail, Says, Space, Told
from minikafka.theatre.text import counted, listed
from minikafka.trace import Event

MOST_PARTITIONS = 6
SAYS = {
    "PartitionsAssigned": Says(
        "{node} is given {mine}, in generation {generation}.",
        first="generation {generation}",
    ),
    "PartitionsRevoked": Says("{node} gives up {mine}."),
    "PartitionsLost": Says("{node} gives up {mine}."),
    "PollOverdue": Says(
        "{node} leaves the group: {why}. It is still busy.{unread}",
        first="leaves the group",
        trouble=True,
    ),
    "ProcessingSlowed": Says(
        "{node} needs {needs} for each record from now on.", "{node} is slow", True
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
# shapes in the light, where the lag does what one doesn't expect
LIT = ("lines", "name", "lag", "pile")


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
        self.followed = Partitions()
        for partition in self.chosen:
            self.followed[partition] = Followed()
        self.members: dict[str, str] = {}  # reader -> "", crashed, frozen, closed, slow
        self.caught_up: list[list[int]] = []  # from when to when
        if self.live:
            self.most_steps = LIVE_STEPS
        self.spells = Spells()
        self.so_far = SoFar()
        self.former: dict[int, str] = {}  # partition -> who had it last
        self.folding = None if self.live else Folding.of(mine)
        self.is_news = False  # what is told now is more than a count
        self.moment: Scene = {}  # how it was after the event before
        # what each reader needs for a record, if known
        self.processing_ms: dict[str, int] = dict(self.live or {})

    def cast(self) -> Cast:
        cast = super().cast()
        cast["group"] = self.group or "the group"
        cast["partitions"] = self.chosen
        cast["members"] = list(self.members)
        return cast

    # -- folding

    def see(self, event: Event) -> Told | None:
        self.is_news = False
        before = self.followed.committed
        told = super().see(event)
        self.so_far.note(self.followed)
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
        counts["committed"] = self.followed.committed - before
        told.replaces = self.folding.counted(
            self.at, counts, self.moment, is_calm=self._is_calm()
        )
        if self.folding.events > 1:
            told.sentence = self._in_short(self.folding.counts)
        return told

    def _in_short(self, counts: dict[str, int]) -> str:
        """The totals of the steps that only count."""
        spell = self.spells.going_on
        if spell is not None:
            return self._goes_on(spell)
        if self.followed.behind:
            return still_behind(self.followed, self.chosen)
        return counts_in_words(counts, self.followed)

    def _is_calm(self) -> bool:
        """All is over, and the group keeps up again."""
        if self.followed.behind or self.spells.going_on is not None:
            return False
        return bool(self.caught_up)

    def _goes_on(self, spell: Spell) -> str:
        """A spell that isn't over."""
        where = named(spell.partitions)
        spell.after = self.followed.lag_of(spell.partitions)
        return spell.goes_on(self.at, where)

    def ends(self, last: Scene) -> None:
        """All in one sentence, unless the last event is what it was all about."""
        if self.live or "light" in last:
            return
        sentence = self._ending()
        if sentence:
            last["sentence"] = sentence

    def _ending(self) -> str:
        so_far = self.so_far
        followed = self.followed
        if so_far.again is not None and not followed.committed:
            return nothing_committed(so_far.again, so_far, followed.lag)
        if self._is_calm():
            begin, end = self.caught_up[-1]
            lasted_ms = end - begin
            if self.spells:
                return in_short(self.spells, lasted_ms, so_far)
            return all_caught_up(self.group, lasted_ms, so_far)
        if followed.behind or self.spells:
            return ""
        if so_far.is_a_saw:
            return saw(self.group, so_far)
        if self.folding is not None:
            return added_up(followed, self.at, so_far)
        return ""

    # -- spells

    def _begin_spell(self, node: str, state: str, numbers: Sequence[int]) -> None:
        lag = self.followed.lag_of(numbers)
        self.spells.begin(node, state, numbers, at_ms=self.at, lag=lag)

    def _end_spell(self, number: int) -> None:
        self.spells.end(number, self.at, self.followed)

    # -- records

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told | None:
        number = d["partition"]
        partition = self.followed[number]
        partition.end = d["last_offset"] + 1
        count = partition.end - d["base_offset"]
        many = "One more record" if count == 1 else f"{count} more records"
        lag, _ = partition.lags()
        sentence = (
            f"{many} in partition {number}:"
            f" the log ends at {partition.end}, the lag is {lag}."
        )
        if self.members and not partition.owner:
            sentence += " Nobody reads it."
        return Told(sentence)

    def _do_LogStartOffsetAdvanced(self, event: Event, d: Detail) -> None:
        partition = self.followed[d["partition"]]
        partition.start = d["log_start_offset"]

    def _see_RecordsPolled(self, event: Event, d: Detail) -> Told:
        number = d["partition"]
        partition = self.followed[number]
        self.members.setdefault(event.node, "")
        self._reads(event, number)
        self.so_far.handed_ms[event.node] = self.at
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
            f"{event.node} is handed {many} of partition {number}, and {waits} more are"
            " waiting."
        )

    def _handed_again(self, event: Event, count: int) -> Told:
        """Records come again, since their group had committed nothing."""
        self.is_news = True
        self.so_far.handed_again(event.node, count)
        chapter = self.once("the same records again")
        return Told(
            f"{event.node} is handed the same {count} records again: nothing was"
            " committed.",
            chapter=chapter,
            light=[*LIT, "caught"] if chapter else (),
        )

    def _see_PositionReset(self, event: Event, d: Detail) -> Told:
        number = d["partition"]
        self.members.setdefault(event.node, "")
        self._reads(event, number)
        partition = self.followed[number]
        offset = d["offset"]
        wanted = partition.handed if partition.position is None else partition.position
        partition.position = offset
        lost = offset - wanted
        if d["reason"] != "out_of_range" or lost <= 0:
            return QUIETLY
        partition.lost += lost
        return self._tell_lost(event, wanted, offset)

    def _tell_lost(self, event: Event, wanted: int, offset: int) -> Told:
        """Records were deleted before anybody read them."""
        many = counted(offset - wanted, "record")
        return Told(
            f"{event.node} wants offset {wanted}, which is deleted, so it goes on at"
            f" {offset}: {many} lost, {self.followed.lost} so far.",
            chapter=self.once("records are lost"),
            trouble=True,
            light=self.first(
                "light on what is lost",
                "lines/start",
                "lines/committed",
                "name",
                "lag",
                "pile",
            ),
        )

    # -- commits

    def _see_OffsetCommitted(self, event: Event, d: Detail) -> Told:
        number = d["partition"]
        offset = d["offset"]
        partition = self.followed[number]
        before, waits = partition.lags()
        partition.committed = offset
        lag, _ = partition.lags()
        if lag < before:
            self.so_far.commits_ms.append(self.at)

        has_committed = f"{self.group} has committed {offset}"
        told = Told(
            f"{has_committed} in partition {number}: its lag is {lag}.",
            chapter=self.once("first commit"),
        )
        was_a_backlog = len(self.followed) == 1 and before >= A_BACKLOG
        is_done = not lag and not waits
        if was_a_backlog and is_done and self.once("the lag falls"):
            told = Told(
                f"{has_committed}: the lag falls from {before} to 0 at once."
                " All of these records had been handed over before.",
                chapter="the lag falls",
                light=LIT,
            )
        if partition.done_at is not None and offset >= partition.done_at:
            self._caught_up(number, told)
        return told

    def _caught_up(self, number: int, told: Told) -> None:
        """The records that had waited in the partition are done; this is told together
        with the last partition.
        """
        partition = self.followed[number]
        self.so_far.caught_up(number, partition, self.at)
        begin = partition.behind_since or 0
        end = self.at
        partition.behind_since = partition.done_at = None
        if self.caught_up and self.caught_up[-1][1] >= begin:  # they began together
            begin = min(begin, self.caught_up.pop()[0])
        self.caught_up.append([begin, end])
        if self.followed.behind:
            return
        self.is_news = True
        told.sentence = (
            f"{self.group} has caught up, {lasting(end - begin)} after it began to"
            " read the backlog."
        )
        is_first = bool(self.once("caught up"))
        if is_first:
            told.chapter = "caught up"
        told.light = [*LIT, "caught"] if is_first else ()

    # -- who reads

    def _reads(self, event: Event, number: int) -> None:
        """Somebody reads the partition from now on."""
        partition = self.followed[number]
        node = event.node
        if partition.owner == node and event.kind != "NodeThawed":
            return
        self._end_spell(number)
        partition.owner = node
        if self.members.get(node) == "slow":
            self._begin_spell(node, "slow", [number])
        _, waits = partition.lags()
        if not partition.is_behind and waits >= A_BACKLOG:
            partition.begins_to_catch_up(self.at)

    def _leave(self, number: int, node: str) -> None:
        """A member reads the partition no longer."""
        partition = self.followed[number]
        if partition.owner == node:
            self._end_spell(number)
            self.former[number] = node
            partition.owner = ""
            partition.position = None

    def _see_PartitionsAssigned(self, event: Event, d: Detail) -> Told | None:
        self.members.setdefault(event.node, "")
        mine = self.parts_of(event)
        for number in mine:
            self._reads(event, number)
        if not mine:
            return None
        told = self.tell(event, mine=named(mine))
        if self.folding is not None:
            told.sentence += self._whose(mine, event.node)
        return told

    def _whose(self, mine: Sequence[int], node: str) -> str:
        """The members that had these partitions before."""
        moved: dict[str, list[int]] = {}
        for number in mine:
            former = self.former.get(number, node)
            if former != node:
                moved.setdefault(former, []).append(number)
        if not moved:
            return ""
        words = []
        for former, numbers in moved.items():
            words.append(f"{former}'s {named(numbers)}")
        return f" It takes over {listed(words)}."

    def _see_PollOverdue(self, event: Event, d: Detail) -> Told | None:
        node = event.node
        held = self.followed.held_by(node)
        if not held:
            return None
        self.so_far.out_ms[node] = self.at
        for number in held:
            self._leave(number, node)
        return self.tell(event, unread=f" Nobody reads {named(held)}.")

    def _see_PartitionsRevoked(self, event: Event, d: Detail) -> Told | None:
        mine = self.parts_of(event)
        for number in mine:
            self._leave(number, event.node)
        if not mine:
            return None
        self.so_far.given_up[event.node] += 1
        return self.tell(event, mine=named(mine))

    def _see_PartitionsLost(self, event: Event, d: Detail) -> Told | None:
        told = self._see_PartitionsRevoked(event, d)
        busy = self.so_far.polls_again(event.node, self.at)
        if told is not None and busy is not None:
            told.sentence = (
                f"{event.node} polls again after {busy.words}, but may not commit: it has"
                f" lost {named(self.parts_of(event))}."
            )
        return told

    # -- how members are

    def _see_ProcessingSlowed(self, event: Event, d: Detail) -> Told:
        node = event.node
        before = self.processing_ms.get(node, 0)
        now = d["processing_ms"]
        self.processing_ms[node] = now
        is_faster = now < before
        told = self.tell(event, needs=text.lasting(now))
        if is_faster:
            told.chapter = f"{node} is faster"
            told.trouble = False
        if node in self.members:
            self.members[node] = "" if is_faster else "slow"
            held = self.followed.held_by(node)
            for number in held:
                self._end_spell(number)
            if not is_faster:
                self._begin_spell(node, "slow", held)
        return told

    def _see_life(self, event: Event, life: str) -> Told | None:
        """The group learns of a crash or a close later; from now on nobody reads the
        member's partitions.
        """
        node = event.node
        unread = ""
        is_member = node in self.members
        if life == "closed" and not is_member:
            return None
        held = self.followed.held_by(node)
        if is_member:
            self.members[node] = life
            if held and life:
                unread = f" Nobody reads {named(held)}."
        for number in held:
            if event.kind == "NodeThawed":
                self._reads(event, number)
            elif is_member and life in ("crashed", "closed"):
                self._leave(number, node)
        if unread:
            self._begin_spell(node, life, held)
        return self.tell(event, unread=unread)

    # -- a scene

    def space(self) -> Space:
        partitions = []
        catching = []
        for number, each in self.followed.items():
            is_unread = self._is_unread(each)
            partitions.append(each.to_json(number, is_unread))
            if each.behind_since is not None:
                catching.append(each.behind_since)

        space: Space = {
            "partitions": partitions,
            "members": dict(self.members),
            "lost": self.followed.lost,
            "catching": catching,
            "caught_up": [list(each) for each in self.caught_up],
        }
        if self.live:
            space["processing_ms"] = dict(self.processing_ms)
        if self.so_far.busy:
            space["busy"] = [list(busy) for busy in self.so_far.busy]
        again = self.so_far.again
        if again is not None and not self.followed.committed:
            space["again"] = [again.records, again.times]
        self.moment = {"at": self.at, "space": dict(space)}
        if self.folding is not None and self.folding.trail:
            space["trail"] = list(self.folding.trail)
        # they are compared where somebody was slow: that is no better than to be away
        if not self.live and self.spells.is_any_slow:
            space["spells"] = self.spells.to_json(self.followed)
        return space

    def _is_unread(self, partition: Followed) -> bool:
        """Nobody reads it, or a frozen member would have to."""
        if not self.members:
            return False
        owner = partition.owner
        return not owner or self.members.get(owner) == "frozen"

"""What the picture of the lag tells: each partition as a group sees it, how long it
takes to catch up, what is lost.

A group catches up with a partition from the moment at which somebody reads it again, to
the commit with which all that had waited, and what came in meanwhile, is done.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minikafka.theatre.casting import (
    OfTopic,
    busiest_group,
    busiest_partitions,
    groups_of_members,
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
        "{node} needs {processing_ms} ms for each record from now on.",
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
        """Behind the committed offset, behind the position; both count from the log's
        start where there is none.
        """
        committed = (
            self.start if self.committed is None else max(self.committed, self.start)
        )
        position = (
            committed if self.position is None else max(self.position, self.start)
        )
        return max(self.end - committed, 0), max(self.end - position, 0)


class LagStory(OfTopic):
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
        commits = [
            e
            for e in trace
            if e.kind == "OffsetCommitted" and group in (None, e.detail["group"])
        ]
        mine = self.choose(trace, topic, commits)
        self.chosen = (
            list(partitions)
            if partitions is not None
            else busiest_partitions(mine, MOST_PARTITIONS)
        )
        self.group = group or busiest_group(trace, self.topic)
        self.groups = groups_of_members(trace)
        self.title = (
            f"Lag of {self.group or 'the readers'} in {self.topic}"
            if self.topic
            else "Lag"
        )
        self.followed = {partition: Followed() for partition in self.chosen}
        self.members: dict[str, str] = {}  # reader -> "", crashed, frozen, closed, slow
        self.caught_up: list[list[int]] = []  # from when to when
        self.most_steps = LIVE_STEPS if self.live else self.most_steps
        # what each reader needs for a record, if known
        self.processing_ms: dict[str, int] = dict(self.live or {})

    def cast(self) -> Cast:
        who = {
            "group": self.group or "the group",
            "partitions": self.chosen,
            "members": list(self.members),
        }
        return super().cast() | who

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told | None:
        partition = self.followed[d["partition"]]
        partition.end = d["last_offset"] + 1
        count = d["last_offset"] - d["base_offset"] + 1
        waits = "" if partition.owner else " Nobody reads it." if self.members else ""
        return Told(
            f"{capital(counted(count, 'record', 'a'))} more in partition"
            f" {d['partition']}: the log ends at {partition.end}, the lag is"
            f" {partition.lags()[0]}.{waits}"
        )

    def _do_LogStartOffsetAdvanced(self, event: Event, d: Detail) -> None:
        self.followed[d["partition"]].start = d["log_start_offset"]

    def _see_RecordsPolled(self, event: Event, d: Detail) -> Told:
        partition = self.followed[d["partition"]]
        self.members.setdefault(event.node, "")
        self._reads(event, d["partition"])
        first, partition.position = d["records"][0][0], d["position"]
        count = partition.position - first  # the event lists the first of them only
        again = partition.committed is None and partition.position <= partition.handed
        partition.handed = max(partition.handed, partition.position)
        waits = partition.lags()[1]
        if (
            not waits
            and partition.behind_since is not None
            and partition.done_at is None
        ):
            partition.done_at = partition.position
        if again and count >= A_BACKLOG:
            chapter = self.once("the same records again")
            return Told(
                f"{event.node} is handed the same {count} records again: nothing was"
                " committed.",
                chapter,
                light=["lines", "name", "lag"] if chapter else (),
            )
        many = counted(count, "record")
        return Told(
            f"{event.node} is handed {many} of partition {d['partition']}: {waits} are"
            " left to hand over."
        )

    def _reads(self, event: Event, number: int) -> None:
        """Somebody reads the partition from now on."""
        partition = self.followed[number]
        if partition.owner != event.node or event.kind == "NodeThawed":
            partition.owner = event.node
            if partition.behind_since is None and partition.lags()[1] >= A_BACKLOG:
                partition.behind_since, partition.done_at = self.at, None

    def _see_PositionReset(self, event: Event, d: Detail) -> Told:
        self.members.setdefault(event.node, "")
        self._reads(event, d["partition"])
        partition, offset = self.followed[d["partition"]], d["offset"]
        wanted = partition.handed if partition.position is None else partition.position
        partition.position = offset
        if d["reason"] != "out_of_range" or offset <= wanted:
            return QUIETLY
        partition.lost += offset - wanted
        first = self.once("records are lost")
        return Told(
            f"Offset {wanted} is deleted when {event.node} wants it, and it goes on at"
            f" {offset}: {counted(offset - wanted, 'record')} lost, {self._lost()} so"
            " far.",
            first,
            True,
            light=["lines/start", "lines/committed", "name", "lag"] if first else (),
        )

    def _lost(self) -> int:
        return sum(each.lost for each in self.followed.values())

    def _see_OffsetCommitted(self, event: Event, d: Detail) -> Told:
        partition = self.followed[d["partition"]]
        before, waits = partition.lags()
        partition.committed = d["offset"]
        lag = partition.lags()[0]
        words = (
            f"{self.group} has committed {d['offset']} in partition {d['partition']}:"
            f" its lag is {lag}."
        )
        told = Told(words, self.once("first commit"))
        at_once = (
            len(self.followed) == 1 and before >= A_BACKLOG and not lag and not waits
        )
        if at_once and self.once("the lag falls"):
            words = (
                f"{self.group} has committed {d['offset']}: the lag falls from {before}"
                " to 0 at once. "
            )
            words += "All of these records had been handed over before."
            told = Told(words, "the lag falls", light=["lines", "name", "lag"])
        if partition.done_at is not None and d["offset"] >= partition.done_at:
            self._caught_up(partition, told)
        return told

    def _caught_up(self, partition: Followed, told: Told) -> None:
        """What had waited in the partition is done; it is told with the last one."""
        begin, end = partition.behind_since or 0, self.at
        partition.behind_since = partition.done_at = None
        behind = [
            each for each in self.followed.values() if each.behind_since is not None
        ]
        if self.caught_up and self.caught_up[-1][1] >= begin:  # they began together
            begin = min(begin, self.caught_up.pop()[0])
        self.caught_up.append([begin, end])
        if not behind:
            told.sentence = (
                f"{self.group} has caught up, {lasting(end - begin)} after it began to"
                " read what waited."
            )
            told.chapter = self.once("caught up") or told.chapter
            told.light = (
                ["lines", "name", "caught", "lag"]
                if told.chapter == "caught up"
                else ()
            )

    def _see_PartitionsAssigned(self, event: Event, d: Detail) -> Told | None:
        self.members.setdefault(event.node, "")
        mine = self.parts_of(event)
        for partition in mine:
            self._reads(event, partition)
        return self.tell(event, mine=_partitions(mine)) if mine else None

    def _see_PartitionsRevoked(self, event: Event, d: Detail) -> Told | None:
        mine = self.parts_of(event)
        for partition in mine:
            self._leave(partition, event.node)
        return self.tell(event, mine=_partitions(mine)) if mine else None

    _see_PartitionsLost = _see_PartitionsRevoked

    def _see_ProcessingSlowed(self, event: Event, d: Detail) -> Told:
        before, now = self.processing_ms.get(event.node, 0), d["processing_ms"]
        self.processing_ms[event.node] = now
        told, faster = self.tell(event), now < before
        if faster:
            told.chapter, told.trouble = f"{event.node} is faster", False
        if event.node in self.members:
            self.members[event.node] = "" if faster else "slow"
        return told

    def _see_life(self, event: Event, d: Detail) -> Told | None:
        """Of a crash and a close the group hears later; nobody reads what the member
        had from now on.
        """
        state, unread = LIVES[event.kind], ""
        held = [p for p, each in self.followed.items() if each.owner == event.node]
        if event.node in self.members:
            self.members[event.node] = state
            unread = f" Nobody reads {_partitions(held)}." if held and state else ""
        elif state == "closed":
            return None
        for partition in held:
            if event.kind == "NodeThawed":
                self._reads(event, partition)
            elif state in ("crashed", "closed") and event.node in self.members:
                self._leave(partition, event.node)
        return self.tell(event, unread=unread)

    def _leave(self, partition: int, node: str) -> None:
        each = self.followed[partition]
        if each.owner == node:
            each.owner, each.position = "", None

    def space(self) -> Space:
        return {
            "partitions": [
                {
                    "partition": number,
                    **picked(each, "start", "end", "committed", "position", "owner"),
                    "unread": (
                        bool(self.members)
                        and (not each.owner or self.members.get(each.owner) == "frozen")
                    ),
                    "lags": list(each.lags()),
                }
                for number, each in self.followed.items()
            ],
            "members": dict(self.members),
            "lost": self._lost(),
            "catching": [
                each.behind_since
                for each in self.followed.values()
                if each.behind_since is not None
            ],
            "caught_up": [list(each) for each in self.caught_up],
        } | ({"processing_ms": dict(self.processing_ms)} if self.live else {})


def lasting(ms: int) -> str:
    """20 s · 90 minutes · 4.5 hours"""
    if ms < 120_000:
        return f"{ms / 1000:.{0 if ms >= 9950 else 1}f} s"
    return (
        f"{ms / 60_000:.0f} minutes"
        if ms < 10_800_000
        else f"{ms / 3_600_000:.1f} hours"
    )


def _partitions(numbers: Sequence[int]) -> str:
    """partition 2 · partitions 0 and 1"""
    return f"partition{'s' * (len(numbers) > 1)} {listed(numbers)}"

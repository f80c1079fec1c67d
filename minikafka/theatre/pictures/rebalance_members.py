"""What members and clients tell of a rebalance, and what becomes of records: half of
the fold (rebalance_story.py).

Heartbeats, polls and commits are far too many to stop at: they change the state, and
every now and then a step shows how many records wait.
"""

from collections.abc import Sequence
from math import inf
from typing import Any

from minikafka.theatre.pictures.rebalance_group import Group, Part, ShownMember, cast
from minikafka.theatre.play import (
    LIVES,
    QUIETLY,
    Cast,
    Detail,
    Says,
    Space,
    Story,
    Told,
)
from minikafka.theatre.text import key_part, listed
from minikafka.trace import Event

ERRORS = {
    "ILLEGAL_GENERATION": 22,
    "INCONSISTENT_GROUP_PROTOCOL": 23,
    "UNKNOWN_MEMBER_ID": 25,
    "REBALANCE_IN_PROGRESS": 27,
    "MEMBER_ID_REQUIRED": 79,
    "GROUP_MAX_SIZE_REACHED": 81,
    "FENCED_INSTANCE_ID": 82,
    "FENCED_MEMBER_EPOCH": 110,
    "UNRELEASED_INSTANCE_ID": 111,
    "STALE_MEMBER_EPOCH": 113,
}
# told by clients, of any group or none
OF_MEMBERS = ("ProcessingSlowed", "RecordsPolled", "PositionReset")
APIS = {
    "JoinGroup": 11,
    "Heartbeat": 12,
    "LeaveGroup": 13,
    "SyncGroup": 14,
    "ConsumerGroupHeartbeat": 68,
}
RECORDS = (
    "RecordsAppended",
    "RecordsPolled",
    "RecordsFetched",
    "PositionReset",
    "RequestSent",
    "ResponseReceived",
)
SAYS = {
    "PartitionsLost": Says(
        "{who} has lost {gone}: it can commit nothing for that any more.", trouble=True
    ),
    "PollOverdue": Says("{who} has not polled in time: {why}.", "poll overdue", True),
    "CommitFailed": Says(
        "{node}'s commit fails with {error}: others may read these records again.",
        "a commit fails",
        True,
    ),
    "ProcessingSlowed": Says(
        "{node} needs {processing_ms} ms for each record from now on.", "{node} is slow"
    ),
    "ClientClosed": Says("{node} closes.", "{node} closes"),
    "NodeCrashed": Says(
        "{node} crashes without a goodbye, and sends no Heartbeat any more.",
        "{node} crashes",
        True,
    ),
    "NodeFrozen": Says(
        "{node} is frozen: it doesn't read and sends no Heartbeat, and the coordinator"
        " doesn't know yet.",
        "{node} freezes",
    ),
    "NodeThawed": Says("{node} goes on as if no time had passed.", "{node} goes on"),
    "NodeRestarted": Says(
        "{node} starts again, remembering nothing.", "{node} is back"
    ),
    "LinkCut": Says(
        "The network between {who} and the coordinator is cut: nothing passes, and"
        " neither knows yet.",
        "{who} is cut off",
    ),
    "LinkHealed": Says(
        "The network between {who} and the coordinator heals: what was held back"
        " arrives.",
        "{who} is reached again",
    ),
}
MOST_NAMED = 8  # members in one sentence
# a member hears of a rebalance sooner, with its heartbeat: who takes longer is waited
# for
LONG_MS = 3000
STEPS_OF_RECORDS = 36  # about so many steps show nothing but records
KAFKAS_ASSIGNORS = (
    "range",
    "roundrobin",
    "sticky",
    "cooperative-sticky",
    "uniform",
    "",
)


def number_of(error: str) -> str:
    """The protocol's number of an error, to stand after its name; nothing for one that
    isn't known here.
    """
    return f" ({ERRORS[error]})" if error in ERRORS else ""


class MemberStory(Story):
    """since_ms: what happens earlier is folded, but not told. every_ms: how often a
    step shows the records alone.
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
        self.title = (
            f"Rebalance of group {self.who.group}"
            if self.who.group
            else "The rebalance"
        )
        told = ("MemberJoined", "RecordsAppended")
        times = [
            event.at for event in trace if event.kind in told and event.at >= since_ms
        ] or [0]
        self.since_ms, self.every_ms = (
            since_ms,
            max((max(times) - min(times)) // STEPS_OF_RECORDS, 1),
        )
        self.group = Group(self.who)
        self.step = 0
        self.told_at = -inf
        # the one member all wait for, and since when
        self.alone: tuple[ShownMember | None, int] = (None, 0)

    def cast(self) -> Cast:
        return super().cast() | self.who.to_json() | {"since_ms": self.since_ms}

    def space(self) -> Space:
        return self.group.space(self.number)

    def is_mine(self, event: Event) -> bool:
        if event.kind in OF_MEMBERS and self._client(event) is None:
            return False
        return bool(event.detail.get("group", self.who.group) == self.who.group)

    def details(self, event: Event) -> dict[str, Any]:
        d = event.detail
        error, gone = (
            d.get("error", ""),
            (
                self.group.parts(d["partitions"])
                if event.kind == "PartitionsLost"
                else ()
            ),
        )
        who = self._member(event, d).actor.name if self.who.actors else ""
        names = {
            "who": who,
            "gone": self.group.labels(gone),
            "error": error + number_of(error),
        }
        return super().details(event) | names

    def see(self, event: Event) -> Told | None:
        handler = self.handler(event)
        if handler is None:
            return None
        is_told = event.at >= self.since_ms
        self.step = self.number if is_told else 0
        # nobody's partitions change, and nearly all events are of this kind
        of_records = event.kind in RECORDS
        before = [] if of_records else self.group.two_owners
        told = handler(event, event.detail)
        if not of_records:
            self.group.note(event.at)
        self._note_wait(event.at)
        if not is_told or told is None or told is QUIETLY:
            return told if is_told else None
        self.told_at = event.at
        if not of_records:
            self._tell_two_owners(
                told, [part for part in self.group.two_owners if part not in before]
            )
        return told

    def _tell_two_owners(self, told: Told, parts: list[Part]) -> None:
        """The step at which partitions get a second owner; the first such step of a
        picture has light.
        """
        if not parts:
            return
        holders = self.group.holders(parts[0])
        letters = listed([each.actor.letter for each in holders])
        told.sentence += (
            f" Now {letters} own {self.group.labels(parts)}: only one should."
        )
        told.chapter, told.trouble = "two owners", True
        if self.once("two owners"):
            names = [key_part(each.actor.name) for each in holders]
            told.light = ["lamp", *(f"member/{name}" for name in names)]
            for label in map(self.who.label, parts):
                told.light += [
                    f"time/{label}",
                    f"time/{label}/ground",
                    f"time/cursor/{label}",
                ]
                told.light += [
                    f"part/{label}",
                    *(f"part/{label}/{name}" for name in names),
                ]

    def _note_wait(self, at: int) -> None:
        group = self.group
        waits = group.all_join and len(group.inside) > 1
        last = group.missing[0] if waits and len(group.missing) == 1 else None
        if last is not self.alone[0]:
            self.alone = (last, at)

    def _tell_wait(self, told: Told, at: int, unread: list[Part]) -> Told:
        """All have long waited for one member: it has light, once, and so have the
        lanes that wait with them.
        """
        last, since = self.alone
        if (
            last is not None
            and at - since >= LONG_MS
            and not self.said & {"two owners", "wait"}
        ):
            self.said.add("wait")
            name, parts = last.actor.name, [self.who.label(part) for part in last.owns]
            told.sentence += f" All wait for {name}: it joins with its next poll."
            told.light = [
                f"member/{key_part(name)}",
                "coordinator",
                *(f"part/{each}" for each in parts),
            ]
            told.light += [
                f"time/{way}{self.who.label(part)}"
                for part in unread
                for way in ("", "cursor/")
            ]
        return told

    def _member(self, event: Event, d: Detail) -> ShownMember:
        """Whom an event is about: the member it names, else the client that tells
        it.
        """
        found = (
            self.group.member(d["member"])
            if d.get("member")
            else self.group.named(event.node)
        )
        return found or ShownMember(next(iter(self.who.actors)))

    def _client(self, event: Event) -> ShownMember | None:
        actor = {each.name.split(" (")[0]: each for each in self.who.actors}.get(
            event.node
        )
        return (self.group.named(event.node) or self.group.of(actor)) if actor else None

    def _assignor(self) -> str:
        name = self.group.assignor
        return name if name in KAFKAS_ASSIGNORS else f"your assignor {name}"

    def _shares(self, assignment: dict[str, Any]) -> str:
        shares = []
        for member_id, parts in assignment.items():
            member = self.group.member(member_id)
            if member:
                mine = self.group.labels(
                    part for part in self.group.parts(parts) if part in self.who.parts
                )
                shares.append(f"{member.actor.letter} {mine or 'nothing'}")
        more = [f"{len(shares) - MOST_NAMED} members more"] * (len(shares) > MOST_NAMED)
        return "; ".join(sorted(shares)[:MOST_NAMED] + more)

    # -- members

    def _see_RequestSent(self, event: Event, d: Detail) -> Told | None:
        member = self._client(event) if d["api"] in APIS else None
        if member is None or d["api"] == "Heartbeat":
            return None
        joins = d["api"] == "ConsumerGroupHeartbeat"
        if joins and member.inside and not member.gives:
            return None
        member.asked, member.asked_at = d["api"], self.step
        member.told, member.revoked = member.told and d["api"] != "JoinGroup", []
        name = member.actor.name
        if d["api"] == "LeaveGroup":
            return Told(f"{name} says goodbye: LeaveGroup (13).")
        if d["api"] != "JoinGroup" or not (
            member.inside or self.once(("asks", name, event.at // 1000))
        ):
            return None
        keeps = (
            f", and keeps reading {self.group.labels(member.owns)}"
            if member.owns
            else ""
        )
        again = (
            f"joins again{f', for {member.why}' if member.why else ''}: JoinGroup"
            f" (11){keeps}"
        )
        anew = "asks the coordinator to let it in: JoinGroup (11)"
        return Told(f"{name} {again if member.inside else anew}.")

    def _see_ResponseReceived(self, event: Event, d: Detail) -> Told | None:
        member = self._client(event)
        if member and member.asked == d["api"]:
            member.asked = ""
        return None

    def _see_MemberStateChanged(self, event: Event, d: Detail) -> Told | None:
        member = self.group.member(d["member"]) or self._client(event)
        if member is None:
            return None
        member.why = d["why"]
        if d["state"] == "fenced":
            return Told(f"{member.actor.name} is fenced: {d['why']}.", "fenced", True)
        return None

    def _see_AssignorRan(self, event: Event, d: Detail) -> Told:
        self.group.assignor = d["assignor"]
        problem, *others = d.get("problems") or [""]
        for member_id, actor in self.who.members.items():
            problem = problem.replace(member_id, actor.letter)
        flaws = (
            f" But {problem}{f', and {len(others)} more flaws' if others else ''}."
            if problem
            else ""
        )
        return Told(
            f"{event.node}, the group leader, runs {self._assignor()}:"
            f" {self._shares(d['assignment'])}.{flaws}",
            None,
            bool(flaws),
        )

    def _see_PartitionsAssigned(self, event: Event, d: Detail) -> Told:
        member = self._member(event, d)
        member.owns = self.group.parts(d["owned"])
        member.waits = [part for part in member.waits if part not in member.owns]
        name, new = (
            member.actor.name,
            self.group.labels(self.group.parts(d["partitions"])),
        )
        done, member.revoked = self.group.labels(member.revoked), []
        if not new and done:
            return Told(
                f"{name} is done with {done}: on_partitions_revoked has returned."
            )
        if self.who.kind == "classic":
            member.answered = (
                f"SyncGroup: {self.group.labels(member.owns) or 'nothing yet'}",
                False,
                self.step,
            )
        return Told(
            f"{name} gets {new} and begins to read."
            if new
            else f"{name} gets nothing new."
        )

    def _see_PartitionsRevoked(self, event: Event, d: Detail) -> Told | None:
        member, moves = self._member(event, d), self.group.parts(d["partitions"])
        shared = bool(member.gives) and self.group.cooperative
        alone = self.group.state == "Stable" and not (member.told or member.gives)
        member.owns, member.revoked = self.group.parts(d["owned"]), moves
        member.gives = [part for part in member.gives if part in member.owns]
        if not moves:
            return None
        mine = self.group.labels(member.owns)
        if shared and self.who.kind == "classic":  # the answer to SyncGroup told it so
            member.answered = (f"SyncGroup: {mine or 'nothing yet'}", False, self.step)
        gives, it = (
            self.group.labels(moves) + ", unasked" * alone,
            ("it" if len(moves) == 1 else "them"),
        )
        others = sorted(
            {each.actor.letter for part in moves for each in self.group.holders(part)}
        )
        who, keeps = (
            f"{listed(others)} alone" if others else "nobody",
            (f" It keeps {mine}." if member.owns else ""),
        )
        return Told(
            f"{member.actor.name} gives up {gives}: {who} reads {it} now.{keeps}"
        )

    def _do_PartitionsLost(self, event: Event, d: Detail) -> None:
        member = self._member(event, d)
        member.owns, member.gives, member.revoked = self.group.parts(d["owned"]), [], []

    def _do_PollOverdue(self, event: Event, d: Detail) -> None:
        self._member(event, d).overdue = True

    def _do_ProcessingSlowed(self, event: Event, d: Detail) -> None:
        self._member(event, d).processing_ms = d["processing_ms"]

    # -- records

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told | None:
        self.group.end[d["topic"], d["partition"]] = d["last_offset"] + 1
        return self._now_and_then(event)

    def _see_RecordsPolled(self, event: Event, d: Detail) -> Told | None:
        self.group.position[d["topic"], d["partition"]] = d["position"]
        self._member(event, d).overdue = False
        return self._now_and_then(event)

    def _see_PositionReset(self, event: Event, d: Detail) -> None:
        self.group.position[d["topic"], d["partition"]] = d["offset"]

    def _see_RecordsFetched(self, event: Event, d: Detail) -> None:
        if not self.who.clients_speak:
            self.group.position[d["topic"], d["partition"]] = d["next_offset"]

    def _now_and_then(self, event: Event) -> Told | None:
        """A step for the records alone."""
        if not self.group.began or event.at - self.told_at < self.every_ms:
            return None
        group = self.group
        unread = [
            part
            for part in self.who.parts
            if not any(each.reads for each in group.owners(part))
        ]
        waiting = sum(group.waiting(part) for part in unread)
        if unread and waiting:
            what = "1 record waits" if waiting == 1 else f"{waiting} records wait"
            where = (
                group.labels(unread)
                if len(unread) < len(self.who.parts)
                else "any partition"
            )
            told = Told(f"Records keep coming. Nobody reads {where}: {what} there.")
            return self._tell_wait(told, event.at, unread)
        if event.at - self.told_at < 2 * self.every_ms:
            return None
        total = sum(group.waiting(part) for part in self.who.parts)
        words = (
            f"Records come and are read; {total or 'none'}"
            f" {'wait' if total != 1 else 'waits'} at this moment."
        )
        return self._tell_wait(Told(words), event.at, unread)

    # -- nodes

    def _see_life(self, event: Event, d: Detail) -> Told | None:
        member, life = self.group.named(event.node), LIVES[event.kind]
        if event.node == self.group.node:
            self.group.down, told = bool(life), self.tell(event)
            told.sentence = (
                f"{event.node}, which is the group coordinator,"
                f" {'is ' + life if life else 'is back'}."
            )
            told.trouble = bool(life)
            return told
        if member is None:
            return None
        member.life = life or "cut off" * member.cut
        if life in ("crashed", "closed"):
            member.asked, member.waits, member.revoked = "", [], []
        if (
            life == "closed"
            or event.kind == "NodeRestarted"
            or (life == "crashed" and not member.inside)
        ):
            member.owns = []
        return self.tell(event)

    def _see_LinkCut(self, event: Event, d: Detail) -> Told | None:
        member = self.group.named(d["one"]) or self.group.named(d["other"])
        if member is None or self.group.node not in (d["one"], d["other"]):
            return None
        member.cut = event.kind == "LinkCut"
        if member.life in ("", "cut off"):
            member.life = "cut off" * member.cut
        return self.tell(event, who=member.actor.name)

    _see_LinkHealed = _see_LinkCut

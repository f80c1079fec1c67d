"""The members' events about a rebalance: their requests to the coordinator, the
partitions that they get and give up.

There are far too many heartbeats to stop at. Only in a simulation do members emit
events; in the trace of a server there are only the coordinator's.
"""

from minikafka.theatre.pictures.rebalance.cast import Part
from minikafka.theatre.pictures.rebalance.group_words import assigned_by, who_gets_what
from minikafka.theatre.pictures.rebalance.member import Member
from minikafka.theatre.pictures.rebalance.teller import Teller
from minikafka.theatre.play import Detail, Told
from minikafka.theatre.text import lasting, listed
from minikafka.trace import Event

APIS = {
    "JoinGroup": 11,
    "Heartbeat": 12,
    "LeaveGroup": 13,
    "SyncGroup": 14,
    "ConsumerGroupHeartbeat": 68,
}


class Members(Teller):
    # -- what they ask

    def see_RequestSent(self, event: Event, d: Detail) -> Told | None:
        api = d["api"]
        member = self.group.client(event.node) if api in APIS else None
        if member is None or api == "Heartbeat":
            return None
        has_nothing_to_say = member.inside and not member.gives
        if api == "ConsumerGroupHeartbeat" and has_nothing_to_say:
            return None
        member.ask(api, self.group.step)
        member.revoked = []
        name = member.actor.name
        if api == "LeaveGroup":
            return Told(f"{name} says goodbye: LeaveGroup (13).")
        if api != "JoinGroup":
            return None
        member.told = False
        if member.inside:
            return Told(f"{name} {self._joins_again(member)}.")
        if not self.story.once(("asks", name, event.at // 1000)):
            return None
        return Told(f"{name} asks the coordinator to let it in: JoinGroup (11).")

    def _joins_again(self, member: Member) -> str:
        why = f", because {member.why}" if member.why else ""
        keeps = ""
        if member.owns:
            keeps = f", and keeps reading {self.group.labels(member.owns)}"
        return f"joins again{why}: JoinGroup (11){keeps}"

    def see_ResponseReceived(self, event: Event, d: Detail) -> None:
        member = self.group.client(event.node)
        if member and member.asked == d["api"]:
            member.asked = ""

    def see_MemberStateChanged(self, event: Event, d: Detail) -> Told | None:
        group = self.group
        why = d["why"]
        member = group.member(d["member"]) or group.client(event.node)
        if member is None:
            return None
        member.why = why
        if d["state"] != "fenced":
            return None
        return Told(f"{member.actor.name} is fenced: {why}.", "fenced", trouble=True)

    # -- what they read

    def see_AssignorRan(self, event: Event, d: Detail) -> Told:
        group = self.group
        group.assignor = d["assignor"]
        words = (
            f"{event.node}, the group leader, runs {assigned_by(group)}:"
            f" {who_gets_what(group, d['assignment'])}."
        )
        problem, *others = d.get("problems") or [""]
        if not problem:
            return Told(words)
        for member_id, actor in self.cast.members.items():
            problem = problem.replace(member_id, actor.letter)
        more = f", and {len(others)} more flaws" if others else ""
        return Told(f"{words} But {problem}{more}.", trouble=True)

    def see_PartitionsAssigned(self, event: Event, d: Detail) -> Told:
        group = self.group
        member = group.about(event)
        name = member.actor.name
        new = group.labels(group.parts(d["partitions"]))
        done = group.labels(member.revoked)
        member.now_owns(group.parts(d["owned"]))
        if done and not new:
            return Told(
                f"{name} is done with {done}: on_partitions_revoked has returned."
            )
        if group.is_classic:
            self._answer_sync(member)
        if not new and not member.owns:
            return Told(f"{name} gets no partition.")
        if not new:
            return Told(f"{name} gets nothing new.")
        return Told(f"{name} gets {new} and begins to read.")

    def see_PartitionsRevoked(self, event: Event, d: Detail) -> Told | None:
        group = self.group
        member = group.about(event)
        was_told_to_give = bool(member.gives) and group.cooperative
        knows_of_rebalance = member.told or bool(member.gives)
        is_unasked = group.state == "Stable" and not knows_of_rebalance
        moves = group.parts(d["partitions"])
        member.now_owns_only(group.parts(d["owned"]), revoked=moves)
        if not moves:
            return None
        if was_told_to_give and group.is_classic:  # in the answer to SyncGroup
            self._answer_sync(member)
            member.gave = moves
        gives = group.labels(moves)
        if is_unasked:
            gives += ", unasked"
        it = "it" if len(moves) == 1 else "them"
        keeps = f" It keeps {group.labels(member.owns)}." if member.owns else ""
        return Told(
            f"{member.actor.name} gives up {gives}: {self._who_reads(moves)} {it}"
            f" now.{keeps}"
        )

    def _answer_sync(self, member: Member) -> None:
        mine = self.group.labels(member.owns) or "nothing yet"
        member.answer(f"SyncGroup: {mine}", self.group.step)

    def _who_reads(self, parts: list[Part]) -> str:
        letters = set[str]()
        for part in parts:
            letters.update(each.actor.letter for each in self.group.holders(part))
        return f"{listed(sorted(letters))} alone reads" if letters else "nobody reads"

    def see_PartitionsLost(self, event: Event, d: Detail) -> Told:
        member = self.group.about(event)
        member.owns = self.group.parts(d["owned"])
        member.gives = []
        member.revoked = []
        return self.story.tell(event)

    # -- how fast they are

    def see_PollOverdue(self, event: Event, d: Detail) -> Told:
        self.group.about(event).overdue = True
        return self.story.tell(event)

    def see_ProcessingSlowed(self, event: Event, d: Detail) -> Told | None:
        ms = d["processing_ms"]
        member = self.group.about(event)
        member.processing_ms = ms
        if ms:
            return self.story.tell(event, needs=lasting(ms))
        if member.work(event.at):  # nothing to see before it has done what it has
            return None
        return Told(f"{event.node} needs no time for a record any more.")

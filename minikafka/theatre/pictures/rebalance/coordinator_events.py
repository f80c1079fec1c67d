"""The coordinator's events about a rebalance: each becomes a change of the group's
state, and a sentence.

A classic group has generations, a consumer group (KIP-848) epochs. If the members emit
no events (in a server's trace), their actions are derived from these.
"""

from collections.abc import Iterable
from typing import Any

from minikafka.theatre.pictures.rebalance.event_words import with_number
from minikafka.theatre.pictures.rebalance.group import Group
from minikafka.theatre.pictures.rebalance.group_words import assigned_by, who_gets_what
from minikafka.theatre.pictures.rebalance.member import HEARS_NOTHING, Member
from minikafka.theatre.pictures.rebalance.teller import Teller
from minikafka.theatre.play import QUIETLY, Detail, Story, Told
from minikafka.theatre.text import capital
from minikafka.trace import Event


class Coordinator(Teller):
    """refused: what was refused in this rebalance, by member: it is told once."""

    def __init__(self, story: Story, group: Group) -> None:
        super().__init__(story, group)
        self.refused: set[tuple[str, ...]] = set()

    def see_GroupLoaded(self, event: Event, d: Detail) -> Told | None:
        group = self.group
        if self.cast.group not in d["groups"]:
            return None
        group.node = event.node
        group.down = False
        where = f"__consumer_offsets-{d['partition']}"
        return Told(
            f"{event.node} is the group coordinator: it has read the group's state from"
            f" {where}."
        )

    def see_GroupStateChanged(self, event: Event, d: Detail) -> Told | None:
        group = self.group
        state = d["state"]
        group.state = state
        is_over = state in ("Empty", "Dead") and group.began and not group.inside
        if is_over:
            words = f"Group {self.cast.group} is {state}: no member is left."
            return Told(words, f"group {state}")
        return QUIETLY if event.at == self.group.told_at else None

    # -- who is a member

    def see_MemberJoined(self, event: Event, d: Detail) -> Told:
        group = self.group
        group.node = event.node
        member = group.of(self.cast.members[d["member"]])
        member.enter(d["member"])
        if not self.cast.clients_speak:
            api = "JoinGroup" if group.is_classic else ""
            member.ask(api, group.step)
        static = ""
        if d.get("instance"):
            static = f", static as {d['instance']} (KIP-345)"
        return Told(
            f"{member.actor.name} is a member of group {self.cast.group} now{static}."
        )

    def see_MemberLeft(self, event: Event, d: Detail) -> Told | None:
        group = self.group
        member = group.member(d["member"])
        if member is None:
            return None
        member.leave()
        if not self.cast.clients_speak:
            member.owns = []
            if d["reason"] == "goodbye":
                member.life = "left"
        name = member.actor.name
        held = group.labels(member.owns)
        words = f"The coordinator removes {name} from the group: {d['why']}."
        if held and member.life in HEARS_NOTHING:
            words += f" {capital(name)} itself doesn't know and still holds {held}."
        return Told(words, f"{name} is out")

    # -- a rebalance

    def see_RebalanceStarted(self, event: Event, d: Detail) -> Told:
        group = self.group
        why = self._why_again() or d["why"]
        group.number = d["generation"]
        group.began = True
        self.refused.clear()
        chapter = f"rebalance: {why}"
        if not group.is_classic:
            group.derived("Assigning")
            words = (
                f"Rebalance: {why}. Group epoch {group.number} begins; nobody has"
                " to stop reading."
            )
            marks = [{"lane": "group", "text": ""}]
            return Told(words, chapter, marks=marks)
        group.derived("PreparingRebalance")
        words = f"Rebalance: {why}. All members must join again"
        if group.number >= 1:
            words += "; they hear of it in the answer to their next Heartbeat (12)"
        return Told(f"{words}.", chapter)

    def _why_again(self) -> str:
        """Where one has given partitions up and joins for that: what one sees. (By the
        coordinator's words its subscription has changed: that says what it reads.)
        """
        group = self.group
        if group.state != "PreparingRebalance":
            return ""
        for member in group.inside:
            if member.joining and member.gave:
                gave = group.labels(member.gave)
                return f"{member.actor.name} has given {gave} up and joins again"
        return ""

    def see_GenerationBegan(self, event: Event, d: Detail) -> Told:
        group = self.group
        group.number = d["generation"]
        group.began = True
        group.derived("CompletingRebalance")
        group.assignor = d["protocol"] or ""
        leader = group.member(d["leader"])
        group.leader = leader.actor.name if leader else ""
        for member in group.inside:
            self._answer_join(member, leader)
        who = group.leader or "nobody"
        what = "it assigns"
        if len(group.inside) > 1:
            what += ", the others wait"
        words = (
            f"All have joined: generation {group.number} begins. {capital(who)} is group"
            f" leader: {what}."
        )
        return Told(words, f"generation {group.number}")

    def _answer_join(self, member: Member, leader: Member | None) -> None:
        group = self.group
        if not self.cast.clients_speak and not group.cooperative:
            member.owns = []
        member.gives = []
        member.gave = []
        member.waits = []
        leads = "you lead"
        if leader is not None and member is not leader:
            leads = f"{leader.actor.letter} leads"
        member.answer(f"JoinGroup: {leads}", group.step)
        member.asked = "" if self.cast.clients_speak else "SyncGroup"

    def see_AssignmentMade(self, event: Event, d: Detail) -> Told:
        group = self.group
        assignment = d["assignment"]
        group.assignor = d["assignor"]
        group.number = d["generation"]
        group.assigned_at = group.step
        group.derived("Stable" if group.is_classic else "Reconciling")

        for member_id, parts in assignment.items():
            member = group.member(member_id)
            if member is not None:
                self._assign(member, parts)

        if not group.is_classic:
            return Told(
                f"The coordinator assigns with {assigned_by(group)} for epoch"
                f" {group.number}: {who_gets_what(group, assignment)}."
            )
        leader = group.members.get(group.leader)
        if leader and leader.asked:
            leader.asked_at = group.step
        return Told(
            f"{group.leader} sends its assignment in SyncGroup (14); each member gets its"
            " share in the answer."
        )

    def _assign(self, member: Member, parts: Iterable[Any]) -> None:
        given = self.group.parts(parts)
        member.given = given
        if not self.group.is_classic:
            return
        if self.cast.clients_speak:
            member.assigned(given)
        else:
            member.owns = given
            member.asked = ""

    def see_MemberReconciled(self, event: Event, d: Detail) -> Told | None:
        group = self.group
        member = group.member(d["member"])
        if member is None:
            return None
        member.epoch = d["epoch"]
        owned = group.parts(d["owned"])
        revoking = group.parts(d["revoking"])
        waiting = group.parts(d["waiting_for"])
        member.gives = revoking
        if self.cast.clients_speak:
            coming = [*owned, *waiting]
            member.given = owned
            member.waits = [part for part in coming if part not in member.owns]
        else:
            member.owns = owned
            member.waits = waiting
            member.given = [*owned, *waiting]
        member.reconciled = not revoking and not waiting
        if all(_is_settled(each, group.number) for each in group.inside):
            group.derived("Stable")
        verb = "may"
        what = f"read {group.labels(owned) or 'nothing yet'}"
        if revoking:
            verb = "must"
            what = f"give up {group.labels(revoking)}"
        member.answer(f"ConsumerGroupHeartbeat: {what}", group.step)
        words = f"it {verb} {what}"
        if waiting:
            words += f", and {group.labels(waiting)} once others have given that up"
        return Told(
            f"{member.actor.name}'s ConsumerGroupHeartbeat (68) is answered: {words}."
            f" Its member epoch is {d['epoch']}."
        )

    # -- what is refused

    def see_MemberRefused(self, event: Event, d: Detail) -> Told | None:
        error = d["error"]
        api = d["api"]
        member = self.group.member(d["member"])
        # KIP-394: the first of two steps to join, nothing to stop at
        if error == "MEMBER_ID_REQUIRED":
            return None
        if member is None:
            return _refuses(f"{d['member']}'s {api}:", error)
        is_usual = error == "REBALANCE_IN_PROGRESS"
        key = (member.actor.name, error, "" if is_usual else api)
        if key in self.refused:
            return None
        self.refused.add(key)
        if is_usual:
            return self._must_join_again(member, api)
        member.answer(f"{error}: refused", self.group.step, trouble=True)
        return _refuses(f"{member.actor.name}'s {api} with", error)

    def _must_join_again(self, member: Member, api: str) -> Told:
        """REBALANCE_IN_PROGRESS: a heartbeat tells a member that there is a
        rebalance.
        """
        group = self.group
        name = member.actor.name
        error = "REBALANCE_IN_PROGRESS"
        member.answer(f"{error}: join again", group.step)
        if api != "Heartbeat":
            return Told(
                f"{name}'s {api} is answered {with_number(error)}: it must join again."
            )
        what = "give up everything and join again"
        if group.cooperative:
            what = "join again"
            what += ", keeping what it reads" if member.owns else ""
        elif self.cast.clients_speak:
            member.gives = list(member.owns)
        else:
            member.gives = []
            member.owns = []
        member.told = self.cast.clients_speak
        if not self.cast.clients_speak:
            member.ask("JoinGroup", group.step)
        return Told(
            f"{name}'s Heartbeat (12) is answered {with_number(error)}: it must {what}."
        )


def _is_settled(member: Member, epoch: int) -> bool:
    return member.epoch == epoch and member.reconciled


def _refuses(what: str, error: str) -> Told:
    words = f"The coordinator refuses {what} {with_number(error)}."
    return Told(words, error, trouble=True)

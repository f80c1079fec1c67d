"""The fold of the rebalance's picture: what the coordinator tells becomes the group's
state, and a sentence.

A classic group is told in generations, a consumer group (KIP-848) in epochs.
"""

from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.rebalance_group import SILENT
from minikafka.theatre.pictures.rebalance_members import (
    LONG_MS,
    RECORDS,
    MemberStory,
    number_of,
)
from minikafka.theatre.pictures.rebalance_time import lasted_ms, seconds, unread_spans
from minikafka.theatre.play import QUIETLY, Detail, Told
from minikafka.theatre.text import listed
from minikafka.trace import Event

ALIKE_MS = 100  # partitions that were not read for about as long are named together


class RebalanceStory(MemberStory):
    """A group from its first member on."""

    def ends(self, last: Scene) -> None:
        """The partitions that nobody read for longest, if that was long."""
        lanes = last["space"]["spans"]
        unread_ms = {
            label: lasted_ms("nobody", lanes.get(label, []), self.since_ms, last["at"])
            for label in map(self.who.label, self.who.parts)
        }
        longest_ms = max(unread_ms.values(), default=0)
        if longest_ms < LONG_MS:
            return
        which = [label for label, ms in unread_ms.items() if longest_ms - ms < ALIKE_MS]
        words = f"In all, nobody read {listed(which)} for {seconds(longest_ms)}."
        last["sentence"] = (
            words if last["kind"] in RECORDS else f"{last['sentence']} {words}"
        )
        last["light"] = [
            f"time/{label}/{part}" for label in which for part in ("name", "unread")
        ]
        last["light"] += [
            key for label in which for key in unread_spans("", label, lanes[label])
        ]

    def _derived(self, state: str) -> None:
        if not self.who.states_told:
            self.group.state = state

    def _see_GroupStateChanged(self, event: Event, d: Detail) -> Told | None:
        self.group.state = d["state"]
        if (
            d["state"] in ("Empty", "Dead")
            and self.group.began
            and not self.group.inside
        ):
            return Told(
                f"Group {self.who.group} is {d['state']}: no member is left.",
                f"group {d['state']}",
            )
        return QUIETLY if event.at == self.told_at else None

    def _see_GroupLoaded(self, event: Event, d: Detail) -> Told | None:
        if self.who.group not in d["groups"]:
            return None
        self.group.node, self.group.down = event.node, False
        where = f"__consumer_offsets-{d['partition']}"
        return Told(
            f"{event.node} is the group coordinator: it has read the group's state from"
            f" {where}."
        )

    def _see_MemberJoined(self, event: Event, d: Detail) -> Told:
        self.group.node = event.node
        member = self.group.of(self.who.members[d["member"]])
        member.id, member.inside, member.life, member.overdue = (
            d["member"],
            True,
            "",
            False,
        )
        if not self.who.clients_speak:
            member.asked, member.asked_at = (
                ("JoinGroup" if self.who.kind == "classic" else ""),
                self.step,
            )
        static = f", static as {d['instance']} (KIP-345)" if d.get("instance") else ""
        return Told(
            f"{member.actor.name} is a member of group {self.who.group} now{static}."
        )

    def _see_MemberLeft(self, event: Event, d: Detail) -> Told | None:
        member = self.group.member(d["member"])
        if member is None:
            return None
        member.inside, member.asked, member.told = False, "", False
        member.gives, member.waits, member.given, member.revoked = [], [], [], []
        if member.life == "crashed":
            member.owns = []
        if not self.who.clients_speak:
            member.owns = []
            member.life = "left" if d["reason"] == "goodbye" else member.life
        name, held = member.actor.name, self.group.labels(member.owns)
        blind = (
            f" {name} itself doesn't know and still holds {held}."
            if held and member.life in SILENT
            else ""
        )
        return Told(
            f"The coordinator takes {name} out of the group: {d['why']}.{blind}",
            f"{name} is out",
        )

    def _see_RebalanceStarted(self, event: Event, d: Detail) -> Told:
        group = self.group
        group.number, group.began = d["generation"], True
        self.said = {each for each in self.said if each[0] != "refused"}
        if self.who.kind == "consumer":
            self._derived("Assigning")
            sentence = (
                f"Rebalance: {d['why']}. Group epoch {group.number} begins; nobody has"
                " to stop reading."
            )
            return Told(
                sentence,
                f"rebalance: {d['why']}",
                marks=[{"lane": "group", "text": ""}],
            )
        self._derived("PreparingRebalance")
        first = (
            ""
            if group.number < 1
            else "; they hear of it in the answer to their next Heartbeat (12)"
        )
        return Told(
            f"Rebalance: {d['why']}. All members must join again{first}.",
            f"rebalance: {d['why']}",
        )

    def _see_GenerationBegan(self, event: Event, d: Detail) -> Told:
        group = self.group
        leader = group.member(d["leader"])
        group.number, group.began = d["generation"], True
        self._derived("CompletingRebalance")
        group.assignor = d["protocol"] or ""
        group.leader = leader.actor.name if leader else ""
        for each in group.inside:
            if not self.who.clients_speak:
                each.owns = each.owns if group.cooperative else []
            each.gives, each.waits = [], []
            leads = (
                "you lead"
                if each is leader or leader is None
                else f"{leader.actor.letter} leads"
            )
            each.answered = (f"JoinGroup: {leads}", False, self.step)
            each.asked = "" if self.who.clients_speak else "SyncGroup"
        who = leader.actor.name if leader else "nobody"
        what = "it assigns, the others wait" if len(group.inside) > 1 else "it assigns"
        sentence = (
            f"All have joined: generation {group.number} begins. {who} is group leader:"
            f" {what}."
        )
        return Told(sentence, f"generation {group.number}")

    def _see_AssignmentMade(self, event: Event, d: Detail) -> Told:
        group = self.group
        group.assignor, group.number = d["assignor"], d["generation"]
        group.assigned_at = self.step
        server = self.who.kind == "consumer"
        self._derived("Reconciling" if server else "Stable")
        for member_id, parts in d["assignment"].items():
            member = group.member(member_id)
            if member is None:
                continue
            member.given = group.parts(parts)
            # what it may add, and what it must give up
            if not server and self.who.clients_speak:
                member.waits = [
                    part for part in member.given if part not in member.owns
                ]
                member.gives = [
                    part for part in member.owns if part not in member.given
                ]
            elif not server:
                member.owns, member.asked = member.given, ""
        if server:
            return Told(
                f"The coordinator assigns with {self._assignor()} for epoch"
                f" {group.number}: {self._shares(d['assignment'])}."
            )
        leader = group.members.get(group.leader)
        if leader and leader.asked:
            leader.asked_at = self.step
        return Told(
            f"{group.leader} hands in its assignment, in SyncGroup (14): each member's"
            " answer is its share."
        )

    def _see_MemberReconciled(self, event: Event, d: Detail) -> Told | None:
        member, group = self.group.member(d["member"]), self.group
        if member is None:
            return None
        member.epoch = d["epoch"]
        owned, revoking = group.parts(d["owned"]), group.parts(d["revoking"])
        waiting = group.parts(d["waiting_for"])
        member.gives = revoking
        if self.who.clients_speak:
            member.given, member.waits = (
                owned,
                [part for part in [*owned, *waiting] if part not in member.owns],
            )
        else:
            member.owns, member.waits, member.given = owned, waiting, [*owned, *waiting]
        member.reconciled = not revoking and not waiting
        if all(each.epoch == group.number and each.reconciled for each in group.inside):
            self._derived("Stable")
        name, mine = member.actor.name, group.labels(owned) or "nothing yet"
        verb, short = (
            ("must", f"give up {group.labels(revoking)}")
            if revoking
            else ("may", f"read {mine}")
        )
        words = f"it {verb} {short}"
        if waiting:
            words += f", and {group.labels(waiting)} when others have given that up"
        member.answered = (f"ConsumerGroupHeartbeat: {short}", False, self.step)
        return Told(
            f"{name}'s ConsumerGroupHeartbeat (68) is answered: {words}. Its member"
            f" epoch is {d['epoch']}."
        )

    def _see_MemberRefused(self, event: Event, d: Detail) -> Told | None:
        member = self.group.member(d["member"])
        # KIP-394: the first of two steps to join, nothing to stop at
        if d["error"] == "MEMBER_ID_REQUIRED":
            return None
        number = number_of(d["error"])
        if member is None:
            return Told(
                f"The coordinator refuses {d['member']}'s {d['api']}:"
                f" {d['error']}{number}.",
                d["error"],
                True,
            )
        usual = d["error"] == "REBALANCE_IN_PROGRESS"
        if not self.once(
            ("refused", member.actor.name, d["error"], d["api"] if not usual else "")
        ):
            return None
        member.answered = (
            f"{d['error']}: {'join again' if usual else 'refused'}",
            not usual,
            self.step,
        )
        name = member.actor.name
        if not usual:
            return Told(
                f"The coordinator refuses {name}'s {d['api']} with"
                f" {d['error']}{number}.",
                d["error"],
                True,
            )
        if d["api"] != "Heartbeat":
            return Told(
                f"{name}'s {d['api']} is answered REBALANCE_IN_PROGRESS{number}: it"
                " must join again."
            )
        keeps = ", keeping what it reads" if member.owns else ""
        if not self.group.cooperative:
            member.gives = list(member.owns)
            if not self.who.clients_speak:
                member.owns, member.gives = [], []
        if not self.who.clients_speak:
            member.asked, member.asked_at = "JoinGroup", self.step
        member.told = self.who.clients_speak
        what = (
            f"join again{keeps}"
            if self.group.cooperative
            else "give up everything and join again"
        )
        return Told(
            f"{name}'s Heartbeat (12) is answered REBALANCE_IN_PROGRESS{number}: it"
            f" must {what}."
        )

"""Traces of groups made by hand, with the events that coordinators and members emit, in
their order.

Time is scripted: members send a heartbeat every 3 s, requests take 2 ms, a record comes
to each partition in turn. `seen_by="broker"` leaves out what members tell, as a trace
of `minikafka serve` does.
"""

from tests.theatre.traces import Story


class GroupStory(Story):
    def __init__(self, partitions=6, seen_by="all", protocol="range"):
        super().__init__()
        self.protocol, self.cooperative = (
            protocol,
            "cooperative" in protocol or protocol == "uniform",
        )
        self.speaks = seen_by == "all"
        self.parts = [["orders", number] for number in range(partitions)]
        self.topic(partitions=partitions)
        self.owned, self.members, self.state, self.generation = {}, [], "Empty", 0
        self.ends = [0] * partitions
        self.read = [0] * partitions
        self.silent = set()
        self.turn = 0

    # -- who tells

    def member(self, node, kind, cause=None, **detail):
        if self.speaks:
            self.tell(node, kind, cause, group="billing", **detail)

    def broker(self, kind, cause=None, **detail):
        self.tell("broker 1", kind, cause, group="billing", **detail)

    def id(self, name):
        return f"{name}-{name[-1].lower() * 8}-0000"

    def ask(self, name, api):
        self.requests += 1
        key = (f"{name}-c", self.requests)
        if self.speaks:
            self.tell(
                name,
                "RequestSent",
                to="broker 1",
                api=api,
                version=9,
                connection=key[0],
                correlation_id=key[1],
            )
        self.now += 2
        return key

    def answer(self, name, api):
        if self.speaks:
            self.tell(name, "ResponseReceived", api=api, from_node="broker 1")

    # -- records

    def flow(self, ms, every=250):
        """Records come, and are read where somebody reads."""
        until = self.now + ms
        while self.now + every <= until:
            self.now += every
            number = self.turn % len(self.parts)
            self.turn += 1
            self.append(number, self.ends[number], (None, None))
            self.ends[number] += 1
            for name, parts in self.owned.items():
                for _, mine in parts:
                    if name not in self.silent and self.read[mine] < self.ends[mine]:
                        self.fetch(name, mine)
        self.now = until

    def fetch(self, name, number):
        if self.speaks:
            self.poll(name, number, self.read[number], self.ends[number])
        else:
            cause = (f"{name}-f", self.turn)
            self.tell(
                "broker 1",
                "RecordsFetched",
                cause,
                topic="orders",
                partition=number,
                offset=self.read[number],
                next_offset=self.ends[number],
            )
        self.read[number] = self.ends[number]

    # -- the classic protocol

    def goto(self, state, why, cause=None):
        self.broker("GroupStateChanged", cause, was=self.state, state=state, why=why)
        self.state = state

    def change(self, name, was, state, why, reason=None):
        """A member goes from one of its states to another."""
        states = {"was": was, "state": state, "why": why, "reason": reason}
        self.member(name, "MemberStateChanged", member=self.id(name), **states)

    def refuse(self, name, cause, api, error):
        member = self.id(name)
        self.broker("MemberRefused", cause, member=member, api=api, error=error)

    def join(self, name, why="JoinGroup"):
        """A new member asks twice (KIP-394); the rebalance begins."""
        if self.speaks and f"{name}" not in self.nodes:
            self.tell(name, "ClientStarted", client=name)
        self.member(
            name,
            "MemberStateChanged",
            member="",
            was="unjoined",
            state="preparing_rebalance",
            why="subscribed",
        )
        cause = self.ask(name, "JoinGroup")
        self.refuse(name, cause, "JoinGroup", "MEMBER_ID_REQUIRED")
        self.now += 2
        self.answer(name, "JoinGroup")
        cause = self.ask(name, "JoinGroup")
        self.broker(
            "MemberJoined",
            cause,
            member=self.id(name),
            client=name,
            instance=None,
            why=f"its {why}",
        )
        self.members.append(name)
        self.owned[name] = []
        if self.state in ("Empty", "Stable"):
            self.goto("PreparingRebalance", "a member joins", cause)
            self.broker(
                "RebalanceStarted",
                cause,
                generation=self.generation,
                why=f"{name} joins",
            )

    def leave(self, name, why="it said goodbye", goodbye=True):
        if goodbye:
            self.revoke(name, self.owned[name])
            cause = self.ask(name, "LeaveGroup")
        else:
            cause = None
        reason = "goodbye" if goodbye else "session_timeout"
        self.broker(
            "MemberLeft",
            cause,
            member=self.id(name),
            client=name,
            why=why,
            reason=reason,
        )
        self.members.remove(name)
        if goodbye:
            self.owned.pop(name)
            if self.speaks:
                self.tell(name, "ClientClosed")
        if self.state == "Stable":
            self.goto("PreparingRebalance", "a member left", cause)
            self.broker(
                "RebalanceStarted",
                cause,
                generation=self.generation,
                why=f"{name} is out: {why}",
            )

    def heartbeat(self, name):
        """The answer says that a rebalance is on."""
        cause = self.ask(name, "Heartbeat")
        self.refuse(name, cause, "Heartbeat", "REBALANCE_IN_PROGRESS")
        self.now += 2
        self.answer(name, "Heartbeat")
        if not self.cooperative:
            self.revoke(name, self.owned[name])
        self.rejoin(name)

    def rejoin(self, name):
        self.change(name, "stable", "preparing_rebalance", "")
        self.ask(name, "JoinGroup")

    def revoke(self, name, parts):
        self.owned[name] = [part for part in self.owned[name] if part not in parts]
        self.member(
            name,
            "PartitionsRevoked",
            member=self.id(name),
            generation=self.generation,
            partitions=list(parts),
            owned=list(self.owned[name]),
        )

    def assign(self, wanted):
        """All have joined: the leader assigns and every SyncGroup is answered. wanted:
        name -> partition numbers.
        """
        leader = self.members[0]
        self.generation += 1
        self.goto("CompletingRebalance", "all have joined")
        self.broker(
            "GenerationBegan",
            generation=self.generation,
            leader=self.id(leader),
            protocol=self.protocol,
            members=[self.id(name) for name in self.members],
        )
        self.now += 2
        assignment = {
            self.id(name): [["orders", n] for n in numbers]
            for name, numbers in wanted.items()
        }
        for name in self.members:
            self.answer(name, "JoinGroup")
            self.change(
                name,
                "preparing_rebalance",
                "completing_rebalance",
                "JoinGroup was answered",
            )
            if name == leader:
                self.member(
                    name,
                    "AssignorRan",
                    generation=self.generation,
                    assignor=self.protocol,
                    assignment=assignment,
                )
        for name in self.members[1:]:
            self.ask(name, "SyncGroup")
        cause = self.ask(leader, "SyncGroup")
        self.broker(
            "AssignmentMade",
            cause,
            generation=self.generation,
            by=self.id(leader),
            assignor=self.protocol,
            assignment=assignment,
        )
        self.goto("Stable", "the leader's SyncGroup", cause)
        self.now += 2
        again = []
        for name in self.members:
            self.answer(name, "SyncGroup")
            if self.take(name, assignment[self.id(name)]):
                again.append(name)
            self.now += 1
        return again

    def take(self, name, mine):
        """A member hears its assignment. Whether it must join again: it had to give
        something up.
        """
        had = self.owned[name]
        lost = [part for part in had if part not in mine]
        joins_again = bool(lost) and self.cooperative
        if joins_again:
            self.revoke(name, lost)
        self.owned[name] = list(mine)
        new = [part for part in mine if part not in had]
        self.member(
            name,
            "PartitionsAssigned",
            member=self.id(name),
            generation=self.generation,
            partitions=new,
            owned=list(mine),
        )
        self.change(name, "completing_rebalance", "stable", "SyncGroup was answered")
        return joins_again

    def rebalance(self, wanted, late=()):
        """Members hear of it with their next heartbeats, join again, and are assigned
        their shares.
        """
        for name in [
            each for each in self.members if self.owned[each] and each not in late
        ]:
            self.flow(700)
            self.heartbeat(name)
        if not self.cooperative:
            self.assign(wanted)
            return
        held = {
            tuple(part): name
            for name, parts in self.owned.items()
            for part in parts
            if name in self.members
        }
        first = {
            name: [n for n in numbers if held.get(("orders", n), name) == name]
            for name, numbers in wanted.items()
        }
        again = self.assign(first)
        if again:
            self.now += 3
            for name in again:
                self.rejoin(name)
            self.goto("PreparingRebalance", "members gave partitions up")
            self.broker(
                "RebalanceStarted",
                generation=self.generation,
                why=f"{again[0]} gave partitions up",
            )
            for name in [each for each in self.members if each not in again]:
                self.flow(600)
                self.heartbeat(name)
            self.assign(wanted)


def classic(protocol="range", seen_by="all"):
    """Two members on six partitions; C joins, A freezes for good and is thrown out, B
    leaves.
    """
    a, b, c = "consumer A", "consumer B", "consumer C"
    story = GroupStory(protocol=protocol, seen_by=seen_by)
    story.at(1000).flow(1000)
    story.join(a)
    story.flow(500)
    story.join(b)
    story.flow(2500)
    story.assign({a: [0, 1, 2], b: [3, 4, 5]})
    story.flow(4000)
    story.join(c)
    story.rebalance({a: [0, 1], b: [3, 4], c: [2, 5]})
    story.flow(4000)
    story.tell(a, "NodeFrozen")
    story.silent.add(a)
    story.flow(10_000)
    story.leave(a, "no heartbeat for 10.00 s", goodbye=False)
    story.rebalance({b: [0, 3, 4], c: [1, 2, 5]})
    story.flow(3000)
    story.leave(b)
    story.rebalance({c: [0, 1, 2, 3, 4, 5]})
    story.flow(3000)
    return story.events


class Reconciling(GroupStory):
    """The consumer protocol (KIP-848): each heartbeat's answer brings one member nearer
    to the target.
    """

    def __init__(self, partitions=6, seen_by="all"):
        super().__init__(partitions, seen_by, "uniform")
        self.target, self.epochs = {}, {}

    def enter(self, name, wanted):
        """A member joins with its first heartbeat, and the coordinator computes a new
        target.
        """
        if self.speaks:
            self.tell(name, "ClientStarted", client=name)
        cause = self.ask(name, "ConsumerGroupHeartbeat")
        self.broker(
            "MemberJoined",
            cause,
            member=self.id(name),
            client=name,
            instance=None,
            why="its first heartbeat",
        )
        self.members.append(name)
        self.owned[name], self.epochs[name] = [], 0
        self.aim(wanted, f"{name} joins", cause)
        self.reconcile(name, cause)

    def exit(self, name, wanted, why="it said goodbye"):
        self.revoke(name, self.owned[name])
        cause = self.ask(name, "ConsumerGroupHeartbeat")
        self.broker("MemberLeft", cause, member=self.id(name), client=name, why=why)
        self.members.remove(name)
        self.owned.pop(name)
        self.aim(wanted, f"{name} is out: {why}", cause)

    def aim(self, wanted, why, cause):
        self.generation += 1
        self.target = {
            name: [["orders", n] for n in numbers] for name, numbers in wanted.items()
        }
        assignment = {self.id(name): parts for name, parts in self.target.items()}
        self.broker("RebalanceStarted", cause, generation=self.generation, why=why)
        self.broker(
            "AssignmentMade",
            cause,
            generation=self.generation,
            by="coordinator",
            assignor="uniform",
            assignment=assignment,
        )

    def reconcile(self, name, cause=None):
        """One heartbeat: revoke first, then receive what is free."""
        cause = cause or self.ask(name, "ConsumerGroupHeartbeat")
        target, had = self.target[name], self.owned[name]
        revoking = [part for part in had if part not in target]
        held = [
            part
            for other, parts in self.owned.items()
            if other != name
            for part in parts
        ]
        waiting = [part for part in target if part in held]
        owned = (
            [part for part in target if part not in waiting]
            if not revoking
            else [p for p in had if p in target]
        )
        if not revoking:
            self.epochs[name] = self.generation
        self.broker(
            "MemberReconciled",
            cause,
            member=self.id(name),
            epoch=self.epochs[name],
            owned=owned,
            revoking=revoking,
            waiting_for=[] if revoking else waiting,
        )
        self.now += 2
        self.answer(name, "ConsumerGroupHeartbeat")
        if revoking:
            self.now += 5
            self.revoke(name, revoking)
            self.now += 3
            self.reconcile(name)
            return
        new = [part for part in owned if part not in had]
        self.owned[name] = owned
        if new:
            self.member(
                name,
                "PartitionsAssigned",
                member=self.id(name),
                generation=self.generation,
                partitions=new,
                owned=owned,
            )


def consumer(seen_by="all"):
    """The classic story's members under KIP-848."""
    a, b, c = "consumer A", "consumer B", "consumer C"
    story = Reconciling(seen_by=seen_by)
    story.at(1000).flow(1000)
    story.enter(a, {a: [0, 1, 2, 3, 4, 5]})
    story.flow(1500)
    story.enter(b, {a: [0, 1, 2], b: [3, 4, 5]})
    for name in (a, b):
        story.flow(1200)
        story.reconcile(name)
    story.flow(4000)
    story.enter(c, {a: [0, 1], b: [3, 4], c: [2, 5]})
    for name in (a, c, b, c):
        story.flow(900)
        story.reconcile(name)
    story.flow(4000)
    story.tell(a, "NodeFrozen")
    story.silent.add(a)
    story.flow(8000)
    story.broker(
        "MemberLeft",
        member=story.id(a),
        client=a,
        why="no heartbeat for 8.00 s",
        reason="session_timeout",
    )
    story.members.remove(a)
    story.owned.pop(a)
    story.aim(
        {b: [0, 3, 4], c: [1, 2, 5]}, f"{a} is out: no heartbeat for 8.00 s", None
    )
    for name in (b, c):
        story.flow(900)
        story.reconcile(name)
    story.flow(2000)
    story.tell(a, "NodeThawed")
    cause = story.ask(a, "ConsumerGroupHeartbeat")
    story.refuse(a, cause, "ConsumerGroupHeartbeat", "UNKNOWN_MEMBER_ID")
    story.change(a, "stable", "fenced", "UNKNOWN_MEMBER_ID", reason="put_out")
    story.member(
        a,
        "PartitionsLost",
        member=story.id(a),
        generation=3,
        partitions=[["orders", 0], ["orders", 1]],
        owned=[],
    )
    story.flow(1500)
    story.exit(b, {c: [0, 1, 2, 3, 4, 5]})
    story.flow(900)
    story.reconcile(c)
    story.flow(3000)
    return story.events


def six(partitions=12):
    """Six members on twelve partitions, and the first two are restarted one after the
    other.
    """
    names = [f"worker {number}" for number in range(1, 7)]
    story = GroupStory(partitions, protocol="cooperative-sticky")
    story.at(1000)
    for name in names:
        story.join(name)
    story.flow(3000)
    share = partitions // 6
    wanted = {
        name: list(range(n * share, n * share + share)) for n, name in enumerate(names)
    }
    story.assign(wanted)
    story.flow(3000)
    for name in names[:2]:
        free = wanted.pop(name)
        story.leave(name)
        story.owned.pop(name, None)
        more = {
            each: numbers + free[n : n + 1]
            for n, (each, numbers) in enumerate(wanted.items())
        }
        story.rebalance(more)
        story.flow(2000)
        story.tell(name, "NodeRestarted")
        story.join(name)
        wanted[name] = free
        story.rebalance(wanted)
        story.flow(2000)
    return story.events

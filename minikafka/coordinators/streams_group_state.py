"""The state of a streams group as its records describe it (KIP-1071): its topology,
members, epochs, the target, and which process has which task.

Nothing here decides. Records come in, one at a time, live or in a replay, and lead to
the same state.
"""

from collections import Counter

from minikafka.coordinators.group_rules import take_one
from minikafka.coordinators.modern_group_state import ReconcilingState
from minikafka.coordinators.streams_member import StreamsMember
from minikafka.coordinators.streams_tasks import Task, Tasks, of_record
from minikafka.coordinators.streams_topology import Topology, topology_of
from minikafka.wire.schema import Message


class StreamsGroupState(ReconcilingState[StreamsMember, Tasks]):
    """metadata_hash: of the topology's topics. validated_topology_epoch: of the topology
    whose topics were right at the group epoch. assignment_configs: the assignor's
    configs at that time. The rest follows from the members: runs, the process of each
    active task; copies, how many members of a process have a task as a standby or a
    warm-up task; static_members, by instance id.
    """

    kind = "StreamsGroup"

    def __init__(self) -> None:
        super().__init__()
        self.validated_topology_epoch = 0
        self.assignment_configs: dict[str, str] = {}
        self.topology: Topology | None = None
        self.runs: dict[Task, str] = {}
        self.copies: Counter[tuple[Task, str]] = Counter()
        self.static_members: dict[str | None, str] = {}

    @property
    def name(self) -> str:
        """The group's state in Kafka's words."""
        if not self.members:
            return "Empty"
        topology = self.topology
        if topology is None or topology.epoch != self.validated_topology_epoch:
            return "NotReady"
        if self.group_epoch > self.assignment_epoch:
            return "Assigning"
        for member in self.members.values():
            if not member.is_reconciled_to(self.assignment_epoch):
                return "Reconciling"
        return "Stable"

    def _target_of(self, value: Message) -> Tasks:
        return of_record(value)

    def _apply_more(self, name: str, key: Message, value: Message | None) -> None:
        if name == "Topology":
            self.topology = None if value is None else topology_of(value)
        else:
            super()._apply_more(name, key, value)

    def _set_epoch(self, value: Message) -> None:
        super()._set_epoch(value)
        self.validated_topology_epoch = value.validated_topology_epoch
        configs = value.last_assignment_configs or ()
        self.assignment_configs = {each.key: each.value for each in configs}

    def _put(self, member: StreamsMember) -> None:
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        for held in (member.tasks, member.pending):
            for task in held.active:
                self.runs[task] = member.process_id
            for task in (*held.standby, *held.warmup):
                self.copies[task, member.process_id] += 1

    def _take_out(self, member_id: str) -> StreamsMember:
        member = self.members.pop(member_id, None)
        if member is None:
            return StreamsMember(member_id)
        if self.static_members.get(member.instance_id) == member_id:
            del self.static_members[member.instance_id]
        for held in (member.tasks, member.pending):
            for task in held.active:
                if self.runs.get(task) == member.process_id:
                    del self.runs[task]
            for task in (*held.standby, *held.warmup):
                take_one(self.copies, (task, member.process_id))
        return member

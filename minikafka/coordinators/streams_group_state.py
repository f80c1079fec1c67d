"""The state of a streams group as its records describe it (KIP-1071): its topology,
members, epochs, the target, and which process has which task.

Nothing here decides. Records come in, one at a time, live or in a replay, and lead to
the same state.
"""

from collections import Counter
from collections.abc import Mapping

from minikafka.coordinators.group_rules import (
    FIRST_EPOCH,
    NO_ASSIGNMENT_EPOCH,
    take_one,
)
from minikafka.coordinators.runtime import CoordinatorRecord
from minikafka.coordinators.streams_member import StreamsMember
from minikafka.coordinators.streams_tasks import Task, Tasks, of_record
from minikafka.coordinators.streams_topology import Topology, topology_of
from minikafka.wire.schema import Message


class StreamsGroupState:
    """Only `apply` may change it.

    group_epoch grows whenever the target must be made again; assignment_epoch is the
    group epoch that the target was made for, at assignment_timestamp_ms (wall clock).
    metadata_hash: of the topology's topics at that group epoch.
    validated_topology_epoch: of the topology whose topics were right at that time.
    assignment_configs: the assignor's configs at that time. The rest follows from the
    members: runs, the process of each active task; copies, how many members of a
    process have a task as a standby or a warm-up task.
    """

    def __init__(self) -> None:
        self.group_epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.validated_topology_epoch = 0
        self.assignment_configs: dict[str, str] = {}
        self.assignment_epoch = FIRST_EPOCH
        self.assignment_timestamp_ms = 0
        self.topology: Topology | None = None
        self.target: dict[str, Tasks] = {}
        self.members: dict[str, StreamsMember] = {}
        self.runs: dict[Task, str] = {}
        self.copies: Counter[tuple[Task, str]] = Counter()

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

    def apply(self, name: str, key: Message, value: Message | None) -> None:
        """Apply one of this group's records."""
        match name:
            case "StreamsGroupMetadata" if value is not None:
                self._set_epoch(value)
            case "StreamsGroupTopology":
                self.topology = None if value is None else topology_of(value)
            case "StreamsGroupTargetAssignmentMetadata" if value is not None:
                self.assignment_epoch = value.assignment_epoch
                self.assignment_timestamp_ms = value.assignment_timestamp
            case "StreamsGroupTargetAssignmentMetadata":
                self.assignment_epoch = NO_ASSIGNMENT_EPOCH
                self.assignment_timestamp_ms = 0
            case "StreamsGroupTargetAssignmentMember" if value is not None:
                self.target[key.member_id] = of_record(value)
            case "StreamsGroupTargetAssignmentMember":
                self.target.pop(key.member_id, None)
            case "StreamsGroupMemberMetadata":
                was = self._take_out(key.member_id)
                if value is not None:
                    self._put(was.with_metadata(value))
            case "StreamsGroupCurrentMemberAssignment" if value is not None:
                was = self._take_out(key.member_id)
                self._put(was.with_current_assignment(value))
            case "StreamsGroupCurrentMemberAssignment":
                if key.member_id in self.members:
                    was = self._take_out(key.member_id)
                    self._put(was.without_assignment())

    def _set_epoch(self, value: Message) -> None:
        self.group_epoch = value.epoch
        self.metadata_hash = value.metadata_hash
        self.validated_topology_epoch = value.validated_topology_epoch
        configs = value.last_assignment_configs or ()
        self.assignment_configs = {each.key: each.value for each in configs}

    def _put(self, member: StreamsMember) -> None:
        """Add or replace a member, and what follows from its tasks."""
        self.members[member.member_id] = member
        for held in (member.tasks, member.pending):
            for task in held.active:
                self.runs[task] = member.process_id
            for task in (*held.standby, *held.warmup):
                self.copies[task, member.process_id] += 1

    def _take_out(self, member_id: str) -> StreamsMember:
        """Remove a member and return it; a new one if it wasn't there."""
        member = self.members.pop(member_id, None)
        if member is None:
            return StreamsMember(member_id)
        for held in (member.tasks, member.pending):
            for task in held.active:
                if self.runs.get(task) == member.process_id:
                    del self.runs[task]
            for task in (*held.standby, *held.warmup):
                take_one(self.copies, (task, member.process_id))
        return member


def group_epoch_record(
    group_id: str,
    epoch: int,
    metadata_hash: int,
    validated_topology_epoch: int,
    assignment_configs: Mapping[str, str],
) -> CoordinatorRecord:
    """The record of a new group epoch, and of what it is based on."""
    configs = []
    for key, text in sorted(assignment_configs.items()):
        configs.append({"key": key, "value": text})
    value = {
        "epoch": epoch,
        "metadata_hash": metadata_hash,
        "validated_topology_epoch": validated_topology_epoch,
        "last_assignment_configs": configs,
    }
    return CoordinatorRecord("StreamsGroupMetadata", {"group_id": group_id}, value)


def target_epoch_record(group_id: str, epoch: int, wall_ms: int) -> CoordinatorRecord:
    """The record that says that there is a target for a group epoch."""
    name = "StreamsGroupTargetAssignmentMetadata"
    value = {"assignment_epoch": epoch, "assignment_timestamp": wall_ms}
    return CoordinatorRecord(name, {"group_id": group_id}, value)

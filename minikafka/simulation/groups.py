"""The cluster's consumer groups: looking at them needs no client and takes no time,
changing them takes requests.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from minikafka.clients.assigning import decode_assignment
from minikafka.clients.errors import KafkaTimeoutError, refusal
from minikafka.clients.structs import OffsetAndMetadata, TopicPartition
from minikafka.coordinators.classic_group import ClassicGroup
from minikafka.coordinators.groups import Groups
from minikafka.simulation.admin import PATIENCE_MS
from minikafka.simulation.arguments import CONFIGS, OFFSETS, TEXT, checked
from minikafka.simulation.calls import recorded
from minikafka.simulation.columns import columns
from minikafka.simulation.processes import best_informed, leading
from minikafka.simulation.topics import (
    ThroughAdmin,
    config_changes,
    hint,
    raise_refusal,
)
from minikafka.trace import printable
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import nested

GROUP = 32  # the resource type
RETRY_MS = 100


class GroupMember(NamedTuple):
    """One member, as its coordinator sees it. partitions: those assigned to it."""

    member_id: str
    client: str
    instance_id: str | None
    partitions: list[TopicPartition]


class GroupDescription(NamedTuple):
    """A group. generation: the classic generation, or the group epoch. assignor: ""
    while none is agreed on.
    """

    group: str
    type: str
    state: str
    generation: int
    assignor: str
    members: list[GroupMember]
    committed: dict[TopicPartition, int]
    lag: dict[TopicPartition, int]

    def __repr__(self) -> str:
        name, assignor = printable(self.group), self.assignor or "-"
        head = (
            f"group {name} ({self.type}): {self.state}, generation {self.generation},"
            f" {assignor}"
        )
        rows: list[list[Any]] = [["partition", "committed", "lag", "member"]]
        owner = {}
        for member in self.members:
            for partition in member.partitions:
                owner[partition] = member.client
        for partition in sorted({*owner, *self.committed}):
            committed = self.committed.get(partition, "-")
            lag = self.lag.get(partition, "-")
            rows.append([partition, committed, lag, owner.get(partition, "-")])
        lines = [head, *columns(rows)]
        idle = [member.client for member in self.members if not member.partitions]
        if idle:
            lines.append(f"without a partition: {', '.join(idle)}")
        return "\n".join(lines)


class ConsumerGroups(ThroughAdmin):
    """The consumer groups of one cluster."""

    def groups(self) -> list[str]:
        """The names of all groups, sorted."""
        return sorted(name for state in self._group_states() for name in state.groups)

    @checked(group=TEXT)
    def group(self, group: str) -> GroupDescription:
        """What the group's coordinator knows about it, and its lag."""
        state = self._group_state(group)
        found = state.groups[group]
        if isinstance(found, ClassicGroup):
            described = found.describe()
            members = list(map(_classic_member, described["members"]))
            generation = found.generation
            assignor = described["protocol_data"]
        else:
            described = found.describe()
            members = list(map(_consumer_member, described["members"]))
            generation = described["group_epoch"]
            assignor = described["assignor_name"]
        return GroupDescription(
            group=group,
            type=found.type,
            state=found.state_name,
            generation=generation,
            assignor=assignor,
            members=members,
            committed=self.committed_offsets(group),
            lag=self.lag(group),
        )

    @checked(group=TEXT)
    def committed_offsets(self, group: str) -> dict[TopicPartition, int]:
        """The offsets that the group has committed."""
        committed = self._group_state(group).offsets.committed(group)
        found = {}
        for topic, number in sorted(committed):
            partition = TopicPartition(topic, number)
            found[partition] = committed[partition].offset
        return found

    @checked(group=TEXT)
    def lag(self, group: str) -> dict[TopicPartition, int]:
        """How many records the group is behind in each partition.

        As in Kafka's tools, the lag counts from the committed offset: a partition
        without one is left out.
        """
        found = {}
        for partition, offset in self.committed_offsets(group).items():
            if partition.topic in best_informed(self._brokers).image.topics:
                leader = leading(self._brokers, *partition)
                found[partition] = leader.high_watermark - offset
        return found

    @checked(group=TEXT, configs=CONFIGS)
    @recorded
    def alter_group_configs(self, group: str, configs: Mapping[str, Any]) -> None:
        """Change configs of a group, such as {"share.auto.offset.reset": "earliest"};
        None resets one to its default. The group need not exist yet.
        """
        resource = {
            "resource_type": GROUP,
            "resource_name": group,
            "configs": config_changes(configs),
        }
        body = {"resources": [resource], "validate_only": False}
        response = self._admin.ask("IncrementalAlterConfigs", body)
        raise_refusal(response.responses[0], f"alter_group_configs({group!r})")

    @checked(group=TEXT, offsets=OFFSETS)
    @recorded
    def alter_offsets(
        self, group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata | int]
    ) -> None:
        """Set the committed offsets of a group, as kafka-consumer-groups
        --reset-offsets does; the group must have no members.
        """
        parts = []
        for (topic, number), each in offsets.items():
            offset = each if isinstance(each, int) else each.offset
            part = {
                "partition_index": number,
                "committed_offset": offset,
                "committed_metadata": "",
            }
            parts.append((topic, part))
        body = {"group_id": group, "topics": nested(parts)}
        response = self._admin.ask("OffsetCommit", body, self._coordinator_of(group))
        for topic in response.topics:
            for part in topic.partitions:
                if part.error_code:
                    error = Error(part.error_code)
                    why = f"alter_offsets({group!r}): {error.message}"
                    raise refusal(error, why)

    @checked(group=TEXT)
    @recorded
    def delete_group(self, group: str) -> None:
        """Remove a group that has no members, with its committed offsets."""
        body = {"groups_names": [group]}
        response = self._admin.ask("DeleteGroups", body, self._coordinator_of(group))
        raise_refusal(response.results[0], f"delete_group({group!r})")

    # internals

    def _group_states(self) -> list[Groups]:
        best_informed(self._brokers)
        states: list[Groups] = []
        for process in self._brokers.values():
            if process.state != "down" and process.broker.ready:
                states += process.broker.groups.loaded()
        return states

    def _group_state(self, group: str) -> Groups:
        for state in self._group_states():
            if group in state.groups:
                return state
        why = f"there is no group {group!r}; {hint(group, self.groups())}"
        raise KafkaError(Error.GROUP_ID_NOT_FOUND, why)

    def _coordinator_of(self, group: str) -> int:
        """Find the coordinator with a request, as an admin client does; the very first
        such request creates the offsets topic.
        """
        for _ in range(PATIENCE_MS // RETRY_MS):
            body = {"coordinator_keys": [group]}
            (found,) = self._admin.ask("FindCoordinator", body).coordinators
            error = Error(found.error_code)
            if error is Error.NONE:
                return int(found.node_id)
            if not error.retriable:
                raise refusal(error, found.error_message)
            self._admin.pause(RETRY_MS)
        raise KafkaTimeoutError(f"no coordinator for group {group!r} was found in time")


def _classic_member(described: Mapping[str, Any]) -> GroupMember:
    return GroupMember(
        described["member_id"],
        described["client_id"],
        described["group_instance_id"],
        decode_assignment(described["member_assignment"]),
    )


def _consumer_member(described: Mapping[str, Any]) -> GroupMember:
    return GroupMember(
        described["member_id"],
        described["client_id"],
        described.get("instance_id"),  # a share group has no static members
        _assigned(described["assignment"]),
    )


def _assigned(assignment: Mapping[str, Any]) -> list[TopicPartition]:
    return [
        TopicPartition(topic["topic_name"], number)
        for topic in assignment["topic_partitions"]
        for number in topic["partitions"]
    ]

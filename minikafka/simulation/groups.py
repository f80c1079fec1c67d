"""The cluster's consumer groups: looked at without a client and without taking time,
changed by requests.
"""

import difflib
from collections.abc import Mapping
from typing import Any, NamedTuple

from minikafka.clients.assigning import decode_assignment
from minikafka.clients.errors import KafkaTimeoutError, refusal
from minikafka.clients.structs import OffsetAndMetadata, TopicPartition
from minikafka.coordinators.classic_group import ClassicGroup
from minikafka.coordinators.groups import Groups
from minikafka.simulation.admin import PATIENCE_MS, AdminHandle
from minikafka.simulation.arguments import OFFSETS, TEXT, checked
from minikafka.simulation.calls import Book, recorded
from minikafka.simulation.overview import columns
from minikafka.simulation.processes import BrokerProcess, best_informed, leading
from minikafka.simulation.topics import raise_refusal
from minikafka.trace import printable
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import nested

RETRY_MS = 100


class GroupMember(NamedTuple):
    """One member, as its coordinator sees it. partitions: what it was given."""

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
        owner = {
            partition: member.client
            for member in self.members
            for partition in member.partitions
        }
        for partition in sorted({*owner, *self.committed}):
            offsets = [each.get(partition, "-") for each in (self.committed, self.lag)]
            rows.append([partition, *offsets, owner.get(partition, "-")])
        idle = [member.client for member in self.members if not member.partitions]
        return "\n".join(
            [
                head,
                *columns(rows),
                *([f"without a partition: {', '.join(idle)}"] if idle else []),
            ]
        )


class ConsumerGroups:
    """The consumer groups of one cluster."""

    call_name = "cluster"

    def __init__(
        self, book: Book, brokers: Mapping[int, BrokerProcess], admin: AdminHandle
    ) -> None:
        self.book = book
        self._brokers = brokers
        self._admin = admin

    def groups(self) -> list[str]:
        """Names of the groups, in order."""
        return sorted(name for state in self._group_states() for name in state.groups)

    @checked(group=TEXT)
    def group(self, group: str) -> GroupDescription:
        """What the group's coordinator knows of it, and how far it is behind."""
        state = self._group_state(group)
        found = state.groups[group]
        if isinstance(found, ClassicGroup):
            said = found.describe()
            members = [
                GroupMember(
                    each["member_id"],
                    each["client_id"],
                    each["group_instance_id"],
                    decode_assignment(each["member_assignment"]),
                )
                for each in said["members"]
            ]
            generation, assignor = found.generation, said["protocol_data"]
        else:
            said = found.describe()
            members = [
                GroupMember(
                    each["member_id"],
                    each["client_id"],
                    each["instance_id"],
                    _assigned(each["assignment"]),
                )
                for each in said["members"]
            ]
            generation, assignor = said["group_epoch"], said["assignor_name"]
        committed = self.committed_offsets(group)
        return GroupDescription(
            group,
            found.type,
            found.state_name,
            generation,
            assignor,
            members,
            committed,
            self.lag(group),
        )

    @checked(group=TEXT)
    def committed_offsets(self, group: str) -> dict[TopicPartition, int]:
        """What the group has committed."""
        offsets = self._group_state(group).offsets.of(group)
        return dict(
            sorted(
                (TopicPartition(topic, number), each.offset)
                for topic, number, each in offsets
            )
        )

    @checked(group=TEXT)
    def lag(self, group: str) -> dict[TopicPartition, int]:
        """How many records the group is behind in each partition.

        It is measured from the committed offset, as by Kafka's tools: a partition
        without one is not here.
        """
        found = {}
        for partition, offset in self.committed_offsets(group).items():
            if partition.topic in best_informed(self._brokers).image.topics:
                found[partition] = (
                    leading(self._brokers, *partition).high_watermark - offset
                )
        return found

    @checked(group=TEXT, offsets=OFFSETS)
    @recorded
    def alter_offsets(
        self, group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata | int]
    ) -> None:
        """Set what a group has committed, as kafka-consumer-groups --reset-offsets
        does; it must have no members.
        """
        parts = []
        for (topic, number), each in offsets.items():
            offset = each if isinstance(each, int) else each.offset
            parts.append(
                (
                    topic,
                    {
                        "partition_index": number,
                        "committed_offset": offset,
                        "committed_metadata": "",
                    },
                )
            )
        body = {"group_id": group, "topics": nested(parts)}
        response = self._admin.ask("OffsetCommit", body, self._coordinator_of(group))
        for topic in response.topics:
            for part in topic.partitions:
                if part.error_code:
                    raise refusal(
                        Error(part.error_code),
                        f"alter_offsets({group!r}): {Error(part.error_code).message}",
                    )

    @checked(group=TEXT)
    @recorded
    def delete_group(self, group: str) -> None:
        """Remove a group that has no members, with its committed offsets."""
        response = self._admin.ask(
            "DeleteGroups", {"groups_names": [group]}, self._coordinator_of(group)
        )
        raise_refusal(response.results[0], f"delete_group({group!r})")

    # inside

    def _group_states(self) -> list[Groups]:
        best_informed(self._brokers)
        up = [
            process.broker
            for process in self._brokers.values()
            if process.state != "down"
        ]
        return [
            state for broker in up if broker.ready for state in broker.groups.loaded()
        ]

    def _group_state(self, group: str) -> Groups:
        for state in self._group_states():
            if group in state.groups:
                return state
        names = self.groups()
        near = difflib.get_close_matches(str(group), names, 1)
        there = f"there are {', '.join(names)}" if names else "there are none yet"
        hint = f"did you mean {near[0]!r}?" if near else there
        raise KafkaError(
            Error.GROUP_ID_NOT_FOUND, f"there is no group {group!r}; {hint}"
        )

    def _coordinator_of(self, group: str) -> int:
        """Ask for it, as an admin client does; the first question of all makes the
        offsets topic.
        """
        for _ in range(PATIENCE_MS // RETRY_MS):
            found = self._admin.ask(
                "FindCoordinator", {"coordinator_keys": [group]}
            ).coordinators[0]
            error = Error(found.error_code)
            if error is Error.NONE:
                return int(found.node_id)
            if not error.retriable:
                raise refusal(error, found.error_message)
            self._admin.pause(RETRY_MS)
        raise KafkaTimeoutError(f"no coordinator for group {group!r} was found in time")


def _assigned(assignment: Mapping[str, Any]) -> list[TopicPartition]:
    return [
        TopicPartition(topic["topic_name"], number)
        for topic in assignment["topic_partitions"]
        for number in topic["partitions"]
    ]

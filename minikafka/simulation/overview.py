"""The cluster as a small table, and hints for a learner who got no records."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from minikafka.clients.structs import TopicPartition
from minikafka.simulation.columns import columns
from minikafka.simulation.consumer_handle import ConsumerHandle
from minikafka.simulation.groups import ConsumerGroups
from minikafka.simulation.handles import Handle, counted
from minikafka.simulation.kernel import Kernel
from minikafka.simulation.processes import BrokerProcess
from minikafka.simulation.producer_handle import ProducerHandle
from minikafka.simulation.share_consumer_handle import ShareConsumerHandle
from minikafka.simulation.topics import Topics
from minikafka.trace import Event
from minikafka.wire.errors import KafkaError

TOPIC_HEAD = ["topic", "partition", "leader", "first offset", "next offset"]
GROUP_HEAD = ["group", "state", "member", "partitions", "lag"]
RUNNING_HEAD = ["client or program", "state"]


class Overview:
    """Looks at one cluster. trace: its events so far."""

    def __init__(
        self,
        seed: int,
        kernel: Kernel,
        brokers: Mapping[int, BrokerProcess],
        clients: Mapping[str, Handle],
        topics: Topics,
        groups: ConsumerGroups,
        trace: Sequence[Event],
    ) -> None:
        self._seed = seed
        self._kernel = kernel
        self._brokers = brokers
        self._clients = clients
        self._topics = topics
        self._groups = groups
        self._trace = trace

    def table(self) -> str:
        """Brokers, topics, clients and programs, and records that wait for a run."""
        lines = [
            f"cluster at {self._kernel.clock.now_ms / 1000:.3f} s, seed {self._seed}"
        ]
        brokers: list[list[Any]] = [["broker", "state"]]
        for broker in self._brokers.values():
            brokers.append([broker.node_id, broker.state])
        lines += columns(brokers)
        for head, rows in (
            (TOPIC_HEAD, self._topic_rows()),
            (GROUP_HEAD, self._group_rows()),
            (RUNNING_HEAD, self._running_rows()),
        ):
            if rows:
                lines.append("")
                lines += columns([head, *rows])
        hints = self._waiting_records()
        if hints:
            lines.append("")
            lines += hints
        return "\n".join(lines)

    def _running_rows(self) -> list[list[Any]]:
        rows: list[list[Any]] = []
        for handle in self._clients.values():
            rows.append([handle.name, handle._state()])
        for program in self._kernel.programs.all:
            rows.append([f"program {program.name}", program.state])
        return rows

    def _topic_rows(self) -> list[list[Any]]:
        is_any_ready = False
        for broker in self._brokers.values():
            if broker.state != "down" and broker.broker.ready:
                is_any_ready = True
        if not is_any_ready:
            return []
        rows: list[list[Any]] = []
        for topic in self._topics.topics():
            for number in range(self._topics.partition_count(topic)):
                leader = self._topics.leader(topic, number)
                first_offset, next_offset = self._topics.log_offsets(topic, number)
                rows.append([topic, number, leader, first_offset, next_offset])
        return rows

    def _group_rows(self) -> list[list[Any]]:
        """A line for each member, with the lag of its partitions; for a group without
        members, of everything it committed.
        """
        try:
            groups = [self._groups.group(name) for name in self._groups.groups()]
        except KafkaError:
            return []  # no broker is up, or the group coordinator is still loading
        rows: list[list[Any]] = []
        for group in groups:
            head = [group.group, group.state]
            if not group.members:
                lag = sum(group.lag.values())
                rows.append([*head, "-", "-", lag])
            for member in group.members:
                lag = sum(group.lag.get(each, 0) for each in member.partitions)
                rows.append([*head, member.client, named(member.partitions), lag])
        return rows

    def _waiting_records(self) -> list[str]:
        """Hints for a forgotten run: records that still wait in a producer."""
        found = []
        for handle in self._clients.values():
            if not isinstance(handle, ProducerHandle) or handle._process.state != "up":
                continue
            number = handle.waiting_records()
            if number:
                records = counted(number, "record")
                verb = "waits" if number == 1 else "wait"
                hint = f"{records} {verb} in {handle.name}: cluster.run(seconds=1)"
                found.append(hint)
        return found

    def _why_no_partition(self, consumer: ConsumerHandle) -> list[str]:
        """The reasons why a member of a group has no partition."""
        member = consumer.core.membership
        group_id = consumer.core.config["group_id"]
        if member is not None and member.state == "stable":
            return [
                f"{consumer.name} has no partition: group {group_id} has more members"
                " than partitions to share"
            ]
        handles = self._clients.values()
        consumers = [each for each in handles if isinstance(each, ConsumerHandle)]
        asleep = [each for each in consumers if each.sleeps_in(group_id)]
        others = [each.name for each in asleep if each is not consumer]
        if others:
            return [
                f"{consumer.name} waits for group {group_id} to rebalance, which needs"
                f" all its members, and nobody polls {', '.join(others)}: poll them too,"
                " or let programs do it (cluster.start)"
            ]
        return [
            f"{consumer.name} is joining group {group_id}, which takes some seconds:"
            " poll(timeout_ms=5000)"
        ]

    def why_nothing_came(
        self, consumer: ConsumerHandle | ShareConsumerHandle
    ) -> list[str]:
        """What a learner may have overlooked if a poll at top level returned nothing;
        often there is nothing to say.
        """
        if isinstance(consumer, ShareConsumerHandle):
            return self._why_nothing_shared(consumer)
        core = consumer.core
        wanted = dict.fromkeys(core.subscription.topics)
        wanted.update(dict.fromkeys(each.topic for each in core.subscription.assigned))
        missing = self._what_is_missing(wanted)
        if missing:
            return missing
        hints = self._waiting_records()
        held = core.subscription.assigned
        if held and all(each.paused for each in held.values()):
            hints.append(
                f"{consumer.name} has paused all its partitions: consumer.resume(...)"
            )
        skipped = self._skipped_records(consumer)
        # at first one may be asked to work that out oneself
        if skipped > 0 and not core.taken and consumer.empty_polls > 1:
            hints.append(
                f'{consumer.name} began at the end (auto_offset_reset is "latest", Kafka\'s'
                f" default) and skipped {counted(skipped, 'record')}:"
                ' auto_offset_reset="earliest" begins at the oldest'
            )
        is_member = core.membership is not None and core.subscription.topics
        if not hints and not held and is_member:
            return self._why_no_partition(consumer)
        has_no_position = any(each.position is None for each in held.values())
        if not held or (not hints and has_no_position):
            hints.append(
                f"{consumer.name} is still finding its place: poll(timeout_ms=1000) lets"
                " the cluster move on"
            )
        return hints

    def _skipped_records(self, consumer: ConsumerHandle) -> int:
        """How many records a consumer doesn't see because it began at the end."""
        skipped = 0
        for partition, held in consumer.core.subscription.assigned.items():
            if held.started_at_end and held.position:
                first_offset, _ = self._topics.log_offsets(*partition)
                skipped += held.position - first_offset
        return skipped

    def _what_is_missing(self, wanted: Iterable[str]) -> list[str]:
        """Brokers that aren't up, or else topics that don't exist."""
        brokers = self._brokers.values()
        down = [str(each.node_id) for each in brokers if each.state != "up"]
        if down:
            return [f"broker {', '.join(down)} is not up: cluster.restart({down[0]})"]
        topics = self._topics.topics()
        missing = [topic for topic in wanted if topic not in topics]
        return [f"there is no topic {', '.join(missing)}"] if missing else []

    def _why_nothing_shared(self, consumer: ShareConsumerHandle) -> list[str]:
        """The same as why_nothing_came, for a member of a share group."""
        core = consumer.core
        missing = self._what_is_missing(core.subscription.topics)
        if missing:
            return missing
        hints = self._waiting_records()
        group_id = core.config["group_id"]
        if hints:
            return hints
        if not core.subscription.assigned:
            return [
                f"{consumer.name} is joining share group {group_id}, which takes some"
                " seconds: poll(timeout_ms=10000)"
            ]
        begun = [event for event in self._trace if is_acquired(event, group_id)]
        if not begun:
            return [
                f"share group {group_id} begins at the end (share.auto.offset.reset is"
                ' "latest", Kafka\'s default): cluster.alter_group_configs('
                f'{group_id!r}, {{"share.auto.offset.reset": "earliest"}}), before its'
                " first poll, begins at the oldest record"
            ]
        return []


def named(partitions: Sequence[TopicPartition]) -> str:
    """Partitions as a short text: "orders 0 1 2, payments 0"."""
    topics: dict[str, list[str]] = {}
    for topic, number in sorted(partitions):
        topics.setdefault(topic, []).append(str(number))
    if not topics:
        return "none"
    parts = []
    for topic, numbers in topics.items():
        listed = " ".join(numbers)
        parts.append(f"{topic} {listed}")
    return ", ".join(parts)


def is_acquired(event: Event, group_id: str) -> bool:
    kind = event.kind == "ShareRecordsAcquired"
    return kind and bool(event.detail["group"] == group_id)

"""The cluster as a small table, and hints for a learner who got no records."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from minikafka.clients.structs import TopicPartition
from minikafka.simulation.consumer_handle import ConsumerHandle
from minikafka.simulation.handles import counted
from minikafka.simulation.producer_handle import ProducerHandle
from minikafka.simulation.share_consumer_handle import ShareConsumerHandle
from minikafka.trace import Event, printable
from minikafka.wire.errors import KafkaError

if TYPE_CHECKING:
    from minikafka.simulation.cluster import Cluster


TOPIC_HEAD = ["topic", "partition", "leader", "first offset", "next offset"]
GROUP_HEAD = ["group", "state", "member", "partitions", "lag"]
RUNNING_HEAD = ["client or program", "state"]


def table(cluster: "Cluster") -> str:
    """Brokers, topics, clients and programs, and records that wait for a run."""
    lines = [f"cluster at {cluster.now_ms / 1000:.3f} s, seed {cluster.seed}"]
    brokers: list[list[Any]] = [["broker", "state"]]
    for broker in cluster._brokers.values():
        brokers.append([broker.node_id, broker.state])
    lines += columns(brokers)
    for head, rows in (
        (TOPIC_HEAD, topic_rows(cluster)),
        (GROUP_HEAD, group_rows(cluster)),
        (RUNNING_HEAD, running_rows(cluster)),
    ):
        if rows:
            lines.append("")
            lines += columns([head, *rows])
    hints = waiting_records(cluster)
    if hints:
        lines.append("")
        lines += hints
    return "\n".join(lines)


def running_rows(cluster: "Cluster") -> list[list[Any]]:
    rows: list[list[Any]] = []
    for handle in cluster._clients.values():
        rows.append([handle.name, handle._state()])
    for program in cluster.kernel.programs.all:
        rows.append([f"program {program.name}", program.state])
    return rows


def topic_rows(cluster: "Cluster") -> list[list[Any]]:
    is_any_ready = False
    for broker in cluster._brokers.values():
        if broker.state != "down" and broker.broker.ready:
            is_any_ready = True
    if not is_any_ready:
        return []
    rows: list[list[Any]] = []
    for topic in cluster.topics():
        for number in range(cluster.partition_count(topic)):
            leader = cluster.leader(topic, number)
            first_offset, next_offset = cluster.log_offsets(topic, number)
            rows.append([topic, number, leader, first_offset, next_offset])
    return rows


def group_rows(cluster: "Cluster") -> list[list[Any]]:
    """A line for each member, with the lag of its partitions; for a group without
    members, of everything it committed.
    """
    try:
        groups = [cluster.group(name) for name in cluster.groups()]
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


def columns(rows: Sequence[Sequence[Any]]) -> list[str]:
    """Rows as aligned text, one line each: numbers to the right, everything else to the
    left.
    """
    shown = [[printable(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = []
    for row, words in zip(rows, shown, strict=True):
        cells = []
        for cell, word, width in zip(row, words, widths, strict=True):
            if isinstance(cell, int):
                cells.append(word.rjust(width))
            else:
                cells.append(word.ljust(width))
        lines.append("  ".join(cells).rstrip())
    return lines


def waiting_records(cluster: "Cluster") -> list[str]:
    """Hints for a forgotten run: records that still wait in a producer."""
    found = []
    for handle in cluster._clients.values():
        if not isinstance(handle, ProducerHandle) or handle._process.state != "up":
            continue
        number = handle.waiting_records()
        if number:
            records = counted(number, "record")
            verb = "waits" if number == 1 else "wait"
            hint = f"{records} {verb} in {handle.name}: cluster.run(seconds=1)"
            found.append(hint)
    return found


def why_no_partition(cluster: "Cluster", consumer: ConsumerHandle) -> list[str]:
    """The reasons why a member of a group has no partition."""
    member = consumer.core.membership
    group_id = consumer.core.config["group_id"]
    if member is not None and member.state == "stable":
        return [
            f"{consumer.name} has no partition: group {group_id} has more members than"
            " partitions to share"
        ]
    handles = cluster._clients.values()
    consumers = [each for each in handles if isinstance(each, ConsumerHandle)]
    asleep = [each for each in consumers if each.sleeps_in(group_id)]
    others = [each.name for each in asleep if each is not consumer]
    if others:
        return [
            f"{consumer.name} waits for group {group_id} to rebalance, which needs all"
            f" its members, and nobody polls {', '.join(others)}: poll them too, or let"
            " programs do it (cluster.start)"
        ]
    return [
        f"{consumer.name} is joining group {group_id}, which takes some seconds:"
        " poll(timeout_ms=5000)"
    ]


def why_nothing_came(
    cluster: "Cluster", consumer: ConsumerHandle, timeout_ms: float
) -> list[str]:
    """What a learner may have overlooked if a poll at top level returned nothing; often
    there is nothing to say.
    """
    core = consumer.core
    wanted = dict.fromkeys(core.topics)
    wanted.update(dict.fromkeys(each.topic for each in core.assigned))
    missing = what_is_missing(cluster, wanted)
    if missing:
        return missing
    hints = waiting_records(cluster)
    held = core.assigned
    if held and all(each.paused for each in held.values()):
        hints.append(
            f"{consumer.name} has paused all its partitions: consumer.resume(...)"
        )
    skipped = skipped_records(cluster, consumer)
    if skipped > 0 and not core.taken:
        hints.append(
            f'{consumer.name} began at the end (auto_offset_reset is "latest", Kafka\'s'
            f" default) and skipped {counted(skipped, 'record')}:"
            ' auto_offset_reset="earliest" begins at the oldest'
        )
    is_member = core.membership is not None and core.topics
    if not hints and not held and is_member:
        return why_no_partition(cluster, consumer)
    has_no_position = any(each.position is None for each in held.values())
    if not held or (not hints and has_no_position):
        hints.append(
            f"{consumer.name} is still finding its place: poll(timeout_ms=1000) lets"
            " the cluster move on"
        )
    return hints


def skipped_records(cluster: "Cluster", consumer: ConsumerHandle) -> int:
    """How many records a consumer doesn't see because it began at the end."""
    skipped = 0
    for partition, held in consumer.core.assigned.items():
        if held.started_at_end and held.position:
            first_offset, _ = cluster.log_offsets(*partition)
            skipped += held.position - first_offset
    return skipped


def what_is_missing(cluster: "Cluster", wanted: Iterable[str]) -> list[str]:
    """Brokers that aren't up, or else topics that don't exist."""
    brokers = cluster._brokers.values()
    down = [str(each.node_id) for each in brokers if each.state != "up"]
    if down:
        return [f"broker {', '.join(down)} is not up: cluster.restart({down[0]})"]
    topics = cluster.topics()
    missing = [topic for topic in wanted if topic not in topics]
    return [f"there is no topic {', '.join(missing)}"] if missing else []


def why_nothing_shared(cluster: "Cluster", consumer: ShareConsumerHandle) -> list[str]:
    """The same as why_nothing_came, for a member of a share group."""
    core = consumer.core
    missing = what_is_missing(cluster, core.topics)
    if missing:
        return missing
    hints = waiting_records(cluster)
    group_id = core.config["group_id"]
    if hints:
        return hints
    if not core.assigned:
        return [
            f"{consumer.name} is joining share group {group_id}, which takes some"
            " seconds: poll(timeout_ms=10000)"
        ]
    begun = [event for event in cluster.trace if is_acquired(event, group_id)]
    if not begun:
        return [
            f"share group {group_id} begins at the end (share.auto.offset.reset is"
            ' "latest", Kafka\'s default): cluster.alter_group_configs('
            f'{group_id!r}, {{"share.auto.offset.reset": "earliest"}}), before its'
            " first poll, begins at the oldest record"
        ]
    return []


def is_acquired(event: Event, group_id: str) -> bool:
    kind = event.kind == "ShareRecordsAcquired"
    return kind and bool(event.detail["group"] == group_id)

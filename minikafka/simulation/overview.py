"""The cluster as a small table, and the lines that help when nothing came."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from minikafka.clients.structs import TopicPartition
from minikafka.simulation.consumer_handle import ConsumerHandle
from minikafka.simulation.handles import counted
from minikafka.simulation.producer_handle import ProducerHandle
from minikafka.trace import printable
from minikafka.wire.errors import KafkaError

if TYPE_CHECKING:
    from minikafka.simulation.cluster import Cluster


def table(cluster: "Cluster") -> str:
    """Brokers, topics, clients and programs, and what waits for a run."""
    lines = [f"cluster at {cluster.now_ms / 1000:.3f} s, seed {cluster.seed}"]
    lines += columns(
        [["broker", "state"]]
        + [[each.node_id, each.state] for each in cluster._brokers.values()]
    )
    rows = topic_rows(cluster)
    if rows:
        lines += [
            "",
            *columns(
                [["topic", "partition", "leader", "first offset", "next offset"], *rows]
            ),
        ]
    groups = group_rows(cluster)
    if groups:
        lines += [
            "",
            *columns([["group", "state", "member", "partitions", "lag"], *groups]),
        ]
    running: list[list[Any]] = [
        [each.name, each._state()] for each in cluster._clients.values()
    ]
    running += [
        [f"program {each.name}", each.state] for each in cluster.kernel.programs.all
    ]
    if running:
        lines += ["", *columns([["client or program", "state"], *running])]
    hints = waiting_records(cluster)
    return "\n".join(lines + (["", *hints] if hints else []))


def topic_rows(cluster: "Cluster") -> list[list[Any]]:
    if not any(
        each.state != "down" and each.broker.ready for each in cluster._brokers.values()
    ):
        return []
    return [
        [
            topic,
            number,
            cluster.leader(topic, number),
            *cluster.log_offsets(topic, number),
        ]
        for topic in cluster.topics()
        for number in range(cluster.partition_count(topic))
    ]


def group_rows(cluster: "Cluster") -> list[list[Any]]:
    """A line for each member, with the lag of its partitions; for a group without
    members, of all it committed.
    """
    try:
        groups = [cluster.group(name) for name in cluster.groups()]
    except KafkaError:
        return []  # no broker is up, or it reads the groups back from its log
    rows: list[list[Any]] = []
    for group in groups:
        if not group.members:
            rows.append([group.group, group.state, "-", "-", sum(group.lag.values())])
        for member in group.members:
            lag = sum(group.lag.get(partition, 0) for partition in member.partitions)
            rows.append(
                [group.group, group.state, member.client, named(member.partitions), lag]
            )
    return rows


def named(partitions: Sequence[TopicPartition]) -> str:
    """Partitions as a short text: "orders 0 1 2, payments 0"."""
    topics: dict[str, list[str]] = {}
    for topic, number in sorted(partitions):
        topics.setdefault(topic, []).append(str(number))
    return (
        ", ".join(f"{topic} {' '.join(numbers)}" for topic, numbers in topics.items())
        or "none"
    )


def columns(rows: Sequence[Sequence[Any]]) -> list[str]:
    """Rows as aligned text, a line each: numbers to the right, all else to the left."""
    shown = [[printable(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = []
    for row, words in zip(rows, shown, strict=True):
        cells = [
            word.rjust(width) if isinstance(cell, int) else word.ljust(width)
            for cell, word, width in zip(row, words, widths, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def waiting_records(cluster: "Cluster") -> list[str]:
    """The forgotten run."""
    found = []
    for handle in cluster._clients.values():
        if (
            isinstance(handle, ProducerHandle)
            and handle._process.state == "up"
            and handle.waiting_records()
        ):
            number = handle.waiting_records()
            verb = "waits" if number == 1 else "wait"
            found.append(
                f"{counted(number, 'record')} {verb} in {handle.name}:"
                " cluster.run(seconds=1)"
            )
    return found


def why_no_partition(cluster: "Cluster", consumer: ConsumerHandle) -> list[str]:
    """What keeps a member of a group from having one."""
    member, group_id = consumer.core.membership, consumer.core.config["group_id"]
    if member is not None and member.state == "stable":
        return [
            f"{consumer.name} has no partition: group {group_id} has more members than"
            " partitions to share"
        ]
    others = [
        each.name
        for each in cluster._clients.values()
        if isinstance(each, ConsumerHandle)
        and each is not consumer
        and each.sleeps_in(group_id)
    ]
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
    """What a learner may have overlooked when a poll at top level gave nothing; often
    there is nothing to say.
    """
    core = consumer.core
    down = [
        str(each.node_id) for each in cluster._brokers.values() if each.state != "up"
    ]
    if down:
        return [f"broker {', '.join(down)} is not up: cluster.restart({down[0]})"]
    topics = cluster.topics()
    missing = [
        topic
        for topic in dict.fromkeys(
            [*core.topics, *(each.topic for each in core.assigned)]
        )
        if topic not in topics
    ]
    if missing:
        return [f"there is no topic {', '.join(missing)}"]
    hints = waiting_records(cluster)
    held = core.assigned
    if held and all(each.paused for each in held.values()):
        hints.append(
            f"{consumer.name} has paused all its partitions: consumer.resume(...)"
        )
    skipped = {
        partition: each.position
        for partition, each in held.items()
        if each.started_at_end and each.position
    }
    behind = sum(
        position - cluster.log_offsets(*partition)[0]
        for partition, position in skipped.items()
    )
    if behind > 0 and not core.taken:
        hints.append(
            f'{consumer.name} began at the end (auto_offset_reset is "latest", Kafka\'s'
            f" default) and skipped {counted(behind, 'record')}:"
            ' auto_offset_reset="earliest" begins at the oldest'
        )
    if not hints and core.membership is not None and core.topics and not held:
        hints = why_no_partition(cluster, consumer)
    elif not held or (
        not hints and any(each.position is None for each in held.values())
    ):
        hints.append(
            f"{consumer.name} is still finding its place: poll(timeout_ms=1000) lets"
            " the cluster move on"
        )
    return hints

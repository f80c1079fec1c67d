"""What a node says of itself as metrics: one row each, with how it is read.

Names are those that Prometheus' JMX exporter makes of Apache Kafka's MBeans with the
rules of its example kafka-kraft-3_0_0.yml, so that dashboards and alerts for Apache
Kafka fit: `kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions` is
`kafka_server_replicamanager_underreplicatedpartitions`. (Releases of the exporter from
1.0 on put `_total` behind `_count`, too.) What no MBean of Apache Kafka shows has a
name that begins with `minikafka_`.

Gauges are computed here, from what the node holds. Only what can't be computed is
counted, in counters.py. A consumer's lag is no metric of a broker, in Apache Kafka as
here: a partition's log end offset is at its leader, a group's committed offset at its
coordinator, and whoever collects both subtracts.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from minikafka.broker.counters import Counters, Traffic
from minikafka.cluster.metadata import NO_LEADER, Image, Partition, TopicPartition
from minikafka.cluster.quorum import Quorum
from minikafka.cluster.replica import Replica
from minikafka.coordinators.coordinator import GroupCoordinator

GAUGE, COUNTER = "gauge", "counter"
# as Apache Kafka's histograms have them
QUANTILES = ("0.50", "0.75", "0.95", "0.98", "0.99", "0.999")


class Measured(NamedTuple):
    """What metrics are read from. replicas: all of this node, without that of the
    metadata log.
    """

    node_id: int
    replicas: Mapping[TopicPartition, Replica]
    image: Image
    quorum: Quorum
    groups: GroupCoordinator
    counters: Counters


Reading = tuple[tuple[str, ...], float]  # the labels' values, and the metric's


class Metric(NamedTuple):
    """labels: their names; a reading may leave out the last ones. A metric without
    readings isn't shown.
    """

    name: str
    type: str
    help: str
    labels: tuple[str, ...]
    read: Callable[[Measured], Iterable[Reading]]


# -- how they are read


def single(read: Callable[[Measured], float]) -> Callable[[Measured], list[Reading]]:
    """Of the node as a whole."""
    return lambda node: [((), read(node))]


def leading(
    holds: Callable[[Replica], bool],
) -> Callable[[Measured], list[Reading]]:
    """How many of the partitions that this node leads are so."""

    def count(node: Measured) -> int:
        return sum(each.is_leader and holds(each) for each in node.replicas.values())

    return single(count)


def each_partition(
    read: Callable[[Replica], float],
) -> Callable[[Measured], Iterator[Reading]]:
    """Of each partition with a replica on this node: 0 if another node leads it."""

    def of_each(node: Measured) -> Iterator[Reading]:
        for (topic, number), replica in node.replicas.items():
            yield (topic, str(number)), read(replica) if replica.is_leader else 0

    return of_each


def each_log(
    read: Callable[[Replica], float],
) -> Callable[[Measured], Iterator[Reading]]:
    """Of each log on this node, the metadata log too."""

    def of_each(node: Measured) -> Iterator[Reading]:
        for replica in (node.quorum.replica, *node.replicas.values()):
            log = replica.log
            yield (log.topic, str(log.partition)), read(replica)

    return of_each


def controllers(
    read: Callable[[Measured], float],
) -> Callable[[Measured], list[Reading]]:
    """Of a node that votes: the others are brokers alone, and know nothing of this."""

    def of_controller(node: Measured) -> list[Reading]:
        is_voter = node.node_id in node.quorum.replica.partition.replicas
        return [((), read(node))] if is_voter else []

    return of_controller


def partitions(
    holds: Callable[[Partition], bool] = lambda partition: True,
) -> Callable[[Measured], list[Reading]]:
    """How many of all partitions of the cluster are so."""

    def count(node: Measured) -> int:
        return sum(holds(each) for _, _, each in node.image.all_partitions())

    return controllers(count)


def brokers(fenced: bool) -> Callable[[Measured], list[Reading]]:
    def count(node: Measured) -> int:
        return sum(each.fenced is fenced for each in node.image.brokers.values())

    return controllers(count)


def traffic(
    read: Callable[[Traffic], int],
) -> Callable[[Measured], Iterator[Reading]]:
    """Of all topics together, then of each topic that had some."""

    def of_topics(node: Measured) -> Iterator[Reading]:
        yield (), read(node.counters.total)
        for topic, one in node.counters.topics.items():
            if read(one):
                yield (topic,), read(one)

    return of_topics


def factor(partition: Partition) -> int:
    """The replication factor; while replicas are added, that of before."""
    return len(set(partition.replicas) - set(partition.adding_replicas))


def enough(replica: Replica) -> int:
    """How many must be in sync: min.insync.replicas, or all if there are fewer."""
    return min(replica.min_insync_replicas, len(replica.partition.replicas))


def is_under_replicated(replica: Replica) -> bool:
    return len(replica.partition.isr) < factor(replica.partition)


def is_under_min_isr(replica: Replica) -> bool:
    return not replica.enough_in_sync


def is_at_min_isr(replica: Replica) -> bool:
    return len(replica.partition.isr) == enough(replica)


def is_without_leader(partition: Partition) -> bool:
    return partition.leader == NO_LEADER


def is_led_by_another(partition: Partition) -> bool:
    """Whether another than the preferred leader leads, or none."""
    return partition.leader != partition.replicas[0]


def requests(node: Measured) -> Iterator[Reading]:
    for (api, version), count in node.counters.requests.items():
        yield (api, str(version)), count


def request_counts(node: Measured) -> Iterator[Reading]:
    for api, times in node.counters.times.items():
        yield (api,), times.count


def request_times(node: Measured) -> Iterator[Reading]:
    for api, times in node.counters.times.items():
        ascending = sorted(times.recent_ms)
        for text in QUANTILES:
            yield (api, text), quantile(ascending, float(text))


def quantile(ascending: Sequence[int], part: float) -> float:
    """As Apache Kafka's histograms have it: between two values, in proportion."""
    place = part * (len(ascending) + 1)
    before = int(place)
    if before < 1:
        return ascending[0]
    if before >= len(ascending):
        return ascending[-1]
    lower, upper = ascending[before - 1], ascending[before]
    return lower + (place - before) * (upper - lower)


def shards(node: Measured) -> list[Any]:
    """The groups of each partition that this node coordinates."""
    return [each.state for each in node.groups.shards.values() if each.is_loaded]


def kinds(node: Measured) -> Counter[tuple[str, str]]:
    """How many groups there are, by kind and state."""
    found: Counter[tuple[str, str]] = Counter()
    for shard in shards(node):
        for group in shard.groups.values():
            found[group.type, group.state_name] += 1
    return found


def groups(kind: str, state: str | None = None) -> Callable[[Measured], list[Reading]]:
    def count(node: Measured) -> int:
        counted = kinds(node)
        if state is not None:
            return counted[kind, state]
        return sum(counted[each] for each in counted if each[0] == kind)

    return single(count)


def committed_offsets(node: Measured) -> Iterator[Reading]:
    for shard in shards(node):
        for group in shard.offsets.groups():
            for (topic, number), one in shard.offsets.committed(group).items():
                yield (group, topic, str(number)), one.offset


def offsets(node: Measured) -> int:
    return sum(1 for _ in committed_offsets(node))


# -- the metrics

TOPIC = ("topic",)
TOPIC_PARTITION = ("topic", "partition")
_REPLICAS = "kafka_server_replicamanager_"
_CONTROLLER = "kafka_controller_kafkacontroller_"
_TOPICS = "kafka_server_brokertopicmetrics_"
_REQUESTS = "kafka_network_requestmetrics_"
_CLASSIC_GROUPS = "kafka_coordinator_group_groupmetadatamanager_"
_ALL_GROUPS = "kafka_server_group_coordinator_metrics_"

METRICS: tuple[Metric, ...] = (
    # of the replicas on this node
    Metric(
        _REPLICAS + "partitioncount",
        GAUGE,
        "Replicas on this broker.",
        (),
        single(lambda node: len(node.replicas)),
    ),
    Metric(
        _REPLICAS + "leadercount",
        GAUGE,
        "Partitions that this broker leads.",
        (),
        leading(lambda replica: True),
    ),
    Metric(
        _REPLICAS + "underreplicatedpartitions",
        GAUGE,
        "Partitions that this broker leads and that lack in-sync replicas.",
        (),
        leading(is_under_replicated),
    ),
    Metric(
        _REPLICAS + "underminisrpartitioncount",
        GAUGE,
        "Partitions that this broker leads, with fewer in-sync replicas than"
        " min.insync.replicas: acks=all is refused.",
        (),
        leading(is_under_min_isr),
    ),
    Metric(
        _REPLICAS + "atminisrpartitioncount",
        GAUGE,
        "Partitions that this broker leads, with just min.insync.replicas in sync.",
        (),
        leading(is_at_min_isr),
    ),
    Metric(
        _REPLICAS + "reassigningpartitions",
        GAUGE,
        "Partitions that this broker leads and that are moving to other brokers.",
        (),
        leading(lambda replica: replica.partition.is_reassigning),
    ),
    Metric(
        _REPLICAS + "offlinereplicacount",
        GAUGE,
        "Replicas in a log directory that failed: a broker here has one, and stops"
        " when it fails.",
        (),
        single(lambda node: 0),
    ),
    Metric(
        _REPLICAS + "isrshrinks_total",
        COUNTER,
        "ISRs that this broker had made smaller, as their leader.",
        (),
        single(lambda node: node.counters.isr_shrinks),
    ),
    Metric(
        _REPLICAS + "isrexpands_total",
        COUNTER,
        "ISRs that this broker had made larger, as their leader.",
        (),
        single(lambda node: node.counters.isr_expands),
    ),
    # of the cluster
    Metric(
        _CONTROLLER + "activecontrollercount",
        GAUGE,
        "1 on the active controller, 0 on the others.",
        (),
        controllers(lambda node: node.quorum.is_leader),
    ),
    Metric(
        _CONTROLLER + "activebrokercount",
        GAUGE,
        "Brokers that are not fenced.",
        (),
        brokers(fenced=False),
    ),
    Metric(
        _CONTROLLER + "fencedbrokercount",
        GAUGE,
        "Registered brokers that are fenced.",
        (),
        brokers(fenced=True),
    ),
    Metric(
        _CONTROLLER + "globaltopiccount",
        GAUGE,
        "Topics of the cluster.",
        (),
        controllers(lambda node: len(node.image.topics)),
    ),
    Metric(
        _CONTROLLER + "globalpartitioncount",
        GAUGE,
        "Partitions of the cluster.",
        (),
        partitions(),
    ),
    Metric(
        _CONTROLLER + "offlinepartitionscount",
        GAUGE,
        "Partitions of the cluster without a leader.",
        (),
        partitions(is_without_leader),
    ),
    Metric(
        _CONTROLLER + "preferredreplicaimbalancecount",
        GAUGE,
        "Partitions of the cluster that their preferred leader does not lead.",
        (),
        partitions(is_led_by_another),
    ),
    Metric(
        "kafka_controller_controllerstats_uncleanleaderelections_total",
        COUNTER,
        "Leaders that were elected although they may lack committed records.",
        (),
        controllers(lambda node: node.counters.unclean_elections),
    ),
    # of topics
    Metric(
        _TOPICS + "messagesin_total",
        COUNTER,
        "Records appended by this broker as a leader; without a topic: of all.",
        TOPIC,
        traffic(lambda one: one.messages_in),
    ),
    Metric(
        _TOPICS + "bytesin_total",
        COUNTER,
        "Bytes appended by this broker as a leader; without a topic: of all.",
        TOPIC,
        traffic(lambda one: one.bytes_in),
    ),
    Metric(
        _TOPICS + "bytesout_total",
        COUNTER,
        "Bytes sent to consumers; without a topic: of all.",
        TOPIC,
        traffic(lambda one: one.bytes_out),
    ),
    Metric(
        _TOPICS + "replicationbytesin_total",
        COUNTER,
        "Bytes appended by this broker as a follower.",
        (),
        single(lambda node: node.counters.replication_bytes_in),
    ),
    Metric(
        _TOPICS + "replicationbytesout_total",
        COUNTER,
        "Bytes sent to followers.",
        (),
        single(lambda node: node.counters.replication_bytes_out),
    ),
    # of requests
    Metric(
        _REQUESTS + "requests_total",
        COUNTER,
        "Requests that were answered.",
        ("request", "version"),
        requests,
    ),
    Metric(
        _REQUESTS + "totaltimems_count",
        COUNTER,
        "Requests whose time was taken.",
        ("request",),
        request_counts,
    ),
    Metric(
        _REQUESTS + "totaltimems",
        GAUGE,
        "Whole milliseconds from a request to its answer, over the latest 1,024.",
        ("request", "quantile"),
        request_times,
    ),
    # of logs and partitions
    Metric(
        "kafka_log_log_logstartoffset",
        GAUGE,
        "The first offset that may be read.",
        TOPIC_PARTITION,
        each_log(lambda replica: replica.log.log_start_offset),
    ),
    Metric(
        "kafka_log_log_logendoffset",
        GAUGE,
        "The offset that the next record gets.",
        TOPIC_PARTITION,
        each_log(lambda replica: replica.log.log_end_offset),
    ),
    Metric(
        "kafka_log_log_size",
        GAUGE,
        "Bytes of a log's segments.",
        TOPIC_PARTITION,
        each_log(lambda replica: replica.log.size_bytes),
    ),
    Metric(
        "kafka_log_log_numlogsegments",
        GAUGE,
        "Segments of a log.",
        TOPIC_PARTITION,
        each_log(lambda replica: len(replica.log.segments)),
    ),
    Metric(
        "kafka_cluster_partition_underreplicated",
        GAUGE,
        "1 at the leader if in-sync replicas are lacking, else 0.",
        TOPIC_PARTITION,
        each_partition(is_under_replicated),
    ),
    Metric(
        "kafka_cluster_partition_underminisr",
        GAUGE,
        "1 at the leader if fewer than min.insync.replicas are in sync, else 0.",
        TOPIC_PARTITION,
        each_partition(is_under_min_isr),
    ),
    Metric(
        "kafka_cluster_partition_insyncreplicascount",
        GAUGE,
        "In-sync replicas; 0 at a follower.",
        TOPIC_PARTITION,
        each_partition(lambda replica: len(replica.partition.isr)),
    ),
    Metric(
        "kafka_cluster_partition_laststableoffsetlag",
        GAUGE,
        "How many offsets read_committed lags behind the high watermark; 0 at a"
        " follower.",
        TOPIC_PARTITION,
        each_partition(
            lambda replica: replica.high_watermark - replica.last_stable_offset
        ),
    ),
    # of groups
    *(
        Metric(
            f"{_CLASSIC_GROUPS}numgroups{state.lower()}",
            GAUGE,
            f"Groups of the classic protocol that this broker coordinates{said}.",
            (),
            groups("classic", state or None),
        )
        for state, said in (
            ("", ""),
            ("PreparingRebalance", ": state PreparingRebalance"),
            ("CompletingRebalance", ": state CompletingRebalance"),
            ("Stable", ": state Stable"),
            ("Empty", ": state Empty"),
            ("Dead", ": state Dead"),
        )
    ),
    Metric(
        _CLASSIC_GROUPS + "numoffsets",
        GAUGE,
        "Committed offsets of the groups that this broker coordinates.",
        (),
        single(offsets),
    ),
    *(
        Metric(
            f"{_ALL_GROUPS}protocol_{kind}_group_count",
            GAUGE,
            f"Groups of the {kind} protocol that this broker coordinates.",
            (),
            groups(kind),
        )
        for kind in ("classic", "consumer", "share", "streams")
    ),
    *(
        Metric(
            f"{_ALL_GROUPS}state_{state.lower()}_consumer_group_count",
            GAUGE,
            f"Groups of the consumer protocol in state {state} (KIP-848).",
            (),
            groups("consumer", state),
        )
        for state in ("Empty", "Assigning", "Reconciling", "Stable", "Dead")
    ),
    Metric(
        "minikafka_group_committed_offset",
        GAUGE,
        "A group's committed offset, at its coordinator: Apache Kafka has no metric of"
        " it.",
        ("group", "topic", "partition"),
        committed_offsets,
    ),
)


# -- as text


def exposition(node: Measured) -> Iterator[str]:
    """The metrics in Prometheus' text format, one after the other."""
    for metric in METRICS:
        lines = []
        for values, value in metric.read(node):
            pairs = zip(metric.labels, values, strict=False)
            labels = ",".join(f'{name}="{escaped(text)}"' for name, text in pairs)
            shown = f"{metric.name}{{{labels}}}" if labels else metric.name
            exact = value if isinstance(value, float) else int(value)
            lines.append(f"{shown} {exact}\n")
        if lines:
            yield (
                f"# HELP {metric.name} {metric.help}\n# TYPE {metric.name}"
                f" {metric.type}\n{''.join(lines)}"
            )


def escaped(text: str) -> str:
    """A label's value: what ends it, or a line, is escaped."""
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

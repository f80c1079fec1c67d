"""A monitoring system's view: the brokers' own numbers, over time."""

from collections.abc import Callable
from typing import NamedTuple

from minikafka.course.on_call.columns import columns
from minikafka.course.on_call.log_lines import clock
from minikafka.course.on_call.monitoring import SAMPLE_MS, Sample
from minikafka.course.on_call.usage import Given, whole_or
from minikafka.course.on_call.world import World

MINUTE_MS = 60_000
ROWS = 15


class Metric(NamedTuple):
    """mbean: Kafka's name. worst: how a minute's samples become one number: the
    largest, the smallest, or the sum.
    """

    heading: str
    mbean: str
    of: Callable[[Sample], int]
    worst: Callable[[list[int]], int] = max


METRICS = (
    Metric(
        "UnderReplicated",
        "kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions",
        lambda sample: sample.under_replicated,
    ),
    Metric(
        "Offline",
        "kafka.controller:type=KafkaController,name=OfflinePartitionsCount",
        lambda sample: sample.offline,
    ),
    Metric(
        "UnderMinIsr",
        "kafka.server:type=ReplicaManager,name=UnderMinIsrPartitionCount",
        lambda sample: sample.under_min_isr,
    ),
    Metric(
        "IsrShrinks",
        "kafka.server:type=ReplicaManager,name=IsrShrinksPerSec",
        lambda sample: sample.isr_shrinks,
        sum,
    ),
    Metric(
        "FailedProduce",
        "kafka.server:type=BrokerTopicMetrics,name=FailedProduceRequestsPerSec",
        lambda sample: sample.failed_produces,
        sum,
    ),
    Metric(
        "ActiveControllers",
        "kafka.controller:type=KafkaController,name=ActiveControllerCount",
        lambda sample: sample.controllers,
        min,
    ),
)


def metrics(world: World, given: Given) -> str:
    """The last minutes, a row each; --names says which numbers these are."""
    if "--names" in given:
        named = [(metric.heading, metric.mbean) for metric in METRICS]
        return columns(named, least=[17])
    most = whole_or(given, "--minutes", ROWS)
    minutes = list(by_minute(world.samples).items())
    shown = minutes[-most:] if most else []
    groups = [app.name for app in world.readers]
    rows = [_headings(groups)]
    for minute, samples in shown:
        time = clock(minute * MINUTE_MS)[:5]
        rows.append([time, *_numbers(samples, groups)])
    return columns(rows, between="  ", align=str.rjust)


def _headings(groups: list[str]) -> list[str]:
    """The headings above the numbers."""
    own = [metric.heading for metric in METRICS]
    lags = [f"lag({group})" for group in groups]
    return ["time", *own, *lags, "errors(shop)"]


def _numbers(samples: list[Sample], groups: list[str]) -> list[str]:
    """The numbers of one minute."""
    found = []
    for metric in METRICS:
        values = list(map(metric.of, samples))
        found.append(metric.worst(values))
    for group in groups:
        found.append(samples[-1].lag[group])
    found.append(sum(sample.refused for sample in samples))
    return list(map(str, found))


def by_minute(samples: list[Sample]) -> dict[int, list[Sample]]:
    """The samples of each minute, in order."""
    found: dict[int, list[Sample]] = {}
    for sample in samples:
        minute = (sample.at_ms - SAMPLE_MS) // MINUTE_MS
        found.setdefault(minute, []).append(sample)
    return found

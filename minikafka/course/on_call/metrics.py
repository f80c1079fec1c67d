"""What a monitoring system shows: the brokers' own numbers, over time."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from minikafka.course.on_call.commands import Given, Refused
from minikafka.course.on_call.world import SAMPLE_MS, Sample

if TYPE_CHECKING:
    from minikafka.course.on_call.world import World

MINUTE_MS = 60_000
ROWS = 15


class Metric(NamedTuple):
    """mbean: Kafka's name. worst: the minute shows its largest or its smallest value,
    or their sum.
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


def metrics(world: "World", given: Given) -> str:
    """The last minutes, a row each; --names says which numbers these are."""
    if "--names" in given:
        return "\n".join(f"{each.heading:17} {each.mbean}" for each in METRICS)
    minutes = by_minute(world.samples)
    if "--minutes" in given:
        if not given["--minutes"].isdigit():
            raise Refused("--minutes is a whole number.")
        shown = list(minutes.items())[-int(given["--minutes"]) :]
    else:
        shown = list(minutes.items())[-ROWS:]
    groups = [app.name for app in world.readers()]
    rows = [["time", *(each.heading for each in METRICS)]]
    rows[0] += [f"lag({name})" for name in groups]
    rows[0].append("errors(shop)")
    for minute, samples in shown:
        row = [world.clock(minute * MINUTE_MS)[:5]]
        for metric in METRICS:
            row.append(str(metric.worst(list(map(metric.of, samples)))))
        row += [str(samples[-1].lag[name]) for name in groups]
        row.append(str(sum(each.refused for each in samples)))
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(wide)
            for cell, wide in zip(
                row,
                widths,
                strict=True,
            )
        )
        for row in rows
    )


def by_minute(samples: list[Sample]) -> dict[int, list[Sample]]:
    """Those of each minute, in order."""
    found: dict[int, list[Sample]] = {}
    for sample in samples:
        minute = (sample.at_ms - SAMPLE_MS) // MINUTE_MS
        found.setdefault(minute, []).append(sample)
    return found

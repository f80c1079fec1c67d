"""Metadata logs of lesson 11: records, named logs, and random ones in which each
decision fits what was decided before.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Any

from minikafka.course.experiments.lesson_11_runs import image_of

Change = tuple[str, dict[str, Any]]  # type, fields
Record = tuple[int, str, dict[str, Any]]  # offset, type, fields
Case = tuple[list[Change], list[Record], int]  # snapshot, log, high watermark
Image = dict[str, dict[Any, Any]]
NextChange = Callable[[Random, Image, list[Change]], list[Change]]

NAMES = ("orders", "orders-2", "Orders", "payments.eu")
BROKERS = (0, 1, 2, 12)
OTHERS: tuple[Change, ...] = (
    ("NoOpRecord", {}),
    ("LeaderChangeMessage", {"leader_id": 1}),
    ("FeatureLevelRecord", {"name": "group.version", "feature_level": 1}),
    ("ConfigRecord", {"resource_name": "orders", "name": "a", "value": "1"}),
    ("ConfigRecord", {"resource_name": "1", "name": "num.io.threads", "value": "9"}),
)


def numbered(*changes: Change) -> list[Record]:
    """With offsets from 0 on."""
    return [(offset, *change) for offset, change in enumerate(changes)]


def registered(broker: int, fenced: bool = True) -> Change:
    """A broker comes."""
    return "RegisterBrokerRecord", {"broker_id": broker, "fenced": fenced}


def fencing(broker: int, fenced: int) -> Change:
    """A broker is fenced (1) or unfenced (-1)."""
    return "BrokerRegistrationChangeRecord", {"broker_id": broker, "fenced": fenced}


def topic(topic_id: str, name: str) -> Change:
    """A topic is made."""
    return "TopicRecord", {"topic_id": topic_id, "name": name}


def partition(topic_id: str, number: int, isr: Sequence[int], epoch: int = 0) -> Change:
    """Its first leader is the first of the ISR."""
    fields = {
        "topic_id": topic_id,
        "partition_id": number,
        "leader": isr[0],
        "leader_epoch": epoch,
        "isr": list(isr),
    }
    return "PartitionRecord", fields


def change(topic_id: str, number: int, **fields: Any) -> Change:
    """What has changed in a partition."""
    return "PartitionChangeRecord", {
        "topic_id": topic_id,
        "partition_id": number,
        **fields,
    }


def removed(topic_id: str) -> Change:
    """A topic is removed."""
    return "RemoveTopicRecord", {"topic_id": topic_id}


def case_of(
    *changes: Change,
    snapshot: Iterable[Change] = (),
    high_watermark: int | None = None,
) -> Case:
    """A log of these changes, all of which count unless told otherwise."""
    log = numbered(*changes)
    return list(snapshot), log, len(log) if high_watermark is None else high_watermark


# -- random logs: each decision fits what was decided before


def a_log(
    next_change: NextChange, tail: bool = False, cut: bool = False
) -> Callable[[Random], Case]:
    """Makes a scenario: up to 25 changes; the last ones may not count yet, the first
    ones may be in a snapshot.
    """

    def scenario(source: Random) -> Case:
        changes: list[Change] = []
        for _ in range(source.randint(0, 25)):
            changes += next_change(source, image(changes), changes)
        high_watermark = (
            source.randint(0, len(changes))
            if tail and source.random() < 0.7
            else len(changes)
        )
        begin = (
            source.randint(0, high_watermark) if cut and source.random() < 0.7 else 0
        )
        return snapshot_of(changes[:begin]), numbered(*changes)[begin:], high_watermark

    return scenario


def image(changes: list[Change]) -> dict[str, dict[Any, Any]]:
    """What these changes come to."""
    return image_of(changes, [], 0)


def brokers_only(source: Random, now: Image, changes: list[Change]) -> list[Change]:
    """A broker comes, goes or does nothing."""
    broker = source.choice(BROKERS)
    if broker not in now["brokers"] or source.random() < 0.15:
        return [registered(broker, fenced=source.random() < 0.8)]
    if source.random() < 0.2:
        return [
            source.choice(
                [
                    *OTHERS,
                    (
                        "BrokerRegistrationChangeRecord",
                        {"broker_id": broker, "in_controlled_shutdown": 1},
                    ),
                ]
            )
        ]
    return [fencing(broker, source.choice([-1, 1]))]


def no_removal(source: Random, now: Image, changes: list[Change]) -> list[Change]:
    """Brokers, topics, leaders and ISRs; nothing is removed."""
    if source.random() < 0.3:
        return brokers_only(source, now, changes)
    if not now["partitions"] or source.random() < 0.2:
        return a_topic(source, now, changes)
    name, number = source.choice(sorted(now["partitions"]))
    chosen = {
        "isr": source.sample(BROKERS, source.randint(0, 3)),
        "leader": source.choice([-1, *BROKERS]),
    }
    kept = source.choice([("isr",), ("leader",), ("isr", "leader")])
    return [change(ids(changes)[name], number, **{key: chosen[key] for key in kept})]


def a_topic(source: Random, now: Image, changes: list[Change]) -> list[Change]:
    """A topic that isn't there is made."""
    missing = [name for name in NAMES if name not in ids(changes)]
    if not missing:
        return [("NoOpRecord", {})]
    topic_id = "QYBZADXCWEVFUGTHSIRJPKOLNM"[
        sum(name == "TopicRecord" for name, _ in changes)
    ]
    replicas = [
        source.sample(BROKERS, source.randint(1, 3))
        for _ in range(source.choice((1, 2, 2, 12)))
    ]
    epoch = source.choice((0, 0, 3))
    return [
        topic(topic_id, source.choice(missing)),
        *(partition(topic_id, n, isr, epoch) for n, isr in enumerate(replicas)),
    ]


def all_kinds(source: Random, now: Image, changes: list[Change]) -> list[Change]:
    """Topics and brokers are removed, too."""
    if source.random() > 0.25:
        return no_removal(source, now, changes)
    if ids(changes) and source.random() < 0.6:
        return [removed(source.choice(sorted(ids(changes).values())))]
    known = sorted(now["brokers"])
    return (
        [("UnregisterBrokerRecord", {"broker_id": source.choice(known)})]
        if known
        else [registered(1)]
    )


def ids(changes: list[Change]) -> dict[str, str]:
    """Topic -> its id, as these changes leave it."""
    found: dict[str, str] = {}
    for name, fields in changes:
        if name == "TopicRecord":
            found[fields["name"]] = fields["topic_id"]
        elif name == "RemoveTopicRecord":
            found = {
                each: topic_id
                for each, topic_id in found.items()
                if topic_id != fields["topic_id"]
            }
    return found


def snapshot_of(changes: list[Change]) -> list[Change]:
    """What these changes come to, as records: as short as can be."""
    now, known = image(changes), ids(changes)
    found = [
        registered(broker, fenced=state == "fenced")
        for broker, state in now["brokers"].items()
    ]
    found += [topic(topic_id, name) for name, topic_id in known.items()]
    for (name, number), state in now["partitions"].items():
        found.append(
            (
                "PartitionRecord",
                {"topic_id": known[name], "partition_id": number, **state},
            )
        )
    return found


def shorter(case: Case) -> Iterator[Case]:
    """Without its last record; without one that only changes what others made."""
    snapshot, log, high_watermark = case
    if log:
        yield snapshot, log[:-1], min(high_watermark, log[-1][0])
    for place, (offset, kind, _) in enumerate(log):
        if kind.endswith("ChangeRecord") or kind == "NoOpRecord":
            rest = [(each - 1, name, fields) for each, name, fields in log[place + 1 :]]
            yield (
                snapshot,
                [*log[:place], *rest],
                high_watermark - (offset < high_watermark),
            )

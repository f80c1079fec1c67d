"""Metadata logs of lesson 11: records, named logs, and random ones in which each
decision fits what was decided before.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from minikafka.course.experiments.lesson_11_runs import image_of

Change = tuple[str, dict[str, Any]]  # type, fields
Record = tuple[int, str, dict[str, Any]]  # offset, type, fields
Image = dict[str, dict[Any, Any]]
NextChange = Callable[[Random, Image, list[Change]], list[Change]]


class Case(NamedTuple):
    """What the answer is given. log: from where the snapshot ends."""

    snapshot: list[Change]
    log: list[Record]
    high_watermark: int


TOPIC_IDS = "QYBZADXCWEVFUGTHSIRJPKOLNM"
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
    return [(offset, kind, fields) for offset, (kind, fields) in enumerate(changes)]


def registered(broker: int, fenced: bool = True) -> Change:
    """A broker comes."""
    return "RegisterBrokerRecord", {"broker_id": broker, "fenced": fenced}


def fencing(broker: int, fenced: int) -> Change:
    """A broker is fenced (1) or unfenced (-1)."""
    return "BrokerRegistrationChangeRecord", {"broker_id": broker, "fenced": fenced}


def topic(topic_id: str, name: str) -> Change:
    """A topic is made."""
    return "TopicRecord", {"topic_id": topic_id, "name": name}


def in_controlled_shutdown(broker: int) -> Change:
    """A broker wants to stop, and gives its partitions away first."""
    fields = {"broker_id": broker, "in_controlled_shutdown": 1}
    return "BrokerRegistrationChangeRecord", fields


def unregistered(broker: int) -> Change:
    """A broker goes for good."""
    return "UnregisterBrokerRecord", {"broker_id": broker}


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
    where = {"topic_id": topic_id, "partition_id": number}
    return "PartitionChangeRecord", {**where, **fields}


def removed(topic_id: str) -> Change:
    """A topic is removed."""
    return "RemoveTopicRecord", {"topic_id": topic_id}


def case_of(
    *changes: Change,
    snapshot: Iterable[Change] = (),
    high_watermark: int | None = None,
) -> Case:
    """A log of these changes, all of them committed unless told otherwise."""
    log = numbered(*changes)
    if high_watermark is None:
        high_watermark = len(log)
    return Case(list(snapshot), log, high_watermark)


# -- random logs: each decision fits what was decided before


def a_log(
    next_change: NextChange, tail: bool = False, cut: bool = False
) -> Callable[[Random], Case]:
    """Makes a scenario: up to 25 changes; the last ones may not be committed yet, the
    first ones may be in a snapshot.
    """

    def scenario(source: Random) -> Case:
        changes: list[Change] = []
        for _ in range(source.randint(0, 25)):
            changes += next_change(source, image(changes), changes)
        high_watermark = len(changes)
        if tail and source.random() < 0.7:
            high_watermark = source.randint(0, len(changes))
        begin = 0
        if cut and source.random() < 0.7:
            begin = source.randint(0, high_watermark)
        snapshot = snapshot_of(changes[:begin])
        log = numbered(*changes)[begin:]
        return Case(snapshot, log, high_watermark)

    return scenario


def image(changes: list[Change]) -> dict[str, dict[Any, Any]]:
    """What these changes come to."""
    return image_of(changes, [], 0)


def brokers_only(source: Random, now: Image, changes: list[Change]) -> list[Change]:
    """A broker comes, goes or does nothing."""
    broker = source.choice(BROKERS)
    is_known = broker in now["brokers"]
    if not is_known or source.random() < 0.15:
        fenced = source.random() < 0.8
        return [registered(broker, fenced)]
    if source.random() < 0.2:
        without_effect = [*OTHERS, in_controlled_shutdown(broker)]
        return [source.choice(without_effect)]
    fenced_or_unfenced = source.choice([-1, 1])
    return [fencing(broker, fenced_or_unfenced)]


def no_removal(source: Random, now: Image, changes: list[Change]) -> list[Change]:
    """Brokers, topics, leaders and ISRs; nothing is removed."""
    if source.random() < 0.3:
        return brokers_only(source, now, changes)
    if not now["partitions"] or source.random() < 0.2:
        return a_topic(source, now, changes)
    name, number = source.choice(sorted(now["partitions"]))
    topic_id = ids(changes)[name]
    isr = source.sample(BROKERS, source.randint(0, 3))
    leader = source.choice([-1, *BROKERS])
    new: dict[str, Any] = source.choice(
        [{"isr": isr}, {"leader": leader}, {"isr": isr, "leader": leader}]
    )
    return [change(topic_id, number, **new)]


def a_topic(source: Random, now: Image, changes: list[Change]) -> list[Change]:
    """A topic that isn't there is made."""
    known = ids(changes)
    missing = [name for name in NAMES if name not in known]
    if not missing:
        return [("NoOpRecord", {})]
    made_before = sum(kind == "TopicRecord" for kind, _ in changes)
    topic_id = TOPIC_IDS[made_before]
    isrs = []
    for _ in range(source.choice((1, 2, 2, 12))):
        how_many = source.randint(1, 3)
        isrs.append(source.sample(BROKERS, how_many))
    epoch = source.choice((0, 0, 3))
    made = [topic(topic_id, source.choice(missing))]
    for number, isr in enumerate(isrs):
        made.append(partition(topic_id, number, isr, epoch))
    return made


def all_kinds(source: Random, now: Image, changes: list[Change]) -> list[Change]:
    """Topics and brokers are removed, too."""
    if source.random() > 0.25:
        return no_removal(source, now, changes)
    topics = ids(changes)
    if topics and source.random() < 0.6:
        topic_ids = sorted(topics.values())
        return [removed(source.choice(topic_ids))]
    brokers = sorted(now["brokers"])
    if not brokers:
        return [registered(1)]
    return [unregistered(source.choice(brokers))]


def ids(changes: list[Change]) -> dict[str, str]:
    """Topic -> its id, as these changes leave it."""
    names: dict[str, str] = {}
    for kind, fields in changes:
        if kind == "TopicRecord":
            names[fields["topic_id"]] = fields["name"]
        elif kind == "RemoveTopicRecord":
            del names[fields["topic_id"]]
    return {name: topic_id for topic_id, name in names.items()}


def snapshot_of(changes: list[Change]) -> list[Change]:
    """What these changes come to, as records: as short as can be."""
    now = image(changes)
    topics = ids(changes)
    found = []
    for broker, state in now["brokers"].items():
        found.append(registered(broker, fenced=state == "fenced"))
    for name, topic_id in topics.items():
        found.append(topic(topic_id, name))
    for (name, number), state in now["partitions"].items():
        where = {"topic_id": topics[name], "partition_id": number}
        found.append(("PartitionRecord", {**where, **state}))
    return found


def shorter(case: Case) -> Iterator[Case]:
    """Without its last record; without one that only changes what others made."""
    snapshot, log, high_watermark = case
    if log:
        last_offset, _, _ = log[-1]
        yield Case(snapshot, log[:-1], min(high_watermark, last_offset))
    for place, (offset, kind, _) in enumerate(log):
        only_changes = kind.endswith("ChangeRecord") or kind == "NoOpRecord"
        if not only_changes:
            continue
        rest = log[:place]
        for later, name, fields in log[place + 1 :]:
            rest.append((later - 1, name, fields))
        is_committed = offset < high_watermark
        yield Case(snapshot, rest, high_watermark - is_committed)

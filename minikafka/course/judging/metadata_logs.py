"""Metadata logs of lesson 11: records, named logs, and random ones in which each
decision fits what was decided before.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from minikafka.course.experiments.lesson_11_runs import image_of

Fields = dict[str, Any]
Change = tuple[str, Fields]  # type, fields
Changes = list[Change]
Record = tuple[int, str, Fields]  # offset, type, fields
Log = list[Record]
Image = dict[str, dict[Any, Any]]
# what is decided next, after these changes and with what they come to
NextChange = Callable[[Random, Image, Changes], Changes]


class Case(NamedTuple):
    """The input of the answer. log: from the end of the snapshot on."""

    snapshot: Changes
    log: Log
    high_watermark: int


Scenario = Callable[[Random], Case]


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


def numbered(changes: Iterable[Change]) -> Log:
    """With offsets from 0 on."""
    log = []
    for offset, (kind, fields) in enumerate(changes):
        log.append((offset, kind, fields))
    return log


def registered(broker: int, fenced: bool = True) -> Change:
    """The record that registers a broker."""
    fields = {
        "broker_id": broker,
        "fenced": fenced,
    }
    return "RegisterBrokerRecord", fields


def fencing(broker: int, fenced: int) -> Change:
    """A broker is fenced (1) or unfenced (-1)."""
    fields = {
        "broker_id": broker,
        "fenced": fenced,
    }
    return "BrokerRegistrationChangeRecord", fields


def topic(topic_id: str, name: str) -> Change:
    """The record that creates a topic."""
    fields = {
        "topic_id": topic_id,
        "name": name,
    }
    return "TopicRecord", fields


def in_controlled_shutdown(broker: int) -> Change:
    """A broker wants to stop, and gives its partitions away first."""
    fields = {
        "broker_id": broker,
        "in_controlled_shutdown": 1,
    }
    return "BrokerRegistrationChangeRecord", fields


def unregistered(broker: int) -> Change:
    """The record that unregisters a broker for good."""
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
    """The record of a partition's change."""
    where = {
        "topic_id": topic_id,
        "partition_id": number,
    }
    return "PartitionChangeRecord", where | fields


def removed(topic_id: str) -> Change:
    """The record that removes a topic."""
    return "RemoveTopicRecord", {"topic_id": topic_id}


def case_of(
    *changes: Change,
    snapshot: Iterable[Change] = (),
    high_watermark: int | None = None,
) -> Case:
    """A log of these changes, all of them committed unless told otherwise."""
    log = numbered(changes)
    if high_watermark is None:
        high_watermark = len(log)
    return Case(list(snapshot), log, high_watermark)


# -- random logs: each decision fits what was decided before


def a_log(next_change: NextChange, tail: bool = False, cut: bool = False) -> Scenario:
    """Makes a scenario: up to 25 changes; the last ones may not be committed yet, the
    first ones may be in a snapshot.
    """

    def scenario(source: Random) -> Case:
        changes = some_changes(source, next_change)
        high_watermark = len(changes)
        if tail and source.random() < 0.7:
            high_watermark = source.randint(0, len(changes))
        begin = 0
        if cut and source.random() < 0.7:
            begin = source.randint(0, high_watermark)
        snapshot = snapshot_of(changes[:begin])
        log = numbered(changes)
        return Case(snapshot, log[begin:], high_watermark)

    return scenario


def some_changes(source: Random, next_change: NextChange) -> Changes:
    """The changes of up to 25 decisions."""
    changes: Changes = []
    decisions = source.randint(0, 25)
    for _ in range(decisions):
        now = image(changes)
        changes += next_change(source, now, changes)
    return changes


def image(changes: Changes) -> Image:
    """The image after these changes."""
    return image_of(changes, [], 0)


def brokers_only(source: Random, now: Image, changes: Changes) -> Changes:
    """A broker registers, leaves, or nothing happens."""
    broker = source.choice(BROKERS)
    is_known = broker in now["brokers"]
    if not is_known or source.random() < 0.15:
        fenced = source.random() < 0.8
        return [registered(broker, fenced)]
    if source.random() < 0.2:
        stopping = in_controlled_shutdown(broker)
        without_effect = source.choice([*OTHERS, stopping])
        return [without_effect]
    fenced_or_unfenced = source.choice([-1, 1])
    return [fencing(broker, fenced_or_unfenced)]


def no_removal(source: Random, now: Image, changes: Changes) -> Changes:
    """Brokers, topics, leaders and ISRs; nothing is removed."""
    if source.random() < 0.3:
        return brokers_only(source, now, changes)
    partitions = sorted(now["partitions"])
    if not partitions or source.random() < 0.2:
        return a_topic(source, now, changes)
    name, number = source.choice(partitions)
    topic_id = ids(changes)[name]
    new = new_leader_or_isr(source)
    return [change(topic_id, number, **new)]


def new_leader_or_isr(source: Random) -> Fields:
    """The fields of a partition that change: leader, ISR, or both."""
    in_sync = source.randint(0, 3)
    isr = source.sample(BROKERS, in_sync)
    leader = source.choice([-1, *BROKERS])
    only_isr: Fields = {"isr": isr}
    only_leader: Fields = {"leader": leader}
    both = {
        "isr": isr,
        "leader": leader,
    }
    return source.choice([only_isr, only_leader, both])


def a_topic(source: Random, now: Image, changes: Changes) -> Changes:
    """A topic that isn't there is made."""
    known = ids(changes)
    missing = [name for name in NAMES if name not in known]
    if not missing:
        return [("NoOpRecord", {})]
    topic_id = unused_id(changes)
    isrs = some_isrs(source)
    epoch = source.choice((0, 0, 3))
    name = source.choice(missing)
    made = [topic(topic_id, name)]
    for number, isr in enumerate(isrs):
        made.append(partition(topic_id, number, isr, epoch))
    return made


def unused_id(changes: Changes) -> str:
    """That of the next topic: no id is ever used again."""
    made_before = 0
    for kind, _ in changes:
        if kind == "TopicRecord":
            made_before += 1
    return TOPIC_IDS[made_before]


def some_isrs(source: Random) -> list[list[int]]:
    """One for each partition of a topic."""
    isrs = []
    partitions = source.choice((1, 2, 2, 12))
    for _ in range(partitions):
        in_sync = source.randint(1, 3)
        isr = source.sample(BROKERS, in_sync)
        isrs.append(isr)
    return isrs


def all_kinds(source: Random, now: Image, changes: Changes) -> Changes:
    """Topics and brokers are removed, too."""
    if source.random() > 0.25:
        return no_removal(source, now, changes)
    topics = ids(changes)
    if topics and source.random() < 0.6:
        topic_ids = sorted(topics.values())
        topic_id = source.choice(topic_ids)
        return [removed(topic_id)]
    brokers = sorted(now["brokers"])
    if not brokers:
        return [registered(1)]
    broker = source.choice(brokers)
    return [unregistered(broker)]


def ids(changes: Changes) -> dict[str, str]:
    """Topic -> its id, as these changes leave it."""
    names: dict[str, str] = {}
    for kind, fields in changes:
        if kind == "TopicRecord":
            topic_id = fields["topic_id"]
            names[topic_id] = fields["name"]
        elif kind == "RemoveTopicRecord":
            topic_id = fields["topic_id"]
            del names[topic_id]
    return {name: topic_id for topic_id, name in names.items()}


def snapshot_of(changes: Changes) -> Changes:
    """The same image as records: as few as possible."""
    now = image(changes)
    topics = ids(changes)
    found = []
    for broker, state in now["brokers"].items():
        is_fenced = state == "fenced"
        found.append(registered(broker, is_fenced))
    for name, topic_id in topics.items():
        found.append(topic(topic_id, name))
    for (name, number), state in now["partitions"].items():
        where = {
            "topic_id": topics[name],
            "partition_id": number,
        }
        fields = where | state
        found.append(("PartitionRecord", fields))
    return found


def shorter(case: Case) -> Iterator[Case]:
    """Without its last record; without one that only changes what others made."""
    snapshot, log, high_watermark = case
    if log:
        *rest, last = log
        last_offset, _, _ = last
        committed = min(high_watermark, last_offset)
        yield Case(snapshot, rest, committed)
    for place, (offset, kind, _) in enumerate(log):
        only_changes = kind.endswith("ChangeRecord")
        if not only_changes and kind != "NoOpRecord":
            continue
        rest = without_record(log, place)
        committed = high_watermark
        if offset < high_watermark:
            committed -= 1
        yield Case(snapshot, rest, committed)


def without_record(log: Log, place: int) -> Log:
    """The log without one record; those after it move up by one offset."""
    rest = log[:place]
    after = place + 1
    for offset, kind, fields in log[after:]:
        rest.append((offset - 1, kind, fields))
    return rest

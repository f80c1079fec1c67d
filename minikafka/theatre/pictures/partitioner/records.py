"""The state of the partitioner's story: rules, and the records that they sent to
partitions, with a name for each value.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minikafka.theatre.play import Space, picked
from minikafka.theatre.text import key_part
from minikafka.trace import Event

Key = str | None  # of a record

NEAR = 16  # the latest records of a key in a partition: at most this many are drawn
HASH = "hash"  # the rule of the default partitioner
POSITIVE = 0x7FFFFFFF  # all but the sign bit
# a reason that is told in other words
KINDS = {"round_robin": "round-robin", "program": "the program said so"}


class Gauge(NamedTuple):
    """While a producer sticks: the bytes that went to the partition before a record and
    with it, and how many keep it there.
    """

    before: int
    sent: int
    most: int


@dataclass
class Choice:
    """A producer has chosen a partition for a record. partitions: how many it knows.
    hash: of the key, if the rule looks at it. kind: the rule in a word or two, a
    learner's own by its name.
    """

    producer: str
    key: Key
    value: str | None
    partition: int
    partitions: int
    reason: str
    why: str
    kind: str
    hash: int | None
    gauge: Gauge | None

    @classmethod
    def of(cls, event: Event) -> "Choice":
        d = event.detail
        reason = d["reason"]
        return cls(
            producer=event.node,
            key=d["key"],
            value=d["value"],
            partition=d["partition"],
            partitions=d["partitions"],
            reason=reason,
            why=d["why"],
            kind=str(d["rule"] or KINDS.get(reason, reason)),
            hash=d.get("hash"),
            gauge=_gauge(d),
        )

    @property
    def is_hashed(self) -> bool:
        return self.reason == "murmur2"

    @property
    def rule(self) -> str:
        """The default one looks at the hash, where there is a key."""
        return HASH if self.reason in ("murmur2", "sticky") else self.kind

    def to_json(self, way: int | None) -> Space:
        """The choice as scenes store it. way: the number of the way of partitioning;
        None before the record takes it.
        """
        told = dict(vars(self))
        told["gauge"] = list(self.gauge) if self.gauge else None
        told["way"] = way
        return told


def _gauge(d: Mapping[str, Any]) -> Gauge | None:
    before = d.get("sent_bytes")
    if before is None:
        return None
    return Gauge(before=before, sent=before + d["size_bytes"], most=d["batch_size"])


@dataclass
class Sent:
    """A record on its way. number: of the event that chose its partition. offset: None
    while it waits in its producer's batch.
    """

    number: int
    value: str | None
    offset: int | None = None

    def to_json(self) -> list[Any]:
        return [self.number, self.value, self.offset]


class Way:
    """One rule with one number of partitions: where it sends each key, and how many
    records went there. near: of a key in a partition the latest.
    """

    def __init__(self, rule: str, count: int, who: str) -> None:
        self.rule = rule
        self.count = count
        self.who = who
        self.places: dict[Key, dict[int, int]] = {}
        self.near: dict[tuple[Key, int], list[Sent]] = {}

    @property
    def name(self) -> str:
        """The name of the rule, for a sentence."""
        return "murmur2" if self.rule == HASH else self.rule

    @property
    def is_sticky(self) -> bool:
        """The default rule, for records without a key only."""
        return self.rule == HASH and list(self.places) == [None]

    def add(self, key: Key, partition: int, sent: Sent) -> None:
        """A record takes this way."""
        places = self.places.setdefault(key, {})
        places[partition] = places.get(partition, 0) + 1
        near = self.near.setdefault((key, partition), [])
        near.append(sent)
        del near[:-NEAR]

    def only(self, key: Key) -> int | None:
        """The one partition of a key; None where there are several."""
        places = list(self.places.get(key, ()))
        if len(places) == 1 and key is not None:
            return places[0]
        return None

    def to_json(self, number: int, shown: Sequence[Key]) -> Space:
        """hidden: for each partition the keys that are counted only."""
        told = picked(self, "rule", "count", "who")
        told["number"] = number
        told["keys"] = self._keys(shown)
        told["records"] = self._records(shown)
        told["hidden"] = self._hidden(shown)
        return told

    def _keys(self, shown: Sequence[Key]) -> list[Any]:
        keys = []
        for key in shown:
            if key in self.places:
                places = pairs(self.places[key])
                keys.append([key, places])
        return keys

    def _records(self, shown: Sequence[Key]) -> list[Any]:
        records = []
        for (key, partition), near in self.near.items():
            if key in shown:
                sent = [each.to_json() for each in near]
                records.append([key, partition, sent])
        return records

    def _hidden(self, shown: Sequence[Key]) -> list[Any]:
        hidden: Counter[int] = Counter()
        for key, places in self.places.items():
            if key not in shown:
                hidden.update(places.keys())
        return [list(each) for each in sorted(hidden.items())]


@dataclass
class Ways:
    """All of them, in order. taken: by the record at hand."""

    every: list[Way] = field(default_factory=list)
    taken: Way | None = None

    def of(self, rule: str, count: int, who: str) -> Way:
        """The way of a rule with this number of partitions, which may be new."""
        for way in self.every:
            if way.rule == rule and way.count == count:
                return way
        made = Way(rule, count, who)
        self.every.append(made)
        return made

    def number(self, way: Way) -> int:
        return self.every.index(way)

    def of_key(self, key: Key) -> list[Any]:
        """The latest record of a key in each partition, in their order."""
        found = []
        for way in self.every:
            for (owner, partition), near in way.near.items():
                if owner == key:
                    found.append([partition, near[-1].to_json()])
        return sorted(found, key=lambda each: int(each[1][0]))

    def pair(self) -> list[Way]:
        """The two ways that are compared: before and after, or two rules; one of them
        is that of the current record.
        """
        last = self.every[-2:]
        if self.taken is None or self.taken in last:
            return last
        return [self.taken, last[-1]]

    def chips(self, way: Way, keys: Sequence[Key]) -> list[str]:
        """Keys of shapes: these keys in a way."""
        number = self.number(way)
        return [chip(number, key) for key in keys]

    def to_json(self, shown: Sequence[Key]) -> list[Space]:
        """The pair of ways as scenes store it."""
        told = []
        for way in self.pair():
            number = self.number(way)
            told.append(way.to_json(number, shown))
        return told


@dataclass
class Bins:
    """How many records of each key are in each partition. hashes: of the keys whose
    latest record went where murmur2 says.
    """

    held: dict[int, dict[Key, int]] = field(default_factory=dict)
    hashes: dict[Key, int] = field(default_factory=dict)

    def put(self, choice: Choice) -> list[int]:
        """A record in its partition; returns the others that have records of its
        key.
        """
        key = choice.key
        others = []
        for partition, keys in self.held.items():
            if key in keys and partition != choice.partition:
                others.append(partition)
        held = self.held.setdefault(choice.partition, {})
        held[key] = held.get(key, 0) + 1
        if choice.hash is None or key is None:
            self.hashes.pop(key, None)
        else:
            self.hashes[key] = choice.hash
        return others

    @property
    def used(self) -> list[int]:
        """The partitions that have records."""
        return sorted(self.held)

    @property
    def shares(self) -> list[int]:
        """How many records each of these has."""
        return [sum(self.held[partition].values()) for partition in self.used]

    def remainder(self, key: Key, count: int) -> int:
        """The partition of a key by its hash."""
        return (self.hashes[key] & POSITIVE) % count

    def to_json(self, count: int) -> list[Space]:
        """The records of this many partitions, as scenes store them."""
        told = []
        for partition in range(count):
            keys = self.held.get(partition, {})
            told.append({"partition": partition, "keys": pairs(keys)})
        return told


def busiest(used: Counter[Key], most: int) -> list[Key]:
    """The keys that are used most, in the order of their first records."""
    # sorted() keeps the order of equal ones: of keys used alike, the earlier
    by_use = sorted(used, key=lambda key: -used[key])
    shown = by_use[:most]
    return [key for key in used if key in shown]


def pairs(counts: Mapping[Any, int]) -> list[list[Any]]:
    """The counts as JSON can hold them, where keys may be numbers or None."""
    return [list(pair) for pair in counts.items()]


def alike(pair: Sequence[Way]) -> list[Key]:
    """The keys that both of two ways send to one partition each."""
    if len(pair) < 2:
        return []
    first, second = pair
    found = []
    for key in first.places:
        partitions_of_key = first.only(key), second.only(key)
        if None not in partitions_of_key:
            found.append(key)
    return found


def differing(pair: Sequence[Way]) -> list[Key]:
    """The keys that two ways send to two partitions."""
    if len(pair) < 2:
        return []
    first, second = pair
    return [key for key in alike(pair) if first.only(key) != second.only(key)]


# -- keys of shapes, which a story names where it puts light on them


def in_key(key: Key) -> str:
    """A key in the key of a shape, which has to differ from no key."""
    return "-" if key is None else "=" + key_part(key)


def chip(way: int, key: Key) -> str:
    """The shape of a key in a way."""
    return f"key/{way}/{in_key(key)}"
